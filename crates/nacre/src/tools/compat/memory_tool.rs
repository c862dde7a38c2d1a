//! Anthropic's memory tool, `memory_20250818`: a model keeps its own files under `/memories`. They are files of the workspace, in
//! `memories/`: searched as documents, shown in the dashboard, exported, and subject to the write policy (`write.memories`) and
//! to visibility. The messages to the model are exactly those of the original tool.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::path::MEMORIES;
use crate::base::redact::{self, redact};
use crate::base::text::lossy;
use crate::base::{Calendar, Error, Result};
use crate::records::workspace::change::{self, Change, LockedWorkspace};
use crate::records::workspace::policy::{self, Decision, Target};
use crate::records::workspace::proposal::{self, ProposalOutcome};
use crate::records::workspace::{self, FilePath};
use crate::store::Files;
use crate::store::audit;
use crate::tools::call::{Call, Mode, ToolResult};
use crate::tools::conflict;
use crate::tools::perform;
use crate::tools::tool::Request;

/// The name of the tool.
const MEMORY_TOOL: &str = "memory_tool";

/// The folder as the model sees it.
const ROOT: &str = "/memories";
/// The most lines of a file, which also sets the width of line numbers.
const MAX_LINES: usize = 999_999;
/// The most characters of a file in one answer.
const MAX_SHOWN_CHARS: usize = 100_000;
/// The most lines that are listed if a text occurs more than once.
const MAX_LISTED_LINES: usize = 1_000;
/// The most files.
const MAX_FILES: usize = 1_000;
/// How many levels of a folder are shown.
const SHOWN_LEVELS: usize = 2;

/// Anthropic's memory tool (memory_20250818): files under /memories.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryToolRequest {
    /// The command.
    command: Command,
    /// A file or folder; for all commands except rename.
    path: Option<String>,
    /// For view: the first and the last line, from 1; -1 is the end.
    view_range: Option<Vec<i64>>,
    /// For create.
    #[schemars(length(max = 1_000_000))]
    file_text: Option<String>,
    /// For str_replace: text that occurs exactly once.
    #[schemars(length(max = 1_000_000))]
    old_str: Option<String>,
    /// For str_replace: the replacement.
    #[schemars(length(max = 1_000_000))]
    new_str: Option<String>,
    /// For insert: the line after which to insert; 0 is the beginning.
    insert_line: Option<i64>,
    /// For insert.
    #[schemars(length(max = 1_000_000))]
    insert_text: Option<String>,
    /// For rename.
    old_path: Option<String>,
    /// For rename.
    new_path: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Command {
    View,
    Create,
    StrReplace,
    Insert,
    Delete,
    Rename,
}

/// The answer for the model.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the names of Anthropic's tool")]
pub struct MemoryToolResult {
    pub content: String,
    pub is_error: bool,
    /// The proposal that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
}

redact! { MemoryToolResult { content / is_error, proposal, status } }

/// Why a command was not carried out.
enum No {
    /// The model gets this message, and may correct its call.
    Say(String),
    /// A person must decide first.
    Wait(ProposalOutcome),
    Fail(Error),
}

impl From<Error> for No {
    fn from(error: Error) -> No {
        No::Fail(error)
    }
}

type Done<T> = std::result::Result<T, No>;

fn say<T>(text: String) -> Done<T> {
    Err(No::Say(text))
}

impl Request for MemoryToolRequest {
    type Answer = MemoryToolResult;
    const NAME: &str = "memory_tool";
    const ASKS_POLICY: bool = true;

