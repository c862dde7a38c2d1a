//! `nacre stale`: memories that name something that is gone, checked, listed and kept.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::sealed::Sealed;

fn git(folder: &str, arguments: &[&str]) {
    let own = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org"];
    let done = Command::new("git").current_dir(folder).args(own).args(arguments).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_renamed_file_is_noticed_from_the_command_line_and_over_mcp() {
    let home = Sealed::new();
    let folder = home.beside("heron");
    fs::create_dir_all(Path::new(&folder).join("src")).unwrap();
    for file in ["src/import.rs", "src/lib.rs"] {
        fs::write(Path::new(&folder).join(file), "x").unwrap();
    }
    git(&folder, &["init", "--quiet"]);
    git(&folder, &["add", "--all"]);
    let run = |arguments: &[&str]| {
        let output = home.command(arguments).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["store", "The importer of heron is in src/import.rs"]);
    run(&["store", "The library of heron is in src/lib.rs"]);
    assert!(run(&["stale"]).contains("No memory names"));
    git(&folder, &["mv", "src/import.rs", "src/intake.rs"]);
    assert!(run(&["stale", "check"]).contains("2 memories compared, 1 stale (1 new, 0 no longer)"));
    let listed = run(&["stale"]);
    assert!(listed.contains("[id:1]") && listed.contains("path src/import.rs"), "{listed}");
    let json: Value = serde_json::from_str(&run(&["stale", "--json"])).unwrap();
    assert_eq!(json["stale"][0]["things"][0]["name"], "src/import.rs");
    for arguments in [&["search", "importer heron"][..], &["show", "1"], &["brief"]] {
        let said = run(arguments);
        assert!(said.contains("src/import.rs is gone"), "{arguments:?}: {said}");
    }
    assert!(run(&["status"]).contains("1 memory names something that is gone"));
    let mut mcp = home.mcp();
    mcp.open();
    let found = mcp.data("memory_search", &serde_json::json!({ "query": "importer heron" }));
    assert!(found.to_string().contains("src/import.rs is gone"), "{found}");
    assert_eq!(mcp.close(), 0);
    run(&["stale", "keep", "1"]);
    assert!(run(&["stale"]).contains("No memory names"));
    assert_eq!(home.error(["stale", "keep", "1"]).1["code"], "not_stale");
}

#[test]
fn the_database_of_another_program_is_recognised_by_its_tables() {
    let home = Sealed::new();
    let file = home.beside("memory.db");
    let db = rusqlite::Connection::open(&file).unwrap();
    db.execute_batch(
        "CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT, source TEXT, tags TEXT, created_at TEXT, last_hit_at TEXT,
            score INTEGER, session_id TEXT);
        INSERT INTO memories (content, score) VALUES ('The ferry to Zanzibar leaves at six', 3);",
    )
    .unwrap();
    drop(db);
    let report = home.json(["import", &file]);
    assert_eq!(
        (&report["format"], &report["kinds"]["entry"]["added"]),
        (&"koshi".into(), &1.into()),
        "{report}"
    );
    assert!(home.run(["search", "Zanzibar"]).stdout.contains("leaves at six"));
}
