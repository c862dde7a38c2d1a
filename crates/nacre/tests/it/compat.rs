//! Compatibility APIs: what they answer their clients, and that they reach nothing that our own tools
//! would not give.
#![expect(clippy::disallowed_methods, reason = "a test writes what a person would")]

use std::fs;

use nacre::{Actor, COMPAT_TOOLS, Visibility, proposal};
use serde_json::{Value, json};

use crate::files;
use crate::sealed::{Place, is_without_folder};

fn place(settings: &[&str]) -> Place {
    let open =
        ["tools.compat=[\"memory-tool\", \"mem0\", \"memory-server\"]", "limits.store=0", "limits.delete=0"];
    Place::with("balanced", &[&open, settings].concat())
}

/// Gives the memory tool its input, and returns what it says and whether that is an error.
fn said(place: &mut Place, input: Value) -> (String, bool) {
    let data = place.call("memory_tool", input).data;
    (data["content"].as_str().unwrap().to_owned(), data["is_error"].as_bool().unwrap())
}

#[track_caller]
fn check(place: &mut Place, input: &Value, expected: &str, is_error: bool) {
    assert_eq!(said(place, input.clone()), (expected.to_owned(), is_error), "{input}");
}

#[test]
fn a_compatibility_api_is_off_until_it_is_enabled() {
    let mut place = Place::new();
    for tool in &COMPAT_TOOLS {
        let required = tool.input_schema(place.home.settings());
        let mut arguments = json!({});
        for field in required["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let known = &required["properties"][field];
            let word = known["enum"].get(0).cloned();
            arguments[field] = word.unwrap_or(if known["type"] == "array" { json!([]) } else { json!("1") });
        }
        assert_eq!(place.refused(tool.name, arguments), "not_offered", "{}", tool.name);
    }
}

