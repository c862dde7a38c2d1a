//! Parses the lines of a Markdown file: the kind of each line, the lines that belong to it, and where to
//! insert a new one.

use std::ops::Range;

use super::edit::line_end;
use crate::base::markdown::{Fence, FencePlace, front_matter, heading, list_item};
use crate::records::graph::read::{ending_tag, leading_tag};

/// The maximum number of digits of a list item's number, as in CommonMark.
const MAX_DIGITS: usize = 9;

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind<'a> {
    /// Part of code, a comment or front matter.
    Quiet,
    Blank,
    Heading {
        level: usize,
        title: &'a str,
    },
    Bullet {
        indent: usize,
        text: &'a str,
    },
    Other {
        indent: usize,
    },
}

/// A line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line<'a> {
    /// The full text, with its line break.
    pub(crate) full: &'a str,
    pub(crate) kind: Kind<'a>,
}

/// The tag of a line, such as `[decision|i=0.9]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LineTag<'a> {
    pub(crate) category: &'a str,
    pub(crate) importance: f64,
    pub(crate) text: &'a str,
}

impl<'a> Line<'a> {
    /// Reads the tag of a line. It is at the start or end of a bullet, or at the end of a heading.
    pub(crate) fn tagged(&self) -> Option<LineTag<'a>> {
        let at_end = |text: &'a str| {
            let (text, tag) = ending_tag(text);
            tag.map(|tag| (tag, text))
        };
        let (tag, text) = match self.kind {
            Kind::Heading { title, .. } => at_end(title),
            Kind::Bullet { text, .. } => leading_tag(text).or_else(|| at_end(text)),
            _ => None,
        }?;
        Some(LineTag { category: tag.kind, importance: tag.importance, text: text.trim() })
    }
}

/// Parses the lines of a text. Joined, they give the text.
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut found = Vec::new();
    let mut fence = Fence::default();
    let mut comment = false;
    let body = front_matter(text).map_or(0, |front| text.len() - front.body.map_or(0, str::len));
    let mut at = 0;
    for (place, full) in text.split_inclusive('\n').enumerate() {
        let start = at;
        at += full.len();
        let bare = if place == 0 { full.trim_start_matches('\u{feff}') } else { full }.trim_end();
        let content = bare.trim_start();
        let indent = bare.len() - content.len();
        let kind = if start < body {
            Kind::Quiet
        } else if comment {
            comment = !content.contains("-->");
            Kind::Quiet
        } else if let code @ (FencePlace::Opens | FencePlace::Inside) = fence.next(bare) {
            if code == FencePlace::Opens { Kind::Other { indent } } else { Kind::Quiet }
        } else if content.is_empty() {
            Kind::Blank
        } else if content.starts_with("<!--") {
            comment = !content.contains("-->");
            Kind::Quiet
        } else if let Some((level, title)) = heading(bare) {
            Kind::Heading { level, title }
        } else if let Some(text) = list_item(content, MAX_DIGITS) {
            Kind::Bullet { indent, text }
        } else {
            Kind::Other { indent }
        };
        found.push(Line { full, kind });
    }
    found
}

/// Returns for every line whether it is part of code, a comment or front matter.
pub(crate) fn quiet(text: &str) -> Vec<bool> {
    lines(text).iter().map(|line| line.kind == Kind::Quiet).collect()
}

