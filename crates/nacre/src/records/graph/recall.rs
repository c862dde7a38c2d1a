//! Recall: answers a question from facts and relations, in four phases.
//!
//! 1. The entities that are named and what is asked about them: a fact scores 95, a relation 90; over two
//!    hops a little less.
//! 2. If nothing in particular is asked: everything known about them, 70 and 65.
//! 3. and 4. If nobody is named: facts (50) and relations (40) that contain the words.
//!
//! If the entity is known but the requested attribute is not, or if an unknown entity is named, the graph
//! returns nothing and a note that says so. This concerns the graph only: a search still shows the hits of
//! its other retrievers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::fact::{self, Fact};
use super::name::Entity;
use super::question::{Mention, Question, QuestionWord};
use super::relation::{self, Relation};
use super::{Cite, EntityId, activation, cites, guard, intent, name};
use crate::base::origin::RecordOrigin;
use crate::base::redact::redact;
use crate::base::{Result, Time, settings};
use crate::index::embed::builtin;
use crate::index::{self, Language, analyse};
use crate::store::Connection;

pub use super::question::Speaker;

/// The minimum score of a matched entity.
pub(crate) const MIN_ENTITY_SCORE: f64 = 65.0;
/// The maximum number of rows of one entity that are read.
const MAX_ENTITY_ROWS: usize = 1_000;
/// The penalty for a part of the question that is not covered.
const UNCOVERED_PENALTY: f64 = 14.0;
/// The penalty for a second hop.
const HOP_PENALTY: f64 = 1.0;
/// The minimum similarity from which a fact answers without sharing a word with the question.
const MIN_SIMILARITY: f32 = 0.42;
/// The share of the question that an answer must cover.
const MIN_COVERAGE: f64 = 0.4;

/// A question to the graph.
#[derive(Clone, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) query: &'a str,
    pub(crate) speaker: Speaker,
    pub(crate) limit: usize,
    /// Facts that held at this time; `None` means current facts.
    pub(crate) as_of: Option<Time>,
    /// Whether facts that contain the words count if nobody is named.
    pub(crate) by_words: bool,
    pub(crate) rules: Rules,
}

/// How facts are ordered, and which others come along.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    relevance_weight: f64,
    activation_weight: f64,
    linked_facts: usize,
    linked_strength: f64,
}

impl From<&settings::Graph> for Rules {
    fn from(graph: &settings::Graph) -> Rules {
        Rules {
            relevance_weight: graph.relevance_weight,
            activation_weight: graph.activation_weight,
            linked_facts: graph.linked_facts,
            linked_strength: graph.linked_strength,
        }
    }
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { relevance_weight: 0.7, activation_weight: 0.3, linked_facts: 0, linked_strength: f64::MAX }
    }
}

/// The result of a recall.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct RecallResult {
    /// Best first.
    pub known: Vec<GraphMatch>,
    /// The entities that the question names.
    pub entities: Vec<String>,
    /// Set if nothing is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Parts that were unavailable, so that the answer may be incomplete.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The missing attributes, as a note for a search that other retrievers may have answered.
    #[serde(skip)]
    pub(crate) lacks: Option<String>,
}

/// A recalled fact or relation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct GraphMatch {
    pub kind: &'static str,
    pub id: String,
    pub text: String,
    /// The score: 95 to 65 by entity, 50 and 40 by words.
    pub score: f64,
    /// The sort key: the score with activation, plus 100 if an entity matched.
    pub combined: f64,
    pub since: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub cites: Vec<Cite>,
    /// Often recalled together with the others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub linked: bool,
    /// Why it was recalled.
    pub why: String,
    /// Its origin.
    #[schemars(skip)]
    pub origin: RecordOrigin,
    /// The statement in NanoClaw's notation: `heron.port = 6459`, or `heron → runs_on → kestrel`.
    #[serde(skip)]
    pub(crate) notation: String,
    #[serde(skip)]
    activation: f64,
    /// The share of the question that it covers, in steps.
    #[serde(skip)]
    covered: i64,
}

redact! {
    RecallResult { known, entities, note, missing, lacks }
    GraphMatch { id, text, cites, why, notation / kind, score, combined, since, until, linked, origin, activation, covered }
}

