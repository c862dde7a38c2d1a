//! The part of Markdown that Nacre reads: front matter, headings, list items, fenced code, and documents
//! block by block.
//!
//! [`walk`] yields headings, bullets, paragraphs and table rows. It skips code, comments, front matter,
//! quotations, and text that Nacre itself injected. A block of one line is borrowed; a wrapped one is joined,
//! with the offsets of its lines.

use std::borrow::Cow;

use super::frame;

/// Longer lines are data, not prose.
const MAX_LINE_BYTES: usize = 20_000;
/// A longer number at the start of a line is a year or an amount, not a list number.
const MAX_DIGITS: usize = 3;
/// The maximum size of a wrapped paragraph, in bytes.
const MAX_BLOCK_BYTES: usize = 8_000;

/// The metadata of a document, between a first line `---` and the next `---` or `...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrontMatter<'a> {
    /// The lines in between.
    pub(crate) fields: &'a str,
    /// The text that follows; `None` if the front matter is not closed.
    pub(crate) body: Option<&'a str>,
}

/// Reads the front matter of a document.
pub(crate) fn front_matter(text: &str) -> Option<FrontMatter<'_>> {
    let text = text.trim_start_matches('\u{feff}');
    let (first, inside) = text.split_at(text.find('\n').map_or(text.len(), |end| end + 1));
    if first.trim_end() != "---" {
        return None;
    }
    let mut at = 0;
    for line in inside.split_inclusive('\n') {
        let end = at + line.len();
        if matches!(line.trim_end(), "---" | "...") {
            return Some(FrontMatter { fields: &inside[..at], body: Some(&inside[end..]) });
        }
        at = end;
    }
    Some(FrontMatter { fields: inside, body: None })
}

/// Reads a heading: up to three spaces, one to six `#`, a space, the text, and optional closing `#`.
pub(crate) fn heading(line: &str) -> Option<(usize, &str)> {
    let text = without_indent(line)?;
    let level = text.chars().take_while(|c| *c == '#').count();
    let rest = &text[level..];
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let bare = rest.trim();
    let open = bare.trim_end_matches('#');
    Some((level, if open.is_empty() || open.ends_with([' ', '\t']) { open.trim_end() } else { bare }))
}

/// Reads the text of a list item: after `-`, `*`, `+`, or a number of up to `max_digits` digits.
pub(crate) fn list_item(content: &str, max_digits: usize) -> Option<&str> {
    let rest = content.strip_prefix(['-', '*', '+']).or_else(|| {
        let digits = content.bytes().take_while(u8::is_ascii_digit).count();
        content[digits..].strip_prefix(['.', ')']).filter(|_| (1..=max_digits).contains(&digits))
    })?;
    rest.strip_prefix([' ', '\t']).map(str::trim_start)
}

/// Tracks fenced code from line to line.
#[derive(Default)]
pub(crate) struct Fence {
    /// The character and the length of the open fence.
    open: Option<(char, usize)>,
}

/// How a line relates to fenced code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FencePlace {
    Outside,
    Opens,
    /// Code, or the fence that closes it.
    Inside,
}

impl Fence {
    /// Processes the next line.
    pub(crate) fn next(&mut self, line: &str) -> FencePlace {
        match (self.open, fence_of(line)) {
            (None, None) => FencePlace::Outside,
            (None, Some((mark, length, _))) => {
                self.open = Some((mark, length));
                FencePlace::Opens
            }
            (Some((open, least)), found) => {
                if found.is_some_and(|(mark, length, ends)| ends && mark == open && length >= least) {
                    self.open = None;
                }
                FencePlace::Inside
            }
        }
    }

    /// Tells whether the next line is code.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }
}

/// Reads a code fence: its character, its length, and whether it may close a block.
fn fence_of(line: &str) -> Option<(char, usize, bool)> {
    let text = without_indent(line)?;
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == mark).count();
    let rest = &text[length..];
    (length >= 3 && !(mark == '`' && rest.contains('`'))).then(|| (mark, length, rest.trim().is_empty()))
}

/// Returns the line without its indent; `None` if the indent makes it code.
fn without_indent(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() <= 3).then_some(text)
}

/// A part of a document.
#[derive(Debug, PartialEq)]
pub(crate) enum Block<'a> {
    Heading {
        level: usize,
        title: &'a str,
        line: usize,
    },
    Bullet {
        indent: usize,
        text: Text<'a>,
    },
    Paragraph(Text<'a>),
    Row {
        text: &'a str,
        line: usize,
    },
    /// A blank line: the next block is a new table or paragraph.
    Blank,
    /// A line that is too long to read.
    Long {
        text: &'a str,
        line: usize,
    },
}

