//! The documents say what is so; contracts are files.

#[path = "../schema/words.rs"]
mod words;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use nacre::{Settings, TOOLS, Tool};
use serde_json::{Value, json};
use words::kind;

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

/// Returns a text without its fenced blocks.
fn prose(text: &str) -> String {
    let mut is_fenced = false;
    let kept = text.lines().filter(|line| {
        let is_mark = line.starts_with("```");
        is_fenced ^= is_mark;
        !is_fenced && !is_mark
    });
    kept.map(|line| format!("{line}\n")).collect()
}

/// Returns the anchors of the headings of a page, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let text = prose(text);
    let headings =
        text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let fits = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    let anchor =
        |heading: &str| heading.to_lowercase().chars().filter(fits).collect::<String>().replace(' ', "-");
    headings.map(anchor).collect()
}

#[test]
fn the_links_of_the_documentation_lead_somewhere() {
    let mut pages: Vec<String> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(str::to_owned).to_vec();
    for folder in ["docs", "docs/clients", "docs/decisions", "docs/reference"] {
        let files = std::fs::read_dir(root().join(folder)).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        pages.extend(names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")));
    }
    let mut links = 0;
    for page in pages {
        let file = root().join(&page);
        let text = std::fs::read_to_string(&file).unwrap();
        for rest in prose(&text).split("](").skip(1) {
            let target = rest.split(')').next().unwrap();
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            if path.contains("://") {
                continue;
            }
            links += 1;
            let found = if path.is_empty() { file.clone() } else { file.parent().unwrap().join(path) };
            assert!(found.exists(), "{page}: {target} does not exist");
            if !anchor.is_empty() {
                let text = std::fs::read_to_string(&found).unwrap();
                assert!(anchors(&text).iter().any(|one| one == anchor), "{page}: {target} is no heading");
            }
        }
    }
    assert!(links > 150, "the links are found");
}

#[test]
fn the_readme_is_short_and_has_its_pictures() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    assert!(text.lines().count() <= 150, "three screens at most");
    let memory = ["light", "dark"].map(|theme| format!("docs/images/dashboard/memory-{theme}.png"));
    for (image, max_bytes) in
        [("docs/images/session.svg", 50_000), (&memory[0], 150_000), (&memory[1], 150_000)]
    {
        assert!(text.contains(image), "{image} is in the README");
        let bytes = root().join(image).metadata().unwrap().len();
        assert!(bytes <= max_bytes, "{image} has {bytes} bytes");
    }
}

#[test]
fn the_page_of_the_dashboard_shows_every_view_in_both_themes() {
    let text = std::fs::read_to_string(root().join("docs/dashboard.md")).unwrap();
    let views = ["home", "memory", "approvals", "sessions", "graph", "timeline", "files", "tasks", "health"];
    for image in views
        .iter()
        .flat_map(|view| ["light", "dark"].map(|theme| format!("images/dashboard/{view}-{theme}.png")))
    {
        assert!(text.contains(&image), "{image} is on the page");
        let bytes = root().join("docs").join(&image).metadata().unwrap().len();
        assert!(bytes <= 150_000, "{image} has {bytes} bytes");
    }
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

/// Compares a generated file with the one in the repository (`NACRE_UPDATE=1 cargo test` writes it).
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "a test that writes its own expectation when told")]
fn compare(path: &str, now: &str) {
    let file = root().join(path);
    if std::env::var_os("NACRE_UPDATE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, now).unwrap();
    }
    let then = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(now == then, "{path} is out of date: run with NACRE_UPDATE=1 and look at the difference");
}

/// Programs rely on the tools: a change to them is a change to this file, made on purpose.
#[test]
fn the_tools_are_those_of_the_contract() {
    let settings = Settings::default();
    let tools: Vec<_> = TOOLS
        .iter()
        .map(|tool| json!({ "name": tool.name, "input": tool.input_schema(&settings), "output": tool.output_schema() }))
        .collect();
    compare("docs/tools.json", &(serde_json::to_string_pretty(&tools).unwrap() + "\n"));
}

const TOOLS_BEGINNING: &str = "\
# Tool reference

Every tool, with its parameters and the fields of its answer. Agents call tools over MCP. Programs call them with `POST /v1/tools/NAME`
([REST](rest.md)), and `nacre call NAME JSON` calls one from a shell. [tools.json](../tools.json) has the complete JSON schemas.

A write that waits for approval is answered with `proposal`, `status` and `note` instead ([approvals](../approvals.md)).
";

#[test]
fn the_page_of_tools_is_what_they_are() {
    let settings = Settings::default();
    let mut text = TOOLS_BEGINNING.to_owned();
    let mut count = 0;
    for (title, about, is_offered, people) in [
        ("Offered by default", "The setting `tools.offer` lists them.", true, false),
        ("More tools for agents", "Add them to the setting `tools.offer`.", false, false),
        (
            "Tools for people",
            "The dashboard and your own programs use them. Agents are refused.",
            false,
            true,
        ),
    ] {
        let _ = write!(text, "\n## {title}\n\n{about}\n");
        let is_here = |tool: &&Tool| tool.is_offered(&settings) == is_offered && tool.people == people;
        for tool in TOOLS.iter().filter(is_here) {
            count += 1;
            let _ = write!(text, "\n### {}\n\n{}\n", tool.name, tool.description());
            let input = tool.input_schema(&settings);
            let mut rows = Vec::new();
            parameters("", &input, &mut rows);
            if rows.is_empty() {
                text.push_str("\nNo parameters.\n");
            } else {
                text.push_str("\n| parameter | type | meaning |\n| --- | --- | --- |\n");
                rows.iter().for_each(|row| text.push_str(row));
            }
            let output = tool.output_schema();
            let fields = output["properties"].as_object().into_iter().flatten();
            let fields: Vec<String> =
                fields.map(|(name, schema)| format!("`{name}` ({})", kind(schema))).collect();
            let fields = if fields.is_empty() { "an object".into() } else { fields.join(", ") };
            let _ = write!(text, "\nAnswer: {fields}.\n");
        }
    }
    assert_eq!(count, TOOLS.len(), "every tool is on the page");
    compare("docs/reference/tools.md", &text);
}

