//! Finds every record that contains a matter: a name, a phrase or an identifier, in any spelling.

use std::ops::ControlFlow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::clause;
use super::record::RecordRef;
use crate::base::frame::one_line;
use crate::base::ids::EntryRef;
use crate::base::text::cut;
use crate::base::{Result, redact};
use crate::group::View;
use crate::records::{entry, session, tombstone};
use crate::store::Connection;

/// The most characters of a record that are shown.
const MAX_SHOWN_CHARS: usize = 160;

/// The words to look for. A text contains it if its words occur one after the other, with any signs between their letters: `plan-7`,
/// `Plan 7` and `plan7` are the same, `plan-70` and `plan-7.1` are others.
#[derive(Clone)]
pub(super) struct ForgetQuery {
    /// The words, joined, once for each way to write letters in plain Latin ones.
    joined: [String; 3],
    /// The same date in other orders.
    dates: Vec<String>,
    words: Vec<String>,
    how: MatchMode,
    /// The request named these too, or they are other readings of it.
    also: Vec<ForgetQuery>,
}

/// How the words must occur in a text.
#[derive(Clone, PartialEq, Eq)]
enum MatchMode {
    /// One after the other.
    Phrase,
    /// One after the other, and not within a longer identifier.
    Identifier,
    /// One after the other and in this case: `Frank`, not `frank`.
    Name(Vec<String>),
    /// Anywhere in the text.
    Anywhere,
    /// An identifier that the text spells otherwise than the request.
    OtherSpelling(String),
}

impl ForgetQuery {
    pub(super) fn new(text: &str) -> Option<ForgetQuery> {
        let has_identifier = text.split_whitespace().any(is_identifier);
        let how = if has_identifier { MatchMode::Identifier } else { MatchMode::Phrase };
        ForgetQuery::with(text, how)
    }

    fn with(text: &str, how: MatchMode) -> Option<ForgetQuery> {
        let words: Vec<String> = words(text, 0).into_iter().map(|word| word.text).collect();
        let join = |way| words_in(text, way).concat();
        let (joined, dates) = ([join(0), join(1), join(2)], other_dates(text));
        (!words.is_empty()).then(|| ForgetQuery { joined, dates, words, how, also: Vec::new() })
    }

    /// Joins matters into one that is in a text if one of them is.
    fn any(matters: impl Iterator<Item = ForgetQuery>) -> Option<ForgetQuery> {
        matters.reduce(|mut first, other| {
            first.also.push(other);
            first
        })
    }

    /// Adds the identifiers of a request in other spellings: how a record spells one must not keep it.
    fn with_spellings(mut self, text: &str) -> ForgetQuery {
        let named = tokens(text).filter(|token| is_strong_identifier(token));
        self.also
            .extend(named.filter_map(|token| {
                ForgetQuery::with(token, MatchMode::OtherSpelling(token.to_lowercase()))
            }));
        self
    }

    /// Returns what a request may mean that no record contains literally: its words in any order, the identifier in it, the name
    /// in it, or its words without those that only belong to a request.
    fn readings(text: &str) -> Vec<ForgetQuery> {
        let mut readings = Vec::new();
        if words(text, 0).len() > 1 {
            readings.extend(ForgetQuery::with(text, MatchMode::Anywhere).map(|all| all.with_spellings(text)));
        }
        let identifiers = tokens(text).filter(|token| is_identifier(token));
        readings.extend(ForgetQuery::any(
            identifiers.filter_map(|token| ForgetQuery::with(token, MatchMode::Identifier)),
        ));
        let is_name = |token: &&str| token.starts_with(char::is_uppercase) && !is_request_word(token);
        let all: Vec<&str> = tokens(text).collect();
        let names =
            all.split(|token| !is_name(token)).map(|name| name.join(" ")).filter(|name| !name.is_empty());
        readings.extend(ForgetQuery::any(
            names.filter_map(|name| ForgetQuery::with(&name, MatchMode::Name(raw_words(&name)))),
        ));
        let rest: Vec<&str> = tokens(text).filter(|token| !is_request_word(token)).collect();
        readings.extend(ForgetQuery::with(&rest.join(" "), MatchMode::Anywhere));
        readings
    }

    /// Tells whether it is only what a request may mean: then the deleted texts are buried, and not the words of the request.
    pub(super) fn is_loose(&self) -> bool {
        !matches!(self.how, MatchMode::Phrase | MatchMode::Identifier)
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        self.is_itself_in(text) || self.also.iter().any(|other| other.is_in(text))
    }

