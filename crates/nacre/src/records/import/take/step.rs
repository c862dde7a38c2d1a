//! Compares the items of a part with their stored state: which are new, which changed, and which were
//! removed.

use std::collections::{BTreeMap, HashSet};

use super::{Format, ImportedRecord, Item, Part, Row, hash, identity};
use crate::base::Result;
use crate::base::ids::EntryRef;
use crate::records::entry;
use crate::store::Connection;

/// The minimum share of common words between a memory and its earlier version.
const MIN_SHARED_WORDS: f64 = 0.4;
/// The maximum number of comparisons within one part.
const MAX_COMPARISONS: usize = 250_000;

/// An item with its stored state.
pub(super) struct Step<'a> {
    pub(super) item: &'a Item,
    pub(super) key: String,
    pub(super) hash: String,
    pub(super) known: Option<Row>,
}

pub(super) fn key_of(part: &Part, item: &Item) -> String {
    hash(&[&part.hash, item.thing.kind(), &item.key])
}

/// Returns the kind of the record that an item became: a statement that the graph rejected is an entry.
pub(super) fn kind_of(row: &Row) -> &'static str {
    ["entry", "document", "link"]
        .into_iter()
        .find(|kind| *kind == row.kind)
        .or(claim_kind(&row.kind))
        .unwrap_or("other")
}

/// Returns the kind of a graph statement, which ends with the last source that makes it.
pub(super) fn claim_kind(kind: &str) -> Option<&'static str> {
    ["fact", "relation", "alias"].into_iter().find(|claim| *claim == kind)
}

/// Returns the stored state of each item, and the items that a part no longer has. A memory that is similar
/// to a removed one is that one, changed.
pub(super) fn steps<'a>(
    db: &Connection,
    format: &Format,
    part: &'a Part,
) -> Result<(Vec<Step<'a>>, Vec<Row>)> {
    let mut known = identity::of_part(db, format.name, &part.hash)?;
    let mut seen = HashSet::new();
    let mut steps = Vec::new();
    for item in &part.items {
        let key = key_of(part, item);
        if seen.insert(key.clone()) {
            let row = known.remove(&key);
            steps.push(Step { item, hash: item.hash(), known: row, key });
        }
    }
    let mut gone: Vec<Row> = known.into_values().filter(|_| part.is_whole).collect();
    gone.sort_by(|a, b| a.key.cmp(&b.key));
    let new = steps.iter().filter(|step| step.known.is_none()).count();
    if new * gone.len() > 0 && new * gone.len() <= MAX_COMPARISONS {
        pair(db, &mut steps, &mut gone)?;
    }
    Ok((steps, gone))
}

fn pair(db: &Connection, steps: &mut [Step<'_>], gone: &mut Vec<Row>) -> Result<()> {
    let mut texts = Vec::new();
    for row in gone.iter().filter(|row| row.kind == "entry" && row.own && !row.hash.is_empty()) {
        let entry = row.reference.parse().ok().and_then(|id| entry::get(db, &EntryRef::Id(id)).ok());
        texts.extend(entry.map(|entry| (row.key.clone(), words(&entry.content))));
    }
    for step in steps.iter_mut().filter(|step| step.known.is_none()) {
        let ImportedRecord::Entry { content, .. } = &step.item.thing else { continue };
        let own = words(content);
        let near = texts.iter().enumerate().filter_map(|(at, (key, words))| {
            let row = gone.iter().find(|row| row.key == *key)?;
            let share = alike(&own, words);
            (row.section == step.item.origin.section && share >= MIN_SHARED_WORDS).then_some((at, share))
        });
        let Some((at, _)) = near.max_by(|(_, a), (_, b)| a.total_cmp(b)) else { continue };
        let (key, _) = texts.swap_remove(at);
        let row = gone.iter().position(|row| row.key == key).expect("looked up above");
        step.known = Some(gone.swap_remove(row));
    }
    Ok(())
}

fn words(text: &str) -> HashSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of words")]
fn alike(one: &HashSet<String>, other: &HashSet<String>) -> f64 {
    let shared = one.intersection(other).count();
    shared as f64 / (one.len() + other.len() - shared).max(1) as f64
}

/// Counts the records of parts by kind, if all of them are stored unchanged; documents are excluded.
pub(super) fn unchanged(
    db: &Connection,
    format: &Format,
    parts: &[Part],
) -> Result<Option<BTreeMap<&'static str, usize>>> {
    let mut present: BTreeMap<&'static str, usize> = BTreeMap::new();
    for part in parts {
        let known = identity::of_part(db, format.name, &part.hash)?;
        let mut seen = HashSet::new();
        for item in part.items.iter().filter(|item| !matches!(item.thing, ImportedRecord::Document { .. })) {
            let key = key_of(part, item);
            let kind = match known.get(&key) {
                // An entry that is no longer current at its source may still be so here.
                Some(row) if row.hash == item.hash() && !(item.thing.is_past() && is_current(db, row)?) => {
                    kind_of(row)
                }
                _ => return Ok(None),
            };
            if seen.insert(key) {
                *present.entry(kind).or_default() += 1;
            }
        }
        let claims = known.values().filter(|row| part.is_whole && claim_kind(&row.kind).is_some() && row.own);
        if claims.into_iter().any(|row| !seen.contains(&row.key)) {
            return Ok(None);
        }
    }
    Ok(Some(present))
}

/// Tells whether the entry that an item became is current.
pub(super) fn is_current(db: &Connection, row: &Row) -> Result<bool> {
    let Ok(id) = row.reference.parse().map(EntryRef::Id) else { return Ok(false) };
    Ok(row.own && entry::get(db, &id).is_ok_and(|entry| entry.is_current()))
}