impl GraphMatch {
    /// Returns a newer statement that contradicts this one, found in another store.
    pub(crate) fn newer(&self, kind: &'static str, id: String, text: String, since: Time) -> GraphMatch {
        let why = format!("newer than `{}`", self.id);
        let notation = text.clone();
        GraphMatch { kind, id, text, notation, since, until: None, cites: Vec::new(), why, ..self.clone() }
    }
}

/// A fact or relation of an entity, as it is compared with the question.
enum Row {
    Fact(Fact),
    Relation { relation: Relation, forward: bool, other: EntityId },
}

/// Answers a question.
pub(crate) fn recall(db: &Connection, request: &Request<'_>, language: Language) -> Result<RecallResult> {
    let question = Question::new(db, request.query, request.speaker, language)?;
    let mut recalled = RecallResult {
        entities: question.named.iter().map(|mention| mention.entity.name.clone()).collect(),
        ..RecallResult::default()
    };
    let mut seen: BTreeMap<String, GraphMatch> = BTreeMap::new();
    let mut of_named = 0;
    for mention in &question.named {
        let rows = rows(db, mention.entity.id, &mention.entity.name, request.as_of)?;
        of_named += rows.len();
        let who = match mention.by == name::fold(&mention.entity.name) {
            true => mention.entity.name.clone(),
            false => format!("{} (`{}`)", mention.entity.name, mention.by),
        };
        for known in of_entity(db, &question, mention, &rows, request, &who, language)? {
            keep(&mut seen, known);
        }
    }
    let names = match question.named.first() {
        Some(mention) if seen.is_empty() => names(db, mention)?,
        _ => Vec::new(),
    };
    if seen.is_empty() && (request.by_words || !names.is_empty()) {
        for known in by_words(db, &question, &names, request, language)? {
            keep(&mut seen, known);
        }
    }
    recalled.known = seen.into_values().collect();
    rank(&mut recalled.known, request.rules);
    recalled.known.truncate(request.limit);
    link(db, request, &mut recalled.known)?;
    for known in &mut recalled.known {
        let kind = known.kind;
        known.cites = super::number(kind, &known.id).map_or(Ok(Vec::new()), |id| cites(db, kind, id))?;
    }
    if recalled.known.is_empty() {
        recalled.note = Some(explain_silence(&question, of_named));
        recalled.lacks = lacks(&question);
    }
    Ok(recalled)
}

/// Returns every name of a mentioned entity, folded.
fn names(db: &Connection, mention: &Mention) -> Result<Vec<String>> {
    let mut names = vec![name::fold(&mention.entity.name)];
    if !mention.speaks {
        names.push(mention.by.clone());
    }
    names.extend(name::aliases(db, Some(mention.entity.id))?.iter().map(|alias| name::fold(&alias.alias)));
    Ok(names)
}

fn list(words: &[QuestionWord]) -> String {
    words.iter().map(|asked| asked.word.as_str()).collect::<Vec<_>>().join(" ")
}

/// Returns the attributes that the graph lacks for the entity that a question names; `None` if it names no
/// known entity, or asks for more than attributes. `my` and `our` don't count: a dentist is seldom a fact
/// about the person who asks.
fn lacks(question: &Question) -> Option<String> {
    let mention = question.named.first().filter(|mention| mention.is_sure())?;
    let asked = &question.asked;
    let asks = !asked.is_empty() && asked.iter().all(QuestionWord::is_attribute);
    asks.then(|| format!("the graph has no `{}` for `{}`", list(asked), mention.entity.name))
}

/// Explains why the graph has no answer.
fn explain_silence(question: &Question, of_named: usize) -> String {
    match question.named.first() {
        Some(mention) if of_named > 0 => format!(
            "{} known about `{2}`, but nothing about `{1}`; list all with `nacre graph fact list \"{2}\"`",
            if of_named == 1 { "one thing is".to_owned() } else { format!("{of_named} things are") },
            list(&question.asked),
            mention.entity.name,
        ),
        Some(mention) => format!("nothing is known about `{}`", mention.entity.name),
        None if !question.strangers.is_empty() => {
            format!("there is no entity `{}`", list(&question.strangers))
        }
        None => "no fact or relation matches".to_owned(),
    }
}

fn keep(seen: &mut BTreeMap<String, GraphMatch>, known: GraphMatch) {
    match seen.get(&known.id) {
        Some(other) if other.score >= known.score => {}
        _ => {
            seen.insert(known.id.clone(), known);
        }
    }
}