    fn run(self, call: &mut Call<'_>) -> ToolResult<MemoryToolResult> {
        let told = |content, is_error| MemoryToolResult { content, is_error, proposal: None, status: None };
        let done = match self.command {
            Command::View => self.view(call),
            _ => self.write(call),
        };
        match done {
            Ok(content) => Ok(told(content, false)),
            // An approved proposal must not be marked as done if nothing was done.
            Err(No::Say(problem)) if matches!(call.mode, Mode::Approved { .. }) => {
                Err(wrong("path", problem).into())
            }
            Err(No::Say(content)) => Ok(told(content, true)),
            Err(No::Wait(made)) => Ok(MemoryToolResult {
                proposal: Some(made.number),
                status: Some(made.state.as_str()),
                ..told(crate::tools::files::say(&made), true)
            }),
            Err(No::Fail(error)) => Err(error.into()),
        }
    }

    fn say(answer: &MemoryToolResult, _: &Calendar) -> String {
        answer.content.clone()
    }
}

fn wrong(field: &str, problem: String) -> Error {
    Error::bad_argument(MEMORY_TOOL, field, problem)
}

/// A planned write: the changes, and the message about them.
struct Plan {
    changes: Vec<Change>,
    said: String,
}

impl MemoryToolRequest {
    fn given<'a>(&self, name: &str, value: &'a Option<String>) -> Done<&'a str> {
        match value {
            Some(value) => Ok(value),
            None => Err(No::Fail(wrong(name, "is missing".into()))),
        }
    }

    fn view(&self, call: &mut Call<'_>) -> Done<String> {
        let given = self.given("path", &self.path)?;
        let place = Place::of(given)?;
        let seen = VisibleFiles::of(call);
        if let Place::File(path) = &place
            && let Some(bytes) = seen.file(path, given)?
        {
            call.view().tell_read("file", path.as_str(), bytes.len());
            return self.numbered(given, &bytes);
        }
        let files = seen.below(&place)?;
        if files.is_empty() && place != Place::Root {
            return say(format!("The path {given} does not exist. Please provide a valid path."));
        }
        Ok(listed(given.trim_end_matches('/'), &files))
    }

    /// Returns the lines of a file with their numbers. They are redacted before they are cut: half a credential would not be
    /// recognised.
    fn numbered(&self, given: &str, bytes: &[u8]) -> Done<String> {
        let text = lossy(bytes);
        let masked = redact::document(&text);
        let lines: Vec<&str> = masked.split('\n').collect();
        if lines.len() > MAX_LINES {
            return say(format!("File {given} exceeds maximum line limit of 999,999 lines."));
        }
        let (mut from, mut to) = (0, lines.len());
        if let Some([first, last]) = self.view_range.as_deref() {
            from = usize::try_from(first.max(&1) - 1).unwrap_or(usize::MAX).min(lines.len());
            if *last != -1 {
                to = usize::try_from(*last).unwrap_or(0).clamp(from, lines.len().max(from));
            }
        }
        let mut said = format!("Here's the content of {given} with line numbers:");
        let mut room = MAX_SHOWN_CHARS;
        for (place, line) in lines[from..to].iter().enumerate() {
            let length = line.chars().count();
            if length > room {
                said.push_str(&format!(
                    "\n[… cut at line {}: give `view_range` to see more]",
                    from + place + 1
                ));
                return Ok(said);
            }
            room -= length;
            said.push_str(&format!("\n{:>6}\t{line}", from + place + 1));
        }
        if from == to {
            said.push('\n');
        }
        Ok(said)
    }

    fn write(&self, call: &mut Call<'_>) -> Done<String> {
        let caller = call.caller;
        let named = match self.command {
            Command::Rename => vec![("old_path", &self.old_path), ("new_path", &self.new_path)],
            _ => vec![("path", &self.path)],
        };
        let mut places = Vec::new();
        for (name, value) in named {
            let given = self.given(name, value)?;
            places.push((given, Place::of(given)?));
        }
        let mut decision = Decision::Apply;
        for (_, place) in &places {
            if let (Place::File(path), Mode::Run) = (place, call.mode)
                && policy::decide(Target::File(path), caller, call.view.rights(), call.settings())?
                    == Decision::Propose
            {
                decision = Decision::Propose;
            }
        }
        let (seen, mode) = (VisibleFiles::of(call), call.mode);
        let mut held = change::lock(call.view())?;
        let (given, place) = &places[0];
        let plan = match (self.command, place) {
            (Command::Delete, Place::Root) => say("Cannot delete the /memories directory itself".into()),
            (Command::Rename, Place::Root) => say("Cannot rename the /memories directory itself".into()),
            (Command::Create, Place::Root) => say(format!("File {given} already exists")),
            (_, Place::Root) => say(format!("The path {given} is not a file.")),
            (Command::Create, Place::File(path)) => self.create(&seen, given, path),
            (Command::Delete, Place::File(path)) => delete(&seen, given, path),
            (Command::Rename, Place::File(path)) => rename(&seen, given, path, &places[1]),
            (_, Place::File(path)) => self.edit(&seen, given, path),
        }?;
        for Change { path, after, .. } in &plan.changes {
            if !proposal::is_seen(&held, caller, path)? {
                decision = Decision::Propose;
            }
            if after.as_ref().is_some_and(|after| after.len() as u64 > change::MAX_FILE_BYTES) {
                return say(format!("The file would have more than {} MiB.", change::MAX_FILE_BYTES >> 20));
            }
        }
        if decision == Decision::Propose {
            drop(held);
            let arguments = perform::arguments(self)?;
            return Err(No::Wait(proposal::propose_call(call.view(), MEMORY_TOOL, &arguments, None)?));
        }
        commit(mode, caller, &mut held, &plan)?;
        for Change { path, .. } in plan.changes.iter().filter(|change| change.after.is_none()) {
            held.files().remove_empty_folders(path);
        }
        drop(held);
        for Change { path, before, after } in &plan.changes {
            let delta = change::char_delta(before.as_deref(), after.as_deref());
            call.view().tell_write("file", path.as_str(), delta);
        }
        // The messages are those of the original tool, so `nacre conflicts` alone lists what it contradicts.
        for change in &plan.changes {
            conflict::of_document(call.view(), change, true)?;
        }
        Ok(plan.said)
    }

    fn create(&self, seen: &VisibleFiles, given: &str, path: &FilePath) -> Done<Plan> {
        let text = self.given("file_text", &self.file_text)?;
        if seen.is_there(path)? {
            return say(format!("File {given} already exists"));
        }
        seen.check_above(path)?;
        if seen.below(&Place::Root)?.len() >= MAX_FILES {
            return say(format!("There are {MAX_FILES} files in {ROOT} already; delete or join some first."));
        }
        check_mask(b"", text)?;
        let after = Some(text.as_bytes().to_vec());
        let changes = vec![Change { path: path.clone(), before: None, after }];
        Ok(Plan { changes, said: format!("File created successfully at: {given}") })
    }

    /// `str_replace` and `insert`.
    fn edit(&self, seen: &VisibleFiles, given: &str, path: &FilePath) -> Done<Plan> {
        let Some(before) = seen.file(path, given)? else {
            return match seen.below(&Place::File(path.clone()))?.is_empty() {
                true => say(format!("The path {given} does not exist. Please provide a valid path.")),
                false => say(format!("The path {given} is not a file.")),
            };
        };
        let Ok(text) = String::from_utf8(before.clone()) else {
            return say(format!("The file {given} is not text in UTF-8."));
        };
        let (after, said) = match self.command {
            Command::Insert => self.insert(given, &text)?,
            _ => self.replace(given, &text)?,
        };
        let changes =
            vec![Change { path: path.clone(), before: Some(before), after: Some(after.into_bytes()) }];
        Ok(Plan { changes, said })
    }

    fn replace(&self, given: &str, text: &str) -> Done<(String, String)> {
        let old = self.given("old_str", &self.old_str)?;
        let new = self.new_str.as_deref().unwrap_or_default();
        check_mask(text.as_bytes(), new)?;
        let line = |text: &str, at: usize| text[..at].matches('\n').count();
        // The search uses the redacted text, so that the model can't guess a credential letter by letter.
        let seen = redact::document(text);
        let at = match seen.matches(old).take(2).count() {
            _ if old.is_empty() => None,
            0 => None,
            1 => seen.find(old),
            _ => {
                let lines = lines_of(&seen, old);
                return say(format!(
                    "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. Please ensure it is unique"
                ));
            }
        };
        let Some(at) = at else {
            return say(format!(
                "No replacement was performed, old_str `{old}` did not appear verbatim in {given}."
            ));
        };
        let put = |text: &str, at: usize| format!("{}{new}{}", &text[..at], &text[at + old.len()..]);
        let Some(place) = unmasked(text, &seen, at, old.len()) else { return uncovers(given) };
        let after = put(text, place);
        let masked = redact::document(&after);
        if matches!(seen, Cow::Owned(_)) && redact::document(&put(&seen, at)) != masked {
            return uncovers(given);
        }
        let lines: Vec<&str> = masked.split('\n').collect();
        let number = line(&seen, at);
        let (from, to) = (number.saturating_sub(2), (number + 3).min(lines.len()));
        let shown = (from..to).map(|number| format!("{:>6}\t{}", number + 1, lines[number]));
        let shown = shown.collect::<Vec<_>>().join("\n");
        let said = format!(
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"
        );
        Ok((after, said))
    }

    fn insert(&self, given: &str, text: &str) -> Done<(String, String)> {
        let new = self.given("insert_text", &self.insert_text)?;
        check_mask(text.as_bytes(), new)?;
        let Some(number) = self.insert_line else {
            return Err(No::Fail(wrong("insert_line", "is missing".into())));
        };
        let lines = text.split('\n').count() - usize::from(text.ends_with('\n') || text.is_empty());
        let Some(at) = usize::try_from(number).ok().filter(|at| *at <= lines) else {
            return say(format!(
                "Invalid `insert_line` parameter: {number}. It should be within the range [0, {lines}]."
            ));
        };
        let put = |text: &str| {
            let mut all: Vec<&str> = text.split('\n').take(lines).collect();
            all.insert(at, new.trim_end_matches('\n'));
            let mut after = all.join("\n");
            if !after.ends_with('\n') {
                after.push('\n');
            }
            after
        };
        let after = put(text);
        if let Cow::Owned(seen) = redact::document(text)
            && redact::document(&put(&seen)) != redact::document(&after)
        {
            return uncovers(given);
        }
        Ok((after, format!("The file {given} has been edited.")))
    }
}

