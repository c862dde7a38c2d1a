//! Files of the workspace, read and written within it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use nacre::{Actor, Role, Visibility, proposal};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::sealed::Place;

#[expect(clippy::disallowed_methods, reason = "what an editor does")]
pub fn put(place: &Place, path: &str, bytes: impl AsRef<[u8]>) {
    let file = place.group.folder().join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, bytes).unwrap();
}

pub fn read(place: &Place, path: &str) -> Option<Vec<u8>> {
    place.carry();
    std::fs::read(place.group.folder().join(path)).ok()
}

fn get(place: &mut Place, arguments: Value) -> Value {
    place.call("memory_get", arguments).data
}

#[test]
fn a_file_or_some_lines_of_it() {
    let mut place = Place::new();
    put(&place, "memory/topics/work.md", "one\ntwo\r\nthree");
    let path = "memory/topics/work.md";
    for (arguments, text, lines) in [
        (json!({ "path": path }), "one\ntwo\r\nthree", json!([1, 3])),
        (json!({ "path": path, "from": 2 }), "two\r\nthree", json!([2, 3])),
        (json!({ "path": path, "from": 2, "to": 2 }), "two\r\n", json!([2, 2])),
        (json!({ "path": path, "to": 1 }), "one\n", json!([1, 1])),
        (json!({ "path": path, "from": 3, "to": 9 }), "three", json!([3, 3])),
        (json!({ "path": path, "from": 4 }), "", Value::Null),
        (json!({ "path": path, "from": 3, "to": 2 }), "", Value::Null),
    ] {
        let shown = get(&mut place, arguments.clone());
        assert_eq!((&shown["text"], &shown["lines"]), (&json!(text), &lines), "{arguments}");
        assert_eq!((&shown["path"], &shown["total_lines"]), (&json!(path), &json!(3)), "{arguments}");
    }
    // A missing folder is empty, not an error.
    assert_eq!(
        get(&mut place, json!({ "path": "nothing.md" })),
        json!({ "path": "nothing.md", "text": "", "total_lines": 0 })
    );
    // One of the two, not both and not neither.
    for arguments in [json!({}), json!({ "id": 1, "path": path })] {
        assert_eq!(place.refused("memory_get", arguments), "bad_argument");
    }
    // An entry as before.
    place.store("The dog is called Luna");
    assert_eq!(get(&mut place, json!({ "id": 1 }))["content"], "The dog is called Luna");
}

#[test]
fn much_is_cut_with_a_mark_and_secrets_are_masked_in_any_range() {
    let mut place = Place::new();
    put(&place, "long.md", format!("{}\n", "x".repeat(99)).repeat(300));
    let shown = get(&mut place, json!({ "path": "long.md" }));
    assert_eq!(shown["lines"], json!([1, 200]));
    let text = shown["text"].as_str().unwrap();
    assert!(
        text.ends_with("[… cut: 10000 more characters; read later lines with `from`]\n"),
        "{}",
        &text[19_900..]
    );
    put(&place, "one.md", "é".repeat(30_000));
    let shown = get(&mut place, json!({ "path": "one.md" }));
    assert!(shown["text"].as_str().unwrap().contains("[… cut: 10000 more characters"));
    let key =
        "a\n-----BEGIN PRIVATE KEY-----\nMIIBVgIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\nb\n";
    put(&place, "key.md", key);
    for (from, to) in [(1, 9), (3, 3), (3, 4), (4, 6)] {
        let text = get(&mut place, json!({ "path": "key.md", "from": from, "to": to })).to_string();
        assert!(!text.contains("MIIB") && !text.contains("hkiG"), "{text}");
    }
    assert_eq!(get(&mut place, json!({ "path": "key.md", "from": 6 }))["text"], "b\n");
}