/// Returns everything known about an entity: its facts, and its relations from either end.
fn rows(db: &Connection, entity: EntityId, name: &str, as_of: Option<Time>) -> Result<Vec<Row>> {
    const HOLDS_NOW_SQL: &str =
        "CASE WHEN since <= $2 THEN until IS NULL OR until > $2 ELSE $2 IS NULL AND until IS NULL END";
    const OF_ENTITY_SQL: &str = "IN (SELECT id FROM entities WHERE root = $1)";
    // The entity's name is known, and joining it would cost more than reading the facts.
    let sql = format!(
        "SELECT id, $4, key, value, category, importance, permanent, since, until, source, activation, access_count,
            last_accessed, origin FROM facts WHERE entity {OF_ENTITY_SQL} AND {HOLDS_NOW_SQL} ORDER BY entity, key, since, id LIMIT $3"
    );
    let mut rows =
        db.rows(&sql, (entity, as_of, MAX_ENTITY_ROWS, name), |row| Ok(Row::Fact(fact::from_row(row)?)))?;
    for (forward, end, other, ends) in [
        (true, "subject", "object", "$4, predicate, roots.name"),
        (false, "object", "subject", "roots.name, predicate, $4"),
    ] {
        let sql = format!(
            "SELECT relations.id, {ends}, since, until, source, activation, access_count, last_accessed, roots.id, NULL,
                relations.origin
            FROM relations JOIN entities AS e ON e.id = relations.{other} JOIN entities AS roots ON roots.id = e.root
            WHERE relations.{end} {OF_ENTITY_SQL} AND {HOLDS_NOW_SQL} ORDER BY relations.{end}, predicate, relations.id LIMIT $3"
        );
        rows.extend(db.rows(&sql, (entity, as_of, MAX_ENTITY_ROWS, name), |row| {
            Ok(Row::Relation { relation: relation::from_row(row)?, forward, other: row.get(10)? })
        })?);
    }
    Ok(rows)
}

/// Returns the facts and relations of one entity that answer the question.
fn of_entity(
    db: &Connection,
    question: &Question,
    mention: &Mention,
    rows: &[Row],
    request: &Request<'_>,
    who: &str,
    language: Language,
) -> Result<Vec<GraphMatch>> {
    let asked = &question.asked;
    let is_needed =
        |place: &usize| asked.get(*place).is_some_and(|asked| mention.needs.contains(&asked.word));
    let needed = (0..63).filter(is_needed).fold(0u64, |bits, place| bits | 1 << place);
    if asked.is_empty() {
        return Ok(rows
            .iter()
            .map(|row| row.known(row.base(70.0, 65.0), 0, format!("all of {who}")))
            .collect());
    }
    let named = question.ids();
    let all = (1u64 << asked.len().min(63)) - 1;
    // A word for an attribute says more about the question than other words.
    let weight =
        |place: usize| if asked.get(place).is_some_and(QuestionWord::is_attribute) { 2.0 } else { 1.0 };
    let weigh = |bits: u64| (0..63).filter(|place| bits & 1 << place != 0).map(weight).sum::<f64>();
    let share = |bits: u64| weigh(bits) / weigh(all);
    let mut found = Vec::new();
    for row in rows {
        let mut bits = row.covers(asked, language);
        // A relation between two named entities answers the question, whatever its predicate.
        let joins = matches!(row, Row::Relation { other, .. } if named.contains(other));
        if joins {
            bits = all;
        }
        if bits != 0 && share(bits) >= MIN_COVERAGE && bits & needed == needed {
            let score = row.base(95.0, 90.0) - UNCOVERED_PENALTY * (1.0 - share(bits));
            found.push(row.known(
                score,
                steps(share(bits)),
                format!("{who}, asked for `{}`", words(asked, bits)),
            ));
        }
        if bits & !all != 0 || bits == all && !joins {
            continue;
        }
        // The rest may ask about the entity at the other end.
        if bits == 0 {
            continue;
        }
        let Some(other) = row.leads_to(db)?.filter(|other| !named.contains(&other.id)) else { continue };
        for next in self::rows(db, other.id, &other.name, request.as_of)? {
            let more = next.covers(asked, language) & !bits;
            if more != 0 && share(bits | more) >= MIN_COVERAGE {
                let score =
                    next.base(95.0, 90.0) - HOP_PENALTY - UNCOVERED_PENALTY * (1.0 - share(bits | more));
                let why = format!("{who} ▸ {}, asked for `{}`", row.line(), words(asked, bits | more));
                found.push(next.known(score, steps(share(bits | more)), why));
            }
        }
    }
    let best = found.iter().map(|known| known.covered).max().unwrap_or(0);
    // Anything that covers less than half of what the best covers is irrelevant.
    found.retain(|known| known.covered * 2 > best);
    // If every word asks for a known attribute and none was found, the answer is unknown.
    if found.is_empty() && needed == 0 && !asked.iter().all(QuestionWord::is_attribute) {
        found = by_meaning(question, rows, who);
    }
    Ok(found)
}