#[test]
fn the_memory_tool_says_what_anthropics_says() {
    if is_without_folder() {
        return;
    }
    let mut place = place(&[]);
    let root = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:";
    let steps: &[(Value, &str, bool)] = &[
        // An empty place is there.
        (json!({ "command": "view", "path": "/memories" }), &format!("{root}\n0B\t/memories"), false),
        // create
        (
            json!({ "command": "create", "path": "/memories/notes.md", "file_text": "one\ntwo\nthree\nfour\nfive\nsix\n" }),
            "File created successfully at: /memories/notes.md",
            false,
        ),
        (
            json!({ "command": "create", "path": "/memories/notes.md", "file_text": "x" }),
            "File /memories/notes.md already exists",
            true,
        ),
        (
            json!({ "command": "create", "path": "/memories/a/b/deep.xml", "file_text": "<a>1</a>" }),
            "File created successfully at: /memories/a/b/deep.xml",
            false,
        ),
        (
            json!({ "command": "create", "path": "/memories/a", "file_text": "x" }),
            "File /memories/a already exists",
            true,
        ),
        (
            json!({ "command": "create", "path": "/memories/notes.md/x.md", "file_text": "x" }),
            "The path /memories/notes.md is not a directory.",
            true,
        ),
        // view
        (
            json!({ "command": "view", "path": "/memories" }),
            &format!("{root}\n36B\t/memories\n8B\t/memories/a/\n8B\t/memories/a/b/\n28B\t/memories/notes.md"),
            false,
        ),
        (
            json!({ "command": "view", "path": "/memories/a/" }),
            "Here're the files and directories up to 2 levels deep in /memories/a, excluding hidden items:\n\
             8B\t/memories/a\n8B\t/memories/a/b/\n8B\t/memories/a/b/deep.xml",
            false,
        ),
        (
            json!({ "command": "view", "path": "/memories/notes.md" }),
            "Here's the content of /memories/notes.md with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n     5\tfive\n     6\tsix\n     7\t",
            false,
        ),
        (
            json!({ "command": "view", "path": "/memories/notes.md", "view_range": [2, 3] }),
            "Here's the content of /memories/notes.md with line numbers:\n     2\ttwo\n     3\tthree",
            false,
        ),
        (
            json!({ "command": "view", "path": "/memories/notes.md", "view_range": [6, -1] }),
            "Here's the content of /memories/notes.md with line numbers:\n     6\tsix\n     7\t",
            false,
        ),
        (
            json!({ "command": "view", "path": "/memories/none.md" }),
            "The path /memories/none.md does not exist. Please provide a valid path.",
            true,
        ),
        // str_replace
        (
            json!({ "command": "str_replace", "path": "/memories/notes.md", "old_str": "four", "new_str": "4\n4b" }),
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     2\ttwo\n     3\tthree\n     4\t4\n     5\t4b\n     6\tfive",
            false,
        ),
        (
            json!({ "command": "str_replace", "path": "/memories/notes.md", "old_str": "absent", "new_str": "x" }),
            "No replacement was performed, old_str `absent` did not appear verbatim in /memories/notes.md.",
            true,
        ),
        (
            json!({ "command": "str_replace", "path": "/memories/notes.md", "old_str": "4", "new_str": "x" }),
            "No replacement was performed. Multiple occurrences of old_str `4` in lines: 4, 5. Please ensure it is unique",
            true,
        ),
        (
            json!({ "command": "str_replace", "path": "/memories/none.md", "old_str": "a", "new_str": "b" }),
            "The path /memories/none.md does not exist. Please provide a valid path.",
            true,
        ),
        (
            json!({ "command": "str_replace", "path": "/memories/a", "old_str": "a", "new_str": "b" }),
            "The path /memories/a is not a file.",
            true,
        ),
        // insert
        (
            json!({ "command": "insert", "path": "/memories/notes.md", "insert_line": 0, "insert_text": "zero\n" }),
            "The file /memories/notes.md has been edited.",
            false,
        ),
        (
            json!({ "command": "insert", "path": "/memories/notes.md", "insert_line": 8, "insert_text": "last" }),
            "The file /memories/notes.md has been edited.",
            false,
        ),
        (
            json!({ "command": "insert", "path": "/memories/notes.md", "insert_line": 99, "insert_text": "x" }),
            "Invalid `insert_line` parameter: 99. It should be within the range [0, 9].",
            true,
        ),
        (
            json!({ "command": "insert", "path": "/memories/none.md", "insert_line": 0, "insert_text": "x" }),
            "The path /memories/none.md does not exist. Please provide a valid path.",
            true,
        ),
        (
            json!({ "command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "x" }),
            "The path /memories/a is not a file.",
            true,
        ),
        (
            json!({ "command": "view", "path": "/memories/notes.md" }),
            "Here's the content of /memories/notes.md with line numbers:\n     1\tzero\n     2\tone\n     3\ttwo\n     4\tthree\n     5\t4\n     6\t4b\n     7\tfive\n     8\tsix\n     9\tlast\n    10\t",
            false,
        ),
        // rename
        (
            json!({ "command": "rename", "old_path": "/memories/a", "new_path": "/memories/notes.md" }),
            "The destination /memories/notes.md already exists",
            true,
        ),
        (
            json!({ "command": "rename", "old_path": "/memories/none.md", "new_path": "/memories/b.md" }),
            "The path /memories/none.md does not exist",
            true,
        ),
        (
            json!({ "command": "rename", "old_path": "/memories/a", "new_path": "/memories/c/d" }),
            "Successfully renamed /memories/a to /memories/c/d",
            false,
        ),
        (
            json!({ "command": "rename", "old_path": "/memories", "new_path": "/memories/x" }),
            "Cannot rename the /memories directory itself",
            true,
        ),
        (
            json!({ "command": "view", "path": "/memories/a" }),
            "The path /memories/a does not exist. Please provide a valid path.",
            true,
        ),
        (
            json!({ "command": "view", "path": "/memories/c/d/b/deep.xml" }),
            "Here's the content of /memories/c/d/b/deep.xml with line numbers:\n     1\t<a>1</a>",
            false,
        ),
        // delete
        (
            json!({ "command": "delete", "path": "/memories/none.md" }),
            "The path /memories/none.md does not exist",
            true,
        ),
        (
            json!({ "command": "delete", "path": "/memories" }),
            "Cannot delete the /memories directory itself",
            true,
        ),
        (json!({ "command": "delete", "path": "/memories/c" }), "Successfully deleted /memories/c", false),
        (
            json!({ "command": "delete", "path": "/memories/notes.md" }),
            "Successfully deleted /memories/notes.md",
            false,
        ),
        (json!({ "command": "view", "path": "/memories" }), &format!("{root}\n0B\t/memories"), false),
    ];
    for (input, expected, is_error) in steps {
        check(&mut place, input, expected, *is_error);
    }
    // Nothing is left of it but the folder itself.
    assert_eq!(fs::read_dir(place.group.folder().join("memories")).unwrap().count(), 0);
    place.check();
}

#[test]
fn a_file_of_too_many_lines_is_not_shown() {
    let mut place = place(&[]);
    let folder = place.group.folder().join("memories");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("long.txt"), "\n".repeat(999_999)).unwrap();
    let expected = "File /memories/long.txt exceeds maximum line limit of 999,999 lines.";
    check(&mut place, &json!({ "command": "view", "path": "/memories/long.txt" }), expected, true);
    // One that fits is shown in parts.
    fs::write(folder.join("wide.txt"), format!("{}\nb\ncc\n", "a".repeat(99_999))).unwrap();
    let (text, is_error) = said(&mut place, json!({ "command": "view", "path": "/memories/wide.txt" }));
    assert!(
        !is_error && text.ends_with("\n[… cut at line 3: give `view_range` to see more]"),
        "{}",
        text.len()
    );
}

#[cfg(unix)]
#[test]
fn the_memory_tool_never_leaves_its_folder() {
    if is_without_folder() {
        return;
    }
    let mut place = place(&[]);
    let group = place.group.folder().to_owned();
    fs::create_dir_all(group.join("memories")).unwrap();
    let outside = place.folder.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("secret.md"), "theirs").unwrap();
    fs::write(group.join("SOUL.md"), "soul").unwrap();
    std::os::unix::fs::symlink(&outside, group.join("memories/out")).unwrap();
    std::os::unix::fs::symlink(outside.join("secret.md"), group.join("memories/link.md")).unwrap();
    let starts = |path: &str| format!("Path must start with /memories, got: {path}");
    let leads = |path: &str| format!("Path {path} would escape /memories directory");
    let cases = [
        ("/etc/passwd", starts("/etc/passwd")),
        ("memories/x.md", starts("memories/x.md")),
        ("/memoriesx/x.md", starts("/memoriesx/x.md")),
        ("", starts("")),
        ("/memories/../SOUL.md", leads("/memories/../SOUL.md")),
        ("/memories/a/../../SOUL.md", leads("/memories/a/../../SOUL.md")),
        ("/memories/%2e%2e/SOUL.md", leads("/memories/%2e%2e/SOUL.md")),
        ("/memories/%252e%252e/SOUL.md", leads("/memories/%252e%252e/SOUL.md")),
        ("/memories/..%2fSOUL.md", leads("/memories/..%2fSOUL.md")),
        ("/memories/..\\SOUL.md", leads("/memories/..\\SOUL.md")),
        ("/memories/out/secret.md", leads("/memories/out/secret.md")),
        ("/memories/link.md", leads("/memories/link.md")),
        ("/memories/.hidden", "The path /memories/.hidden is not allowed: it contains a hidden name.".into()),
    ];
    for (path, expected) in cases {
        for input in [
            json!({ "command": "view", "path": path }),
            json!({ "command": "create", "path": path, "file_text": "ours" }),
            json!({ "command": "str_replace", "path": path, "old_str": "theirs", "new_str": "ours" }),
            json!({ "command": "insert", "path": path, "insert_line": 0, "insert_text": "ours" }),
            json!({ "command": "delete", "path": path }),
            json!({ "command": "rename", "old_path": path, "new_path": "/memories/new.md" }),
        ] {
            let (text, is_error) = said(&mut place, input.clone());
            assert!(is_error, "{input}: {text}");
            assert_eq!(text, expected, "{input}");
        }
    }
    for path in ["/memories/x\0.md", "/memories/x\u{1b}.md"] {
        assert_eq!(place.refused("memory_tool", json!({ "command": "view", "path": path })), "bad_argument");
    }
    assert_eq!(fs::read_to_string(outside.join("secret.md")).unwrap(), "theirs");
    assert_eq!(fs::read_to_string(group.join("SOUL.md")).unwrap(), "soul");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    // Its files are readable by their owner only; hidden files are neither listed nor copied.
    check(
        &mut place,
        &json!({ "command": "create", "path": "/memories/d/own.md", "file_text": "x" }),
        "File created successfully at: /memories/d/own.md",
        false,
    );
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &str| fs::metadata(group.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("memories/d/own.md"), mode("memories/d")), (0o600, 0o700));
    fs::write(group.join("memories/d/.kept"), "hidden").unwrap();
    let (shown, _) = said(&mut place, json!({ "command": "view", "path": "/memories" }));
    assert!(!shown.contains("kept") && !shown.contains("out") && !shown.contains("link"), "{shown}");
    check(
        &mut place,
        &json!({ "command": "delete", "path": "/memories/d" }),
        "Successfully deleted /memories/d",
        false,
    );
    assert!(group.join("memories/d/.kept").exists());
}