/// Returns the lines that belong to a line: the section of a heading, or the wrapped and nested lines of a
/// bullet.
pub(crate) fn belonging(lines: &[Line<'_>], at: usize) -> Range<usize> {
    let mut end = at + 1;
    match lines[at].kind {
        Kind::Heading { level, .. } => {
            let next =
                |line: &Line<'_>| matches!(line.kind, Kind::Heading { level: other, .. } if other <= level);
            end += lines[end..].iter().position(next).unwrap_or(lines.len() - end);
            // Blank lines before the next heading belong to that heading.
            while end < lines.len() && lines[end - 1].kind == Kind::Blank {
                end -= 1;
            }
        }
        Kind::Bullet { indent: own, .. } => {
            let mut blank = false;
            for (place, line) in lines.iter().enumerate().skip(at + 1) {
                match line.kind {
                    Kind::Blank => {
                        blank = true;
                        continue;
                    }
                    // It belongs to the block that contains it.
                    Kind::Quiet if end == place => {}
                    Kind::Bullet { indent, .. } | Kind::Other { indent } if indent > own => {}
                    // A wrapped line need not be indented, but it must not begin another block.
                    Kind::Other { .. } if !blank && !begins_something(line.full) => {}
                    _ => break,
                }
                blank = false;
                end = place + 1;
            }
        }
        _ => {}
    }
    at..end
}

fn begins_something(line: &str) -> bool {
    let content = line.trim();
    content.starts_with(['>', '|'])
        || ["---", "***", "___", "```", "~~~"].iter().any(|mark| content.starts_with(mark))
}

/// Appends bullets to the section whose title contains one of the words, or to a new section at the end of
/// the text.
pub(crate) fn insert(text: &str, words: &[&str], title: &str, bullets: &[String]) -> String {
    let (lines, end) = (lines(text), line_end(text));
    let named = |line: &Line<'_>| match line.kind {
        Kind::Heading { level, title } if level > 1 => {
            let title = title.to_lowercase();
            words.iter().any(|word| title.contains(word))
        }
        _ => false,
    };
    let Some(head) = lines.iter().position(named) else {
        let mut text = text.to_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push_str(end);
        }
        if lines.last().is_some_and(|line| line.kind != Kind::Blank) {
            text.push_str(end);
        }
        text.push_str(&format!("## {title}{end}{end}"));
        return bullets.iter().fold(text, |text, bullet| text + "- " + bullet + end);
    };
    // Before the next heading of any level, after the last line that is not blank.
    let next = |line: &Line<'_>| matches!(line.kind, Kind::Heading { .. });
    let after = lines[head + 1..].iter().position(next).map_or(lines.len(), |at| head + 1 + at);
    let last = (head + 1..after).rev().find(|at| lines[*at].kind != Kind::Blank);
    let at = last.map_or_else(
        // An empty section keeps the blank line below its heading.
        || if after > head + 1 { head + 2 } else { head + 1 },
        |last| last + 1,
    );
    let mark = lines[head + 1..at.max(head + 1)].iter().rev().find_map(|line| match line.kind {
        Kind::Bullet { indent: 0, .. } => line.full.chars().next().filter(|mark| "-*+".contains(*mark)),
        _ => None,
    });
    let mark = mark.unwrap_or('-');
    let mut out: String = lines[..at].iter().map(|line| line.full).collect();
    let ended = out.ends_with('\n');
    if !ended {
        out.push_str(end);
    }
    // Some parsers would attach the bullet to the paragraph above.
    if last.is_some_and(|last| matches!(lines[last].kind, Kind::Other { indent: 0 })) {
        out.push_str(end);
    }
    for bullet in bullets {
        out.push_str(&format!("{mark} {bullet}{end}"));
    }
    if !ended {
        out.truncate(out.len() - end.len());
    }
    if last.is_none() && lines.get(at).is_some_and(|line| matches!(line.kind, Kind::Heading { .. })) {
        out.push_str(end);
    }
    lines[at..].iter().fold(out, |out, line| out + line.full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_in_every_form() {
        for (line, expected) in [
            ("- [decision|i=0.9] Tabs", Some(("decision", 0.9, "Tabs"))),
            ("* [note|i=1] x", Some(("note", 1.0, "x"))),
            ("1. [note|i=.9] x", Some(("note", 0.9, "x"))),
            ("  - [my own-kind|i=0.35] x\r\n", Some(("my own-kind", 0.35, "x"))),
            ("- Tabs it is [decision|i=0.9]", Some(("decision", 0.9, "Tabs it is"))),
            ("## Tabs [decision|i=0.9]", Some(("decision", 0.9, "Tabs"))),
            ("### Tabs [decision|i=0.9] ###", Some(("decision", 0.9, "Tabs"))),
            ("- [x] done", None),
            ("- [link](there)", None),
            ("- [note|i=high] x", None),
            ("- [note|i=0.9.1] x", None),
            ("[note|i=0.9] no bullet", None),
            ("- plain", None),
        ] {
            let found = lines(line)[0].tagged().map(|tag| (tag.category, tag.importance, tag.text));
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn belonging_lines_are_found() {
        for (text, at, expected) in [
            ("- a\n- b\n", 0, 0..1),
            ("- a\n  wrapped\nlazily\n- b\n", 0, 0..3),
            ("- a\n  - below\n\n  more\n\n- b\n", 0, 0..4),
            ("- a\n\nparagraph\n", 0, 0..1),
            ("- a\n  ```\n- code\n  ```\n- b\n", 0, 0..4),
            ("- a\n```\n- code\n```\n", 0, 0..1),
            ("- a\n> quoted\n", 0, 0..1),
            ("  - a\n- b\n", 0, 0..1),
            ("## A\ntext\n### B\n- x\n## C\n", 0, 0..4),
            ("## A\n```\n## not one\n```\n# B\n", 0, 0..4),
        ] {
            assert_eq!(belonging(&lines(text), at), expected, "{text:?}");
        }
    }

    #[test]
    fn bullets_go_to_the_section_they_fit() {
        let add = |text: &str| insert(text, &["decision", "lesson"], "Decisions", &["new".into()]);
        for (before, after) in [
            ("", "## Decisions\n\n- new\n"),
            ("# M\n", "# M\n\n## Decisions\n\n- new\n"),
            ("# M\n\n", "# M\n\n## Decisions\n\n- new\n"),
            ("# M\n## Decisions\n- old\n\n## Next\n", "# M\n## Decisions\n- old\n- new\n\n## Next\n"),
            ("# M\n## Lessons learned\n* old\n", "# M\n## Lessons learned\n* old\n* new\n"),
            ("# M\n## Decisions\n- old", "# M\n## Decisions\n- old\n- new"),
            ("# M\r\n## Decisions\r\n- old\r\n", "# M\r\n## Decisions\r\n- old\r\n- new\r\n"),
            ("## Decisions\n\n## Next\n", "## Decisions\n\n- new\n\n## Next\n"),
            ("## Decisions\n", "## Decisions\n- new\n"),
            ("## Decisions\n## Next\n", "## Decisions\n- new\n\n## Next\n"),
            ("## Decisions\ntext\n", "## Decisions\ntext\n\n- new\n"),
            ("## Decisions\n- a\n### Old\n- b\n", "## Decisions\n- a\n- new\n### Old\n- b\n"),
            (
                "```\n## Decisions\n```\n# Decisions of all\n",
                "```\n## Decisions\n```\n# Decisions of all\n\n## Decisions\n\n- new\n",
            ),
        ] {
            assert_eq!(add(before), after, "{before:?}");
        }
    }
}
