//! Promotion, the upward flow of the agent brain design: from events to lasting knowledge. Logs become working memory,
//! working memory becomes MEMORY.md, and MEMORY.md becomes facts. Corrections become lessons, and lessons that worked become
//! principles.
//!
//! A step reads and proposes. A person decides, and can revert an approved change. A step ignores text that Nacre itself
//! injected and lines that machines wrote. It never proposes the same text twice, even if it was denied: a hash of each
//! proposed text is kept.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde_json::{Value, json};

use crate::base::caller::Visibility;
use crate::base::caller::{Caller, Role};
use crate::base::frame::{frames, is_ours, one_line, strip_injected};
use crate::base::named::named;
use crate::base::redact;
use crate::base::{Error, Result};
use crate::context::turn;
use crate::group::View;
use crate::index::analyse;
use crate::records::entry::{self, EntryType, Source};
use crate::records::graph::guard::{self, From};
use crate::records::graph::read::{self, Claim};
use crate::records::workspace::change::Change;
use crate::records::workspace::lines::{self, Kind, Line};
use crate::records::workspace::{self, FilePath, change, daily, memory_file, proposal};
use crate::store::Connection;

const CONTEXT: &str = "memory/active-context.md";
const SOUL: &str = "SOUL.md";
/// How many days of logs become working memory.
const RECENT_DAYS: i64 = 3;
/// How many lines one step proposes at once, because a person has to read them.
const MAX_LINES: usize = 20;
/// The categories of log lines that machines write.
const MACHINE_CATEGORIES: &[&str] =
    &["cron", "heartbeat", "system", "auto", "metric", "recalled", "injected", "summary"];

named! {
    /// One step of the promotion.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Step {
        /// Recent logs to `memory/active-context.md`.
        Context = "context",
        /// Important lines of logs, and decisions of the working memory, to MEMORY.md.
        Memory = "memory",
        /// Statements of MEMORY.md that the graph does not have, to facts.
        Facts = "facts",
        /// Corrections and lessons in files and entries, to lessons.
        Lessons = "lessons",
        /// Lessons that worked, to SOUL.md.
        Soul = "soul",
    }
}

