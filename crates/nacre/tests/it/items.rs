//! Items (SPEC K1): what is taken out of a project's files, followed as they change, found again.

use std::fs;
use std::path::Path;

use nacre::project::Extracted;
use nacre::{Caller, Error, ProjectName};
use serde_json::{Value, json};

use crate::sealed::{Place, noon};

/// Writes a file, with the folders above it, and a time long ago, so that it can be relied on.
#[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
}

fn try_extract(place: &mut Place, folder: &Path, name: Option<&str>) -> Result<Extracted, Error> {
    let caller = Caller::person("a-person".parse().unwrap(), place.caller.now);
    let name: Option<ProjectName> = name.map(|name| name.parse().unwrap());
    place.group.extract(&caller, folder, name.as_ref(), &mut |_| {})
}

#[track_caller]
fn extract(place: &mut Place, folder: &Path) -> Extracted {
    try_extract(place, folder, Some("p")).unwrap()
}

fn place() -> Place {
    let offer = r#"tools.offer=["memory_store","memory_search","item_list","task_list","task_add","task_update"]"#;
    Place::with("balanced", &[offer])
}

/// The items as `type path:line content`.
fn items(place: &mut Place, arguments: Value) -> Vec<String> {
    let data = place.call("item_list", arguments).data;
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let line = |item: &Value| {
        let (r#type, file, content) = (word(&item["type"]), word(&item["sourceFile"]), word(&item["content"]));
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
    for (half, least_precision, least_recall) in [("tuned", 1.0, 1.0), ("aside", 0.9, 0.85)] {
        let (right, wrong, missed, failures) = measure(half);
        let share = |part: usize, rest: usize| part as f64 / (part + rest) as f64;
        let (precision, recall) = (share(right, wrong), share(right, missed));
        eprintln!("{half}: precision {precision:.3}, recall {recall:.3} ({right} right, {wrong} wrong, {missed} missed)");
        let shown = if half == "tuned" { failures.join("\n") } else { String::new() };
        assert!(precision >= least_precision && recall >= least_recall, "{half}: {precision} {recall}\n{shown}");
    }
}
