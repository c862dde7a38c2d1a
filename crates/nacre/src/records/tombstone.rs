//! Tombstones: keyed hashes of texts that were deleted for good. They keep imports, transcripts, documents' facts and agents
//! from bringing such a text back unasked, without keeping the text itself. A person who stores it again lifts them.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::base::ids::EntryId;
use crate::base::text::visible;
use crate::base::{Error, Result, Time};
use crate::store::Connection;

/// The key in `meta` that holds the secret of the hashes.
const SECRET_KEY: &str = "tombstone_key";
/// How many words are hashed to find the start of a deleted text inside another one.
const HEAD_WORDS: usize = 3;
/// A text with fewer words is recognised only if it is the whole text.
const MIN_SENTENCE_WORDS: usize = 5;
/// Stands for a deleted text inside a conversation.
pub(crate) const MASK: &str = "[DELETED]";

/// The deleted texts of a group.
#[derive(Default)]
pub(crate) struct Tombstones {
    /// By the secret of their hashes, then by the hash of their first words. Each machine of a synced memory has a secret.
    by_secret: HashMap<[u8; 32], HashMap<String, Vec<Tombstone>>>,
}

/// A deleted text.
struct Tombstone {
    /// The hash of all its words.
    key: String,
    words: usize,
    /// Whether only a text that says nothing else is meant.
    is_whole: bool,
    at: Time,
}

impl Tombstones {
    pub(crate) fn load(db: &Connection) -> Result<Tombstones> {
        let mut deleted = Tombstones::default();
        for TombstoneReplica { key, secret, head, words, whole, at } in replicas(db)? {
            let Some(secret) = parse_secret(&secret) else { continue };
            let of_secret = deleted.by_secret.entry(secret).or_default();
            of_secret.entry(head).or_default().push(Tombstone { key, words, is_whole: whole, at });
        }
        Ok(deleted)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_secret.is_empty()
    }

    /// Refuses a text that contains a deleted one.
    pub(crate) fn check(&self, text: &str) -> Result<()> {
        match self.find(text).first() {
            Some(found) => Err(Error::DeletedBefore { at: found.at }),
            None => Ok(()),
        }
    }

    /// Tells whether a text contains a deleted one.
    pub(crate) fn cover(&self, text: &str) -> bool {
        !self.find(text).is_empty()
    }

    /// Returns a text with a mask in place of every deleted text in it.
    pub(crate) fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.find(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut masked = String::with_capacity(text.len());
        let mut from = 0;
        for one in found {
            if one.start >= from {
                masked.push_str(&text[from..one.start]);
                masked.push_str(MASK);
                from = one.end;
            }
        }
        masked.push_str(&text[from..]);
        Cow::Owned(masked)
    }

    fn find(&self, text: &str) -> Vec<Occurrence> {
        if self.is_empty() {
            return Vec::new();
        }
        let words = words(text);
        let mut found = Vec::new();
        for start in 0..words.len() {
            for (secret, by_head) in &self.by_secret {
                found.extend(find_at(&words, start, secret, by_head));
            }
        }
        found
    }
}

/// Finds a deleted text that starts at a word.
fn find_at(
    words: &[Word],
    start: usize,
    secret: &[u8; 32],
    by_head: &HashMap<String, Vec<Tombstone>>,
) -> Option<Occurrence> {
    let longest = HEAD_WORDS.min(words.len() - start);
    (1..=longest).rev().find_map(|length| {
        let head = hash(secret, &words[start..start + length]);
        let candidates = by_head.get(&head)?;
        candidates.iter().filter(|one| length == HEAD_WORDS.min(one.words)).find_map(|one| {
            let all = words.get(start..start + one.words)?;
            let is_meant = !one.is_whole || all.len() == words.len();
            (is_meant && hash(secret, all) == one.key).then(|| Occurrence {
                start: all[0].start,
                end: all[one.words - 1].end,
                at: one.at,
                key: one.key.clone(),
            })
        })
    })
}

/// A tombstone as other machines need it: with the secret of its hashes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TombstoneReplica {
    pub(crate) key: String,
    secret: String,
    head: String,
    words: usize,
    whole: bool,
    at: Time,
}

