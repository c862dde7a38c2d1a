//! Whether a client's own memory is on: signs that its files show.

use std::fs;
use std::path::Path;

use super::json::{Document, Step};
use super::machine::{Machine, Paths};

/// The built-in memory of a client.
pub struct OwnMemory {
    /// Any of these shows that it is on.
    pub signs: &'static [Sign],
    /// A key in a JSON file that turns it off with the value `false`.
    pub switch: Option<(Paths, &'static str)>,
    /// How to turn it off.
    pub off: &'static str,
}

/// A trace that a built-in memory leaves on disk.
pub enum Sign {
    /// A folder with something in it. A `*` in the path is any folder.
    Filled(Paths),
    /// A file that contains this text.
    Contains(Paths, &'static str),
    /// A key in a JSON file that is `true`.
    True(Paths, &'static str),
}

impl OwnMemory {
    /// Tells whether it is on. Where the files show nothing, it counts as off: a hint that is wrong is worse than none.
    pub fn is_on(&self, machine: &Machine) -> bool {
        let off = self.switch.is_some_and(|(paths, key)| setting(machine, paths, key) == Some(false));
        !off && self.signs.iter().any(|sign| sign.is_there(machine))
    }
}

impl Sign {
    fn is_there(&self, machine: &Machine) -> bool {
        match self {
            Sign::Filled(paths) => is_filled(&machine.place(paths)),
            Sign::Contains(paths, text) => {
                fs::read_to_string(machine.place(paths)).is_ok_and(|found| found.contains(text))
            }
            Sign::True(paths, key) => setting(machine, paths, key) == Some(true),
        }
    }
}

fn setting(machine: &Machine, paths: Paths, key: &str) -> Option<bool> {
    let text = fs::read_to_string(machine.place(paths)).ok()?;
    Document::read(&text).ok()?.get(&[Step::Key(key)])?.as_bool()
}

/// Tells whether a folder has something in it. `a/*/b` is any `b` in a folder of `a`.
fn is_filled(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let has_entry = |folder: &Path| fs::read_dir(folder).is_ok_and(|mut found| found.next().is_some());
    let Some((parent, rest)) = text.split_once('*') else { return has_entry(path) };
    let rest = rest.trim_start_matches(['/', '\\']);
    let folders = fs::read_dir(parent).into_iter().flatten().flatten();
    folders.into_iter().any(|folder| has_entry(&folder.path().join(rest)))
}
