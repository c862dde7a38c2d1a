//! The location of a document's file, and conflicts with existing files.

use std::collections::HashSet;

use super::{MAX_TEXT_BYTES, Row, hash};
use crate::base::caller::folded;
use crate::base::{Result, Time};
use crate::records::workspace::FilePath;
use crate::store::{Files, Replacement};

/// The folder of imported documents.
pub(super) use crate::base::path::IMPORTS as IMPORTS_FOLDER;

/// The result of writing a document's file.
#[derive(Clone, Copy)]
pub(super) enum Placement {
    Added,
    Changed,
    /// The file existed, but had no row.
    Adopted,
    Same,
    Kept(&'static str),
}

/// Writes a document's file, unless a file of the user is in the way.
pub(super) fn place(
    files: &Files,
    (path, text, at): (&str, &str, Option<Time>),
    known: Option<&Row>,
    new: &str,
    taken: &mut HashSet<String>,
) -> Result<(Placement, String)> {
    let mut path = known.map_or(path, |row| &row.reference).to_owned();
    // Two names in a source may be the same to a file system, or become the same when made safe.
    if !taken.insert(folded(&path)) && known.is_none() {
        // In a folder of its own, and with the same name, because the name may make it private.
        let (folder, name) = path.rsplit_once('/').expect("it is in the folder of imports");
        path = format!("{folder}/{}/{name}", &new[..8]);
        taken.insert(folded(&path));
    }
    let file: FilePath = path.parse()?;
    let there = files.read(&file, MAX_TEXT_BYTES + 1)?;
    let placed = match (&there, known) {
        (None, Some(_)) => Placement::Kept("was deleted here and stays deleted"),
        (Some(there), _) if there == text.as_bytes() => {
            if known.is_some_and(|row| row.hash == new) {
                Placement::Same
            } else {
                Placement::Adopted
            }
        }
        (Some(_), Some(row)) if row.hash == new => Placement::Same,
        (Some(there), Some(row)) if hash(&[&String::from_utf8_lossy(there)]) == row.hash => {
            Placement::Changed
        }
        (Some(_), Some(_)) => Placement::Kept("was changed here and at its source; the version here is kept"),
        (Some(_), None) => Placement::Kept("another file has this path"),
        (None, None) => Placement::Added,
    };
    if let Placement::Added | Placement::Changed = placed
        && files.replace(&file, there.as_deref(), Some(text.as_bytes()))? == Replacement::Changed
    {
        return Ok((Placement::Kept("was changed here at the same moment"), path));
    }
    if let (Placement::Added | Placement::Changed, Some(at)) = (placed, at) {
        files.set_time(&file, at)?;
    }
    Ok((placed, path))
}

/// Turns a file name of a source into a path of the workspace. A name that had to be changed gets a hash, so
/// that two names never collide.
pub(super) fn safe(path: &str) -> String {
    const MAX_NAME_BYTES: usize = 120;
    const MAX_PATH_BYTES: usize = 480;
    let mut changed = false;
    let mut names = Vec::new();
    for name in path.split('/').filter(|name| !matches!(*name, "" | "." | "..")) {
        let plain = |c: char| {
            if c.is_control() || "\u{2028}\u{2029}:\\~%<>\"|?*".contains(c) { '-' } else { c }
        };
        let mut own: String = name.chars().map(plain).collect();
        while own.len() > MAX_NAME_BYTES {
            own.pop();
        }
        own = own.trim_matches([' ', '.']).to_owned();
        changed |= own != name;
        names.push(if own.is_empty() { "-".to_owned() } else { own });
    }
    let mut joined = names.join("/");
    let lower = joined.to_ascii_lowercase();
    let mut stem =
        [".md", ".markdown"].iter().find_map(|end| lower.strip_suffix(end)).map_or(joined.len(), str::len);
    while stem > MAX_PATH_BYTES || !joined.is_char_boundary(stem) {
        (stem, changed) = (stem - 1, true);
    }
    joined.truncate(stem);
    let made = if changed { format!("{joined}-{}.md", &hash(&[path])[..8]) } else { format!("{joined}.md") };
    match made.parse::<FilePath>() {
        Ok(_) => made,
        // A device name, or another invalid name.
        Err(_) => {
            let format = names.get(2).map_or("other", String::as_str);
            format!("{IMPORTS_FOLDER}/{format}/{}.md", hash(&[path]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_becomes_a_path_of_the_workspace() {
        for (given, expected) in [
            ("memory/imports/obsidian/v/Note.md", Some("memory/imports/obsidian/v/Note.md")),
            ("memory/imports/obsidian/v/Größe & Ç.markdown", Some("memory/imports/obsidian/v/Größe & Ç.md")),
            ("memory/imports/x/../../../etc/passwd", Some("memory/imports/x/etc/passwd.md")),
            ("memory/imports/x/a: b?.md", None),
            ("memory/imports/x/con.md", None),
            ("memory/imports/x/\u{0}\n.md", None),
            ("memory/imports/x/%2e%2e/a.md", None),
            ("memory/imports/x/.hidden.md", None),
            ("memory/imports/x/ .md", None),
        ] {
            let made = safe(given);
            made.parse::<FilePath>().unwrap();
            assert!(made.starts_with("memory/imports/"), "{made}");
            if let Some(expected) = expected {
                assert_eq!(made, expected);
            }
        }
        let (long, other) = ("a".repeat(4000), "a".repeat(4001));
        let [long, other] = [long, other].map(|name| safe(&format!("memory/imports/x/{name}/{name}.md")));
        assert!(long != other && long.parse::<FilePath>().is_ok());
        let deep = safe(&format!("memory/imports/x/{}b.md", "ü/".repeat(900)));
        deep.parse::<FilePath>().unwrap();
    }
}
