//! Search, written once over passages: query ▶ lanes ▶ fuse ▶ rank ▶ why.

mod dates;
mod fuse;
mod lanes;
mod query;

use rusqlite::Connection;
use schemars::JsonSchema;
use serde::Serialize;

use crate::entry::{self, Entry, EntryType, Tags};
use crate::ids::{CollectionName, EntryId};
use crate::index::{Scope, Space, Standing, analyse, flag};
use crate::settings::{self, Rank};
use crate::{Error, Result, Time};

use fuse::{Field, Heard, Rules};

pub use fuse::PARTS;
use query::Query;

/// Among how many of the best the newer of two statements on one matter is looked for.
const AMONG: usize = 20;

/// The most characters of a hit that are shown (Q1).
const SNIPPET: usize = 700;

/// What is searched for, and among what.
pub(crate) struct Request {
    pub(crate) query: String,
    pub(crate) scope: Vec<Scope>,
    /// Of the collections, only this one.
    pub(crate) collection: Option<CollectionName>,
    pub(crate) r#type: Option<EntryType>,
    pub(crate) tags: Tags,
    pub(crate) include_superseded: bool,
    pub(crate) include_archived: bool,
    pub(crate) limit: usize,
    pub(crate) at: Time,
    pub(crate) explain: bool,
}

/// One database that a question is put to.
pub(crate) struct Asked<'a> {
    /// `None`: the memory of the group.
    pub(crate) collection: Option<&'a CollectionName>,
    pub(crate) path: &'a std::path::Path,
    pub(crate) db: &'a Connection,
    pub(crate) space: &'a Space,
}