fn steps(share: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a share of 1")]
    let steps = (share * 100.0).round() as i64;
    steps
}

/// Returns rows with a meaning similar to the question, without a common word.
fn by_meaning(question: &Question, rows: &[Row], who: &str) -> Vec<GraphMatch> {
    let asked = question.asked.iter().map(|asked| asked.word.as_str()).collect::<Vec<_>>().join(" ");
    let wanted = builtin::embed_weighted(&asked, |_| 1.0);
    let near = |row: &Row| builtin::embed_weighted(&row.said(), |_| 1.0).dot(&wanted);
    let mut found: Vec<(f32, &Row)> =
        rows.iter().map(|row| (near(row), row)).filter(|(near, _)| *near >= MIN_SIMILARITY).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let best = found.first().map_or(0.0, |(near, _)| *near);
    found
        .into_iter()
        .filter(|(near, _)| *near >= best * 0.8)
        .map(|(near, row)| {
            let score = row.base(75.0, 70.0) + f64::from(near) * 10.0;
            row.known(score, steps(f64::from(near)), format!("{who}, near to `{asked}`"))
        })
        .collect()
}

/// Returns facts and relations that contain the words of a question that names nobody, or those of other
/// entities that mention the named one.
fn by_words(
    db: &Connection,
    question: &Question,
    names: &[String],
    request: &Request<'_>,
    language: Language,
) -> Result<Vec<GraphMatch>> {
    let mut stems: Vec<String> = question.asked.iter().map(|asked| asked.stem.clone()).collect();
    stems.extend(names.iter().flat_map(|name| analyse::words(name, language)));
    let mut found = Vec::new();
    for row in having(db, &stems, request)? {
        let text = row.line();
        let (has, whole) = (analyse::words(&text, language), name::words(&text));
        let covered = question.asked.iter().filter(|asked| asked.is_in(&whole, &has)).count();
        let share = covered as f64 / question.asked.len().max(1) as f64;
        // One word of several says little, and an entity that is not named is not meant.
        let unnamed = question.strangers.iter().any(|stranger| !has.contains(&stranger.stem))
            || !names.is_empty() && !names.iter().any(|name| says(&whole, name));
        if share <= 0.5 && question.asked.len() > 1 || covered == 0 || unnamed {
            continue;
        }
        let (score, why) = match names.is_empty() {
            true => (row.base(50.0, 40.0), "has the words".to_owned()),
            false => (row.base(80.0, 75.0), format!("speaks of `{}`", names[0])),
        };
        found.push(row.known(score, steps(share), why));
    }
    Ok(found)
}

/// Returns the facts and relations that contain any of these words, best first. Words are read in order of
/// rarity, up to a limit.
fn having(db: &Connection, stems: &[String], request: &Request<'_>) -> Result<Vec<Row>> {
    const MAX_READ_ROWS: i64 = 20_000;
    let mut rare: Vec<(i64, &String)> = Vec::new();
    for stem in stems.iter().filter(|stem| !stem.is_empty()) {
        let sql = "SELECT df FROM terms WHERE term = $1";
        let df: Option<i64> = db.row(sql, [stem], |row| row.get(0))?;
        rare.extend(df.map(|df| (df, stem)));
    }
    rare.sort_unstable();
    rare.dedup();
    let mut sum = 0;
    rare.retain(|(df, _)| {
        sum += df;
        sum <= MAX_READ_ROWS
    });
    if rare.is_empty() {
        return Ok(Vec::new());
    }
    let words: Vec<&str> = rare.iter().map(|(_, stem)| stem.as_str()).collect();
    let kinds = [fact::KIND, relation::KIND];
    let most = request.limit.saturating_mul(10);
    let references = index::having_any(db, &words, kinds, request.as_of.is_some(), most)?;
    let held = references.iter().map(|reference| held(db, reference, request.as_of));
    held.filter_map(Result::transpose).collect()
}