#[test]
fn what_an_agent_keeps_for_itself_is_a_document() {
    let mut place = place(&[]);
    said(
        &mut place,
        json!({ "command": "create", "path": "/memories/guide.xml", "file_text": "<rule>Refunds take nine days</rule>" }),
    );
    let found =
        place.call("memory_search", json!({ "query": "how long do refunds take", "scope": ["memory"] })).data;
    assert_eq!(found["hits"][0]["path"], "memories/guide.xml", "{found}");
    let read = place.call("memory_get", json!({ "path": "memories/guide.xml" })).data;
    assert_eq!(read["text"], "<rule>Refunds take nine days</rule>");
    said(&mut place, json!({ "command": "delete", "path": "/memories/guide.xml" }));
    let found =
        place.call("memory_search", json!({ "query": "how long do refunds take", "scope": ["memory"] })).data;
    assert_eq!(found["hits"], json!([]));
}

#[test]
fn the_policy_decides_about_memories() {
    let create = json!({ "command": "create", "path": "/memories/a.md", "file_text": "x\n" });
    let mut denied = place(&["write.memories=deny"]);
    assert_eq!(denied.refused("memory_tool", create.clone()), "write_denied");
    let mut place = place(&["write.memories=approve"]);
    let answer = place.call("memory_tool", create.clone()).data;
    assert_eq!((&answer["is_error"], &answer["proposal"]), (&json!(true), &json!(1)), "{answer}");
    assert!(answer["content"].as_str().unwrap().starts_with("Not written yet: proposal 1 waits"));
    let there = |place: &Place| files::read(place, "memories/a.md").is_some();
    assert!(!there(&place));
    let mut person = place.caller.clone();
    person.actor = Actor::Person;
    proposal::approve(&mut place.view_of(&person), 1).unwrap();
    assert!(there(&place));
    // A failure is reported at once, and a call that failed is not marked as done.
    check(&mut place, &create, "File /memories/a.md already exists", true);
    place.call("memory_tool", json!({ "command": "delete", "path": "/memories/a.md" }));
    fs::remove_file(place.group.folder().join("memories/a.md")).unwrap();
    assert!(proposal::approve(&mut place.view_of(&person), 2).is_err());
    place.check();
}

