//! Mistakes that a newcomer made or met on the command line. Each test is named for what went wrong.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::sealed::{Output, Process, Sealed, at_terminal, shown_at_terminal};

/// A home with two memories.
fn with_memories() -> Sealed {
    let home = Sealed::new();
    home.json(["store", "Our staging server is called heron"]);
    home.json(["store", "I prefer tabs over spaces", "--type", "preference"]);
    home
}

#[track_caller]
fn says(output: &Output, status: i32, words: &[&str]) {
    assert_eq!(output.status, status, "{output:?}");
    let said = format!("{}{}", output.stdout, output.stderr);
    for word in words {
        assert!(said.contains(word), "{word:?} is missing: {output:?}");
    }
}

// Words that people try first.

#[test]
fn forget_was_taken_for_store() {
    let home = with_memories();
    says(&home.run(["forget", "1"]), 0, &["Deleted [id:1]"]);
    assert_eq!(home.error(["show", "1"]).0, 3);
}

#[test]
fn rm_was_taken_for_promote() {
    let home = with_memories();
    says(&home.run(["rm", "2"]), 0, &["Deleted [id:2]"]);
}

#[test]
fn ls_was_taken_for_lesson() {
    says(&with_memories().run(["ls"]), 0, &["called heron", "tabs over spaces"]);
}

#[test]
fn list_was_taken_for_history_or_install() {
    says(&with_memories().run(["list"]), 0, &["called heron", "tabs over spaces"]);
}

#[test]
fn remember_was_taken_for_revert() {
    let home = Sealed::new();
    says(&home.run(["remember", "The port is 7070"]), 0, &["Stored as [id:1]"]);
    says(&home.run(["add", "The port was 6459"]), 0, &["Stored as [id:2]"]);
}

#[test]
fn find_was_taken_for_reindex() {
    let home = with_memories();
    says(&home.run(["find", "heron"]), 0, &["called heron"]);
    says(&home.run(["recall", "heron"]), 0, &["called heron"]);
}

#[test]
fn edit_and_config_were_unknown() {
    let home = with_memories();
    says(&home.run(["edit", "1", "Staging", "is", "egret"]), 0, &["Staging is egret"]);
    says(&home.run(["config"]), 0, &["default"]);
}

#[test]
fn group_was_taken_for_graph() {
    let home = with_memories();
    says(&home.run(["group"]), 0, &["main  2 memories (current)"]);
    says(&home.run(["group", "add", "work"]), 0, &["Created group `work`"]);
    assert_eq!(home.error(["group", "add", "work"]).1["code"], "group_exists");
    let names = home.json(["groups", "list"])["groups"].clone();
    assert_eq!((&names[0]["name"], &names[1]["name"]), (&json!("main"), &json!("work")));
    // Without a terminal nothing goes without `--yes`.
    let (status, error) = home.error(["group", "remove", "work"]);
    assert_eq!((status, &error["code"]), (2, &json!("needs_yes")));
    assert!(home.database("work").exists());
    assert_eq!(home.json(["group", "remove", "work", "--yes"]), json!({ "removed": "work" }));
    assert!(!home.database("work").exists());
    assert_eq!(home.error(["group", "rm", "work", "--yes"]).0, 3);
    let (status, shown) = at_terminal(&mut home.command(["group", "remove", "main"]), (80, 24), "n\n");
    assert_eq!(status, 0, "{shown}");
    assert!(shown.contains("2 memories") && shown.contains("nothing was deleted"), "{shown}");
    assert!(home.database("main").exists());
}

#[test]
fn serach_listed_search_last_of_six() {
    let home = Sealed::new();
    for (typed, meant) in
        [("serach", "search"), ("stroe", "store"), ("delte", "delete"), ("statsu", "status")]
    {
        let output = home.run([typed]);
        says(&output, 2, &[&format!("tip: did you mean `{meant}`?\n")]);
    }
    let unlike = home.run(["frobnicate"]);
    assert!(!unlike.stderr.contains("tip:"), "{unlike:?}");
    let nested = home.run(["task", "lits"]);
    says(&nested, 2, &["`list`", "Usage: nacre task"]);
}

// Words without quotes, and text from a pipe.

#[test]
fn words_without_quotes_were_unexpected_arguments() {
    let home = Sealed::new();
    says(&home.run(["store", "our", "staging", "server", "is", "heron", "--tag", "servers"]), 0, &["Stored"]);
    assert_eq!(home.json(["show", "1"])["content"], "our staging server is heron");
    says(&home.run(["search", "our", "staging", "server"]), 0, &["server is heron"]);
    home.run(["graph", "fact", "set", "heron", "port", "7070"]);
    says(&home.run(["graph", "which", "port", "does", "heron", "use"]), 0, &["heron: port = 7070"]);
    says(&home.run(["turn", "which", "port", "does", "heron", "use"]), 0, &["7070"]);
    says(&home.run(["log", "moved", "heron", "to", "port", "7070"]), 0, &["moved heron to port 7070"]);
    says(&home.run(["task", "add", "Move", "the", "nightly", "job"]), 0, &["Move the nightly job"]);
}

#[test]
fn piped_text_was_not_read() {
    let home = Sealed::new();
    says(&home.run_with(["store"], b"The port of heron is 7070"), 0, &["Stored as [id:1]"]);
    assert_eq!(home.json(["show", "1"])["content"], "The port of heron is 7070");
    says(&home.run_with(["search", "-"], b"port of heron"), 0, &["7070"]);
    says(&home.run_with(["log"], b"deployed heron"), 0, &["deployed heron"]);
    says(&home.run_with(["task", "add"], b"Write the notes"), 0, &["Write the notes"]);
    says(&home.run_with(["turn"], b"thanks"), 0, &[]);
    // An empty pipe is no text; at a terminal nobody waits for one.
    assert_eq!(home.error(["store"]).0, 2);
    says(&home.run(["log"]), 0, &["deployed heron"]);
    let (status, shown) = at_terminal(&mut home.command(["store"]), (80, 24), "");
    assert_eq!(status, 2, "{shown}");
    assert!(shown.contains("the text is missing"), "{shown}");
}

// The output at a terminal.

