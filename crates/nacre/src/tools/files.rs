//! Files of the workspace as tools: reads respect the visibility of the session, writes respect the write policy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Call, ToolResult};
use super::conflict::{self, say_contradictions};
use super::tool::Request;
use crate::base::caller::Actor;
use crate::base::diff::Diff;
use crate::base::redact::{self, redact};
use crate::base::text::lossy;
use crate::base::{Calendar, Error, Result};
use crate::records::tombstone::Tombstones;
use crate::records::workspace::change::{self, Change};
use crate::records::workspace::edit::LastLine;
use crate::records::workspace::policy::{self, Decision, Target};
use crate::records::workspace::proposal::{self, ProposalOutcome, State};
use crate::records::workspace::{FilePath, daily, edit, memory_file};
use crate::search::Contradiction;
use crate::store::audit;
use crate::store::walk::MAX_DOCUMENT_BYTES;

/// The most characters of a file in one answer.
const MAX_SHOWN_CHARS: usize = 20_000;
/// The most characters of a diff that an agent is shown.
const MAX_DIFF_CHARS: usize = 4_000;

/// A file, or some lines of it. A missing file is empty.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the names say it")]
pub struct FileText {
    pub path: String,
    pub text: String,
    /// The first and the last line shown, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<[usize; 2]>,
    pub total_lines: usize,
    /// Whether it is hidden from shared sessions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// Whether the session has been shown details of the infrastructure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    pub infrastructure_seen: bool,
}

redact! {
    FileText { path, text / lines, total_lines, private, infrastructure_seen }
}

/// Reads a file for the session.
pub(super) fn show(
    call: &mut Call<'_>,
    path: &str,
    from: Option<usize>,
    to: Option<usize>,
) -> Result<FileText> {
    let mut path: FilePath = path.parse()?;
    // Some designs name files relative to this folder.
    if let Ok(within) = format!("memory/{path}").parse::<FilePath>()
        && call.view().files().read(&path, 1)?.is_none()
        && call.view().files().read(&within, 1)?.is_some()
    {
        path = within;
    }
    let (visibility, rules) = (call.caller.visibility, call.settings().visibility.private.clone());
    let named = visibility.sees(&rules, path.as_str(), "");
    // A file that the session may not see does not exist for it.
    let bytes = if named { call.view().files().read(&path, MAX_DOCUMENT_BYTES + 1)? } else { None };
    let bytes = bytes.filter(|bytes| visibility.sees_file(&rules, path.as_str(), bytes));
    // A silently cut file would be taken for the whole file.
    if bytes.as_ref().is_some_and(|bytes| bytes.len() as u64 > MAX_DOCUMENT_BYTES) {
        return Err(Error::FileTooLarge { path: path.to_string(), limit: MAX_DOCUMENT_BYTES });
    }
    let text = lossy(bytes.as_deref().unwrap_or_default());
    // Redacted before it is cut: half a credential would not be recognised.
    let masked = redact::document(&text);
    let all: Vec<&str> = masked.split_inclusive('\n').collect();
    let first = from.unwrap_or(1).clamp(1, all.len().max(1)) - 1;
    let last = to.unwrap_or(all.len()).min(all.len());
    let asked = if from.is_some_and(|from| from > all.len()) {
        &[]
    } else {
        all.get(first..last).unwrap_or_default()
    };
    let (text, lines) = cut(asked);
    let is_there = bytes.is_some();
    let told: Vec<(&str, usize)> =
        is_there.then(|| (path.as_str(), text.chars().count())).into_iter().collect();
    let shown = FileText {
        path: path.to_string(),
        lines: (lines > 0).then_some([first + 1, first + lines]),
        text,
        total_lines: all.len(),
        private: is_there
            && !crate::base::caller::Visibility::Shared.sees_file(
                &rules,
                path.as_str(),
                bytes.as_deref().unwrap_or_default(),
            ),
        infrastructure_seen: call.note_seen(&told),
    };
    if let Some([from, to]) = shown.lines
        && path.as_str() == memory_file::PATH
        && call.caller.actor == crate::base::caller::Actor::Agent
    {
        let line = |line: usize| i64::try_from(line).unwrap_or(i64::MAX);
        let lines = [line(from), line(to)];
        memory_file::note_used(call.view(), &[memory_file::LineUse { lines, words: "" }]);
    }
    if !crate::records::workspace::seen::is_infrastructure(path.as_str()) {
        call.view().tell_read("file", &shown.path, shown.text.chars().count());
    }
    Ok(shown)
}