#[test]
fn secrets_and_what_is_private_stay_so() {
    let mut place = place(&[]);
    let key = format!("ghp_{}", "a1B2".repeat(9));
    let text = format!("token: {key}\nnext\n");
    said(&mut place, json!({ "command": "create", "path": "/memories/keys.md", "file_text": text }));
    let (shown, _) = said(&mut place, json!({ "command": "view", "path": "/memories/keys.md" }));
    assert!(!shown.contains(&key) && shown.contains("     2\tnext"), "{shown}");
    let (shown, _) = said(
        &mut place,
        json!({ "command": "str_replace", "path": "/memories/keys.md", "old_str": "next", "new_str": "then" }),
    );
    assert!(!shown.contains(&key) && shown.contains("     2\tthen"), "{shown}");
    assert!(fs::read_to_string(place.group.folder().join("memories/keys.md")).unwrap().contains(&key));
    // Nor does an edit uncover a credential, or tell what it is made of.
    let edit = |old: &str, new: &str| json!({ "command": "str_replace", "path": "/memories/keys.md", "old_str": old, "new_str": new });
    let insert = |line: usize, text: &str| json!({ "command": "insert", "path": "/memories/keys.md", "insert_line": line, "insert_text": text });
    let around = "The file /memories/keys.md has a credential there; leave the text around it as it is.";
    let none = |old: &str| {
        format!("No replacement was performed, old_str `{old}` did not appear verbatim in /memories/keys.md.")
    };
    check(&mut place, &edit("token: ", "token"), around, true);
    check(&mut place, &edit("ghp", "g hp"), &none("ghp"), true);
    assert!(!said(&mut place, insert(2, "ghp_a")).1);
    assert!(!said(&mut place, edit("ghp_a", "done")).1, "what the key has in common is not told");
    let block = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nq83vEjRWeJCrze8S\n-----END RSA PRIVATE KEY-----\n";
    said(&mut place, json!({ "command": "create", "path": "/memories/block.md", "file_text": block }));
    let cut = json!({ "command": "insert", "path": "/memories/block.md", "insert_line": 1, "insert_text": "-----END RSA PRIVATE KEY-----" });
    assert!(said(&mut place, cut).1);
    let (shown, _) = said(&mut place, json!({ "command": "view", "path": "/memories/keys.md" }));
    assert!(!shown.contains("a1B2") && shown.contains("done"), "{shown}");
    said(
        &mut place,
        json!({ "command": "create", "path": "/memories/p/diary.md", "file_text": "---\nprivate: true\n---\nx" }),
    );
    place.caller.visibility = Visibility::Shared;
    let (shown, _) = said(&mut place, json!({ "command": "view", "path": "/memories" }));
    assert!(!shown.contains("diary") && !shown.contains("/p"), "{shown}");
    let none = "The path /memories/p/diary.md does not exist";
    check(&mut place, &json!({ "command": "delete", "path": "/memories/p/diary.md" }), none, true);
    check(
        &mut place,
        &json!({ "command": "delete", "path": "/memories/p" }),
        "The path /memories/p does not exist",
        true,
    );
    assert!(place.group.folder().join("memories/p/diary.md").exists());
}

