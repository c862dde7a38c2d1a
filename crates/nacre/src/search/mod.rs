//! Search, written once over passages: query ▶ lanes ▶ fuse ▶ narrow ▶ rank ▶ why.

mod alike;
mod dates;
mod fuse;
mod graph;
mod hit;
mod lanes;
mod narrow;
mod query;
mod rank;
mod words;

use crate::group::Group;
use crate::records::collection;
use rusqlite::Connection;
use schemars::JsonSchema;
use serde::Serialize;

use crate::base::caller::Visibility;
use crate::base::ids::CollectionName;
use crate::base::settings;
use crate::base::{Error, Result, Time};
use crate::index::embed::Embedder;
use crate::index::{self, Kinds, Language, Scope, Space, analyse, flag};
use crate::records::entry::{self, Entry, EntryType, Tags};

use fuse::{Field, Heard, Rules};
use hit::Ranked;
use query::Query;

pub(crate) use alike::{likeness, resembling};
pub(crate) use dates::named as named_days;
pub use fuse::PARTS;
pub use hit::{DocumentHit, EntryHit, GraphHit, Hit, ItemHit, MessageHit, Part, TaskHit, Why};
pub(crate) use lanes::df;

/// How many standing instructions and preferences come with an answer at most.
const STANDING: usize = 3;

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
    /// Whether "my" means the agent.
    pub(crate) of_agent: bool,
}

/// One database that a question is put to.
pub(crate) struct Asked<'a> {
    /// `None`: the memory of the group.
    pub(crate) collection: Option<&'a CollectionName>,
    pub(crate) path: &'a std::path::Path,
    pub(crate) db: &'a Connection,
    pub(crate) space: &'a Space,
    /// As whom `db` sees it; the space has all passages.
    pub(crate) visibility: Visibility,
}

impl Asked<'_> {
    /// The kinds of passages of it that are in scope.
    fn kinds(&self, request: &Request) -> Kinds {
        let mut kinds = Kinds::default();
        let within = |scope: &&Scope| (**scope == Scope::Sources) == self.collection.is_some();
        request.scope.iter().filter(within).for_each(|scope| kinds.add(scope.flag()));
        kinds
    }
}

/// What was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Found {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Standing instructions and preferences of the user that may apply and are not among the hits, in the
    /// same form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub standing: Vec<Hit>,
    /// Lanes that are down: what is found may not be all there is.
    pub missing: Vec<String>,
    /// What the graph lacks, or why nothing was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether the session has been shown details of the infrastructure (W10).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    pub infrastructure_seen: bool,
}

