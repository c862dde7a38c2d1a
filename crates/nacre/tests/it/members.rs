//! The members of a team on a server: calls generated for each role, of which none leaks or changes what the role does not allow.

use nacre::{Caller, GroupName, Home, MemberRole, Settings, TOOLS, team};
use serde_json::json;

use crate::sealed::{new_database, noon, postgres_server};

const CANARY: &str = "kestrel-under-the-harbour-lamp";

/// How many calls each role makes.
fn calls() -> usize {
    #[allow(clippy::disallowed_methods, reason = "a test reads its environment")]
    if std::env::var("NACRE_STRESS").as_deref() == Ok("full") { 1_000 } else { 150 }
}

/// Returns the content of every table of a group, as one number for each table, without the audit log and what follows from it.
fn content(raw: &mut postgres::Client, group: &str) -> Vec<(String, i64)> {
    let sql = "SELECT g FROM nacre.groups WHERE name = $1 AND collection = ''";
    let g: i32 = raw.query_one(sql, &[&group]).unwrap().get(0);
    ["entries", "passages", "facts", "relations", "files", "tasks", "lessons", "proposals", "sessions"]
        .map(|table| {
            let sql = format!(
                "SELECT coalesce(sum(hashtextextended(t::text, 0) % 1000003), 0)::bigint FROM nacre.{table} AS t WHERE g = $1"
            );
            (table.to_owned(), raw.query_one(&sql, &[&g]).unwrap().get(0))
        })
        .to_vec()
}

#[test]
fn generated_calls_of_every_role_leak_and_change_nothing_beyond_it() {
    let Some(database) = new_database() else { return };
    let server = postgres_server::server().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::from_layers(Some("balanced"), &[]).unwrap();
    let home = Home::new(folder.path(), settings).with_server(&server.url(&database), None).unwrap();
    let home = home.with_all_tools();
    let names: Vec<GroupName> = ["web", "secret"].map(|name| name.parse().unwrap()).to_vec();
    let operator = Caller::person("setup".parse().unwrap(), noon());
    for (name, text) in names.iter().zip(["The staging port is 5433", &format!("The code is {CANARY}")]) {
        let mut group = home.group(name, noon()).unwrap();
        let mut view = group.enter(&operator).unwrap();
        for (tool, arguments) in [
            ("memory_store", json!({ "content": text })),
            ("fact_upsert", json!({ "entity": "harbour", "key": "code", "value": text })),
            ("memory_write", json!({ "path": "MEMORY.md", "content": format!("- {text}\n") })),
            ("task_add", json!({ "description": text })),
        ] {
            nacre::call(&mut view, tool, arguments).unwrap();
        }
    }
    let roles = [
        ("nobody", None),
        ("reader", Some(MemberRole::Reader)),
        ("writer", Some(MemberRole::Writer)),
        ("reviewer", Some(MemberRole::Reviewer)),
    ];
    for (member, role) in roles {
        team::add(&home, &member.parse().unwrap(), noon()).unwrap();
        team::set_role(&home, &names[0], member, role).unwrap();
    }
    let mut raw = server.connect(&database);
    let secret = content(&mut raw, "secret");
    let mut seed: u64 = 11;
    let mut below = |count: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % count
    };
    let words = [
        "harbour",
        "code",
        "1",
        "id:1",
        "fact-1",
        "MEMORY.md",
        "../secret/MEMORY.md",
        "secret",
        "",
        "*",
        "port",
    ];
    for (member, role) in roles {
        let web = content(&mut raw, "web");
        let mut answered = 0;
        for step in 0..calls() {
            let base = Caller {
                member: Some(member.into()),
                ..Caller::agent(format!("walk-{}", below(40)).parse().unwrap(), noon())
            };
            let caller = if below(2) == 0 {
                base
            } else {
                Caller { actor: nacre::Actor::Person, role: nacre::Role::Admin, ..base }
            };
            let (word, target) = (words[below(words.len())], &names[below(2)]);
            // Half of the calls fit a tool, half are any tool with anything.
            let fitting = [
                ("memory_store", json!({ "content": format!("{word} is noted {}", below(50)) })),
                (
                    "fact_upsert",
                    json!({ "entity": "harbour", "key": "depth", "value": format!("{}", below(50)) }),
                ),
                ("task_add", json!({ "description": format!("look at {word}") })),
                (
                    "memory_write",
                    json!({ "path": "notes/harbour.md", "content": format!("- {word} {}", below(50)) }),
                ),
                ("memory_search", json!({ "query": word })),
                ("memory_get", json!({ "path": "MEMORY.md" })),
                ("memory_delete", json!({ "id": 2 + below(9) })),
                ("file_save", json!({ "path": "notes/lamp.md", "content": word })),
                ("proposal_list", json!({ "all": true })),
                ("proposal_decide", json!({ "number": 1 + below(3), "decision": "approve" })),
                ("memory_brief", json!({})),
                ("audit_list", json!({})),
            ];
            let anything = [
                json!({ "id": word }),
                json!({ "query": word }),
                json!({ "content": format!("{word} {}", below(50)) }),
                json!({ "path": word, "content": word }),
                json!({}),
            ];
            let (name, mut arguments) = match below(2) {
                0 => fitting[below(fitting.len())].clone(),
                _ => (TOOLS[below(TOOLS.len())].name, anything[below(anything.len())].clone()),
            };
            let tool = nacre::tool(name).unwrap();
            if below(8) == 0 {
                arguments["group"] = "secret".into();
            }
            let mut group = home.group(target, noon()).unwrap();
            let answer = group.enter(&caller).and_then(|mut view| {
                nacre::call_across(&home, &mut view, tool, arguments, nacre::Form::Whole)
            });
            let said = match &answer {
                Ok(answer) => format!("{}{}", answer.text, answer.data),
                Err(error) => error.to_string(),
            };
            assert!(!said.contains(CANARY), "{member}, step {step}: {} says {said}", tool.name);
            let is_in = role.is_some() && target.as_str() == "web";
            assert!(
                is_in || answer.is_err(),
                "{member}, step {step}: {} in {target} answers {said}",
                tool.name
            );
            answered += usize::from(answer.is_ok());
        }
        assert_eq!(answered > 0, role.is_some(), "{member}");
        let is_same = content(&mut raw, "web") == web;
        assert_eq!(is_same, role < Some(MemberRole::Writer), "{member} changed the group: {}", !is_same);
    }
    assert_eq!(content(&mut raw, "secret"), secret);
    for name in &names {
        let mut group = home.group(name, noon()).unwrap();
        assert!(group.enter(&operator).unwrap().verify_audit().unwrap().ok, "{name}");
    }
}