/// A masked text is not found by its hidden part, and is deleted by its shown form.
#[test]
fn observations_are_searched_and_deleted_as_they_are_shown() {
    let mut place = place(&[]);
    let key = format!("key ghp_{}", "a1B2".repeat(9));
    server(
        &mut place,
        "create_entities",
        json!({ "entities": [node("Bob", "person", &[&key, "likes tea"])] }),
    );
    for (query, found) in [("ghp_a1", 0), ("key [red", 1), ("TEA", 1)] {
        let answer = server(&mut place, "search_nodes", json!({ "query": query }));
        assert_eq!(answer["entities"].as_array().unwrap().len(), found, "{query}");
    }
    let going = json!({ "deletions": [{ "entityName": "Bob", "observations": ["key [REDACTED]"] }] });
    server(&mut place, "delete_observations", going);
    let left = server(&mut place, "open_nodes", json!({ "names": ["Bob"] }));
    assert_eq!(left["entities"][0]["observations"], json!(["likes tea"]));
}

#[test]
fn mem0_has_the_policy_of_our_own() {
    let mut place = place(&[]);
    let rule = place
        .call("memory_store", json!({ "content": "Always ask first", "type": "instruction" }))
        .data["id"]
        .clone();
    let said = json!([{ "role": "user", "content": "Tea" }]);
    for owner in ["ada", "bo", "*"] {
        place.call("mem0_add", json!({ "user_id": owner, "messages": said }));
    }
    // Everybody's is not an agent's to delete.
    place.caller.actor = Actor::Agent;
    for filters in [
        json!({ "user_id": "*" }),
        json!({ "NOT": [] }),
        json!({ "memory": { "icontains": "" } }),
        json!({ "user_id": { "ne": "cy" } }),
    ] {
        assert_eq!(place.refused("mem0_delete", json!({ "filters": filters })), "people_only", "{filters}");
    }
    // A name is a name, and one that is named twice is one.
    assert_eq!(
        place.call("mem0_delete", json!({ "filters": { "user_id": { "in": ["*"] } } })).data["deleted"],
        1
    );
    let bo =
        place.call("mem0_find", json!({ "filters": { "user_id": "bo" } })).data["results"][0]["id"].clone();
    // How to behave is not for a session that read what strangers wrote to change.
    place.caller.untrusted = true;
    for (tool, arguments) in [
        ("mem0_update", json!({ "id": rule, "text": "Never ask" })),
        ("mem0_delete", json!({ "ids": [bo, rule] })),
    ] {
        assert!(place.call(tool, arguments).data["proposal"].is_i64(), "{tool}");
    }
    assert_eq!(place.call("memory_get", json!({ "id": rule })).data["content"], "Always ask first");
    // Nor is what others wrote its to delete.
    assert!(place.call("mem0_delete", json!({ "ids": [bo, bo] })).data["proposal"].is_i64());
    place.caller.untrusted = false;
    assert_eq!(place.call("mem0_delete", json!({ "ids": [bo, bo] })).data["deleted"], 1);
}

