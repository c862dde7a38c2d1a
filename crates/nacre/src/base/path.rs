//! The path of a file in the workspace, checked before it is used.

use std::fmt;
use std::str::FromStr;

use crate::base::text::shorten;
use crate::base::{Error, Result};

/// The maximum length of a path and of one name in it, in bytes: below the limit of every file system, with
/// space for the suffixes of temporary files.
const MAX_PATH_BYTES: usize = 512;
const MAX_NAME_BYTES: usize = 200;

/// Names that Windows treats as devices, whatever their extension.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$"];

/// The path of a document within a group's folder, with `/` between its names: a Markdown file, or any text
/// file in `memories`. The path itself can't leave the folder; links are checked when the file is opened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(String);

impl FilePath {
    /// Returns the path of a file that shows records. Its name is a constant, and no caller can name it.
    pub(crate) fn of_records(name: &'static str) -> FilePath {
        FilePath(name.to_owned())
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether it is in the folder of Anthropic's memory tool. Case is ignored, as some file systems
    /// ignore it.
    pub(crate) fn is_in_memories(&self) -> bool {
        is_in_memories(&self.0)
    }

    /// Returns the names in the path.
    pub(crate) fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for FilePath {
    type Err = Error;

    fn from_str(text: &str) -> Result<FilePath> {
        match problem(text) {
            None => Ok(FilePath(text.to_owned())),
            Some(problem) => Err(Error::BadPath { given: shorten(text), problem }),
        }
    }
}

/// Returns why a path is invalid, if it is.
fn problem(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("is empty");
    }
    if text.len() > MAX_PATH_BYTES {
        return Some("is too long");
    }
    if text.contains(|c: char| c.is_control() || c == '\u{2028}' || c == '\u{2029}') {
        return Some("contains a control character");
    }
    if text.starts_with(['/', '~']) || text.contains([':', '\\']) {
        return Some("is not relative to the workspace, with `/` between names");
    }
    // A second round of decoding must not lead out of the folder either.
    let lower = text.to_ascii_lowercase();
    if ["%2e", "%2f", "%5c", "%00", "%25"].iter().any(|code| lower.contains(code)) {
        return Some("contains an encoded dot, slash or NUL");
    }
    if lower.strip_prefix(CHECKPOINTS).is_some_and(|rest| rest.starts_with('/')) {
        return Some("is in a checkpoint and is not a document");
    }
    if RESERVED.iter().any(|folder| lower.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))) {
        return Some("is in a folder of Nacre's own files");
    }
    if let Some(problem) = text.split('/').find_map(name_problem) {
        return Some(problem);
    }
    if !lower.ends_with(".md") && !is_in_memories(&lower) {
        return Some("is not a Markdown file (`.md`)");
    }
    None
}

/// The folder of transcripts in a group's folder.
pub(crate) const SESSIONS: &str = "sessions";

/// Folders of a group that hold no documents: transcripts, and what hooks left.
const RESERVED: &[&str] = &[SESSIONS, "spool"];

/// The folder of the checkpoints. Its files are not documents.
pub(crate) const CHECKPOINTS: &str = "memory/checkpoints";
/// The folder of documents that came from other programs.
pub(crate) const IMPORTS: &str = "memory/imports";

/// The folder whose files are documents whatever their extension. An agent writes them through Anthropic's
/// memory tool.
pub(crate) const MEMORIES: &str = "memories";

/// Tells whether a path is below that folder.
pub(crate) fn is_in_memories(path: &str) -> bool {
    let named = path.split_once('/').map(|(first, _)| first);
    named.is_some_and(|first| first.eq_ignore_ascii_case(MEMORIES))
}

fn name_problem(name: &str) -> Option<&'static str> {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let numbered = |prefix: &str| {
        let rest = stem.strip_prefix(prefix).unwrap_or_default();
        rest.chars().count() == 1 && rest.contains(|c: char| c.is_ascii_digit() || "¹²³".contains(c))
    };
    match name {
        "" => Some("contains an empty name"),
        "." | ".." => Some("contains `.` or `..`"),
        _ if name.starts_with('.') => Some("contains a hidden name"),
        _ if name.ends_with(['.', ' ']) || name.starts_with(' ') => {
            Some("contains a name that ends in a dot or a space")
        }
        _ if name.len() > MAX_NAME_BYTES => Some("contains a name that is too long"),
        _ if DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt") => {
            Some("contains the name of a device")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_workspace() {
        let long = format!("{}.md", "a".repeat(198));
        let deep = format!("{}x.md", "a/".repeat(300));
        for bad in [
            "",
            ".",
            "..",
            "../MEMORY.md",
            "memory/../../x.md",
            "memory/..",
            "/etc/passwd",
            "/etc/x.md",
            "~/x.md",
            "C:\\x.md",
            "c:x.md",
            "a\\b.md",
            "\\\\host\\x.md",
            "x.md:stream",
            "memory//x.md",
            "x.md/",
            "./x.md",
            "x\0.md",
            "x\n.md",
            "x\u{2028}.md",
            "%2e%2e/x.md",
            "a/%2E%2e/x.md",
            "a%2fb.md",
            "x%00.md",
            "%252e/x.md",
            ".hidden.md",
            ".git/x.md",
            "x.md.",
            "x.md ",
            " x.md",
            "con.md",
            "NUL.md",
            "a/Aux.md",
            "com1.md",
            "lpt9.x.md",
            "com¹.md",
            "memory.db",
            "x",
            "sessions/a.jsonl",
            "memory/checkpoints/x/files/MEMORY.md",
            "Memory/Checkpoints/x.md",
            "memories",
            "memories/../x.txt",
            "memories/.x.txt",
            "notes/memories/x.txt",
            &long,
            &deep,
        ] {
            let error = bad.parse::<FilePath>().expect_err(bad);
            assert_eq!(error.code(), "bad_path", "{bad}");
        }
        for good in [
            "MEMORY.md",
            "memory/2026-01-15.md",
            "skills/a b/SKILL.md",
            "größe.md",
            "a..b.md",
            "console.md",
            "com10.md",
            "x.MD",
            "100%.md",
            "memories/notes.txt",
            "memories/a/guidelines.xml",
            "memories/plain",
        ] {
            assert!(good.parse::<FilePath>().is_ok(), "{good}");
        }
    }
}