/// Returns all tombstones.
pub(crate) fn replicas(db: &Connection) -> Result<Vec<TombstoneReplica>> {
    let Some(own) = stored_secret(db)? else { return Ok(Vec::new()) };
    let sql = "SELECT key, coalesce(secret, $1), head, words, whole, at FROM tombstones ORDER BY key";
    db.rows(sql, [own], |row| {
        let (key, secret, head) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(TombstoneReplica { key, secret, head, words: row.get(3)?, whole: row.get(4)?, at: row.get(5)? })
    })
}

/// Writes a tombstone of another machine.
pub(crate) fn put_replica(db: &Connection, tombstone: &TombstoneReplica) -> Result<()> {
    let TombstoneReplica { key, secret, head, words, whole, at } = tombstone;
    if stored_secret(db)?.is_none() {
        db.run("INSERT INTO meta (key, value) VALUES ($1, $2)", (SECRET_KEY, secret))?;
    }
    let foreign = (stored_secret(db)?.as_ref() != Some(secret)).then_some(secret);
    let sql = "INSERT INTO tombstones (key, head, words, whole, at, secret) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (key) DO UPDATE SET whole = excluded.whole, at = excluded.at";
    db.run(sql, (key, head, words, whole, at, foreign)).map(drop)
}

/// Removes a tombstone that was lifted on another machine.
pub(crate) fn remove(db: &Connection, key: &str) -> Result<()> {
    db.run("DELETE FROM tombstones WHERE key = $1", [key]).map(drop)
}

/// A deleted text inside another one.
struct Occurrence {
    start: usize,
    end: usize,
    at: Time,
    key: String,
}

/// A word of a text, folded, and its place.
struct Word {
    folded: String,
    start: usize,
    end: usize,
}

/// Records that the text of a record was deleted for good. A short text may be part of many others, so it is recognised
/// only if it is the whole text.
pub(crate) fn bury(db: &Connection, now: Time, text: &str) -> Result<()> {
    bury_as(db, now, text, words(text).len() < MIN_SENTENCE_WORDS)
}

/// Records that a matter was deleted for good. It is recognised inside any text.
pub(crate) fn bury_matter(db: &Connection, now: Time, matter: &str) -> Result<()> {
    bury_as(db, now, matter, false)
}

fn bury_as(db: &Connection, now: Time, text: &str, is_whole: bool) -> Result<()> {
    let words = words(text);
    if words.is_empty() {
        return Ok(());
    }
    let secret = match secret(db)? {
        Some(secret) => secret,
        None => {
            // Each id has 74 random bits.
            let [one, other] = [EntryId::new(now), EntryId::new(now)];
            let made = blake3::hash(format!("{one}{other}").as_bytes());
            db.run("INSERT INTO meta (key, value) VALUES ($1, $2)", (SECRET_KEY, made.to_hex().as_str()))?;
            *made.as_bytes()
        }
    };
    let sql = "INSERT INTO tombstones (key, head, words, whole, at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (key) DO UPDATE SET whole = tombstones.whole AND excluded.whole";
    let head = hash(&secret, &words[..HEAD_WORDS.min(words.len())]);
    db.run(sql, (hash(&secret, &words), head, words.len(), is_whole, now))?;
    Ok(())
}

/// Lifts the tombstones of every deleted text that a text contains. Returns how many there were.
pub(crate) fn lift(db: &Connection, text: &str) -> Result<usize> {
    let found = Tombstones::load(db)?.find(text);
    let mut lifted = 0;
    for one in found {
        lifted += db.run("DELETE FROM tombstones WHERE key = $1", [one.key])?;
    }
    Ok(lifted)
}

fn secret(db: &Connection) -> Result<Option<[u8; 32]>> {
    Ok(stored_secret(db)?.as_deref().and_then(parse_secret))
}

fn stored_secret(db: &Connection) -> Result<Option<String>> {
    db.row("SELECT value FROM meta WHERE key = $1", [SECRET_KEY], |row| row.get(0))
}

fn parse_secret(hex: &str) -> Option<[u8; 32]> {
    blake3::Hash::from_hex(hex).ok().map(|hash| *hash.as_bytes())
}

