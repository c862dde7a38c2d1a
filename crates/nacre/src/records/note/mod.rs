//! Notes: documents as what they say. `statement` splits a passage into statements, each with its subject and time, and
//! `line` splits a chunk into the lines that search compares with a question.

pub(crate) mod line;
pub(crate) mod statement;
pub(crate) mod vectors;

use crate::base::Time;

/// Returns the words of a file's name that are searched with its chunks.
pub(crate) fn about(stem: &str) -> String {
    match Time::in_name(stem) {
        Some(day) => format!("{stem} {}", day.day_in_words()),
        None => stem.replace(['-', '_'], " "),
    }
}

/// Returns the headings in the title of a chunk, without the words of the file's name.
pub(crate) fn headings<'t>(title: &'t str, path: &str) -> &'t str {
    title.strip_suffix(about(stem(path)).as_str()).unwrap_or(title).trim_end()
}

/// Returns the words of a file's name, or nothing if it has a date.
pub(crate) fn subject(path: &str) -> String {
    let stem = stem(path);
    if Time::in_name(stem).is_some() { String::new() } else { about(stem) }
}

/// Returns the name of a file without its folder and extension.
pub(crate) fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}
