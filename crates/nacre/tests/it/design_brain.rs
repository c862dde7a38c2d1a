//! Brain's design, paragraph by paragraph, under the profile `brain`: transcripts, MEMORY.md, knowledge taken out of projects,
//! tasks; who reads what, and what is told of it.

#![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use nacre::{Access, Caller, Role, TOOLS, Visibility, call_across};
use serde_json::{Value, json};

use crate::files;
use crate::maintain::only;
use crate::sealed::{Place, is_without_folder, noon};

fn place() -> Place {
    Place::with("brain", &[])
}

fn person(place: &Place) -> Caller {
    Caller::person("a-person".parse().unwrap(), place.caller.now)
}

fn sessions(place: &Place) -> std::path::PathBuf {
    place.carry();
    place.group.folder().join("sessions")
}

fn say(place: &mut Place, session: &str, messages: &Value) -> Value {
    place.call("session_append", json!({ "id": session, "messages": messages })).data
}

/// A remark of about twenty tokens that no other is like.
fn remark(number: usize) -> Value {
    let role = if number.is_multiple_of(2) { "user" } else { "assistant" };
    let content = format!(
        "Remark {number}: loop stage {} was reviewed by Ana, and step {} comes next.",
        number * 7,
        number * 13
    );
    json!({ "role": role, "content": content })
}

fn context(place: &mut Place, session: &str) -> Value {
    place.call("session_context", json!({ "id": session })).data
}

/// Everything that is told from now on.
fn listen(place: &mut Place) -> Arc<Mutex<Vec<Value>>> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = heard.clone();
    place.group.listen(move |event| ears.lock().unwrap().push(serde_json::to_value(event).unwrap()));
    heard
}