/// Returns the lines in which a text occurs, from 1; occurrences may overlap.
fn lines_of(text: &str, part: &str) -> String {
    let (mut lines, mut number, mut from, mut counted) = (Vec::new(), 1, 0, 0);
    while let Some(found) = text[from..].find(part) {
        if lines.len() == MAX_LISTED_LINES {
            lines.push("…".to_owned());
            break;
        }
        let at = from + found;
        number += text[counted..at].matches('\n').count();
        lines.push(number.to_string());
        counted = at;
        from = at + text[at..].chars().next().map_or(1, char::len_utf8);
    }
    lines.join(", ")
}

/// Returns the position in a text for a position in its redacted form. Lines keep their numbers, and both are equal before the
/// first and after the last credential of the affected lines; `None`: the part is between two credentials.
fn unmasked(text: &str, masked: &str, at: usize, length: usize) -> Option<usize> {
    let lines = |text: &str| text.matches('\n').count();
    // The end of a line does not count as the next line.
    let length = length - usize::from(masked[at..at + length].ends_with('\n'));
    let from = masked[..at].rfind('\n').map_or(0, |end| end + 1);
    let to = masked[at + length..].find('\n').map_or(masked.len(), |end| at + length + end);
    let skip = lines(&masked[..from]);
    let many = lines(&masked[from..to]) + 1;
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).chain([text.len()]).collect();
    let start = if skip == 0 { 0 } else { ends.get(skip - 1)? + 1 };
    let end = *ends.get(skip + many - 1)?;
    let (real, shown) = (text.get(start..end)?.as_bytes(), &masked.as_bytes()[from..to]);
    let before = real.iter().zip(shown).take_while(|(one, other)| one == other).count();
    if at - from + length <= before {
        return Some(start + at - from);
    }
    let behind = real.iter().rev().zip(shown.iter().rev()).take_while(|(one, other)| one == other).count();
    (to - at <= behind).then(|| end - (to - at))
}