/// A handle remembers that the documents of a server are all in the index.
#[test]
fn a_document_stayed_unindexed_after_a_reader_searched_first_or_the_index_was_rebuilt() {
    let Some(database) = new_database() else { return };
    let server = postgres_server::server().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new(folder.path(), Settings::default());
    let home = home.with_server(&server.url(&database), None).unwrap();
    let name: GroupName = "web".parse().unwrap();
    let mut group = home.group(&name, noon()).unwrap();
    let operator = Caller::person("setup".parse().unwrap(), noon());
    let write = json!({ "path": "MEMORY.md", "content": "- The heron nests behind the boathouse\n" });
    nacre::call(&mut group.enter(&operator).unwrap(), "memory_write", write).unwrap();
    for (member, role) in [("rita", MemberRole::Reader), ("wim", MemberRole::Writer)] {
        team::add(&home, &member.parse().unwrap(), noon()).unwrap();
        team::set_role(&home, &name, member, Some(role)).unwrap();
    }
    let mut ask = |member: &str, query: &str| {
        let caller = Caller { member: Some(member.into()), ..Caller::agent(member.parse().unwrap(), noon()) };
        let mut view = group.enter(&caller).unwrap();
        let answer = nacre::call(&mut view, "memory_search", json!({ "query": query })).unwrap();
        answer.data["hits"].to_string().contains(query)
    };
    assert!(ask("wim", "heron"));
    let mut raw = server.connect(&database);
    // Another process wrote a file and died before it was indexed.
    let change = "UPDATE nacre.files SET bytes = bytes || convert_to(E'- The ferry leaves at nine\n', 'UTF8'), mtime = mtime + 1";
    assert_eq!(raw.execute(change, &[]).unwrap(), 1);
    assert!(!ask("rita", "ferry"), "a reader writes no index");
    assert!(ask("wim", "ferry"));
    // Another process rebuilds the index and died after it had emptied it.
    raw.batch_execute("DELETE FROM nacre.documents; DELETE FROM nacre.passages WHERE kind = 'chunk'")
        .unwrap();
    assert!(ask("wim", "ferry"));
}