    fn is_itself_in(&self, text: &str) -> bool {
        match &self.how {
            MatchMode::OtherSpelling(given) => {
                !text.to_lowercase().contains(given.as_str())
                    && (0..3).any(|way| self.follows(&words(text, way), way, true))
            }
            MatchMode::Anywhere => {
                let words = words_in(text, 0);
                self.words.iter().all(|word| words.contains(word))
            }
            MatchMode::Name(name) => raw_words(text).windows(name.len()).any(|words| words == name),
            MatchMode::Phrase => (0..3).any(|way| self.follows(&words(text, way), way, false)),
            MatchMode::Identifier => (0..3).any(|way| self.follows(&words(text, way), way, true)),
        }
    }

    fn follows(&self, words: &[Word], way: usize, whole: bool) -> bool {
        let dates = if whole { &self.dates[..] } else { &[] };
        let forms = || std::iter::once(&self.joined[way]).chain(dates);
        (0..words.len()).any(|start| forms().any(|form| ForgetQuery::follows_from(form, words, start, whole)))
    }

    fn follows_from(form: &str, words: &[Word], start: usize, whole: bool) -> bool {
        let mut rest = form;
        for (at, word) in words.iter().enumerate().skip(start) {
            match rest.strip_prefix(word.text.as_str()) {
                Some("") => {
                    let goes_on = words.get(at + 1).is_some_and(|next| next.is_glued);
                    return !whole || !(words[start].is_glued || goes_on);
                }
                Some(left) => rest = left,
                None => return false,
            }
        }
        false
    }
}

/// A word of a text.
struct Word {
    text: String,
    /// Whether only a dot, a hyphen, an underscore or an at sign is between it and the word before it.
    is_glued: bool,
    /// Whether it is the `1` of `+1 555 010 2233`.
    is_country_code: bool,
}

/// Returns the words of a request without the signs around them.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().map(|token| token.trim_matches(|c: char| ",.;:!?\"'()".contains(c)))
}

/// Writes addresses in one spelling: `192.168.001.005` as `192.168.1.5`, `ada+news@example.com` as `ada@example.com`.
fn in_one_spelling(text: &str) -> String {
    if !text.contains(['@', '.']) {
        return text.to_owned();
    }
    let spell = |token: &str| {
        let bare = token.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_part = |part: &str| (1..=3).contains(&part.len()) && part.bytes().all(|c| c.is_ascii_digit());
        if bare.split('.').count() == 4 && bare.split('.').all(is_part) {
            let short: Vec<&str> = bare
                .split('.')
                .map(|part| part.trim_start_matches('0'))
                .map(|part| if part.is_empty() { "0" } else { part })
                .collect();
            return token.replacen(bare, &short.join("."), 1);
        }
        match token.split_once('@').and_then(|(name, host)| Some((name.split_once('+')?.0, host))) {
            Some((name, host)) if !name.is_empty() => format!("{name}@{host}"),
            _ => token.to_owned(),
        }
    };
    text.split_inclusive(char::is_whitespace)
        .map(|token| {
            let end = token.trim_end().len();
            spell(&token[..end]) + &token[end..]
        })
        .collect()
}

/// Returns the digits of a date in the orders of other countries: `2025-12-25`, `12/25/2025`, `25.12.2025`.
fn other_dates(text: &str) -> Vec<String> {
    let parts: Vec<&str> = text.trim().split(['-', '/', '.']).collect();
    let is_number = |part: &&str| part.bytes().all(|c| c.is_ascii_digit());
    if parts.len() != 3 || !parts.iter().all(is_number) {
        return Vec::new();
    }
    let widths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let orders: &[[&str; 3]] = match widths[..] {
        [4, 2, 2] => &[[parts[0], parts[1], parts[2]]],
        // Month or day first: unknown which.
        [2, 2, 4] => &[[parts[2], parts[0], parts[1]], [parts[2], parts[1], parts[0]]],
        _ => return Vec::new(),
    };
    orders
        .iter()
        .flat_map(|[year, month, day]| {
            [format!("{year}{month}{day}"), format!("{month}{day}{year}"), format!("{day}{month}{year}")]
        })
        .collect()
}

/// Tells whether a word of a request is an identifier that hardly means anything else: an address, or digits with signs or many
/// of them.
fn is_strong_identifier(text: &str) -> bool {
    let count = text.chars().filter(|c| c.is_alphanumeric()).count();
    let has_digit = text.contains(|c: char| c.is_ascii_digit());
    let has_sign = text.contains(['@', '-', '_', '/', '.', ':', '#']);
    count >= 4 && (text.contains('@') || (has_digit && (has_sign || count >= 6)))
}