#[test]
fn results_were_cut_at_80_characters_whatever_the_terminal() {
    let home = Sealed::new();
    let long =
        format!("The nightly job {} ends here", "copies the backups to the other site ".repeat(4).trim());
    home.json(["store", &long]);
    let (_, wide) = at_terminal(&mut home.command(["search", "nightly", "--color", "never"]), (220, 24), "");
    assert!(wide.contains(&long), "{wide}");
    let (_, narrow) = at_terminal(&mut home.command(["search", "nightly", "--color", "never"]), (60, 24), "");
    for line in narrow.lines() {
        assert!(line.chars().count() <= 60, "{line:?}");
    }
    // The lines are whole words, under each other.
    let words: Vec<&str> = narrow.split_whitespace().collect();
    assert!(words.contains(&"backups") && words.contains(&"site"), "{narrow}");
    assert!(
        narrow.lines().skip(1).all(|line| line.is_empty() || line.starts_with(&" ".repeat(20))),
        "{narrow}"
    );
    let (_, shown) = at_terminal(&mut home.command(["show", "1"]), (60, 40), "");
    assert!(shown.lines().take(3).all(|line| line.chars().count() <= 60), "{shown}");
}

#[test]
fn colors_could_not_be_chosen() {
    let home = with_memories();
    let always = home.run(["search", "--color", "always"]);
    assert!(always.stdout.contains("\x1b[1m"), "{always:?}");
    let (_, never) = at_terminal(&mut home.command(["search", "--color", "never"]), (80, 24), "");
    assert!(!never.contains('\x1b'), "{never:?}");
    let (_, auto) = at_terminal(&mut home.command(["search"]), (80, 24), "");
    assert!(auto.contains('\x1b'), "{auto:?}");
    assert!(!home.run(["search"]).stdout.contains('\x1b'));
    assert_eq!(home.run(["search", "--color", "sometimes"]).status, 2);
}

#[test]
fn long_output_ran_off_the_screen() {
    let home = Sealed::new();
    let mut command = home.command(["help", "all"]);
    command.env("PAGER", "sed -n 1s/^/PAGED:/p").env("PATH", "/usr/bin:/bin");
    let (status, shown) = at_terminal(&mut command, (80, 24), "");
    assert_eq!(status, 0);
    assert!(shown.contains("PAGED:") && shown.lines().count() < 5, "{shown}");
    // Output that fits the screen needs no pager, and output for a program gets none.
    let mut command = home.command(["status"]);
    command.env("PAGER", "sed s/^/PAGED:/").env("PATH", "/usr/bin:/bin");
    assert!(!at_terminal(&mut command, (80, 50), "").1.contains("PAGED"));
    assert!(home.run(["help", "all"]).stdout.lines().count() > 100);
}