/// Refuses an edit after which a credential would no longer be recognised, and would be shown.
fn uncovers<T>(given: &str) -> Done<T> {
    say(format!("The file {given} has a credential there; leave the text around it as it is."))
}

fn delete(seen: &VisibleFiles, given: &str, path: &FilePath) -> Done<Plan> {
    let gone = |path: FilePath, bytes| Change { path, before: Some(bytes), after: None };
    let mut changes = Vec::new();
    match seen.file(path, given)? {
        Some(bytes) => changes.push(gone(path.clone(), bytes)),
        None => {
            for (path, bytes) in seen.files_below(path)? {
                changes.push(gone(path, bytes));
            }
        }
    }
    if changes.is_empty() {
        return say(format!("The path {given} does not exist"));
    }
    Ok(Plan { changes, said: format!("Successfully deleted {given}") })
}

fn rename(seen: &VisibleFiles, given: &str, path: &FilePath, to: &(&str, Place)) -> Done<Plan> {
    let (to_given, Place::File(to)) = to else {
        return say(format!("The destination {} already exists", to.0));
    };
    if seen.is_there(to)? {
        return say(format!("The destination {to_given} already exists"));
    }
    let moved = match seen.file(path, given)? {
        Some(bytes) => vec![(path.clone(), to.clone(), bytes)],
        None => {
            let below = seen.files_below(path)?;
            if to.as_str().starts_with(&format!("{path}/")) && !below.is_empty() {
                return say(format!("The path {given} can't be moved into itself"));
            }
            let mut moved = Vec::new();
            for (from, bytes) in below {
                let rest = &from.as_str()[path.as_str().len()..];
                let place =
                    format!("{to}{rest}").parse().map_err(|error: Error| No::Say(error.to_string()))?;
                moved.push((from, place, bytes));
            }
            moved
        }
    };
    if moved.is_empty() {
        return say(format!("The path {given} does not exist"));
    }
    seen.check_above(to)?;
    let mut changes = Vec::new();
    for (from, to, bytes) in moved {
        changes.push(Change { path: to, before: None, after: Some(bytes.clone()) });
        changes.push(Change { path: from, before: Some(bytes), after: None });
    }
    Ok(Plan { changes, said: format!("Successfully renamed {given} to {to_given}") })
}

