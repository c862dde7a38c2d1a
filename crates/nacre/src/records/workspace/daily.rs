//! Daily logs: one file per day, one line per event. Lines are only ever appended. Retention moves less
//! important lines to an archive, and never loses one.
//!
//! `memory/2026-02-18.md` is the log of a day in the person's time zone. Nacre writes to `memory/daily`
//! instead if that folder has logs or `log.folder` selects it.
//!
//! With `visibility.private_writes`, that log belongs to private sessions: Nacre marks it private when it
//! creates it. If someone else made it and did not mark it, private sessions write to `2026-02-18-private.md`.
//! Shared sessions write to `2026-02-18-shared.md`, whether there is a private log or not.
//! The archive is `memory/archive`, with one file per day under the same name, so that archived lines keep
//! their date. It is searched like any document, but not loaded at the start of a session.

use crate::base::text::decode;
use serde::Serialize;

use super::change::{self, Change, LockedWorkspace};
use super::edit::{self, LastLine};
use super::lines;
use super::{FilePath, Note};
use crate::base::caller::{Caller, Role};
use crate::base::frame::{is_injected, one_line};
use crate::base::redact;
use crate::group::View;
use crate::store::audit;
use crate::store::event::payload;

use crate::base::Day;
use crate::base::caller::Visibility;
use crate::base::settings::Visibility as Visible;
use crate::base::{Error, Result, settings};
use crate::records::entry::MAX_CONTENT_CHARS;

/// The category of a line that has none.
const DEFAULT_CATEGORY: &str = "note";
/// The importance of a line that has none.
const DEFAULT_IMPORTANCE: f64 = 0.5;
/// The maximum length of a category, in characters.
const MAX_CATEGORY_CHARS: usize = 30;

const LOG_FOLDER: &str = "memory";
const DAILY_FOLDER: &str = "memory/daily";
const ARCHIVE_FOLDER: &str = "memory/archive";

/// How often an append is tried when an editor saves the file at the same time.
const MAX_ATTEMPTS: usize = 5;

/// A line to be appended.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The event. It becomes one line.
    pub text: String,
    /// The category, any single word such as `decision`, `lesson` or `milestone`. Default `note`.
    pub category: Option<String>,
    /// The importance, 0 to 1; default 0.5. It decides how long the line stays in the log.
    pub importance: Option<f64>,
}

/// The result of appending a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AppendReport {
    /// The path of the log.
    pub path: String,
    /// The line number.
    pub line: usize,
    /// The line as written.
    pub text: String,
    /// Whether the line existed already, so that nothing was written.
    pub duplicate: bool,
}

/// Appends a line to today's log.
pub fn append(view: &mut View<'_>, draft: &Draft) -> Result<AppendReport> {
    let added = add(view, draft);
    if let Err(error) = &added {
        view.record_refusal("log", error);
    }
    added
}

/// Appends a line within a tool call, which records refusals itself.
pub(crate) fn add(view: &mut View<'_>, draft: &Draft) -> Result<AppendReport> {
    let caller = view.caller();
    allow(caller)?;
    let mut tries = 0;
    let mut added = loop {
        tries += 1;
        match try_append(view, draft) {
            // An editor saved the file at this moment. Try again with its text.
            Err(Error::FileChanged { .. }) if tries < MAX_ATTEMPTS => {}
            added => break added?,
        }
    };
    if !added.duplicate {
        let delta = added.text.chars().count();
        let data = [("type", "log".into()), ("path", added.path.as_str().into()), ("delta", delta.into())];
        tell(view, data);
    }
    added.text = redact::text(&added.text).into_owned();
    Ok(added)
}

fn allow(caller: &Caller) -> Result<()> {
    match caller.role {
        Role::Skill => Err(Error::RoleDenied { tool: "log".into(), role: caller.role.as_str() }),
        _ => Ok(()),
    }
}

fn tell(view: &View<'_>, data: [(&str, serde_json::Value); 3]) {
    view.tell("memory:write", payload(data));
}

