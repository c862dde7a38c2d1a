//! The workspace: made by `init`, given to sessions by `boot`, hooks and resources.

use std::path::PathBuf;

use nacre::{Settings, TEMPLATES, Template, strip_injected};
use serde_json::{Value, json};

use crate::sealed::{Mcp, Process, Sealed, files};

fn write(home: &Sealed, path: &str, text: &str) -> PathBuf {
    let file = home.home().join("groups/main").join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, text).unwrap();
    file
}

fn start(home: &Sealed, source: &str, more: &[&str]) -> Value {
    let input = json!({ "session_id": "s", "hook_event_name": "SessionStart", "source": source });
    let args = ["hook", "SessionStart"].iter().chain(more);
    let output = home.run_with(args, input.to_string().as_bytes());
    assert!(output.status == 0 && output.stdout.encode_utf16().count() <= 9_001, "{output:?}");
    serde_json::from_str(&output.stdout).unwrap()
}

fn context(answer: &Value) -> &str {
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn init_makes_a_workspace_and_says_so() {
    let home = Sealed::new();
    let made = home.json(["init"]);
    let settings = Settings::default();
    let is_made = |template: &&Template| settings.boot.files.iter().any(|file| file == template.path);
    let paths: Vec<&str> = TEMPLATES.iter().filter(is_made).map(|template| template.path).collect();
    assert_eq!(paths.len(), 11);
    assert_eq!((&made["files"], &made["kept"]), (&json!(paths), &json!([])));
    let again = home.json(["init"]);
    assert_eq!((&again["files"], &again["kept"]), (&json!([]), &json!(paths)));
    let said = Sealed::new().run(["init"]).stdout;
    for template in TEMPLATES {
        let line = format!("  {:<26} {}\n", template.path, template.purpose);
        assert_eq!(said.contains(&line), is_made(&template), "{said}");
        assert!(home.run(["init", "--help"]).stdout.contains(template.purpose), "{}", template.path);
    }
    let bare = Sealed::new();
    bare.json(["init", "--bare"]);
    assert!(!files(bare.home()).iter().any(|file| file.extension().is_some_and(|ending| ending == "md")));
}

#[test]
fn init_with_a_profile_forgot_it() {
    let home = Sealed::new();
    assert_eq!(home.run(["--profile", "strict", "init"]).status, 0);
    assert_eq!(home.run(["config", "get", "profile"]).stdout.trim(), "\"gated\"");
    let mut server = home.mcp();
    let stored = server.data("memory_store", &json!({ "content": "The port is 7070" }));
    assert_eq!(stored["status"], "pending", "{stored}");
    drop(server);
    // Settings in the file are never replaced.
    let again = home.run(["--profile", "files", "init"]);
    assert!(again.stderr.contains("nacre.toml keeps profile `strict`"), "{again:?}");
    assert_eq!(home.run(["config", "get", "profile"]).stdout.trim(), "\"gated\"");
    // An agent may use a stricter profile for a command, and changes no setting by it.
    let other = Sealed::new();
    let mut command = other.command(["--profile", "strict", "init"]);
    assert_eq!(Process::start(command.env("CLAUDECODE", "1")).finish().status, 0);
    assert_eq!(other.run(["config", "get", "profile"]).stdout.trim(), "\"balanced\"");
}

#[test]
fn boot_shows_the_text_and_says_what_it_costs() {
    let home = Sealed::new();
    let bare = home.run(["boot"]);
    assert!(
        !bare.stdout.contains("AGENTS.md") && bare.stderr.contains("missing or not filled in: AGENTS.md"),
        "{bare:?}"
    );
    assert!(!home.home().exists(), "a look makes nothing");
    home.json(["init"]);
    write(&home, "SOUL.md", &"Be brief.\n".repeat(3_000));
    write(&home, "memory/2026-02-18.md", "- [decision|i=0.9] heron moved");
    let mut command = home.command(["boot"]);
    let output = command.env("TZ", "UTC0").output().unwrap();
    let (text, note) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(text.starts_with("<memory source=\"nacre\" ") && text.ends_with("</memory>\n"), "{text}");
    assert!(text.contains("heron moved"), "{text}");
    assert!(
        note.starts_with("note: about ")
            && note.contains("tokens; cut: SOUL.md; missing or not filled in: USER.md"),
        "{note}"
    );
    let data = home.json(["boot", "--project", "heron"]);
    assert_eq!(data["parts"][0]["path"], "memory/project-heron.md");
    let (status, error) = home.error(["boot", "--project", "../x"]);
    assert_eq!((status, &error["code"]), (2, &json!("bad_argument")));
    let shared = home.json(["boot", "--visibility", "shared"]);
    assert!(!shared["markdown"].as_str().unwrap().contains("USER.md"), "{shared}");
}

#[test]
fn the_day_is_that_of_the_time_zone() {
    let home = Sealed::new();
    write(&home, "memory/2026-02-19.md", "tomorrow in London");
    // 14:30 in UTC.
    for (zone, there) in
        [("UTC0", false), ("<+14>-14", true), ("Pacific/Kiritimati", true), ("Pacific/Pago_Pago", false)]
    {
        let known = zone.contains(['<', '0']) || PathBuf::from("/usr/share/zoneinfo").join(zone).exists();
        let output = home.command(["boot"]).env("TZ", zone).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!known || text.contains("tomorrow in London") == there, "{zone}: {text}");
    }
}