fn hash(secret: &[u8; 32], words: &[Word]) -> String {
    let mut hasher = blake3::Hasher::new_keyed(secret);
    for word in words {
        hasher.update(word.folded.as_bytes());
        hasher.update(b"\0");
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// Splits a text into words that compare equal however they are spelt: in any case, with look-alike letters of other
/// scripts, with invisible characters, between quotation marks.
fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_whitespace(), start) {
            (false, None) => start = Some(at),
            (true, Some(from)) => {
                start = None;
                let raw = &text[from..at];
                let edge = |c: char| ".,;:!?\"'()[]{}<>«»“”„‘’…*`".contains(c);
                let bare = raw.trim_matches(edge);
                // A word of signs alone, such as a smiley, is a word too.
                let bare = if bare.is_empty() { raw } else { bare };
                let folded = fold(bare);
                if !folded.is_empty() {
                    let inset = raw.find(bare).unwrap_or(0);
                    words.push(Word { folded, start: from + inset, end: from + inset + bare.len() });
                }
            }
            _ => {}
        }
    }
    words
}

/// Returns a text without case, invisible characters and look-alike letters.
pub(crate) fn fold_letters(text: &str) -> String {
    visible(text).nfkc().flat_map(char::to_lowercase).map(latin).collect()
}

/// Returns a word in the form in which deleted texts are compared.
fn fold(word: &str) -> String {
    let plain = fold_letters(word);
    // `plan-7b` and `plan_7B` are one identifier. A number keeps its signs: -5 is not 5.
    match plain.chars().any(char::is_alphabetic) && plain.chars().any(|c| c.is_ascii_digit()) {
        true => plain.replace(['-', '_'], ""),
        false => plain,
    }
}

/// Returns the Latin letter that a Cyrillic or Greek letter looks like.
fn latin(c: char) -> char {
    const ALIKE: &[(char, char)] = &[
        ('а', 'a'),
        ('е', 'e'),
        ('о', 'o'),
        ('р', 'p'),
        ('с', 'c'),
        ('у', 'y'),
        ('х', 'x'),
        ('і', 'i'),
        ('ї', 'i'),
        ('ј', 'j'),
        ('ѕ', 's'),
        ('ԁ', 'd'),
        ('һ', 'h'),
        ('ӏ', 'l'),
        ('в', 'b'),
        ('к', 'k'),
        ('м', 'm'),
        ('н', 'h'),
        ('т', 't'),
        ('α', 'a'),
        ('ε', 'e'),
        ('ο', 'o'),
        ('ρ', 'p'),
        ('ν', 'v'),
        ('ι', 'i'),
        ('κ', 'k'),
        ('υ', 'u'),
    ];
    ALIKE.iter().find(|(other, _)| *other == c).map_or(c, |(_, latin)| *latin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::schema::RECORDS;
    use crate::store::Db;

    fn check(deleted: &str, text: &str, masked: &str) {
        let mut db = Db::empty(&RECORDS.schema.migrations).unwrap();
        db.write(|db| {
            bury_matter(db, Time::default(), deleted)?;
            assert_eq!(Tombstones::load(db)?.mask(text), masked, "{deleted} in {text}");
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn a_deleted_text_is_recognised_in_other_spellings() {
        let deleted = "The user's dog is named Plumbus Vantablack-7";
        check(deleted, deleted, MASK);
        check(
            deleted,
            "I said: \"the USER's dog is named  Plumbus vantablack_7.\" Right?",
            "I said: \"[DELETED].\" Right?",
        );
        check(deleted, "The user's dog \u{456}s named Plumbus Vanta\u{200b}black-7", MASK);
        check("Vantablack-7", "A dog called VANTABLACK7 barks", "A dog called [DELETED] barks");
    }

    #[test]
    fn a_short_text_is_recognised_only_as_a_whole() {
        let mut db = Db::empty(&RECORDS.schema.migrations).unwrap();
        db.write(|db| {
            bury(db, Time::default(), "port 2")?;
            let deleted = Tombstones::load(db)?;
            assert!(deleted.cover("Port 2.") && !deleted.cover("port 2 is closed"));
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn another_text_is_not_taken_for_a_deleted_one() {
        for (deleted, text) in [
            ("I prefer C++", "I prefer C#"),
            ("The offset is -5", "The offset is 5"),
            ("Use version 1.5", "Use version 15"),
            ("acct-1", "acct-12 is open"),
            ("The cat is called Tom", "The cat is called Tim"),
        ] {
            check(deleted, text, text);
        }
    }
}
