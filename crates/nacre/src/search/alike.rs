//! Similarity of two texts by their words.

use crate::base::Result;
use crate::base::ids::EntryId;
use crate::index::alike::{meaning, shared};
use crate::index::{self, lookup};
use crate::records::entry;
use crate::store::Connection;

/// Returns the current entry most similar to `content`, if they share at least `least` of all their words.
pub(crate) fn resembling(db: &Connection, content: &str, least: f64) -> Result<Option<EntryId>> {
    const MAX_PROBE_WORDS: usize = 8;
    const MAX_CANDIDATES: usize = 32;
    let language = index::language(db)?;
    let wanted = meaning(content, language);
    let mut probes: Vec<(i64, &String)> = Vec::new();
    for word in &wanted {
        probes.push((lookup::df(db, word)?, word));
    }
    probes.retain(|(df, _)| *df > 0);
    probes.sort_unstable();
    probes.truncate(MAX_PROBE_WORDS);
    if probes.is_empty() {
        return Ok(None);
    }
    let any: Vec<String> = probes.iter().map(|(_, word)| format!("\"{word}\"")).collect();
    let found = lookup::best_entries(db, &any.join(" OR "), MAX_CANDIDATES)?;
    let mut best: Option<(f64, EntryId)> = None;
    for entry in entry::get_all(db, found.iter().map(String::as_str))? {
        let share = shared(&meaning(&entry.content, language), &wanted);
        if share >= least && best.as_ref().is_none_or(|(most, _)| share > *most) {
            best = Some((share, entry.id));
        }
    }
    Ok(best.map(|(_, id)| id))
}
