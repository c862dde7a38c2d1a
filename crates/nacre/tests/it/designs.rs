//! The default profile between the designs, and the page of their requirements. Each design has a file of its own
//! (`design_koshi.rs` and so on).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::json;

use crate::sealed::Place;

/// The default: both of them, for what exists, without their sharp edges.
#[test]
fn the_default_honours_the_designs_without_their_sharp_edges() {
    let mut place = Place::new();
    place.store("no type needed");
    place.call("memory_reinforce", json!({ "id": 1 }));
    place.call("memory_store", json!({ "content": "typed all the same", "type": "instruction" }));
    assert!(place.call("memory_brief", json!({})).text.contains("Preferences and instructions;"));
    let limits = &place.group.settings().limits;
    assert_eq!((limits.store, limits.supersede, limits.delete, limits.untrusted.store), (100, 20, 10, 20));
    place.call("memory_delete", json!({ "id": 1 }));
    place.check();
}

/// The page of the designs: which requirement works, and what shows it. A row is machine-readable:
/// `| requirement | works or differs | module::test, … | reason |`.
#[test]
fn the_page_of_the_designs_names_tests_that_exist() {
    const LEAST_SHARE: f64 = 0.95;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/designs.md")).unwrap();
    let tests = tests_in(&root);
    assert!(tests.len() > 600, "{}", tests.len());
    let mut designs: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut design = "";
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            design = heading;
        }
        let Some(row) = line.strip_prefix('|').and_then(|row| row.strip_suffix('|')) else { continue };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if cells[0] == "requirement" || cells[0].starts_with("---") {
            continue;
        }
        let [requirement, status, shown, reason] = cells[..] else { panic!("four cells are needed: {line}") };
        assert!(seen.insert((design, requirement)), "{design}: `{requirement}` is there twice");
        let (works, all) = designs.entry(design).or_default();
        *all += 1;
        match status {
            "works" => *works += 1,
            "differs" => assert!(reason.len() > 10, "{design}: `{requirement}` differs without a reason"),
            other => panic!("{design}: `{requirement}` is `{other}`, neither works nor differs"),
        }
        let named: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty() || status == "differs", "{design}: nothing shows `{requirement}`");
        for name in named.iter().filter(|name| !name.starts_with("cargo ")) {
            assert!(tests.contains(*name), "{design}: `{requirement}` names {name}, which is no test");
        }
    }
    let names: Vec<&str> = designs.keys().copied().collect();
    assert_eq!(names, ["Brain", "Carapace: entries", "Carapace: workspace", "Koshi", "NanoClaw"]);
    for (design, (works, all)) in designs {
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let share = works as f64 / all as f64;
        assert!(share >= LEAST_SHARE, "{design}: {works} of {all} work");
    }
}

/// Every test of the workspace, as `module::name`.
fn tests_in(root: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders =
        vec![root.join("crates/nacre"), root.join("crates/nacre-app"), root.join("crates/nacre-cli")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let stem = path.file_stem().unwrap().to_str().unwrap();
            let module = match stem {
                "mod" | "tests" => path.parent().unwrap().file_name().unwrap().to_str().unwrap(),
                stem => stem,
            };
            if path.extension().is_none_or(|kind| kind != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let mut is_test = false;
            for line in text.lines().map(str::trim) {
                if line == "#[test]" {
                    is_test = true;
                } else if let Some(rest) = line.strip_prefix("fn ").filter(|_| is_test) {
                    let name = rest.split('(').next().unwrap_or_default();
                    found.insert(format!("{module}::{name}"));
                    is_test = false;
                }
            }
        }
    }
    found
}
