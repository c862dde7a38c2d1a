//! The daily log (W4): what happened, a line each, in a file a day.

use serde::Serialize;

use super::FilePath;
use super::change::{self, Change, Held};
use crate::brief::one_line;
use crate::call::{Caller, audit};
use crate::group::Group;
use crate::{Error, Result};

/// A line to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    /// What happened; it becomes one line.
    pub(crate) text: String,
    /// What kind of thing, in a word; default `note`.
    pub(crate) category: Option<String>,
    /// 0 to 1; default 0.5.
    pub(crate) importance: Option<f64>,
}

/// What became of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Appended {
    /// The log.
    pub(crate) path: String,
    /// The line as it stands there.
    pub(crate) text: String,
    /// Whether it stood there already, and nothing was written.
    pub(crate) duplicate: bool,
}

/// A log with a line more, before it is written.
pub(crate) struct Longer {
    pub(crate) path: FilePath,
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) after: Vec<u8>,
    pub(crate) line: String,
}

/// Adds a line to the log of today.
pub(crate) fn append(group: &mut Group, caller: &Caller, draft: &Draft) -> Result<Appended> {
    let mut held = change::hold(group, caller.now)?;
    let Longer { path, before, after, line } = longer(&held, caller, draft)?;
    let duplicate = before.as_ref() == Some(&after);
    if !duplicate {
        let change = Change { path: path.clone(), before, after: Some(after) };
        held.commit(caller.now, "log", &[change], |tx| {
            let mut row = audit::Row::new("log");
            row.detail.insert("chars".into(), line.chars().count().into());
            audit::append(tx, caller, &row, audit::Outcome::Done)
        })?;
    }
    Ok(Appended { path: path.to_string(), text: line, duplicate })
}

/// Makes the log of today with a line more; as it is, where it has that line.
pub(crate) fn longer(held: &Held<'_>, caller: &Caller, draft: &Draft) -> Result<Longer> {
    let category = draft.category.as_deref().unwrap_or("note");
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    if category.is_empty() || !category.chars().all(is_word) || category.chars().count() > 30 {
        let problem = "is not one word of at most 30 letters, digits, `-` and `_`".into();
        let (tool, field) = ("memory_write".into(), "category".into());
        return Err(Error::BadArgument { tool, field, problem, nearest: None });
    }
    let text = one_line(&draft.text);
    if text.trim().is_empty() {
        return Err(Error::EmptyContent);
    }
    let line = format!("- [{category}|i={}] {}", draft.importance.unwrap_or(0.5), text.trim());
    let day = caller.now.to_string();
    let day = day.get(..10).unwrap_or(&day);
    let path: FilePath = format!("memory/{day}.md").parse()?;
    let before = held.read(&path)?;
    let now = before.clone().unwrap_or_else(|| format!("# {day}\n\n").into_bytes());
    let stands = String::from_utf8_lossy(&now).lines().any(|there| there.trim() == line);
    let after = if stands { now } else { super::edit::append(&now, &line) };
    Ok(Longer { path, before, after, line })
}
