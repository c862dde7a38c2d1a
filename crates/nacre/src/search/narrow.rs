//! Narrowing: in a large memory only passages that may be among the best are scored. The others are dropped
//! by a rough score from the retrievers and the mark. The remaining passages are then scored exactly, so that
//! hits do not depend on the estimate (docs/decisions/0015).

use super::score::Scorer;
use crate::base::Result;

/// The minimum number of passages kept by each rough measure.
const MIN_KEPT_PASSAGES: usize = if cfg!(test) { 100 } else { 2_000 };
/// The minimum number of passages kept for each requested hit.
const MIN_KEPT_PER_HIT: usize = 20;
/// The same for a memory whose vectors are read from the database for each search.
const MIN_READ_PASSAGES: usize = if cfg!(test) { 100 } else { 500 };
const MIN_READ_PER_HIT: usize = 5;
/// The distance to the farthest neighbour that a score depends on.
const NEIGHBOUR_REACH: u32 = 2;

/// Keeps the passages that may be among the `enough` best, and their neighbours, because answers follow
/// questions.
pub(super) fn narrow(scorer: &mut Scorer<'_>, enough: usize) -> Result<()> {
    if !scorer.is_large || scorer.is_words_alone() {
        return Ok(());
    }
    let kept = match scorer.corpus.space.is_beyond_memory() {
        true => MIN_READ_PASSAGES.max(enough * MIN_READ_PER_HIT),
        false => MIN_KEPT_PASSAGES.max(enough * MIN_KEPT_PER_HIT),
    };
    let mut near = Best::new(kept);
    let mut good = Best::new(kept);
    let mut standing = Best::new(kept);
    let mut by_flags = vec![f32::NAN; 1 << u16::BITS];
    for id in &scorer.members {
        let mark = scorer.mark(*id);
        let retrieval = scorer.retrieval(*id);
        near.take(*id, retrieval);
        good.take(*id, scorer.rough(mark, retrieval, &mut by_flags));
        if scorer.is_standing(mark) {
            standing.take(*id, retrieval);
        }
    }
    let recalled = scorer.recalled.keys().copied();
    let best = [near, good, standing].into_iter().flat_map(Best::ids).chain(recalled).collect();
    let mut kept = around(best, 1);
    kept.retain(|id| scorer.members.binary_search(id).is_ok());
    let mut with_neighbours = around(kept.clone(), NEIGHBOUR_REACH);
    with_neighbours.retain(|id| scorer.is_passage(*id));
    scorer.use_exact_cosines(&with_neighbours)?;
    scorer.members = kept;
    Ok(())
}

/// Returns these ids and those up to `steps` away, sorted.
fn around(ids: Vec<u32>, steps: u32) -> Vec<u32> {
    let mut around: Vec<u32> =
        ids.into_iter().flat_map(|id| id.saturating_sub(steps)..=id.saturating_add(steps)).collect();
    around.sort_unstable();
    around.dedup();
    around
}

/// The best of a sequence.
struct Best {
    kept: usize,
    /// Nothing below this can be among the best any more.
    least: f32,
    found: Vec<(f32, u32)>,
}

impl Best {
    fn new(kept: usize) -> Best {
        Best { kept, least: f32::NEG_INFINITY, found: Vec::with_capacity(2 * kept) }
    }

    fn take(&mut self, id: u32, value: f32) {
        if value < self.least {
            return;
        }
        self.found.push((value, id));
        if self.found.len() == 2 * self.kept {
            self.drop_others();
        }
    }

    fn drop_others(&mut self) {
        if self.found.len() > self.kept {
            let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1));
            self.least = self.found.select_nth_unstable_by(self.kept - 1, order).1.0;
            self.found.truncate(self.kept);
        }
    }

    fn ids(mut self) -> impl Iterator<Item = u32> {
        self.drop_others();
        self.found.into_iter().map(|(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_whatever_order_they_come_in() {
        let values: Vec<u32> = (0..1000).map(|number| number * 7919 % 1009).collect();
        let mut wanted = values.clone();
        wanted.sort_unstable_by(|a, b| b.cmp(a));
        for kept in [1, 7, 500, 2000] {
            let mut best = Best::new(kept);
            values.iter().for_each(|value| best.take(*value, *value as f32));
            let mut found: Vec<u32> = best.ids().collect();
            found.sort_unstable_by(|a, b| b.cmp(a));
            assert_eq!(found, wanted[..kept.min(wanted.len())], "{kept}");
        }
    }

    /// A search that includes superseded entries scores everything exactly; here none are superseded.
    #[test]
    fn what_is_kept_has_the_best_of_all() {
        const TALK: [&str; 4] = ["I", "they", "we", "you"];
        const DO: [&str; 6] = ["bought", "lost", "painted", "cooked", "repaired", "dreamed of"];
        const WHAT: [&str; 12] = [
            "a bicycle",
            "the kitchen",
            "some bread",
            "a guitar",
            "two tickets to Lisbon",
            "the garden",
            "a novel",
            "my shoes",
            "an old camera",
            "the dentist's bill",
            "a boat",
            "soup",
        ];
        const WHEN: [&str; 5] = ["yesterday", "in May", "with Ida", "after work", "because it rained"];
        let mut seed = 1u32;
        let mut pick = |words: &[&'static str]| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            words[(seed >> 16) as usize % words.len()]
        };
        let mut talk = String::new();
        for number in 0..2 * crate::index::MAX_EXACT_VECTORS {
            let (who, session) = (if number % 2 == 0 { "user" } else { "assistant" }, number / 20);
            let said: Vec<String> = (0..1 + number % 3)
                .map(|_| [pick(&TALK), pick(&DO), pick(&WHAT), pick(&WHEN)].join(" "))
                .collect();
            let line = serde_json::json!({
                "id": format!("m{number}"), "session": format!("s{session}"), "role": who, "text": said.join(". "),
                "timestamp": format!("2025-{:02}-{:02}T12:00:00Z", session / 28 % 12 + 1, session % 28 + 1),
            });
            talk += &format!("{line}\n");
        }
        let folder = tempfile::tempdir().unwrap();
        let home = crate::tools::home::Home::new(folder.path(), crate::base::settings::Settings::default());
        let caller = crate::base::caller::Caller::person(
            "ada".parse().unwrap(),
            crate::base::time::Time::from_millis(1_790_000_000_000),
        );
        let mut group = home.group(&"main".parse().unwrap(), caller.now).unwrap();
        let mut view = group.enter(&caller).unwrap();
        crate::records::session::import_transcript(&mut view, talk.as_bytes(), "talk", |_| {}).unwrap();
        let mut ask = |query: &str, all: bool| -> Vec<String> {
            let request =
                serde_json::json!({ "query": query, "scope": ["sessions"], "include_superseded": all });
            let answer = crate::tools::call(&mut view, "memory_search", request).unwrap();
            let hits = answer.data["hits"].as_array().unwrap().clone();
            hits.iter().map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
        };
        for query in [
            "bicycle",
            "who repaired the camera after it rained?",
            "what did I dream of in May?",
            "meals and food",
            "a trip to Portugal",
            "what did the assistant say about the boat?",
            "the dentist on 3 May 2025",
        ] {
            let (exact, kept) = (ask(query, true), ask(query, false));
            let both = exact.iter().filter(|id| kept.contains(id)).count();
            assert!(!exact.is_empty() && both * 10 >= exact.len() * 9, "{query}: {exact:?} {kept:?}");
        }
    }

    #[test]
    fn neighbours_are_counted_once() {
        assert_eq!(around(vec![9, 0, 7], 1), [0, 1, 6, 7, 8, 9, 10]);
    }
}