fn write(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// Episodic memory: a file a conversation, a line a message, calls and results too, each with its time; only ever added to.
#[test]
fn a_session_is_a_file_of_lines() {
    if is_without_folder() {
        return;
    }
    let mut place = place();
    say(
        &mut place,
        "s1",
        &json!([
            { "id": "msg_001", "role": "user", "content": "Hello", "timestamp": "2026-02-05T10:00:00Z" },
            { "id": "msg_002", "role": "assistant", "content": "Hi there!", "timestamp": "2026-02-05T10:00:01Z" },
            { "id": "tool_001", "role": "tool_call", "name": "read", "input": { "path": "README.md" }, "timestamp": "2026-02-05T10:00:02Z" },
            { "id": "tool_001", "role": "tool_result", "content": "# Project...", "timestamp": "2026-02-05T10:00:03Z" },
        ]),
    );
    let file = sessions(&place).join("s1.jsonl");
    let before = fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = before.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(
        lines[2],
        json!({ "id": "tool_001", "role": "tool_call", "name": "read", "input": { "path": "README.md" }, "timestamp": "2026-02-05T10:00:02.000Z" })
    );
    assert!(lines.iter().all(|line| line["timestamp"].is_string()), "every line has its time");
    // Reading changes nothing, writing adds.
    context(&mut place, "s1");
    say(&mut place, "s1", &json!([remark(0)]));
    assert!(fs::read_to_string(&file).unwrap().starts_with(&before));
    // The index of sessions, and one file each.
    say(&mut place, "s2", &json!([remark(1)]));
    let index: Value =
        serde_json::from_str(&fs::read_to_string(sessions(&place).join("sessions.json")).unwrap()).unwrap();
    let files: Vec<&Value> = index["sessions"].as_array().unwrap().iter().map(|one| &one["file"]).collect();
    assert!(files.contains(&&json!("s1.jsonl")) && files.contains(&&json!("s2.jsonl")), "{index}");
    place.check();
}

/// Long-term memory: a Markdown file that agents and people change, that is searched, and that every call starts with.
#[test]
fn memory_md_is_written_at_once_and_read_by_every_call() {
    let mut place = place();
    let write = |place: &mut Place, content: &str| {
        place.call("memory_write", json!({ "path": "MEMORY.md", "content": content })).data
    };
    let first = "# Agent Memory\n\n## Key Decisions\n- 2026-02-01: Chose SQLite over PostgreSQL\n";
    assert_eq!(write(&mut place, first)["written"], true, "no gate");
    // A person's editor is as good.
    let text = String::from_utf8(files::read(&place, "MEMORY.md").unwrap()).unwrap();
    files::put(&place, "MEMORY.md", text + "\n## User Preferences\n- Uses VSCode as primary editor\n");
    for (query, word) in [("SQLite PostgreSQL", "SQLite"), ("primary editor", "VSCode")] {
        let hit = place.call("memory_search", json!({ "query": query, "scope": ["memory"] })).data["hits"][0]
            .clone();
        assert_eq!(hit["path"], "MEMORY.md");
        assert!(hit["text"].as_str().unwrap().contains(word), "{hit}");
    }
    // The context stage of each loop has it, beside the messages, and never twice.
    say(&mut place, "s", &json!([remark(0)]));
    let seen = context(&mut place, "s");
    assert!(seen["memory"].as_str().unwrap().contains("VSCode"), "{seen}");
    assert_eq!(nacre::strip_injected(seen["memory"].as_str().unwrap()).trim(), "", "it is known as ours");
    // A session starts with the agent's definition, its memory and its tasks, in this order.
    files::put(&place, "AGENT.md", "I keep the blog.\n");
    place.call("task_add", json!({ "description": "Implement session locking", "priority": 1 }));
    let boot = place.call("memory_boot", json!({}));
    let parts: Vec<&str> =
        boot.data["parts"].as_array().unwrap().iter().map(|part| part["path"].as_str().unwrap()).collect();
    assert_eq!(parts, ["AGENT.md", "MEMORY.md", "tasks"]);
    assert!(
        boot.text.contains("- [TASK-001] pending, priority 1: Implement session locking"),
        "{}",
        boot.text
    );
    // Others who read along see none of it.
    place.caller.visibility = Visibility::Shared;
    let boot = place.call("memory_boot", json!({})).text;
    assert!(!boot.contains("VSCode"), "{boot}");
    place.caller.visibility = Visibility::Private;
    // Over 50,000 characters a write is still done, and asks to prune.
    let long = "- a line that says little about the loop\n".repeat(1_300);
    let answer = write(&mut place, &long);
    assert_eq!(answer["written"], true);
    assert!(
        answer["note"].as_str().unwrap().contains("50000")
            || answer["note"].as_str().unwrap().contains("50,000"),
        "{answer}"
    );
    place.check();
}

/// Extracted knowledge: typed, cited by file and line, queryable; taken out anew in place of the old; written by extraction
/// alone.
#[test]
fn items_are_what_the_files_say() {
    let (mut place, folder) = (place(), tempfile::tempdir().unwrap());
    write(
        folder.path(),
        "docs/Architecture.md",
        "# Architecture\n\n## Decisions\n\n- We chose Fastify over Express for better TypeScript support.\n\n- [ ] write the importer\n",
    );
    write(folder.path(), "README.md", "# Web\n");
    let (caller, name) = (person(&place), "web".parse().unwrap());
    nacre::project::extract(&mut place.view_of(&caller), folder.path(), Some(&name), &mut |_| {}).unwrap();
    let items =
        |place: &mut Place, arguments: Value| place.call("item_list", arguments).data["items"].clone();
    let decision = items(&mut place, json!({ "type": "decision" }))[0].clone();
    assert!(decision["id"].as_str().unwrap().starts_with("item_"), "{decision}");
    assert_eq!(
        (&decision["sourceFile"], &decision["lineNumber"]),
        (&json!("docs/Architecture.md"), &json!(5)),
        "{decision}"
    );
    for field in ["title", "content", "confidence", "extractedAt"] {
        assert!(!decision[field].is_null(), "{field}: {decision}");
    }
    assert_eq!(items(&mut place, json!({ "query": "importer" }))[0]["type"], "task");
    // The export has Brain's file.
    let out = folder.path().join("out");
    nacre::export::export(&place.view(), &out).unwrap();
    let exported: Value = serde_json::from_str(&fs::read_to_string(out.join("items.json")).unwrap()).unwrap();
    assert_eq!(exported.as_array().unwrap().len(), 2, "{exported}");
    // Nothing but extraction writes them.
    let writers = TOOLS.iter().filter(|tool| tool.name.starts_with("item_") && tool.access != Access::Read);
    assert_eq!(writers.count(), 0);
    // Extracted again, what is said now stands; what came of a file that is gone goes.
    write(
        folder.path(),
        "docs/Architecture.md",
        "# Architecture\n\n## Decisions\n\n- We chose Hono over Fastify for its size.\n",
    );
    nacre::project::extract(&mut place.view_of(&caller), folder.path(), Some(&name), &mut |_| {}).unwrap();
    let now = items(&mut place, json!({}));
    assert_eq!(now.as_array().unwrap().len(), 1, "{now}");
    assert!(now[0]["content"].as_str().unwrap().contains("Hono"), "{now}");
    fs::remove_file(folder.path().join("docs/Architecture.md")).unwrap();
    nacre::project::extract(&mut place.view_of(&caller), folder.path(), Some(&name), &mut |_| {}).unwrap();
    assert_eq!(items(&mut place, json!({})), json!([]));
    place.check();
}

/// Task memory: Brain's fields, by priority, changed only on purpose, archived with their milestone.
#[test]
fn tasks_have_a_state_that_someone_changes() {
    let (mut place, folder) = (place(), tempfile::tempdir().unwrap());
    place.call(
        "task_add",
        json!({ "description": "Later", "priority": 3, "milestone": "M1", "blocked_by": [] }),
    );
    place.call(
        "task_add",
        json!({ "description": "Implement session locking", "priority": 1, "milestone": "M1", "acceptance_criteria": ["Lock acquired before execution", "Lock released after"] }),
    );
    let ids = |place: &mut Place, arguments: Value| -> Vec<String> {
        let tasks = place.call("task_list", arguments).data["tasks"].clone();
        tasks.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&mut place, json!({})), ["TASK-002", "TASK-001"]);
    let out = folder.path().join("out");
    nacre::export::export(&place.view(), &out).unwrap();
    let file: Value = serde_json::from_str(&fs::read_to_string(out.join("tasks.json")).unwrap()).unwrap();
    let locking = file["tasks"].as_array().unwrap().iter().find(|task| task["id"] == "TASK-002").unwrap();
    for (field, value) in [
        ("milestone", json!("M1")),
        ("priority", json!(1)),
        ("status", json!("pending")),
        ("acceptance_criteria", json!(["Lock acquired before execution", "Lock released after"])),
        ("completed", Value::Null),
        ("blocked_by", json!([])),
    ] {
        assert_eq!(locking[field], value, "{field}: {locking}");
    }
    assert!(locking["created"].as_str().unwrap().starts_with("2026-01-15"), "{locking}");
    for id in ["1", "2"] {
        let done = place.call("task_update", json!({ "action": "done", "id": id })).data;
        assert!(done["task"]["completed"].is_string(), "{done}");
    }
    let heard = listen(&mut place);
    place.call("task_update", json!({ "action": "archive", "milestone": "M1" }));
    assert_eq!(ids(&mut place, json!({})), [] as [&str; 0]);
    assert_eq!(ids(&mut place, json!({ "archived": true })).len(), 2);
    assert_eq!(heard.lock().unwrap().iter().filter(|event| event["event"] == "memory:write").count(), 2);
}

