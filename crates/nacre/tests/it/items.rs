//! Items: what is taken out of a project's files, followed as they change, found again.

use std::fs;
use std::path::Path;

use nacre::project::ExtractReport;
use nacre::{Caller, Error, ProjectName};
use serde_json::{Value, json};

use crate::sealed::Place;

/// Writes a file, with the folders above it, and a time long ago, so that it can be relied on.
#[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
}

fn try_extract(place: &mut Place, folder: &Path, name: Option<&str>) -> Result<ExtractReport, Error> {
    let caller = Caller::person("a-person".parse().unwrap(), place.caller.now);
    let name: Option<ProjectName> = name.map(|name| name.parse().unwrap());
    nacre::project::extract(&mut place.view_of(&caller), folder, name.as_ref(), &mut |_| {})
}

#[track_caller]
fn extract(place: &mut Place, folder: &Path) -> ExtractReport {
    try_extract(place, folder, Some("p")).unwrap()
}

fn place() -> Place {
    let offer =
        r#"tools.offer=["memory_store","memory_search","item_list","task_list","task_add","task_update"]"#;
    Place::with("balanced", &[offer])
}

/// The items as `type path:line content`.
fn items(place: &mut Place, arguments: Value) -> Vec<String> {
    let data = place.call("item_list", arguments).data;
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let line = |item: &Value| {
        let (r#type, file, content) =
            (word(&item["type"]), word(&item["sourceFile"]), word(&item["content"]));
        format!("{} {file}:{} {content}", r#type, item["lineNumber"])
    };
    data["items"].as_array().unwrap().iter().map(line).collect()
}

/// How well one half of the set is read: right, wrong, missed, and what went wrong.
fn measure(half: &str) -> (usize, usize, usize, Vec<String>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/extract-{half}.tsv"));
    let text = fs::read_to_string(file).unwrap();
    let (mut right, mut wrong, mut missed, mut failures) = (0, 0, 0, Vec::new());
    for case in text.lines().filter(|line| !line.starts_with('#')) {
        let [expected, path, text] = case.splitn(3, '\t').collect::<Vec<_>>().try_into().unwrap();
        let text = text.replace("\\\\", "\0").replace("\\n", "\n").replace("\\t", "\t").replace('\0', "\\");
        let (mut place, folder) = (place(), tempfile::tempdir().unwrap());
        write(folder.path(), path, text);
        extract(&mut place, folder.path());
        let found = items(&mut place, json!({}));
        let fits = |item: &&String| item.starts_with(&format!("{expected} "));
        let hits = found.iter().filter(fits).count().min(1);
        right += hits;
        wrong += found.len() - hits;
        missed += usize::from(expected != "-" && hits == 0);
        if hits != usize::from(expected != "-") || found.len() > hits {
            failures.push(format!("{case}\n    {found:?}"));
        }
    }
    (right, wrong, missed, failures)
}

#[test]
fn what_is_said_is_taken_out_and_nothing_else() {
    // Floors that only rise. What went wrong in the half aside is not shown, so that it stays aside.
    for (half, least_precision, least_recall) in [("tuned", 1.0, 1.0), ("aside", 0.95, 0.95)] {
        let (right, wrong, missed, failures) = measure(half);
        let share = |part: usize, rest: usize| part as f64 / (part + rest) as f64;
        let (precision, recall) = (share(right, wrong), share(right, missed));
        eprintln!(
            "{half}: precision {precision:.3}, recall {recall:.3} ({right} right, {wrong} wrong, {missed} missed)"
        );
        let shown = if half == "tuned" { failures.join("\n") } else { String::new() };
        assert!(
            precision >= least_precision && recall >= least_recall,
            "{half}: {precision} {recall}\n{shown}"
        );
    }
}

/// A small project, as people have them.
fn project(root: &Path) {
    write(
        root,
        "README.md",
        "# Heron\n\nHeron is a renderer of invoices for the shop.\n\nNote: it needs fonts.\n",
    );
    write(
        root,
        "docs/plan.md",
        "# Plan\n\n## Decisions\n\n- We use one worker per queue.\n\n- [ ] write the importer\n",
    );
    write(root, "src/main.rs", "fn main() {}\n// TODO: read the settings first\n// and say where they are\n");
}

#[test]
fn items_cite_their_lines_and_are_found() {
    let (mut place, folder) = (place(), tempfile::tempdir().unwrap());
    project(folder.path());
    let done = extract(&mut place, folder.path());
    assert_eq!((done.added, done.removed, done.read), (5, 0, 3));
    let all = [
        "entity README.md:3 Heron is a renderer of invoices for the shop.",
        "note README.md:5 it needs fonts.",
        "decision docs/plan.md:5 We use one worker per queue.",
        "task docs/plan.md:7 write the importer",
        "task src/main.rs:2 read the settings first and say where they are",
    ];
    assert_eq!(items(&mut place, json!({})), all);
    assert_eq!(items(&mut place, json!({ "type": "task", "project": "p" })), all[3..]);
    assert_eq!(items(&mut place, json!({ "query": "importer" }))[0], all[3]);
    assert_eq!(
        items(&mut place, json!({ "query": "worker importer settings", "type": "decision" })),
        [all[2]]
    );
    assert_eq!(place.refused("item_list", json!({ "project": "other" })), "no_project");
    // They are in the scope of items, and in no other.
    let hits = |place: &mut Place, scope: Value| {
        place.call("memory_search", json!({ "query": "who needs an importer?", "scope": scope })).data["hits"]
            .clone()
    };
    let hit = &hits(&mut place, json!(["items"]))[0];
    assert_eq!(
        (&hit["kind"], &hit["item"], &hit["project"]),
        (&json!("item"), &json!("task"), &json!("p")),
        "{hit}"
    );
    assert_eq!((&hit["path"], &hit["lines"]), (&json!("docs/plan.md"), &json!([7, 7])));
    assert_eq!(hits(&mut place, json!(["entries", "memory", "graph", "sessions"])), json!([]));
    let said = place.call("memory_search", json!({ "query": "importer", "scope": ["items"] })).text;
    assert!(said.contains("[p: docs/plan.md:7] [task] write the importer"), "{said}");
    place.check();
    // An index that is made anew answers the same.
    let before = hits(&mut place, json!(["items"]));
    let caller = place.caller.clone();
    nacre::reindex(&mut place.view_of(&caller)).unwrap();
    assert_eq!(hits(&mut place, json!(["items"])), before);
    place.check();
}

#[test]
fn reading_again_replaces_and_keeps_ids() {
    let (mut place, folder) = (place(), tempfile::tempdir().unwrap());
    let root = folder.path();
    project(root);
    extract(&mut place, root);
    let ids = |place: &mut Place| -> Vec<(String, String)> {
        let data = place.call("item_list", json!({})).data;
        let pair =
            |item: &Value| (item["content"].as_str().unwrap().into(), item["id"].as_str().unwrap().into());
        data["items"].as_array().unwrap().iter().map(pair).collect()
    };
    let before = ids(&mut place);
    // Files that were just written are read again, and say the same; a moment later they are not read.
    place.later(1);
    let done = extract(&mut place, root);
    assert_eq!((done.read, done.unchanged, done.added, done.removed), (0, 3, 0, 0));
    let audited = nacre::status(&place.view()).unwrap().audit_rows;
    let done = extract(&mut place, root);
    assert_eq!((done.read, done.unchanged), (0, 3));
    assert_eq!(nacre::status(&place.view()).unwrap().audit_rows, audited + 1);
    // Lines move, one thing goes, one comes.
    write(
        root,
        "docs/plan.md",
        "# Plan\n\nText.\n\n## Decisions\n\n- We use one worker per queue.\n- No retries.\n",
    );
    let done = extract(&mut place, root);
    assert_eq!((done.read, done.added, done.removed), (1, 1, 1));
    let after = ids(&mut place);
    assert_eq!(after[2], before[2], "what is still said keeps its id");
    assert!(items(&mut place, json!({}))[2].starts_with("decision docs/plan.md:7 "));
    // A file that is gone takes its items along.
    fs::remove_file(root.join("src/main.rs")).unwrap();
    let done = extract(&mut place, root);
    assert_eq!((done.gone, done.removed), (1, 1));
    assert_eq!(
        place.call("memory_search", json!({ "query": "settings", "scope": ["items"] })).data["hits"],
        json!([])
    );
    // The same said twice is two.
    write(root, "twice.md", "Note: it is slow today.\n\nNote: it is slow today.\n");
    assert_eq!(extract(&mut place, root).added, 2);
    place.check();
    // Forgotten, it is as if it had never been.
    let caller = Caller::person("a-person".parse().unwrap(), place.caller.now);
    nacre::project::forget(&mut place.view_of(&caller), &"p".parse().unwrap()).unwrap();
    assert_eq!(ids(&mut place), []);
    place.check();
    assert_eq!(extract(&mut place, root).added, 6);
    assert_eq!(ids(&mut place)[2], before[2], "an id is made from what it is");
}

#[test]
fn what_should_not_be_read_is_not() {
    let (mut place, folder, outside) = (place(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = folder.path();
    let note = "Note: this must not be read.\n";
    write(outside.path(), "secret.md", note);
    write(root, ".gitignore", "build/\n*.gen.md\n!keep.gen.md\n");
    write(root, "sub/.gitignore", "/local.md\n");
    for path in [
        "build/a.md",
        "x.gen.md",
        "sub/local.md",
        ".hidden/a.md",
        ".a.md",
        "node_modules/p/readme.md",
        "a.bin",
    ] {
        write(root, path, note);
    }
    write(root, "junk.md", [b"Note: it begins well".as_slice(), &[0, 1, 2, 255]].concat());
    write(root, "huge.md", note.repeat(100_000));
    write(root, "latin.md", b"Note: caf\xe9 is open.\n".as_slice());
    write(root, "odd\nname.md", "Note: a name with a line break.\n");
    write(root, "keep.gen.md", "Note: this one is kept.\n");
    write(
        root,
        "key.rs",
        "// TODO: rotate sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOp\n",
    );
    write(root, "PULL_REQUEST_TEMPLATE.md", "- [ ] fill this in please\n");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outside.path(), root.join("linked")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.md"), root.join("linked.md")).unwrap();
    }
    let done = extract(&mut place, root);
    let found = items(&mut place, json!({}));
    let expected = ["keep.gen.md", "key.rs", "latin.md", "odd"];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (item, path) in found.iter().zip(expected) {
        assert!(item.contains(path), "{item}");
    }
    assert!(!found[1].contains("AbCdEf"), "{}", found[1]);
    let skipped: Vec<&str> = done.skipped.iter().map(|note| note.path.as_str()).collect();
    assert_eq!(skipped, ["huge.md", "junk.md"]);
    assert_eq!(done.others["bin"], 1);
    // An unreadable file is not tried again.
    place.later(1);
    let again = extract(&mut place, root);
    assert_eq!((again.read, again.skipped.len()), (0, 2));
    place.check();
}

#[test]
fn shared_sessions_do_not_see_what_is_private() {
    let (mut place, folder) = (place(), tempfile::tempdir().unwrap());
    write(folder.path(), "MEMORY.md", "Note: the safe is behind the clock.\n");
    write(folder.path(), "diary.md", "---\nprivate: true\n---\n\nNote: the clock is slow.\n");
    write(folder.path(), "open.md", "Note: the clock strikes at noon.\n");
    extract(&mut place, folder.path());
    place.caller.visibility = nacre::Visibility::Private;
    assert_eq!(items(&mut place, json!({})).len(), 3);
    place.caller.visibility = nacre::Visibility::Shared;
    let public = ["note open.md:1 the clock strikes at noon."];
    assert_eq!(items(&mut place, json!({})), public);
    assert_eq!(items(&mut place, json!({ "query": "clock" })), public);
    let hits =
        place.call("memory_search", json!({ "query": "clock", "scope": ["items"] })).data["hits"].clone();
    assert_eq!(hits.as_array().unwrap().len(), 1);
    // The header of a file may change without anything else.
    write(folder.path(), "diary.md", "---\nprivate: false\n---\n\nNote: the clock is slow.\n");
    extract(&mut place, folder.path());
    assert_eq!(items(&mut place, json!({})).len(), 2);
    place.check();
}

#[test]
fn a_folder_that_is_away_loses_nothing() {
    let (mut place, folder) = (place(), tempfile::tempdir().unwrap());
    let root = folder.path().join("heron");
    project(&root);
    extract(&mut place, &root);
    // Gone before it is looked at.
    fs::rename(&root, folder.path().join("aside")).unwrap();
    assert_eq!(try_extract(&mut place, &root, Some("p")).unwrap_err().code(), "bad_source");
    // A place where a disk was.
    fs::create_dir(&root).unwrap();
    let done = extract(&mut place, &root);
    assert!(done.kept.is_some(), "{done:?}");
    assert_eq!(items(&mut place, json!({})).len(), 5);
    // Gone while it is read: a folder below goes with the first progress of a large one.
    fs::remove_dir(&root).unwrap();
    for number in 0..600 {
        write(&root, &format!("a/{number:03}.md"), format!("Note: number {number} is here.\n"));
        write(&root, &format!("b/{number:03}.md"), format!("Note: number {number} is there.\n"));
    }
    let caller = Caller::person("a-person".parse().unwrap(), place.caller.now);
    let name = "p".parse().unwrap();
    let done = nacre::project::extract(&mut place.view_of(&caller), &root, Some(&name), &mut |_| {
        drop(fs::remove_dir_all(&root))
    })
    .unwrap();
    assert!(done.kept.is_some(), "{done:?}");
    assert!(items(&mut place, json!({ "limit": 10000 })).len() >= 505, "what was known is kept");
    place.check();
}

#[test]
fn a_project_is_one_folder() {
    let (mut place, folder) = (place(), tempfile::tempdir().unwrap());
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    project(&one);
    project(&other);
    assert_eq!(try_extract(&mut place, &one, None).unwrap().project.as_str(), "one");
    assert_eq!(try_extract(&mut place, &one, Some("x")).unwrap_err().code(), "project_known");
    assert_eq!(try_extract(&mut place, &other, Some("one")).unwrap_err().code(), "project_taken");
    assert_eq!(try_extract(&mut place, &one.join("README.md"), None).unwrap_err().code(), "bad_source");
    // One that was moved is the same project.
    fs::rename(&one, folder.path().join("moved")).unwrap();
    let done = try_extract(&mut place, &folder.path().join("moved"), Some("one")).unwrap();
    assert_eq!((done.added, done.removed), (0, 0));
    // A folder's own name may be none for a project.
    let odd = folder.path().join("a\nb");
    project(&odd);
    assert_eq!(try_extract(&mut place, &odd, None).unwrap_err().code(), "bad_project_name");
    assert_eq!(nacre::project::list(&place.view()).unwrap().len(), 1);
    // An agent has no tool that names a folder.
    let takes_path = |tool: &&nacre::Tool| {
        let schema = tool.input_schema(place.group.settings());
        tool.name.starts_with("item") && schema["properties"].as_object().unwrap().contains_key("folder")
    };
    assert_eq!(nacre::TOOLS.iter().filter(takes_path).count(), 0);
    assert_eq!(Place::new().refused("item_list", json!({})), "not_offered");
}

#[test]
fn an_export_has_items_in_the_form_of_brain() {
    let (mut place, folder) = (place(), tempfile::tempdir().unwrap());
    project(&folder.path().join("p"));
    extract(&mut place, &folder.path().join("p"));
    let out = folder.path().join("export");
    nacre::export::export(&place.view(), &out).unwrap();
    let items: Value = serde_json::from_str(&fs::read_to_string(out.join("items.json")).unwrap()).unwrap();
    let first = items[2].as_object().unwrap();
    let mut keys: Vec<&str> = first.keys().map(String::as_str).collect();
    keys.sort_unstable();
    let expected =
        ["confidence", "content", "extractedAt", "id", "lineNumber", "sourceFile", "title", "type"];
    assert_eq!(keys, expected);
    assert!(first["id"].as_str().unwrap().starts_with("item_"));
    assert_eq!((&first["type"], &first["lineNumber"]), (&json!("decision"), &json!(5)));
}

#[test]
fn many_files_and_junk_go_through() {
    let (mut place, folder) = (place(), tempfile::tempdir().unwrap());
    let files = 3_000;
    for number in 0..files {
        let path = format!("d{}/f{number}", number % 40);
        match number % 3 {
            0 => write(folder.path(), &format!("{path}.rs"), format!("// TODO: look into number {number}\n")),
            1 => write(folder.path(), &format!("{path}.py"), [0, 159, 146, 150].repeat(50)),
            _ => write(folder.path(), &format!("{path}.dat"), vec![255; 300]),
        }
    }
    let mut told = Vec::new();
    let caller = Caller::person("a-person".parse().unwrap(), place.caller.now);
    let done = nacre::project::extract(&mut place.view_of(&caller), folder.path(), None, &mut |looked| {
        assert_eq!(looked.total, Some(2_000), "files in a known language");
        told.push(looked.done)
    });
    // The name of a temporary folder begins with a dot or not; either way it is one.
    let done = done.unwrap();
    assert_eq!((done.items["task"], done.others["dat"], done.skipped.len()), (1_000, 1_000, 1_000));
    assert!(told.len() >= 3 && told.is_sorted(), "{told:?}");
    place.check();
}