/// Returns the fact or relation with this reference, if it held then.
fn held(db: &Connection, reference: &str, as_of: Option<Time>) -> Result<Option<Row>> {
    let holds = |since: Time, until: Option<Time>| {
        as_of.is_none_or(|at| since <= at && until.is_none_or(|until| until > at))
    };
    if let Some(id) = super::number(fact::KIND, reference) {
        let fact = fact::find(db, id)?.filter(|fact| holds(fact.since, fact.until));
        return Ok(fact.filter(|fact| as_of.is_some() || fact.until.is_none()).map(Row::Fact));
    }
    let Some(id) = super::number(relation::KIND, reference) else { return Ok(None) };
    let relation = relation::find_by_number(db, id)?.filter(|relation| holds(relation.since, relation.until));
    let relation = relation.filter(|relation| as_of.is_some() || relation.until.is_none());
    Ok(relation.map(|relation| Row::Relation { relation, forward: true, other: EntityId(0) }))
}

/// Tells whether words contain a name.
fn says(words: &[String], name: &str) -> bool {
    let name: Vec<&str> = name.split(' ').collect();
    words.windows(name.len()).any(|run| run.iter().zip(&name).all(|(one, other)| one == other))
}

/// Sorts the results: by coverage of the question, then by score and activation.
fn rank(known: &mut [GraphMatch], rules: Rules) {
    let hottest = known.iter().map(|known| known.activation).fold(f64::MIN_POSITIVE, f64::max);
    for known in known.iter_mut() {
        let tier = if known.score >= MIN_ENTITY_SCORE { 100.0 } else { 0.0 };
        let combined = tier
            + rules.relevance_weight * known.score / 100.0
            + rules.activation_weight * (known.activation / hottest).min(1.0);
        known.combined = (combined * 1_000.0).round() / 1_000.0;
        known.score = (known.score * 10.0).round() / 10.0;
    }
    known.sort_by(|a, b| {
        let tier = |known: &GraphMatch| known.score >= MIN_ENTITY_SCORE;
        (tier(b), b.covered)
            .cmp(&(tier(a), a.covered))
            .then(b.combined.total_cmp(&a.combined))
            .then(b.since.cmp(&a.since))
            .then(a.id.cmp(&b.id))
    });
}

/// Adds facts that were often recalled together with these.
fn link(db: &Connection, request: &Request<'_>, known: &mut Vec<GraphMatch>) -> Result<()> {
    let room = request.limit.saturating_sub(known.len()).min(request.rules.linked_facts);
    if known.is_empty() || room == 0 || request.as_of.is_some() || known[0].score < MIN_ENTITY_SCORE {
        return Ok(());
    }
    let references: Vec<String> = known.iter().map(|known| known.id.clone()).collect();
    let most = known.len() + room;
    for reference in activation::linked(db, &references, request.rules.linked_strength)? {
        if known.len() == most {
            break;
        }
        if let Some(row) = held(db, &reference, None)? {
            let mut linked = row.known(50.0, 0, "often recalled with the others".into());
            linked.linked = true;
            known.push(linked);
        }
    }
    Ok(())
}

fn words(asked: &[QuestionWord], bits: u64) -> String {
    let named = asked.iter().enumerate().filter(|(place, _)| bits & (1 << place.min(&62)) != 0);
    named.map(|(_, asked)| asked.word.as_str()).collect::<Vec<_>>().join(" ")
}

impl Row {
    fn base(&self, fact: f64, relation: f64) -> f64 {
        match self {
            Row::Fact(_) => fact,
            Row::Relation { .. } => relation,
        }
    }

    fn line(&self) -> String {
        match self {
            Row::Fact(fact) => fact.line(),
            Row::Relation { relation, .. } => relation.line(),
        }
    }

    fn notation(&self) -> String {
        match self {
            Row::Fact(Fact { entity, key, value, .. }) => format!("{entity}.{key} = {value}"),
            Row::Relation { relation: Relation { subject, predicate, object, .. }, .. } => {
                format!("{subject} → {predicate} → {object}")
            }
        }
    }