/// Returns the words of a text without case and invisible characters. `way` says how other letters become Latin ones: 0 as they look,
/// without accents; 1 the same, with `ue` for `ü`; 2 as they sound.
fn words(text: &str, way: usize) -> Vec<Word> {
    let text = &in_one_spelling(text);
    let spelled: String = match way {
        0 => text.clone(),
        1 => text.chars().flat_map(char::to_lowercase).map(digraph).collect(),
        _ => text.chars().flat_map(char::to_lowercase).map(sound).collect(),
    };
    let plain: String = tombstone::fold_letters(&spelled).nfd().filter(|c| !is_combining_mark(*c)).collect();
    let mut words: Vec<Word> = Vec::new();
    let mut between = String::new();
    for c in plain.chars() {
        if !c.is_alphanumeric() {
            between.push(c);
        } else if words.is_empty() || !between.is_empty() {
            // The code of a country is not part of the number behind it.
            let is_code = words.last().is_some_and(|last: &Word| last.is_country_code);
            let is_glued = !words.is_empty() && !is_code && matches!(between.as_str(), "." | "-" | "_" | "@");
            let is_country_code = between.ends_with('+') && c.is_ascii_digit();
            words.push(Word { text: c.into(), is_glued, is_country_code });
            between.clear();
        } else if let Some(word) = words.last_mut() {
            word.text.push(c);
        }
    }
    words
}

fn words_in(text: &str, way: usize) -> Vec<String> {
    words(text, way).into_iter().map(|word| word.text).collect()
}

/// Returns the words of a text unchanged.
fn raw_words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Tells whether a text is an identifier: one word with a digit or with signs within it.
fn is_identifier(text: &str) -> bool {
    let text = text.trim();
    let inner = text.trim_matches(|c: char| !c.is_alphanumeric());
    let has_sign = inner.contains(['@', '_', '/', '.', '-']);
    !text.is_empty()
        && !text.contains(char::is_whitespace)
        && (has_sign || inner.contains(|c: char| c.is_ascii_digit()))
}

/// Words of a request that say nothing of its matter.
fn is_request_word(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "a",
        "about",
        "all",
        "an",
        "and",
        "any",
        "anything",
        "concerning",
        "data",
        "delete",
        "details",
        "entries",
        "entry",
        "erase",
        "every",
        "everything",
        "facts",
        "for",
        "forget",
        "from",
        "i",
        "in",
        "information",
        "its",
        "me",
        "memories",
        "memory",
        "mentioning",
        "my",
        "notes",
        "of",
        "on",
        "our",
        "please",
        "record",
        "records",
        "regarding",
        "remove",
        "that",
        "the",
        "their",
        "this",
        "to",
        "what",
        "with",
        "you",
        "your",
    ];
    WORDS.contains(&word.to_lowercase().as_str())
}

/// Returns a letter in the spelling that other languages use for it.
fn digraph(c: char) -> String {
    let spelled = match c {
        'ä' | 'æ' => "ae",
        'ö' | 'œ' | 'ø' => "oe",
        'ü' => "ue",
        'ß' => "ss",
        'å' => "aa",
        'ñ' => "n",
        'þ' => "th",
        'ð' => "d",
        'ł' => "l",
        _ => return c.into(),
    };
    spelled.to_owned()
}

/// Returns a Cyrillic or Greek letter as it sounds.
fn sound(c: char) -> String {
    const SOUNDS: &[(&str, &str)] = &[
        ("абвгдезийклмнопрстуфыэ", "abvgdeziiklmnoprstufye"),
        ("αβγδεζηικλμνοπρστυω", "avgdeziiklmnoprstyo"),
        ("άέήίόύώςξ", "aeiioyosx"),
    ];
    const LONGER: &[(char, &str)] = &[
        ('ё', "e"),
        ('ж', "zh"),
        ('х', "kh"),
        ('ц', "ts"),
        ('ч', "ch"),
        ('ш', "sh"),
        ('щ', "shch"),
        ('ю', "yu"),
        ('я', "ya"),
        ('ь', ""),
        ('ъ', ""),
        ('і', "i"),
        ('ї', "i"),
        ('є', "ye"),
        ('θ', "th"),
        ('φ', "f"),
        ('χ', "ch"),
        ('ψ', "ps"),
        ('ß', "ss"),
        ('ø', "o"),
        ('ł', "l"),
        ('æ', "ae"),
        ('œ', "oe"),
        // The same sound in Latin letters.
        ('y', "i"),
        ('j', "i"),
    ];
    if let Some((_, spelled)) = LONGER.iter().find(|(letter, _)| *letter == c) {
        return (*spelled).to_owned();
    }
    for (letters, latin) in SOUNDS {
        if let Some(place) = letters.chars().position(|letter| letter == c) {
            return latin[place..=place].to_owned();
        }
    }
    c.into()
}

