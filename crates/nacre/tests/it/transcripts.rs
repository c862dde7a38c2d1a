//! Transcripts of our own: appended, read as a model should see them, compacted, ended, packed.

#![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use nacre::session::{Draft, Role};
use nacre::{Caller, http};
use serde_json::{Value, json};

use crate::maintain::only;
use crate::sealed::{Place, is_without_folder, noon};

/// The tools of sessions are not among those that agents are offered by default.
const OFFER: &str = r#"tools.offer=["memory_store", "memory_search", "session_append", "session_context", "session_compact", "session_flush", "session_end", "session_list", "session_show"]"#;

pub fn place(settings: &[&str]) -> Place {
    let settings: Vec<&str> = [OFFER].into_iter().chain(settings.iter().copied()).collect();
    Place::with("balanced", &settings)
}

pub fn say(place: &mut Place, session: &str, role: &str, content: &str) -> Value {
    let messages = json!([{ "role": role, "content": content }]);
    place.call("session_append", json!({ "id": session, "messages": messages })).data
}

/// A word that no other message has.
fn variety(n: usize) -> String {
    let mut seed = n + 1;
    let mut letter = || {
        seed = seed * 7_919 % 1_000_003;
        char::from(b'a' + u8::try_from(seed % 26).unwrap())
    };
    (0..9).map(|_| letter()).collect()
}

/// A conversation of so many messages of about 20 tokens each.
pub fn talk(place: &mut Place, session: &str, messages: usize) {
    for n in 0..messages {
        let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
        let content = format!(
            "Remark {n}: the garden gets a bed of tulips called {}, behind the shed, as Ana decided.",
            variety(n)
        );
        say(place, session, role, &content);
    }
}

/// A text in the form of a credential.
fn token() -> String {
    format!("ghp_{}", "a1B2c3".repeat(6))
}