    /// Returns the statement without its entity.
    fn said(&self) -> String {
        match self {
            Row::Fact(fact) => format!("{} {}", fact.key.replace('_', " "), fact.value),
            Row::Relation { relation, forward, .. } => {
                let other = if *forward { &relation.object } else { &relation.subject };
                format!("{} {other}", relation.predicate.replace('_', " "))
            }
        }
    }

    fn known(&self, score: f64, covered: i64, why: String) -> GraphMatch {
        let (kind, id, since, until, activation, origin) = match self {
            Row::Fact(of) => (fact::KIND, &of.id, of.since, of.until, of.activation, of.origin),
            Row::Relation { relation: of, .. } => {
                (relation::KIND, &of.id, of.since, of.until, of.activation, of.origin)
            }
        };
        GraphMatch {
            kind,
            id: id.clone(),
            text: self.line(),
            notation: self.notation(),
            score,
            combined: 0.0,
            since,
            until,
            cites: Vec::new(),
            linked: false,
            why,
            origin,
            activation,
            covered,
        }
    }

    /// Returns which of the words it answers, one bit each.
    fn covers(&self, asked: &[QuestionWord], language: Language) -> u64 {
        let answers = |asked: &QuestionWord| match self {
            Row::Fact(fact) => {
                fact.key.split('_').any(|key| key == asked.word || asked.keys.contains(&key))
                    || has_stem(&fact.key, asked, language)
                    || has_stem(&fact.value, asked, language)
            }
            Row::Relation { relation, forward, .. } => {
                let other = if *forward { &relation.object } else { &relation.subject };
                asks_for_end(asked, &relation.predicate, *forward, language)
                    || has_stem(other, asked, language)
            }
        };
        let bits = asked.iter().enumerate().filter(|(_, asked)| answers(asked));
        bits.fold(0, |bits, (place, _)| bits | 1 << place.min(62))
    }

    /// Returns the entity it leads to: the other end, or the one that a fact's value names.
    fn leads_to(&self, db: &Connection) -> Result<Option<Entity>> {
        match self {
            Row::Relation { relation, forward, other } => {
                let name = if *forward { &relation.object } else { &relation.subject };
                Ok(Some(Entity { id: *other, name: name.clone(), category: String::new() }))
            }
            Row::Fact(fact) if fact.value.len() <= 120 => name::find(db, &fact.value),
            Row::Fact(_) => Ok(None),
        }
    }
}

/// Tells whether a text contains a word. Most texts lack even its beginning, which is checked first.
fn has_stem(text: &str, asked: &QuestionWord, language: Language) -> bool {
    const PREFIX_BYTES: usize = 3;
    let beginning = asked.stem.as_bytes().get(..PREFIX_BYTES).filter(|bytes| bytes.is_ascii());
    let absent = |beginning: &[u8]| {
        !text.as_bytes().windows(PREFIX_BYTES).any(|run| run.eq_ignore_ascii_case(beginning))
    };
    if asked.stem.is_empty() || text.is_ascii() && beginning.is_some_and(absent) {
        return false;
    }
    // `certified` asks for a certification, although the stems end differently.
    const COMMON_PREFIX_BYTES: usize = 6;
    let beginning = asked.stem.get(..COMMON_PREFIX_BYTES);
    let alike = |word: &String| {
        let shorter = word.len().min(asked.stem.len());
        beginning.is_some_and(|beginning| word.starts_with(beginning)) && shorter <= COMMON_PREFIX_BYTES + 1
    };
    analyse::words(text, language).iter().any(|word| *word == asked.stem || alike(word))
}

/// Tells whether a word asks for the other end. `forward` means that the question names the subject.
fn asks_for_end(asked: &QuestionWord, predicate: &str, forward: bool, language: Language) -> bool {
    // A predicate without words for its ends may be the inverse of another: the employer is the one worked
    // at.
    let asks = intent::asks_for_end(&asked.word, predicate, forward)
        .or_else(|| intent::asks_for_end(&asked.word, guard::inverse(predicate)?, !forward));
    if asks == Some(true) {
        return true;
    }
    let says =
        has_stem(predicate, asked, language) || predicate.split('_').any(|part| asked.keys.contains(&part));
    // `landlord_of` describes the subject, so it is only asked about the object. `has_landlord` describes the
    // object.
    match predicate {
        of if of.ends_with("_of") => says && !forward,
        has if has.starts_with("has_") => says && forward,
        _ => says,
    }
}
