//! The full-text index on PostgreSQL: for each word, the passages that contain it. It gives the same passages
//! with the same `bm25()` as FTS5 does on SQLite.
//!
//! A row has the postings of one word in 256 passages. It is rewritten when one of them changes.

use std::collections::BTreeMap;

use crate::base::Result;
use crate::store::Lease;

/// The number of passages in one row.
const PASSAGES_PER_ROW: i64 = 256;
/// The most rows that one statement reads or writes.
const MAX_ROWS: usize = 10_000;

/// One passage that contains a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Posting {
    /// The passage's place in its row.
    place: u8,
    /// How often it contains the word.
    count: u32,
    /// How many words it has.
    length: u32,
}

/// Changes of postings, collected until the end of a write.
#[derive(Default)]
pub(super) struct Changes {
    /// By word and row: the places to clear, and the new postings.
    rows: BTreeMap<(String, i64), (Vec<u8>, Vec<Posting>)>,
    passages: i64,
    words: i64,
}

impl Changes {
    pub(super) fn add<'w>(&mut self, id: i64, words: impl Iterator<Item = &'w str>) {
        let (part, place) = split(id);
        let (counts, length) = count(words);
        self.passages += 1;
        self.words += i64::from(length);
        for (word, count) in counts {
            let row = self.rows.entry((word.to_owned(), part)).or_default();
            row.1.push(Posting { place, count, length });
        }
    }

    pub(super) fn remove<'w>(&mut self, id: i64, words: impl Iterator<Item = &'w str>) {
        let (part, place) = split(id);
        let (counts, length) = count(words);
        self.passages -= 1;
        self.words -= i64::from(length);
        for (word, _) in counts {
            let row = self.rows.entry((word.to_owned(), part)).or_default();
            row.1.retain(|posting| posting.place != place);
            row.0.push(place);
        }
    }

    /// Writes the changes.
    pub(super) fn flush(&mut self, server: &Lease) -> Result<()> {
        let changes: Vec<_> = std::mem::take(&mut self.rows).into_iter().collect();
        for changes in changes.chunks(MAX_ROWS) {
            let terms: Vec<&str> = changes.iter().map(|((term, _), _)| term.as_str()).collect();
            let parts: Vec<i64> = changes.iter().map(|((_, part), _)| *part).collect();
            let sql =
                "SELECT n, p.data FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS w (term, part, n)
                JOIN postings AS p ON p.term = w.term AND p.part = w.part";
            let mut found: BTreeMap<i64, Vec<Posting>> = BTreeMap::new();
            for row in server.query(sql, &[&terms, &parts])? {
                found.insert(row.get(0), unpack(row.get(1)));
            }
            let mut written: (Vec<&str>, Vec<i64>, Vec<Vec<u8>>) = <_>::default();
            let mut emptied: (Vec<&str>, Vec<i64>) = <_>::default();
            for (number, ((term, part), (cleared, added))) in (1..).zip(changes) {
                let was = found.remove(&number).unwrap_or_default();
                let mut postings: Vec<Posting> =
                    was.into_iter().filter(|posting| !cleared.contains(&posting.place)).collect();
                postings.extend(added);
                postings.sort_unstable_by_key(|posting| posting.place);
                if postings.is_empty() {
                    emptied.0.push(term);
                    emptied.1.push(*part);
                } else {
                    written.0.push(term);
                    written.1.push(*part);
                    written.2.push(pack(&postings));
                }
            }
            let sql = "INSERT INTO postings (term, part, data)
                SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])
                ON CONFLICT (term, part) DO UPDATE SET data = excluded.data";
            server.execute(sql, &[&written.0, &written.1, &written.2])?;
            if !emptied.0.is_empty() {
                let sql = "DELETE FROM postings USING unnest($1::text[], $2::bigint[]) AS w (term, part)
                    WHERE postings.term = w.term AND postings.part = w.part";
                server.execute(sql, &[&emptied.0, &emptied.1])?;
            }
        }
        let sql = "INSERT INTO counters AS c (name, last) SELECT * FROM unnest($1::text[], $2::bigint[])
            ON CONFLICT (name) DO UPDATE SET last = c.last + excluded.last";
        let totals = [std::mem::take(&mut self.passages), std::mem::take(&mut self.words)];
        server.execute(sql, &[&TOTALS.as_slice(), &totals.as_slice()])?;
        Ok(())
    }
}

/// The counters of all passages and all their words.
const TOTALS: [&str; 2] = ["indexed passages", "indexed words"];

/// Deletes the whole index.
pub(super) fn clear(server: &Lease) -> Result<()> {
    server.execute("DELETE FROM postings", &[])?;
    server.execute("DELETE FROM counters WHERE name = ANY ($1)", &[&TOTALS.as_slice()])?;
    Ok(())
}

