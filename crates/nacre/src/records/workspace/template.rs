//! The templates that `nacre init` writes into a new workspace.
//!
//! An agent reads them as they are, or a person fills them in. Their text is not memory: search and the graph
//! skip it, and a form that nobody has filled in takes one line of the startup context.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Serialize;

use super::FilePath;
use crate::base::Result;
use crate::group::View;

/// A file of a new workspace.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// The path in the group's folder.
    pub path: &'static str,
    /// The purpose of the file, in a few words.
    pub purpose: &'static str,
    /// The text of the file.
    pub text: &'static str,
    /// Whether it is a form, which says nothing until somebody fills it in.
    pub form: bool,
}

const fn words(path: &'static str, purpose: &'static str, text: &'static str) -> Template {
    Template { path, purpose, text, form: false }
}

const fn form(path: &'static str, purpose: &'static str, text: &'static str) -> Template {
    Template { path, purpose, text, form: true }
}

/// Every template, in the order in which a new user should read them.
pub const TEMPLATES: &[Template] = &[
    words("AGENTS.md", "where information goes and how files change", include_str!("templates/AGENTS.md")),
    words("SOUL.md", "who the agent is: principles and voice", include_str!("templates/SOUL.md")),
    form("USER.md", "the person it helps; private", include_str!("templates/USER.md")),
    form("IDENTITY.md", "the agent's name, role and sign", include_str!("templates/IDENTITY.md")),
    form("TOOLS.md", "machines, services and commands", include_str!("templates/TOOLS.md")),
    form("HEARTBEAT.md", "a checklist for timed sessions", include_str!("templates/HEARTBEAT.md")),
    form("BOOT.md", "tasks for a host to run once when it starts", include_str!("templates/BOOT.md")),
    form("MEMORY.md", "long-lived knowledge; private", include_str!("templates/MEMORY.md")),
    form("memory/active-context.md", "the current work", include_str!("templates/active-context.md")),
    form(
        "memory/gating-policies.md",
        "rules learned from mistakes",
        include_str!("templates/gating-policies.md"),
    ),
    words(
        "skills/memory/SKILL.md",
        "how to use this memory, as a skill",
        concat!(
            "---\nname: memory\ndescription: When to recall, what to store and what to leave out of a memory that lasts \
            across sessions\n---\n\n",
            include_str!("../../tools/skill.md")
        ),
    ),
];

/// Returns the template of a path.
fn template(path: &str) -> Option<&'static Template> {
    TEMPLATES.iter().find(|template| template.path == path)
}

/// Returns whether a document is still exactly as `nacre init` wrote it.
pub(crate) fn is_untouched(path: &str, text: &str) -> bool {
    template(path).is_some_and(|template| same(template.text, text))
}

/// Returns whether a document is a form that nobody has filled in.
pub(crate) fn is_empty_form(path: &str, text: &str) -> bool {
    template(path).is_some_and(|template| template.form && same(template.text, text))
}

// Ignores the final line break, which some editors add or remove.
fn same(template: &str, text: &str) -> bool {
    template.trim_end() == text.trim_end()
}

/// Blanks the lines of a document that come from its template. Line numbers stay the same, and headings stay
/// because added text needs them.
pub(crate) fn without_template<'a>(path: &str, text: &'a str) -> Cow<'a, str> {
    let Some(template) = template(path) else { return text.into() };
    let ours: HashSet<&str> = template
        .text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    blank(text, |line| ours.contains(line.trim()))
}

/// Blanks the hints of a document's template, which are meant for the person who fills it in.
pub(crate) fn without_hints<'a>(path: &str, text: &'a str) -> Cow<'a, str> {
    let hint = template(path).and_then(|template| Some(template.text.split_once("-->")?.0));
    let Some(lines) = hint.filter(|hint| text.starts_with(hint)).map(|hint| hint.lines().count()) else {
        return text.into();
    };
    let mut number = 0;
    blank(text, |_| {
        number += 1;
        number <= lines
    })
}

fn blank(text: &str, mut ours: impl FnMut(&str) -> bool) -> Cow<'_, str> {
    text.split_inclusive('\n')
        .map(|line| match ours(line) {
            true => &line[line.trim_end_matches('\n').len()..],
            false => line,
        })
        .collect::<String>()
        .into()
}

/// The result of writing the templates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TemplateReport {
    /// Files that were created.
    pub made: Vec<&'static str>,
    /// Files that existed and were not changed.
    pub kept: Vec<&'static str>,
}

/// Writes the templates into the group's folder. Existing files are never changed.
pub fn write_templates(view: &View<'_>) -> Result<TemplateReport> {
    let mut report = TemplateReport::default();
    for template in TEMPLATES {
        let path: FilePath = template.path.parse().expect("a test parses every path");
        if view.files().create(&path, template.text.as_bytes())? {
            report.made.push(template.path);
        } else {
            report.kept.push(template.path);
        }
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::graph::read;

    #[test]
    fn templates_hold_nothing_for_search_and_graph() {
        for Template { path, purpose, text, form } in TEMPLATES {
            assert!(path.parse::<FilePath>().is_ok() && !purpose.is_empty(), "{path}");
            assert!(text.len() < 2_500 && text.ends_with('\n') && !text.contains('\r'), "{path}");
            assert!(is_untouched(path, text) && is_untouched(path, text.trim_end()), "{path}");
            assert_eq!(is_empty_form(path, text), *form, "{path}");
            let left = without_template(path, text);
            assert!(left.lines().all(|line| line.is_empty() || line.starts_with('#')), "{path}: {left}");
            assert_eq!(left.lines().count(), text.lines().count(), "{path}");
            assert_eq!(read::document(path, &left).said.len(), 0, "{path}");
        }
    }

    #[test]
    fn text_added_to_a_template_stays() {
        let filled = TEMPLATES[2].text.replace("## People\n", "## People\n\n- Petra: sister, in Graz\n");
        assert!(!is_untouched("USER.md", &filled));
        for (text, expected) in [
            (
                without_template("USER.md", &filled),
                "# User\n## How to work with me\n## People\n- Petra: sister, in Graz\n## Projects",
            ),
            (
                without_hints("USER.md", &filled),
                "# User\n## How to work with me\n## People\n- Petra: sister, in Graz\n## Projects",
            ),
            (without_template("notes.md", "# User\n"), "# User"),
            (without_hints("USER.md", "- my own\n"), "- my own"),
        ] {
            let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
            assert_eq!(lines.join("\n"), expected);
        }
        let at = |text: &str| text.lines().position(|line| line.contains("Petra"));
        assert_eq!(at(&without_hints("USER.md", &filled)), at(&filled), "lines keep their numbers");
    }
}