/// Joins lines up to the limit of one answer and adds a note where it stopped. Also returns the number of lines.
fn cut(lines: &[&str]) -> (String, usize) {
    let (mut text, mut room) = (String::new(), MAX_SHOWN_CHARS);
    for (place, line) in lines.iter().enumerate() {
        let length = line.chars().count();
        if length > room {
            text.extend(line.chars().take(if place == 0 { room } else { 0 }));
            let left = lines[place..].iter().map(|line| line.chars().count()).sum::<usize>();
            let left = if place == 0 { left - room } else { left };
            text.push_str(&format!("\n[… cut: {left} more characters; read later lines with `from`]\n"));
            return (text, place.max(1));
        }
        text.push_str(line);
        room -= length;
    }
    (text, lines.len())
}

/// Add a line to today's log or, with `path`, change a workspace file. Many files change only after the user approves; the
/// answer then names a proposal.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteRequest {
    /// The text.
    #[schemars(length(max = 200_000))]
    pub content: String,
    /// Of a log line, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub importance: Option<f64>,
    /// Of a log line, such as decision.
    pub category: Option<String>,
    /// Such as MEMORY.md.
    pub path: Option<String>,
    /// Default append; edit replaces `old` with content.
    pub mode: Option<Mode>,
    /// Text that occurs exactly once.
    #[schemars(length(max = 200_000))]
    pub old: Option<String>,
    /// Reason, for the user.
    #[schemars(length(max = 1000))]
    pub reason: Option<String>,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Mode {
    Append,
    Replace,
    Edit,
}

/// The result of a write.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the names say it")]
pub struct WriteAnswer {
    pub written: bool,
    pub path: String,
    /// The proposal that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Current statements that say otherwise about the same thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub contradicts: Vec<Contradiction>,
}

redact! {
    WriteAnswer { path, diff, note, contradicts / written, proposal, status }
}

impl Request for WriteRequest {
    type Answer = WriteAnswer;
    const NAME: &str = "memory_write";
    const CROSSES_GROUPS: bool = true;
    const ASKS_POLICY: bool = true;

    fn proposal(answer: &WriteAnswer) -> Option<i64> {
        answer.proposal.filter(|_| answer.status == Some(State::Pending.as_str()))
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<WriteAnswer> {
        let wrong =
            |field: &str, problem: &str| Err(Error::bad_argument("memory_write", field, problem).into());
        if call.caller.actor == Actor::Agent {
            call.view().read_all(|db| Tombstones::load(db)?.check(&self.content))?;
        }
        let Some(path) = &self.path else {
            if self.mode.is_some() || self.old.is_some() {
                return wrong("path", "is missing: `mode` and `old` are about a file");
            }
            return Ok(self.log(call)?);
        };
        if self.importance.is_some() || self.category.is_some() {
            return wrong("path", "is given: `importance` and `category` are about the log");
        }
        let path: FilePath = path.parse()?;
        match (self.mode.unwrap_or(Mode::Append), &self.old) {
            (Mode::Edit, None) => wrong("old", "is missing"),
            (Mode::Append | Mode::Replace, Some(_)) => wrong("mode", "is not `edit`, and `old` is given"),
            (mode, _) => Ok(self.file(call, &path, mode)?),
        }
    }

    fn say(answer: &WriteAnswer, calendar: &Calendar) -> String {
        let WriteAnswer { path, note, diff, .. } = answer;
        let text = match (answer.proposal, note) {
            (Some(_), Some(note)) => {
                format!("{note}\n{}", diff.as_deref().unwrap_or_default()).trim_end().to_owned()
            }
            (None, Some(note)) => format!("{path}: {note}"),
            (_, None) => format!("Written to {path}."),
        };
        text + &say_contradictions(&answer.contradicts, calendar)
    }
}

impl WriteRequest {
    /// Adds a line to today's log.
    fn log(self, call: &mut Call<'_>) -> Result<WriteAnswer> {
        let caller = call.caller;
        let draft = daily::Draft { text: self.content, category: self.category, importance: self.importance };
        if policy::decide(Target::Log, caller, call.view.rights(), call.settings())? == Decision::Propose {
            let mut held = change::lock(call.view())?;
            let daily::ExtendedLog { path, before, after, .. } = daily::extend(&held, &draft)?;
            if before.as_ref() == Some(&after) {
                return Ok(unchanged(&path.to_string()));
            }
            let reason = self.reason.unwrap_or_default();
            let change = Change { path: path.clone(), before, after: Some(after) };
            let contradicts = conflict::of_document(&mut held.view, &change, false)?;
            let made = proposal::propose_file(&mut held, change, &reason, &[])?;
            return Ok(WriteAnswer { contradicts, ..proposed(path.as_str(), &made) });
        }
        let done = daily::add(call.view(), &draft)?;
        if done.duplicate {
            return Ok(unchanged(&done.path));
        }
        let contradicts = conflict::of_log_line(call.view(), &done.path, &done.text)?;
        Ok(WriteAnswer { written: true, contradicts, ..nothing(&done.path) })
    }