impl Asked<'_> {
    /// The passages of it that are in scope, as bits of their marks.
    fn flags(&self, request: &Request) -> u16 {
        match self.collection {
            Some(_) => Scope::Sources.flag(),
            None => request
                .scope
                .iter()
                .filter(|scope| **scope != Scope::Sources)
                .fold(0, |flags, scope| flags | scope.flag()),
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Found {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Lanes that are down: what is found may not be all there is.
    pub missing: Vec<String>,
    /// Said where nothing was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One thing found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the words of SPEC Q1")]
pub struct Hit {
    pub kind: &'static str,
    pub id: String,
    pub text: String,
    /// 0 to 1, what the order is by.
    pub score: f64,
    /// 0 to 1, how much of the question it has.
    pub relevance: f64,
    pub at: Time,
    pub why: Vec<Why>,
    /// Of an entry.
    #[serde(flatten)]
    pub entry: Option<EntryHit>,
    /// Of a message.
    #[serde(flatten)]
    pub message: Option<MessageHit>,
    /// Of a document.
    #[serde(flatten)]
    pub document: Option<DocumentHit>,
    /// The parts of its score, which add up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub explain: Vec<Part>,
}

/// What an entry adds to its hit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the words of SPEC E1")]
pub struct EntryHit {
    pub number: i64,
    pub r#type: EntryType,
    pub tags: Tags,
    pub behavioral: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<EntryId>,
}

/// What a message adds to its hit: the ids it was imported with.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the words of SPEC S1")]
pub struct MessageHit {
    pub session: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// What a document adds to its hit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the words of SPEC Q1")]
pub struct DocumentHit {
    /// The collection it is of; without one, it is a document of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<CollectionName>,
    pub path: String,
    /// The first and the last line, from 1.
    pub lines: [i64; 2],
}

/// Why a hit is one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Why {
    /// The lane that found it: `bm25`, `vectors`, `near` (a neighbour of what was found), or `recent` where
    /// nothing was asked.
    pub lane: &'static str,
    /// Its place in the answer, from 1.
    pub rank: usize,
    /// The words of the question that it has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// How near its meaning is, up to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
}

/// A part of a score.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "a name and a number")]
pub struct Part {
    pub part: &'static str,
    pub value: f64,
}

/// Finds what fits: by words and meaning, or the newest entries where nothing is asked (E3, Q1).
pub(crate) fn run(asked: &[Asked<'_>], request: &Request, settings: &settings::Settings) -> Result<Found> {
    let is_question = !request.query.trim().is_empty();
    let mut missing = Vec::new();
    let mut hits = match asked.iter().find(|asked| asked.collection.is_none()) {
        _ if is_question => by_question(asked, request, settings, &mut missing)?,
        Some(memory) => newest(memory.db, request)?,
        None => Vec::new(),
    };
    for (place, hit) in hits.iter_mut().enumerate() {
        hit.why.iter_mut().for_each(|why| why.rank = place + 1);
    }
    let wordless = is_question && analyse::words(&request.query).is_empty();
    let note = hits.is_empty().then(|| match wordless {
        true => "the query has no words to search for".to_owned(),
        false if !is_question && !request.scope.contains(&Scope::Entries) => {
            "there is no query, and only entries are listed without one".to_owned()
        }
        false => "nothing matches".to_owned(),
    });
    Ok(Found { hits, missing, note })
}

/// What an entry is worth apart from what is asked: the weight of its reinforcement times its recency (E6).
pub(crate) fn standing(standing: Standing, rank: &Rank, now: Time) -> f64 {
    fuse::standing_parts(standing, rank, now).iter().sum::<f64>().exp()
}

/// Returns the current entry that `content` resembles most, if it shares at least `least` of the words of
/// both together (E12).
pub(crate) fn resembling(db: &Connection, content: &str, least: f64) -> Result<Option<EntryId>> {
    const PROBES: usize = 8;
    const CANDIDATES: i64 = 32;
    let wanted = meaning(content);
    let mut probes: Vec<(i64, &String)> = Vec::new();
    for word in &wanted {
        probes.push((lanes::df(db, word)?, word));
    }
    probes.retain(|(df, _)| *df > 0);
    probes.sort_unstable();
    probes.truncate(PROBES);
    if probes.is_empty() {
        return Ok(None);
    }
    let any: Vec<String> = probes.iter().map(|(_, word)| format!("\"{word}\"")).collect();
    let sql = "WITH hits AS MATERIALIZED
            (SELECT rowid AS id FROM passages_fts WHERE passages_fts MATCH ?1 ORDER BY rank LIMIT ?2)
        SELECT ref FROM hits JOIN passages USING (id) WHERE kind = 'entry' AND live";
    let mut statement = db.prepare_cached(sql)?;
    let found: Vec<String> = statement
        .query_map((any.join(" OR "), CANDIDATES), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut best: Option<(f64, EntryId)> = None;
    for entry in entry::get_all(db, found.iter().map(String::as_str))? {
        let share = shared(&meaning(&entry.content), &wanted);
        if share >= least && best.as_ref().is_none_or(|(most, _)| share > *most) {
            best = Some((share, entry.id));
        }
    }
    Ok(best.map(|(_, id)| id))
}

/// The distinct words of a text that are not common ones, sorted.
fn meaning(text: &str) -> Vec<String> {
    let mut words = analyse::words(text);
    words.retain(|word| !analyse::is_common(word));
    words.sort();
    words.dedup();
    words
}

/// The share of the words of both that both have.
fn shared(left: &[String], right: &[String]) -> f64 {
    let both = left.iter().filter(|word| right.binary_search(word).is_ok()).count();
    #[expect(clippy::cast_precision_loss, reason = "a few hundred words")]
    let share = both as f64 / (left.len() + right.len() - both).max(1) as f64;
    share
}

fn newest(db: &Connection, request: &Request) -> Result<Vec<Hit>> {
    let mut hits: Vec<Hit> = Vec::new();
    // Only entries are listed without a question.
    if !request.scope.contains(&Scope::Entries) {
        return Ok(hits);
    }
    let take = |entry: Entry| {
        if passes(&entry, request) {
            let why = Why { lane: "recent", rank: 0, words: Vec::new(), similarity: None };
            hits.push(entry_hit(entry, 0.0, 0.0, vec![why], Vec::new()));
        }
        hits.len() < request.limit
    };
    if request.include_superseded || request.include_archived {
        entry::newest_first(db, take)?;
    } else {
        entry::walk_current(db, false, take)?;
    }
    Ok(hits)
}

fn by_question(
    asked: &[Asked<'_>],
    request: &Request,
    settings: &settings::Settings,
    missing: &mut Vec<String>,
) -> Result<Vec<Hit>> {
    // A collection that can't be read is named and left out; without its memory a group can't answer at all.
    let mut leave_out = |asked: &Asked<'_>, error: Error| match asked.collection {
        Some(name) => {
            missing.push(crate::collection::is_down(name, &error.at(asked.path)));
            Ok(())
        }
        None => Err(error.at(asked.path)),
    };
    let (mut authors, mut years) = (Vec::new(), Vec::new());
    for asked in asked.iter().filter(|asked| asked.collection.is_none()) {
        authors.extend(self::authors(asked.db)?);
    }
    for asked in asked {
        years.extend_from_slice(asked.space.years());
    }
    years.sort_unstable();
    years.dedup();
    let query = Query::new(&request.query, &authors, request.at, &years);
    let (mut sound, mut heard) = (Vec::new(), Vec::new());
    for asked in asked {
        match hear_words(asked, &query, request) {
            Ok(said) => {
                sound.push(asked);
                heard.push(said);
            }
            Err(error) => leave_out(asked, error)?,
        }
    }
    if is_hybrid(settings) {
        let passages = heard.iter().map(|heard| heard.members.len()).sum();
        // A collection that can't say is not counted: this only weighs the words of the question.
        let counts = |asked: &&Asked<'_>, term: &str| match lanes::df(asked.db, term) {
            Err(_) if asked.collection.is_some() => Ok(0),
            df => df,
        };
        let df = |term: &str| sound.iter().map(|asked| counts(asked, term)).sum::<Result<i64>>();
        let question = lanes::question(&query, passages, df)?;
        heard.iter_mut().for_each(|heard| heard.cosines = lanes::meaning(heard.space, &question));
    }
    let rules = Rules { search: &settings.search, rank: &settings.rank, now: request.at };
    let (hybrid, least) = (is_hybrid(settings), settings.search.least_similarity);
    let mut best: Vec<Ranked> = Vec::new();
    for (asked, field) in sound.into_iter().zip(fuse::fields(&query, rules, heard)) {
        let found = field.members.iter().filter(|id| is_found(&field, **id, least));
        let mut ranked: Vec<(u32, f32)> = found.map(|id| (*id, field.score(*id))).collect();
        let mut hits = match load(asked, &field, &mut ranked, request, least) {
            Ok(hits) => hits,
            Err(error) => {
                leave_out(asked, error)?;
                continue;
            }
        };
        if hybrid {
            newer_first(&field, &mut hits);
        }
        best.extend(hits);
    }
    best.sort_by(|a, b| {
        b.worth.total_cmp(&a.worth).then(b.hit.at.cmp(&a.hit.at)).then(b.passage.cmp(&a.passage))
    });
    best.truncate(request.limit);
    Ok(best.into_iter().map(|ranked| ranked.hit).collect())
}

fn is_hybrid(settings: &settings::Settings) -> bool {
    settings.search.fusion == settings::Fusion::Hybrid
}

/// Asks the lane of words of one database; what is meant has not been asked yet.
fn hear_words<'a>(asked: &Asked<'a>, query: &Query, request: &Request) -> Result<Heard<'a>> {
    let Asked { db, space, .. } = *asked;
    let wanted = asked.flags(request);
    let past = request.include_superseded || request.include_archived;
    let within = |mark: &crate::index::Mark| mark.flags & wanted != 0 && (past || mark.is(flag::LIVE));
    let members: Vec<u32> =
        (0u32..).zip(space.marks()).filter(|(_, mark)| within(mark)).map(|(id, _)| id).collect();
    let terms = lanes::words(db, query, space)?;
    Ok(Heard { space, members, terms, cosines: vec![0.0; space.marks().len()] })
}

/// Tells whether a passage was found at all: it has a word, means nearly the same, or stands beside one that
/// does.
fn is_found(field: &Field<'_>, id: u32, least: f64) -> bool {
    let alone = |id: u32| field.matched[id as usize] != 0 || f64::from(field.cosines[id as usize]) >= least;
    alone(id) || [-1, 1].iter().any(|step| field.neighbour(id, *step).is_some_and(alone))
}

/// A hit with what ranking still needs.
struct Ranked {
    passage: u32,
    worth: f64,
    hit: Hit,
}

/// Loads what is needed to show the best of what was ranked. Filters that need the rows are applied here, so
/// the walk goes on until there is enough.
fn load(
    asked: &Asked<'_>,
    field: &Field<'_>,
    ranked: &mut [(u32, f32)],
    request: &Request,
    least: f64,
) -> Result<Vec<Ranked>> {
    let (db, enough) = (asked.db, request.limit.max(AMONG));
    let sql = "SELECT kind, ref, text, passages.at, author, sessions.id, first_line, last_line FROM passages
        LEFT JOIN sessions ON sessions.number = passages.session WHERE passages.id = ?1";
    let mut statement = db.prepare_cached(sql)?;
    let mut hits = Vec::new();
    let mut sorted = 0;
    for place in 0..ranked.len() {
        if hits.len() >= enough {
            break;
        }
        // Only the best are put in order; more of them where filters leave too few.
        if place == sorted {
            sorted = sort_best(ranked, sorted, enough);
        }
        let (id, score) = &ranked[place];
        let mut rows = statement.query([id])?;
        let Some(row) = rows.next()? else { continue };
        let kind: String = row.get(0)?;
        let reference: String = row.get(1)?;
        let worth = f64::from(*score);
        let explain = if request.explain { explained(field, *id) } else { Vec::new() };
        let why = why(field, *id, least);
        let relevance =
            f64::from(field.coverage[*id as usize].max(field.cosines[*id as usize])).clamp(0.0, 1.0);
        let hit = if kind == entry::KIND {
            let Some(entry) =
                entry::get_all(db, [reference.as_str()])?.pop().filter(|entry| passes(entry, request))
            else {
                continue;
            };
            entry_hit(entry, worth, relevance, why, explain)
        } else {
            if request.r#type.is_some() || !request.tags.is_empty() {
                continue;
            }
            let (text, at): (String, Time) = (row.get(2)?, row.get(3)?);
            let (score, relevance) = (shown(worth), round(relevance));
            let (entry, message, document) = (None, None, None);
            let bare = Hit {
                kind: "message",
                id: reference.clone(),
                text: snippet(&text),
                score,
                relevance,
                at,
                why,
                entry,
                message,
                document,
                explain,
            };
            if kind == "chunk" {
                let path = reference.rsplit_once('#').map_or(reference.as_str(), |(path, _)| path).to_owned();
                let lines: [i64; 2] = [row.get(6)?, row.get(7)?];
                let (id, text) = (format!("{path}#L{}-L{}", lines[0], lines[1]), excerpt(&text, field, *id));
                let document = Some(DocumentHit { collection: asked.collection.cloned(), path, lines });
                Hit { kind: "document", id, text, document, ..bare }
            } else {
                let session: String = row.get::<_, Option<String>>(5)?.unwrap_or_default();
                let message = reference.strip_prefix(&format!("{session}/")).unwrap_or(&reference).to_owned();
                Hit { message: Some(MessageHit { session, message, author: row.get(4)? }), ..bare }
            }
        };
        hits.push(Ranked { passage: *id, worth, hit });
    }
    Ok(hits)
}

/// Puts the best of what stands from `from` on in order, four times as many as wanted. Returns where the order ends.
fn sort_best(ranked: &mut [(u32, f32)], from: usize, wanted: usize) -> usize {
    let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0));
    let rest = &mut ranked[from..];
    let count = (wanted * 4).min(rest.len());
    if count < rest.len() {
        rest.select_nth_unstable_by(count, order);
    }
    rest[..count].sort_unstable_by(order);
    from + count
}

