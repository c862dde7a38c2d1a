//! Checks a server's response, which is untrusted: vectors, or an error message.

use serde::Deserialize;
use serde_json::Value;

use super::request::Reply;
use crate::base::redact::{self, MASK};

/// The maximum number of characters of a server's message that are shown.
const MAX_SHOWN_CHARS: usize = 200;

/// Returns the maximum size of a response in bytes: 10,000 numbers of 25 digits per text.
pub(super) fn max_bytes(texts: usize) -> usize {
    (64 + 256 * texts) * 1024
}

/// A problem with a response.
pub(super) enum BadAnswer {
    /// It does not have the expected form.
    Form(String),
    /// A vector contains something that is not a number; a text may have caused that.
    Number(String),
    /// It has another number of components than expected.
    Dims { found: usize, expected: usize },
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vec<Option<f32>>,
}

/// Returns the vectors of a response in the order of the texts, each a unit vector or zeros.
pub(super) fn read(reply: &Reply, texts: usize, dims: Option<usize>) -> Result<Vec<Vec<f32>>, BadAnswer> {
    let form = |problem: String| Err(BadAnswer::Form(problem));
    if let Some(kind) = reply.content_type.as_ref().filter(|kind| !kind.contains("json")) {
        return form(format!("is `{kind}`, not JSON"));
    }
    if reply.cut {
        return form(format!("has more than {} bytes", reply.body.len()));
    }
    if reply.body.is_empty() {
        return form("is empty".to_owned());
    }
    let answer: Answer = match serde_json::from_slice(&reply.body) {
        Ok(answer) => answer,
        Err(_) if has_word(&reply.body, b"NaN") || has_word(&reply.body, b"Infinity") => {
            return Err(BadAnswer::Number("has a vector with a component that is not a number".to_owned()));
        }
        Err(error) => return form(format!("can't be read: {error}")),
    };
    if answer.data.len() != texts {
        return form(format!("has {} vectors for {texts} texts", answer.data.len()));
    }
    let mut vectors = vec![Vec::new(); texts];
    let in_order = answer.data.iter().all(|item| item.index.is_none());
    for (position, item) in answer.data.into_iter().enumerate() {
        let index = if in_order { position } else { item.index.unwrap_or(texts) };
        match vectors.get_mut(index) {
            Some(place) if place.is_empty() => *place = numbers(&item.embedding)?,
            Some(_) => return form(format!("has two vectors for text {index}")),
            None => return form("has a vector for a text that was not sent".to_owned()),
        }
    }
    let found = vectors.first().map_or(0, Vec::len);
    if vectors.iter().any(|vector| vector.len() != found) {
        return form("has vectors of different lengths".to_owned());
    }
    match dims {
        Some(expected) if expected != found => Err(BadAnswer::Dims { found, expected }),
        _ => Ok(vectors),
    }
}

/// Returns a vector normalised to unit length.
fn numbers(given: &[Option<f32>]) -> Result<Vec<f32>, BadAnswer> {
    if given.is_empty() {
        return Err(BadAnswer::Number("has a vector without components".to_owned()));
    }
    let wrong = || BadAnswer::Number("has a vector with a component that is not a number".to_owned());
    let vector: Option<Vec<f64>> =
        given.iter().map(|number| number.filter(|number| number.is_finite()).map(f64::from)).collect();
    let vector = vector.ok_or_else(wrong)?;
    let length = vector.iter().map(|number| number * number).sum::<f64>().sqrt();
    let length = if length > 0.0 { length } else { 1.0 };
    #[expect(clippy::cast_possible_truncation, reason = "within -1 and 1; the digits are f32's")]
    Ok(vector.into_iter().map(|number| (number / length) as f32).collect())
}

fn has_word(body: &[u8], word: &[u8]) -> bool {
    body.windows(word.len()).any(|window| window == word)
}

/// Text that must not be shown.
pub(super) struct HiddenText<'a> {
    pub(super) key: Option<&'a str>,
    pub(super) texts: &'a [&'a str],
}

/// Returns a server's error message as the end of a sentence: `: …`, or nothing.
pub(super) fn said(body: &[u8], hidden: &HiddenText<'_>) -> String {
    let text = String::from_utf8_lossy(body);
    // In order: OpenAI and most servers, Ollama, others, FastAPI.
    let places = ["/error/message", "/error", "/message", "/detail"];
    let message = serde_json::from_str::<Value>(&text)
        .ok()
        .and_then(|value| places.iter().find_map(|place| value.pointer(place)?.as_str().map(str::to_owned)));
    match shown(message.as_deref().unwrap_or(&text), hidden) {
        shown if shown.is_empty() => shown,
        shown => format!(": {shown}"),
    }
}

/// Returns a server's message as it may be shown: one short line without credentials, the key and the texts
/// that were sent.
pub(super) fn shown(said: &str, hidden: &HiddenText<'_>) -> String {
    let mut said = one_line(said);
    if let Some(key) = hidden.key.filter(|key| !key.is_empty()) {
        said = said.replace(key, MASK);
    }
    // Mask before cutting: half a key is still secret.
    said = redact::text(&said).chars().take(4 * MAX_SHOWN_CHARS).collect();
    let mut said = without(&said, hidden.texts);
    if let Some((end, _)) = said.char_indices().nth(MAX_SHOWN_CHARS) {
        said.truncate(end);
        said.push('…');
    }
    said
}

/// The number of consecutive characters that count as a quotation: a server may quote part of a text.
const MIN_QUOTE_CHARS: usize = 12;

/// Returns a server's message without its quotations of the texts.
fn without(said: &str, texts: &[&str]) -> String {
    let texts: Vec<Vec<char>> = texts.iter().map(|text| one_line(text).chars().collect()).collect();
    let said: Vec<char> = said.chars().collect();
    let mut shown = String::new();
    let mut at = 0;
    while at < said.len() {
        let quoted = texts.iter().map(|text| quotation(&said, at, text)).max().unwrap_or(0);
        if quoted > 0 {
            shown.push('…');
            at += quoted;
        } else {
            shown.push(said[at]);
            at += 1;
        }
    }
    shown
}

/// Returns the length of the quotation from `text` that starts at `at`.
fn quotation(said: &[char], at: usize, text: &[char]) -> usize {
    let rest = &said[at..];
    if text.len() < MIN_QUOTE_CHARS {
        // A short text counts as a quotation only as a whole word: `a` is not one in `batch`.
        let is_letter = |c: Option<&char>| c.is_some_and(|c| c.is_alphanumeric());
        let alone = !is_letter(at.checked_sub(1).and_then(|before| said.get(before)))
            && !is_letter(rest.get(text.len()));
        return if !text.is_empty() && alone && rest.starts_with(text) { text.len() } else { 0 };
    }
    let Some(beginning) = rest.get(..MIN_QUOTE_CHARS) else { return 0 };
    let starts = text.windows(MIN_QUOTE_CHARS).enumerate().filter(|(_, window)| *window == beginning);
    let same = |start: usize| text[start..].iter().zip(rest).take_while(|(a, b)| a == b).count();
    starts.map(|(start, _)| same(start)).max().unwrap_or(0)
}

/// Returns a text with single spaces and without invisible characters.
fn one_line(text: &str) -> String {
    let seen = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(seen).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}