fn file(place: &Place, session: &str) -> PathBuf {
    place.carry();
    place.folder.path().join("groups/main/sessions").join(format!("{session}.jsonl"))
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn context(place: &mut Place, session: &str) -> Value {
    place.call("session_context", json!({ "id": session })).data
}

/// Role and content of each message of a context.
fn seen(context: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let messages = context["messages"].as_array().unwrap();
    messages.iter().map(|line| (text(&line["role"]), text(&line["content"]))).collect()
}

fn found(place: &mut Place, query: &str) -> Vec<String> {
    let hits =
        place.call("memory_search", json!({ "query": query, "scope": ["sessions"] })).data["hits"].clone();
    hits.as_array().unwrap().iter().map(|hit| hit["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_transcript_has_the_lines_of_brain() {
    if is_without_folder() {
        return;
    }
    let mut place = place(&[]);
    let messages = json!([
        { "role": "user", "content": "Hello" },
        { "role": "assistant", "content": "Hi there!" },
        { "id": "tool_001", "role": "tool_call", "name": "read", "input": { "path": "README.md" } },
        { "id": "tool_001", "role": "tool_result", "content": "# Project..." },
    ]);
    let answer = place.call("session_append", json!({ "id": "s", "messages": messages })).data;
    assert_eq!(
        (&answer["added"], &answer["ids"]),
        (&json!(4), &json!(["msg_001", "msg_002", "tool_001", "tool_001"]))
    );
    let text = fs::read_to_string(file(&place, "s")).unwrap();
    assert_eq!(
        text,
        r##"{"id":"msg_001","role":"user","content":"Hello","timestamp":"2026-01-15T12:00:00.000Z"}
{"id":"msg_002","role":"assistant","content":"Hi there!","timestamp":"2026-01-15T12:00:00.000Z"}
{"id":"tool_001","role":"tool_call","name":"read","input":{"path":"README.md"},"timestamp":"2026-01-15T12:00:00.000Z"}
{"id":"tool_001","role":"tool_result","content":"# Project...","timestamp":"2026-01-15T12:00:00.000Z"}
"##
    );
    let index = fs::read_to_string(file(&place, "s").with_file_name("sessions.json")).unwrap();
    let index: Value = serde_json::from_str(&index).unwrap();
    assert_eq!(index["sessions"][0]["file"], "s.jsonl");
    let list = place.call("session_list", json!({})).data;
    assert_eq!(
        (&list["sessions"][0]["format"], &list["sessions"][0]["messages"]),
        (&json!("transcript"), &json!(2))
    );
    place.check();
}

#[test]
fn what_is_appended_is_found_as_if_it_were_imported() {
    let mut place = place(&[]);
    say(&mut place, "s", "user", &format!("I took the ferry to the lighthouse with the key {}.", token()));
    say(
        &mut place,
        "s",
        "assistant",
        "<!-- nacre:memory -->\nremembered heron\n<!-- /nacre:memory -->\nHow was the crossing?",
    );
    assert_eq!(found(&mut place, "lighthouse ferry"), ["msg_001", "msg_002"]);
    let shown = place.call("session_show", json!({ "id": "s" }));
    assert!(!shown.text.contains(&token()), "{}", shown.text);
    assert!(!shown.text.contains("heron"), "our own words are not what was said: {}", shown.text);
    let context = place.call("session_context", json!({ "id": "s" }));
    assert!(!context.text.contains(&token()), "{}", context.text);
    // Made anew, the index gives the same.
    let caller = place.caller.clone();
    nacre::reindex(&mut place.view_of(&caller)).unwrap();
    assert_eq!(found(&mut place, "lighthouse ferry"), ["msg_001", "msg_002"]);
    place.check();
}

#[test]
fn tools_of_sessions_are_off_by_default() {
    let mut place = Place::new();
    for (tool, arguments) in [
        ("session_append", json!({ "messages": [{ "role": "user", "content": "hi" }] })),
        ("session_context", json!({ "id": "s" })),
        ("session_compact", json!({ "id": "s" })),
        ("session_flush", json!({})),
        ("session_end", json!({ "id": "s" })),
    ] {
        assert_eq!(place.refused(tool, arguments), "not_offered", "{tool}");
    }
}

// ── what may be wrong with it ──

#[test]
fn a_line_torn_by_a_dead_writer_is_kept_aside_and_the_next_starts_anew() {
    if is_without_folder() {
        return;
    }
    let mut place = place(&[]);
    say(&mut place, "s", "user", "first");
    let path = file(&place, "s");
    let mut text = fs::read_to_string(&path).unwrap();
    let torn = r#"{"id":"msg_002","role":"assistant","content":"half of a sent"#;
    text.push_str(torn);
    fs::write(&path, &text).unwrap();
    // It is no message to anyone meanwhile.
    assert_eq!(seen(&context(&mut place, "s")).len(), 1);
    let answer = say(&mut place, "s", "user", "second");
    let warning = answer["warnings"][0].as_str().unwrap();
    let aside = warning.split('`').nth(1).unwrap();
    assert!(warning.contains("incomplete"), "{warning}");
    assert_eq!(fs::read_to_string(aside).unwrap(), torn);
    assert_eq!(lines(&path).len(), 2);
    assert_eq!(say(&mut place, "s", "user", "third").get("warnings"), None);
    // A line that is whole but for its end is a line.
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        format!(
            "{whole}{}",
            r#"{"id":"w","role":"user","content":"whole and wombat","timestamp":"2026-01-15T12:00:00Z"}"#
        ),
    )
    .unwrap();
    assert_eq!(say(&mut place, "s", "user", "fourth").get("warnings"), None);
    assert_eq!(found(&mut place, "wombat")[0], "w");
    assert_eq!(lines(&path).len(), 5);
    place.check();
}

#[test]
fn a_foreign_line_is_passed_over_and_told() {
    let mut place = place(&[]);
    say(&mut place, "s", "user", "first");
    let path = file(&place, "s");
    let text = fs::read_to_string(&path).unwrap();
    let long = "x".repeat(100_000);
    let foreign = format!("not json\n[1,2]\n{{\"role\":\"oracle\",\"content\":\"{long}\"}}\n\0\u{1}\n");
    fs::write(&path, format!("{text}{foreign}")).unwrap();
    let answer = say(&mut place, "s", "user", "second");
    assert_eq!(answer["warnings"][0], "skipped 4 invalid lines of the transcript");
    assert_eq!(say(&mut place, "s", "user", "third").get("warnings"), None, "told once");
    assert_eq!(seen(&context(&mut place, "s")).len(), 3);
    assert!(fs::read_to_string(&path).unwrap().contains("not json"), "nothing of it is lost");
}

#[test]
fn a_clock_that_went_back_changes_no_order() {
    let mut place = place(&[]);
    say(&mut place, "s", "user", "said first");
    place.later(-2);
    let answer = say(&mut place, "s", "user", "said second");
    assert!(answer["warnings"][0].as_str().unwrap().contains("clock went back"), "{answer}");
    place.later(2);
    say(&mut place, "s", "user", "said third");
    let said: Vec<String> = seen(&context(&mut place, "s")).into_iter().map(|(_, text)| text).collect();
    assert_eq!(said, ["said first", "said second", "said third"]);
}

#[test]
fn an_id_used_twice_is_the_same_message_or_an_error() {
    let mut place = place(&[]);
    let send = |place: &mut Place, id: &str, content: &str| {
        let messages = json!([{ "id": id, "role": "user", "content": content }]);
        place.try_call("session_append", json!({ "id": "s", "messages": messages })).map(|answer| answer.data)
    };
    assert_eq!(send(&mut place, "a", "hello").unwrap()["added"], 1);
    let again = send(&mut place, "a", "hello").unwrap();
    assert_eq!((&again["added"], &again["present"]), (&json!(0), &json!(1)));
    assert_eq!(send(&mut place, "a", "something else").unwrap_err().code(), "message_taken");
    // One refused, none written.
    let both = json!([{ "id": "b", "role": "user", "content": "new" }, { "id": "a", "role": "user", "content": "other" }]);
    assert_eq!(place.refused("session_append", json!({ "id": "s", "messages": both })), "message_taken");
    assert_eq!(lines(&file(&place, "s")).len(), 1);
    // In a file that someone else wrote: the first counts.
    let path = file(&place, "s");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        format!(
            "{text}{}\n",
            r#"{"id":"a","role":"user","content":"written by hand","timestamp":"2026-01-15T12:00:00Z"}"#
        ),
    )
    .unwrap();
    let answer = send(&mut place, "c", "next").unwrap();
    assert!(answer["warnings"][0].as_str().unwrap().contains("occur twice"), "{answer}");
    assert_eq!(found(&mut place, "hello")[0], "a");
    place.check();
}

#[test]
fn what_is_no_message_is_refused() {
    let mut place = place(&[]);
    for (message, field) in [
        (json!({ "role": "user" }), "content"),
        (json!({ "role": "user", "content": " \n" }), "content"),
        (json!({ "role": "summary", "content": "all that" }), "role"),
        (json!({ "role": "oracle", "content": "hi" }), "oracle"),
        (json!({ "role": "tool_call" }), "name"),
        (json!({ "role": "tool_result", "content": "x" }), "id"),
        (json!({ "role": "user", "content": "x", "id": "two words" }), "id"),
        (json!({ "role": "user", "content": "x", "mood": "good" }), "mood"),
    ] {
        let error =
            place.try_call("session_append", json!({ "id": "s", "messages": [message] })).unwrap_err();
        assert_eq!(error.code(), "bad_argument", "{message}: {error}");
        assert!(error.to_string().contains(field), "{message}: {error}");
    }
    assert!(!file(&place, "s").exists());
    for id in ["../../outside", "a/b", ".hidden", "con", "%2e%2e", "~"] {
        say(&mut place, id, "user", "stays inside");
    }
    let outside = place.folder.path().join("groups");
    assert_eq!(fs::read_dir(outside).unwrap().count(), 1, "no id leads out of the folder");
    let long = "ü".repeat(120);
    let one = json!([{ "role": "user", "content": "x" }]);
    assert_eq!(place.refused("session_append", json!({ "id": long, "messages": one })), "long_session");
    assert_eq!(place.refused("session_context", json!({ "id": "nobody" })), "no_transcript");
}

#[test]
fn a_lock_of_a_dead_process_holds_nobody() {
    let mut place = place(&[]);
    say(&mut place, "s", "user", "first");
    // A killed process leaves the lock file; the lock itself ended with it.
    fs::write(file(&place, "s").with_file_name("lock"), "4194304").unwrap();
    say(&mut place, "s", "user", "second");
    assert_eq!(lines(&file(&place, "s")).len(), 2);
}

#[test]
fn a_database_that_was_lost_is_filled_from_the_files() {
    if is_without_folder() {
        return;
    }
    let mut place = place(&[]);
    talk(&mut place, "s", 6);
    for name in ["memory.db", "memory.db-wal", "memory.db-shm"] {
        let _ = fs::remove_file(place.folder.path().join("groups/main").join(name));
    }
    place.reopen();
    assert_eq!(found(&mut place, "tulips"), Vec::<String>::new());
    let caller = place.caller.clone();
    only(&mut place.group, &caller, "sessions", "sessions");
    assert!(found(&mut place, &variety(3)).contains(&"msg_004".to_owned()));
    say(&mut place, "s", "user", "one more");
    assert_eq!(lines(&file(&place, "s")).len(), 7);
    place.check();
}

// ── the context ──

#[test]
fn old_results_of_tools_are_left_out_and_their_calls_stay() {
    let mut place = place(&[]);
    for n in 0..7 {
        let id = format!("t{n}");
        let messages = json!([
            { "id": id, "role": "tool_call", "name": "read", "input": { "n": n } },
            { "id": id, "role": "tool_result", "content": format!("the result {n}") },
        ]);
        place.call("session_append", json!({ "id": "s", "messages": messages }));
    }
    let before = fs::read(file(&place, "s")).unwrap();
    let context = context(&mut place, "s");
    let seen = seen(&context);
    assert_eq!(seen.len(), 14);
    let results: Vec<&str> =
        seen.iter().filter(|(role, _)| role == "tool_result").map(|(_, text)| text.as_str()).collect();
    assert!(results[..2].iter().all(|text| text.contains("omitted")), "{results:?}");
    assert_eq!(
        results[2..],
        ["the result 2", "the result 3", "the result 4", "the result 5", "the result 6"]
    );
    assert_eq!(context["results_left_out"], 2);
    assert_eq!(fs::read(file(&place, "s")).unwrap(), before, "the file is not touched");
}

#[test]
fn a_context_has_at_most_so_many_tokens_the_newest() {
    let mut place = place(&[]);
    talk(&mut place, "s", 40);
    let short = place.call("session_context", json!({ "id": "s", "tokens": 200 })).data;
    assert_eq!(short["cut"], true);
    assert!(short["tokens"].as_u64().unwrap() <= 200, "{short}");
    assert!(seen(&short).last().unwrap().1.contains("Remark 39"), "{short}");
    let whole = context(&mut place, "s");
    assert_eq!((whole["cut"].clone(), seen(&whole).len()), (json!(false), 40));
    // The summary stands for compacted messages, however little fits.
    place.call("session_compact", json!({ "id": "s" }));
    talk(&mut place, "s", 30);
    let short = place.call("session_context", json!({ "id": "s", "tokens": 200 })).data;
    assert_eq!(seen(&short)[0].0, "summary", "{short}");
}

// ── compaction ──

/// Compaction must lose nothing: what the context showed before is covered by the summary or still there.
fn compacted(mode: &str) -> Place {
    let mut place = place(&[&format!("session.compact={mode}")]);
    talk(&mut place, "s", 30);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = heard.clone();
    place.group.listen(move |event| hears.lock().unwrap().push((event.name, event.data.clone())));
    let done = place.call("session_compact", json!({ "id": "s" })).data;
    assert_eq!(
        (&done["covered"], &done["kept"], &done["by"]),
        (&json!(20), &json!(10), &json!("extractive")),
        "{done}"
    );
    let event = heard.lock().unwrap().iter().find(|(name, _)| *name == "memory:compact").unwrap().1.clone();
    assert_eq!(
        (&event["sessionId"], &event["before"], &event["after"]),
        (&json!("s"), &done["before"], &done["after"])
    );
    assert!(done["after"].as_u64() < done["before"].as_u64(), "{done}");
    let seen = seen(&context(&mut place, "s"));
    assert_eq!((seen.len(), seen[0].0.as_str()), (11, "summary"));
    assert!(seen[1].1.contains("Remark 20") && seen[10].1.contains("Remark 29"), "{seen:?}");
    assert!(seen[0].1.contains("tulips") && seen[0].1.contains("Ana decided"), "{}", seen[0].1);
    place
}

#[test]
fn an_overlay_keeps_every_line() {
    let mut place = compacted("overlay");
    let all = lines(&file(&place, "s"));
    assert_eq!(all.len(), 31);
    assert_eq!(all[30]["covers"], json!(["msg_001", "msg_020"]));
    assert_eq!(found(&mut place, &variety(3))[0], "msg_004", "what is summed up is found");
    // A second one covers the first, too.
    talk(&mut place, "s", 20);
    place.call("session_compact", json!({ "id": "s" }));
    let all = lines(&file(&place, "s"));
    assert_eq!(all.last().unwrap()["covers"], json!(["msg_001", "msg_041"]));
    assert_eq!(all.last().unwrap()["id"], "sum_002");
    assert_eq!(seen(&context(&mut place, "s")).len(), 11);
    let nothing = place.call("session_compact", json!({ "id": "s" })).data;
    assert_eq!(nothing["covered"], 0, "{nothing}");
    place.check();
}

#[test]
fn a_rewrite_keeps_the_original_aside() {
    let mut place = compacted("rewrite");
    let path = file(&place, "s");
    assert_eq!(lines(&path).len(), 11);
    let aside = path.with_file_name("archive").join("s~1.jsonl");
    assert_eq!(lines(&aside).len(), 30);
    // A message that left the file is not written a second time.
    let messages = json!([{ "id": "msg_001", "role": "user", "content": lines(&aside)[0]["content"] }]);
    assert_eq!(place.call("session_append", json!({ "id": "s", "messages": messages })).data["present"], 1);
    talk(&mut place, "s", 20);
    place.call("session_compact", json!({ "id": "s" }));
    assert_eq!(lines(&path).len(), 11);
    assert!(path.with_file_name("archive").join("s~2.jsonl").exists());
    assert_eq!(found(&mut place, &variety(3)).iter().filter(|id| *id == "msg_004").count(), 1);
    place.check();
}

#[test]
fn a_rewrite_that_was_stopped_before_the_database_heard_of_it_is_taken_up() {
    for stopped in ["before the rename", "after the rename"] {
        let mut place = compacted("rewrite");
        let path = file(&place, "s");
        let (new, old) =
            (fs::read(&path).unwrap(), fs::read(path.with_file_name("archive").join("s~1.jsonl")).unwrap());
        // The database as it was before: that of a home in which nothing was compacted.
        let mut before = self::place(&["session.compact=rewrite"]);
        talk(&mut before, "s", 30);
        fs::write(file(&before, "s"), if stopped == "before the rename" { &old } else { &new }).unwrap();
        say(&mut before, "s", "user", "and on it goes");
        let seen = seen(&context(&mut before, "s"));
        let expected = if stopped == "before the rename" { 31 } else { 12 };
        assert_eq!(seen.len(), expected, "{stopped}");
        assert_eq!(before.call("session_list", json!({})).data["sessions"][0]["messages"], 31, "{stopped}");
        before.check();
        place.check();
    }
}

#[test]
fn compaction_comes_by_itself_and_can_be_turned_off() {
    let mut place = place(&["session.compact_tokens=1000", "session.flush=off"]);
    talk(&mut place, "s", 60);
    let all = lines(&file(&place, "s"));
    let summaries = all.iter().filter(|line| line["role"] == "summary").count();
    assert!((1..=3).contains(&summaries), "{summaries}");
    assert!(context(&mut place, "s")["tokens"].as_u64().unwrap() < 1_100);
    let mut off = self::place(&["session.compact=off", "session.compact_tokens=1000"]);
    talk(&mut off, "s", 60);
    assert_eq!(lines(&file(&off, "s")).len(), 60);
    assert_eq!(off.refused("session_compact", json!({ "id": "s" })), "compaction_off");
}

#[test]
fn a_summary_stays_with_calls_and_their_results() {
    let mut place = place(&["session.keep_recent=2"]);
    talk(&mut place, "s", 4);
    let messages = json!([
        { "id": "a", "role": "tool_call", "name": "one", "input": {} },
        { "id": "b", "role": "tool_call", "name": "two", "input": {} },
        { "id": "a", "role": "tool_result", "content": "first" },
        { "id": "b", "role": "tool_result", "content": "second" },
    ]);
    place.call("session_append", json!({ "id": "s", "messages": messages }));
    place.call("session_compact", json!({ "id": "s" }));
    let roles: Vec<String> = seen(&context(&mut place, "s")).into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["summary", "tool_call", "tool_call", "tool_result", "tool_result"]);
}