impl Step {
    /// Returns its target: a file or a tool.
    pub fn target(self) -> &'static str {
        match self {
            Step::Context => CONTEXT,
            Step::Memory => memory_file::PATH,
            Step::Facts => "fact_upsert",
            Step::Lessons => "lesson_add",
            Step::Soul => SOUL,
        }
    }

    /// Returns its purpose, for the person who decides.
    fn reason(self) -> &'static str {
        match self {
            Step::Context => "what the last days' logs say",
            Step::Memory => "what logs and working memory hold for important",
            Step::Facts => "what MEMORY.md says and the graph has not taken in",
            Step::Lessons => "what was written down as a correction or a lesson",
            Step::Soul => "lessons that have proved themselves",
        }
    }

    /// Returns the section of the target file for a category: words of an existing title, and the title of a new section.
    fn section(self, category: &str) -> (&'static [&'static str], &'static str) {
        match (self, category) {
            (Step::Context, "decision") => (&["decision"], "Recent Decisions"),
            (Step::Context, "question" | "open" | "todo" | "blocked") => (&["question"], "Open Questions"),
            (Step::Context, _) => (&["focus"], "Current Focus"),
            (Step::Memory, "preference") => (&["preference"], "Preferences"),
            (Step::Memory, "milestone" | "project" | "progress") => (&["project"], "Active Projects"),
            (Step::Soul, _) => (&["principle", "truths", "values"], "Principles"),
            _ => (&["decision", "lesson"], "Decisions & Lessons"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Step {
    type Err = Error;

    fn from_str(text: &str) -> Result<Step> {
        Step::of_name(text).ok_or_else(|| {
            let steps: Vec<&str> = Step::ALL.iter().map(|step| step.as_str()).collect();
            Error::bad_argument("promote", "step", format!("is none of {}", steps.join(", ")))
        })
    }
}

/// The proposals of one step, planned or made.
#[derive(Clone, Debug, Serialize)]
pub struct Promotion {
    /// The step.
    pub step: Step,
    /// The target: a file or a tool.
    pub target: &'static str,
    /// The lines for the target; empty if there is nothing new.
    pub lines: Vec<PromotedLine>,
    /// The proposals that were made.
    pub proposals: Vec<i64>,
}

/// One promoted line.
#[derive(Clone, Debug, Serialize)]
pub struct PromotedLine {
    /// Its text in the target.
    pub text: String,
    /// Its source: `memory/2026-02-18.md:3`, `lesson 2`, or the id of an entry.
    pub source: String,
    #[serde(skip)]
    category: String,
    /// Identifies the text regardless of its surroundings.
    #[serde(skip)]
    said: String,
    /// The arguments, if it becomes a call.
    #[serde(skip)]
    arguments: Value,
}

impl PromotedLine {
    fn new(text: &str, source: String, category: &str) -> PromotedLine {
        // Credentials are never promoted.
        let (text, category) = (one_line(&redact::text(text)), category.to_lowercase());
        PromotedLine { said: analyse::fold(&text), text, source, category, arguments: Value::Null }
    }

    fn hash(&self) -> String {
        blake3::hash(self.said.as_bytes()).to_hex()[..32].to_owned()
    }
}

/// Returns the proposals that a step would make. Nothing is written.
pub fn plan(view: &mut View<'_>, step: Step) -> Result<Promotion> {
    let caller = view.caller();
    allow(caller)?;
    let mut found = match step {
        Step::Context => context(view, caller),
        Step::Memory => memory(view),
        Step::Facts => facts(view)?,
        Step::Lessons => lessons(view)?,
        Step::Soul => soul(view)?,
    };
    let there = match step {
        Step::Facts | Step::Lessons => String::new(),
        _ => analyse::fold(&own_text(view, step.target())),
    };
    let proposed = view.read_all(|db| proposed(db, step))?;
    let mut seen = BTreeSet::new();
    found.retain(|one| {
        let hash = one.hash();
        !proposed.contains(&hash) && !there.contains(&one.said) && !is_ours(&one.text) && seen.insert(hash)
    });
    found.truncate(MAX_LINES);
    Ok(Promotion { step, target: step.target(), lines: found, proposals: Vec::new() })
}

/// Makes the proposals of a step: one change of its file, or one call for each line.
pub fn promote(view: &mut View<'_>, step: Step) -> Result<Promotion> {
    let _caller = view.caller();
    let mut promotion = plan(view, step)?;
    if promotion.lines.is_empty() {
        return Ok(promotion);
    }
    match step {
        Step::Facts | Step::Lessons => {
            for one in &promotion.lines {
                let sources = [one.source.clone()];
                let (tool, arguments) = (step.target(), &one.arguments);
                let made = proposal::propose_call_for(view, tool, arguments, None, step.reason(), &sources)?;
                note(view, step, std::slice::from_ref(one), made.number)?;
                promotion.proposals.push(made.number);
            }
        }
        _ => {
            let path: FilePath = step.target().parse()?;
            let mut held = change::lock(view)?;
            let before = held.read(&path)?;
            let text = String::from_utf8(before.clone().unwrap_or_default());
            let no_text = |_| Error::BadPath { given: path.to_string(), problem: "is not UTF-8 text" };
            let mut text = text.map_err(no_text)?;
            if before.is_none() {
                text = title(step).to_owned();
            }
            for one in &promotion.lines {
                let (words, title) = step.section(&one.category);
                text = lines::insert(&text, words, title, std::slice::from_ref(&one.text));
            }
            let sources: Vec<String> = promotion.lines.iter().map(|one| one.source.clone()).collect();
            let after = Some(text.into_bytes());
            let made =
                proposal::propose_file(&mut held, Change { path, before, after }, step.reason(), &sources)?;
            drop(held);
            note(view, step, &promotion.lines, made.number)?;
            promotion.proposals.push(made.number);
        }
    }
    Ok(promotion)
}

/// Refuses callers that may not read private data.
fn allow(caller: &Caller) -> Result<()> {
    match (caller.role, caller.visibility) {
        (Role::Skill, _) => Err(Error::RoleDenied { tool: "promote".into(), role: caller.role.as_str() }),
        (_, Visibility::Shared) => Err(Error::HiddenFile { path: memory_file::PATH.into() }),
        _ => Ok(()),
    }
}

/// Returns the title of a new file.
fn title(step: Step) -> &'static str {
    match step {
        Step::Context => "# Active Context\n",
        Step::Soul => "# Soul\n",
        _ => "# Long-Term Memory\n",
    }
}

/// Returns the hashes of texts that were proposed before, approved or not.
fn proposed(db: &Connection, step: Step) -> Result<BTreeSet<String>> {
    let rows = db.rows("SELECT what FROM promoted WHERE step = $1", [step.as_str()], |row| row.get(0))?;
    Ok(rows.into_iter().collect())
}

fn note(view: &mut View<'_>, step: Step, lines: &[PromotedLine], number: i64) -> Result<()> {
    view.write(|tx| {
        let sql = "INSERT INTO promoted (step, what, proposal) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        for one in lines {
            tx.run(sql, (step.as_str(), one.hash(), number))?;
        }
        Ok(())
    })
}

