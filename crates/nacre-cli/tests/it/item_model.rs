//! `nacre extract` with a program or a model at the binary: processes killed midway, programs that misbehave, a server that answers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::nothing_lost::Random;
use crate::sealed::{Process, Sealed};

/// Answers with each line that states a port.
const PROGRAM: &str = r#"awk '
/^\[[0-9]+\]/ { section = $1; gsub(/[^0-9]/, "", section) }
/^- The service number/ {
    sub(/^- /, ""); sub(/\r$/, "")
    all = all (all == "" ? "" : ", ") "{\"section\": " section ", \"type\": \"claim\", \"title\": \"A port\", \"quote\": \"" $0 "\"}"
}
END { printf "{\"items\": [%s]}", all }'
"#;

/// A project of a few requests.
fn project(home: &Sealed, files: usize) -> PathBuf {
    let folder = PathBuf::from(home.beside("heron"));
    std::fs::create_dir_all(&folder).unwrap();
    for at in 0..files {
        let filler = "It says a few words of no use, again and again.\n\n".repeat(100);
        let text =
            format!("# Part {at}\n\n{filler}The service number {at} listens on port {}.\n", 7_000 + at);
        std::fs::write(folder.join(format!("part-{at}.md")), text).unwrap();
    }
    folder
}

fn with_program(home: &Sealed, script: &str, settings: &str) {
    std::fs::create_dir_all(home.home()).unwrap();
    let program = home.beside("program.sh");
    std::fs::write(&program, script).unwrap();
    let settings = format!(
        "[distil]\ncommand = [\"/bin/sh\", \"{program}\"]\n{settings}\n[extract]\nby = \"command\"\n"
    );
    std::fs::write(home.home().join("nacre.toml"), settings).unwrap();
}

/// Returns each item as `path:line content`, sorted.
fn items(home: &Sealed) -> Vec<String> {
    let all = home.json(["items"]);
    let of = |item: &Value| {
        let text = |name: &str| item[name].as_str().unwrap().to_owned();
        format!("{}:{} {}", text("sourceFile"), item["lineNumber"], text("content"))
    };
    let mut all: Vec<String> = all.as_array().unwrap().iter().map(of).collect();
    all.sort();
    all
}

fn expected(files: usize) -> Vec<String> {
    let of = |at| format!("part-{at}.md:203 The service number {at} listens on port {}.", 7_000 + at);
    let mut all: Vec<String> = (0..files).map(of).collect();
    all.sort();
    all
}

#[test]
fn a_run_that_is_killed_loses_and_doubles_nothing() {
    const FILES: usize = 30;
    let home = Sealed::new();
    let folder = project(&home, FILES);
    let asked = home.beside("asked");
    // Slow enough that kills meet a request, a write, and the time between them.
    with_program(&home, &format!("echo >> '{asked}'\nsleep 0.05\n{PROGRAM}"), "");
    let folder = folder.to_str().unwrap();
    let begun = Instant::now();
    let undisturbed = {
        let probe = Sealed::new();
        let folder = project(&probe, FILES);
        with_program(&probe, &format!("sleep 0.05\n{PROGRAM}"), "");
        let begun = Instant::now();
        probe.json(["extract", folder.to_str().unwrap()]);
        assert_eq!(items(&probe), expected(FILES));
        begun.elapsed()
    };
    let mut random = Random::new();
    let mut kills = 0;
    while kills < 10 && begun.elapsed() < Duration::from_secs(90) {
        let process = Process::start(&mut home.command(["extract", folder, "--json"]));
        // The first kill meets a request, the others come at random.
        while kills == 0 && !Path::new(&asked).exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the program was not started");
            std::thread::sleep(Duration::from_millis(2));
        }
        let most = if kills == 0 { 40_000 } else { u64::try_from(undisturbed.as_micros() / 2).unwrap() };
        std::thread::sleep(Duration::from_micros(random.below(most)));
        let _ = process.victim.lock().unwrap().kill();
        let ended = process.finish();
        kills += usize::from(ended.status == -1);
        let all = items(&home);
        assert!(all.iter().all(|item| expected(FILES).contains(item)), "{all:?}");
        if ended.status == 0 {
            break;
        }
    }
    assert!(kills > 0, "nothing was killed");
    home.json(["extract", folder]);
    assert_eq!(items(&home), expected(FILES));
    let requests = || std::fs::read_to_string(&asked).unwrap().lines().count();
    let before = requests();
    let again = home.json(["extract", folder]);
    let counts = (&again["model"]["sections"], &again["model"]["added"], &again["model"]["removed"]);
    assert_eq!(counts, (&json!(0), &json!(0), &json!(0)), "{again}");
    assert_eq!(requests(), before, "a second run asks nothing");
    assert_eq!(home.run(["doctor"]).status, 0);
}