#[test]
fn the_same_messages_give_the_same_summary() {
    let summary = || {
        let mut place = place(&[]);
        talk(&mut place, "s", 30);
        say(
            &mut place,
            "s",
            "user",
            "Actually the tulips go to Bergen on 3 May, not to the shed, and the budget is 450 kroner.",
        );
        talk(&mut place, "t", 3);
        for _ in 0..10 {
            say(&mut place, "s", "assistant", "ok");
        }
        place.call("session_compact", json!({ "id": "s" }));
        seen(&context(&mut place, "s"))[0].1.clone()
    };
    let one = summary();
    assert_eq!(one, summary());
    assert!(one.contains("450 kroner"), "{one}");
}

// ── a model that makes the summaries ──

/// A server that gives each request the next of these answers, and keeps what it was asked.
pub fn server(answers: Vec<(u16, String)>) -> (String, Arc<Mutex<Vec<String>>>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let keeps = asked.clone();
    std::thread::spawn(move || {
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut block = [0; 65_536];
            loop {
                let read = stream.read(&mut block).unwrap();
                request.extend_from_slice(&block[..read]);
                let text = String::from_utf8_lossy(&request).into_owned();
                let length: Option<usize> = text
                    .to_lowercase()
                    .split("content-length: ")
                    .nth(1)
                    .and_then(|rest| rest.lines().next()?.trim().parse().ok());
                if let (Some(length), Some(head)) = (length, text.find("\r\n\r\n"))
                    && request.len() >= head + 4 + length
                {
                    break;
                }
                assert!(read > 0, "a whole request");
            }
            keeps.lock().unwrap().push(String::from_utf8_lossy(&request).into_owned());
            let extra = if status == 302 { "Location: http://127.0.0.1:9/else\r\n" } else { "" };
            let head = format!(
                "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\n{extra}Content-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).unwrap();
        }
    });
    (url, asked)
}

