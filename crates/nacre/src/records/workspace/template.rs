//! The templates that `nacre init` writes into a new workspace.
//!
//! An agent reads them as they are, or a person fills them in. Their text is not memory: search and the graph
//! skip it, and a form that nobody has filled in takes one line of the startup context.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Serialize;

use super::{FilePath, guide};
use crate::base::settings::{Dialect, Inject, LogFolder, Policy};
use crate::base::{Result, Settings};
use crate::group::View;

/// A file of a new workspace.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// The path in the group's folder.
    pub path: &'static str,
    /// The purpose of the file, in a few words.
    pub purpose: &'static str,
    /// The text of the file, before it is fitted to the settings.
    raw: &'static str,
    /// Other texts for the dialects of designs.
    dialects: &'static [(Dialect, &'static str)],
    /// Whether it is a form, which says nothing until somebody fills it in.
    pub form: bool,
}

const fn words(path: &'static str, purpose: &'static str, raw: &'static str) -> Template {
    Template { path, purpose, raw, dialects: &[], form: false }
}

const fn form(path: &'static str, purpose: &'static str, raw: &'static str) -> Template {
    Template { path, purpose, raw, dialects: &[], form: true }
}

/// Every template, in the order in which a new user should read them. `boot.files` selects those that `nacre init` writes.
pub static TEMPLATES: &[Template] = &[
    words("AGENTS.md", "where information goes and how files change", include_str!("templates/AGENTS.md")),
    words(
        "AGENT.md",
        "who the agent is and how it works, in the design Brain",
        include_str!("templates/AGENT.md"),
    ),
    words("SOUL.md", "who the agent is: principles and voice", include_str!("templates/SOUL.md")),
    form("USER.md", "the person it helps; private", include_str!("templates/USER.md")),
    form("IDENTITY.md", "the agent's name, role and sign", include_str!("templates/IDENTITY.md")),
    form("TOOLS.md", "machines, services and commands", include_str!("templates/TOOLS.md")),
    form("HEARTBEAT.md", "a checklist for timed sessions", include_str!("templates/HEARTBEAT.md")),
    form("BOOT.md", "tasks for a host to run once when it starts", include_str!("templates/BOOT.md")),
    Template {
        dialects: &[
            (Dialect::Brain, include_str!("templates/MEMORY.brain.md")),
            (Dialect::Nanoclaw, include_str!("templates/MEMORY.nanoclaw.md")),
        ],
        ..form("MEMORY.md", "long-lived knowledge; private", include_str!("templates/MEMORY.md"))
    },
    form(
        "memory/CORE.md",
        "long-lived facts in the gated design; private",
        include_str!("templates/CORE.md"),
    ),
    form("memory/active-context.md", "the current work", include_str!("templates/active-context.md")),
    form(
        "memory/gating-policies.md",
        "rules learned from mistakes",
        include_str!("templates/gating-policies.md"),
    ),
    words("skills/memory/SKILL.md", "how to use this memory, as a skill", "{skill}"),
];

/// The front matter of the skill.
const SKILL_HEAD: &str = "---\nname: memory\ndescription: When to recall, what to store and what to leave out of a memory \
    that lasts across sessions\n---\n\n";

impl Template {
    /// Returns the text of the file under these settings: without lines about tools and files that an agent does not have.
    pub fn text(&self, settings: &Settings) -> String {
        let own = self.dialects.iter().find(|(dialect, _)| *dialect == settings.dialect);
        let raw = own.map_or(self.raw, |(_, text)| text);
        if raw == "{skill}" {
            return format!("{SKILL_HEAD}{}\n", guide::skill(settings));
        }
        let loaded = match settings.brief.inject {
            Inject::Boot => "The files of this workspace and the brief are loaded when a session starts.",
            Inject::None => "The files of this workspace are loaded when a session starts.",
        };
        let log = match settings.log.folder {
            LogFolder::Memory => "memory",
            LogFolder::Daily => "memory/daily",
        };
        let changes = match (settings.write.log, settings.write.files) {
            (Policy::Approve, _) => {
                "- Suggest a write with `memory_write` as soon as you learn a durable fact about the user, their preferences or \
                 their projects. The user sees a diff, and approves or denies it.\n- Keep entries concise, and put each where it \
                 belongs.\n- Do not propose a denied change again in other words."
            }
            (_, Policy::Approve) => {
                "- Propose small, exact changes with `memory_write`. The user sees a diff and approves or denies it.\n- Do not \
                 propose a denied change again in other words."
            }
            _ => "- Make small, exact changes with `memory_write`.",
        };
        let text = raw.replace("{loaded}", loaded).replace("{log}", log).replace("{changes}", changes);
        text.split_inclusive('\n').filter(|line| self.form || names_what_is_there(line, settings)).collect()
    }

    /// Returns every text that it can have.
    fn texts(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.raw).chain(self.dialects.iter().map(|(_, text)| *text))
    }
}