/// Finds what fits: by words and meaning, or the newest entries where nothing is asked (E3, Q1).
pub(crate) fn run(
    asked: &[Asked<'_>],
    request: &Request,
    settings: &settings::Settings,
    embedder: Option<&dyn Embedder>,
) -> Result<Found> {
    let is_question = !request.query.trim().is_empty();
    let mut missing = Vec::new();
    let (mut hits, mut standing, lacks) = match asked.iter().find(|asked| asked.collection.is_none()) {
        _ if is_question => by_question(asked, request, settings, embedder, &mut missing)?,
        Some(memory) => (newest(memory.db, request)?, Vec::new(), None),
        None => Default::default(),
    };
    if is_question && let Some(memory) = asked.iter().find(|asked| asked.collection.is_none()) {
        hits.extend(neighbours(memory.db, &hits, request)?);
    }
    standing.retain(|standing: &Hit| hits.iter().all(|hit| hit.id != standing.id));
    standing.truncate(STANDING);
    for (place, hit) in hits.iter_mut().enumerate() {
        hit.why.iter_mut().for_each(|why| why.rank = place + 1);
    }
    let wordless = is_question && analyse::words(&request.query, Language::default()).is_empty();
    let is_empty = !asked.is_empty() && asked.iter().all(|asked| asked.space.passages() == 0);
    let nothing = || match wordless {
        _ if is_empty => "nothing is remembered yet; `nacre store \"what to remember\"` begins".to_owned(),
        true => "the query has no words to search for".to_owned(),
        false if !is_question && !request.scope.contains(&Scope::Entries) => {
            "there is no query, and only entries are listed without one".to_owned()
        }
        false => "nothing matches".to_owned(),
    };
    let note = lacks.or_else(|| hits.is_empty().then(nothing));
    Ok(Found { hits, standing, missing, note, infrastructure_seen: false })
}

/// Entries that were often returned with those found (E10), where there is room.
fn neighbours(db: &Connection, hits: &[Hit], request: &Request) -> Result<Vec<Hit>> {
    let found: Vec<&str> = hits.iter().filter(|hit| hit.entry.is_some()).map(|hit| hit.id.as_str()).collect();
    let room = request.limit.saturating_sub(hits.len());
    if found.is_empty() || room == 0 {
        return Ok(Vec::new());
    }
    let linked = entry::link::neighbours(db, &found)?;
    let entries = entry::get_all(db, linked.iter().take(room).map(String::as_str))?;
    let why = || vec![Why { lane: "linked", rank: 0, words: Vec::new(), similarity: None }];
    let worth = f64::from(i16::MIN);
    let hit = |entry: Entry| {
        hit::passes(&entry, request).then(|| hit::entry_hit(entry, worth, 0.0, why(), Vec::new()))
    };
    Ok(entries.into_iter().filter_map(hit).collect())
}

/// The newest entries that steer the agent, at most so many.
pub(crate) fn behavioral(db: &Connection, limit: usize) -> Result<Vec<Hit>> {
    let mut hits: Vec<Hit> = Vec::new();
    entry::walk_standing(db, |entry| {
        let steers = entry.behavioral;
        if steers {
            hits.push(hit::entry_hit(entry, 0.0, 0.0, Vec::new(), Vec::new()));
        }
        steers && hits.len() < limit
    })?;
    Ok(hits)
}

fn newest(db: &Connection, request: &Request) -> Result<Vec<Hit>> {
    let mut hits: Vec<Hit> = Vec::new();
    // Only entries are listed without a question.
    if !request.scope.contains(&Scope::Entries) {
        return Ok(hits);
    }
    let take = |entry: Entry| {
        if hit::passes(&entry, request) {
            let why = Why { lane: "recent", rank: 0, words: Vec::new(), similarity: None };
            hits.push(hit::entry_hit(entry, 0.0, 0.0, vec![why], Vec::new()));
        }
        hits.len() < request.limit
    };
    if request.include_superseded || request.include_archived {
        entry::newest_first(db, take)?;
    } else {
        entry::walk_current(db, take)?;
    }
    Ok(hits)
}

/// Returns the hits, the standing instructions and preferences that may apply, and what the graph lacks.
fn by_question(
    asked: &[Asked<'_>],
    request: &Request,
    settings: &settings::Settings,
    embedder: Option<&dyn Embedder>,
    missing: &mut Vec<String>,
) -> Result<(Vec<Hit>, Vec<Hit>, Option<String>)> {
    // A collection that can't be read is named and left out; without its memory a group can't answer at all.
    let mut leave_out = |asked: &Asked<'_>, error: Error| match asked.collection {
        Some(name) => {
            missing.push(crate::records::collection::is_down(name, &error.at(asked.path)));
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
    let language = asked.first().map_or(Ok(Language::default()), |asked| index::language(asked.db))?;
    let query = Query::new(&request.query, language, &authors, request.at, &years);
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
    let mut down: Vec<String> = Vec::new();
    let fusion = settings.search.fusion;
    let by_words = fusion == settings::Fusion::Words;
    if !by_words && settings.embedding.provider != settings::Provider::None {
        let passages = heard.iter().map(|heard| heard.members.len()).sum();
        // A collection that can't say is not counted: this only weighs the words of the question.
        let counts = |asked: &&Asked<'_>, term: &str| match lanes::df(asked.db, term) {
            Err(_) if asked.collection.is_some() => Ok(0),
            df => df,
        };
        let df = |term: &str| sound.iter().map(|asked| counts(asked, term)).sum::<Result<i64>>();
        let question = lanes::question(&query, passages, df)?;
        heard.iter_mut().for_each(|heard| lanes::meaning(heard, &question));
        if let Some(embedder) = embedder {
            down.extend(lanes::by_model(embedder, &query, &mut heard));
        }
        down.extend(sound.iter().filter_map(|asked| by_words_alone(asked)));
    }
    let mut lacks = None;
    if !by_words && settings.graph.lane {
        for (asked, heard) in sound.iter().zip(&mut heard).filter(|(asked, _)| asked.collection.is_none()) {
            let said = graph::ask(asked.db, request, language, &heard.members)?;
            lacks = said.lacks;
            heard.members.retain(|id| !said.outdated.contains(id));
            heard.recalled = said.passages;
        }
    }
    for asked in &sound {
        if index::stale(asked.db, settings.search.language())?.words && asked.space.passages() > 0 {
            down.push(format!(
                "{}words: the index is of another version or in another language; `nacre index` or a running server makes it anew",
                of(asked)
            ));
        }
    }
    let rules = Rules { search: &settings.search, rank: &settings.rank, now: request.at };
    let (mut best, mut standing): (Vec<Ranked>, Vec<Ranked>) = Default::default();
    for (asked, mut field) in sound.into_iter().zip(fuse::fields(&query, rules, heard)) {
        let enough = request.limit.max(rank::AMONG);
        narrow::narrow(&mut field, enough);
        let found = field.members.iter().filter(|id| is_found(&field, **id));
        let mut ranked: Vec<(u32, f32)> = found.map(|id| (*id, field.score(*id))).collect();
        let mut hits = match hit::load(asked, &field, &mut ranked, enough, request) {
            Ok(hits) => hits,
            Err(error) => {
                leave_out(asked, error)?;
                continue;
            }
        };
        if fusion == settings::Fusion::Hybrid {
            rank::newer_first(&field, &mut hits);
        }
        best.extend(hits);
        // Books say "always" too, but not for the user.
        if !by_words && asked.collection.is_none() {
            let mut applying = field.standing();
            // All that may be among the hits, and some that are not.
            standing = hit::load(asked, &field, &mut applying, STANDING * 2, request)?;
        }
    }
    let hits = |ranked: Vec<Ranked>| ranked.into_iter().map(|ranked| ranked.hit).collect();
    missing.extend(down);
    best.sort_by(|a, b| {
        b.worth.total_cmp(&a.worth).then(b.hit.at.cmp(&a.hit.at)).then(b.passage.cmp(&a.passage))
    });
    rank::vary(&mut best, settings.search.diversity, language);
    best.truncate(request.limit);
    Ok((hits(best), hits(standing), lacks))
}

/// What is missing of the memory needs no name.
fn of(asked: &Asked<'_>) -> String {
    asked.collection.map(|name| format!("sources: collection `{name}`: ")).unwrap_or_default()
}

/// Says of a database whose vectors are being made anew how far that is.
fn by_words_alone(asked: &Asked<'_>) -> Option<String> {
    let index::Renewed { made, all } = asked.space.renewed()?;
    let of = of(asked);
    Some(format!(
        "{of}vectors: {made} of {all} are made anew for this version's model, and the rest is found by words alone; `nacre index` or a running server makes them"
    ))
}

/// Asks the lane of words of one database; what is meant has not been asked yet.
fn hear_words<'a>(asked: &Asked<'a>, query: &Query, request: &Request) -> Result<Heard<'a>> {
    let Asked { db, space, .. } = *asked;
    let wanted = asked.kinds(request);
    let past = request.include_superseded || request.include_archived;
    let within = |mark: &crate::index::Mark| wanted.contain(*mark) && (past || mark.is(flag::LIVE));
    let mut members: Vec<u32> =
        (0u32..).zip(space.marks()).filter(|(_, mark)| within(mark)).map(|(id, _)| id).collect();
    if asked.visibility == Visibility::Shared {
        let seen = seen(db)?;
        members.retain(|id| seen.binary_search(id).is_ok());
    }
    let terms = lanes::words(db, query, space)?;
    // What rows leave out is known when they are read: then any passage may be needed.
    let is_large =
        members.len() > index::MANY && request.r#type.is_none() && request.tags.is_empty() && !past;
    let cosines = vec![0.0; space.marks().len()];
    let recalled = std::collections::HashMap::new();
    Ok(Heard { space, members, is_large, terms, cosines, estimated: None, dense: Vec::new(), recalled })
}

