//! The staleness watch: memories that name something of their project which the repository no longer has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nacre::stale::{self, StaleReport};
use nacre::turn;
use nacre::{Actor, Caller, EntryRef, Visibility};
use serde_json::json;

use crate::sealed::Place;

/// A repository in which the caller works.
struct Work {
    place: Place,
    folder: PathBuf,
}

impl Work {
    fn new(files: &[(&str, &str)]) -> Work {
        let mut work = Work::plain(files);
        work.git(&["init", "--quiet", "--initial-branch=main"]);
        work.commit();
        work.place.caller.project_folder = Some(work.folder.clone());
        work
    }

    /// A folder without Git.
    fn plain(files: &[(&str, &str)]) -> Work {
        let mut place = Place::new();
        let folder = place.folder.path().join("work/heron");
        fs::create_dir_all(&folder).unwrap();
        place.caller.project_folder = Some(folder.clone());
        let work = Work { place, folder };
        files.iter().for_each(|(path, text)| work.write(path, text));
        work
    }

    #[allow(clippy::disallowed_methods, reason = "it plays the person with an editor")]
    fn write(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        git(&self.folder, arguments);
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=x"]);
    }

    fn check(&mut self) -> StaleReport {
        self.place.later(1);
        stale::check(&mut self.place.view()).unwrap()
    }

