//! The brief: a summary of the most useful entries, for the start of a session.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::frame::{self, BEHAVIORAL, CLOSE, FACTS, NOTHING, OPEN, one_line};
use crate::base::ids::EntryId;
use crate::base::redact::redact;
use crate::base::{Calendar, Result, Time, settings};
use crate::context::turn;
use crate::records::entry::{self, Entry, EntryType, Provenance, Tags};
use crate::store::Connection;

/// No line of an entry has fewer characters.
const MIN_LINE_CHARS: usize = "- x (fact, 1 May, id:1)".len();

/// The brief as text and as data.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Brief {
    /// The text to put before the agent.
    pub markdown: String,
    /// The entries in it.
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub entries: Vec<BriefEntry>,
    /// When it was made.
    pub generated_at: Time,
    /// How many current entries there are.
    pub entry_count: usize,
    /// How many of them are in this brief.
    pub brief_count: usize,
    /// The plugin that made the brief, or failed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<MadeBy>,
}

/// The plugin that makes the brief. Its lines are not entries.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct MadeBy {
    /// Its name.
    pub name: String,
    /// Why it failed. Nacre then made the brief itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One entry of a brief.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it")]
pub struct BriefEntry {
    pub id: EntryId,
    pub number: i64,
    pub r#type: EntryType,
    /// On one line.
    pub content: String,
    pub behavioral: bool,
    pub tags: Tags,
    pub age_days: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// Its date in the line.
    #[serde(skip)]
    pub(crate) date: String,
}

redact! {
    Brief { markdown, entries, plugin / generated_at, entry_count, brief_count }
    MadeBy { name, problem }
    BriefEntry { id, content, tags, provenance / number, r#type, behavioral, age_days, date }
}

/// Makes the brief from current entries, behavioral and recent ones first, within the limits.
///
/// An entry that does not fit is skipped in favour of a shorter one after it. The last line says how many were left out.
pub(crate) fn make(
    db: &Connection,
    limits: &settings::Brief,
    calendar: &Calendar,
    now: Time,
    include_provenance: bool,
) -> Result<Brief> {
    let fixed = [OPEN, BEHAVIORAL, FACTS, &left_out(usize::MAX), CLOSE];
    let fixed_chars: usize = fixed.iter().map(|line| line.chars().count() + 1).sum();
    let mut room = limits.max_chars.saturating_sub(fixed_chars);
    let mut entries = Vec::new();
    let entry_count = entry::walk_behavioral_first(db, |entry| {
        let date = calendar.date(entry.provenance.timestamp);
        let brief = BriefEntry::new(entry, date, now, include_provenance);
        let cost = brief.line().chars().count() + 1;
        if entries.len() < limits.max_entries && cost <= room {
            room -= cost;
            entries.push(brief);
        }
        entries.len() < limits.max_entries && room > MIN_LINE_CHARS
    })?;
    let markdown = render(&entries, entry_count - entries.len());
    let brief_count = entries.len();
    Ok(Brief { markdown, brief_count, entries, generated_at: now, entry_count, plugin: None })
}

/// Makes the brief from the lines of a plugin, made harmless, as far as they fit.
pub(crate) fn of_plugin(
    db: &Connection,
    name: &str,
    lines: &[turn::PluginLine],
    limits: &settings::Brief,
    calendar: &Calendar,
    now: Time,
) -> Result<Brief> {
    let mut text = format!("{OPEN}\n");
    let mut room = limits.max_chars.saturating_sub(text.chars().count() + CLOSE.len());
    for one in lines.iter().take(limits.max_entries) {
        let said = turn::harmless(&one.text, limits.max_chars);
        let line = turn::plugin::line(&said, name, calendar, now) + "\n";
        let cost = line.chars().count();
        if !said.is_empty() && cost <= room {
            room -= cost;
            text.push_str(&line);
        }
    }
    let entry_count = entry::walk_behavioral_first(db, |_| false)?;
    let plugin = Some(MadeBy { name: name.to_owned(), problem: None });
    let markdown = text + CLOSE;
    Ok(Brief { markdown, entries: Vec::new(), generated_at: now, entry_count, brief_count: 0, plugin })
}

impl Brief {
    /// Notes that a plugin failed to make this brief. The agent is told that it failed, and a person why.
    pub(crate) fn in_place_of(&mut self, name: &str, problem: &str) {
        let body = self.markdown.trim_end_matches(CLOSE);
        self.markdown = format!("{body}(The plugin `{name}` failed to make this summary.)\n{CLOSE}");
        self.plugin = Some(MadeBy { name: name.to_owned(), problem: Some(one_line(problem)) });
    }
}

impl BriefEntry {
    fn new(entry: Entry, date: String, now: Time, include_provenance: bool) -> BriefEntry {
        BriefEntry {
            content: one_line(&entry.content),
            age_days: now.whole_days_since(entry.provenance.timestamp),
            provenance: include_provenance.then_some(entry.provenance),
            id: entry.id,
            number: entry.number,
            r#type: entry.r#type,
            behavioral: entry.behavioral,
            tags: entry.tags,
            date,
        }
    }

    fn line(&self) -> String {
        frame::line(&self.content, &self.r#type.to_string(), &self.date, Some(self.number))
    }
}

fn render(entries: &[BriefEntry], missing: usize) -> String {
    let mut text = format!("{OPEN}\n");
    if entries.is_empty() && missing == 0 {
        let _ = writeln!(text, "{NOTHING}");
    }
    for (behavioral, heading) in [(true, BEHAVIORAL), (false, FACTS)] {
        let mut section = entries.iter().filter(|entry| entry.behavioral == behavioral).peekable();
        if section.peek().is_some() {
            let _ = writeln!(text, "{heading}");
            for entry in section {
                let _ = writeln!(text, "{}", entry.line());
            }
        }
    }
    if missing > 0 {
        let _ = writeln!(text, "{}", left_out(missing));
    }
    text + CLOSE
}

fn left_out(missing: usize) -> String {
    format!("({missing} more did not fit; search for them.)")
}
