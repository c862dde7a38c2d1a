//! Bad input: each gets a clear error, and nothing changes.

use std::ffi::OsStr;

use serde_json::{Value, json};

use crate::sealed::Sealed;

/// A home with something to lose.
fn home() -> Sealed {
    let home = Sealed::new();
    home.json(["store", "The staging server is called heron", "--tag", "servers"]);
    home
}

/// Runs with `input` on standard input; it has to be refused with this exit code, say these words, and change nothing.
#[track_caller]
fn check(home: &Sealed, args: &[&str], input: &[u8], status: i32, says: &str) {
    let before = home.records("main");
    let (found, error) = home.error_with(args.iter().copied(), input);
    let message = error["message"].as_str().unwrap_or_default();
    assert!(found == status && message.contains(says), "{args:?}: {found} {error}");
    // Hostile text is not repeated at length.
    assert!(message.len() < 500, "{args:?}: {message}");
    assert_eq!(home.records("main"), before, "{args:?} changed something");
}

/// The same for the arguments of a tool, as text that may or may not be JSON.
#[track_caller]
fn check_call(home: &Sealed, tool: &str, arguments: impl AsRef<[u8]>, says: &str) {
    check(home, &["call", tool, "-"], arguments.as_ref(), 2, says);
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// Whatever means something to FTS5, to SQL, to a shell or to nobody.
const SIGNS: &[&str] = &[
    "\"",
    "\"\"",
    "\"\"\"",
    "'",
    "''",
    "`",
    "*",
    "**",
    "^",
    ":",
    "::",
    "(",
    ")",
    "()",
    ")(",
    "((",
    "{",
    "}",
    "{}",
    "[",
    "]",
    "+",
    "-",
    "--",
    ",",
    ";",
    ".",
    "\\",
    "/",
    "|",
    "||",
    "&",
    "&&",
    "!",
    "?",
    "<",
    ">",
    "=",
    "~",
    "@",
    "#",
    "$",
    "%",
    "_",
    "%s",
    "%00",
    "\t",
    "\n",
    "\u{7f}",
    "AND",
    "OR",
    "NOT",
    "NEAR",
    "NEAR(",
    "NEAR(a b, 2)",
    "AND AND",
    "OR NOT",
    "text:",
    "title:*",
    "{text title}:",
    "- text:",
    "^ \"",
    "\"unclosed",
    "'); DROP TABLE entries; --",
    "\u{0}",
    "\u{202e}",
    "\u{feff}",
    "\u{1f41a}",
    "\u{301}",
    "ﬀ",
    "a\u{ad}b",
];

#[test]
fn no_query_means_anything_to_the_engine() {
    let home = home();
    let mut server = home.mcp();
    for sign in SIGNS {
        for query in [
            (*sign).to_owned(),
            format!("{sign}heron{sign}"),
            format!("{sign} heron {sign}"),
            format!("heron {sign} server"),
        ] {
            // An argument of a process can't hold NUL, and the pipeline takes no control characters; both are refused below.
            if sign.contains(|c: char| c.is_control() && !c.is_whitespace()) {
                let result = server.call("memory_search", &json!({ "query": query })).unwrap();
                assert_eq!(result["isError"], true, "{query:?}: {result}");
                continue;
            }
            let found = server.data("memory_search", &json!({ "query": query }));
            // Signs are no part of a word; letters that touch one make it another.
            if query.contains(" heron") || !sign.contains(char::is_alphanumeric) && query.contains("heron") {
                assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{query:?}: {found}");
            }
        }
        if !sign.contains('\0') && !sign.contains('\u{7f}') {
            assert_eq!(home.run(["search", "--", sign]).status, 0, "{sign:?}");
        }
    }
}

#[test]
fn content_has_its_limits() {
    let home = home();
    let long = "x".repeat(1 << 20);
    check(&home, &["store", "-"], long.as_bytes(), 2, "has 1048576 characters, and a memory at most 2000");
    check(
        &home,
        &["update", "1", "-"],
        long.as_bytes(),
        2,
        "has 1048576 characters, and a memory at most 2000",
    );
    check(&home, &["store", "-"], "x".repeat(5 << 20).as_bytes(), 2, "the limit is 4194304");
    check(
        &home,
        &["store", "-"],
        "é".repeat(2001).as_bytes(),
        2,
        "has 2001 characters, and a memory at most 2000",
    );
    check(&home, &["store", "-"], b"", 2, "empty");
    check(&home, &["store", "-"], b" \n\t ", 2, "empty");
    check(&home, &["store", "-"], b"fine until \xff here", 2, "not UTF-8 at byte 11");
    check(&home, &["update", "1", "-"], b"\xc3", 2, "not UTF-8 at byte 0");
    check(&home, &["call", "memory_store", "-"], b"{\"content\": \"\xff\"}", 2, "not UTF-8");
    // A text at the limit is accepted: characters are counted, not bytes.
    assert_eq!(home.run_with(["store", "-"], "é".repeat(2000).as_bytes()).status, 0);
}

#[test]
fn control_characters_are_refused() {
    let home = home();
    for (escape, name) in [
        ("\\u0000", "U+0000"),
        ("\\u0007", "U+0007"),
        ("\\u001b[2J", "U+001B"),
        ("\\u007f", "U+007F"),
        ("\\u009b", "U+009B"),
    ] {
        check_call(&home, "memory_store", format!(r#"{{"content": "a{escape}b"}}"#), name);
        check_call(&home, "memory_store", format!(r#"{{"content": "fine", "tags": ["a{escape}b"]}}"#), name);
        check_call(&home, "memory_update", format!(r#"{{"id": 1, "content": "a{escape}b"}}"#), name);
        check_call(&home, "memory_search", format!(r#"{{"query": "a{escape}b"}}"#), name);
    }
    check_call(&home, "memory_store", r#"{"content": "half a pair \ud800"}"#, "the request is not JSON");
    // Line breaks and tabs are text.
    assert_eq!(home.run(["call", "memory_store", r#"{"content": "two\nlines\tand a tab"}"#]).status, 0);
}

/// An argument that is not text at all never reaches the program's own code.
#[cfg(unix)]
#[test]
fn arguments_that_are_not_text_are_refused() {
    use std::os::unix::ffi::OsStrExt;
    let home = home();
    let before = home.records("main");
    let output = home.run([OsStr::new("--json"), OsStr::new("store"), OsStr::from_bytes(b"caf\xe9")]);
    assert_eq!(output.status, 2, "{output:?}");
    assert!(output.stdout.contains("UTF-8"), "{output:?}");
    assert_eq!(home.records("main"), before);
}

#[test]
fn arguments_are_checked_against_what_is_published() {
    let home = home();
    let store = "memory_store";
    for (arguments, says) in [
        // Not JSON, or not an object.
        ("", "the request is not JSON"),
        ("{", "the request is not JSON"),
        ("{} {}", "the request is not JSON"),
        ("[]", "is array, an object is needed"),
        ("\"text\"", "is string, an object is needed"),
        ("7", "is integer, an object is needed"),
        (&nested(1_000), "nested deeper than 64 levels"),
        (&format!(r#"{{"content": {}}}"#, nested(1_000)), "nested deeper than 64 levels"),
        (&"[".repeat(1_000), "nested deeper than 64 levels"),
        // Missing and unknown.
        ("{}", "`content` of `memory_store` is missing"),
        (r#"{"content": null}"#, "`content` of `memory_store` is missing"),
        (r#"{"content": "x", "tipe": "fact"}"#, "`tipe` of `memory_store` is not an argument"),
        (
            r#"{"content": "x", "provenance": {"source": "person"}}"#,
            "`provenance` of `memory_store` is not an argument",
        ),
        (r#"{"content": "x", "score": 15}"#, "`score` of `memory_store` is not an argument"),
        // Wrong types and values.
        (r#"{"content": 5}"#, "`content` of `memory_store` is integer"),
        (r#"{"content": ["x"]}"#, "`content` of `memory_store` is array"),
        (
            r#"{"content": "x", "type": "secret"}"#,
            "not one of preference, fact, instruction, context, correction",
        ),
        (r#"{"content": "x", "type": 1}"#, "`type` of `memory_store` is integer"),
        (r#"{"content": "x", "tags": {}}"#, "`tags` of `memory_store` is object"),
        (r#"{"content": "x", "tags": [1]}"#, "is integer, string is needed"),
        (r#"{"content": "x", "supersedes": true}"#, "`supersedes` of `memory_store`"),
        (r#"{"content": "x", "supersedes": "mem-nonsense"}"#, "neither a memory id"),
        // Too much.
        (r#"{"content": "x", "tags": "1,2,3,4,5,6,7,8,9,10,11"}"#, "has 11 tags; the limit is 10"),
        (&json!({ "content": "x", "tags": ["t".repeat(51)] }).to_string(), "51 characters; the limit is 50"),
    ] {
        check_call(&home, store, arguments, says);
    }
    for (tool, arguments, says) in [
        ("memory_search", r#"{"limit": 0}"#, "at least 1 is needed"),
        ("memory_search", r#"{"limit": 101}"#, "at most 100 is allowed"),
        ("memory_search", r#"{"limit": 1e400}"#, "the request is not JSON"),
        ("memory_search", r#"{"limit": 2.5}"#, "`limit` of `memory_search` is number"),
        ("memory_search", r#"{"at": "yesterday"}"#, "can't be read"),
        ("memory_search", r#"{"scope": ["elsewhere"]}"#, "not one of entries"),
        ("memory_search", r#"{"include_superseded": "yes"}"#, "is string, boolean is needed"),
        ("memory_get", r#"{"id": 99999999999999999999}"#, "`id`"),
        ("memory_update", r#"{"id": 1}"#, "there is nothing to change"),
        ("memory_nothing", "{}", "there is no tool"),
    ] {
        check_call(&home, tool, arguments, says);
    }
    check(&home, &["call", "memory_get", "-"], br#"{"id": -1}"#, 3, "there is no memory `-1`");
    check(&home, &["store", "x", "--tag", &"t".repeat(51)], b"", 2, "51 characters; the limit is 50");
    let many: Vec<String> = (1..=11).flat_map(|tag| ["--tag".to_owned(), tag.to_string()]).collect();
    let many: Vec<&str> = ["store", "x"].into_iter().chain(many.iter().map(String::as_str)).collect();
    check(&home, &many, b"", 2, "has 11 tags; the limit is 10");
}

#[test]
fn a_group_is_a_name_and_no_path() {
    let home = home();
    for group in ["../x", "..", ".", "", "a/b", "/tmp/x", "a\\b", "C:", "a b", "ä", "\n", &"g".repeat(65)] {
        check(
            &home,
            &["store", "x", &format!("--group={group}")],
            b"",
            2,
            "1 to 64 of letters, digits, `_` and `-`",
        );
        let by_environment = home.command(["store", "x"]).env("NACRE_GROUP", group).output().unwrap();
        assert_eq!(by_environment.status.code(), Some(2), "{group:?}");
    }
    let groups = std::fs::read_dir(home.home().join("groups")).unwrap();
    assert_eq!(groups.map(|group| group.unwrap().file_name()).collect::<Vec<_>>(), ["main"]);
    assert!(!home.home().join("x").exists());
}

#[test]
fn an_id_of_another_group_does_not_count() {
    let home = home();
    let other = home.json(["store", "Of another group", "--group", "other"]);
    let id = other["id"].as_str().unwrap();
    let before = home.records("other");
    for args in [
        vec!["show", id],
        vec!["history", id],
        vec!["update", id, "Mine now"],
        vec!["reinforce", id],
        vec!["demote", id],
        vec!["delete", id],
        vec!["store", "Mine now", "--supersedes", id],
    ] {
        check(&home, &args, b"", 3, "there is no memory");
    }
    assert_eq!(home.records("other"), before);
}

/// Whatever line a client sends, the server answers and goes on.
#[test]
fn a_server_survives_every_line() {
    let home = home();
    let before = home.records("main");
    let mut server = home.mcp();
    let request = |id: u32, name: &str, arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
        )
    };
    let long = request(1, "memory_store", &json!({ "content": "x".repeat(5 << 20) }).to_string());
    let deep = request(2, "memory_store", &format!(r#"{{"content": {}}}"#, nested(1_000)));
    for (line, says) in [
        (b"not JSON".as_slice(), "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\"}}",
            "not JSON",
        ),
        (deep.as_bytes(), "deeper than 64 levels"),
        (nested(1_000).as_bytes(), "deeper than 64 levels"),
        (long.as_bytes(), "the limit is 4194304"),
        (b"[]", ""),
        (b"{\"id\":4}", "not a JSON-RPC request"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":7}", ""),
        (b"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"no/such\"}", ""),
        (request(7, "memory_nothing", "{}").as_bytes(), "unknown tool"),
        (request(8, "memory_store", "[]").as_bytes(), ""),
    ] {
        let shown = String::from_utf8_lossy(&line[..line.len().min(80)]);
        server.send(line).unwrap_or_else(|| panic!("the server is gone before {shown}"));
        eprintln!("{shown}");
        let answer = server.next().unwrap_or_else(|| panic!("the server died of it"));
        assert!(
            answer["error"].to_string().contains(says) && answer["error"].is_object(),
            "{shown}: {answer}"
        );
    }
    // Arguments that make no sense are the tool's to refuse.
    for (arguments, says) in [
        (json!({}), "is missing"),
        (json!({ "content": "a\u{0}b" }), "U+0000"),
        (json!({ "content": "x", "nonsense": 1 }), "is not an argument"),
        (json!({ "content": "x".repeat(1 << 20) }), "at most 2000 fit"),
    ] {
        let result = server.call("memory_store", &arguments).unwrap();
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(result["isError"] == Value::Bool(true) && text.contains(says), "{says}: {text}");
    }
    assert_eq!(home.records("main"), before);
    assert_eq!(
        server.data("memory_search", &json!({ "query": "heron" }))["hits"].as_array().unwrap().len(),
        1
    );
    assert_eq!(server.close(), 0);
}

/// Memory is hostile to whoever prints it.
#[test]
fn nothing_remembered_steers_the_terminal() {
    let home = Sealed::new();
    // Marks that turn the direction of writing are text, and are kept; printed they would show another text than there is.
    home.json(["store", "Harmless \u{202e}desrever\u{2066} text"]);
    for args in [vec!["search"], vec!["show", "1"], vec!["history", "1"], vec!["brief"]] {
        let output = home.run(&args);
        assert!(output.stdout.contains("Harmless"), "{args:?}: {output:?}");
        assert!(!output.stdout.contains(['\u{202e}', '\u{2066}', '\u{1b}']), "{args:?}: {output:?}");
    }
}