/// A record that contains the matter.
pub(crate) struct FoundRecord {
    pub(crate) record: RecordRef,
    pub(crate) text: String,
    /// The rest of a memory of several statements.
    pub(crate) rest: Option<String>,
}

impl FoundRecord {
    fn new(record: RecordRef, text: &str) -> FoundRecord {
        FoundRecord { record, text: shown(text), rest: None }
    }
}

/// The records of the database: their ids and all of their texts.
const TEXTS: &[(&str, &str)] = &[
    (
        "memory",
        "SELECT id, content || replace(' ' || tags, ' []', '') || coalesce(' ' || data, '') FROM entries
            UNION ALL SELECT entry, content || replace(' ' || tags, ' []', '') FROM entry_history",
    ),
    (
        "fact",
        "SELECT 'fact-' || facts.id, entities.name || ' ' || replace(key, '_', ' ') || ' ' || value
            FROM facts JOIN entities ON entities.id = facts.entity",
    ),
    (
        "relation",
        "SELECT 'relation-' || relations.id, s.name || ' ' || replace(predicate, '_', ' ') || ' ' || o.name
            FROM relations JOIN entities AS s ON s.id = subject JOIN entities AS o ON o.id = object",
    ),
    (
        "entity",
        "SELECT roots.name, names.name FROM names JOIN entities ON entities.id = names.entity
            JOIN entities AS roots ON roots.id = entities.root",
    ),
    ("exchange", "SELECT session || '/' || id, exchanges.user || ' ' || agent FROM exchanges"),
    ("message", "SELECT ref, text || ' ' || coalesce(author, '') FROM passages WHERE kind = 'message'"),
    ("lesson", "SELECT CAST(number AS TEXT), text || ' ' || asked FROM lessons"),
    ("item", "SELECT id, title || ' ' || content FROM items"),
    (
        "task",
        "SELECT CAST(number AS TEXT), description || ' ' || accept || ' ' || coalesce(milestone, '') FROM tasks",
    ),
];

/// Finds every record that contains the matter; if none does, those that contain what the words may mean. `matter` is then that.
pub(super) fn find(view: &View<'_>, text: &str, matter: &mut ForgetQuery) -> Result<Vec<FoundRecord>> {
    let mut found = find_as(view, matter)?;
    for reading in ForgetQuery::readings(text) {
        if !found.is_empty() {
            break;
        }
        found = find_as(view, &reading)?;
        *matter = reading;
    }
    view.read_all(|db| found.iter_mut().try_for_each(|one| add_rest(db, matter, one)))?;
    Ok(found)
}

/// Adds what stays of a current memory of which only some statements contain the matter.
fn add_rest(db: &Connection, matter: &ForgetQuery, one: &mut FoundRecord) -> Result<()> {
    let RecordRef::Entry(named) = &one.record else { return Ok(()) };
    let entry = entry::get(db, named)?;
    let beside = format!("{} {}", serde_json::to_string(&entry.tags)?, serde_json::to_string(&entry.data)?);
    let is_current = entry.superseded_by.is_none() && entry.archived_at.is_none();
    if is_current && !matter.is_in(&beside) {
        one.rest = clause::without(&entry.content, &|part| matter.is_in(part));
    }
    Ok(())
}

pub(super) fn find_as(view: &View<'_>, matter: &ForgetQuery) -> Result<Vec<FoundRecord>> {
    let mut found = view.read_all(|db| in_database(db, matter))?;
    for (session, line) in session::with_line(view.files(), &|line| matter.is_in(line))? {
        let known = |one: &FoundRecord| matches!(&one.record, RecordRef::Message(id) if id.starts_with(&format!("{session}/")));
        // A tool's result, for example, has no passage.
        if !found.iter().any(known) {
            let record = RecordRef::Message(format!("{session}/"));
            found.push(FoundRecord::new(record, &line));
        }
    }
    for path in view.files().documents().paths() {
        let Ok(path) = path.parse() else { continue };
        let Some(bytes) = view.files().read(&path, u64::MAX)? else { continue };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some(line) = text.lines().find(|line| matter.is_in(line)) {
            found.push(FoundRecord::new(RecordRef::Document(path), line));
        }
    }
    Ok(found)
}