fn commit(
    mode: Mode<'_>,
    caller: &crate::base::caller::Caller,
    held: &mut LockedWorkspace<'_>,
    plan: &Plan,
) -> Result<()> {
    let cause = match mode {
        // A change that conflicts with a person's edit waits again.
        Mode::Approved { number, .. } => format!("proposal {number}"),
        _ => "write".to_owned(),
    };
    held.commit(&cause, &plan.changes, |tx| {
        let mut row = audit::Row::new(MEMORY_TOOL);
        row.ids.extend(plan.changes.iter().map(|change| change.path.to_string()));
        let size: usize = plan.changes.iter().filter_map(|change| change.after.as_ref()).map(Vec::len).sum();
        row.detail.insert("bytes".into(), size.into());
        row.append(tx, caller)?;
        match mode {
            Mode::Approved { number, by } => proposal::mark_approved(tx, by, number),
            _ => Ok(()),
        }
    })
}

/// Refuses text with a mask in it: written back, the credential would be lost.
fn check_mask(before: &[u8], new: &str) -> Done<()> {
    if new.contains(redact::MASK) && !lossy(before).contains(redact::MASK) {
        return say(format!(
            "The text has `{}`, which hides a credential of the file; leave that part as it is.",
            redact::MASK
        ));
    }
    Ok(())
}