/// Reads a file of the workspace without injected text.
fn own_text(view: &View<'_>, path: &str) -> String {
    let text = workspace::text(view, Visibility::Private, path, change::MAX_FILE_BYTES);
    // A file without injected blocks is used as it is, so that its line numbers stay right.
    text.replace("\r\n", "\n")
}

/// Returns the tagged lines of a log that people and agents wrote, with their importance.
fn tagged(view: &View<'_>, log: &daily::Log) -> Vec<(f64, PromotedLine)> {
    let text = own_text(view, log.path.as_str());
    let ours: BTreeSet<usize> = injected(&text);
    let all = lines::lines(&text);
    let tagged = all.iter().enumerate().filter_map(|(at, line)| Some((at, line.tagged()?)));
    tagged
        .filter(|(at, tag)| {
            !ours.contains(at) && !MACHINE_CATEGORIES.contains(&tag.category.to_lowercase().as_str())
        })
        .map(|(at, tag)| {
            let mut said = tag.text.to_owned();
            if let (Kind::Heading { .. }, Some(more)) = (all[at].kind, first_of_section(&all[at + 1..])) {
                said = format!("{said}: {more}");
            }
            (tag.importance, PromotedLine::new(&said, format!("{}:{}", log.path, at + 1), tag.category))
        })
        .filter(|(_, one)| !one.text.is_empty() && !strip_injected(&one.text).trim().is_empty())
        .collect()
}

/// Returns the first statement of a section.
fn first_of_section<'a>(lines: &[Line<'a>]) -> Option<&'a str> {
    let within = lines.iter().take_while(|line| !matches!(line.kind, Kind::Heading { .. }));
    within
        .filter_map(|line| match line.kind {
            Kind::Bullet { text, .. } => Some(text),
            Kind::Other { .. } => Some(line.full.trim()),
            _ => None,
        })
        .next()
}

/// Returns the lines, from 0, that are inside injected blocks.
fn injected(text: &str) -> BTreeSet<usize> {
    let frames = frames(text);
    let mut next = 0;
    let marked = text.split_inclusive('\n').enumerate().filter(|(_, line)| {
        let start = next;
        next += line.len();
        is_ours(line) || frames.iter().any(|frame| frame.contains(&start))
    });
    marked.map(|(at, _)| at).collect()
}

fn context(view: &View<'_>, caller: &Caller) -> Vec<PromotedLine> {
    let (today, low) = (caller.zone.day(caller.now), view.settings().log.low);
    let rules = &view.settings().visibility.private;
    let seen = |path: &str| Visibility::Shared.sees(rules, path, &own_text(view, path));
    let open = seen(CONTEXT);
    let recent =
        daily::logs(view).into_iter().filter(|log| (0..RECENT_DAYS).contains(&today.days_since(log.day)));
    // Private lines are not promoted to a file that shared sessions see.
    let fitting = recent.filter(|log| !open || seen(log.path.as_str()));
    let lines = fitting.flat_map(|log| tagged(view, &log));
    lines.filter(|(importance, _)| *importance >= low).map(|(_, one)| one).collect()
}