    /// Changes a file, or proposes the change.
    fn file(self, call: &mut Call<'_>, path: &FilePath, mode: Mode) -> Result<WriteAnswer> {
        let caller = call.caller;
        let mut decision = policy::decide(Target::File(path), caller, call.view.rights(), call.settings())?;
        let mut held = change::lock(call.view())?;
        let is_seen = proposal::is_seen(&held, caller, path)?;
        let before = held.read(path)?.filter(|_| is_seen);
        if !is_seen {
            decision = Decision::Propose;
        }
        let base = before.as_deref().unwrap_or_default();
        if self.content.contains(redact::MASK) && !lossy(base).contains(redact::MASK) {
            // The agent read the file redacted: written back, the credential would be lost.
            let problem = format!(
                "has `{}`, which hides a credential of the file; use `edit` and leave that part as it is",
                redact::MASK
            );
            return Err(Error::bad_argument("memory_write", "content", problem));
        }
        let after = match mode {
            Mode::Append => edit::append(base, &self.content, LastLine::Ended),
            Mode::Replace => edit::replace(base, &self.content),
            Mode::Edit => edit::edit(base, self.old.as_deref().unwrap_or_default(), &self.content)?,
        };
        if after.len() as u64 > change::MAX_FILE_BYTES {
            return Err(Error::FileTooLarge { path: path.to_string(), limit: change::MAX_FILE_BYTES });
        }
        if before.as_ref() == Some(&after) {
            return Ok(unchanged(path.as_str()));
        }
        if decision == Decision::Propose {
            let reason = self.reason.unwrap_or_default();
            let prune = memory_file::advice(&held.view, path.as_str(), &after);
            let change = Change { path: path.clone(), before, after: Some(after) };
            let contradicts = conflict::of_document(&mut held.view, &change, false)?;
            let made = proposal::propose_file(&mut held, change, &reason, &[])?;
            let mut answer = WriteAnswer { contradicts, ..proposed(path.as_str(), &made) };
            answer.note =
                answer.note.into_iter().chain(prune).reduce(|note, prune| format!("{note} {prune}"));
            return Ok(answer);
        }
        let prune = memory_file::advice(&held.view, path.as_str(), &after);
        let diff = shortened(&Diff::new(path.as_str(), before.as_deref(), Some(&after)).to_string());
        let (size, delta) = (after.len(), change::char_delta(before.as_deref(), Some(&after)));
        let change = [Change { path: path.clone(), before, after: Some(after) }];
        held.commit("write", &change, |tx| {
            audit::Row::new("memory_write").id(path).with("bytes", size).append(tx, caller)
        })?;
        drop(held);
        call.view().tell_write("file", path.as_str(), delta);
        let contradicts = conflict::of_document(call.view(), &change[0], true)?;
        Ok(WriteAnswer {
            written: true,
            diff: Some(diff),
            note: prune,
            contradicts,
            ..nothing(path.as_str())
        })
    }
}

fn nothing(path: &str) -> WriteAnswer {
    WriteAnswer {
        written: false,
        path: path.into(),
        proposal: None,
        status: None,
        diff: None,
        note: None,
        contradicts: Vec::new(),
    }
}

fn unchanged(path: &str) -> WriteAnswer {
    WriteAnswer { note: Some("the file already says that; nothing was written".into()), ..nothing(path) }
}

fn proposed(path: &str, made: &ProposalOutcome) -> WriteAnswer {
    let diff = Some(shortened(&made.diff)).filter(|_| made.state == State::Pending);
    WriteAnswer {
        proposal: Some(made.number),
        status: Some(made.state.as_str()),
        diff,
        note: Some(say(made)),
        ..nothing(path)
    }
}

/// Describes the state of a proposal for an agent.
pub(super) fn say(made: &ProposalOutcome) -> String {
    let ProposalOutcome { number, answer, .. } = made;
    match made.state {
        State::Denied if answer.is_empty() => format!("The user has denied this (proposal {number})."),
        State::Denied => format!("The user has denied this (proposal {number}): {answer}"),
        _ => format!(
            "Not written yet: proposal {number} waits for the user, who can run `nacre approve {number}` (or `nacre deny {number}`)."
        ),
    }
}

fn shortened(diff: &str) -> String {
    match diff.char_indices().nth(MAX_DIFF_CHARS) {
        None => diff.to_owned(),
        Some((at, _)) => format!("{}\n[… cut]", &diff[..at]),
    }
}