/// Finds the records of a database.
pub(super) fn in_database(db: &Connection, matter: &ForgetQuery) -> Result<Vec<FoundRecord>> {
    let mut found: Vec<FoundRecord> = Vec::new();
    for (kind, sql) in TEXTS {
        db.each(sql, (), |row| {
            let (id, text) = (row.text(0)?, row.text(1)?);
            if matter.is_in(text)
                && let Some(record) = record(kind, id)
                && !found.iter().any(|one| one.record == record)
            {
                found.push(FoundRecord::new(record, text));
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let sql = "SELECT number, base, proposed, reason || ' ' || answer || ' ' || sources FROM proposals";
    db.each(sql, (), |row| {
        let [base, proposed]: [Option<Vec<u8>>; 2] = [row.get(1)?, row.get(2)?];
        let blobs = [base, proposed].into_iter().flatten();
        let mut texts: Vec<String> =
            blobs.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect();
        texts.push(row.get(3)?);
        if let Some(text) = texts.into_iter().find(|text| matter.is_in(text)) {
            found.push(FoundRecord::new(RecordRef::Proposal(row.get(0)?), &text));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

fn record(kind: &str, id: &str) -> Option<RecordRef> {
    Some(match kind {
        "memory" => RecordRef::Entry(EntryRef::Id(id.parse().ok()?)),
        "fact" => RecordRef::Fact(id.to_owned()),
        "relation" => RecordRef::Relation(id.to_owned()),
        "entity" => RecordRef::Entity(id.to_owned()),
        "exchange" => RecordRef::Exchange(id.to_owned()),
        "message" => RecordRef::Message(id.to_owned()),
        "lesson" => RecordRef::Lesson(id.parse().ok()?),
        "item" => RecordRef::Item(id.to_owned()),
        _ => RecordRef::Task(id.parse().ok()?),
    })
}

fn shown(text: &str) -> String {
    cut(&redact::text(&one_line(text)), MAX_SHOWN_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matter_is_found_in_other_spellings_and_not_in_longer_words() {
        for (matter, text, found) in [
            ("Plumbus Vantablack-7", "The dog is called plumbus VANTABLACK 7!", true),
            ("plan-7", "we keep Plan 7 open", true),
            ("plan-7", "plan7", true),
            ("plan-7", "plan-70 is another", false),
            ("acct-1", "acct-12", false),
            ("engineering", "the engineering-platform team", true),
            ("Müller", "Herr Muller called", true),
            ("Grace", "disgraceful", false),
            ("bob@example.com", "bob@example.com.uk signed", false),
            ("bob@example.com", "It was bob@example.com.", true),
            ("project_2024", "project_2024_v2", false),
            ("project apollo_5", "Project apollo_5_b has two people", false),
            ("/etc/app/conf", "/etc/app/conf.bak", false),
            ("Müller", "Frau Mueller called", true),
            ("Ivan Petrov", "Сегодня звонил Иван Петров", true),
            ("+1 555 010 2233", "call 1-555-0102233", true),
            ("415-555-0123", "phone +1-415-555-0123", true),
            ("415-555-0123", "order 1-415-555-0123", false),
            ("192.168.1.5", "host 192.168.001.005 is up", true),
            ("192.168.1.5", "host 192.168.1.50 is up", false),
            ("ada@example.com", "ada+news@example.com reads it", true),
            ("2025-12-25", "the party of 12/25/2025", true),
            ("2025-12-25", "the party of 12/26/2025", false),
        ] {
            assert_eq!(ForgetQuery::new(matter).unwrap().is_in(text), found, "{matter} in {text}");
        }
        assert!(ForgetQuery::new(" -- ").is_none());
    }

    #[test]
    fn a_request_in_words_found_nothing() {
        for (request, text, found) in [
            ("everything about Frank the engineer", "Frank's favourite colour is teal", true),
            ("everything about Frank the engineer", "It was a frank discussion", false),
            ("the record of order_2024_001", "Order order_2024_001 was for 5 units", true),
            ("the record of order_2024_001", "Order order_2024_0010 was for 12 units", false),
            ("John Smith prescription", "Patient John Smith was prescribed metformin", true),
            ("John Smith prescription", "Patient John Smithson is allergic", false),
            ("admin root access", "User admin has full root access", true),
            ("Robert Smith / Bob Smith record", "Bob Smith was promoted", true),
            ("the plate ABC-1234 / abc1234", "The compact plate is abc1234", true),
            ("card 4111-1111-1111-1111", "Without signs: 4111111111111111", true),
        ] {
            let is_in = ForgetQuery::readings(request).iter().any(|reading| reading.is_in(text));
            assert_eq!(is_in, found, "{request} in {text}");
        }
    }
}