fn with_model(url: &str) -> Place {
    let mut place = place(&[]);
    let key = nacre::Secret::new("key-that-nobody-sees");
    let chat = http::Chat::new(url, "qwen", Some(key), std::time::Duration::from_secs(5)).unwrap();
    place.home = place.home.with_settings(place.home.settings().clone()).with_chat(Arc::new(chat));
    place.reopen();
    place
}

#[test]
fn a_model_that_is_configured_makes_the_summary() {
    let answer = json!({ "choices": [{ "message": { "role": "assistant", "content": "Ana decided on \u{7}tulips behind the shed." } }] });
    let (url, asked) = server(vec![(200, answer.to_string())]);
    let mut place = with_model(&url);
    talk(&mut place, "s", 29);
    say(&mut place, "s", "user", &format!("the key is {}", token()));
    for _ in 0..10 {
        say(&mut place, "s", "user", "and more");
    }
    let done = place.call("session_compact", json!({ "id": "s" })).data;
    assert_eq!((&done["by"], done.get("note")), (&json!("qwen"), None), "{done}");
    assert_eq!(seen(&context(&mut place, "s"))[0].1, "Ana decided on tulips behind the shed.");
    let asked = asked.lock().unwrap()[0].clone();
    assert!(asked.starts_with("POST /v1/chat/completions "), "{asked}");
    assert!(asked.to_lowercase().contains("authorization: bearer key-that-nobody-sees"), "{asked}");
    assert!(asked.contains("Remark 3") && !asked.contains(&token()), "credentials stay here");
}

