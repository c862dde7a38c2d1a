//! Decides what may enter the graph, and normalises it.
//!
//! The functions are pure. Every rule maps an input to its stored form, or to a [`Refusal`] with a reason in
//! plain words; the word lists are in `words`. The rules are stricter for extracted text than for statements
//! made on purpose: junk in a graph is recalled again and again, whereas a rejected name only has to be typed
//! once more.

mod words;

use std::borrow::Cow;
use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization;

use crate::base::text::nearest;

pub(crate) use words::CATEGORIES;
use words::NotAName;

/// The maximum number of characters of a name.
pub(crate) const MAX_NAME: usize = 120;
/// The maximum number of characters of a key or a predicate.
pub(crate) const MAX_KEY: usize = 60;
/// The maximum number of characters of a value given by hand.
pub(crate) const MAX_VALUE: usize = 500;
/// The maximum number of characters of an extracted value. A longer one is prose, and is found as a passage.
pub(crate) const MAX_READ_VALUE: usize = 300;

/// The source of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Person,
    Agent,
    /// Another memory, where it was said on purpose.
    Import,
    Document,
}

impl From {
    /// Tells whether it was extracted from text, rather than said on purpose.
    pub(crate) fn is_read(self) -> bool {
        self == From::Document
    }
}

/// A rejected statement, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The rejected text, shortened for display.
    pub(crate) what: String,
    /// Continues after `what`: "is a pronoun".
    pub(crate) reason: String,
}

fn refuse<T>(what: &str, reason: impl Into<String>) -> Result<T, Refusal> {
    const MAX_SHOWN_CHARS: usize = 80;
    let mut shown = one_line(what).into_owned();
    if let Some((at, _)) = shown.char_indices().nth(MAX_SHOWN_CHARS) {
        shown.truncate(at);
        shown.push('…');
    }
    Err(Refusal { what: shown, reason: reason.into() })
}

/// Returns the category with this name: a built-in one, or one of `added`.
pub(crate) fn category(name: &str, added: &[String]) -> Result<String, Refusal> {
    let given = joined(name);
    let known = || CATEGORIES.iter().map(|category| category.name).chain(added.iter().map(String::as_str));
    if known().any(|known| known == given) {
        return Ok(given);
    }
    // `people`, `tools`, `company`: the word is right, but not its form.
    let meant = class_of(name.trim()).or_else(|| nearest(&given, known()));
    let hint = meant.map_or_else(
        || format!("the categories are {}", known().collect::<Vec<_>>().join(", ")),
        |meant| format!("did you mean `{meant}`?"),
    );
    refuse(name, format!("is not a category; {hint}"))
}

/// Tells whether facts of this category never fade.
pub(crate) fn is_permanent(category: &str) -> bool {
    CATEGORIES.iter().any(|known| known.name == category && known.permanent)
}

/// Returns the maximum number of current values of one key of one entity.
pub(crate) fn max_values(from: From) -> usize {
    if from.is_read() { 10 } else { 100 }
}

/// Returns the category that a heading or column lists: `People` lists persons.
pub(crate) fn class_of(title: &str) -> Option<&'static str> {
    if title.len() > words::MAX_LISTED_BYTES {
        return None;
    }
    words::CLASSES.get(&lower(title))
}

/// Returns the categories of subject and object that a predicate implies.
pub(crate) fn categories_by(predicate: &str) -> (Option<&'static str>, Option<&'static str>) {
    (words::SUBJECT_CATEGORY.get(predicate), words::OBJECT_CATEGORY.get(predicate))
}

/// Tells whether a key usually has several values, and may be written as a list.
pub(crate) fn is_multi(key: &str) -> bool {
    words::MULTI.has(key)
}

