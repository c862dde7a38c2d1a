//! Watches MEMORY.md: its length, and the lines that have been unused for longest.
//!
//! A line is identified by a hash of its text. The database records when it was first seen and when a search,
//! a read or a turn last used it. Uses are written with the next write, because a read costs none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;

use super::lines::{self, Kind};
use super::{change, text};
use crate::base::frame::one_line;
use crate::base::redact;
use crate::base::text::lossy;
use crate::base::{Result, Time};
use crate::group::View;
use crate::index::{Language, analyse};
use crate::records::graph;
use crate::store::Connection;

/// The path of the file.
pub(crate) const PATH: &str = "MEMORY.md";
/// The maximum number of lines that the advice names.
const MAX_ADVICE_LINES: usize = 5;
/// The maximum length of a line in the advice, in characters.
const MAX_LINE_CHARS: usize = 80;
/// How long the record of a removed line is kept: an editor may remove a line for a moment, or a person may
/// restore it.
const FORGET_AFTER_DAYS: i64 = 90;

/// The state of MEMORY.md.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "named after what they count")]
pub struct MemoryFile {
    pub path: &'static str,
    pub lines: usize,
    pub max_lines: usize,
    pub chars: usize,
    pub max_chars: usize,
    /// Whether it exceeds one of its limits.
    pub over: bool,
    /// The lines that have been unused for longest, stalest first.
    pub stalest: Vec<StaleLine>,
}

/// A line that nothing has used for a while.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StaleLine {
    /// The line number.
    pub line: usize,
    /// The text of the line.
    pub text: String,
    /// When it was last used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Time>,
    /// When it was first seen.
    pub seen_at: Time,
}

impl MemoryFile {
    /// Asks to prune the file, if it is too long.
    pub fn advice(&self) -> Option<String> {
        let MemoryFile { lines, max_lines, chars, max_chars, .. } = self;
        if !self.over {
            return None;
        }
        let of_lines = if *max_lines > 0 { format!("{lines} lines of {max_lines}, ") } else { String::new() };
        let mut text =
            format!("{PATH} is too long: {of_lines}{chars} characters of {max_chars}. Please prune it.");
        for (place, stale) in self.stalest.iter().take(MAX_ADVICE_LINES).enumerate() {
            text.push_str(if place == 0 { " Unused for longest: " } else { "; " });
            let _ = write!(text, "{stale}");
        }
        Some(text)
    }
}

impl std::fmt::Display for StaleLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown: String = self.text.chars().take(MAX_LINE_CHARS).collect();
        let cut = if shown.len() < self.text.len() { "…" } else { "" };
        let day = |time: Time| time.to_string()[..10].to_owned();
        let when = match self.used_at {
            Some(at) => format!("last used {}", day(at)),
            None => format!("not used since {}", day(self.seen_at)),
        };
        write!(f, "line {} \"{shown}{cut}\" ({when})", self.line)
    }
}

/// Returns the state of MEMORY.md as the session can see it.
pub fn look(view: &View<'_>, most: usize) -> Result<MemoryFile> {
    let text = text(view, view.visibility(), PATH, change::MAX_FILE_BYTES);
    of_text(view, &text, most)
}

/// Asks to prune a file that is about to be written, if it is MEMORY.md and too long.
pub(crate) fn advice(view: &View<'_>, path: &str, after: &[u8]) -> Option<String> {
    advice_for_text(view, path, &lossy(after))
}

/// Gives the same advice for a decoded text.
pub(crate) fn advice_for_text(view: &View<'_>, path: &str, text: &str) -> Option<String> {
    if path != PATH {
        return None;
    }
    of_text(view, text, MAX_ADVICE_LINES).ok()?.advice()
}

fn of_text(view: &View<'_>, text: &str, most: usize) -> Result<MemoryFile> {
    let now = view.now();
    let settings = view.settings().memory_file;
    let (max_lines, max_chars) = (settings.max_lines, settings.max_chars);
    let (lines, chars) = (text.lines().count(), text.chars().count());
    let over = max_lines > 0 && lines > max_lines || chars > max_chars;
    let known = view.read_all(line_times)?;
    let masked = redact::document(text);
    let masked: Vec<&str> = masked.lines().collect();
    let mut stalest: Vec<StaleLine> = content_lines(text)
        .map(|(line, text)| {
            let (seen_at, used_at) = known.get(&hash(text)).copied().unwrap_or((now, None));
            StaleLine { line, text: one_line(masked.get(line - 1).unwrap_or(&"")), used_at, seen_at }
        })
        .collect();
    stalest.sort_by_key(|stale| (stale.used_at.unwrap_or(stale.seen_at), stale.line));
    stalest.truncate(most);
    Ok(MemoryFile { path: PATH, lines, max_lines, chars, max_chars, over, stalest })
}

