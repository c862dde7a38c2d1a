//! Graph memory (T2): facts and relations of the entities that a message names, above all else.
//!
//! Only where an entity matched: what full text alone found is for a search. The last few questions are kept
//! for a minute, so that a host that asks twice does not pay, or wire, twice.

use super::relevance::About;
use super::{Offer, Turning};
use crate::base::caller::Visibility;
use crate::base::frame::one_line;
use crate::base::{Result, Time};
use crate::group::{JointRecall as Recalling, View};
use crate::records::graph::GraphMatch;
use crate::records::graph::recall::{self, MIN_ENTITY_SCORE, Speaker};

/// From which score on what is asked of an entity is known, and not only who it is.
const ANSWERS: f64 = 85.0;
/// How many facts and relations are looked at.
const MOST: usize = 8;
/// How many questions are kept, for how long, and how much of each tells one from another.
const KEPT: usize = 10;
const KEPT_MS: i64 = 60_000;
const KEY: usize = 100;

/// What the last questions gave.
#[derive(Default)]
pub(crate) struct Cache(Vec<(Key, Time, Vec<GraphMatch>)>);

/// A question, and who sees what is known.
type Key = (String, Visibility);

impl Cache {
    fn get(&mut self, key: &Key, now: Time) -> Option<Vec<GraphMatch>> {
        self.0.retain(|(_, at, _)| now.as_millis() - at.as_millis() < KEPT_MS);
        let place = self.0.iter().position(|(known, _, _)| known == key)?;
        // The one asked for last goes last.
        let found = self.0.remove(place);
        self.0.push(found);
        self.0.last().map(|(_, _, known)| known.clone())
    }

    fn put(&mut self, key: Key, now: Time, known: Vec<GraphMatch>) {
        if self.0.len() >= KEPT {
            self.0.remove(0);
        }
        self.0.push((key, now, known));
    }
}

/// Returns what the graph knows of the entities that a message names, best first.
fn block(view: &mut View<'_>, message: &str, now: Time) -> Result<Vec<GraphMatch>> {
    let language = view.settings().search.language();
    let (speaker, limit) = (Speaker::User, MOST);
    let request = recall::Request { query: message, speaker, limit, as_of: None, by_words: false };
    let mut known = view.read(|db| recall::recall(db, &request, language))?.known;
    known.retain(|one| one.linked || one.score >= MIN_ENTITY_SCORE);
    // What was linked comes only beside what matched.
    if known.iter().all(|one| one.linked) {
        known.clear();
    }
    let graph = known.iter().filter(|one| !one.linked).map(|one| one.id.clone()).collect();
    view.note_recalled(message, Recalling { entries: Vec::new(), graph, at: now });
    Ok(known)
}

pub(super) fn offer(turning: &mut Turning<'_>) -> Result<Vec<Offer>> {
    if !turning.message.says_something() {
        return Ok(Vec::new());
    }
    let now = turning.caller.now;
    let question: String = turning.message.prose.to_lowercase().chars().take(KEY).collect();
    let key = (question, turning.caller.visibility);
    let known = match turning.view.state::<Cache>().get(&key, now) {
        Some(known) => known,
        None => {
            let message = turning.message.prose.clone();
            let found = block(&mut turning.view, &message, now)?;
            turning.view.state::<Cache>().put(key, now, found.clone());
            found
        }
    };
    let mut offers: Vec<(bool, Offer)> = Vec::new();
    for one in known {
        let weighed = turning.message.weigh(&one.text, About::default(), &mut turning.known);
        turning.consider("graph", &one.id, &one.text, &weighed);
        // Who is only named may be anybody: then what is known must help as anything else must.
        let helps = one.linked || one.score >= ANSWERS || weighed.score >= turning.least;
        if helps {
            let linked = if one.linked { " [linked]" } else { "" };
            let cited = one.cites.first().map(|cite| format!("; {}:{}", one_line(&cite.path), cite.line));
            let reason = format!("{}{}", one_line(&one.why), cited.unwrap_or_default());
            let text = format!("• {}{linked}", one_line(&one.text));
            offers.push((one.linked, Offer { text, reason, source: one.id }));
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
    fn ten_questions_are_kept_for_a_minute() {
        let mut cache = Cache::default();
        let key = |n: usize| (format!("q{n}"), Visibility::Private);
        let at = |seconds: i64| Time::from_millis(seconds * 1_000);
        for n in 0..11 {
            cache.put(key(n), at(0), Vec::new());
        }
        assert!(cache.get(&key(0), at(1)).is_none(), "the eleventh took its place");
        assert!(cache.get(&("q1".into(), Visibility::Shared), at(59)).is_none(), "others see less");
        assert!(cache.get(&key(1), at(59)).is_some());
        assert!(cache.get(&key(1), at(60)).is_none());
    }
}