/// Checks the name of an entity and returns its stored form.
///
/// `category` is its known category: `user` and `self` may go by words that nobody else may, and a person may
/// be called April.
pub(crate) fn entity(name: &str, category: Option<&str>, from: From) -> Result<String, Refusal> {
    let plain = is_plain(name);
    if !plain && name.chars().any(|c| c.is_control() && c != '\t') {
        return refuse(name, "contains a line break or a control character");
    }
    let clean = if plain { name.into() } else { composed(one_line(name)) };
    if clean.is_empty() {
        return refuse(name, "is an empty name");
    }
    let length = if plain { clean.len() } else { clean.chars().count() };
    if length > MAX_NAME {
        return refuse(&clean, format!("has {length} characters; the limit for a name is {MAX_NAME}"));
    }
    if !plain && let Some(word) = disguised(&clean) {
        let reason = format!("mixes letters of two scripts that look alike, or hides some, in `{word}`");
        return refuse(&clean, reason);
    }
    if !clean.bytes().any(|byte| byte.is_ascii_alphabetic()) && !clean.chars().any(char::is_alphabetic) {
        return refuse(&clean, "has no letters, so it is not a name");
    }
    let speaks = matches!(category, Some("user" | "self"));
    if !speaks && let Some(reason) = generic(&clean, category, from) {
        return refuse(&clean, reason);
    }
    Ok(clean.into_owned())
}

/// Returns why a name does not identify anybody or anything.
fn generic(name: &str, category: Option<&str>, from: From) -> Option<&'static str> {
    if name.len() <= words::MAX_LISTED_BYTES
        && let Some(reason) = listed(&lower(name), category, from)
    {
        return Some(reason);
    }
    if !from.is_read() {
        return None;
    }
    [
        (is_date as fn(&str) -> bool, "is a date, not a name"),
        (is_url, "is an address, not a name"),
        (is_file, "is a file, not a name"),
        (is_model, "is the name of a language model"),
    ]
    .into_iter()
    .find_map(|(is, reason)| is(name).then_some(reason))
}

/// Returns why a short name is not a name, according to the lists.
fn listed(lower: &str, category: Option<&str>, from: From) -> Option<&'static str> {
    let bare = ["the ", "a ", "an ", "our ", "my ", "this ", "your "]
        .iter()
        .find_map(|article| lower.strip_prefix(article));
    let list = words::NOT_NAMES.get(lower).or_else(|| {
        bare.and_then(|bare| words::NOT_NAMES.get(bare)).filter(|list| **list == NotAName::Generic)
    });
    let living = matches!(category, Some("person" | "family" | "friend" | "pet"));
    match list {
        Some(NotAName::Pronoun) => Some("is a pronoun, not a name"),
        Some(NotAName::Role) => {
            Some("is a role in a conversation; use the category `user` or `self` instead")
        }
        _ if from == From::Person => None,
        _ if !living && is_day(lower) => Some("is a day or a month, not a name"),
        Some(NotAName::Generic) => Some("is a general word, not a name"),
        Some(NotAName::Title) => Some("is the title of a section, not a name"),
        None if is_numbered_title(lower) => Some("is the title of a section, not a name"),
        None => None,
    }
}

/// Checks a key and returns its stored form: lower case, words joined by `_`.
pub(crate) fn key(name: &str, from: From) -> Result<String, Refusal> {
    let key = sized(name, joined(name), "key")?;
    if from.is_read() && words::BLOCKED_KEYS.has(&key) {
        return refuse(name, "changes all the time or has no lasting meaning");
    }
    Ok(key)
}

/// Checks a column title and returns the key of its cells.
///
/// The row says what has the `Time` or the `Where`; a single line `Time: 10:40` does not.
pub(crate) fn column(title: &str, from: From) -> Result<String, Refusal> {
    let key = joined(title);
    if words::COLUMNS.contains(&&*key) { Ok(key) } else { self::key(title, from) }
}

fn sized(name: &str, key: String, what: &str) -> Result<String, Refusal> {
    if key.is_empty() {
        return refuse(name, format!("has no letter or digit, which a {what} needs"));
    }
    let length = key.chars().count();
    if length > MAX_KEY {
        return refuse(name, format!("has {length} characters; the limit for a {what} is {MAX_KEY}"));
    }
    Ok(key)
}