#[test]
fn nacre_alone_was_an_error_with_63_names() {
    let home = with_memories();
    let output = home.run(Vec::<&str>::new());
    assert_eq!((output.status, output.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = output.stdout.lines().collect();
    let expected = [
        "Memory     2 memories, 0 facts, 0 documents; last change today",
        "Approvals  nothing waits for your approval",
    ];
    assert_eq!([lines[0], lines[2]], expected);
    assert!(lines[1].starts_with("Stored in  ") && lines[1].ends_with("(group main)"), "{lines:?}");
    assert_eq!(
        lines[4..].iter().filter(|line| line.trim_start().starts_with("nacre ")).count(),
        5,
        "{lines:?}"
    );
    assert_eq!(lines.len(), 9);
    assert_eq!(home.json([])["status"]["entries"]["current"], 2);
    let fresh = Sealed::new();
    assert_eq!(fresh.run(Vec::<&str>::new()).status, 0);
    assert!(!fresh.home().exists(), "a look makes nothing");
}

#[test]
fn help_was_one_flat_list() {
    let home = Sealed::new();
    let help = home.run(["--help"]);
    assert_eq!(help.status, 0);
    let headings = [
        "Everyday:",
        "More on memories:",
        "Files and graph:",
        "Projects and conversations:",
        "Agents and servers:",
        "Upkeep:",
    ];
    let places: Vec<usize> = headings.iter().map(|heading| help.stdout.find(heading).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(help.stdout[places[0]..places[1]].lines().filter(|line| line.starts_with("  ")).count(), 12);
    assert!(help.stdout.lines().count() < 50, "{}", help.stdout);
    assert_eq!(home.run(["help"]).stdout, help.stdout);
    let all = home.run(["help", "all"]).stdout;
    for command in [
        "graph fact set",
        "file propose",
        "checkpoint restore",
        "config edit",
        "group remove",
        "--visibility",
    ] {
        assert!(all.contains(command), "{command}");
    }
    says(&home.run(["help", "graph", "fact"]), 0, &["Usage: nacre graph fact"]);
    says(&home.run(["help", "serach"]), 2, &["`search`"]);
}

#[test]
fn usage_lines_showed_home_as_required() {
    let home = with_memories();
    for (args, usage) in [
        (&["show"][..], "Usage: nacre show [OPTIONS] <ID>"),
        (&["revert"], "Usage: nacre revert [OPTIONS] <ID>"),
        (&["fact", "set", "heron"], "Usage: nacre fact set [OPTIONS] <ENTITY> <KEY> <VALUE>"),
        (&["graph", "fact", "set"], "Usage: nacre graph fact set [OPTIONS] <ENTITY> <KEY> <VALUE>"),
        (&["--home", "x", "--group", "y", "show"], "Usage: nacre show [OPTIONS] <ID>"),
    ] {
        let output = home.run(args);
        says(&output, 2, &[usage]);
        assert!(!output.stderr.contains("--home <DIR>"), "{output:?}");
    }
}

#[test]
fn names_of_tools_leaked_into_messages() {
    let home = with_memories();
    for args in [&["store", " "][..], &["search", "x", "--limit", "0"], &["task", "add", " "]] {
        let output = home.run(args);
        assert_eq!(output.status, 2, "{output:?}");
        assert!(!output.stderr.contains("memory_") && !output.stderr.contains("task_"), "{output:?}");
    }
    says(&home.run(["search", "x", "--limit", "0"]), 2, &["error: `--limit` is 0"]);
}

// Ids and times.

#[test]
fn id_2_and_the_start_of_an_id_were_refused() {
    let home = with_memories();
    let id = home.json(["show", "2"])["id"].as_str().unwrap().to_owned();
    for name in ["2", "#2", "id:2", "[id:2]", &id, &id[..id.len() - 1], &format!("[id:{id}]")] {
        assert_eq!(home.json(["show", name])["id"], id.as_str(), "{name}");
    }
    let prefix = &id[..id.len() - 2];
    for args in [
        &["reinforce", prefix][..],
        &["demote", "id:2"],
        &["history", prefix],
        &["update", prefix, "New text"],
    ] {
        assert_eq!(home.run(args).status, 0, "{args:?}");
    }
    assert_eq!(
        home.json(["store", "It replaces the other", "--supersedes", prefix])["superseded"],
        id.as_str()
    );
    let (status, error) = home.error(["show", "mem-0"]);
    assert_eq!((status, &error["code"]), (4, &json!("many_entries")));
    assert!(error["hint"].as_str().unwrap().contains("[id:1]"), "{error}");
    assert_eq!(home.error(["show", "mem-ffff"]).0, 3);
    assert_eq!(home.json(["delete", prefix])["id"], id.as_str());
}

#[test]
fn messages_printed_long_ids() {
    let home = Sealed::new();
    home.json(["store", "The staging server of our team is called heron now"]);
    let near = home.run(["store", "The staging server of our team is called heron today"]);
    let replaced = home.run(["store", "Staging is kestrel", "--supersedes", "1"]);
    says(&replaced, 0, &["[id:3]", "[id:1]"]);
    let history = home.run(["history", "3"]);
    let refused = home.run(["reinforce", "1"]);
    says(&refused, 4, &["[id:1]", "[id:3]"]);
    let listed = home.run(["search", "heron", "--include-superseded"]);
    says(&listed, 0, &["superseded by [id:3]"]);
    let deleted = home.run(["delete", "3"]);
    for output in [&near, &replaced, &history, &refused, &listed, &deleted] {
        assert!(!output.stdout.contains("mem-") && !output.stderr.contains("mem-"), "{output:?}");
    }
}

#[test]
fn yesterday_was_no_time() {
    let home = Sealed::new();
    home.json(["fact", "set", "heron", "port", "6459", "--since", "10d"]);
    home.json(["fact", "set", "heron", "port", "7070", "--since", "2d"]);
    for (when, port) in [("yesterday", "7070"), ("3d", "6459"), ("2026-02-10", "6459"), ("now", "7070")] {
        says(&home.run(["graph", "port", "of", "heron", "--as-of", when]), 0, &[port]);
        says(&home.run(["graph", "fact", "list", "--as-of", when]), 0, &[port]);
    }
    assert_eq!(home.run(["search", "heron", "--at", "tomorrow"]).status, 0);
    says(&home.run(["search", "heron", "--at", "someday"]), 2, &["`3d` (3 days ago)"]);
}

// Exit codes.

#[test]
fn a_missing_transcript_was_an_internal_error() {
    let (status, error) = Sealed::new().error(["session", "import", "/nonexist"]);
    assert_eq!((status, &error["code"]), (3, &json!("no_file")));
}

#[test]
fn a_missing_source_of_an_import_was_a_bad_request() {
    let home = Sealed::new();
    for args in [["import", "nacre", "/nowhere"], ["import", "obsidian", "/nowhere"]] {
        assert_eq!(home.error(args).0, 3, "{args:?}");
    }
}

#[test]
fn a_missing_token_was_an_internal_error() {
    let home = Sealed::new();
    let (status, error) = home.error(["token", "remove", "x"]);
    assert_eq!((status, &error["code"]), (3, &json!("no_token")));
    home.json(["token", "add", "x"]);
    assert_eq!(home.error(["token", "add", "x"]).0, 4);
}

#[test]
fn a_missing_file_was_shown_as_nothing() {
    let home = Sealed::new();
    home.json(["init"]);
    let (status, error) = home.error(["get", "nope.md"]);
    assert_eq!((status, &error["code"]), (3, &json!("no_file")));
    says(&home.run(["file", "get", "nope.md"]), 3, &["there is no file `nope.md`"]);
    assert_eq!(home.run(["file", "get", "MEMORY.md"]).status, 0);
}

#[test]
fn a_misspelt_group_was_an_empty_memory() {
    let home = with_memories();
    for args in [&["search", "heron"][..], &["show", "1"], &["pending"]] {
        let (status, error) = home.error([&["--group", "mian"], args].concat());
        assert_eq!((status, &error["code"]), (3, &json!("no_group")), "{args:?}");
        assert!(error["hint"].as_str().unwrap().contains("existing groups: main"), "{error}");
    }
    assert_eq!(home.json(["--group", "new", "store", "A first memory"])["number"], 1);
}

#[test]
fn a_checkpoint_was_none_or_more_than_one() {
    let home = with_memories();
    says(&home.run(["checkpoint", "restore", "foo"]), 3, &["there is no checkpoint `foo`\n"]);
    home.json(["checkpoint", "save", "one"]);
    home.json(["checkpoint", "save", "two"]);
    let ids = home.json(["checkpoint", "list"]);
    let id = ids["checkpoints"][0]["id"].as_str().unwrap();
    says(&home.run(["checkpoint", "restore", &id[..4]]), 4, &["is the start or end of 2 checkpoints"]);
}

#[test]
fn an_import_without_a_path_named_the_home_folder() {
    let home = Sealed::new();
    let output = home
        .command(["import", "obsidian"])
        .env("HOME", home.beside("user"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("say which vault: nacre import obsidian ~/Notes"), "{said}");
}

#[test]
fn settings_could_only_be_changed_in_an_editor() {
    let home = Sealed::new();
    says(&home.run(["config", "set", "search.limit", "10"]), 0, &["search.limit = 10"]);
    assert_eq!(home.run(["config", "get", "search.limit"]).stdout, "10\n");
    let changed = home.run(["config"]).stdout;
    assert!(
        changed.starts_with("Changed settings:\nsearch.limit ") && changed.lines().count() < 6,
        "{changed}"
    );
    let all = home.run(["config", "list", "--all"]).stdout;
    assert!(all.starts_with("Changed settings:\nsearch.limit ") && all.contains("\nbrief."), "{all}");
    says(&home.run(["settings"]), 0, &["search.limit", "brief.max_entries"]);
    assert_eq!(home.json(["settings"]), home.json(["config"]));
    // The file keeps its comments.
    let file = fs::read_to_string(home.home().join("nacre.toml")).unwrap();
    assert!(file.contains("# The settings of Nacre.") && file.contains("\nlimit = 10\n"), "{file}");
    let (status, error) = home.error(["settings", "set", "search.limt", "10"]);
    assert_eq!((status, &error["hint"]), (2, &json!("did you mean `search.limit`?")));
    assert_eq!(home.error(["config", "set", "search.limit", "many"]).0, 2);
    assert_eq!(home.error(["config", "get", "nothing"]).1["kind"], "invalid");
    home.json(["config", "set", "search.limit", "--unset"]);
    assert_eq!(home.run(["config", "get", "search.limit"]).stdout, "20\n");
    // Only a person at a terminal changes what agents may do.
    assert_eq!(home.error(["config", "set", "write.files", "open"]).0, 5);
    assert_eq!(home.json_at_terminal(["config", "set", "write.files", "open"])["write.files"], "open");
    let mut command = home.command(["config", "edit"]);
    command.env("EDITOR", "touch").env("PATH", "/usr/bin:/bin");
    assert_eq!(at_terminal(&mut command, (80, 24), "").0, 0);
}

#[test]
fn only_one_memory_could_be_deleted_at_a_time() {
    let home = with_memories();
    assert_eq!(home.error(["delete", "1", "99"]).0, 3);
    assert_eq!(home.json(["status"])["entries"]["current"], 2, "a wrong name keeps all of them");
    says(&home.run(["delete", "1", "2"]), 0, &["Deleted [id:1]", "Deleted [id:2]"]);
    assert_eq!(home.json(["status"])["entries"]["current"], 0);
}

#[test]
fn delete_asked_nothing_at_a_terminal() {
    let home = with_memories();
    for (typed, left) in [("n\n", 2), ("\n", 2), ("y\n", 1)] {
        let (status, shown) = at_terminal(&mut home.command(["delete", "1"]), (80, 24), typed);
        assert_eq!(status, 0, "{shown}");
        assert!(
            shown.contains("[id:1] Our staging server is called heron") && shown.contains("[y/N]"),
            "{shown}"
        );
        assert_eq!(home.json(["status"])["entries"]["current"], left, "{shown}");
    }
    let (_, shown) = at_terminal(&mut home.command(["delete", "2", "--yes"]), (80, 24), "");
    assert!(!shown.contains("[y/N]"), "{shown}");
    assert_eq!(home.json(["status"])["entries"]["current"], 0);
}

#[test]
fn five_verbs_did_one_act() {
    let home = Sealed::new();
    home.json(["fact", "set", "heron", "port", "7070"]);
    home.json(["relation", "add", "Petra", "owns", "heron"]);
    home.json(["alias", "add", "the bird", "heron"]);
    let book = home.beside("book.md");
    fs::write(&book, "# A book\n").unwrap();
    home.json(["collection", "add", "books", &book]);
    home.json(["checkpoint", "save", "first"]);
    home.json(["token", "add", "laptop"]);
    for args in [
        &["graph", "alias", "remove", "the bird"][..],
        &["graph", "relation", "remove", "Petra", "owns", "heron"],
        &["graph", "fact", "remove", "heron", "port"],
        &["graph", "entity", "remove", "heron"],
        &["collection", "remove", "books", "--yes"],
        &["checkpoint", "remove", "first"],
        &["token", "remove", "laptop"],
    ] {
        let output = home.run(args);
        assert_eq!(output.status, 0, "{args:?}: {output:?}");
    }
}

#[test]
fn families_were_scattered_over_the_top_level() {
    let home = Sealed::new();
    home.json(["init"]);
    home.json(["graph", "fact", "set", "heron", "port", "7070"]);
    home.json(["file", "log", "It", "happened"]);
    for (family, old) in [
        (&["graph", "fact", "list"][..], &["fact", "list"][..]),
        (&["graph", "relation", "list"], &["relation", "list"]),
        (&["graph", "alias", "list"], &["alias", "list"]),
        (&["graph", "entity", "list"], &["entity", "list"]),
        (&["file", "get", "MEMORY.md"], &["get", "MEMORY.md"]),
        (&["file", "log"], &["log"]),
        (&["file", "memory"], &["memory"]),
        (&["file", "promote"], &["promote"]),
        (&["file", "policy"], &["policy", "list"]),
        (&["file", "lesson"], &["lesson", "list"]),
    ] {
        let (one, other) = (home.run(family), home.run(old));
        assert_eq!((one.status, &one.stdout), (0, &other.stdout), "{family:?}");
    }
}

#[test]
fn serve_said_that_the_address_is_in_use() {
    let home = with_memories();
    let first = Process::start(home.command(["serve", "--listen", "127.0.0.1:0"]).stderr(Stdio::null()));
    let noted = home.home().join("serve.json");
    let url = loop {
        let found = fs::read(&noted).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        match found {
            Some(found) => break found["url"].as_str().unwrap().to_owned(),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let address = url.trim_start_matches("http://");
    let output = home.run(["serve", "--listen", address]);
    says(&output, 4, &["Nacre is already running for this data folder", "`nacre ui` opens its dashboard"]);
    let other = Sealed::new();
    says(&other.run(["serve", "--listen", address]), 4, &["another program is listening"]);
    first.victim.lock().unwrap().kill().unwrap();
}

#[test]
fn demo_printed_text_where_json_was_asked_for() {
    let steps = Sealed::new().json(["demo"])["steps"].clone();
    assert!(steps.as_array().unwrap().len() > 5 && steps[1]["answer"]["number"] == 1, "{steps}");
}

#[test]
fn bare_nouns_gave_usage_instead_of_a_list() {
    let home = with_memories();
    home.json(["fact", "set", "heron", "port", "7070"]);
    says(&home.run(["graph"]), 0, &["heron"]);
    says(&home.run(["audit"]), 0, &["memory_store", "fact_upsert"]);
    for noun in [
        "fact",
        "relation",
        "alias",
        "entity",
        "task",
        "session",
        "collection",
        "checkpoint",
        "token",
        "model",
        "lesson",
        "policy",
        "plugin",
        "group",
    ] {
        assert_eq!(home.run([noun]).status, 0, "{noun}");
    }
}

#[test]
fn one_was_counted_as_many() {
    let home = Sealed::new();
    let file = home.beside("talk.jsonl");
    fs::write(&file, json!({ "id": "1", "session": "monday", "role": "user", "text": "Hello" }).to_string())
        .unwrap();
    says(&home.run(["session", "import", &file]), 0, &["1 session,", "1 message added"]);
    says(&home.run(["session", "list"]), 0, &["1 message "]);
    home.json(["fact", "set", "heron", "port", "7070"]);
    let status = home.run(["status"]);
    says(&status, 0, &["1 fact,"]);
    for wrong in ["1 entities", "1 facts", "1 messages", "1 sessions", "1 tasks", "1 chunks"] {
        assert!(!status.stdout.contains(wrong), "{status:?}");
    }
    says(&home.run(["group"]), 0, &["main  0 memories"]);
}

#[test]
fn today_was_called_0d_ago() {
    let home = with_memories();
    for args in [["history", "1"], ["reinforce", "1"], ["show", "1"]] {
        let output = home.run(args);
        assert!(!output.stdout.contains("0d ago"), "{output:?}");
    }
}

#[test]
fn install_listed_commands_and_said_nothing() {
    let home = Sealed::new();
    let user = home.beside("user");
    fs::create_dir_all(format!("{user}/.cursor")).unwrap();
    fs::write(format!("{user}/.cursor/mcp.json"), "{}").unwrap();
    let run = |typed: &str| {
        let mut command = home.command(["install"]);
        at_terminal(command.env("HOME", &user), (100, 40), typed)
    };
    let output = home.command(["install"]).env("HOME", &user).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("Found: Cursor."), "{said}");
    // Nothing was done, so a script must not go on.
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no terminal to ask") && said.contains("nacre install --all"), "{said}");
    let (status, shown) = run("n\n");
    assert_eq!(status, 0);
    assert!(shown.contains("[Y/n]") && shown.contains("Nothing was changed"), "{shown}");
    let (_, shown) = run("\n");
    assert!(shown.contains("mcp.json written"), "{shown}");
}

/// Creates a vault with this many notes next to the home.
fn vault(home: &Sealed, notes: usize) -> String {
    let folder = home.beside("Notes");
    fs::create_dir_all(format!("{folder}/.obsidian")).unwrap();
    for number in 0..notes {
        fs::write(format!("{folder}/bird-{number}.md"), format!("# Bird {number}\n\nIt sings [[bird-1]].\n"))
            .unwrap();
    }
    folder
}

#[test]
fn progress_had_no_unit_no_total_and_no_time_left() {
    let home = Sealed::new();
    let folder = vault(&home, 1_200);
    let args = ["import", "obsidian", &folder];
    let shown = shown_at_terminal(home.command(args).env("TERM", "xterm"));
    assert!(shown.contains("Importing Notes") && shown.contains(" / 1,200 notes"), "{shown:?}");
    assert!(shown.contains('%') && shown.contains("/s") && shown.contains(" left"), "{shown:?}");
    assert!(!shown.contains("1,201") && !shown.contains("2,400"), "{shown:?}");
    let (status, said) =
        at_terminal(home.command(["export", &home.beside("copy")]).env("TERM", "xterm"), (100, 40), "");
    assert!(status == 0 && said.contains("written to"), "{said}");
}

#[test]
fn export_reindex_and_maintain_showed_no_total() {
    let home = Sealed::new();
    home.json(["import", "obsidian", &vault(&home, 1_200)]);
    for (args, what) in [
        (&["export", &home.beside("copy")][..], " records  "),
        (&["reindex"], " / 1,200 indexed documents  "),
        (&["maintain", "--all"], " / 9 jobs  "),
    ] {
        let shown = shown_at_terminal(home.command(args).env("TERM", "xterm"));
        assert!(shown.contains(what) && shown.contains('%'), "{args:?}: {shown:?}");
    }
}

#[test]
fn a_broken_off_import_of_a_vault_said_nothing() {
    let home = Sealed::new();
    let folder = vault(&home, 6_000);
    let process = Process::start(&mut home.command(["import", "obsidian", &folder]));
    let id = process.victim.lock().unwrap().id();
    // Once the first transaction is in.
    let imported = home.home().join("groups/main/memory/imports/obsidian/Notes");
    while !fs::read_dir(&imported).is_ok_and(|found| found.count() > 1_000) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = process.finish();
    says(&output, 130, &["Stopped. ", " notes are in; run it again to go on."]);
    let rest = home.json(["import", "obsidian", &folder]);
    let documents = &rest["kinds"]["document"];
    let sum = |key: &str| documents[key].as_u64().unwrap_or(0);
    assert_eq!(sum("added") + sum("changed") + sum("present") + sum("kept"), 6_000, "{rest}");
    assert_eq!(home.json(["doctor"])["ok"], true);
}

#[test]
fn a_broken_off_import_said_nothing() {
    let home = Sealed::new();
    let file = home.beside("talk.jsonl");
    let message = json!({ "session": "birds", "role": "user", "text": "The zebrafinch sings" }).to_string();
    fs::write(&file, (message + "\n").repeat(200_000)).unwrap();
    let process = Process::start(&mut home.command(["session", "import", &file]));
    let id = process.victim.lock().unwrap().id();
    // Once the second transaction is in, the first was counted.
    while !home.run(["session", "list"]).stdout.contains("20000 messages") {
        std::thread::sleep(Duration::from_millis(50));
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = process.finish();
    says(&output, 130, &["Stopped. ", "messages are in; run it again to go on."]);
    assert_eq!(home.json(["doctor"])["ok"], true);
}

/// The reader of standard error has gone before the program says what is wrong.
#[test]
fn a_closed_stderr_was_a_panic_or_a_success() {
    let home = with_memories();
    for (args, expected) in [
        (&["show", "99"][..], 3),
        (&["store", ""], 2),
        (&["approve", "1"], 5),
        (&["boot"], 0),
        (&["frobnicate"], 2),
        (&["get", "nope.md"], 3),
        (&["search", "heron", "--group", "other"], 3),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = home.command(args);
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer).status().unwrap();
        assert_eq!(status.code(), Some(expected), "{args:?}");
        // Both are closed.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let other = writer.try_clone().unwrap();
        let mut command = home.command(args);
        let status = command.stdin(Stdio::null()).stdout(writer).stderr(other).status().unwrap();
        assert_eq!(status.code(), Some(expected), "{args:?} without stdout");
    }
}

#[test]
fn profiles_were_named_after_projects_nobody_knows() {
    let home = Sealed::new();
    let design = |args: &[&str]| home.json(args.iter().copied().chain(["status"]))["profile"].clone();
    for (name, expected) in [
        ("default", "balanced"),
        ("minimal", "carapace"),
        ("strict", "gated"),
        ("files", "brain"),
        ("graph", "nanoclaw"),
        ("feedback", "koshi"),
    ] {
        assert_eq!(design(&["--profile", name]), expected);
        assert_eq!(design(&["--profile", expected]), expected);
        assert_eq!(design(&["--set", &format!("profile={name}")]), expected);
        let output =
            home.command(["status"]).env("NACRE_PROFILE", name).stdin(Stdio::null()).output().unwrap();
        assert!(String::from_utf8(output.stdout).unwrap().contains(&format!("profile      {name}\n")));
        home.json_at_terminal(["config", "set", "profile", name]);
        assert_eq!(design(&[]), expected, "from nacre.toml");
    }
    says(&home.run(["search", "--profile", "koshy"]), 2, &["`feedback` (koshi)"]);
}

// A second look, by people who had only the help.

#[test]
fn an_import_of_a_path_listed_the_formats_as_possible_values() {
    let home = with_memories();
    let copy = home.beside("copy");
    home.json(["export", &copy]);
    let notes = home.beside("plain");
    fs::create_dir_all(&notes).unwrap();
    fs::write(format!("{notes}/one.md"), "# One\n\nA note about egrets.\n").unwrap();
    let talk = home.beside("talk.jsonl");
    fs::write(&talk, json!({ "session": "s", "role": "user", "text": "Hello heron" }).to_string()).unwrap();
    let mem0 = home.beside("mem0.json");
    fs::write(&mem0, json!({ "results": [{ "id": "1", "memory": "Likes tea" }] }).to_string()).unwrap();
    let other = Sealed::new();
    for (path, what) in [
        (&copy, "2 memories added"),
        (&notes, "markdown from"),
        (&vault(&home, 2), "obsidian from"),
        (&talk, "1 message added"),
        (&mem0, "mem0 from"),
    ] {
        says(&other.run(["import", path]), 0, &[what]);
    }
    says(&other.run(["import", &home.database("main").display().to_string()]), 0, &["2 already here"]);
    // A name that is neither a format nor a file, and a file without a known format.
    let nothing = home.beside("nothing");
    fs::write(&nothing, [1, 2, 3]).unwrap();
    says(&other.run(["import", &nothing]), 2, &["was not recognised", "obsidian", "nacre session import"]);
    says(&other.run(["import", "obsidan"]), 3, &["neither a format nor a file", "obsidian"]);
    says(&other.run(["import", "obsidan", &notes]), 2, &["there is no format `obsidan`"]);
    // Files that two programs write.
    let workspace = home.beside("agent");
    fs::create_dir_all(format!("{workspace}/memory")).unwrap();
    fs::write(format!("{workspace}/MEMORY.md"), "- A fact\n").unwrap();
    says(&other.run(["import", &workspace]), 2, &["openclaw or claude-code", "nacre import openclaw"]);
}

#[test]
fn an_import_of_an_export_said_path_is_missing_the_folder_or_file() {
    let home = with_memories();
    let output = home.run(["import", "nacre", "--dry-run"]);
    says(&output, 2, &["error: the path is missing\n", "nacre import nacre PATH"]);
    let copy = home.beside("copy");
    home.json(["export", &copy]);
    let output = home.run(["import", "nacre", &copy, "--dry-run"]);
    says(&output, 2, &["neither `--dry-run` nor `--as`", "nacre --group try import"]);
}

#[test]
fn edit_without_a_text_was_an_error() {
    let home = with_memories();
    let says_what = "the new text is missing";
    says(&home.run(["edit", "1"]), 2, &[says_what, "opens your editor"]);
    says(&home.run_with(["edit", "1"], b"Staging is egret"), 0, &["Staging is egret"]);
    let edit = |args: &[&str], editor: &str| {
        let mut command = home.command(args);
        at_terminal(command.env("EDITOR", editor).env("PATH", "/usr/bin:/bin"), (100, 24), "")
    };
    let (status, shown) = edit(&["edit", "1"], "sed -i s/egret/kestrel/");
    assert!(status == 0 && shown.contains("Staging is kestrel"), "{shown}");
    assert_eq!(home.json(["show", "1"])["content"], "Staging is kestrel");
    for editor in ["true", "sed -i d"] {
        let (status, shown) = edit(&["edit", "1"], editor);
        assert!(status == 0 && shown.contains("nothing was changed"), "{shown}");
    }
    // Options alone change no text.
    home.json(["edit", "1", "--type", "context"]);
    // A file of the workspace.
    home.json(["init"]);
    assert_eq!(edit(&["edit", "MEMORY.md"], "sed -i $s/$/Herons/").0, 0);
    says(&home.run(["show", "MEMORY.md"]), 0, &["Herons"]);
    assert_eq!(home.run(["edit", "MEMORY.md"]).status, 5, "an agent proposes instead");
    assert_eq!(edit(&["edit", "nope.md"], "true").0, 3);
    assert_eq!(edit(&["edit", "MEMORY.md", "text"], "true").0, 2);
}

#[test]
fn the_editor_would_have_stored_a_masked_credential() {
    let home = Sealed::new();
    home.json(["store", &format!("The key is ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a")]);
    let mut command = home.command(["edit", "1"]);
    let (status, shown) =
        at_terminal(command.env("EDITOR", "true").env("PATH", "/usr/bin:/bin"), (100, 24), "");
    assert!(status == 2 && shown.contains("contains a credential"), "{shown}");
}

#[test]
fn doctor_was_fine_beside_settings_that_nobody_could_read() {
    let home = with_memories();
    let file = home.home().join("nacre.toml");
    for (text, line) in [
        ("[search]\nlimit = = 3\n", "line 2"),
        ("\n[search]\nlimit = \"x\"\n", "line 3"),
        ("a = 1\n", "line 1"),
    ] {
        fs::write(&file, text).unwrap();
        let output = home.run(["doctor"]);
        says(&output, 1, &["FAIL  settings", "nacre.toml", line, "nacre config"]);
        let answer: Value = serde_json::from_str(&home.run(["--json", "doctor"]).stdout).unwrap();
        assert_eq!(answer["ok"], false);
    }
    // The command that the hint names works although the file is broken.
    fs::write(&file, "[search]\nlimit = \"x\"\n").unwrap();
    says(&home.run(["config", "set", "search.limit", "9"]), 0, &["search.limit = 9"]);
    fs::write(&file, "[search]\nlimit = = 3\n").unwrap();
    let mut command = home.command(["config", "edit"]);
    command.env("EDITOR", "sed -i 2d").env("PATH", "/usr/bin:/bin");
    assert_eq!(at_terminal(&mut command, (80, 24), "").0, 0);
    assert_eq!(home.run(["doctor"]).status, 0);
    fs::remove_file(&file).unwrap();
    let user = home.beside("user");
    fs::create_dir_all(format!("{user}/.cursor")).unwrap();
    fs::write(format!("{user}/.cursor/mcp.json"), "{\n  \"mcpServers\": [,]\n}").unwrap();
    let output = home.command(["doctor"]).env("HOME", &user).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for word in ["FAIL  client     Cursor", "mcp.json", "line 2", "nacre install cursor"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}

#[test]
fn one_thing_had_two_names() {
    let home = with_memories();
    let said = [
        home.run(["help", "all"]).stdout,
        home.run(["status"]).stdout,
        home.run(["doctor"]).stdout,
        home.run(["export", &home.beside("copy")]).stdout,
        home.run(["maintain", "--list"]).stdout,
        home.run(["show", "99"]).stderr,
        home.run(["show", "heron"]).stderr,
    ];
    for said in said {
        let words = said.split(|c: char| !c.is_alphanumeric() && c != '_');
        assert!(!words.clone().any(|word| matches!(word, "entry" | "entries")), "{said}");
    }
}

#[test]
fn descriptions_of_tools_were_cut_off() {
    let listed = with_memories().run(["call"]).stdout;
    for line in listed.lines() {
        assert!(line.ends_with('.') || line.ends_with(')'), "{line}");
    }
}

#[test]
fn a_setting_could_not_be_unset() {
    let home = Sealed::new();
    home.json(["config", "set", "search.limit", "10"]);
    says(&home.run(["config", "unset", "search.limit"]), 0, &["search.limit = 20 (the default)"]);
    assert_eq!(home.error(["config", "unset", "search.limt"]).1["hint"], "did you mean `search.limit`?");
    assert_eq!(home.error(["config", "unset", "write.files"]).0, 5, "only a person at a terminal");
}

#[test]
fn a_wrong_value_was_string_where_float_is_needed() {
    let home = Sealed::new();
    for (key, value, problem) in [
        ("search.limit", "many", "must be a whole number such as 20, not \"many\""),
        ("rank.recency", "much", "must be a number such as"),
        ("turn.archive", "often", "must be true or false"),
        ("search.limit", "0", "is not between 1 and 100"),
    ] {
        says(&home.run(["config", "set", key, value]), 2, &[&format!("setting `{key}`"), problem]);
    }
    fs::create_dir_all(home.home()).unwrap();
    fs::write(home.home().join("nacre.toml"), "[search]\n\nlimit = 0\n").unwrap();
    says(&home.run(["status"]), 2, &["nacre.toml line 3 is not between 1 and 100"]);
}

#[test]
fn a_name_that_is_no_number_was_an_invalid_digit() {
    let home = with_memories();
    for command in ["approve", "deny", "revert", "pending"] {
        let output = home.run([command, "abc"]);
        says(&output, 2, &["a change has a number", "nacre pending"]);
    }
    says(&home.run(["show", "99"]), 3, &["there is no memory `99`", "the newest memory is [id:2]", "mem-"]);
    says(&home.run(["show", "heron"]), 2, &["neither a memory id"]);
}

#[test]
fn get_of_a_memory_was_a_bad_path() {
    let home = with_memories();
    let shown = home.run(["show", "1"]).stdout;
    assert_eq!(home.run(["get", "1"]).stdout, shown);
    says(&home.run(["get", "99"]), 3, &["there is no memory `99`"]);
    home.json(["init"]);
    assert_eq!(home.run(["show", "MEMORY.md"]).stdout, home.run(["get", "MEMORY.md"]).stdout);
}

#[test]
fn a_turn_without_a_message_said_nothing() {
    let home = with_memories();
    says(&home.run(["turn"]), 2, &["the text is missing", "nacre turn some words"]);
    says(&home.run(["turn", " "]), 2, &["the text is missing"]);
}

#[test]
fn explain_said_nothing_where_nothing_was_added() {
    let home = with_memories();
    says(&home.run(["turn", "thanks"]), 0, &["`--explain` says why"]);
    says(&home.run(["turn", "--explain", "xyzzy"]), 0, &["Nothing is added before this message: "]);
    let weighed = home.run(["turn", "--explain", "the server room is cold", "--set", "turn.least=0.99"]);
    says(&weighed, 0, &["Nothing is added before this message: the best candidate scores", "`turn.least`"]);
    let off = home.run(["turn", "--explain", "the server", "--set", "turn.contributors=[]"]);
    says(&off, 0, &["`turn.contributors` is empty"]);
}

#[test]
fn status_did_not_name_the_home() {
    let home = with_memories();
    says(&home.run(["status"]), 0, &[&format!("home         {}\n", home.home().display())]);
}

/// A home with two conversations.
fn with_conversations() -> Sealed {
    let home = Sealed::new();
    let file = home.beside("talk.jsonl");
    let messages = [
        ("a1", "user", "How do I deploy heron to staging?"),
        ("a1", "assistant", "Run make deploy in the folder of heron, then check the dashboard."),
        ("a1", "user", "And the port?"),
        ("a1", "assistant", "The heron service listens on port 7070."),
        ("b2", "user", "The build fails with error E0502 in parser.rs"),
        ("b2", "assistant", "That is a borrow checker problem: two borrows overlap."),
        ("b2", "user", "Thanks, fixed by cloning the token"),
    ];
    let line = |(session, role, text): &(&str, &str, &str)| {
        json!({ "session": session, "role": role, "text": text }).to_string() + "\n"
    };
    fs::write(&file, messages.iter().map(line).collect::<String>()).unwrap();
    home.json(["session", "import", &file]);
    home
}

#[test]
fn conversations_were_listed_as_bare_ids() {
    let home = with_conversations();
    let listed = home.run(["session", "list"]).stdout;
    let titles: Vec<&str> = listed.lines().filter(|line| !line.starts_with(' ')).collect();
    let mut expected = ["How do I deploy heron to staging?", "The build fails with error E0502 in parser.rs"];
    expected.reverse();
    assert_eq!(titles, expected, "{listed}");
    assert_eq!(home.json(["session", "list"])["sessions"][0]["title"], expected[0]);
}

#[test]
fn words_of_a_message_found_it_last() {
    let home = with_conversations();
    for query in [
        "heron service listens on port 7070",
        "port 7070",
        "borrow checker",
        "check the dashboard",
        "cloning the token",
    ] {
        let found = home.json(["search", query, "--scope", "sessions"]);
        let first = found["hits"][0]["text"].as_str().unwrap();
        assert!(first.to_lowercase().contains(query), "{query}: {first}");
    }
    // A question is still about the user's own words.
    let found = home.json(["search", "What error did I get in the build?", "--scope", "sessions"]);
    assert!(found["hits"][0]["text"].as_str().unwrap().contains("E0502"), "{found}");
}

#[test]
fn scope_all_was_refused() {
    let home = with_conversations();
    home.json(["store", "The port of egret is 8080"]);
    let found = home.run(["search", "port", "--scope", "all"]);
    says(&found, 0, &["[id:1]", "[msg]"]);
    says(&home.run(["search", "port", "--scope", "everything"]), 2, &["sources, all"]);
}

#[test]
fn a_misspelt_group_was_created_without_a_word() {
    let home = Sealed::new();
    home.json(["store", "The port of egret is 8080"]);
    let stored = home.run(["--group", "wrok", "store", "The port of heron is 7070"]);
    says(&stored, 0, &["Stored as [id:1]"]);
    assert!(stored.stderr.contains("created the group `wrok`"), "{}", stored.stderr);
    let again = home.run(["--group", "wrok", "store", "The port of stork is 9090"]);
    assert!(!again.stderr.contains("created"), "{}", again.stderr);
}

#[test]
fn a_home_that_is_not_there_was_called_empty() {
    let home = Sealed::new();
    let nowhere = home.beside("typo");
    let found = home.run(["--home", &nowhere, "search", "note"]);
    assert!(
        found.stderr.contains("there is no memory at ") && found.stderr.contains("typo"),
        "{}",
        found.stderr
    );
}

#[test]
fn a_list_ended_after_twenty_without_a_word() {
    let home = Sealed::new();
    (0..21).for_each(|number| {
        drop(home.json(["store", &format!("The code of shed {number} is {number}{number}7")]))
    });
    assert!(home.run(["ls"]).stderr.contains("`nacre ls -n 100` shows more"));
    assert!(!home.run(["ls", "-n", "21"]).stderr.contains("shows more"));
    says(&home.run(["ls", "-n", "abc"]), 2, &["a whole number is expected"]);
}

#[test]
fn several_files_could_not_be_imported_at_once() {
    let home = Sealed::new();
    let [one, two] = ["one.md", "two.md"].map(|name| home.beside(name));
    fs::write(&one, "# Shed\n\nThe code of the shed is 4711.\n").unwrap();
    fs::write(&two, "# Boat\n\nThe boat lies at berth 12.\n").unwrap();
    says(&home.run(["import", &one, &home.beside("three.md")]), 3, &["three.md"]);
    says(&home.run(["import", &one, &two]), 0, &[]);
    says(&home.run(["search", "code of the shed"]), 0, &["4711"]);
    says(&home.run(["search", "berth of the boat"]), 0, &["12"]);
}

#[test]
fn a_private_memory_did_not_say_so() {
    let home = Sealed::new();
    home.json(["store", "The code of the safe is in the red book", "--private"]);
    says(&home.run(["show", "1"]), 0, &["private  yes"]);
}

#[test]
fn a_text_that_is_too_long_got_no_advice() {
    let home = Sealed::new();
    says(
        &home.run_with(["store"], "long ".repeat(3000).as_bytes()),
        2,
        &["at most 2000", "nacre import FILE.md"],
    );
}

#[test]
fn the_only_change_that_waits_had_to_be_named() {
    let home = Sealed::new();
    let propose = |name: &str| {
        let text = format!("The shed of {name} is blue.\n");
        let file = home.beside(name);
        fs::write(&file, text).unwrap();
        home.json(["file", "propose", "MEMORY.md", "--from", &file]);
    };
    says(&home.run_at_terminal(["approve"]), 2, &["nothing waits"]);
    propose("anna");
    says(&home.run_at_terminal(["deny"]), 0, &["denied 1"]);
    propose("bert");
    propose("carl");
    says(&home.run_at_terminal(["approve"]), 2, &["2 changes wait", "--all"]);
    says(&home.run_at_terminal(["deny", "--all"]), 0, &["denied 2", "denied 3"]);
}

#[test]
fn the_help_was_wider_than_a_narrow_terminal() {
    let home = Sealed::new();
    for args in [&["--help"][..], &["help", "all"]] {
        let shown = home.command(args).env("COLUMNS", "60").output().unwrap().stdout;
        let shown = String::from_utf8(shown).unwrap();
        let wide = shown.lines().find(|line| line.chars().count() > 60);
        assert!(shown.lines().count() > 20 && wide.is_none(), "{args:?}: {wide:?}");
    }
}

#[test]
fn an_unknown_option_of_delete_was_advised_to_be_a_value() {
    let home = Sealed::new();
    let said = home.run(["delete", "--all"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("--all") && !said.stderr.contains("as a value"), "{}", said.stderr);
}

#[test]
fn a_write_waited_half_a_minute_without_a_word() {
    let home = with_memories();
    let other = rusqlite::Connection::open(home.database("main")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let store =
        home.command(["store", "The gate is green"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut store = store.unwrap();
    // It says so before it gives up; only then the other process ends.
    let mut line = String::new();
    BufReader::new(store.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("waiting for another process"), "{line}");
    drop(other);
    let output = store.wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && shown.contains("Stored as [id:3]"), "{shown}");
}