fn try_append(view: &mut View<'_>, draft: &Draft) -> Result<AppendReport> {
    let caller = view.caller();
    let mut held = change::lock(view)?;
    let ExtendedLog { path, before, after, line, number } = extend(&held, draft)?;
    let duplicate = before.as_ref() == Some(&after);
    if !duplicate {
        let change = Change { path: path.clone(), before, after: Some(after) };
        held.commit("log", &[change], |tx| {
            audit::Row::new("log").id(&path).with("chars", line.chars().count()).append(tx, caller)
        })?;
    }
    Ok(AppendReport { path: path.to_string(), line: number, text: line, duplicate })
}

/// A log with one more line, before it is written.
pub(crate) struct ExtendedLog {
    pub(crate) path: FilePath,
    pub(crate) before: Option<Vec<u8>>,
    /// The same as `before` if the log already has the line.
    pub(crate) after: Vec<u8>,
    line: String,
    number: usize,
}

/// Returns today's log with one more line.
pub(crate) fn extend(held: &LockedWorkspace<'_>, draft: &Draft) -> Result<ExtendedLog> {
    let caller = held.view.caller();
    let (line, day) = (draft.line()?, caller.zone.day(caller.now));
    let (path, hidden) = path_of(&held.view, day);
    let before = held.read(&path)?;
    let now = before.clone().unwrap_or_else(|| head(day, hidden).into_bytes());
    let no_text = |_| Error::BadPath { given: path.to_string(), problem: "is not a text file" };
    let text = read_text(&now).map_err(no_text)?;
    let found = text.lines().position(|there| there.trim() == line);
    let number = found.map_or_else(|| text.lines().count() + 1, |at| at + 1);
    let after = if found.is_some() { now } else { edit::append(&now, &line, LastLine::AsBefore) };
    Ok(ExtendedLog { path, before, after, line, number })
}

impl Draft {
    /// Formats the draft as a single line.
    fn line(&self) -> Result<String> {
        let bad = |field: &str, problem: String| Error::BadArgument {
            tool: "log".into(),
            field: field.into(),
            problem,
            nearest: None,
        };
        let text = one_line(&self.text);
        if text.is_empty() {
            return Err(Error::EmptyContent);
        }
        if is_injected(&self.text) {
            return Err(Error::Injected);
        }
        let length = text.chars().count();
        if length > MAX_CONTENT_CHARS {
            return Err(Error::ContentTooLong { length, limit: MAX_CONTENT_CHARS });
        }
        let category = self.category.as_deref().map_or(DEFAULT_CATEGORY, str::trim);
        let word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        let short = (1..=MAX_CATEGORY_CHARS).contains(&category.chars().count()) && category.len() <= 40;
        if !short || !category.chars().all(word) {
            let problem =
                format!("is not a word of at most {MAX_CATEGORY_CHARS} letters, such as `decision`");
            return Err(bad("category", problem));
        }
        let importance = self.importance.unwrap_or(DEFAULT_IMPORTANCE);
        if !(0.0..=1.0).contains(&importance) {
            return Err(bad("importance", "is not between 0 and 1".into()));
        }
        // Round to four decimal places.
        let importance = (importance * 10_000.0).round() / 10_000.0;
        Ok(format!("- [{category}|i={importance}] {text}"))
    }
}

/// A daily log as the session can see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogText {
    /// The path of the log to which the session writes.
    pub path: String,
    /// The text of all logs of the day; empty if there are none.
    pub text: String,
}

/// Returns today's logs.
pub fn today(view: &View<'_>) -> Result<LogText> {
    let caller = view.caller();
    allow(caller)?;
    let day = caller.zone.day(caller.now);
    let (path, _) = path_of(view, day);
    let text = |path: FilePath| super::text(view, caller.visibility, path.as_str(), change::MAX_FILE_BYTES);
    let texts: Vec<String> =
        paths_of_day(folder(view), day).map(text).filter(|text| !text.is_empty()).collect();
    Ok(LogText { path: path.to_string(), text: redact::document(&texts.join("\n")).into_owned() })
}