/// A path that the model gives.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Root,
    File(FilePath),
}

impl Place {
    fn of(given: &str) -> Done<Place> {
        let below = given.strip_prefix(ROOT).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let Some(below) = below else { return say(format!("Path must start with /memories, got: {given}")) };
        let below = below.trim_start_matches('/').trim_end_matches('/');
        if below.is_empty() {
            return Ok(Place::Root);
        }
        format!("{MEMORIES}/{below}").parse().map(Place::File).or_else(|error| refused(given, error))
    }
}

/// Explains why a path is invalid, in the original tool's words if it would leave the folder.
fn refused<T>(given: &str, error: Error) -> Done<T> {
    let Error::BadPath { problem, .. } = &error else { return Err(No::Fail(error)) };
    let leads_out =
        ["`..`", "encoded", "relative", "control", "link"].iter().any(|word| problem.contains(word));
    match leads_out {
        true => say(format!("Path {given} would escape /memories directory")),
        false => say(format!("The path {given} is not allowed: it {problem}.")),
    }
}

/// The files as the session sees them.
struct VisibleFiles {
    files: Files,
    visibility: crate::base::caller::Visibility,
    private: Vec<String>,
}

impl VisibleFiles {
    fn of(call: &mut Call<'_>) -> VisibleFiles {
        let (visibility, private) = (call.caller.visibility, call.settings().visibility.private.clone());
        VisibleFiles { files: call.view().files().clone(), visibility, private }
    }

    /// Returns the bytes of a file; `None`: it does not exist or is a folder.
    fn file(&self, path: &FilePath, given: &str) -> Done<Option<Vec<u8>>> {
        let bytes = match self.files.read(path, change::MAX_FILE_BYTES + 1) {
            Ok(bytes) => bytes,
            Err(Error::BadPath { problem: "is not a file", .. }) => None,
            Err(error) => return refused(given, error),
        };
        let bytes = bytes.filter(|bytes| self.visibility.sees_file(&self.private, path.as_str(), bytes));
        match bytes {
            Some(bytes) if bytes.len() as u64 > change::MAX_FILE_BYTES => {
                say(format!("The file {given} has more than {} MiB.", change::MAX_FILE_BYTES >> 20))
            }
            bytes => Ok(bytes),
        }
    }

    /// Tells whether the session sees a file or a folder here. A file that it may not see must not be told from a missing one:
    /// a write to it waits.
    fn is_there(&self, path: &FilePath) -> Done<bool> {
        match self.files.read(path, change::MAX_FILE_BYTES + 1) {
            Ok(found) => {
                Ok(found.is_some_and(|bytes| self.visibility.sees_file(&self.private, path.as_str(), &bytes)))
            }
            Err(Error::BadPath { problem: "is not a file", .. }) => Ok(true),
            Err(error) => refused(&format!("/{path}"), error),
        }
    }

    /// Refuses a path inside a file.
    fn check_above(&self, path: &FilePath) -> Done<()> {
        let names: Vec<&str> = path.names().collect();
        for end in 2..names.len() {
            let above: FilePath = names[..end].join("/").parse()?;
            if self.files.read(&above, 0).is_ok_and(|found| found.is_some()) {
                return say(format!("The path /{above} is not a directory."));
            }
        }
        Ok(())
    }

    /// Returns the files under a path that the session sees, with their sizes, by path.
    fn below(&self, place: &Place) -> Done<Vec<(String, u64)>> {
        let root = match place {
            Place::Root => format!("{MEMORIES}/"),
            Place::File(path) => format!("{path}/"),
        };
        let mut found = Vec::new();
        for seen in workspace::list(&self.files) {
            let Some(rest) = seen.path.strip_prefix(&root) else { continue };
            let Ok(path) = seen.path.parse::<FilePath>() else { continue };
            let is_seen =
                self.visibility.is_private() || self.file(&path, "").is_ok_and(|file| file.is_some());
            if is_seen {
                found.push((rest.to_owned(), u64::try_from(seen.size).unwrap_or(0)));
            }
        }
        Ok(found)
    }

