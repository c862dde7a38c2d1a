//! Exact search: the lines of entries, documents and messages that a literal text or a regular expression matches.
//!
//! Documents are read from their files, so that a line is found as it is written now. Entries and messages are read from
//! their passages. A line is matched as it is stored; a line with a credential also has to match after the credential is
//! masked, so that a search can't guess it.

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};

use memchr::memmem;
use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Serialize;

use crate::base::origin::RecordOrigin;
use crate::base::redact::{self, redact};
use crate::base::text::lossy;
use crate::base::{FilePath, Result};
use crate::group::View;
use crate::index::Scope;
use crate::store::Connection;
use crate::store::walk::MAX_DOCUMENT_BYTES;

/// A pattern, and where to look for it.
pub(crate) struct GrepQuery {
    pub(crate) pattern: Regex,
    pub(crate) scope: Vec<Scope>,
    /// The number of lines to show before and after a match.
    pub(crate) context: usize,
    /// The most lines to return. All are counted.
    pub(crate) limit: usize,
}

/// A line that matches, with the lines around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct GrepLine {
    /// A document's path, a memory as `id:NUMBER`, or a message as `SESSION#NUMBER`.
    pub source: String,
    /// Its line there, from 1.
    pub line: usize,
    /// The line's text.
    pub text: String,
    /// Its origin.
    #[schemars(skip)]
    pub origin: RecordOrigin,
    /// The lines before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub before: Vec<String>,
    /// The lines after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub after: Vec<String>,
}

redact! {
    GrepLine { source, text, before, after / line, origin }
}

/// The lines found.
#[derive(Default)]
pub(crate) struct GrepLines {
    pub(crate) lines: Vec<GrepLine>,
    /// The number of all matching lines.
    pub(crate) total: usize,
}

/// Compiles a pattern. A literal text has no special characters.
pub(crate) fn pattern(text: &str, literal: bool, ignore_case: bool) -> std::result::Result<Regex, String> {
    /// Larger patterns take more memory than they are worth.
    const MAX_COMPILED_BYTES: usize = 10 << 20;
    let escaped = if literal { Cow::Owned(regex::escape(text)) } else { Cow::Borrowed(text) };
    RegexBuilder::new(&escaped)
        .case_insensitive(ignore_case)
        .multi_line(true)
        .size_limit(MAX_COMPILED_BYTES)
        .build()
        .map_err(|problem| problem.to_string())
}

/// Finds the lines that match, by source and line: entries, then documents, then sessions.
pub(crate) fn grep(view: &View<'_>, query: &GrepQuery) -> Result<GrepLines> {
    let mut found = GrepLines::default();
    if query.scope.contains(&Scope::Entries) {
        view.read(|db| grep_entries(db, query, &mut found))?;
    }
    if query.scope.contains(&Scope::Memory) {
        grep_documents(view, query, &mut found)?;
    }
    if query.scope.contains(&Scope::Sessions) {
        view.read(|db| grep_messages(db, query, &mut found))?;
    }
    Ok(found)
}

fn grep_entries(db: &Connection, query: &GrepQuery, found: &mut GrepLines) -> Result<()> {
    // Passages are redacted when they are written.
    let sql = "SELECT entries.number, passages.text, entries.origin FROM passages JOIN entries ON entries.id = passages.ref
        WHERE passages.kind = 'entry' AND passages.live ORDER BY entries.number";
    db.each(sql, (), |row| {
        let text = row.text(1)?;
        let matches = matches(&query.pattern, text.as_bytes());
        if !matches.is_empty() {
            let number: i64 = row.get(0)?;
            found.add(query, &Source { name: format!("id:{number}"), origin: row.get(2)? }, text, &matches);
        }
        Ok(ControlFlow::Continue(()))
    })
}