/// The ends of the names of a day's logs: of all sessions, of private and of shared ones.
const NAME_ENDS: [&str; 3] = ["", "-private", "-shared"];

/// Returns the paths that the logs of a day can have.
fn paths_of_day(folder: &str, day: Day) -> impl Iterator<Item = FilePath> {
    NAME_ENDS.iter().map(move |end| format!("{folder}/{day}{end}.md").parse().expect("a day is a name"))
}

/// Returns the paths that the logs of a day can have, in both layouts.
pub(crate) fn all_paths_of_day(day: Day) -> impl Iterator<Item = FilePath> {
    [LOG_FOLDER, DAILY_FOLDER].into_iter().flat_map(move |folder| paths_of_day(folder, day))
}

/// Returns the folder of new logs.
pub(crate) fn folder(view: &View<'_>) -> &'static str {
    let own = view.settings().log.folder == settings::LogFolder::Daily;
    let used = own || logs_in(view, DAILY_FOLDER).next().is_some();
    if used { DAILY_FOLDER } else { LOG_FOLDER }
}

/// Returns the path of the log to which this session writes, and whether it is private.
fn path_of(view: &View<'_>, day: Day) -> (FilePath, bool) {
    let [every, private, shared] = NAME_ENDS.map(|end| {
        let path = format!("{}/{day}{end}.md", folder(view));
        path.parse::<FilePath>().expect("a day is a name")
    });
    let Visible { private_writes, private: rules } = &view.settings().visibility;
    match view.caller().visibility {
        _ if !private_writes => (every, false),
        Visibility::Shared => (shared, false),
        Visibility::Private => {
            let there = view.files().read(&every, change::MAX_FILE_BYTES).ok().flatten();
            let open = there.is_some_and(|text| Visibility::Shared.sees_file(rules, every.as_str(), &text));
            (if open { private } else { every }, true)
        }
    }
}

/// A log file. Its name begins with its day.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Log {
    pub(crate) day: Day,
    pub(crate) path: FilePath,
}

impl Log {
    fn name(&self) -> &str {
        self.path.names().next_back().expect("a path has a name")
    }
}

/// Returns all logs except archived ones, oldest first.
pub(crate) fn logs(view: &View<'_>) -> Vec<Log> {
    let mut logs: Vec<Log> = logs_in(view, LOG_FOLDER).chain(logs_in(view, DAILY_FOLDER)).collect();
    logs.sort();
    logs
}

fn logs_in(view: &View<'_>, folder: &str) -> impl Iterator<Item = Log> {
    view.files().names(folder).filter_map(move |(name, is_file)| {
        let day = Day::parse(name.get(..10).filter(|_| is_file)?)?;
        // `2026-02-18.md` and `2026-02-18-evening.md`, not `2026-02-185.md`.
        name[10..].starts_with(['.', '-', '_', ' ']).then_some(())?;
        Some(Log { day, path: format!("{folder}/{name}").parse().ok()? })
    })
}

/// Tells whether a path is that of a daily log, archived ones included.
pub(crate) fn is_log(path: &FilePath) -> bool {
    let folder = path.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
    let name = path.names().next_back().and_then(|name| name.strip_suffix(".md"));
    let day = name.and_then(|name| name.get(..10)).and_then(Day::parse);
    [LOG_FOLDER, DAILY_FOLDER, ARCHIVE_FOLDER].contains(&folder) && day.is_some()
}