/// Checks a value and returns its stored form, on one line.
pub(crate) fn value(text: &str, from: From) -> Result<String, Refusal> {
    let clean = one_line(text);
    if clean.is_empty() {
        return refuse(text, "is an empty value");
    }
    let most = if from.is_read() { MAX_READ_VALUE } else { MAX_VALUE };
    // No character has more than four bytes.
    if clean.len() > most {
        let length = clean.chars().count();
        if length > most {
            return refuse(&clean, format!("has {length} characters; the limit for a value is {most}"));
        }
    }
    if from.is_read() && is_placeholder(&clean) {
        return refuse(&clean, "is a placeholder");
    }
    Ok(clean.into_owned())
}

/// Checks a predicate and returns its stored form: written like a key, with one name for synonyms.
pub(crate) fn predicate(name: &str, from: From) -> Result<String, Refusal> {
    let given = joined(name);
    if from.is_read() && words::VAGUE.has(&given) {
        return refuse(name, "is too vague for a relation");
    }
    let same = words::SAME.get(&given);
    sized(name, same.map_or(given, str::to_owned), "predicate")
}

/// Returns the inverse of a predicate; a symmetric one is its own inverse.
pub(crate) fn inverse(predicate: &str) -> Option<&'static str> {
    let mut predicates = words::PREDICATES.iter();
    words::PREDICATES
        .get(predicate)
        .or_else(|| predicates.find(|(_, inverse)| *inverse == predicate).map(|(name, _)| *name))
        .or_else(|| words::NARROW.get(predicate))
}

/// Tells whether two values say the same in nearly the same words: four of five are shared.
///
/// Numbers and negations must be equal, because they are what a change changes.
pub(crate) fn nearly_same(a: &str, b: &str) -> bool {
    // Symbols inside and before a word are part of it: `-5`, `1.5`, `C++`, `a.b@x.com`.
    fn bare(word: &str) -> &str {
        word.trim_start_matches(['(', '"', '\'', '“', '‘'])
            .trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'', '”', '’'])
    }
    let (a, b) = (lower(a), lower(b));
    let sets = [&a, &b].map(|text| {
        text.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect::<HashSet<&str>>()
    });
    let [left, right] = &sets;
    let larger = left.len().max(right.len());
    if larger == 0 {
        return a == b;
    }
    let telling = |word: &&&str| {
        word.contains(|c: char| c.is_numeric()) || matches!(**word, "no" | "not" | "never" | "without" | "t")
    };
    let same_telling = left.iter().filter(telling).all(|word| right.contains(word))
        && right.iter().filter(telling).all(|word| left.contains(word));
    same_telling && left.intersection(right).count() * 5 >= larger * 4
}

/// Returns the words of a key or predicate in lower case, joined by `_`.
fn joined(name: &str) -> String {
    let folded: Cow<'_, str> =
        if name.is_ascii() { name.into() } else { name.nfkc().collect::<String>().into() };
    let mut key = String::with_capacity(folded.len());
    let mut apart = false;
    for c in folded.chars() {
        if c.is_alphanumeric() {
            if apart && !key.is_empty() {
                key.push('_');
            }
            apart = false;
            key.extend(c.to_lowercase());
        } else {
            // `mother's` is one word.
            apart |= !matches!(c, '\'' | '’');
        }
    }
    key
}

/// Tells whether a text is printable ASCII with single spaces: most names and values are.
fn is_plain(text: &str) -> bool {
    let mut before = b' ';
    for byte in text.bytes() {
        if !matches!(byte, b' '..=b'~') || byte == b' ' && before == b' ' {
            return false;
        }
        before = byte;
    }
    before != b' '
}

/// Returns a text with single spaces between its words and no control characters.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return text.into();
    }
    let clean = |c: char| !c.is_control() && (c == ' ' || !c.is_whitespace());
    let text = text.trim();
    if text.chars().all(clean) && !text.contains("  ") {
        return text.into();
    }
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").into()
}

fn composed(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.is_ascii() { text } else { text.nfc().collect::<String>().into() }
}

fn lower(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        text.into()
    } else {
        text.to_lowercase().into()
    }
}