fn grep_messages(db: &Connection, query: &GrepQuery, found: &mut GrepLines) -> Result<()> {
    let sql = "SELECT passages.session, passages.text, passages.origin FROM passages
        WHERE passages.session IS NOT NULL AND passages.live ORDER BY passages.session, passages.seq, passages.id";
    let (mut session, mut number, mut matched) = (0, 0, Vec::new());
    db.each(sql, (), |row| {
        let of: i64 = row.get(0)?;
        number = if of == session { number + 1 } else { 1 };
        session = of;
        let text = row.text(1)?;
        let matches = matches(&query.pattern, text.as_bytes());
        if !matches.is_empty() {
            matched.push((session, number, text.to_owned(), matches, row.get::<RecordOrigin>(2)?));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let mut of: (i64, String, RecordOrigin) = (0, String::new(), RecordOrigin::Person);
    for (session, number, text, matches, origin) in matched {
        if of.0 != session {
            let sql = "SELECT id, origin FROM sessions WHERE number = $1";
            of = db.one(sql, [session], |row| Ok((session, row.get(0)?, row.get(1)?)))?;
        }
        let source = Source { name: format!("{}#{number}", of.1), origin: origin.weakest(of.2) };
        found.add(query, &source, &text, &matches);
    }
    Ok(())
}

fn grep_documents(view: &View<'_>, query: &GrepQuery, found: &mut GrepLines) -> Result<()> {
    let (visibility, rules) = (view.visibility(), &view.settings().visibility.private);
    for document in view.files().documents().seen {
        let Ok(path) = document.path.parse::<FilePath>() else { continue };
        if !visibility.sees(rules, path.as_str(), "") {
            continue;
        }
        let Some(bytes) = view.files().read(&path, MAX_DOCUMENT_BYTES)? else { continue };
        let bytes = match bytes.first_chunk() {
            // UTF-16 is searched as the text that it encodes.
            Some([0xff, 0xfe] | [0xfe, 0xff]) => lossy(&bytes).into_bytes(),
            _ => bytes,
        };
        let matches = matches(&query.pattern, &bytes);
        if !matches.is_empty() && visibility.sees_file(rules, path.as_str(), &bytes) {
            let source = Source { name: path.to_string(), origin: RecordOrigin::Document };
            found.add_masked(query, &source, &bytes, &matches);
        }
    }
    Ok(())
}

/// Where lines come from: its name, and who wrote it.
struct Source {
    name: String,
    origin: RecordOrigin,
}

/// A matching line.
struct Match {
    /// From 1.
    line: usize,
    /// Its bytes, without the line break.
    range: Range<usize>,
}

/// Returns the lines that match.
fn matches(pattern: &Regex, text: &[u8]) -> Vec<Match> {
    let mut found = Vec::new();
    let (mut from, mut line, mut counted) = (0, 1, 0);
    while from <= text.len() {
        let Some(hit) = pattern.find_at(text, from) else { break };
        let start = memchr::memrchr(b'\n', &text[..hit.start()]).map_or(0, |at| at + 1);
        let end = memchr::memchr(b'\n', &text[hit.start()..]).map_or(text.len(), |at| hit.start() + at);
        let is_last = end == text.len();
        // A match across lines counts only if one line alone matches.
        let within = hit.end() <= end || pattern.is_match(&text[start..end]);
        if within && !(is_last && start == end) {
            line += memchr::memchr_iter(b'\n', &text[counted..start]).count();
            counted = start;
            let range = start..end - usize::from(text[start..end].ends_with(b"\r"));
            found.push(Match { line, range });
        }
        from = end + 1;
    }
    found
}

impl GrepLines {
    /// Adds matches of a text without credentials.
    fn add(&mut self, query: &GrepQuery, source: &Source, text: &str, matches: &[Match]) {
        let lines: Vec<&str> = text.split('\n').collect();
        self.total += matches.len();
        for found in matches.iter().take(query.limit.saturating_sub(self.lines.len())) {
            self.push(query, source, found.line, &lines, found.line - 1);
        }
    }

    /// Adds matches of a text that may contain credentials.
    fn add_masked(&mut self, query: &GrepQuery, source: &Source, text: &[u8], matches: &[Match]) {
        /// The number of lines around a match that tell whether it contains a part of a credential.
        const MARGIN_LINES: usize = 8;
        // A key may have many lines.
        let has_key = memmem::find(text, b"PRIVATE KEY").is_some();
        let margin = if has_key { usize::MAX } else { query.context + MARGIN_LINES };
        let mut rest = matches;
        while let Some(first) = rest.first() {
            let near = |pair: &[Match]| pair[1].line - pair[0].line <= margin.saturating_mul(2);
            let count = 1 + rest.windows(2).take_while(|pair| near(pair)).count();
            let (group, after) = rest.split_at(count);
            rest = after;
            let last = group.last().expect("a group has a match");
            let (start, skipped) = line_start(text, first.range.start, margin);
            let window = lossy(&text[start..line_end(text, last.range.end, margin)]);
            let masked = redact::document(&window);
            let lines: Vec<&str> =
                masked.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
            for found in group {
                let place = found.line - first.line + skipped;
                let is_masked = matches!(masked, Cow::Owned(_));
                if is_masked && !query.pattern.is_match(lines[place].as_bytes()) {
                    continue;
                }
                self.total += 1;
                if self.lines.len() < query.limit {
                    self.push(query, source, found.line, &lines, place);
                }
            }
        }
    }

    fn push(&mut self, query: &GrepQuery, source: &Source, line: usize, lines: &[&str], place: usize) {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let last = lines.len() - usize::from(lines.last() == Some(&""));
        self.lines.push(GrepLine {
            source: source.name.clone(),
            line,
            text: lines[place].to_owned(),
            origin: source.origin,
            before: owned(&lines[place.saturating_sub(query.context)..place]),
            after: owned(&lines[place + 1..last.min(place + 1 + query.context).max(place + 1)]),
        });
    }
}

/// Returns the start of the line that is `lines` before the one at a place, and how many lines before it that is.
fn line_start(text: &[u8], at: usize, lines: usize) -> (usize, usize) {
    let mut start = at;
    for count in 0..lines {
        if start == 0 {
            return (0, count);
        }
        start = memchr::memrchr(b'\n', &text[..start - 1]).map_or(0, |at| at + 1);
    }
    (start, lines)
}

/// Returns the end of the line that is `lines` after the one at a place.
fn line_end(text: &[u8], at: usize, lines: usize) -> usize {
    memchr::memchr_iter(b'\n', &text[at..]).nth(lines).map_or(text.len(), |end| at + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, sought: &str) -> Vec<usize> {
        let pattern = pattern(sought, false, false).unwrap();
        matches(&pattern, text.as_bytes()).iter().map(|found| found.line).collect()
    }

    fn query(sought: &str, context: usize) -> GrepQuery {
        GrepQuery { pattern: pattern(sought, false, false).unwrap(), scope: Vec::new(), context, limit: 100 }
    }

    #[test]
    fn a_line_matches_alone() {
        let text = "one two\nthree\n\nfour one\n";
        assert_eq!(lines(text, "one"), [1, 4]);
        assert_eq!(lines(text, "^t"), [2]);
        assert_eq!(lines(text, "e$"), [2, 4]);
        assert_eq!(lines(text, "^$"), [3]);
        // White space is no way into the next line.
        assert_eq!(lines(text, r"two\s+three"), [0; 0]);
        assert_eq!(lines(text, r"two\s*"), [1]);
        assert_eq!(lines(text, r"\s+four|three"), [2]);
        assert_eq!(lines("a\r\nb\r\n", "a"), [1]);
        assert_eq!(lines("", "x*"), [0; 0]);
    }

    #[test]
    fn case_is_ignored_in_every_script() {
        for (text, sought) in [("ÜBER", "über"), ("Привет", "ПРИВЕТ"), ("Ελλάδα", "ΕΛΛΆΔΑ")]
        {
            assert!(pattern(sought, true, true).unwrap().is_match(text.as_bytes()), "{text}");
            assert!(!pattern(sought, true, false).unwrap().is_match(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_and_long_lines_are_searched() {
        let long = "x".repeat(1 << 20);
        let bytes = [b"\xff\xfe\x00 needle\n".as_slice(), long.as_bytes(), b" needle\n\x00\x01\n"].concat();
        let pattern = pattern("needle", true, false).unwrap();
        let found: Vec<usize> = matches(&pattern, &bytes).iter().map(|found| found.line).collect();
        assert_eq!(found, [1, 2]);
    }

    #[test]
    fn a_pattern_that_needs_too_much_memory_is_refused() {
        for sought in [r"\pL{1000}{1000}", "(a{500}){500}{500}"] {
            assert!(pattern(sought, false, false).is_err(), "{sought}");
        }
        // One that makes other engines slow is as fast as any.
        let slow = pattern("(a+)+$", false, false).unwrap();
        assert!(!slow.is_match(format!("{}b", "a".repeat(100_000)).as_bytes()));
    }

    #[test]
    fn a_masked_credential_is_not_found_and_does_not_shift_lines() {
        let token = "gho_16C7e42F292c6912E7710c838347Ae178B4a";
        let body = "MIIEowIBAAKCAQEAx\n".repeat(30);
        let text = format!(
            "first\ntoken {token} here\n-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\nlast here\n"
        );
        let find = |sought: &str| {
            let (mut found, query) = (GrepLines::default(), query(sought, 1));
            let source = Source { name: "a.md".into(), origin: RecordOrigin::Document };
            found.add_masked(&query, &source, text.as_bytes(), &matches(&query.pattern, text.as_bytes()));
            found.lines
        };
        let here = find("here");
        assert_eq!(here.iter().map(|found| found.line).collect::<Vec<_>>(), [2, 35]);
        assert_eq!(here[0].text, "token [REDACTED] here");
        assert_eq!(here[0].before, ["first"]);
        assert!(find("16C7").is_empty() && find("MIIE").is_empty());
    }
}