/// The passages that contain a word, by id: how often, and their lengths.
type Hits = BTreeMap<u32, (u32, u32)>;

/// Returns the passages that contain each term of each expression. All words are read with one statement.
fn hits(server: &Lease, expressions: &[String]) -> Result<Vec<Vec<Hits>>> {
    let words: Vec<&str> =
        expressions.iter().flat_map(|expression| terms(expression)).filter_map(Term::word).collect();
    let mut by_word: BTreeMap<String, Hits> = BTreeMap::new();
    if !words.is_empty() {
        let sql = "SELECT part, data, term FROM postings WHERE term = ANY ($1)";
        for row in server.query(sql, &[&words])? {
            add(by_word.entry(row.get(2)).or_default(), &row);
        }
    }
    let read = |term: Term<'_>| match term {
        // A word may come twice.
        Term::Word(word) => Ok(by_word.get(word).cloned().unwrap_or_default()),
        Term::Prefix(start) => {
            let mut found = Hits::new();
            let sql = "SELECT part, data FROM postings WHERE term >= $1 AND term < $2";
            for row in server.query(sql, &[&start, &after(start)])? {
                add(&mut found, &row);
            }
            Ok(found)
        }
    };
    expressions.iter().map(|expression| terms(expression).map(read).collect()).collect()
}

/// Adds the postings of a row.
fn add(hits: &mut Hits, row: &postgres::Row) {
    let first = row.get::<_, i64>(0) * PASSAGES_PER_ROW;
    for Posting { place, count, length } in unpack(row.get(1)) {
        let id = u32::try_from(first + i64::from(place)).unwrap_or(0);
        hits.entry(id).or_insert((0, length)).0 += count;
    }
}

/// Returns the passages that match each expression, by id, each with what FTS5's `bm25()` returns: less is
/// better.
pub(super) fn scored(server: &Lease, expressions: &[String]) -> Result<Vec<Vec<(u32, f64)>>> {
    if expressions.is_empty() {
        return Ok(Vec::new());
    }
    let totals = totals(server)?;
    Ok(hits(server, expressions)?.into_iter().map(|hits| bm25(totals, hits)).collect())
}

/// Adds up the scores of the terms of an expression.
fn bm25([passages, words]: [f64; 2], terms: Vec<Hits>) -> Vec<(u32, f64)> {
    // The constants and the order of operations are those of FTS5.
    const K1: f64 = 1.2;
    const B: f64 = 0.75;
    let average = words / passages;
    let mut scores: BTreeMap<u32, f64> = BTreeMap::new();
    for hits in terms {
        #[expect(clippy::cast_precision_loss, reason = "a number of passages")]
        let with = hits.len() as f64;
        let idf = ((passages - with + 0.5) / (with + 0.5)).ln();
        let idf = if idf <= 0.0 { 1e-6 } else { idf };
        for (id, (count, length)) in hits {
            let (count, length) = (f64::from(count), f64::from(length));
            let score = idf * ((count * (K1 + 1.0)) / (count + K1 * (1.0 - B + B * length / average)));
            *scores.entry(id).or_default() += score;
        }
    }
    scores.into_iter().map(|(id, score)| (id, -score)).collect()
}