/// Adds a row for each parameter of a schema, the required ones first, and for those of objects inside it.
fn parameters(prefix: &str, schema: &Value, rows: &mut Vec<String>) {
    let is_required =
        |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    let mut fields: Vec<(&String, &Value)> = schema["properties"].as_object().into_iter().flatten().collect();
    fields.sort_by_key(|(name, _)| !is_required(name));
    for (name, schema) in fields {
        let required = if is_required(name) { ", required" } else { "" };
        let about = schema["description"].as_str().unwrap_or_default();
        rows.push(format!(
            "| `{prefix}{name}` | {}{}{required} | {} |\n",
            kind(schema),
            limits(schema),
            cell(about)
        ));
        let inner = if schema["type"] == "array" { &schema["items"] } else { schema };
        let mark = if schema["type"] == "array" { "[]." } else { "." };
        parameters(&format!("{prefix}{name}{mark}"), inner, rows);
    }
}

/// Returns the limits of a value in words.
fn limits(schema: &Value) -> String {
    let words = [
        ("minimum", "at least", ""),
        ("maximum", "at most", ""),
        ("maxLength", "at most", " characters"),
        ("maxItems", "at most", " items"),
    ];
    let said = words
        .iter()
        .filter_map(|(key, what, unit)| Some(format!(", {what} {}{unit}", schema[key].as_i64()?)));
    said.collect()
}

/// Escapes a text for a table cell.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

const SETTINGS_BEGINNING: &str = "\
# Settings reference

Every setting with its type, default and meaning. `nacre config list` shows the settings you changed, `nacre config set KEY VALUE` changes one, and
`nacre config --defaults` prints this list as a commented `nacre.toml`.

Each layer overrides the one before: these defaults, the [profile](../profiles.md), `nacre.toml` in the home, an environment variable, `--set KEY=VALUE` for
one call. The variable of `brief.max_entries` is `NACRE_BRIEF_MAX_ENTRIES`.
";

#[test]
fn the_page_of_settings_is_what_they_are() {
    let mut text = SETTINGS_BEGINNING.to_owned();
    let mut found = Vec::new();
    settings_of("", nacre::settings::DEFAULTS, &mut text, &mut found);
    let known: Vec<String> =
        nacre::settings::effective(None, &[]).unwrap().into_iter().map(|(key, _)| key).collect();
    assert_eq!(BTreeSet::from_iter(&found), BTreeSet::from_iter(&known), "every key is on the page");
    assert_eq!(found.len(), known.len());
    let plugin = include_str!("../../src/tools/settings/plugin.toml");
    text.push_str(
        "\n## plugins.NAME\n\nA [plugin](../plugins.md) of yours. `NAME` is a name that you choose.\n",
    );
    settings_of("plugins.NAME.", plugin, &mut text, &mut found);
    compare("docs/reference/settings.md", &text);
}

/// Adds the settings of a commented file: a table for each section. A key without a comment belongs to the key before it.
fn settings_of(prefix: &str, file: &str, text: &mut String, found: &mut Vec<String>) {
    let values: toml::Table = file.parse().unwrap();
    let mut section: Vec<&str> = Vec::new();
    let mut comment = String::new();
    // The key that the comment above was for.
    let mut explained = String::new();
    let mut has_table = false;
    for line in file.lines() {
        if let Some(more) = line.strip_prefix('#') {
            comment.push_str(more);
        } else if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.split('.').collect();
            comment.clear();
            has_table = false;
        } else if line.is_empty() {
            comment.clear();
        } else if let Some((key, _)) = line.split_once(" = ") {
            if !has_table {
                if prefix.is_empty() {
                    let title = if section.is_empty() { "Top level".into() } else { section.join(".") };
                    let _ = write!(text, "\n## {title}\n");
                }
                text.push_str("\n| key | type | default | meaning |\n| --- | --- | --- | --- |\n");
                has_table = true;
            }
            let table = section.iter().fold(&values, |table, name| table[*name].as_table().unwrap());
            let path: String = section.iter().map(|name| format!("{name}.")).collect();
            let path = format!("{prefix}{path}{key}");
            let meaning = if comment.is_empty() {
                format!("See `{explained}`.")
            } else {
                explained.clone_from(&path);
                cell(std::mem::take(&mut comment).trim())
            };
            let value = &table[key];
            let _ = writeln!(text, "| `{path}` | {} | `{value}` | {meaning} |", value.type_str());
            found.push(path);
        }
        // Other lines are the rest of an array.
    }
}