/// The parts of a score that are not zero; where the words are all that counts, they are always among them.
fn explained(field: &Field<'_>, id: u32) -> Vec<Part> {
    let words = field.is_words_alone();
    let parts = PARTS
        .iter()
        .zip(field.parts(id))
        .filter(|(part, value)| *value != 0.0 || (words && **part == "relevance"));
    parts.map(|(part, value)| Part { part, value: round(f64::from(value)) }).collect()
}

fn why(field: &Field<'_>, id: u32, least: f64) -> Vec<Why> {
    let mut why = Vec::new();
    let bits = field.matched[id as usize];
    if bits != 0 {
        let mut words: Vec<String> = Vec::new();
        for (index, term) in field.terms().iter().enumerate() {
            if bits & (1 << (index % 64)) != 0 && !words.contains(&term.shown) {
                words.push(term.shown.clone());
            }
        }
        why.push(Why { lane: "bm25", rank: 0, words, similarity: None });
    }
    let cosine = f64::from(field.cosines[id as usize]);
    if cosine >= least {
        why.push(Why { lane: "vectors", rank: 0, words: Vec::new(), similarity: Some(round(cosine)) });
    }
    if why.is_empty() {
        why.push(Why { lane: "near", rank: 0, words: Vec::new(), similarity: None });
    }
    why
}