/// Returns a word that imitates another: Latin letters among Cyrillic or Greek ones, or invisible characters.
fn disguised(name: &str) -> Option<&str> {
    if name.is_ascii() {
        return None;
    }
    name.split(|c: char| !(c.is_alphanumeric() || is_unseen(c))).find(|word| {
        let latin = word.chars().any(|c| {
            c.is_ascii_alphabetic()
                || matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}') && c.is_alphabetic()
        });
        let alike = word.chars().any(|c| {
            matches!(c, '\u{370}'..='\u{52f}' | '\u{1f00}'..='\u{1fff}' | '\u{2de0}'..='\u{2dff}')
                && c.is_alphabetic()
        });
        // Scripts that join their letters, and emoji, need joiners. Latin does not.
        latin && alike
            || word.chars().any(|c| is_unseen(c) && (latin || !matches!(c, '\u{200c}' | '\u{200d}')))
    })
}

fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether a word is a day or a month.
pub(crate) fn is_day(word: &str) -> bool {
    let lower = lower(word);
    let one = if lower.ends_with("days") { &lower[..lower.len() - 1] } else { &lower };
    words::DAYS.has(one)
}

/// Returns the number of the month that a word names.
pub(crate) fn month(word: &str) -> Option<u32> {
    let lower = lower(word);
    let known = words::DAYS.has(&lower);
    let at = words::MONTHS.iter().position(|month| known && lower.starts_with(&month[..3]))?;
    u32::try_from(at + 1).ok()
}

/// Matches `step 3`, `part 1`, `week 12`.
fn is_numbered_title(lower: &str) -> bool {
    lower.rsplit_once(' ').is_some_and(|(title, number)| {
        number.bytes().all(|byte| byte.is_ascii_digit())
            && matches!(
                title,
                "step" | "part" | "week" | "day" | "phase" | "chapter" | "section" | "session" | "round"
            )
    })
}

/// Tells whether a name consists only of digits, months, weekdays and separators.
fn is_date(name: &str) -> bool {
    let mut words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    name.bytes().any(|byte| byte.is_ascii_digit())
        && words.all(|word| {
            let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let rest = lower(&word[digits.len()..]);
            let suffix = matches!(&*rest, "" | "st" | "nd" | "rd" | "th" | "t" | "z" | "am" | "pm" | "h");
            !digits.is_empty() && suffix && digits.bytes().all(|byte| byte.is_ascii_digit()) || is_day(word)
        })
}

fn is_url(name: &str) -> bool {
    name.contains("://") || name.starts_with("www.") || name.starts_with("mailto:")
}

/// Tells whether a name is a path or has a file extension. `Node.js` is a name.
fn is_file(name: &str) -> bool {
    let Some((stem, ending)) = name.rsplit_once('.') else {
        return name.starts_with(['/', '~']) || name.starts_with("./");
    };
    let capital = stem.starts_with(char::is_uppercase) && !stem.contains('/');
    let ending = lower(ending);
    words::FILES.has(&ending) && !(capital && matches!(&*ending, "js" | "py" | "rs"))
        || name.starts_with(['/', '~'])
        || name.starts_with("./")
}

/// Tells whether a name is a family of language models with a version: `gpt-4o`, `claude-3-opus`.
fn is_model(name: &str) -> bool {
    let lower = lower(name);
    let bare = lower.rsplit('/').next().unwrap_or(&lower);
    !bare.contains(' ')
        && bare.bytes().any(|byte| byte.is_ascii_digit())
        && words::MODELS.iter().any(|family| bare.starts_with(family))
}

/// Tells whether a value is a placeholder in a form.
fn is_placeholder(value: &str) -> bool {
    let lower = lower(value);
    let inner = |open: &str, close: &str| {
        lower.len() > open.len() + close.len() && lower.starts_with(open) && lower.ends_with(close)
    };
    !value.contains(char::is_alphanumeric) && !value.contains(|c: char| c as u32 >= 0x2190)
        || matches!(
            &*lower,
            "tbd" | "tba" | "n/a" | "unknown" | "todo" | "fixme" | "xxx" | "wip" | "empty" | "pending"
        )
        || inner("<", ">")
        || inner("{{", "}}")
        || inner("[", "]")
        || inner("_(", ")_")
        || inner("*(", ")*")
}

#[cfg(test)]
mod tests;