    /// The marks of a memory.
    fn marks(&mut self, number: i64) -> Vec<String> {
        let found = self.place.call("memory_get", json!({ "id": number })).data;
        let marks = found["stale"].as_array().cloned().unwrap_or_default();
        marks.iter().map(|mark| mark.as_str().unwrap().to_owned()).collect()
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    let own = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false"];
    let mut command = Command::new("git");
    command.current_dir(folder).args(own).args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let done = command.output().expect("Git is installed");
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_memory_about_a_file_that_was_renamed_was_told_as_if_it_held() {
    let mut work = Work::new(&[("src/import.rs", "x"), ("src/lib.rs", "x")]);
    let gone = work.place.store("The importer is in `src/import.rs:12`.");
    let stays = work.place.store("The library starts in src/lib.rs");
    assert_eq!(work.check().stale, 0);
    work.git(&["mv", "src/import.rs", "src/intake.rs"]);
    let report = work.check();
    assert_eq!((report.checked, report.stale, report.marked), (2, 1, 1));
    assert_eq!(work.marks(gone), ["src/import.rs is gone"]);
    assert_eq!(work.marks(stays), Vec::<String>::new());
    // A second check changes nothing.
    let report = work.check();
    assert_eq!((report.stale, report.marked, report.cleared), (1, 0, 0));
    // When it is back, the mark goes.
    work.git(&["mv", "src/intake.rs", "src/import.rs"]);
    assert_eq!(work.check().cleared, 1);
    assert_eq!(work.marks(gone), Vec::<String>::new());
    work.place.check();
}

#[test]
fn every_answer_says_that_a_memory_is_stale() {
    let mut work = Work::new(&[("src/import.rs", "x"), ("README.md", "x")]);
    let id = work.place.store("The importer of heron is in src/import.rs");
    work.git(&["rm", "--quiet", "src/import.rs"]);
    work.check();
    let mark = "stale: src/import.rs is gone";
    let found = work.place.call("memory_search", json!({ "query": "importer heron" }));
    assert!(found.text.contains(mark), "{}", found.text);
    assert_eq!(found.data["hits"][0]["stale"], json!(["src/import.rs is gone"]), "{}", found.data);
    let shown = work.place.call("memory_get", json!({ "id": id }));
    assert!(shown.text.contains(mark), "{}", shown.text);
    let brief = work.place.call("memory_brief", json!({}));
    assert!(brief.data["markdown"].as_str().unwrap().contains(mark), "{}", brief.data);
    assert_eq!(brief.data["entries"][0]["stale"][0], "src/import.rs is gone");
    let request = turn::Request::new("Where is the importer of heron?");
    let turn = turn::run(&mut work.place.view(), &request).unwrap();
    assert!(turn.markdown.contains(mark), "{}", turn.markdown);
    // Injected text is recognised when it comes back.
    assert_eq!(nacre::strip_injected(&turn.markdown).trim(), "");
}

#[test]
fn a_memory_is_watched_from_the_moment_it_is_stored() {
    let mut work = Work::new(&[("src/import.rs", "x"), ("src/lib.rs", "x")]);
    let id = work.place.store("The importer is in src/import.rs");
    // No check ran in between.
    work.git(&["mv", "src/import.rs", "src/intake.rs"]);
    work.check();
    assert_eq!(work.marks(id), ["src/import.rs is gone"]);
}

#[test]
fn what_was_never_there_is_not_marked() {
    let mut work = Work::new(&[("src/lib.rs", "x"), ("and/or/readme.txt", "x")]);
    for text in [
        "We plan to add src/server.rs with --listen and a branch feature/server",
        "ripgrep keeps its flags in crates/core/flags/defs.rs",
        "The build writes target/debug/heron",
        "Either/or: 3/4 of the users read README.rst, e.g. Ana; see https://example.org/src/lib.rs",
        "tokio 1.40 was slower",
    ] {
        work.place.store(text);
    }
    work.write("target/debug/heron", "a build");
    work.write(".gitignore", "target/\n");
    work.commit();
    assert_eq!(work.check().marked, 0);
    fs::remove_dir_all(work.folder.join("target")).unwrap();
    work.git(&["mv", "src/lib.rs", "src/main.rs"]);
    assert_eq!(work.check().marked, 0);
}

#[test]
fn each_kind_of_thing_is_watched() {
    let args = "#[derive(clap::Parser)]\nstruct Args {\n    #[arg(long)]\n    dry_run: bool,\n}\n\
        #[derive(clap::Subcommand)]\nenum Verb {\n    Serve,\n    Check,\n}\n";
    let cargo = "[package]\nname = \"heron\"\nversion = \"0.4.0\"\n[dependencies]\nserde = \"1.0\"\nrusqlite = \"0.37\"\n";
    let mut work = Work::new(&[
        ("src/args.rs", args),
        ("Cargo.toml", cargo),
        ("justfile", "check:\n    cargo test\nship:\n    true\n"),
        ("package.json", r#"{ "scripts": { "build": "x", "watch": "y" } }"#),
        ("docs/guide.md", "Use --dry-run."),
    ]);
    work.git(&["branch", "feature/sync"]);
    let texts = [
        ("`--dry-run` shows what would happen", Some("--dry-run is gone")),
        ("`heron serve` starts the server", Some("heron serve is gone")),
        ("Run `heron check` before a commit", None),
        ("We stay on rusqlite 0.37 for now", Some("rusqlite 0.37 is now 0.38")),
        ("serde 1.0 is used everywhere", None),
        ("`just ship` publishes", Some("just ship is gone")),
        ("Always run `just check`", None),
        ("pnpm run watch rebuilds the page", Some("pnpm watch is gone")),
        ("npm run build makes the page", None),
        ("The work is on the branch feature/sync", Some("feature/sync is gone")),
        ("Releases come from the main branch", None),
    ];
    let ids: Vec<i64> = texts.iter().map(|(text, _)| work.place.store(text)).collect();
    assert_eq!(work.check().marked, 0);
    work.write("src/args.rs", &args.replace("dry_run", "preview").replace("Serve", "Listen"));
    work.write("Cargo.toml", &cargo.replace("0.37", "0.38"));
    work.write("justfile", "check:\n    cargo test\nrelease:\n    true\n");
    work.write("package.json", r#"{ "scripts": { "build": "x", "dev": "y" } }"#);
    work.git(&["branch", "--quiet", "--delete", "--force", "feature/sync"]);
    work.check();
    for ((text, expected), id) in texts.iter().zip(ids) {
        let marks = work.marks(id);
        assert_eq!(marks, expected.iter().map(|mark| (*mark).to_owned()).collect::<Vec<_>>(), "{text}");
    }
}

#[test]
fn a_repository_that_proves_nothing_changes_no_mark() {
    let mut work = Work::new(&[("src/import.rs", "x"), ("src/lib.rs", "x"), ("src/old.rs", "x")]);
    let id = work.place.store("The importer is in src/import.rs");
    let old = work.place.store("The old one is in src/old.rs");
    work.git(&["rm", "--quiet", "src/old.rs"]);
    work.check();
    assert_eq!(work.marks(old).len(), 1);
    // A rebase, an index that can't be read, a folder that is not mounted.
    work.git(&["rm", "--quiet", "src/import.rs"]);
    work.write(".git/rebase-merge/x", "");
    assert_eq!(work.check().skipped.len(), 1);
    fs::remove_dir_all(work.folder.join(".git/rebase-merge")).unwrap();
    let index = fs::read(work.folder.join(".git/index")).unwrap();
    work.write(".git/index", "DIRC broken");
    work.check();
    assert_eq!((work.marks(id).len(), work.marks(old).len()), (0, 1));
    let away = work.folder.with_file_name("away");
    fs::rename(&work.folder, &away).unwrap();
    assert_eq!(work.check().skipped.len(), 1);
    assert_eq!((work.marks(id).len(), work.marks(old).len()), (0, 1));
    fs::rename(&away, &work.folder).unwrap();
    #[allow(clippy::disallowed_methods, reason = "a test puts the index back")]
    fs::write(work.folder.join(".git/index"), index).unwrap();
    work.check();
    assert_eq!((work.marks(id).len(), work.marks(old).len()), (1, 1));
}

#[test]
fn a_file_of_another_worktree_is_not_gone() {
    let mut work = Work::new(&[("src/import.rs", "x"), ("src/lib.rs", "x")]);
    let id = work.place.store("The importer is in src/import.rs");
    work.git(&["worktree", "add", "--quiet", "../heron-fix"]);
    work.git(&["rm", "--quiet", "src/import.rs"]);
    work.check();
    assert_eq!(work.marks(id), Vec::<String>::new());
    work.git(&["worktree", "remove", "--force", "../heron-fix"]);
    work.check();
    assert_eq!(work.marks(id).len(), 1);
}

#[test]
fn a_folder_without_git_is_watched_too() {
    let mut work = Work::plain(&[("notes/plan.md", "x"), ("notes/done.md", "x")]);
    let id = work.place.store("The plan is in notes/plan.md");
    work.check();
    fs::rename(work.folder.join("notes/plan.md"), work.folder.join("plan.md")).unwrap();
    work.check();
    assert_eq!(work.marks(id), ["notes/plan.md is now plan.md"]);
}

#[test]
fn a_corrected_memory_loses_its_mark_at_once() {
    let mut work = Work::new(&[("src/import.rs", "x"), ("src/lib.rs", "x")]);
    let id = work.place.store("The importer is in src/import.rs");
    work.git(&["mv", "src/import.rs", "src/intake.rs"]);
    work.check();
    work.place.call("memory_update", json!({ "id": id, "content": "The importer is in src/intake.rs" }));
    assert_eq!(work.marks(id), Vec::<String>::new());
    // The corrected text is watched from now on.
    work.git(&["rm", "--quiet", "--force", "src/intake.rs"]);
    work.check();
    assert_eq!(work.marks(id), ["src/intake.rs is gone"]);
}

#[test]
fn a_person_lists_stale_memories_and_keeps_one_that_is_right() {
    let mut work = Work::new(&[("src/import.rs", "x"), ("src/lib.rs", "x")]);
    let id = work.place.store("src/import.rs was the first file of heron");
    work.git(&["rm", "--quiet", "src/import.rs"]);
    work.check();
    let listed = stale::list(&work.place.view()).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (listed[0].things[0].kind.as_str(), listed[0].things[0].name.as_str()),
        ("path", "src/import.rs")
    );
    stale::keep(&mut work.place.view(), &EntryRef::Number(id)).unwrap();
    assert_eq!(work.marks(id), Vec::<String>::new());
    assert_eq!(work.check().stale, 0);
    assert!(stale::list(&work.place.view()).unwrap().is_empty());
    let refused = stale::keep(&mut work.place.view(), &EntryRef::Number(id)).unwrap_err();
    assert_eq!(refused.code(), "not_stale");
}

#[test]
fn the_watch_keeps_no_word_of_a_deleted_memory_and_shows_none_of_a_private_one() {
    let mut work = Work::new(&[("src/secret_plan.rs", "x"), ("src/lib.rs", "x")]);
    let id =
        work.place.call("memory_store", json!({ "content": "It is in src/secret_plan.rs", "private": true }));
    let id = id.data["number"].as_i64().unwrap();
    work.git(&["rm", "--quiet", "src/secret_plan.rs"]);
    work.check();
    assert_eq!(work.marks(id).len(), 1);
    let shared = Caller { visibility: Visibility::Shared, ..work.place.caller.clone() };
    assert!(stale::list(&work.place.view_of(&shared)).unwrap().is_empty());
    let person = Caller { actor: Actor::Person, ..work.place.caller.clone() };
    nacre::call(&mut work.place.view_of(&person), "memory_delete", json!({ "id": id })).unwrap();
    assert_eq!(work.place.rows("SELECT count(*) FROM mentions"), ["0"]);
}

#[test]
fn maintenance_runs_the_check() {
    let mut work = Work::new(&[("src/import.rs", "x"), ("src/lib.rs", "x")]);
    let id = work.place.store("The importer is in src/import.rs");
    work.git(&["rm", "--quiet", "src/import.rs"]);
    let which = nacre::maintain::JobSelection::Only("stale".into());
    let done = nacre::maintain::run(&mut work.place.view(), &which).unwrap();
    assert!(done[0].report.says.contains("1 name something that is gone"), "{}", done[0].report.says);
    assert_eq!(work.marks(id).len(), 1);
}