    fn files_below(&self, path: &FilePath) -> Done<Vec<(FilePath, Vec<u8>)>> {
        let mut found = Vec::new();
        for (rest, _) in self.below(&Place::File(path.clone()))? {
            let path: FilePath = format!("{path}/{rest}").parse()?;
            if let Some(bytes) = self.file(&path, path.as_str())? {
                found.push((path, bytes));
            }
        }
        Ok(found)
    }
}

/// Lists a folder, two levels deep, with sizes; the size of a folder is that of its files.
fn listed(given: &str, files: &[(String, u64)]) -> String {
    let mut rows: std::collections::BTreeMap<Vec<&str>, (u64, bool)> = std::collections::BTreeMap::new();
    for (path, size) in files {
        let names: Vec<&str> = path.split('/').collect();
        for depth in 1..=names.len().min(SHOWN_LEVELS) {
            let row = rows.entry(names[..depth].to_vec()).or_insert((0, depth < names.len()));
            row.0 += size;
        }
    }
    let total = files.iter().map(|(_, size)| size).sum();
    let mut lines = vec![
        format!("Here're the files and directories up to 2 levels deep in {given}, excluding hidden items:"),
        format!("{}\t{given}", sized(total)),
    ];
    lines.extend(rows.iter().map(|(names, (size, is_folder))| {
        let end = if *is_folder { "/" } else { "" };
        format!("{}\t{given}/{}{end}", sized(*size), names.join("/"))
    }));
    lines.join("\n")
}

/// Formats a size as the original tool does: `512B`, `1.5K`, `4K`.
fn sized(bytes: u64) -> String {
    let (mut unit, mut whole) = (0, 1u64);
    while unit < 3 && bytes / whole >= 1024 {
        unit += 1;
        whole *= 1024;
    }
    let letter = ["B", "K", "M", "G"][unit];
    if bytes.is_multiple_of(whole) {
        return format!("{}{letter}", bytes / whole);
    }
    #[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
    let size = bytes as f64 / whole as f64;
    format!("{size:.1}{letter}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        for (bytes, shown) in [
            (0, "0B"),
            (512, "512B"),
            (1023, "1023B"),
            (1024, "1K"),
            (1536, "1.5K"),
            (4096, "4K"),
            (2 << 20, "2M"),
        ] {
            assert_eq!(sized(bytes), shown);
        }
    }

    #[test]
    fn a_part_is_found_beside_what_is_masked() {
        let key = format!("ghp_{}", "a1B2".repeat(9));
        let text = format!("a {key} b\nb {key} c {key} d\nb end");
        let masked = redact::document(&text);
        for (part, found) in [
            ("a ", true),
            (" b\nb ", false),
            (" c ", false),
            (" d\nb e", true),
            ("b end", true),
            (" b\n", true),
        ] {
            let at = masked.find(part).unwrap();
            let place = unmasked(&text, &masked, at, part.len());
            assert_eq!(place.map(|place| &text[place..place + part.len()]), found.then_some(part), "{part}");
        }
        assert_eq!(lines_of("aaa\na\n", "a"), "1, 1, 1, 2");
        let many = lines_of(&"a\n".repeat(2_000_000), "a");
        assert!(many.ends_with("1000, …"));
    }

    #[test]
    fn folders_are_shown_two_levels_deep() {
        let files = [("a.md", 512), ("b/c.txt", 1024), ("b/d/e.md", 512), ("b/d/f/g.md", 10)];
        let files = files.map(|(path, size)| (path.to_owned(), size));
        let expected = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n\
            2.0K\t/memories\n512B\t/memories/a.md\n1.5K\t/memories/b/\n1K\t/memories/b/c.txt\n522B\t/memories/b/d/";
        assert_eq!(listed("/memories", &files), expected);
    }
}