/// Tells whether every tool and file that a line names in backticks is there.
fn names_what_is_there(line: &str, settings: &Settings) -> bool {
    line.split('`').skip(1).step_by(2).all(|name| {
        let is_pattern = name.contains("NAME") || name.contains("YYYY") || name.ends_with('/');
        let is_tool =
            name.contains('_') && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let (files, tools) = (&settings.boot.files, &settings.tools.offer);
        is_pattern
            || (!is_tool || tools.iter().any(|tool| tool == name))
                && (!name.ends_with(".md") || files.iter().any(|file| file == name))
    })
}

/// Returns the template of a path.
fn template(path: &str) -> Option<&'static Template> {
    TEMPLATES.iter().find(|template| template.path == path)
}

/// Returns whether a document is still exactly as `nacre init` wrote it under these settings.
pub(crate) fn is_untouched(settings: &Settings, path: &str, text: &str) -> bool {
    template(path).is_some_and(|template| same(&template.text(settings), text))
}

/// Returns whether a document is a form that nobody has filled in.
pub(crate) fn is_empty_form(path: &str, text: &str) -> bool {
    template(path).is_some_and(|template| template.form && template.texts().any(|form| same(form, text)))
}

// Ignores the final line break, which some editors add or remove.
fn same(template: &str, text: &str) -> bool {
    template.trim_end() == text.trim_end()
}

/// Blanks the lines of a document that come from its template. Line numbers stay the same, and headings stay
/// because added text needs them.
pub(crate) fn without_template<'a>(settings: &Settings, path: &str, text: &'a str) -> Cow<'a, str> {
    let Some(template) = template(path) else { return text.into() };
    let fitted = template.text(settings);
    let fixed: Vec<&str> = template.texts().collect();
    let ours: HashSet<&str> = std::iter::once(fitted.as_str())
        .chain(fixed)
        .flat_map(str::lines)
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    blank(text, |line| ours.contains(line.trim()))
}

/// Blanks the hints of a document's template, which are meant for the person who fills it in.
pub(crate) fn without_hints<'a>(path: &str, text: &'a str) -> Cow<'a, str> {
    let mut hints =
        template(path).into_iter().flat_map(Template::texts).filter_map(|raw| Some(raw.split_once("-->")?.0));
    let Some(lines) = hints.find(|hint| text.starts_with(hint)).map(|hint| hint.lines().count()) else {
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

/// Writes the files of a new workspace that the settings name. Existing files are never changed.
pub fn write_templates(view: &View<'_>) -> Result<TemplateReport> {
    let mut report = TemplateReport::default();
    let settings = view.settings();
    for template in
        TEMPLATES.iter().filter(|template| settings.boot.files.iter().any(|file| file == template.path))
    {
        let path: FilePath = template.path.parse().expect("a test parses every path");
        if view.files().create(&path, template.text(settings).as_bytes())? {
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
        let settings = Settings::default();
        for template in TEMPLATES {
            let Template { path, purpose, form, .. } = template;
            let text = &template.text(&settings);
            assert!(path.parse::<FilePath>().is_ok() && !purpose.is_empty(), "{path}");
            assert!(text.len() < 2_500 && text.ends_with('\n') && !text.contains('\r'), "{path}");
            assert!(
                is_untouched(&settings, path, text) && is_untouched(&settings, path, text.trim_end()),
                "{path}"
            );
            assert_eq!(is_empty_form(path, text), *form, "{path}");
            let left = without_template(&settings, path, text);
            assert!(left.lines().all(|line| line.is_empty() || line.starts_with('#')), "{path}: {left}");
            assert_eq!(left.lines().count(), text.lines().count(), "{path}");
            assert_eq!(read::document(path, &left).said.len(), 0, "{path}");
        }
    }

    #[test]
    fn text_added_to_a_template_stays() {
        let settings = Settings::default();
        let user = template("USER.md").unwrap().text(&settings);
        let filled = user.replace("## People\n", "## People\n\n- Petra: sister, in Graz\n");
        assert!(!is_untouched(&settings, "USER.md", &filled));
        for (text, expected) in [
            (
                without_template(&settings, "USER.md", &filled),
                "# User\n## How to work with me\n## People\n- Petra: sister, in Graz\n## Projects",
            ),
            (
                without_hints("USER.md", &filled),
                "# User\n## How to work with me\n## People\n- Petra: sister, in Graz\n## Projects",
            ),
            (without_template(&settings, "notes.md", "# User\n"), "# User"),
            (without_hints("USER.md", "- my own\n"), "- my own"),
        ] {
            let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
            assert_eq!(lines.join("\n"), expected);
        }
        let at = |text: &str| text.lines().position(|line| line.contains("Petra"));
        assert_eq!(at(&without_hints("USER.md", &filled)), at(&filled), "lines keep their numbers");
    }
}
