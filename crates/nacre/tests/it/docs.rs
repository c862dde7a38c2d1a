//! The documents say what is so; contracts are files.

use std::path::{Path, PathBuf};

use nacre::{Settings, TOOLS};
use serde_json::json;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_paths_that_architecture_names_exist() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let paths: Vec<&str> =
        text.split('`').skip(1).step_by(2).filter(|word| word.starts_with("crates/")).collect();
    assert!(paths.len() > 15, "the map is there");
    for path in paths {
        assert!(root().join(path).exists(), "{path}");
    }
    assert!(text.lines().count() < 100, "two pages at most");
}

#[test]
fn the_readme_names_every_tool_that_is_offered() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    for name in &Settings::default().tools.offer {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn the_page_of_the_workspace_has_every_template_part_and_resource() {
    let text = std::fs::read_to_string(root().join("docs/workspace.md")).unwrap();
    for template in nacre::TEMPLATES {
        let row = format!("| `{}` | {} |\n", template.path, template.purpose);
        assert!(text.contains(&row), "{row}");
    }
    let boot = Settings::default().boot;
    for file in boot.main.iter().filter(|part| part.ends_with(".md")) {
        assert!(text.contains(&format!("`{file}`")), "{file}");
    }
    for resource in nacre::call::RESOURCES {
        assert!(text.contains(resource.name), "{}", resource.name);
    }
}

/// Programs rely on the tools: a change to them is a change to this file, made on purpose
/// (`NACRE_UPDATE=1 cargo test` writes it).
#[test]
#[expect(clippy::disallowed_methods, reason = "a test that writes its own expectation when told")]
fn the_tools_are_those_of_the_contract() {
    let settings = Settings::default();
    let tools: Vec<_> = TOOLS
        .iter()
        .map(|tool| json!({ "name": tool.name, "input": tool.input_schema(&settings), "output": tool.output_schema() }))
        .collect();
    let now = serde_json::to_string_pretty(&tools).unwrap() + "\n";
    let file = root().join("docs/tools.json");
    if std::env::var_os("NACRE_UPDATE").is_some() {
        std::fs::write(&file, &now).unwrap();
    }
    let then = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        now == then,
        "the tools changed: run with NACRE_UPDATE=1 and look at the difference in docs/tools.json"
    );
}