/// The passages that are there for whom the connection sees for, by id.
fn seen(db: &Connection) -> Result<Vec<u32>> {
    let mut statement = db.prepare_cached("SELECT id FROM passages ORDER BY id")?;
    let ids = statement.query_map([], |row| row.get(0))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

/// Tells whether a passage was found at all: it has a word, means nearly the same, or stands beside one that
/// does.
fn is_found(field: &Field<'_>, id: u32) -> bool {
    let alone =
        |id: u32| field.matched[id as usize] != 0 || field.is_near(id) || field.recalled.contains_key(&id);
    alone(id) || [-1, 1].iter().any(|step| field.neighbour(id, *step).is_some_and(alone))
}

fn authors(db: &Connection) -> Result<Vec<(u32, String)>> {
    let mut statement = db.prepare_cached("SELECT hash, name FROM authors")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl Group {
    /// Finds what fits, in the memory and in its collections, as far as the scope has them.
    pub(crate) fn search(&mut self, request: &Request, now: Time) -> Result<Found> {
        let sources = request.scope.contains(&Scope::Sources) && !request.query.trim().is_empty();
        let (names, mut missing) = match sources {
            true => collection::to_search(self, request.collection.as_ref(), now)?,
            false => (Vec::new(), Vec::new()),
        };
        let visibility = self.visibility();
        let mut states = Vec::new();
        if request.scope.iter().any(|scope| *scope != Scope::Sources) {
            states.push((None, self.memory.path(), self.memory.snapshot(visibility)?));
        }
        for (name, database) in self.collections.iter().filter(|(name, _)| names.contains(name)) {
            match database.snapshot(Visibility::Private) {
                Ok(state) => states.push((Some(name), database.path(), state)),
                Err(error) => missing.push(collection::is_down(name, &error)),
            }
        }
        let asked: Vec<Asked<'_>> = states
            .iter()
            .map(|(collection, path, state)| Asked {
                collection: *collection,
                path,
                db: &state.db,
                space: &state.space,
                visibility: if collection.is_some() { Visibility::Private } else { visibility },
            })
            .collect();
        let mut found = run(&asked, request, self.settings(), self.services.embedder.as_deref())?;
        if asked.is_empty() && sources && missing.is_empty() {
            found.note = Some("this group has no collections".into());
        }
        missing.append(&mut found.missing);
        Ok(Found { missing, ..found })
    }
}