/// Text of one or more lines.
#[derive(Debug, PartialEq)]
pub(crate) struct Text<'a> {
    pub(crate) text: Cow<'a, str>,
    line: usize,
    /// Where each further line begins.
    breaks: Vec<usize>,
}

impl<'a> Text<'a> {
    fn new(text: &'a str, line: usize) -> Text<'a> {
        Text { text: text.into(), line, breaks: Vec::new() }
    }

    /// Returns the line of the document that contains this byte.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.line + self.breaks.partition_point(|start| *start <= at)
    }

    /// Returns each line with its offset.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let starts = std::iter::once(0).chain(self.breaks.iter().copied());
        // A space joins two lines.
        let ends = self.breaks.iter().map(|next| next - 1).chain(std::iter::once(self.text.len()));
        starts.zip(ends).map(|(start, end)| (start, &self.text[start..end]))
    }

    fn push(&mut self, more: &str) {
        let text = self.text.to_mut();
        text.push(' ');
        self.breaks.push(text.len());
        text.push_str(more);
    }
}

/// Walks the blocks of a document in order.
pub(crate) fn walk<'a>(text: &'a str, mut each: impl FnMut(Block<'a>)) {
    let has_comments = text.contains("<!--");
    let has_listings = text.lines().any(frame::is_listed);
    let frames = frame::frames(text);
    let mut next = 0;
    let mut fence = Fence::default();
    // The text that ends the current comment or injected block.
    let mut until: Option<&str> = None;
    let mut open: Option<Block<'a>> = None;
    let mut list = false;
    let mut blank = true;
    // The offset of the body. Only at the start of a file, `---` followed by other white space is a rule.
    let is_front = text.trim_start_matches('\u{feff}').starts_with("---\n") || text.starts_with("---\r\n");
    let front = front_matter(text).filter(|_| is_front);
    let body = front.map_or(0, |front| text.len() - front.body.map_or(0, str::len));
    for (index, full) in text.split('\n').enumerate() {
        let line = index + 1;
        let start = next;
        next += full.len() + 1;
        if start < body {
            continue;
        }
        let mut bare = full.trim_start_matches('\u{feff}').trim_end();
        if bare.len() > MAX_LINE_BYTES {
            flush(&mut open, &mut each);
            each(Block::Long { text: bare, line });
            continue;
        }
        if let Some(end) = until {
            let Some(at) = bare.find(end) else { continue };
            bare = bare[at + end.len()..].trim_start();
            until = None;
        }
        if !fence.is_open() && frames.iter().any(|frame| frame.start == start) {
            until = frame::close_of(bare);
            continue;
        }
        if !fence.is_open() && has_comments {
            bare = before_comment(bare, &mut until);
        }
        match fence.next(bare) {
            FencePlace::Outside => {}
            FencePlace::Opens => {
                flush(&mut open, &mut each);
                continue;
            }
            FencePlace::Inside => continue,
        }
        let content = bare.trim_start();
        if content.is_empty() {
            flush(&mut open, &mut each);
            if !blank {
                each(Block::Blank);
            }
            blank = true;
            continue;
        }
        let after_blank = std::mem::replace(&mut blank, false);
        let indent = bare.len() - content.len();
        if has_listings && frame::is_ours(bare) {
            continue;
        }
        // A trailing backslash is a hard line break.
        let content = content.strip_suffix('\\').map_or(content, str::trim_end);
        if content.is_empty() {
            continue;
        }
        if let Some((level, title)) = heading(bare) {
            flush(&mut open, &mut each);
            list = false;
            each(Block::Heading { level, title, line });
        } else if let Some(level) = underline(content).filter(|_| indent < 4) {
            // Below a line of text it makes a heading; alone it is a separator.
            match open.take() {
                Some(Block::Paragraph(Text { text: Cow::Borrowed(title), line, .. })) if !after_blank => {
                    list = false;
                    each(Block::Heading { level, title, line });
                }
                block => {
                    open = block;
                    flush(&mut open, &mut each);
                }
            }
        } else if content.starts_with('|') {
            flush(&mut open, &mut each);
            each(Block::Row { text: content, line });
        } else if let Some(text) = list_item(content, MAX_DIGITS) {
            flush(&mut open, &mut each);
            list = true;
            open = Some(Block::Bullet { indent, text: Text::new(text, line) });
        } else if content.starts_with('>') {
            flush(&mut open, &mut each);
        } else if let Some(Block::Bullet { text, .. } | Block::Paragraph(text)) =
            open.as_mut().filter(|_| !after_blank)
            && text.text.len() < MAX_BLOCK_BYTES
        {
            text.push(content);
        } else {
            flush(&mut open, &mut each);
            list &= indent > 0;
            // A line indented by four that is not part of a list is code.
            if indent < 4 || list {
                open = Some(Block::Paragraph(Text::new(content, line)));
            }
        }
    }
    flush(&mut open, &mut each);
}