#[test]
fn a_program_that_misbehaves_is_named_and_nothing_is_stored() {
    for (script, code, told) in [
        ("cat > /dev/null; echo nonsense", "extract_answer", "is not the JSON object"),
        ("echo sorry >&2; exit 3", "extract_failed", "exit status: 3: sorry"),
        ("sleep 60", "extract_failed", "within 1 seconds"),
    ] {
        let home = Sealed::new();
        let folder = project(&home, 1);
        with_program(&home, script, "timeout_seconds = 1\n");
        let (_, error) = home.error(["extract", folder.to_str().unwrap()]);
        assert_eq!(error["code"], code, "{script}: {error}");
        assert!(error["message"].as_str().unwrap().contains(told), "{script}: {error}");
        assert_eq!(items(&home), Vec::<String>::new(), "{script}");
        with_program(&home, PROGRAM, "");
        home.json(["extract"]);
        assert_eq!(items(&home), expected(1), "{script}: the next run reads it");
    }
}

#[test]
fn only_a_person_chooses_who_reads_documents() {
    let home = Sealed::new();
    let folder = project(&home, 1);
    let marker = home.beside("ran");
    let command = format!("distil.command=[\"/bin/sh\", \"-c\", \": > {marker}\"]");
    let folder = folder.to_str().unwrap();
    let (_, error) = home.error(["--set", &command, "extract", folder, "--by", "command"]);
    assert_eq!(error["code"], "extract_by", "{error}");
    assert!(!Path::new(&marker).exists(), "a flag may come from an agent");
    let refused =
        Process::run_with(home.command(["--json", "extract", "--by", "llm"]).env("CLAUDECODE", "1"), b"");
    assert_eq!(refused.error().1["code"], "person_only");
}

#[test]
fn a_model_behind_a_url_reads_documents_and_its_tokens_are_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut request, mut block) = (Vec::new(), [0; 65_536]);
        let body = loop {
            let read = stream.read(&mut block).unwrap();
            request.extend_from_slice(&block[..read]);
            let text = String::from_utf8_lossy(&request).into_owned();
            let body =
                text.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str::<Value>(body).ok());
            match body {
                Some(body) => break body,
                None => assert!(read > 0, "a whole request"),
            }
        };
        let quote = "the service number 0 listens on port 7000";
        let items =
            json!({ "items": [{ "section": 1, "type": "claim", "title": "A port", "quote": quote }] });
        let message = json!({ "message": { "role": "assistant", "content": items.to_string() } });
        let answer = json!({ "choices": [message], "usage": { "total_tokens": 77 } }).to_string();
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
        stream.write_all((head + &answer).as_bytes()).unwrap();
        body
    });
    let home = Sealed::new();
    let folder = PathBuf::from(home.beside("heron"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.md"), "# Ports\n\nThe service number 0 listens on port 7000.\n").unwrap();
    std::fs::create_dir_all(home.home()).unwrap();
    let settings =
        format!("[llm]\nurl = \"{url}\"\nmodel = \"small\"\ndaily_tokens = 9000\n[extract]\nby = \"llm\"\n");
    std::fs::write(home.home().join("nacre.toml"), settings).unwrap();
    let report = home.run(["extract", folder.to_str().unwrap()]);
    assert_eq!(report.status, 0, "{report:?}");
    assert!(
        report.stdout.contains("small: 1 section read, 0 unchanged; 1 new, 0 removed"),
        "{}",
        report.stdout
    );
    assert_eq!(server.join().unwrap()["model"], "small");
    assert_eq!(items(&home), ["a.md:3 The service number 0 listens on port 7000."]);
    assert_eq!(home.json(["items"])[0]["model"], "small");
    assert!(home.run(["items"]).stdout.contains("found by small"));
    assert_eq!(home.json(["status"])["tokens"]["tokens"], 77);
}