/// Calls a tool of the memory server, and returns its answer.
fn server(place: &mut Place, tool: &str, arguments: Value) -> Value {
    place.call(tool, arguments).data
}

fn node(name: &str, r#type: &str, observations: &[&str]) -> Value {
    json!({ "name": name, "entityType": r#type, "observations": observations })
}

fn edge(from: &str, to: &str, r#type: &str) -> Value {
    json!({ "from": from, "to": to, "relationType": r#type })
}

#[test]
fn the_memory_server_does_what_the_official_one_does() {
    let mut place = place(&[]);
    let (alice, bob) =
        (node("Alice", "person", &["works at Acme Corp"]), node("Bob", "person", &["likes programming"]));
    let empty = json!({ "entities": [], "relations": [] });
    assert_eq!(server(&mut place, "read_graph", json!({})), empty);
    // Entities are made once.
    let both = json!({ "entities": [alice, bob] });
    assert_eq!(server(&mut place, "create_entities", both.clone()), both);
    assert_eq!(server(&mut place, "create_entities", both), json!({ "entities": [] }));
    assert_eq!(server(&mut place, "create_entities", json!({ "entities": [] })), json!({ "entities": [] }));
    // Fields that it does not know are passed over.
    let mut extra = node("Acme Corp", "company", &["tech company"]);
    extra["type"] = "entity".into();
    let made = server(&mut place, "create_entities", json!({ "entities": [extra] }));
    assert_eq!(made, json!({ "entities": [node("Acme Corp", "company", &["tech company"])] }));
    // Relations too.
    let knows = edge("Alice", "Bob", "knows");
    let works = edge("Alice", "Acme Corp", "works_at");
    let added = server(&mut place, "create_relations", json!({ "relations": [knows, works] }));
    assert_eq!(added, json!({ "relations": [knows, works] }));
    assert_eq!(
        server(&mut place, "create_relations", json!({ "relations": [knows] })),
        json!({ "relations": [] })
    );
    // Observations of an entity that is there; those that are new.
    let more = json!({ "observations": [{ "entityName": "Alice", "contents": ["works at Acme Corp", "has a dog"] }] });
    let results = json!({ "results": [{ "entityName": "Alice", "addedObservations": ["has a dog"] }] });
    assert_eq!(server(&mut place, "add_observations", more.clone()), results);
    assert_eq!(server(&mut place, "add_observations", more)["results"][0]["addedObservations"], json!([]));
    let missing = place.try_call(
        "add_observations",
        json!({ "observations": [{ "entityName": "Carol", "contents": ["x"] }] }),
    );
    assert_eq!(missing.unwrap_err().to_string(), "Entity with name Carol not found");
    // All of it, and parts: relations come with either of their ends.
    let alice = node("Alice", "person", &["works at Acme Corp", "has a dog"]);
    let acme = node("Acme Corp", "company", &["tech company"]);
    let whole = json!({ "entities": [acme, alice, bob], "relations": [knows, works] });
    assert_eq!(server(&mut place, "read_graph", json!({})), whole);
    for (query, entities, relations) in [
        ("DOG", json!([alice]), json!([knows, works])),
        ("company", json!([acme]), json!([works])),
        ("Acme", json!([acme, alice]), json!([knows, works])),
        ("bob", json!([bob]), json!([knows])),
        ("nonexistent", json!([]), json!([])),
    ] {
        let found = server(&mut place, "search_nodes", json!({ "query": query }));
        assert_eq!(found, json!({ "entities": entities, "relations": relations }), "{query}");
    }
    let opened = server(&mut place, "open_nodes", json!({ "names": ["Bob", "Nobody"] }));
    assert_eq!(opened, json!({ "entities": [bob], "relations": [knows] }));
    assert_eq!(server(&mut place, "open_nodes", json!({ "names": [] })), empty);
    // Deleting an entity, and one that does not exist.
    let gone = |what: &str| json!({ "success": true, "message": format!("{what} deleted successfully") });
    let one = json!({ "deletions": [{ "entityName": "Alice", "observations": ["has a dog", "never said"] }, { "entityName": "Nobody", "observations": ["x"] }] });
    assert_eq!(server(&mut place, "delete_observations", one), gone("Observations"));
    let alice = node("Alice", "person", &["works at Acme Corp"]);
    assert_eq!(server(&mut place, "open_nodes", json!({ "names": ["Alice"] }))["entities"], json!([alice]));
    let two = json!({ "relations": [knows, edge("Bob", "Nobody", "knows")] });
    assert_eq!(server(&mut place, "delete_relations", two), gone("Relations"));
    assert_eq!(server(&mut place, "read_graph", json!({}))["relations"], json!([works]));
    assert_eq!(
        server(&mut place, "delete_entities", json!({ "entityNames": ["Alice", "Nobody"] })),
        gone("Entities")
    );
    assert_eq!(
        server(&mut place, "read_graph", json!({})),
        json!({ "entities": [acme, bob], "relations": [] })
    );
    place.check();
}

#[test]
fn the_memory_server_shows_what_the_graph_knows() {
    let mut place = place(&[]);
    place.call(
        "fact_upsert",
        json!({ "entity": "Petra", "key": "birthday", "value": "3 May", "category": "person", "private": false }),
    );
    let petra = node("Petra", "person", &["birthday: 3 May"]);
    assert_eq!(server(&mut place, "read_graph", json!({})), json!({ "entities": [petra], "relations": [] }));
    // And ours finds what it was told.
    server(
        &mut place,
        "create_entities",
        json!({ "entities": [node("Heron", "server", &["runs the nightly backups"])] }),
    );
    let found = place.call("memory_search", json!({ "query": "nightly backups" })).data;
    assert_eq!(found["hits"][0]["text"], "Heron: observations = runs the nightly backups", "{found}");
    // The user is somebody, whatever that is called.
    let user = node("default_user", "person", &["prefers tea"]);
    assert_eq!(
        server(&mut place, "create_entities", json!({ "entities": [user] }))["entities"],
        json!([user])
    );
    assert_eq!(
        server(&mut place, "open_nodes", json!({ "names": ["default_user"] }))["entities"],
        json!([user])
    );
    // An unusable record is refused, and so is everything in the same call.
    let error = place.try_call(
        "create_entities",
        json!({ "entities": [node("Ok", "person", &[]), node("they", "person", &[])] }),
    );
    assert_eq!(error.unwrap_err().code(), "kept_out");
    assert_eq!(server(&mut place, "open_nodes", json!({ "names": ["Ok"] }))["entities"], json!([]));
    // A fact that is private is there for nobody else, and stays when the rest goes.
    place
        .call("fact_upsert", json!({ "entity": "Petra", "key": "doctor", "value": "Falk", "private": true }));
    place.caller.visibility = Visibility::Shared;
    let shown = server(&mut place, "read_graph", json!({})).to_string();
    assert!(!shown.contains("Falk") && shown.contains("3 May"), "{shown}");
    server(&mut place, "delete_entities", json!({ "entityNames": ["Petra"] }));
    place.caller.visibility = Visibility::Private;
    let left = server(&mut place, "open_nodes", json!({ "names": ["Petra"] }));
    assert_eq!(left["entities"][0]["observations"], json!(["doctor: Falk"]));
    place.check();
}

#[test]
fn memories_of_mem0_belong_to_whom_they_are_of() {
    let mut place = place(&[]);
    let add = |place: &mut Place, owner: &str, value: &str, text: &str| {
        let said = json!([{ "role": "user", "content": text }, { "role": "assistant", "content": "Noted" }]);
        place.call("mem0_add", json!({ owner: value, "messages": said, "metadata": { "n": 1 } })).data["results"].clone()
    };
    let first = add(&mut place, "user_id", "ada", "I like green tea");
    assert_eq!(first.as_array().unwrap().len(), 1, "without a model, what the user said: {first}");
    // The same of another is another's; the same of the same is known.
    let second = add(&mut place, "user_id", "Ada", "I like green tea");
    assert_ne!(first[0]["id"], second[0]["id"]);
    let third = add(&mut place, "user_id", "ada", "I like green tea");
    assert_eq!((&third[0]["id"], &third[0]["event"]), (&first[0]["id"], &json!("NONE")));
    add(&mut place, "agent_id", "ada", "I like black coffee");
    let ids = |place: &mut Place, arguments: Value| {
        let found = place.call("mem0_find", arguments).data["results"].clone();
        found.as_array().unwrap().iter().map(|found| found["id"].clone()).collect::<Vec<_>>()
    };
    let tea = |filters: Value| json!({ "query": "which tea", "filters": filters });
    assert_eq!(ids(&mut place, tea(json!({ "user_id": "ada" }))), [first[0]["id"].clone()]);
    assert_eq!(ids(&mut place, tea(json!({ "user_id": "Ada" }))), [second[0]["id"].clone()]);
    assert_eq!(
        ids(&mut place, json!({ "filters": { "OR": [{ "user_id": "ada" }, { "agent_id": "ada" }] } })).len(),
        2
    );
    assert_eq!(
        ids(&mut place, json!({ "filters": { "metadata": { "n": 1 } }, "limit": 2, "offset": 2 })).len(),
        1
    );
    // All that was said, where nobody is to pick.
    let raw = json!({ "user_id": "bo", "infer": false, "messages": [
        { "role": "system", "content": "Be kind" }, { "role": "user", "content": "Hello" }, { "role": "assistant", "content": "Good day" }] });
    assert_eq!(place.call("mem0_add", raw).data["results"].as_array().unwrap().len(), 2);
    assert_eq!(
        place.refused("mem0_add", json!({ "messages": [{ "role": "user", "content": "x" }] })),
        "bad_argument"
    );
    let owners = place.call("mem0_owners", json!({})).data["results"].clone();
    let named: Vec<String> =
        owners.as_array().unwrap().iter().map(|owner| owner["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(named, ["user:Ada", "user:ada", "user:bo", "agent:ada"]);
    // Changed, with its past; then it and nothing else is gone.
    let id = first[0]["id"].clone();
    let changed = place
        .call("mem0_update", json!({ "id": id, "text": "I like white tea", "metadata": { "m": 2 } }))
        .data;
    assert_eq!(
        (&changed["memory"], &changed["metadata"], &changed["user_id"]),
        (&json!("I like white tea"), &json!({ "m": 2 }), &json!("ada"))
    );
    let past = place.call("mem0_history", json!({ "id": id })).data["history"].clone();
    assert_eq!(past[1]["old_memory"], "I like green tea");
    assert_eq!((&past[0]["event"], &past[1]["event"]), (&json!("ADD"), &json!("UPDATE")));
    assert_eq!(place.call("mem0_delete", json!({ "filters": { "user_id": "ada" } })).data["deleted"], 1);
    assert_eq!(ids(&mut place, json!({ "filters": { "user_id": "Ada" } })), [second[0]["id"].clone()]);
    assert_eq!(place.refused("mem0_delete", json!({ "filters": {} })), "bad_argument");
    assert_eq!(place.refused("mem0_update", json!({ "id": second[0]["id"] })), "bad_argument");
    assert_eq!(place.refused("mem0_delete", json!({ "ids": [id] })), "no_entry");
    // An expired memory is not returned.
    place.call("mem0_add", json!({ "user_id": "cy", "messages": [{ "role": "user", "content": "The code is 5" }], "expiration_date": "2026-01-20" }));
    assert_eq!(ids(&mut place, json!({ "filters": { "user_id": "cy" } })).len(), 1);
    place.later(10);
    assert_eq!(ids(&mut place, json!({ "filters": { "user_id": "cy" } })).len(), 0);
    assert_eq!(ids(&mut place, json!({ "filters": { "user_id": "cy" }, "show_expired": true })).len(), 1);
    // All of it comes back from an export.
    let folder = place.folder.path().join("export");
    nacre::export::export(&place.view(), &folder).unwrap();
    let mut other = place.home.group(&"other".parse().unwrap(), place.caller.now).unwrap();
    nacre::export::import(&mut other.enter(&place.caller).unwrap(), &folder).unwrap();
    let find = json!({ "filters": { "user_id": "Ada" } });
    let found = nacre::call(&mut other.enter(&place.caller).unwrap(), "mem0_find", find).unwrap().data;
    assert_eq!(
        (&found["count"], &found["results"][0]["metadata"]),
        (&json!(1), &json!({ "n": 1 })),
        "{found}"
    );
    place.check();
}
