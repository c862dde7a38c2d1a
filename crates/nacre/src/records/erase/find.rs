//! Finds every record that contains a matter: a name, a phrase or an identifier, in any spelling.

use std::ops::ControlFlow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::record::RecordRef;
use crate::base::frame::one_line;
use crate::base::ids::EntryRef;
use crate::base::text::cut;
use crate::base::{Result, redact};
use crate::group::View;
use crate::records::{session, tombstone};
use crate::store::Connection;

/// The most characters of a record that are shown.
const MAX_SHOWN_CHARS: usize = 160;

/// The words to look for. A text contains them if they occur in it one after the other, with any signs between their
/// letters: `plan-7`, `Plan 7` and `plan7` are the same, `plan-70` is another one.
pub(super) struct Matter {
    joined: String,
    words: Vec<String>,
    /// Whether the words may be anywhere in the text.
    anywhere: bool,
}

impl Matter {
    pub(super) fn new(text: &str) -> Option<Matter> {
        let words = words(text);
        let joined = words.concat();
        (!joined.is_empty()).then_some(Matter { joined, words, anywhere: false })
    }

    /// Returns the same matter, whose words may be anywhere in a text.
    fn in_any_order(&self) -> Option<Matter> {
        let words = self.words.clone();
        (words.len() > 1).then(|| Matter { joined: self.joined.clone(), words, anywhere: true })
    }

    /// Tells whether its words may be anywhere in a text.
    pub(super) fn is_loose(&self) -> bool {
        self.anywhere
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        let words = words(text);
        if self.anywhere {
            return self.words.iter().all(|word| words.contains(word));
        }
        (0..words.len()).any(|start| {
            let mut rest = self.joined.as_str();
            for word in &words[start..] {
                match rest.strip_prefix(word.as_str()) {
                    Some("") => return true,
                    Some(left) => rest = left,
                    None => return false,
                }
            }
            false
        })
    }
}

/// Returns the words of a text, without case, accents and look-alike letters.
fn words(text: &str) -> Vec<String> {
    let plain: String = tombstone::fold_letters(text).nfd().filter(|c| !is_combining_mark(*c)).collect();
    plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A record that contains the matter.
pub(crate) struct FoundRecord {
    pub(crate) record: RecordRef,
    pub(crate) text: String,
}

/// The records of the database: their ids and all of their texts.
const TEXTS: &[(&str, &str)] = &[
    (
        "memory",
        "SELECT id, content || ' ' || tags || ' ' || coalesce(data, '') FROM entries
            UNION ALL SELECT entry, content || ' ' || tags FROM entry_history",
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

/// Finds every record that contains the matter; if none does, those that contain its words in any order.
pub(super) fn find(view: &View<'_>, matter: &mut Matter) -> Result<Vec<FoundRecord>> {
    let found = find_as(view, matter)?;
    match matter.in_any_order() {
        Some(loose) if found.is_empty() => {
            *matter = loose;
            find_as(view, matter)
        }
        _ => Ok(found),
    }
}

fn find_as(view: &View<'_>, matter: &Matter) -> Result<Vec<FoundRecord>> {
    let mut found = view.read_all(|db| in_database(db, matter))?;
    for (session, line) in session::with_line(view.files(), &|line| matter.is_in(line))? {
        let known = |one: &FoundRecord| matches!(&one.record, RecordRef::Message(id) if id.starts_with(&format!("{session}/")));
        // A tool's result, for example, has no passage.
        if !found.iter().any(known) {
            let record = RecordRef::Message(format!("{session}/"));
            found.push(FoundRecord { record, text: shown(&line) });
        }
    }
    for path in view.files().documents().paths() {
        let Ok(path) = path.parse() else { continue };
        let Some(bytes) = view.files().read(&path, u64::MAX)? else { continue };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some(line) = text.lines().find(|line| matter.is_in(line)) {
            found.push(FoundRecord { record: RecordRef::Document(path), text: shown(line) });
        }
    }
    Ok(found)
}

/// Finds the records of a database.
pub(super) fn in_database(db: &Connection, matter: &Matter) -> Result<Vec<FoundRecord>> {
    let mut found: Vec<FoundRecord> = Vec::new();
    for (kind, sql) in TEXTS {
        db.each(sql, (), |row| {
            let (id, text) = (row.text(0)?, row.text(1)?);
            if matter.is_in(text)
                && let Some(record) = record(kind, id)
                && !found.iter().any(|one| one.record == record)
            {
                found.push(FoundRecord { record, text: shown(text) });
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
            found.push(FoundRecord { record: RecordRef::Proposal(row.get(0)?), text: shown(&text) });
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
        ] {
            assert_eq!(Matter::new(matter).unwrap().is_in(text), found, "{matter} in {text}");
        }
        assert!(Matter::new(" -- ").is_none());
    }
}
