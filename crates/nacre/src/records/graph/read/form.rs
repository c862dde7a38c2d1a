//! The forms of a single line: a key and its value, a title before its text, a tag, a date.
//!
//! Every function here maps a text to parts of it. None takes longer than linear time.

use super::words::sentences;
use crate::base::words::{self, List};
use crate::records::graph::guard;

/// The maximum number of characters of an event's name.
const MAX_TITLE_CHARS: usize = 80;
/// `[decision|i=0.9]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tag<'a> {
    pub(crate) kind: &'a str,
    pub(crate) importance: f64,
}

/// Splits `key: value`, `**Key**: value`, `**Key:** value`, `**Key** - value` and `Key ..... value`.
pub(crate) fn key_and_value(item: &str) -> Option<(&str, &str)> {
    if let Some(bold) = item.strip_prefix("**").or_else(|| item.strip_prefix("__")) {
        let end = bold.find(&item[..2])?;
        let (key, rest) = (&bold[..end], bold[end + 2..].trim_start());
        let inner = key.trim_end().strip_suffix(':');
        let outer = rest.strip_prefix(':').or_else(|| {
            let dash = DASHES.iter().find_map(|dash| rest.strip_prefix(dash));
            dash.filter(|_| bold[end + 2..].starts_with(' '))
        });
        let value = outer.or(inner.map(|_| rest))?;
        let key = inner.unwrap_or(key).trim();
        return is_key(key, 5).then_some((key, value.trim()));
    }
    let head = &item[..floor(item, 80)];
    let dots = head.find("....").filter(|at| *at > 0);
    let colon = head.find(':').filter(|colon| dots.is_none_or(|dots| *colon < dots));
    if let Some(colon) = colon {
        let (key, value) = (&item[..colon], &item[colon + 1..]);
        (value.is_empty() || value.starts_with([' ', '\t'])).then_some(())?;
        let value = value.trim();
        // Many words are a key only if a value follows, not the rest of a sentence.
        let stated = value.starts_with(|c: char| c.is_ascii_digit() || c.is_uppercase() || c == '+');
        let most = if stated && !key.contains('`') { 5 } else { 3 };
        return is_key(key, most).then_some((key, value));
    }
    let (key, value) = item.split_at(dots?);
    let (key, value) = (key.trim_end(), value.trim_start_matches('.').trim());
    (is_key(key, 5) && !value.is_empty()).then_some((key, value))
}

const DASHES: [&str; 3] = ["- ", "– ", "— "];

/// Splits `Key — value` if the value is a number, an address or a name: many sentences contain a dash.
pub(super) fn dashed(item: &str) -> Option<(&str, &str)> {
    let head = &item[..floor(item, 60)];
    let at = [" — ", " – ", " - "].iter().filter_map(|dash| head.find(dash)).min()?;
    let (key, value) = (&item[..at], item[at..].trim_start_matches([' ', '—', '–', '-']));
    let telling = value
        .starts_with(|c: char| c.is_ascii_digit() || c.is_uppercase() || matches!(c, '+' | '`'))
        || value.contains(['@', '/']);
    (is_key(key, 3)
        && !key.contains('`')
        && telling
        && value.split(' ').count() <= 8
        && !value.ends_with(['.', '!', '?']))
    .then_some((key, value))
}

/// A title before its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TitledText<'a> {
    pub(super) title: &'a str,
    pub(super) text: &'a str,
    /// The title is a sentence of its own, not the beginning of the text.
    pub(super) ends: bool,
}

/// Splits `**A title.** And what it says.`, `**A title** that goes on.`, and the same with single marks.
pub(super) fn titled(item: &str) -> Option<TitledText<'_>> {
    let mark = ["**", "__", "*", "_"].into_iter().find(|mark| item.starts_with(mark))?;
    let inside = &item[mark.len()..];
    let end = inside[..floor(inside, 160)].find(mark)?;
    let (title, text) = (inside[..end].trim(), inside[end + mark.len()..].trim());
    let bare = title.trim_end_matches(['.', ':', '!']);
    let ends = bare.len() < title.len();
    (!bare.is_empty() && !text.is_empty() && !text.starts_with(':')).then_some(TitledText {
        title: bare,
        text,
        ends,
    })
}

/// Removes the number of an item or a heading: `R5. `, `3) `, `2.1 `, `Rule 4: `.
pub(super) fn without_number(text: &str) -> &str {
    let word = text.strip_prefix("Rule ").or_else(|| text.strip_prefix('§')).unwrap_or(text).trim_start();
    let letter = word.strip_prefix(|c: char| c.is_ascii_uppercase()).unwrap_or(word);
    let digits = letter.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &letter[..letter.len() - digits.len()];
    let after = digits.strip_prefix([')', ':']).unwrap_or(digits);
    let dotted = number.contains('.') || after.len() < digits.len();
    let numbered = number.len() <= 8 && number.starts_with(|c: char| c.is_ascii_digit());
    match after.strip_prefix(' ') {
        Some(rest) if numbered && dotted => rest.trim_start(),
        _ => text,
    }
}