/// Of two statements on one matter the newer comes first: the same words of the question in both, these a
/// good part of the shorter one, and enough other words shared or the same beginning that has them all. Every
/// looser form was tried and costs more than it gains.
fn newer_first(field: &Field<'_>, hits: &mut [Ranked]) {
    const SHARE: f64 = 0.3;
    hits.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(b.passage.cmp(&a.passage)));
    let count = AMONG.min(hits.len());
    let top = &mut hits[..count];
    let words: Vec<Vec<String>> = top.iter().map(|ranked| meaning(&ranked.hit.text)).collect();
    let bits = |ranked: &Ranked| field.matched[ranked.passage as usize];
    let mut oldest_first: Vec<usize> = (0..top.len()).collect();
    oldest_first.sort_by_key(|index| (top[*index].hit.at, top[*index].passage));
    for (place, &old) in oldest_first.iter().enumerate() {
        for &new in &oldest_first[place + 1..] {
            let same_session = field.mark(top[old].passage).session != 0
                && field.mark(top[old].passage).session == field.mark(top[new].passage).session;
            let matched = bits(&top[old]);
            let count = matched.count_ones();
            #[expect(clippy::cast_precision_loss, reason = "a few words")]
            let shorter = words[old].len().min(words[new].len()).max(1) as f64;
            if top[new].worth <= top[old].worth
                && !same_session
                && matched == bits(&top[new])
                && count >= 2
                && f64::from(count) / shorter >= SHARE
                && (shared(&words[old], &words[new]) >= SHARE
                    || begin_alike(&top[old].hit.text, &top[new].hit.text, &field.words_of(matched)))
            {
                top[new].worth = top[old].worth + 1e-4;
            }
        }
    }
}