/// Moves a line, counted from 1, and what belongs to it to the log of its day that shared sessions see, or to the private one.
/// Returns its new place.
pub(crate) fn set_private(
    view: &mut View<'_>,
    path: &FilePath,
    number: usize,
    hidden: bool,
) -> Result<String> {
    let missing = || Error::NoRecord { given: format!("{path}:{number}") };
    let caller = view.caller();
    let rules = view.settings().visibility.private.clone();
    let mut held = change::lock(view)?;
    let before = held.read(path)?.ok_or_else(missing)?;
    let is_hidden = !Visibility::Shared.sees_file(&rules, path.as_str(), &before);
    if is_hidden == hidden {
        return Ok(format!("{path}:{number}"));
    }
    let text = std::str::from_utf8(&before).map_err(|_| missing())?;
    let lines = lines::lines(text);
    let at = number.checked_sub(1).filter(|at| *at < lines.len()).ok_or_else(missing)?;
    if !matches!(lines[at].kind, lines::Kind::Bullet { .. } | lines::Kind::Other { .. }) {
        return Err(missing());
    }
    let moved = lines::belonging(&lines, at);
    let join = |part: &[lines::Line<'_>]| part.iter().map(|line| line.full).collect::<String>();
    let kept = join(&lines[..moved.start]) + &join(&lines[moved.end..]);
    let (folder, name) = path.as_str().rsplit_once('/').ok_or_else(missing)?;
    let day = name.get(..10).and_then(Day::parse).ok_or_else(missing)?;
    let end = if hidden { "private" } else { "shared" };
    let target: FilePath = format!("{folder}/{day}-{end}.md").parse()?;
    let old = held.read(&target)?;
    let base = old.clone().unwrap_or_else(|| head(day, hidden).into_bytes());
    let line = String::from_utf8_lossy(&base).lines().count() + 1;
    let after = edit::append(&base, join(&lines[moved]).trim_end(), LastLine::AsBefore);
    let changes = [
        Change { path: target.clone(), before: old, after: Some(after) },
        Change { path: path.clone(), before: Some(before.clone()), after: Some(kept.into_bytes()) },
    ];
    held.commit("share", &changes, |tx| {
        audit::Row::new("record_share").id(path).id(&target).with("lines", 1).append(tx, caller)
    })?;
    drop(held);
    super::sync::sync(view)?;
    Ok(format!("{target}:{line}"))
}

/// Decodes the text of a file. The error says why it is not text.
pub(super) fn read_text(bytes: &[u8]) -> Result<String, String> {
    decode(bytes).map(|(text, _)| text)
}

/// The result of retention.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RetentionReport {
    /// The number of lines that were moved.
    pub lines: usize,
    /// The logs from which lines were moved.
    pub logs: Vec<String>,
    /// Logs that were not processed, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Note>,
}

