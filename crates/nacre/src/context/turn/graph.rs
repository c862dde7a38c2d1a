//! The graph contributor: facts and relations of the entities that a message names.
//!
//! It contributes only if an entity matched; results of full text alone are left to search. The last few questions are
//! cached for a minute, so that a host that asks twice neither pays nor strengthens links twice.

use super::relevance::MemoryTraits;
use super::{Offer, TurnBuilder};
use crate::base::caller::Visibility;
use crate::base::frame::{self, one_line};
use crate::base::settings::Dialect;
use crate::base::{Result, Time};
use crate::group::{JointRecall as Recalling, View};
use crate::records::graph::GraphMatch;
use crate::records::graph::recall::{self, MIN_ENTITY_SCORE, Speaker};

/// The recall score from which a fact answers the question, and does not only name the entity.
const MIN_ANSWER_SCORE: f64 = 85.0;
/// How many characters of a question identify it in the cache.
const KEY_CHARS: usize = 100;

/// The answers to the last questions.
#[derive(Default)]
pub(crate) struct Cache(Vec<(Key, Time, Vec<GraphMatch>)>);

/// A question and the visibility of the session that asked it.
type Key = (String, Visibility);

impl Cache {
    fn get(&mut self, key: &Key, now: Time, seconds: i64) -> Option<Vec<GraphMatch>> {
        self.0.retain(|(_, at, _)| now.as_millis() - at.as_millis() < seconds.saturating_mul(1_000));
        let place = self.0.iter().position(|(known, _, _)| known == key)?;
        // The least recently used comes first.
        let found = self.0.remove(place);
        self.0.push(found);
        self.0.last().map(|(_, _, known)| known.clone())
    }

    fn put(&mut self, key: Key, now: Time, known: Vec<GraphMatch>, questions: usize) {
        self.0.push((key, now, known));
        let over = self.0.len().saturating_sub(questions);
        self.0.drain(..over);
    }
}

/// Returns the facts and relations of the entities that a message names, best first.
fn block(view: &mut View<'_>, message: &str, now: Time) -> Result<Vec<GraphMatch>> {
    let language = view.settings().search.language();
    let graph = view.settings().graph;
    let request = recall::Request {
        query: message,
        speaker: Speaker::User,
        limit: graph.turn_facts,
        as_of: None,
        by_words: graph.turn_score < MIN_ENTITY_SCORE,
        rules: (&graph).into(),
    };
    let mut known = view.read(|db| recall::recall(db, &request, language))?.known;
    known.retain(|one| one.linked || one.score >= graph.turn_score);
    known.retain(|one| one.origin.is_injectable());
    // Linked facts are shown only together with facts that matched.
    if known.iter().all(|one| one.linked) {
        known.clear();
    }
    let bump = graph.activation_bump;
    let graph = known.iter().filter(|one| !one.linked).map(|one| one.id.clone()).collect();
    view.note_recalled(message, Recalling { entries: Vec::new(), graph, at: now, bump });
    Ok(known)
}

pub(super) fn offer(builder: &mut TurnBuilder<'_>) -> Result<Vec<Offer>> {
    if !builder.message.says_something() {
        return Ok(Vec::new());
    }
    let now = builder.caller.now;
    let question: String = builder.message.prose.to_lowercase().chars().take(KEY_CHARS).collect();
    let key = (question, builder.caller.visibility);
    let rules = builder.view.settings().graph;
    let known = match builder.view.state::<Cache>().get(&key, now, rules.cache_seconds) {
        Some(known) => known,
        None => {
            let message = builder.message.prose.clone();
            let found = block(&mut builder.view, &message, now)?;
            builder.view.state::<Cache>().put(key, now, found.clone(), rules.cache_questions);
            found
        }
    };
    let calendar = builder.caller.calendar();
    let mut offers: Vec<(bool, Offer)> = Vec::new();
    for one in known {
        let weighed = builder.message.weigh(&one.text, MemoryTraits::default(), &mut builder.known);
        builder.consider("graph", &one.id, &one.text, &weighed);
        // A bare name may be a coincidence, so its facts must clear the same relevance bar as everything else.
        let helps = one.linked || one.score >= MIN_ANSWER_SCORE || weighed.score >= builder.least;
        if helps {
            let cited = one.cites.first().map(|cite| format!("; {}:{}", one_line(&cite.path), cite.line));
            let reason = format!("{}{}", one_line(&one.why), cited.unwrap_or_default());
            let text = match builder.view.settings().dialect {
                Dialect::Nanoclaw => {
                    let linked = if one.linked { " [linked]" } else { "" };
                    format!("• {}{linked}", one_line(&one.notation))
                }
                _ => frame::line(&one.text, one.kind, &calendar.date(one.since), None),
            };
            let newer = builder.newer_line(&one.text, one.since, true)?;
            let source = newer.as_ref().map(|newer| newer.source.clone());
            offers.extend(newer.map(|newer| (one.linked, newer)));
            offers.push((one.linked, Offer { newer: source, ..Offer::new(text, reason, one.id) }));
        }
    }
    if offers.iter().all(|(linked, _)| *linked) {
        offers.clear();
    }
    Ok(offers.into_iter().map(|(_, offer)| offer).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_questions_are_cached_for_a_minute() {
        let mut cache = Cache::default();
        let key = |n: usize| (format!("q{n}"), Visibility::Private);
        let at = |seconds: i64| Time::from_millis(seconds * 1_000);
        for n in 0..11 {
            cache.put(key(n), at(0), Vec::new(), 10);
        }
        assert!(cache.get(&key(0), at(1), 60).is_none(), "the eleventh took its place");
        assert!(cache.get(&("q1".into(), Visibility::Shared), at(59), 60).is_none(), "others see less");
        assert!(cache.get(&key(1), at(59), 60).is_some());
        assert!(cache.get(&key(1), at(60), 60).is_none());
    }
}