/// Returns the lines with content, with their numbers.
fn content_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = lines::lines(text).into_iter().enumerate();
    let content_lines =
        lines.filter(|(_, line)| matches!(line.kind, Kind::Bullet { .. } | Kind::Other { .. }));
    content_lines.map(|(at, line)| (at + 1, line.full.trim_start_matches('\u{feff}').trim()))
}

fn hash(line: &str) -> String {
    blake3::hash(line.as_bytes()).to_hex()[..32].to_owned()
}

/// Returns the hashes of a document's lines if it is MEMORY.md.
pub(crate) fn hashes(path: &str, text: &str) -> Vec<String> {
    if path == PATH { content_lines(text).map(|(_, line)| hash(line)).collect() } else { Vec::new() }
}

/// Records the lines that exist, and since when.
pub(crate) fn note_lines(tx: &Connection, hashes: &[String], since: Time, now: Time) -> Result<()> {
    let sql = "INSERT INTO line_uses (path, line, seen_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    for hash in hashes {
        tx.run(sql, (PATH, hash, since))?;
    }
    let there: BTreeSet<&str> = hashes.iter().map(String::as_str).collect();
    let before = now.plus_days(-FORGET_AFTER_DAYS);
    for (line, (seen, used)) in line_times(tx)? {
        if !there.contains(line.as_str()) && used.unwrap_or(seen) < before {
            tx.run("DELETE FROM line_uses WHERE path = $1 AND line = $2", (PATH, line))?;
        }
    }
    Ok(())
}

type LineTimes = BTreeMap<String, (Time, Option<Time>)>;

fn line_times(db: &Connection) -> Result<LineTimes> {
    let sql = "SELECT line, seen_at, used_at FROM line_uses WHERE path = $1";
    let rows = db.rows(sql, [PATH], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    Ok(rows.into_iter().collect())
}

/// Lines that were shown.
pub(crate) struct LineUse<'a> {
    /// The first and the last line.
    pub(crate) lines: [i64; 2],
    /// The query or the shown text. Of several lines, only those that share a word with it count as used.
    pub(crate) words: &'a str,
}

/// Returns the lines of MEMORY.md behind a hit: a chunk of the file, or the lines that a fact cites.
pub(crate) fn lines_of(view: &View<'_>, id: &str) -> Vec<[i64; 2]> {
    let part = || {
        let (from, to) = id.strip_prefix(PATH)?.strip_prefix("#L")?.split_once("-L")?;
        Some([from.parse().ok()?, to.parse().ok()?])
    };
    let cited = || {
        let (kind, _) = id.rsplit_once('-')?;
        let (_, cites) = view.read(|db| graph::cites_of(db, kind, id)).ok()??;
        Some(cites.into_iter().filter(|cite| cite.path == PATH).map(|cite| [cite.line, cite.line]).collect())
    };
    // A chunk also has an id with its number.
    let chunk = || {
        id.strip_prefix(PATH)?.strip_prefix('#')?;
        let sql = "SELECT first_line, last_line FROM passages WHERE kind = 'chunk' AND ref = $1";
        view.read(|db| db.row(sql, [id], |row| Ok([row.get(0)?, row.get(1)?]))).ok()?
    };
    part().or_else(chunk).map(|lines| vec![lines]).or_else(cited).unwrap_or_default()
}

/// Returns the hashes of the lines that were used.
pub(crate) fn used(view: &View<'_>, language: Language, uses: &[LineUse<'_>]) -> Vec<String> {
    if uses.is_empty() {
        return Vec::new();
    }
    let text = text(view, crate::base::caller::Visibility::Private, PATH, change::MAX_FILE_BYTES);
    let all: Vec<(usize, &str)> = content_lines(&text).collect();
    let words = |text: &str| -> BTreeSet<String> {
        analyse::words(text, language).into_iter().filter(|word| !language.is_common(word)).collect()
    };
    let mut found = Vec::new();
    for LineUse { lines: [from, to], words: asked } in uses {
        let within = |line: usize| i64::try_from(line).is_ok_and(|line| (*from..=*to).contains(&line));
        let shown: Vec<&str> = all.iter().filter(|(line, _)| within(*line)).map(|(_, text)| *text).collect();
        let asked = words(asked);
        let share = |text: &&&str| !words(text).is_disjoint(&asked);
        let some = shown.iter().any(|text| share(&text));
        found.extend(shown.iter().filter(|text| !some || share(text)).map(|text| hash(text)));
    }
    found
}

/// Writes when lines were used.
pub(crate) fn write_used(tx: &Connection, used: &BTreeMap<String, Time>) -> Result<()> {
    let sql =
        "UPDATE line_uses SET used_at = $3 WHERE path = $1 AND line = $2 AND coalesce(used_at, $3) <= $3";
    for (line, at) in used {
        tx.run(sql, (PATH, line, at))?;
    }
    Ok(())
}

/// Notes that lines of MEMORY.md were used.
pub(crate) fn note_used(view: &mut View<'_>, uses: &[LineUse<'_>]) {
    let used = used(view, view.settings().search.language(), uses);
    view.note_used_lines(used);
}