fn flush<'a>(open: &mut Option<Block<'a>>, each: &mut impl FnMut(Block<'a>)) {
    if let Some(block) = open.take() {
        each(block);
    }
}

/// Returns the part of a line before the comment that it opens. If a comment ends on the line, it is dropped
/// together with any text before it, unless there is none.
fn before_comment<'a>(line: &'a str, until: &mut Option<&'static str>) -> &'a str {
    let mut rest = line;
    while let Some(at) = rest.find("<!--") {
        let end = "-->";
        let Some(close) = rest[at + 4..].find(end) else {
            *until = Some(end);
            return rest[..at].trim_end();
        };
        let after = rest[at + 4 + close + end.len()..].trim_start();
        if after.is_empty() {
            return rest[..at].trim_end();
        }
        rest = after;
    }
    rest
}

/// Returns the level of the heading that a line of `=` or `-` makes of the line above it.
fn underline(content: &str) -> Option<usize> {
    let all = |mark: u8| content.len() >= 3 && content.bytes().all(|byte| byte == mark);
    match content.as_bytes()[0] {
        b'=' if all(b'=') => Some(1),
        b'-' if all(b'-') => Some(2),
        _ => None,
    }
}

/// Returns the cells of a row, without the bars at its ends.
pub(crate) fn cells(row: &str) -> impl Iterator<Item = &str> + Clone {
    let inner = row.strip_prefix('|').unwrap_or(row);
    inner.strip_suffix('|').unwrap_or(inner).split('|').map(str::trim)
}

/// Tells whether a row is the separator below a table header.
pub(crate) fn is_rule(row: &str) -> bool {
    row.contains('-') && row.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t'))
}

/// Returns the text without emphasis and links; code keeps its backticks.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| matches!(byte, b'*' | b'[' | b'<' | b'_' | b'~' | b'\\')) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut code = false;
    while let Some(at) = rest.find(['*', '[', ']', '<', '_', '`', '~', '\\']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let mark = from.as_bytes()[0];
        let mut after = &from[1..];
        if mark == b'`' {
            code = !code;
            out.push('`');
        } else if code {
            out.push(char::from(mark));
        } else {
            match mark {
                b'_' => {
                    // Inside a word it is part of the word.
                    let inside =
                        out.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric);
                    if inside {
                        out.push('_');
                    }
                }
                b'~' if !after.starts_with('~') => out.push('~'),
                b'~' => after = &after[1..],
                b'<' => match after.find('>') {
                    // `<https://…>` is an address; other tags are dropped.
                    Some(end) if after[..end].contains("://") => {
                        out.push_str(&after[..end]);
                        after = &after[end + 1..];
                    }
                    Some(end)
                        if after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') && end < 200 =>
                    {
                        after = &after[end + 1..];
                    }
                    _ => out.push('<'),
                },
                b']' => {
                    if let Some(target) = after.strip_prefix('(')
                        && let Some(end) = target.find(')')
                    {
                        after = &target[end + 1..];
                    }
                }
                b'\\' => {
                    if let Some(next) = after.chars().next().filter(char::is_ascii_punctuation) {
                        out.push(next);
                        after = &after[next.len_utf8()..];
                    } else {
                        out.push('\\');
                    }
                }
                _ => {}
            }
        }
        rest = after;
    }
    out.push_str(rest);
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_between_two_rules_at_the_start() {
        for (text, expected) in [
            ("---\na: b\n---\ntext", Some(("a: b\n", Some("text")))),
            ("\u{feff}---\r\na: b\r\n...\r\n", Some(("a: b\r\n", Some("")))),
            ("--- \n---", Some(("", Some("")))),
            ("---\na: b\n", Some(("a: b\n", None))),
            ("---", Some(("", None))),
            ("----\na: b\n---\n", None),
            ("\n---\na: b\n---\n", None),
            ("text\n---\na: b\n---\n", None),
            ("", None),
        ] {
            let expected = expected.map(|(fields, body)| FrontMatter { fields, body });
            assert_eq!(front_matter(text), expected, "{text:?}");
        }
    }
}