#[test]
fn a_model_that_fails_leaves_the_extractive_summary_and_is_named() {
    let broken = [
        (500, "{}".to_owned(), "answers 500"),
        (401, r#"{"error":{"message":"bad key key-that-nobody-sees"}}"#.to_owned(), "denies access"),
        (302, String::new(), "not followed"),
        (200, "<html>".to_owned(), "not JSON"),
        (200, r#"{"choices":[]}"#.to_owned(), "has no message"),
        (200, r#"{"choices":[{"message":{"content":"  "}}]}"#.to_owned(), "returned an empty answer"),
    ];
    for (status, body, told) in broken {
        let (url, _) = server(vec![(status, body)]);
        let mut place = with_model(&url);
        talk(&mut place, "s", 30);
        let done = place.call("session_compact", json!({ "id": "s" })).data;
        assert_eq!(done["by"], "extractive");
        let note = done["note"].as_str().unwrap();
        assert!(note.contains(told) && !note.contains("key-that-nobody-sees"), "{note}");
    }
    let refused = http::Chat::new("ftp://x", "m", None, std::time::Duration::from_secs(1)).err().unwrap();
    assert_eq!(
        (refused.code(), refused.to_string().starts_with("`llm.url`")),
        ("bad_provider", true),
        "{refused}"
    );
}

// ── the end ──

#[test]
fn the_end_of_a_session_is_summed_up_once() {
    let mut place = place(&[]);
    talk(&mut place, "s", 8);
    let first = place.call("session_end", json!({ "id": "s" })).data;
    assert_eq!(first["messages"], 8);
    let entry =
        place.call("memory_search", json!({ "query": "tulips garden", "scope": ["entries"] })).data["hits"]
            [0]
        .clone();
    assert_eq!(entry["id"], first["entry"]);
    let caller = Caller::person("p".parse().unwrap(), noon());
    let entry =
        nacre::call(&mut place.view_of(&caller), "memory_get", json!({ "id": first["entry"] })).unwrap().data;
    assert_eq!(
        (&entry["provenance"]["source"], &entry["provenance"]["narrative_id"]),
        (&json!("narrative"), &json!("s"))
    );
    // Nothing new, nothing stored; then only what is new.
    let again = place.call("session_end", json!({ "id": "s" })).data;
    assert_eq!((&again["messages"], again.get("entry")), (&json!(0), None));
    say(&mut place, "s", "user", "The heron came back to the pond.");
    let third = place.call("session_end", json!({ "id": "s" })).data;
    assert_eq!(third["messages"], 1);
    let text =
        nacre::call(&mut place.view_of(&caller), "memory_get", json!({ "id": third["entry"] })).unwrap().data;
    assert!(
        text["content"].as_str().unwrap().contains("heron")
            && !text["content"].as_str().unwrap().contains("tulips")
    );
    // The summary of a compaction is stored once, not again at the end.
    talk(&mut place, "u", 30);
    assert!(place.call("session_compact", json!({ "id": "u" })).data["entry"].is_string());
    assert_eq!(place.call("session_end", json!({ "id": "u" })).data["messages"], 10);
    let mut off = self::place(&["session.summary_entry=false"]);
    talk(&mut off, "s", 30);
    assert_eq!(off.call("session_compact", json!({ "id": "s" })).data.get("entry"), None);
    assert_eq!(off.call("session_end", json!({ "id": "s" })).data.get("entry"), None);
    assert_eq!(off.refused("session_end", json!({ "id": "nobody" })), "no_transcript");
}

// ── retention ──

#[test]
fn what_is_old_is_packed_and_stays_readable_and_searchable() {
    let mut place = place(&[]);
    talk(&mut place, "old", 12);
    place.later(31);
    say(&mut place, "new", "user", "of today");
    let before = context(&mut place, "old");
    let caller = place.caller.clone();
    assert_eq!(only(&mut place.group, &caller, "sessions", "sessions"), 1);
    assert_eq!(only(&mut place.group, &caller, "sessions", "sessions"), 0);
    assert!(!file(&place, "old").exists() && file(&place, "new").exists());
    let packed = file(&place, "old").with_file_name("archive").join("old.jsonl.gz");
    assert!(packed.exists());
    assert_eq!(context(&mut place, "old"), before);
    assert_eq!(
        place.call("session_show", json!({ "id": "old" })).data["messages"].as_array().unwrap().len(),
        12
    );
    assert_eq!(found(&mut place, &variety(3))[0], "msg_004");
    let list = place.call("session_list", json!({})).data["sessions"].clone();
    let of = |id: &str| list.as_array().unwrap().iter().find(|one| one["id"] == id).unwrap().clone();
    assert_eq!((of("old")["archived"].clone(), of("new").get("archived")), (json!(true), None));
    // It comes back when it goes on.
    say(&mut place, "old", "user", "here again");
    assert!(file(&place, "old").exists() && !packed.exists());
    assert_eq!(seen(&context(&mut place, "old")).len(), 13);
    // One that was stopped between the two is done again, and the plain file counts.
    place.later(31);
    fs::create_dir_all(packed.parent().unwrap()).unwrap();
    fs::write(&packed, "half a gz").unwrap();
    assert_eq!(seen(&context(&mut place, "old")).len(), 13);
    let caller = place.caller.clone();
    assert_eq!(only(&mut place.group, &caller, "sessions", "sessions"), 2);
    assert_eq!(seen(&context(&mut place, "old")).len(), 13);
    // A packed file that is damaged is an error, not nothing.
    fs::write(&packed, "half a gz").unwrap();
    assert_eq!(place.refused("session_context", json!({ "id": "old" })), "io");
    place.check();
}

#[test]
fn drafts_can_be_handed_over_without_a_tool() {
    let mut place = Place::new();
    let draft = Draft {
        id: None,
        role: Role::User,
        content: Some("a plain call".into()),
        name: None,
        input: None,
        timestamp: None,
    };
    let caller = place.caller.clone();
    let done = nacre::session::append(&mut place.view_of(&caller), &"s".parse().unwrap(), &[draft]).unwrap();
    assert_eq!((done.added, done.ids), (1, vec!["msg_001".to_owned()]));
}

#[test]
fn a_shared_session_sees_nothing_of_a_private_transcript() {
    let mut place = place(&[]);
    talk(&mut place, "s", 4);
    let ended = place.call("session_end", json!({ "id": "s" })).data;
    place.caller.visibility = nacre::Visibility::Shared;
    let one = json!([{ "role": "user", "content": "let me in" }]);
    for (tool, arguments) in [
        ("session_context", json!({ "id": "s" })),
        ("session_compact", json!({ "id": "s" })),
        ("session_end", json!({ "id": "s" })),
        ("session_flush", json!({ "id": "s" })),
        ("session_append", json!({ "id": "s", "messages": one })),
    ] {
        assert_eq!(place.refused(tool, arguments), "no_transcript", "{tool}");
    }
    assert!(ended["entry"].is_string());
    let entries = place.call("memory_search", json!({ "query": "tulips", "scope": ["entries"] })).data;
    assert_eq!(entries["hits"], json!([]), "its summary is as private as it is");
    // Its own transcript is its own.
    say(&mut place, "shared", "user", "said among others");
    assert_eq!(seen(&context(&mut place, "shared")).len(), 1);
}

/// Whoever said it was killed when the file had it and the database had not.
#[test]
fn a_private_transcript_that_the_database_had_not_heard_of_was_shown_to_shared_sessions() {
    if is_without_folder() {
        return;
    }
    let mut place = place(&[]);
    say(&mut place, "mine", "user", "The zebrafinch sings");
    for name in ["memory.db", "memory.db-wal", "memory.db-shm"] {
        let _ = fs::remove_file(place.folder.path().join("groups/main").join(name));
    }
    place.reopen();
    place.caller.visibility = nacre::Visibility::Shared;
    let id = json!({ "id": "mine" });
    for tool in ["session_context", "session_compact", "session_end", "session_flush"] {
        assert_eq!(place.refused(tool, id.clone()), "no_transcript", "{tool}");
    }
    let more = json!({ "id": "mine", "messages": [{ "role": "user", "content": "and?" }] });
    assert_eq!(place.refused("session_append", more), "no_transcript");
    // Nor when it is a shared one that takes it in.
    let shared =
        Caller { visibility: nacre::Visibility::Shared, ..Caller::person("p".parse().unwrap(), noon()) };
    nacre::reindex(&mut place.view_of(&shared)).unwrap();
    assert_eq!(place.call("session_list", json!({})).data["total"], 0);
    assert_eq!(found(&mut place, "zebrafinch"), [""; 0]);
    place.caller.visibility = nacre::Visibility::Private;
    assert_eq!(place.call("session_list", json!({})).data["total"], 1);
}

#[test]
fn a_summary_of_the_last_number_stopped_every_compaction() {
    let mut place = place(&["session.keep_recent=1"]);
    talk(&mut place, "a", 3);
    let forged = format!(
        r#"{{"id":"sum_{}","role":"summary","content":"x","covers":["msg_001","msg_001"],"timestamp":"2026-01-15T12:00:00Z"}}"#,
        i64::MAX
    );
    let path = file(&place, "a");
    fs::write(&path, fs::read_to_string(&path).unwrap() + &forged + "\n").unwrap();
    talk(&mut place, "a", 3);
    assert!(place.call("session_compact", json!({ "id": "a" })).data["covered"].as_i64().unwrap() > 0);
}

#[test]
fn one_transcript_that_could_not_be_read_kept_all_others_from_being_packed() {
    if is_without_folder() {
        return;
    }
    let mut place = place(&[]);
    say(&mut place, "a", "user", "The zebrafinch sings");
    say(&mut place, "b", "user", "The quagga sings");
    // A folder, a link and a pipe where a file should be, and a packed one that is damaged.
    let folder = place.group.folder().join("sessions");
    fs::remove_file(folder.join("a.jsonl")).unwrap();
    fs::create_dir(folder.join("a.jsonl")).unwrap();
    fs::create_dir_all(folder.join("archive")).unwrap();
    fs::write(folder.join("archive/c.jsonl.gz"), "no gzip").unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/dev/zero", folder.join("d.jsonl")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(folder.join("e.jsonl")).status().unwrap().success());
    }
    place.later(60);
    let caller = Caller::person("person".parse().unwrap(), place.caller.now);
    let ran = nacre::maintain::run(
        &mut place.view_of(&caller),
        &nacre::maintain::JobSelection::Only("sessions".into()),
    )
    .unwrap();
    assert!(ran[0].failed && ran[0].report.says.contains("`a` failed"), "{ran:?}");
    assert!(folder.join("archive/b.jsonl.gz").exists(), "{ran:?}");
    for id in ["d", "e"] {
        assert!(place.try_call("session_context", json!({ "id": id })).is_err());
    }
}

/// Appends lines to session `s` and compacts all but the last; returns the summary.
fn summary_of(lines: &[Value]) -> String {
    let mut place = place(&["session.keep_recent=0", "session.flush=off", "session.compact_tokens=1000000"]);
    for line in lines {
        place.call("session_append", json!({ "id": "s", "messages": [line] }));
    }
    place.call("session_compact", json!({ "id": "s" }));
    let context = place.call("session_context", json!({ "id": "s" })).data;
    let all = context["messages"].as_array().unwrap();
    all.iter().find(|line| line["role"] == "summary").unwrap()["content"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_of_tool_calls_had_an_empty_summary() {
    let call = |number: usize| {
        let id = format!("c{number}");
        let input = json!({ "file_path": format!("src/part_{number}.rs"), "new_string": "x" });
        let call = json!({ "role": "tool_call", "id": id, "name": "Edit", "input": input });
        [call, json!({ "role": "tool_result", "id": id, "content": "done" })]
    };
    let text = summary_of(&(0..8).flat_map(call).collect::<Vec<_>>());
    assert!(text.contains("Edit (8)") && text.contains("src/part_7.rs"), "{text}");
}

#[test]
fn long_sentences_had_an_empty_summary() {
    let long = format!("We {} agree", "really ".repeat(200));
    let text = summary_of(&[
        json!({ "role": "user", "content": long }),
        json!({ "role": "assistant", "content": long }),
    ]);
    assert!(!text.is_empty());
}

#[test]
fn repetition_crowded_decisions_out_of_a_summary() {
    let mut lines = Vec::new();
    for number in 0..300 {
        let noise = format!("I saw something odd in module_{number}.rs when Ana{number} ran it.");
        lines.push(json!({ "role": "assistant", "content": noise }));
        if number % 30 == 0 {
            let decision = format!("We decided that queue {number} moves to the harbour cluster.");
            lines.push(json!({ "role": "user", "content": decision }));
        }
    }
    let text = summary_of(&lines);
    let decisions = text.matches("We decided").count();
    assert!(decisions >= 8, "{decisions} of 10 decisions: {text}");
    assert!(text.matches("something odd").count() <= 20, "{text}");
}