/// Moves expired lines from the logs to the archive. If no line has expired, nothing is written.
pub fn retire(view: &mut View<'_>) -> Result<RetentionReport> {
    let caller = view.caller();
    allow(caller)?;
    if view.read_all(change::has_pending_changes)? {
        // First complete the file changes of a process that died.
        drop(change::lock(view)?);
    }
    let (today, keep) = (caller.zone.day(caller.now), view.settings().log);
    let mut retired = RetentionReport::default();
    for log in logs(view) {
        let age = today.days_since(log.day);
        if ![keep.low, 0.0].iter().any(|importance| is_expired(&keep, *importance, age)) {
            continue;
        }
        match retire_one(view, &log, &keep, age) {
            Ok(0) => {}
            Ok(lines) => {
                retired.lines += lines;
                retired.logs.push(log.path.to_string());
                let (path, delta) = (log.path.as_str().into(), lines.into());
                tell(view, [("type", "retention".into()), ("path", path), ("delta", delta)]);
            }
            // A log that can't be processed now does not stop the others.
            Err(error @ (Error::FileChanged { .. } | Error::FileTooLarge { .. } | Error::BadPath { .. })) => {
                retired.skipped.push(Note { path: log.path.to_string(), why: error.to_string() });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(retired)
}

/// Returns whether a line of this importance and age in days has expired.
fn is_expired(keep: &settings::Log, importance: f64, age: i64) -> bool {
    keep.keep_days(importance).is_some_and(|days| age > days)
}

/// Moves the expired lines of one log. Returns how many.
fn retire_one(view: &mut View<'_>, log: &Log, keep: &settings::Log, age: i64) -> Result<usize> {
    let caller = view.caller();
    // First without the lock: usually no line has expired.
    let seen = view.files().read(&log.path, change::MAX_FILE_BYTES)?.unwrap_or_default();
    if split_expired(&seen, keep, age).is_none() {
        return Ok(0);
    }
    let private = view.settings().visibility.private.clone();
    let mut held = change::lock(view)?;
    let Some(before) = held.read(&log.path)? else { return Ok(0) };
    let Some((kept, moved)) = split_expired(&before, keep, age) else { return Ok(0) };
    // Lines of a private log stay private.
    let hidden = !Visibility::Shared.sees_file(&private, log.path.as_str(), &before);
    let archive = archive_of(log, hidden)?;
    let old = held.read(&archive)?;
    let new = || head(log.day, hidden).into_bytes();
    let mut after = old.clone().unwrap_or_else(new);
    if !after.is_empty() && !after.ends_with(b"\n") {
        after.extend(edit::line_end(&String::from_utf8_lossy(&before)).bytes());
    }
    let count = moved.len();
    after.extend(moved.concat().bytes());
    // First to the archive, then out of the log: a reader in between sees a line twice rather than not at
    // all.
    let changes = [
        Change { path: archive.clone(), before: old, after: Some(after) },
        Change {
            path: log.path.clone(),
            before: Some(before.clone()),
            after: Some(kept.concat().into_bytes()),
        },
    ];
    held.commit("retention", &changes, |tx| {
        audit::Row::new("retention").id(&log.path).id(&archive).with("lines", count).append(tx, caller)
    })?;
    Ok(count)
}

/// Returns the lines to keep and the lines to move, if any. Text that is not UTF-8 can't be split into lines
/// and stays.
fn split_expired<'t>(
    bytes: &'t [u8],
    keep: &settings::Log,
    age: i64,
) -> Option<(Vec<&'t str>, Vec<&'t str>)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let lines_to_move = lines_to_move(text, |importance| is_expired(keep, importance, age));
    lines_to_move.contains(&true).then(|| split(text, &lines_to_move))
}

/// Returns which lines of a log move: expired tagged lines with the lines that belong to them, unless one of
/// those must stay.
fn lines_to_move(text: &str, is_expired: impl Fn(f64) -> bool) -> Vec<bool> {
    let lines = lines::lines(text);
    let over: Vec<Option<bool>> =
        lines.iter().map(|line| line.tagged().map(|tag| is_expired(tag.importance))).collect();
    let mut lines_to_move = vec![false; lines.len()];
    for at in 0..lines.len() {
        let range = lines::belonging(&lines, at);
        if over[at] == Some(true) && !over[range.clone()].contains(&Some(false)) {
            lines_to_move[range].fill(true);
        }
    }
    lines_to_move
}

/// Splits a text into the lines that stay and the lines that move.
fn split<'t>(text: &'t str, lines_to_move: &[bool]) -> (Vec<&'t str>, Vec<&'t str>) {
    let (moved, kept): (Vec<_>, Vec<_>) =
        text.split_inclusive('\n').zip(lines_to_move).partition(|(_, moves)| **moves);
    let lines = |part: Vec<(&'t str, &bool)>| part.into_iter().map(|(line, _)| line).collect();
    (lines(kept), lines(moved))
}

fn archive_of(log: &Log, hidden: bool) -> Result<FilePath> {
    let name = log.name();
    let name = match hidden {
        true if !name.ends_with("-private.md") => format!("{}-private.md", &name[..name.len() - ".md".len()]),
        _ => name.to_owned(),
    };
    format!("{ARCHIVE_FOLDER}/{name}").parse()
}

/// Returns the beginning of a new log or archive file.
fn head(day: Day, hidden: bool) -> String {
    let front = if hidden { "---\nprivate: true\n---\n" } else { "" };
    format!("{front}# {day}\n\n")
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use proptest::prelude::*;

    use super::*;
    use crate::base::{Settings, Time};
    use crate::group::Group;
    use crate::store::crash;
    use crate::tools::home::Home;

    fn now() -> Time {
        Time::parse("2026-02-18T14:30:00Z").unwrap()
    }

    fn place() -> (tempfile::TempDir, Group, Caller) {
        let folder = tempfile::tempdir().unwrap();
        let group =
            Home::new(folder.path(), Settings::default()).group(&"main".parse().unwrap(), now()).unwrap();
        (folder, group, Caller::agent("test".parse().unwrap(), now()))
    }

    fn put(group: &Group, at: &str, text: &str) {
        let file = group.folder().join(at);
        crate::base::files::create_folder(file.parent().unwrap()).unwrap();
        crate::base::files::write_atomically(&file, text.as_bytes()).unwrap();
    }

    fn get(group: &Group, at: &str) -> String {
        std::fs::read_to_string(group.folder().join(at)).unwrap_or_default()
    }

    fn draft(text: &str) -> Draft {
        Draft { text: text.into(), ..Draft::default() }
    }

    #[test]
    fn a_process_that_dies_while_it_appends_leaves_the_line_once() {
        let log = Some("---\nprivate: true\n---\n# a day\n\n- [note|i=0.5] before\n");
        for (there, named) in [(None, "linked"), (log, "exchanged")] {
            for point in ["decided", "written aside", named, "one file done"] {
                let (_folder, mut group, caller) = place();
                if let Some(text) = there {
                    put(&group, "memory/2026-02-18.md", text);
                }
                crash::AT.set(Some(point));
                let died = catch_unwind(AssertUnwindSafe(|| {
                    append(&mut group.enter(&caller).unwrap(), &draft("Shipped")).unwrap();
                }));
                assert!(died.is_err(), "{point} was never reached");
                // The caller got no answer and tries again.
                let again = append(&mut group.enter(&caller).unwrap(), &draft("Shipped")).unwrap();
                assert!(again.duplicate, "{point}");
                let new = head(Day::parse("2026-02-18").unwrap(), true);
                let expected = format!("{}- [note|i=0.5] Shipped\n", there.unwrap_or(&new));
                assert_eq!(get(&group, "memory/2026-02-18.md"), expected, "{point}");
            }
        }
    }

    #[test]
    fn a_process_that_dies_while_lines_move_loses_none_and_doubles_none() {
        let log = "# Then\n\n- [note|i=0.1] small\n- [note|i=0.9] large\n- plain\n";
        for (there, named) in [("", "linked"), ("# 2026-02-01\n\n- [note|i=0.2] earlier\n", "written aside")]
        {
            for point in ["decided", "written aside", named, "exchanged", "one file done"] {
                let (_folder, mut group, caller) = place();
                put(&group, "memory/2026-02-01.md", log);
                if !there.is_empty() {
                    put(&group, "memory/archive/2026-02-01.md", there);
                }
                crash::AT.set(Some(point));
                let died = catch_unwind(AssertUnwindSafe(|| retire(&mut group.enter(&caller).unwrap())));
                assert!(died.is_err(), "{point} was never reached");
                retire(&mut group.enter(&caller).unwrap()).unwrap();
                let kept = "# Then\n\n- [note|i=0.9] large\n- plain\n";
                assert_eq!(get(&group, "memory/2026-02-01.md"), kept, "{point}");
                let head = if there.is_empty() { "# 2026-02-01\n\n" } else { there };
                let expected = format!("{head}- [note|i=0.1] small\n");
                assert_eq!(get(&group, "memory/archive/2026-02-01.md"), expected, "{point}");
            }
        }
    }

    #[test]
    fn moved_lines_take_their_nested_lines_along() {
        // Lines below 0.4 have expired.
        let check = |text: &str, kept: &str, moved: &str| {
            let lines_to_move = lines_to_move(text, |importance| importance < 0.4);
            let (stays, goes) = split(text, &lines_to_move);
            assert_eq!((stays.concat(), goes.concat()), (kept.to_owned(), moved.to_owned()), "{text:?}");
        };
        check("# D\n\n- [a|i=0.3] x\n- y\n", "# D\n\n- y\n", "- [a|i=0.3] x\n");
        check(
            "- [a|i=0.3] x\n  goes on\n  - and on\n- y\n",
            "- y\n",
            "- [a|i=0.3] x\n  goes on\n  - and on\n",
        );
        check("## S [a|i=0.3]\ntext\n- y\n\n## T\nz\n", "\n## T\nz\n", "## S [a|i=0.3]\ntext\n- y\n");
        // A line that stays keeps the heading or bullet that it belongs to; the rest moves alone.
        let (kept, moved) = ("## S [a|i=0.3]\n- [b|i=0.9] x\n", "- [b|i=0.1] y\n");
        check(&format!("{kept}{moved}"), kept, moved);
        check("- [a|i=0.1] x\n  - [b|i=0.9] y\n", "- [a|i=0.1] x\n  - [b|i=0.9] y\n", "");
        // Examples, comments and code are not log lines.
        let quiet = "<!-- like this:\n- [a|i=0.1] x\n-->\n```\n- [a|i=0.1] x\n```\n";
        check(quiet, quiet, "");
        check("- [a|i=0.3] x\r\n- y\r\n", "- y\r\n", "- [a|i=0.3] x\r\n");
        check("- y\n- [a|i=0.3] x", "- y\n", "- [a|i=0.3] x");
    }

    /// Log lines as people write them, and worse.
    fn any_log() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            "- \\[(note|lesson)\\|i=(0\\.[0-9]|1|\\.5)\\] [a-z ]{0,8}",
            "#{1,3} [a-z]{1,5} \\[note\\|i=0\\.[0-9]\\]",
            "#{1,3} [a-z]{1,5}",
            " {0,4}[-*+] [a-z]{0,6}( \\[x\\|i=0\\.[0-9]\\])?",
            " {0,5}[a-z|>]{0,6}",
            "```|~~~|---|<!--|-->|\u{feff}",
            "\\PC{0,12}",
        ];
        let end = prop_oneof![6 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\n\n")];
        (prop::collection::vec((line, end), 0..24), any::<bool>()).prop_map(|(lines, ended)| {
            let mut text: String = lines.into_iter().flat_map(|(line, end)| [line, end.to_owned()]).collect();
            if !ended {
                text.truncate(text.trim_end_matches(['\r', '\n']).len());
            }
            text
        })
    }

    fn sorted(texts: &[&str]) -> Vec<String> {
        let mut lines: Vec<String> = texts
            .iter()
            .flat_map(|text| text.split_inclusive('\n'))
            .map(|line| line.trim_end_matches(['\r', '\n']).to_owned())
            .collect();
        lines.sort();
        lines
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        #[test]
        fn retention_keeps_every_line_of_any_log(log in any_log(), archive in prop::option::of(any_log())) {
            let (_folder, mut group, mut caller) = place();
            put(&group, "memory/2026-02-01.md", &log);
            if let Some(archive) = &archive {
                put(&group, "memory/archive/2026-02-01.md", archive);
            }
            let before = sorted(&[&log, archive.as_deref().unwrap_or_default()]);
            // Lines of low importance move in February, those of medium importance in March.
            for days in [0, 0, 40, 0] {
                caller.now = caller.now.plus_days(days);
                let retired = retire(&mut group.enter(&caller).unwrap()).unwrap();
                let (kept, moved) = (get(&group, "memory/2026-02-01.md"), get(&group, "memory/archive/2026-02-01.md"));
                let own = archive.is_none() && !moved.is_empty();
                let moved = if own { moved.strip_prefix("# 2026-02-01\n\n").unwrap() } else { &moved };
                prop_assert_eq!(&sorted(&[&kept, moved]), &before);
                // Running it again moves nothing.
                prop_assert_eq!(retire(&mut group.enter(&caller).unwrap()).unwrap().lines, 0, "{:?}", retired);
                // The order is kept.
                let mut rest = log.split_inclusive('\n');
                prop_assert!(kept.split_inclusive('\n').all(|line| rest.any(|there| there == line)));
            }
        }
    }
}