/// Pruning in memory: of tools' results the last five, of calls all; the file is as it was.
#[test]
fn old_results_are_left_out_of_the_context() {
    let mut place = place();
    for number in 0..8 {
        let id = format!("t{number}");
        let call = json!({ "id": id, "role": "tool_call", "name": "read", "input": { "n": number } });
        say(
            &mut place,
            "s",
            &json!([call, { "id": id, "role": "tool_result", "content": format!("result {number}") }]),
        );
    }
    let seen = context(&mut place, "s");
    let of =
        |role: &str| seen["messages"].as_array().unwrap().iter().filter(|line| line["role"] == role).count();
    assert_eq!((of("tool_call"), &seen["results_left_out"]), (8, &json!(3)), "{seen}");
    let file = fs::read_to_string(sessions(&place).join("s.jsonl")).unwrap();
    assert!(file.contains("\"result 0\""), "{file}");
}

/// Flush and compaction: at 80,000 tokens the agent is asked to store what lasts, at 100,000 all but the last ten messages
/// become one summary in the file, and the original is kept aside.
#[test]
fn the_agent_is_asked_before_a_session_is_compacted() {
    let mut place = place();
    let flush = |place: &mut Place, tokens: usize| {
        place.call("session_flush", json!({ "id": "host", "tokens": tokens })).data
    };
    assert_eq!(flush(&mut place, 79_999)["due"], false);
    let due = flush(&mut place, 80_000);
    assert_eq!(due["due"], true);
    assert!(due["prompt"].as_str().unwrap().contains("NO_REPLY"), "{due}");
    assert_eq!(flush(&mut place, 90_000)["due"], false, "once a cycle");
    assert_eq!(place.group.settings().session.compact_tokens, 100_000);

    // The same in small.
    let mut place = Place::with("brain", &["session.compact_tokens=1000", "session.flush_tokens=800"]);
    let heard = listen(&mut place);
    let mut number = 0;
    while !heard.lock().unwrap().iter().any(|event| event["event"] == "memory:compact") {
        say(&mut place, "s", &json!([remark(number)]));
        number += 1;
        assert!(number < 200, "it is never compacted");
    }
    let told: Vec<Value> = heard.lock().unwrap().clone();
    let at = |name: &str| told.iter().position(|event| event["event"] == name).unwrap();
    assert!(at("memory:flush") < at("memory:compact"), "{told:?}");
    let compact = &told[at("memory:compact")];
    assert_eq!(compact["sessionId"], "s");
    assert!(compact["after"].as_u64() < compact["before"].as_u64(), "{compact}");
    let lines = |path: &Path| -> Vec<Value> {
        fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let now = lines(&sessions(&place).join("s.jsonl"));
    assert_eq!((now.len(), &now[0]["role"]), (11, &json!("summary")), "{now:?}");
    assert_eq!(lines(&sessions(&place).join("archive/s~1.jsonl")).len(), number);
    // Nothing was stored in the agent's place.
    let entries = place.call("memory_search", json!({ "scope": ["entries"] })).data["hits"].clone();
    assert_eq!(entries, json!([]));
    place.check();
}

/// Sessions that are over for 30 days are archived, and still read.
#[test]
fn old_sessions_are_archived() {
    let mut place = place();
    say(&mut place, "old", &json!([remark(0), remark(1)]));
    place.later(31);
    let caller = person(&place);
    assert_eq!(only(&mut place.group, &caller, "sessions", "sessions"), 1);
    assert!(!sessions(&place).join("old.jsonl").exists());
    assert_eq!(context(&mut place, "old")["messages"].as_array().unwrap().len(), 2);
}

/// Scopes: the admin reads and writes everything, a project what is its own and reads the admin's, a skill nothing: it is
/// handed what it needs.
#[test]
fn agents_stay_within_their_scope() {
    if is_without_folder() {
        return;
    }
    let mut place = place();
    files::put(&place, "MEMORY.md", "# Memory\n\n- The owner prefers concise responses.\n");
    place.group = place.home.group(&"blog".parse().unwrap(), noon()).unwrap();
    files::put(&place, "MEMORY.md", "# Memory\n\n- The blog is about gardens.\n");
    let role = |role: Role| Caller { role, ..Caller::agent("test-session".parse().unwrap(), noon()) };
    let across = |place: &mut Place, who: Role, tool: &str, arguments: Value| {
        let answer = call_across(
            &place.home,
            &mut place.group.enter(&role(who)).unwrap(),
            nacre::call::known(tool).unwrap(),
            arguments,
            nacre::Form::Whole,
        );
        answer.map(|answer| answer.text).map_err(|error| error.code())
    };
    let admins = json!({ "path": "MEMORY.md", "group": "main" });
    for who in [Role::Admin, Role::Project] {
        assert!(
            across(&mut place, who, "memory_get", json!({ "path": "MEMORY.md" }))
                .unwrap()
                .contains("gardens")
        );
        assert!(
            across(&mut place, who, "memory_get", admins.clone()).unwrap().contains("concise"),
            "{who:?}"
        );
    }
    let search = json!({ "query": "concise responses", "group": "main" });
    assert!(across(&mut place, Role::Project, "memory_search", search).unwrap().contains("concise"));
    // A project writes nowhere else and reads no third.
    let elsewhere = json!({ "path": "MEMORY.md", "content": "x", "group": "main" });
    assert_eq!(across(&mut place, Role::Project, "memory_write", elsewhere.clone()), Err("group_denied"));
    // An admin writes everywhere.
    assert!(across(&mut place, Role::Admin, "memory_write", elsewhere).unwrap().contains("Written"));
    // One search covers the project's own memory and the admin's.
    let both =
        across(&mut place, Role::Project, "memory_search", json!({ "query": "gardens concise" })).unwrap();
    assert!(
        both.contains("gardens") && both.contains("In group main:") && both.contains("concise"),
        "{both}"
    );
    let third = json!({ "path": "MEMORY.md", "group": "shop" });
    assert_eq!(across(&mut place, Role::Project, "memory_get", third), Err("group_denied"));
    // A skill has no tool that reads or writes.
    for tool in ["memory_get", "memory_search", "session_show", "memory_write", "session_append"] {
        let arguments =
            json!({ "path": "MEMORY.md", "query": "x", "id": "s", "content": "x", "messages": [] });
        let schema = nacre::tool(tool).unwrap().input_schema(place.group.settings());
        let fits = |(name, _): &(&String, &Value)| schema["properties"].get(name.as_str()).is_some();
        let own: serde_json::Map<String, Value> = arguments
            .as_object()
            .unwrap()
            .iter()
            .filter(fits)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        assert_eq!(across(&mut place, Role::Skill, tool, own.into()), Err("role_denied"), "{tool}");
    }
    let asked = json!({ "to": "seo", "action": "analyze", "queries": ["blog gardens"], "context": "SEO optimization for blog..." });
    let message = place.call("skill_handover", asked).data;
    assert_eq!((&message["type"], &message["to"]), (&json!("request"), &json!("agent_skill_seo")));
    assert_eq!(message["payload"]["action"], "analyze");
    let context = &message["payload"]["context"];
    assert_eq!(context["project_context"], "SEO optimization for blog...");
    assert!(context["memory_snippet"].as_str().unwrap().contains("gardens"), "{message}");
}

/// Search: by words, in Brain's scopes; conversations only where they are asked for; the sum of both kinds of
/// scores where the settings say so.
#[test]
fn a_search_has_scopes() {
    let (mut place, folder) = (place(), tempfile::tempdir().unwrap());
    files::put(&place, "MEMORY.md", "# Memory\n\n- The zeppelin loop has four stages.\n");
    say(&mut place, "s", &json!([{ "role": "user", "content": "Is the zeppelin loop done?" }]));
    write(folder.path(), "p/plan.md", "# Plan\n\n- [ ] build the zeppelin loop\n");
    write(folder.path(), "books/loops.md", "# Loops\n\nA zeppelin loop is flown in circles.\n");
    let caller = person(&place);
    nacre::project::extract(
        &mut place.view_of(&caller),
        &folder.path().join("p"),
        Some(&"p".parse().unwrap()),
        &mut |_| {},
    )
    .unwrap();
    let sources = [folder.path().join("books")];
    nacre::collection::add(&mut place.view_of(&caller), &"books".parse().unwrap(), &sources, &mut |_, _| {})
        .unwrap();
    let kinds = |place: &mut Place, scope: &[&str]| -> Vec<String> {
        let found = place.call("memory_search", json!({ "query": "zeppelin loop", "scope": scope })).data;
        found["hits"].as_array().unwrap().iter().map(|hit| hit["kind"].as_str().unwrap().to_owned()).collect()
    };
    for (scope, kind) in
        [("memory", "document"), ("items", "item"), ("sessions", "message"), ("sources", "document")]
    {
        assert_eq!(kinds(&mut place, &[scope]), [kind], "{scope}");
    }
    assert_eq!(kinds(&mut place, &[]), ["document"], "neither sessions nor sources unless asked");
    // The words alone.
    let none = place.call("memory_search", json!({ "query": "airship circuit" })).data;
    assert_eq!(none["hits"], json!([]));
    // Both, weighted.
    let hybrid = ["search.fusion=weighted", "embedding.provider=builtin", "search.least_similarity=0.1"];
    let mut place = Place::with("brain", &hybrid);
    files::put(&place, "MEMORY.md", "The physician told Ana to rest.\n");
    files::put(&place, "memory/topics/harbour.md", "The harbour is closed on Mondays.\n");
    let found = place.call("memory_search", json!({ "query": "doctor", "explain": true })).data;
    assert!(found["hits"][0]["text"].as_str().unwrap().contains("physician"), "{found}");
    let parts = found["hits"][0]["explain"].as_array().unwrap().clone();
    assert_eq!(parts[0]["part"], "relevance", "{found}");
    // finalScore = 0.7 * cosine + 0.3 * words, here without a word in common.
    let why = found["hits"][0]["why"].as_array().unwrap();
    let similarity =
        why.iter().find_map(|why| why["similarity"].as_f64()).unwrap_or_else(|| panic!("{found}"));
    assert!((parts[0]["value"].as_f64().unwrap().exp() - 0.7 * similarity).abs() < 0.01, "{found}");
}

/// The five events, with the payload of each; the file has them too, the words of a search among them.
#[test]
fn every_read_and_write_is_told() {
    let mut place = Place::with("brain", &["session.compact_tokens=1000", "session.flush_tokens=800"]);
    let heard = listen(&mut place);
    let last = |name: &str| -> Value {
        let heard = heard.lock().unwrap();
        let event = heard.iter().rev().find(|event| event["event"] == name);
        event.unwrap_or_else(|| panic!("no {name} in {heard:?}")).clone()
    };
    let payload = |event: &Value, keys: &[&str]| -> Value {
        keys.iter()
            .map(|key| ((*key).to_owned(), event[*key].clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let write = |place: &mut Place, arguments: Value| {
        place.call("memory_write", arguments);
        payload(&last("memory:write"), &["type", "path", "delta"])
    };
    let file = json!({ "path": "MEMORY.md", "content": "- one\n" });
    assert_eq!(write(&mut place, file), json!({ "type": "file", "path": "MEMORY.md", "delta": 6 }));
    let shorter = json!({ "path": "MEMORY.md", "content": "- 1", "mode": "edit", "old": "- one" });
    assert_eq!(write(&mut place, shorter), json!({ "type": "file", "path": "MEMORY.md", "delta": -2 }));
    place.call("memory_get", json!({ "path": "MEMORY.md" }));
    assert_eq!(
        payload(&last("memory:read"), &["type", "path", "size"]),
        json!({ "type": "file", "path": "MEMORY.md", "size": 4 })
    );
    place.call("memory_search", json!({ "query": "one" }));
    assert_eq!(
        payload(&last("memory:search"), &["query", "results"]),
        json!({ "query": "one", "results": 0 })
    );
    say(&mut place, "s", &json!([{ "role": "user", "content": "Hello" }]));
    assert_eq!(
        payload(&last("memory:write"), &["type", "path", "delta"]),
        json!({ "type": "session", "path": "s", "delta": 5 })
    );
    for number in 0..60 {
        say(&mut place, "s", &json!([remark(number)]));
    }
    assert_eq!(payload(&last("memory:flush"), &["sessionId"]), json!({ "sessionId": "s" }));
    let compact = last("memory:compact");
    assert_eq!(compact["sessionId"], "s");
    assert!(compact["before"].as_u64().unwrap() > compact["after"].as_u64().unwrap(), "{compact}");
    // Loaded by the context stage: the session, and MEMORY.md.
    heard.lock().unwrap().clear();
    context(&mut place, "s");
    let read = |event: &&Value| event["event"] == "memory:read";
    let loaded: Vec<Value> =
        heard.lock().unwrap().iter().filter(read).map(|event| event["path"].clone()).collect();
    assert_eq!(loaded, ["s", "MEMORY.md"]);
    // Taking knowledge out of a project is a write too.
    let folder = tempfile::tempdir().unwrap();
    write_note(folder.path());
    let caller = person(&place);
    nacre::project::extract(
        &mut place.view_of(&caller),
        folder.path(),
        Some(&"p".parse().unwrap()),
        &mut |_| {},
    )
    .unwrap();
    assert_eq!(
        payload(&last("memory:write"), &["type", "path", "delta"]),
        json!({ "type": "items", "path": "p", "delta": 1 })
    );
    // All of it has a time and is in the file.
    let file = fs::read_to_string(place.folder.path().join("telemetry.jsonl")).unwrap();
    for line in file.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        assert!(line["at"].is_string() && line["session"].is_string() && line["group"] == "main", "{line}");
    }
    for name in ["read", "write", "flush", "compact", "search"] {
        assert!(file.contains(&format!("\"event\":\"memory:{name}\"")), "{name}");
    }
    assert!(file.contains(r#""query":"one""#), "{file}");
    // And every write has its row in the log that shows any change.
    assert!(place.view().verify_audit().unwrap().ok);
}

fn write_note(folder: &Path) {
    write(folder, "plan.md", "# Plan\n\n- [ ] build the gate\n");
}