/// Returns the date that a title is: `Thursday 12 February 2026`, `February 12, 2026`.
pub(super) fn day_of(title: &str) -> Option<String> {
    if title.len() > 60 {
        return None;
    }
    let (mut day, mut month, mut year) = (None, None, None);
    for word in title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        if let Some(at) = guard::month(word) {
            month = month.or(Some(at));
        } else if guard::is_day(word) {
        } else if let Ok(number) = digits.parse::<u32>()
            && matches!(&word[digits.len()..], "" | "st" | "nd" | "rd" | "th")
        {
            match number {
                1..=31 => day = day.or(Some(number)),
                1900..=2199 => year = year.or(Some(number)),
                _ => return None,
            }
        } else {
            return None;
        }
    }
    Some(format!("{:04}-{:02}-{:02}", year?, month?, day?))
}

/// Tells whether some words can be a key, not the beginning of a sentence.
fn is_key(key: &str, most: usize) -> bool {
    // `Tel.` and `Customer no.` are abbreviations, `Done. Then` is two sentences.
    let dots = key.match_indices('.').all(|(at, _)| {
        let word = key[..at].rsplit(' ').next().unwrap_or_default();
        let after = &key[at + 1..];
        word.chars().count() <= 4
            && (after.is_empty() || after.starts_with(' ') && !after[1..].starts_with(char::is_uppercase))
    });
    key.starts_with(|c: char| c.is_alphanumeric() || c == '`')
        && key.len() <= 60
        && key.split_whitespace().count() <= most
        && !key.contains([',', '!', '?', '[', '"', '=', '/', '*'])
        && dots
        && !key.split(' ').any(|word| CLAUSES.has(word))
}

static CLAUSES: List = words::GRAPH_SENTENCES.list("clauses");

/// Returns the tag at the start of a line, and the rest.
pub(crate) fn leading_tag(text: &str) -> Option<(Tag<'_>, &str)> {
    let inside = text.strip_prefix('[')?;
    let end = inside.find(']').filter(|end| *end <= 60)?;
    Some((tag(&inside[..end])?, inside[end + 1..].trim_start()))
}

/// Returns a title without the tag at its end.
pub(crate) fn ending_tag(title: &str) -> (&str, Option<Tag<'_>>) {
    let read = || {
        let inside = title.strip_suffix(']')?;
        let start = inside.rfind('[')?;
        Some((title[..start].trim_end(), tag(&inside[start + 1..])?))
    };
    read().map_or((title, None), |(title, tag)| (title, Some(tag)))
}

/// Reads `decision|i=0.9`, also `i=1` and `i=.9`.
fn tag(inside: &str) -> Option<Tag<'_>> {
    let (kind, importance) = inside.split_once('|')?;
    let number =
        importance.trim().strip_prefix("i=").or_else(|| importance.trim().strip_prefix("I="))?.trim();
    let shape =
        !number.is_empty() && number.len() <= 10 && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let importance: f64 = number.parse().ok().filter(|_| shape)?;
    let kind = kind.trim();
    let word = !kind.is_empty() && kind.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    word.then_some(Tag { kind, importance: importance.min(1.0) })
}

/// Returns the beginning of a text as the name of an event: its first sentence, or as many words as fit.
pub(super) fn title_of(text: &str) -> &str {
    let mut first = text;
    let mut found = false;
    sentences(&text[..floor(text, 4 * MAX_TITLE_CHARS)], |start, sentence, _| {
        if !found && !sentence.trim().is_empty() {
            first = &text[start..start + sentence.len()];
            found = true;
        }
    });
    let first = first.trim();
    let Some((end, _)) = first.char_indices().nth(MAX_TITLE_CHARS) else { return first };
    let cut = first[..end].rfind(' ').filter(|cut| *cut > 0).unwrap_or(end);
    first[..cut].trim_end_matches([',', ':', '-', ' ', '('])
}

/// Returns as many whole sentences from the start as fit a value.
pub(super) fn whole_sentences(text: &str) -> &str {
    let most = text.char_indices().nth(guard::MAX_READ_VALUE).map_or(text.len(), |(at, _)| at);
    let mut end = 0;
    sentences(text, |start, sentence, _| {
        // Includes the punctuation that ends it.
        let after = (start + sentence.len() + 1).min(text.len());
        let after = if text.is_char_boundary(after) { after } else { start + sentence.len() };
        if after <= most && (end == 0 && start == 0 || end > 0) && end <= start {
            end = after;
        }
    });
    text[..end].trim()
}

pub(super) fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Returns the last character boundary at or before a byte.
pub(super) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
