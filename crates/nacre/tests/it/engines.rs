//! Two engines, one behaviour: the same calls give the same answers on SQLite and on PostgreSQL. On a server, row-level security
//! keeps groups and private rows apart.

use std::collections::BTreeMap;

use nacre::{Caller, Visibility};
use serde_json::{Value, json};

use crate::sealed::{Engine, Place, noon, postgres_server};

/// Calls of a script: a tool and its arguments. Ids are written as `#1` for the first that an answer had, and so on.
type Script = Vec<(&'static str, Value)>;

/// Replaces ids that are generated at random by the order in which they appear.
#[derive(Default)]
struct Ids {
    seen: Vec<String>,
}

impl Ids {
    fn generalise(&mut self, text: &str) -> String {
        // The time of a file is that of the disk or of the server. The hash of a row of the audit log covers random ids.
        let text = without(&without(text, "modified"), "hash");
        let text = text.as_str();
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("mem-") {
            let (before, found) = rest.split_at(at);
            let length = found.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(found.len());
            let (id, after) = found.split_at(length);
            let number = self.seen.iter().position(|seen| seen == id).unwrap_or_else(|| {
                self.seen.push(id.to_owned());
                self.seen.len() - 1
            });
            out += before;
            out += &format!("#{}", number + 1);
            rest = after;
        }
        out + rest
    }

    fn fill_in(&self, arguments: &Value) -> Value {
        let mut text = arguments.to_string();
        for (number, id) in self.seen.iter().enumerate().rev() {
            text = text.replace(&format!("#{}", number + 1), id);
        }
        serde_json::from_str(&text).unwrap()
    }
}

/// Removes the values of a field from JSON.
fn without(text: &str, field: &str) -> String {
    let start = format!("\"{field}\":\"");
    let mut parts = text.split(&start);
    let mut out = parts.next().unwrap_or_default().to_owned();
    out.extend(parts.map(|part| part.split_once('"').map_or(part, |(_, rest)| rest)));
    out
}

/// Runs a script and returns every answer or refusal as one text.
fn answers(place: &mut Place, script: &Script) -> Vec<String> {
    let mut ids = Ids::default();
    let mut answers = Vec::new();
    for (tool, arguments) in script {
        let said = match place.try_call(tool, ids.fill_in(arguments)) {
            Ok(answer) => format!("{}\n{}", answer.data, answer.text),
            Err(error) => format!("{}: {error}", error.code()),
        };
        answers.push(ids.generalise(&said));
        place.caller.now = place.caller.now.plus_days(1);
    }
    place.check();
    let audit = place.view().verify_audit().unwrap();
    answers.push(format!("audit: {} {}", audit.ok, audit.rows));
    answers
}

/// Runs a script on both engines and compares all answers.
fn same_on_both(profile: &str, script: &Script) {
    let mut sqlite = Place::on(Engine::Sqlite, profile, &[]).unwrap();
    let Some(mut postgres) = Place::on(Engine::Postgres, profile, &[]) else { return };
    for place in [&mut sqlite, &mut postgres] {
        place.caller = Caller::person("test-session".parse().unwrap(), noon());
    }
    let expected = answers(&mut sqlite, script);
    let found = answers(&mut postgres, script);
    for ((call, expected), found) in script.iter().zip(&expected).zip(&found) {
        assert_eq!(found, expected, "{call:?}");
    }
    assert_eq!(found, expected);
}

fn store(content: &str) -> (&'static str, Value) {
    ("memory_store", json!({ "content": content }))
}

fn search(query: &str) -> (&'static str, Value) {
    ("memory_search", json!({ "query": query, "explain": true }))
}

#[test]
fn entries_are_found_with_the_same_scores() {
    let mut script: Script = vec![search("anything in an empty memory?")];
    let subjects =
        ["the deploy", "Petra", "the API", "Luna the dog", "東京のオフィス", "the C++ build", "getUserName"];
    let facts = [
        "runs on port 8080 since Tuesday",
        "prefers tea over coffee in the morning",
        "was moved to the second floor because of the noise",
        "fails when the disk is full: retry after cleaning /tmp",
        "is reviewed by two people before every release",
    ];
    for subject in subjects {
        for fact in facts {
            script.push(store(&format!("{subject} {fact}")));
        }
    }
    script.push(store("the deploy runs on port 8080 since Tuesday"));
    script.push(store("a text with \u{0} and \u{fdd0}0 in it, which a server can't store as it is"));
    script.push(search("text with a server"));
    for query in [
        "which port does the deploy use?",
        "東京",
        "東",
        "C++",
        "user name",
        "who drinks tea?",
        "disk full cleaning",
        "the",
    ] {
        script.push(search(query));
    }
    script
        .push(("memory_update", json!({ "id": "#3", "content": "the deploy now runs on the ground floor" })));
    script.push(("memory_delete", json!({ "id": "#5" })));
    script.push(("memory_store", json!({ "content": "the deploy runs on port 9090", "supersedes": "#1" })));
    for query in ["deploy port", "ground floor", "release review", "Luna"] {
        script.push(search(query));
    }
    script.push(("memory_brief", json!({})));
    same_on_both("balanced", &script);
}

#[test]
fn the_graph_answers_the_same() {
    let fact = |entity: &str, key: &str, value: &str| {
        ("fact_upsert", json!({ "entity": entity, "key": key, "value": value }))
    };
    let relation = |subject: &str, predicate: &str, object: &str| {
        ("relation_add", json!({ "subject": subject, "predicate": predicate, "object": object }))
    };
    let mut script: Script = vec![
        fact("Petra", "birthday", "12 March"),
        fact("Petra", "city", "Oslo"),
        fact("heron", "port", "8080"),
        fact("heron", "port", "9090"),
        fact("heron", "language", "Rust"),
        relation("Petra", "owns", "heron"),
        relation("heron", "depends on", "postgres"),
        relation("Petra", "works with", "Anna Berg"),
        ("alias_add", json!({ "alias": "the API", "entity": "heron" })),
        ("alias_add", json!({ "alias": "Annie", "entity": "Anna Berg" })),
        fact("Annie", "team", "payments"),
        fact("Ännie", "team", "payments"),
        ("entity_join", json!({ "do": "merge", "one": "Ännie", "other": "Anna Berg" })),
    ];
    for query in [
        "what is the port of heron?",
        "when is Petra's birthday?",
        "who owns the API?",
        "Annie",
        "Berg's team",
    ] {
        script.push(("graph_search", json!({ "query": query })));
        script.push(search(query));
    }
    script.extend([
        ("fact_list", json!({})),
        ("fact_list", json!({ "history": true })),
        ("fact_list", json!({ "entity": "heron", "as_of": "2026-01-18" })),
        ("relation_list", json!({})),
        ("relation_list", json!({ "entity": "Petra" })),
        ("entity_list", json!({})),
        ("relation_end", json!({ "subject": "Petra", "predicate": "owns", "object": "heron" })),
        ("fact_remove", json!({ "of": "heron", "key": "port" })),
        ("fact_remove", json!({ "of": "heron" })),
        ("relation_list", json!({ "history": true })),
        ("graph_picture", json!({})),
        ("graph_search", json!({ "query": "what is the port of heron?" })),
        ("audit_list", json!({})),
    ]);
    same_on_both("graph", &script);
}

#[test]
fn files_sessions_and_tasks_answer_the_same() {
    let say = |session: &str, from: usize, texts: &[&str]| {
        let messages: Vec<Value> = texts
            .iter()
            .zip(from..)
            .map(|(text, number)| {
                let role = if number % 2 == 0 { "user" } else { "assistant" };
                json!({ "id": format!("m{number}"), "role": role, "content": text })
            })
            .collect();
        ("session_append", json!({ "id": session, "messages": messages }))
    };
    let script: Script = vec![
        (
            "memory_write",
            json!({ "path": "MEMORY.md", "content": "# Memory\n\n- The staging database listens on port 5433." }),
        ),
        ("memory_write", json!({ "content": "Petra moved to Bergen" })),
        ("file_list", json!({})),
        ("memory_get", json!({ "path": "MEMORY.md" })),
        search("staging database port"),
        search("where did Petra move?"),
        ("memory_write", json!({ "path": "MEMORY.md", "mode": "replace", "old": "5433", "content": "5434" })),
        ("memory_get", json!({ "path": "MEMORY.md" })),
        search("staging database port"),
        (
            "file_save",
            json!({ "path": "notes/plan.md", "content": "# Plan\n\nShip the parser on Friday.\n" }),
        ),
        ("file_show", json!({ "path": "notes/plan.md" })),
        search("when do we ship the parser?"),
        say(
            "talk-1",
            0,
            &["How do I rotate the keys?", "Run `rotate-keys` on the bastion host.", "Thanks, it worked."],
        ),
        say("talk-1", 0, &["How do I rotate the keys?"]),
        say("talk-2", 0, &["My sister Anna visits in May.", "Noted."]),
        ("session_list", json!({})),
        ("session_show", json!({ "id": "talk-1" })),
        search("rotate keys bastion"),
        ("session_context", json!({ "id": "talk-1", "tokens": 200 })),
        ("session_compact", json!({ "id": "talk-1" })),
        ("session_end", json!({ "id": "talk-1" })),
        ("session_flush", json!({ "id": "talk-2", "tokens": 100_000 })),
        ("task_add", json!({ "description": "Write the parser", "milestone": "v1", "priority": 2 })),
        ("task_add", json!({ "description": "Test the parser", "blocked_by": ["TASK-001"] })),
        ("task_update", json!({ "action": "start", "id": "TASK-001" })),
        ("task_update", json!({ "action": "done", "id": "TASK-002" })),
        ("task_update", json!({ "action": "done", "id": "TASK-001" })),
        ("task_list", json!({})),
        search("parser"),
        ("lesson_add", json!({ "text": "Always run the formatter before a commit" })),
        ("proposal_list", json!({ "all": true })),
        ("memory_boot", json!({})),
        ("session_review", json!({ "session": "test-session" })),
        ("audit_list", json!({})),
    ];
    same_on_both("balanced", &script);
    same_on_both("strict", &script);
}

/// A server takes the messages of an import many at a time; nothing may tell.
#[test]
fn imported_messages_have_the_same_numbers_and_scores() {
    let line = |session: usize, id: usize, text: &str| {
        let speaker = ["user", "assistant", "Petra", "Jürgen"][id % 4];
        let at = format!("2026-0{}-11T12:{:02}:00Z", 1 + session % 9, id % 60);
        json!({ "id": format!("m{id}"), "session": format!("s{session}"), "speaker": speaker, "text": text, "timestamp": at })
            .to_string()
    };
    let topics =
        ["the harbour", "a violin", "tea with \u{0} in it", "the red bicycle", "東京", "the deploy script"];
    let said = |number: usize| {
        let topic = topics[number % topics.len()];
        // Some are so long that they have several vectors.
        let more = if number.is_multiple_of(97) {
            "and so on, with many more words about it ".repeat(60)
        } else {
            String::new()
        };
        format!("message {number} is about {topic}. {more}")
    };
    // More than one statement takes, with an id that comes again at once, later in its statement, and in the next one.
    let mut first: Vec<String> = (0..1_300).map(|number| line(number / 50, number, &said(number))).collect();
    first.insert(1, line(0, 0, "another text with a known id"));
    first.insert(700, line(0, 3, "another text with a known id"));
    first.push(line(0, 7, "another text with a known id"));
    // The transcript has grown: known messages in known sessions, new ones there and elsewhere.
    let mut second = first.clone();
    second.extend((1_300..1_420).map(|number| line(number % 40, number, &said(number))));
    let mut places = vec![Place::on(Engine::Sqlite, "balanced", &[]).unwrap()];
    let Some(server) = Place::on(Engine::Postgres, "balanced", &[]) else { return };
    places.push(server);
    let mut answers: Vec<Vec<String>> = Vec::new();
    for place in &mut places {
        place.caller = Caller::person("test-session".parse().unwrap(), noon());
        let mut said = Vec::new();
        for lines in [&first, &second, &second] {
            let done = nacre::session::import_transcript(
                &mut place.view(),
                lines.join("\n").as_bytes(),
                "talk",
                |_| {},
            );
            said.push(serde_json::to_string(&done.unwrap()).unwrap());
        }
        for query in
            ["who has a violin?", "the red bicycle and 東京", "what did Petra say about tea?", "known id"]
        {
            let found = place.call(
                "memory_search",
                json!({ "query": query, "scope": ["sessions"], "limit": 30, "explain": true }),
            );
            said.push(format!("{query}: {}", found.data));
        }
        place.check();
        // The next memory has the next number.
        place.call("memory_store", json!({ "content": "The import is done" }));
        said.push(place.call("memory_search", json!({ "query": "import", "explain": true })).text);
        answers.push(said);
    }
    let mut ids = [Ids::default(), Ids::default()];
    for (expected, found) in answers[0].iter().zip(&answers[1]) {
        assert_eq!(ids[1].generalise(found), ids[0].generalise(expected));
    }
    assert!(
        answers[0][0].contains(r#""added":1300"#) && answers[0][2].contains(r#""added":0"#),
        "{:?}",
        &answers[0][..3]
    );
    assert!(answers[0][3].contains("violin"), "{}", answers[0][3]);
}

#[test]
fn both_engines_have_the_same_columns() {
    let Some(mut postgres) = Place::on(Engine::Postgres, "balanced", &[]) else { return };
    postgres.store("a group exists once something is stored");
    let mut sqlite = Place::on(Engine::Sqlite, "balanced", &[]).unwrap();
    sqlite.store("a file exists once something is stored");
    let file = rusqlite::Connection::open(sqlite.group.folder().join("memory.db")).unwrap();
    let sql = "SELECT t.name, c.name, c.type FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c
        WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name NOT LIKE 'passages_fts%'
        AND t.name NOT LIKE 'passages_vocab%'";
    let mut expected: Vec<(String, String, String)> = file
        .prepare(sql)
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    expected.sort();
    let mut raw = postgres::Client::connect(&database_of(&postgres), postgres::NoTls).unwrap();
    let sql = "SELECT t.tablename::text, c.name, c.type
        FROM pg_tables AS t, nacre.pragma_table_info(t.tablename::text) AS c
        WHERE t.schemaname = 'nacre'
        AND t.tablename NOT IN ('schema', 'groups', 'counters', 'postings', 'files', 'transcript_parts') AND t.tablename NOT LIKE 'member%'";
    let found = raw.query(sql, &[]).unwrap();
    let mut found: Vec<(String, String, String)> =
        found.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    found.sort();
    assert_eq!(found, expected, "a migration of SQLite has no twin under migrations/postgres");
}

#[test]
fn an_unset_group_sees_no_rows_and_another_group_does_not_exist() {
    let Some(mut place) = Place::on(Engine::Postgres, "balanced", &[]) else { return };
    place.store("the vault code is known to Petra");
    let other = place.home.group(&"other".parse().unwrap(), noon()).unwrap();
    assert_eq!(other.name().as_str(), "other");
    let url = database_of(&place);
    let mut raw = postgres::Client::connect(&url, postgres::NoTls).unwrap();
    let groups = raw.query("SELECT g, name FROM nacre.groups", &[]).unwrap();
    let main: i32 = groups[0].get(0);
    let count = |raw: &mut postgres::Client, group: Option<i32>, sees: &str| -> BTreeMap<String, i64> {
        let mut tx = raw.transaction().unwrap();
        tx.batch_execute("SET LOCAL ROLE nacre_app").unwrap();
        if let Some(group) = group {
            tx.execute("SELECT set_config('nacre.g', $1, true)", &[&group.to_string()]).unwrap();
        }
        tx.execute("SELECT set_config('nacre.sees', $1, true)", &[&sees]).unwrap();
        let tables =
            "SELECT tablename::text FROM pg_tables WHERE schemaname = 'nacre' AND tablename <> 'schema'";
        let tables: Vec<String> = tx.query(tables, &[]).unwrap().iter().map(|row| row.get(0)).collect();
        assert!(tables.len() > 40);
        tables
            .into_iter()
            .map(|table| {
                let found = tx.query_one(&format!("SELECT count(*) FROM nacre.{table}"), &[]).unwrap().get(0);
                (table, found)
            })
            .filter(|(_, found)| *found > 0)
            .collect()
    };
    assert_eq!(count(&mut raw, None, "private"), BTreeMap::new(), "without a group");
    assert_eq!(count(&mut raw, Some(main + 1_000), "private"), BTreeMap::new(), "as another group");
    let own = count(&mut raw, Some(main), "private");
    assert_eq!((own["groups"], own["entries"]), (1, 1), "{own:?}");
    // Nothing can be written into another group, nor without one.
    for group in ["", "77"] {
        let mut tx = raw.transaction().unwrap();
        tx.batch_execute("SET LOCAL ROLE nacre_app").unwrap();
        tx.execute("SELECT set_config('nacre.g', $1, true)", &[&group]).unwrap();
        let sql = format!("INSERT INTO nacre.meta (g, key, value) VALUES ({main}, 'a', 'b')");
        let refused = tx.execute(&sql, &[]).unwrap_err();
        assert_eq!(refused.code(), Some(&postgres::error::SqlState::INSUFFICIENT_PRIVILEGE), "{refused}");
    }
}

#[test]
fn private_rows_do_not_exist_for_shared_sessions() {
    let Some(mut place) = Place::on(Engine::Postgres, "balanced", &[]) else { return };
    place.call("memory_store", json!({ "content": "the canary sings at dawn", "private": true }));
    place.call("memory_store", json!({ "content": "the kettle is in the kitchen", "private": false }));
    let shared = Caller { visibility: Visibility::Shared, ..place.caller.clone() };
    let found = |place: &mut Place, caller: &Caller, query: &str| {
        let mut view = place.group.enter(caller).unwrap();
        nacre::call(&mut view, "memory_search", json!({ "query": query })).unwrap().data.to_string()
    };
    let caller = place.caller.clone();
    assert!(found(&mut place, &caller, "canary").contains("sings"));
    assert!(!found(&mut place, &shared, "canary").contains("sings"));
    assert!(found(&mut place, &shared, "kettle").contains("kitchen"));
    let mut raw = postgres::Client::connect(&database_of(&place), postgres::NoTls).unwrap();
    let mut tx = raw.transaction().unwrap();
    let main: i32 = tx.query_one("SELECT g FROM nacre.groups", &[]).unwrap().get(0);
    tx.batch_execute("SET LOCAL ROLE nacre_app").unwrap();
    tx.execute("SELECT set_config('nacre.g', $1, true)", &[&main.to_string()]).unwrap();
    let count = "SELECT (SELECT count(*) FROM nacre.entries), (SELECT count(*) FROM nacre.passages)";
    let row = tx.query_one(count, &[]).unwrap();
    assert_eq!((row.get(0), row.get(1)), (1i64, 1i64), "a session that says nothing is a shared one");
}

/// Returns the URL of a place's database.
fn database_of(place: &Place) -> String {
    let database = place.home.server().unwrap().rsplit('/').next().unwrap();
    postgres_server::server().unwrap().url(database)
}