#[test]
fn a_session_starts_with_the_workspace_where_there_is_one() {
    let home = Sealed::new();
    home.json(["init"]);
    assert_eq!(start(&home, "startup", &[]), json!({}), "templates alone say nothing");
    home.json(["store", "The user drinks lapsang tea"]);
    let brief = start(&home, "startup", &[]);
    assert!(context(&brief).contains("lapsang") && !context(&brief).contains("nacre:file"), "{brief}");

    write(&home, "USER.md", "The user is called Petra.");
    for source in ["startup", "resume", "compact"] {
        let started = start(&home, source, &[]);
        let said = context(&started);
        for words in ["How to work here", "called Petra", "lapsang", "- memory (skills/memory/SKILL.md)"] {
            assert!(said.contains(words), "{source}: {words} is not in {said}");
        }
        assert_eq!(said.contains("was just compacted"), source == "compact");
        assert_eq!(strip_injected(said).trim(), "");
    }
    let shared = start(&home, "startup", &["--visibility", "shared"]);
    assert!(!context(&shared).contains("Petra") && context(&shared).contains("lapsang"), "{shared}");
    for (off, left) in [("boot.inject=none", true), ("brief.inject=none", false)] {
        let started = start(&home, "startup", &["--set", off]);
        assert_eq!(
            (context(&started).contains("Petra"), context(&started).contains("lapsang")),
            (!left, left)
        );
    }
    assert_eq!(start(&home, "startup", &["--profile", "koshi"]), json!({}));
}

#[test]
fn a_large_workspace_fits_into_what_clients_take() {
    // Plain text, and text that takes twice its length in JSON.
    for line in ["Plain words that go on and on, line by line.\n", "\"\"\\\\\"\"\t\t\u{1f41a}\n"] {
        let home = Sealed::new();
        for path in
            ["AGENTS.md", "SOUL.md", "USER.md", "MEMORY.md", "memory/CORE.md", "memory/active-context.md"]
        {
            write(&home, path, &format!("The file {path}\n{}", line.repeat(1_000)));
        }
        for number in 0..60 {
            home.json(["store", &format!("Fact number {number} is about lapsang tea")]);
        }
        for source in ["startup", "compact"] {
            let started = start(&home, source, &[]);
            let said = context(&started);
            assert!(said.encode_utf16().count() > 3_000, "the room is used: {said}");
            for path in ["AGENTS.md", "SOUL.md", "USER.md", "MEMORY.md", "memory/CORE.md"] {
                assert!(said.contains(&format!("The file {path}")), "{path}: {said}");
                assert!(said.contains(&format!("`nacre get {path}:")), "{path}: {said}");
            }
            assert!(said.contains("lapsang"), "{said}");
            assert_eq!(strip_injected(said).trim(), "");
        }
    }
}

/// Asks in one of the two eras.
fn ask(server: &mut Mcp, newest: bool, method: &str, mut params: Value) -> Value {
    if newest {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    server.ask(method, &params).expect("the server is there")
}

#[test]
fn files_are_resources_in_both_eras() {
    let home = Sealed::new();
    home.json(["init"]);
    write(&home, "SOUL.md", "You are a heron. Key: sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD");
    write(&home, "memory/topics/a b.md", "of topics");
    let names = |answer: &Value, key: &str| -> Vec<String> {
        let list = answer["result"][key].as_array().unwrap_or_else(|| panic!("{answer}"));
        list.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    for (newest, shared) in [(false, false), (true, false), (false, true)] {
        let args: &[&str] = if shared { &["mcp", "--visibility", "shared"] } else { &["mcp"] };
        let mut server = Mcp::start(&mut home.command(args));
        if !newest {
            server.open().unwrap();
        }
        let listed = ask(&mut server, newest, "resources/list", json!({}));
        let mut expected = vec![
            "brief",
            "boot",
            "agents",
            "soul",
            "user",
            "identity",
            "tools",
            "heartbeat",
            "active-context",
            "long-term",
        ];
        expected.push("gating-policies");
        expected.retain(|name| !shared || !["user", "active-context", "long-term"].contains(name));
        assert_eq!(names(&listed, "resources"), expected, "{listed}");
        let templates = ask(&mut server, newest, "resources/templates/list", json!({}));
        assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "memory://file/{+path}");
        assert_eq!(names(&ask(&mut server, newest, "prompts/list", json!({})), "prompts"), ["brief", "boot"]);
        let prompt = ask(&mut server, newest, "prompts/get", json!({ "name": "boot" }));
        assert!(prompt.to_string().contains("You are a heron"), "{prompt}");
        let mut read = |uri: &str| ask(&mut server, newest, "resources/read", json!({ "uri": uri }));
        for (uri, words) in [
            ("memory://boot", "How to work here"),
            ("memory://brief", "Nothing is remembered yet"),
            ("memory://soul", "You are a heron. Key: "),
            ("memory://file/SOUL.md", "You are a heron"),
            ("memory://file/memory/topics/a%20b.md", "of topics"),
        ] {
            let found = read(uri);
            let text =
                found["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{uri}: {found}"));
            assert!(text.contains(words) && !text.contains("abcdefgh"), "{uri}: {text}");
            assert_eq!(found["result"]["contents"][0]["uri"], uri);
        }
        let code = if newest { -32602 } else { -32002 };
        for uri in ["memory://core", "memory://none", "memory://file/../x.md", "memory://file/none.md", "x"] {
            assert_eq!(read(uri)["error"]["code"], code, "{uri}");
        }
        assert_eq!(read("memory://user")["error"]["code"].is_null(), !shared);
    }
}