/// A file as some editors write it.
fn wide(text: &str) -> Vec<u8> {
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

#[test]
fn a_private_file_in_utf_16_was_shown_to_shared_sessions() {
    let mut place = Place::new();
    put(&place, "diary.md", wide("---\nprivate: true\n---\nthe secret diary\n"));
    // Without its mark, nobody can tell what it says of itself.
    put(&place, "raw.md", &wide("---\nprivate: true\n---\nthe secret diary\n")[2..]);
    put(&place, "open.md", wide("open\n"));
    assert_eq!(get(&mut place, json!({ "path": "open.md" }))["text"], "open\n");
    let shown = get(&mut place, json!({ "path": "diary.md" }));
    assert_eq!((&shown["private"], &shown["total_lines"]), (&json!(true), &json!(4)));
    place.call("memory_write", json!({ "path": "diary.md", "content": "another secret" }));
    place.caller.visibility = Visibility::Shared;
    assert_eq!(get(&mut place, json!({ "path": "open.md" }))["text"], "open\n");
    for path in ["diary.md", "raw.md"] {
        let missing = json!({ "path": path, "text": "", "total_lines": 0 });
        assert_eq!(get(&mut place, json!({ "path": path })), missing);
        let answer = place.call("memory_write", json!({ "path": path, "content": "x" })).data;
        assert_eq!(answer["diff"], format!("--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+x\n"));
    }
}

#[test]
fn a_huge_file_was_cut_without_a_word() {
    let mut place = Place::new();
    put(&place, "large.md", format!("{}\n", "x".repeat(99)).repeat(50_000));
    assert_eq!(
        get(&mut place, json!({ "path": "large.md", "from": 50_000 }))["lines"],
        json!([50_000, 50_000])
    );
    put(&place, "huge.md", "x".repeat((20 << 20) + 1));
    assert_eq!(place.refused("memory_get", json!({ "path": "huge.md" })), "file_too_large");
}

#[test]
fn what_is_private_is_not_there_for_shared_sessions() {
    let mut place = Place::new();
    put(&place, "MEMORY.md", "the secret plan\n");
    put(&place, "notes/diary.md", "---\nprivate: true\n---\nthe secret diary\n");
    put(&place, "open.md", "open\n");
    for path in ["MEMORY.md", "notes/diary.md"] {
        assert_eq!(get(&mut place, json!({ "path": path }))["private"], true, "{path}");
    }
    place.caller.visibility = Visibility::Shared;
    for path in ["MEMORY.md", "memory.md", "notes/diary.md", "USER.md", "absent.md"] {
        let missing = json!({ "path": path, "text": "", "total_lines": 0 });
        assert_eq!(get(&mut place, json!({ "path": path })), missing);
    }
    assert_eq!(get(&mut place, json!({ "path": "open.md" }))["text"], "open\n");
    // Nor are they written: the difference would show them.
    for path in ["MEMORY.md", "sub/CORE.md"] {
        for mode in ["append", "replace"] {
            let arguments = json!({ "path": path, "content": "x", "mode": mode });
            assert_eq!(place.refused("memory_write", arguments), "hidden_file", "{path}");
        }
    }
    place.call("memory_write", json!({ "path": "open.md", "content": "more" }));
    // Proposals of private files are private.
    place.caller.visibility = Visibility::Private;
    place.call("memory_write", json!({ "path": "MEMORY.md", "content": "a new secret" }));
    place.call("memory_write", json!({ "path": "notes/diary.md", "content": "another secret" }));
    place.call("memory_write", json!({ "path": "turned.md", "content": "---\nprivate: true\n---\nsecret" }));
    let caller = nacre::Caller { actor: Actor::Person, ..place.caller.clone() };
    assert_eq!(proposal::list(&mut place.view_of(&caller), false).unwrap().len(), 4);
    let shared = nacre::Caller { visibility: Visibility::Shared, ..caller };
    let seen = proposal::list(&mut place.view_of(&shared), true).unwrap();
    assert_eq!(seen.iter().map(|one| one.target.as_str()).collect::<Vec<_>>(), ["open.md"]);
    for number in 2..=4 {
        assert_eq!(proposal::get(&mut place.view_of(&shared), number).unwrap_err().code(), "no_proposal");
        assert_eq!(proposal::approve(&mut place.view_of(&shared), number).unwrap_err().code(), "no_proposal");
        assert_eq!(
            proposal::deny(&mut place.view_of(&shared), number, "").unwrap_err().code(),
            "no_proposal"
        );
    }
}

#[test]
fn who_reads_of_the_infrastructure_is_marked() {
    let mut place = Place::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    place.group.listen(move |event| {
        if event.data.get("infrastructure") == Some(&json!(true)) {
            heard.lock().unwrap().push(event.data["path"].clone());
        }
    });
    put(&place, "TOOLS.md", "The build host is called anvil.\n\n## anvil\n\n- port: 2222\n");
    put(&place, "memory/tools-deploy.md", "Deploy from the bastion pelican.\n");
    put(&place, "memory/topics/tools.md", "Hammers and saws.\n");
    for arguments in [json!({ "path": "memory/topics/tools.md" }), json!({ "path": "tools-x.md" })] {
        assert_eq!(get(&mut place, arguments).get("infrastructure_seen"), None);
    }
    assert_eq!(nacre::status(&place.view()).unwrap().infrastructure_seen, [] as [&str; 0]);
    // By reading it, a runbook too, and by finding it.
    for (session, tool, arguments, path) in [
        ("one", "memory_get", json!({ "path": "TOOLS.md" }), "TOOLS.md"),
        ("two", "memory_get", json!({ "path": "memory/tools-deploy.md", "to": 1 }), "memory/tools-deploy.md"),
        ("three", "memory_search", json!({ "query": "build host anvil", "scope": ["memory"] }), "TOOLS.md"),
    ] {
        place.caller.session = session.parse().unwrap();
        told.lock().unwrap().clear();
        assert_eq!(place.call(tool, arguments).data["infrastructure_seen"], true, "{session}");
        assert!(told.lock().unwrap().contains(&json!(path)), "{session}");
        // Whatever it reads from then on.
        assert_eq!(get(&mut place, json!({ "path": "memory/topics/tools.md" }))["infrastructure_seen"], true);
    }
    // By what the graph has from there.
    place.caller.session = "graph".parse().unwrap();
    let known = place.call("graph_search", json!({ "query": "what is the port of anvil?" })).data;
    assert_eq!(known["known"][0]["cites"][0]["path"], "TOOLS.md", "{known}");
    let mut seen = nacre::status(&place.view()).unwrap().infrastructure_seen;
    seen.sort();
    assert_eq!(seen, ["graph", "one", "three", "two"]);
    // A missing file reveals nothing.
    place.caller.session = "four".parse().unwrap();
    assert_eq!(get(&mut place, json!({ "path": "memory/tools-none.md" })).get("infrastructure_seen"), None);
    place.check();
}

#[test]
fn a_write_to_the_log_is_done_and_others_wait() {
    let mut place = Place::new();
    let answer = place.call(
        "memory_write",
        json!({ "content": "Chose SQLite\nover files", "category": "decision", "importance": 0.9 }),
    );
    assert_eq!(answer.data, json!({ "written": true, "path": "memory/2026-01-15.md" }));
    let log = String::from_utf8(read(&place, "memory/2026-01-15.md").unwrap()).unwrap();
    assert!(log.ends_with("- [decision|i=0.9] Chose SQLite over files\n"), "{log}");
    // The same again is not written twice.
    let again = json!({ "content": "Chose SQLite over files", "category": "decision", "importance": 0.9 });
    assert_eq!(place.call("memory_write", again).data["written"], false);
    assert_eq!(read(&place, "memory/2026-01-15.md").unwrap(), log.as_bytes());

    put(&place, "MEMORY.md", "# Memory\n");
    let request =
        json!({ "path": "MEMORY.md", "content": "- The dog is called Luna", "reason": "the user said so" });
    let answer = place.call("memory_write", request.clone());
    let data = &answer.data;
    assert_eq!(
        (&data["written"], &data["proposal"], &data["status"]),
        (&json!(false), &json!(1), &json!("pending"))
    );
    assert_eq!(
        data["diff"],
        "--- MEMORY.md\n+++ MEMORY.md\n@@ -1 +1,2 @@\n # Memory\n+- The dog is called Luna\n"
    );
    assert!(
        answer.text.contains("`nacre approve 1`") && answer.text.contains("+- The dog"),
        "{}",
        answer.text
    );
    assert_eq!(read(&place, "MEMORY.md").unwrap(), b"# Memory\n");
    // The same again is the same proposal.
    assert_eq!(place.call("memory_write", request).data["proposal"], 1);
    // Where the settings leave it open it is done.
    let mut place = Place::with("balanced", &["write.memory=open", "write.files=deny"]);
    put(&place, "MEMORY.md", "\u{feff}# Memory\r\n- The cat is called Tom");
    for (arguments, after) in [
        (
            json!({ "content": "- one\n- two" }),
            "\u{feff}# Memory\r\n- The cat is called Tom\r\n- one\r\n- two\r\n",
        ),
        (
            json!({ "mode": "edit", "old": "Memory\n- The cat is called Tom\n", "content": "Memory\n" }),
            "\u{feff}# Memory\r\n- one\r\n- two\r\n",
        ),
        (json!({ "mode": "replace", "content": "new\ntext" }), "\u{feff}new\r\ntext"),
    ] {
        let mut request = arguments;
        request["path"] = "MEMORY.md".into();
        assert_eq!(place.call("memory_write", request).data["written"], true);
        assert_eq!(String::from_utf8(read(&place, "MEMORY.md").unwrap()).unwrap(), after);
    }
    let denied = place.try_call("memory_write", json!({ "path": "SOUL.md", "content": "x" })).unwrap_err();
    assert_eq!((denied.code(), denied.to_string().contains("`write.files`")), ("write_denied", true));
    assert_eq!(read(&place, "SOUL.md"), None);
    place.check();
}

#[test]
fn arguments_of_a_write_belong_together() {
    let mut place = Place::new();
    put(&place, "a.md", "b b\n");
    for arguments in [
        json!({}),
        json!({ "content": " \n" }),
        json!({ "content": "x", "category": "two words" }),
        json!({ "content": "x", "category": "a]b" }),
        json!({ "content": "x", "importance": 2 }),
        json!({ "content": "x", "mode": "append" }),
        json!({ "content": "x", "path": "a.md", "importance": 0.5 }),
        json!({ "content": "x", "path": "a.md", "mode": "edit" }),
        json!({ "content": "x", "path": "a.md", "old": "b" }),
        json!({ "content": "x", "path": "a.md", "mode": "edit", "old": "b" }),
        json!({ "content": "x", "path": "a.md", "mode": "edit", "old": "c" }),
        json!({ "content": "x\u{1b}[2J", "path": "a.md" }),
        // Read masked and written back, a credential would be lost.
        json!({ "content": "token [REDACTED]", "path": "a.md", "mode": "replace" }),
    ] {
        let code = place.refused("memory_write", arguments.clone());
        assert!(["bad_argument", "empty_content"].contains(&code), "{arguments}: {code}");
    }
    assert_eq!(read(&place, "a.md").unwrap(), b"b b\n");
    place.caller.role = Role::Skill;
    assert_eq!(place.refused("memory_write", json!({ "content": "x" })), "role_denied");
    let caller = place.caller.clone();
    let path = "a.md".parse().unwrap();
    let propose = proposal::propose(&mut place.view_of(&caller), &path, Some(b"x".to_vec()), "");
    assert_eq!(propose.unwrap_err().code(), "role_denied");
}

/// All there is under a folder, with what it holds and what it links to.
fn all(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in std::fs::read_dir(inner).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            match () {
                () if kind.is_dir() => folders.push(path),
                () if kind.is_symlink() => found
                    .push((name, std::fs::read_link(path).unwrap().into_os_string().into_encoded_bytes())),
                () => found.push((name, std::fs::read(path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

/// Names that lead out, or seem to.
fn hostile_name() -> impl Strategy<Value = String> {
    let known = [
        "..",
        ".",
        "",
        "~",
        "in",
        "out",
        "outside",
        "theirs.md",
        "secret.md",
        "link.md",
        "loop.md",
        "memory",
        "groups",
        "other",
        "%2e%2e",
        "%2E%2E%2f",
        "..%00",
        "con.md",
        "NUL.md",
        "AUX",
        "COM1.md",
        ".git",
        ".hidden.md",
        "a.md",
        "A.MD",
        "memory.db",
        "workspace.lock",
        "nacre.toml",
        ".a.md.nacre-swap",
        "x.md:stream",
        "C:",
        "\\\\host\\share",
        "..\\..\\theirs.md",
        "a\0b.md",
        "a\nb.md",
        "\u{202e}dm.a",
        "．．",
        "‥",
        "a.md ",
        "a.md.",
        "fifo.md",
        "dir.md",
    ];
    prop_oneof![
        8 => prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        1 => "[a-zA-Z./\\\\%~:]{0,12}",
        1 => "\\PC{0,8}",
        1 => (100usize..400).prop_map(|length| format!("{}.md", "n".repeat(length))),
    ]
}

fn hostile_path() -> impl Strategy<Value = String> {
    let absolute = prop_oneof![4 => Just(""), 1 => Just("/"), 1 => Just("//"), 1 => Just("file:///"), 1 => Just("\\\\?\\")];
    (absolute, prop::collection::vec(hostile_name(), 1..6))
        .prop_map(|(head, names)| format!("{head}{}", names.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Whatever the path, nothing outside the workspace is read or written, and nothing in it that is no Markdown file.
    #[test]
    fn no_path_leads_out(paths in prop::collection::vec(hostile_path(), 1..4)) {
        let mut place = Place::with("balanced", &["write.memory=open", "write.files=open"]);
        put(&place, "a.md", "inside\n");
        put(&place, "in/b.md", "inside\n");
        put(&place, "../other/theirs.md", "OUTSIDE\n");
        put(&place, "../../theirs.md", "OUTSIDE\n");
        put(&place, "in/plain.txt", "OUTSIDE\n");
        let folder = place.group.folder().to_owned();
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink("../../theirs.md", folder.join("link.md")).unwrap();
            symlink("../..", folder.join("out")).unwrap();
            symlink("in", folder.join("outside")).unwrap();
            symlink("loop.md", folder.join("loop.md")).unwrap();
            std::fs::create_dir(folder.join("dir.md")).unwrap();
        }
        place.store("something");
        let person = nacre::Caller { actor: Actor::Person, ..place.caller.clone() };
        let before: Vec<_> = all(place.folder.path()).into_iter().filter(|(name, _)| !name.starts_with("groups/main/") && !name.contains("telemetry")).collect();
        for path in &paths {
            for arguments in [json!({ "path": path }), json!({ "path": path, "from": 1, "to": 5 })] {
                if let Ok(answer) = place.try_call("memory_get", arguments) {
                    prop_assert!(!answer.data.to_string().contains("OUTSIDE"), "{path:?}: {}", answer.data);
                }
            }
            for mode in ["append", "replace"] {
                let _ = place.try_call("memory_write", json!({ "path": path, "content": "WRITTEN", "mode": mode }));
            }
            let _ = place.try_call("memory_write", json!({ "path": path, "content": "WRITTEN", "mode": "edit", "old": "OUTSIDE" }));
            if let Ok(path) = path.parse()
                && let Ok(made) = proposal::propose(&mut place.view_of(&person), &path, Some(b"PROPOSED\n".to_vec()), "")
            {
                prop_assert!(!made.diff.to_string().contains("OUTSIDE"));
                let _ = proposal::approve(&mut place.view_of(&person), made.number);
            }
        }
        let after = all(place.folder.path());
        let outside: Vec<_> = after.iter().filter(|(name, _)| !name.starts_with("groups/main/") && !name.contains("telemetry")).cloned().collect();
        prop_assert_eq!(before, outside);
        for (name, bytes) in after {
            let text = String::from_utf8_lossy(&bytes);
            let ours = name.to_lowercase().ends_with(".md") || name.contains("memory.db");
            prop_assert!(ours || !(text.contains("WRITTEN") || text.contains("PROPOSED")), "{name:?}");
            prop_assert!(name.to_lowercase().ends_with(".md") || !name.starts_with("groups/main/in/") || bytes == b"OUTSIDE\n");
        }
    }
}

/// A second name of a file elsewhere was read as if it belonged to the workspace.
#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "a file outside the workspace")]
fn a_hard_link_into_the_workspace_was_read() {
    if crate::sealed::is_without_folder() {
        return;
    }
    let mut place = Place::new();
    let outside = place.folder.path().join("elsewhere.txt");
    std::fs::write(&outside, "The ossifrage is kept in Basel.\n").unwrap();
    put(&place, "notes.md", "The heron is kept in Bern.\n");
    std::fs::hard_link(&outside, place.group.folder().join("linked.md")).unwrap();
    let found =
        place.call("memory_search", json!({ "query": "what is kept in Basel or Bern?" })).data.to_string();
    assert!(found.contains("heron") && !found.contains("ossifrage"), "{found}");
    let read = place.try_call("memory_get", json!({ "path": "linked.md" }));
    let said = read.map_or_else(|error| error.to_string(), |answer| answer.data.to_string());
    assert!(said.contains("hard link") && !said.contains("ossifrage"), "{said}");
    let written = place.try_call("memory_write", json!({ "path": "linked.md", "content": "x" }));
    assert!(written.is_err(), "{written:?}");
    // A file that Nacre itself makes has one name, and is read at once.
    let person = place.own_person();
    nacre::call(
        &mut place.view_of(&person),
        "memory_write",
        json!({ "path": "made.md", "content": "The crane." }),
    )
    .unwrap();
    assert!(place.call("memory_get", json!({ "path": "made.md" })).data.to_string().contains("crane"));
    // Once the other name is gone, it is a file of the workspace.
    std::fs::remove_file(&outside).unwrap();
    assert!(place.call("memory_get", json!({ "path": "linked.md" })).data.to_string().contains("ossifrage"));
}