/// Tells whether two texts begin with the same words, these words among them: "Ida's dentist is …".
fn begin_alike(left: &str, right: &str, words: &[&str]) -> bool {
    let (left, right) = (analyse::words(left), analyse::words(right));
    let alike: Vec<&String> =
        left.iter().zip(&right).take_while(|(a, b)| a == b).map(|(word, _)| word).collect();
    words.iter().all(|word| alike.iter().any(|known| known == word))
}

fn passes(entry: &Entry, request: &Request) -> bool {
    let has = |wanted: &str| entry.tags.iter().any(|tag| tag.to_lowercase() == wanted.to_lowercase());
    (request.include_superseded || entry.superseded_at.is_none())
        && (request.include_archived || entry.archived_at.is_none())
        && request.r#type.is_none_or(|wanted| entry.r#type == wanted)
        && request.tags.iter().all(has)
}

fn entry_hit(entry: Entry, worth: f64, relevance: f64, why: Vec<Why>, explain: Vec<Part>) -> Hit {
    Hit {
        kind: entry::KIND,
        id: entry.id.to_string(),
        text: snippet(&entry.content),
        score: shown(worth),
        relevance: round(relevance),
        at: entry.provenance.timestamp,
        why,
        entry: Some(EntryHit {
            number: entry.number,
            r#type: entry.r#type,
            tags: entry.tags,
            behavioral: entry.behavioral,
            superseded_by: entry.superseded_by,
        }),
        message: None,
        document: None,
        explain,
    }
}

/// A score as it is shown: 0 to 1, growing with what a hit is worth.
fn shown(worth: f64) -> f64 {
    round(1.0 / (1.0 + (-worth).exp()))
}

fn round(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

fn snippet(text: &str) -> String {
    match text.char_indices().nth(SNIPPET - 1) {
        Some((end, _)) if text[end..].chars().nth(1).is_some() => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

/// The part of a chunk that has most of the question's words, from the start of a line.
fn excerpt(text: &str, field: &Field<'_>, id: u32) -> String {
    if text.chars().count() <= SNIPPET || field.matched[id as usize] == 0 {
        return snippet(text);
    }
    let mut end = 0;
    let lines: Vec<(usize, usize, u64)> = text
        .split_inclusive('\n')
        .map(|line| {
            let words = analyse::words(line);
            let terms = field.terms().iter().enumerate().filter(|(_, term)| words.contains(&term.term));
            let bits = terms.fold(0, |bits, (index, _)| bits | 1u64 << (index % 64));
            end += line.len();
            (end - line.len(), line.chars().count(), bits)
        })
        .collect();
    let has = |first: usize| {
        let (mut chars, mut bits) = (0, 0);
        for (_, length, found) in &lines[first..] {
            chars += length;
            if chars > SNIPPET {
                break;
            }
            bits |= found;
        }
        bits.count_ones()
    };
    let best = (0..lines.len()).max_by_key(|first| (has(*first), std::cmp::Reverse(*first))).unwrap_or(0);
    match lines.get(best) {
        Some((start, _, _)) if *start > 0 => snippet(&format!("…{}", &text[*start..])),
        _ => snippet(text),
    }
}

fn authors(db: &Connection) -> Result<Vec<(u32, String)>> {
    let mut statement = db.prepare_cached("SELECT hash, name FROM authors")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