/// Returns the passages that match each expression, by id.
pub(super) fn matching(server: &Lease, expressions: &[String]) -> Result<Vec<Vec<u32>>> {
    let ids = |terms: Vec<Hits>| {
        let mut found: Vec<u32> = terms.into_iter().flat_map(Hits::into_keys).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    Ok(hits(server, expressions)?.into_iter().map(ids).collect())
}

/// Returns the ids of the `most` passages that match an expression best.
pub(super) fn best(server: &Lease, expression: &str, most: usize) -> Result<Vec<i64>> {
    let [hits] = &mut hits(server, &[expression.to_owned()])?[..] else { return Ok(Vec::new()) };
    let mut found = bm25(totals(server)?, std::mem::take(hits));
    // The sort is stable: equal scores stay in order of id.
    found.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    Ok(found.into_iter().take(most).map(|(id, _)| i64::from(id)).collect())
}

/// Returns the numbers of all passages and of all their words.
fn totals(server: &Lease) -> Result<[f64; 2]> {
    let mut totals = [0.0; 2];
    let sql = "SELECT name, last FROM counters WHERE name = ANY ($1)";
    for row in server.query(sql, &[&TOTALS.as_slice()])? {
        let place = TOTALS.iter().position(|name| *name == row.get::<_, &str>(0)).unwrap_or(0);
        #[expect(clippy::cast_precision_loss, reason = "a number of words")]
        let total = row.get::<_, i64>(1) as f64;
        totals[place] = total;
    }
    Ok(totals)
}

/// Compares the index with the passages and with the document frequencies. Returns the problems found.
pub(super) fn check(server: &Lease) -> Result<Vec<String>> {
    let mut frequencies: BTreeMap<String, i64> = BTreeMap::new();
    let mut lengths: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for row in server.query("SELECT term, part, data FROM postings", &[])? {
        let first = row.get::<_, i64>(1) * PASSAGES_PER_ROW;
        for posting in unpack(row.get(2)) {
            *frequencies.entry(row.get(0)).or_default() += 1;
            let length = lengths.entry(first + i64::from(posting.place)).or_default();
            *length = (length.0 + i64::from(posting.count), i64::from(posting.length));
        }
    }
    let mut problems = Vec::new();
    let wrong = lengths.values().filter(|(counted, noted)| counted != noted).count();
    let ids: Vec<i64> = lengths.keys().copied().collect();
    let sql = "SELECT count(*) FROM unnest($1::bigint[]) AS w (id) WHERE id NOT IN (SELECT id FROM passages)";
    let lost: i64 = server.query(sql, &[&ids])?[0].get(0);
    let sql = "SELECT term, df FROM terms";
    let terms: BTreeMap<String, i64> =
        server.query(sql, &[])?.iter().map(|row| (row.get(0), row.get(1))).collect();
    let [passages, words] = totals(server)?;
    let all: i64 = server.query("SELECT count(*) FROM passages", &[])?[0].get(0);
    let counted: i64 = lengths.values().map(|(_, noted)| noted).sum();
    #[expect(clippy::cast_precision_loss, reason = "a number of words")]
    let totals_differ = passages != all as f64 || words != counted as f64;
    for (is_wrong, problem) in [
        (wrong > 0, "passages have words that are not indexed"),
        (lost > 0, "rows of the full-text index have no passage"),
        (terms != frequencies, "document frequencies differ from the full-text index"),
        (totals_differ, "the totals of the full-text index are wrong"),
    ] {
        if is_wrong {
            problems.push(problem.to_owned());
        }
    }
    Ok(problems)
}

/// A term of an expression.
enum Term<'a> {
    Word(&'a str),
    /// All words that begin with this character.
    Prefix(&'a str),
}

impl<'a> Term<'a> {
    fn word(self) -> Option<&'a str> {
        match self {
            Term::Word(word) => Some(word),
            Term::Prefix(_) => None,
        }
    }
}

/// Splits an expression: words in quotation marks, joined by `OR`, or one with `*` behind it.
fn terms(expression: &str) -> impl Iterator<Item = Term<'_>> {
    expression.split(" OR ").map(|term| match term.strip_suffix(" *") {
        Some(start) => Term::Prefix(start.trim_matches('"')),
        None => Term::Word(term.trim_matches('"')),
    })
}

/// Returns the first text after all those that begin with `start`.
fn after(start: &str) -> String {
    let next = |c: char| (u32::from(c) + 1..=0x10_ffff).find_map(char::from_u32);
    start.chars().next().and_then(next).unwrap_or(char::MAX).into()
}

fn count<'w>(words: impl Iterator<Item = &'w str>) -> (BTreeMap<&'w str, u32>, u32) {
    let mut counts = BTreeMap::new();
    let mut length = 0;
    for word in words {
        *counts.entry(word).or_default() += 1;
        length += 1;
    }
    (counts, length)
}

fn split(id: i64) -> (i64, u8) {
    let place = u8::try_from(id.rem_euclid(PASSAGES_PER_ROW)).expect("below the number of passages in a row");
    (id.div_euclid(PASSAGES_PER_ROW), place)
}

fn pack(postings: &[Posting]) -> Vec<u8> {
    let mut data = Vec::with_capacity(postings.len() * 3);
    for Posting { place, count, length } in postings {
        data.push(*place);
        for mut number in [*count, *length] {
            while number >= 0x80 {
                data.push(number.to_le_bytes()[0] | 0x80);
                number >>= 7;
            }
            data.push(number.to_le_bytes()[0]);
        }
    }
    data
}

fn unpack(data: &[u8]) -> Vec<Posting> {
    let mut postings = Vec::new();
    let mut bytes = data.iter().copied();
    while let Some(place) = bytes.next() {
        let mut number = || {
            let mut number = 0;
            for shift in (0..32).step_by(7) {
                let byte = bytes.next().unwrap_or(0);
                number |= u32::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    break;
                }
            }
            number
        };
        let count = number();
        postings.push(Posting { place, count, length: number() });
    }
    postings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postings_come_back() {
        let postings: Vec<Posting> = [(0, 1, 1), (7, 127, 128), (255, 300_000, u32::MAX)]
            .map(|(place, count, length)| Posting { place, count, length })
            .into();
        assert_eq!(unpack(&pack(&postings)), postings);
    }

    #[test]
    fn a_prefix_ends_before_the_next_character() {
        assert_eq!(after("a"), "b");
        assert_eq!(after("東"), "\u{6772}");
        assert_eq!(after("\u{d7ff}"), "\u{e000}");
    }
}