fn memory(view: &View<'_>) -> Vec<PromotedLine> {
    let high = view.settings().log.high;
    let mut found = Vec::new();
    for log in daily::logs(view) {
        let day = log.day;
        let weighty = tagged(view, &log).into_iter().filter(|(importance, _)| *importance >= high);
        found.extend(weighty.map(|(_, one)| PromotedLine { text: format!("{} ({day})", one.text), ..one }));
    }
    let text = own_text(view, CONTEXT);
    let ours = injected(&text);
    let mut within = false;
    for (at, line) in lines::lines(&text).iter().enumerate() {
        match line.kind {
            Kind::Heading { title, .. } => within = title.to_lowercase().contains("decision"),
            Kind::Bullet { indent: 0, text } if within && !ours.contains(&at) => {
                found.push(PromotedLine::new(text, format!("{CONTEXT}:{}", at + 1), "decision"));
            }
            _ => {}
        }
    }
    found
}

fn soul(view: &View<'_>) -> Result<Vec<PromotedLine>> {
    let promoted = |one: &turn::Proposal| {
        let line = one.line.trim_start_matches("- ");
        let said = line.split_once("**: ").map_or(line, |(_, said)| said);
        let promoted = PromotedLine::new(said, format!("lesson {} ({})", one.lesson, one.because), "");
        PromotedLine { text: one_line(line), ..promoted }
    };
    Ok(turn::proposals(view)?.iter().map(promoted).collect())
}

fn facts(view: &View<'_>) -> Result<Vec<PromotedLine>> {
    let text = own_text(view, memory_file::PATH);
    let sql = "SELECT DISTINCT line FROM citations WHERE path = $1";
    let taken: BTreeSet<usize> =
        view.read(|db| db.rows(sql, [memory_file::PATH], |row| row.get(0)))?.into_iter().collect();
    let reading = read::document(memory_file::PATH, &text);
    let all = lines::lines(&text);
    let mut found = Vec::new();
    let mut put = |entity: &str, key: &str, value: &str, category: Option<&str>, line: usize| {
        let mut arguments = json!({ "entity": entity, "key": key, "value": value, "private": true });
        if let Some(category) = category {
            arguments["category"] = category.into();
        }
        let text = format!("{entity}: {key} = {value}");
        if redact::text(&text) != text {
            return;
        }
        let source = format!("{}:{line}", memory_file::PATH);
        found.push(PromotedLine { arguments, ..PromotedLine::new(&text, source, "") });
    };
    for said in reading.said.iter().filter(|said| !taken.contains(&said.line)) {
        if let Claim::Fact { entity, key, value, category, .. } = &said.claim {
            put(entity, key, value, *category, said.line);
        }
    }
    // Claims that the document reader skipped as uncertain: a person may accept them.
    for (line, _) in reading.kept_out.iter().filter(|(line, _)| !taken.contains(line)) {
        let at = line.saturating_sub(1);
        let Some(Kind::Bullet { text, .. }) = all.get(at).map(|line| line.kind) else { continue };
        let Some((key, value)) = read::key_and_value(text) else { continue };
        let Some(about) = all[..at].iter().rev().find_map(|line| match line.kind {
            Kind::Heading { title, .. } => Some(title.trim_start_matches("About ")),
            _ => None,
        }) else {
            continue;
        };
        let checked = (
            guard::entity(about, None, From::Person),
            guard::key(key, From::Person),
            guard::value(value, From::Person),
        );
        if let (Ok(entity), Ok(key), Ok(value)) = checked {
            put(&entity, &key, &value, None, *line);
        }
    }
    Ok(found)
}

fn lessons(view: &View<'_>) -> Result<Vec<PromotedLine>> {
    let mut found = Vec::new();
    // Lines that a program extracted from conversations or summaries are no person's statement.
    let own = |source: Source| matches!(source, Source::Person | Source::Agent | Source::Conversation);
    view.read(|db| {
        entry::walk_current(db, |entry| {
            if entry.r#type == EntryType::Correction && own(entry.provenance.source) {
                found.push(PromotedLine::new(&entry.content, entry.id.to_string(), "lesson"));
            }
            true
        })
    })?;
    for log in daily::logs(view) {
        let lines = tagged(view, &log).into_iter().map(|(_, one)| one);
        found.extend(lines.filter(|one| matches!(one.category.as_str(), "lesson" | "correction")));
    }
    let known = view.read(|db| turn::known_lessons(db, found.iter().map(|one| one.text.as_str())))?;
    let mut known = known.into_iter();
    found.retain(|one| !known.next().unwrap_or(false) && !strip_injected(&one.text).trim().is_empty());
    for one in &mut found {
        one.arguments = json!({ "text": one.text });
    }
    Ok(found)
}
