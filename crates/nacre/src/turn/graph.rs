//! Graph memory (T2): facts and relations of the entities that a message names, above all else.
//!
//! Only where an entity matched: what full text alone found is for a search. The last few questions are kept
//! for a minute, so that a host that asks twice does not pay, or wire, twice.

use super::{Offer, Turning};
use crate::brief::one_line;
use crate::group::Group;
use crate::{Result, Time};

/// From which score on an entity matched (G3).
pub const LEAST: u32 = 65;
/// How many questions are kept, for how long, and how much of each tells one from another.
const KEPT: usize = 10;
const KEPT_MS: i64 = 60_000;
const KEY: usize = 100;

/// One fact or relation that was recalled.
#[derive(Clone, Debug, PartialEq)]
pub struct Recalled {
    /// As it is shown: `Ada.birthday = 7 July`, `Ada → partner_of → Ben`.
    pub text: String,
    /// What it is, for telling it from others.
    pub source: String,
    /// Its score by the four phases (G3).
    pub score: u32,
    /// It came by what was recalled with it before, not by its own match.
    pub linked: bool,
}

/// What the last questions gave.
#[derive(Default)]
pub(crate) struct Cache(Vec<(String, Time, Vec<Recalled>)>);

impl Cache {
    fn get(&mut self, key: &str, now: Time) -> Option<Vec<Recalled>> {
        self.0.retain(|(_, at, _)| now.as_millis() - at.as_millis() < KEPT_MS);
        let place = self.0.iter().position(|(known, _, _)| known == key)?;
        // The one asked for last goes last.
        let found = self.0.remove(place);
        self.0.push(found);
        self.0.last().map(|(_, _, recalled)| recalled.clone())
    }

    fn put(&mut self, key: String, now: Time, recalled: Vec<Recalled>) {
        if self.0.len() >= KEPT {
            self.0.remove(0);
        }
        self.0.push((key, now, recalled));
    }
}

/// Returns what the graph knows of the entities that a message names, best first.
///
/// The graph fills this in; until then it knows nothing.
#[expect(clippy::unnecessary_wraps, reason = "what the graph will need")]
fn block(_group: &mut Group, _message: &str, _now: Time) -> Result<Vec<Recalled>> {
    Ok(Vec::new())
}

pub(super) fn offer(turning: &mut Turning<'_>) -> Result<Vec<Offer>> {
    let now = turning.caller.now;
    let key: String = turning.message.prose.to_lowercase().chars().take(KEY).collect();
    let recalled = match turning.group.turned.get(&key, now) {
        Some(known) => known,
        None => {
            let message = turning.message.prose.clone();
            let found = block(turning.group, &message, now)?;
            turning.group.turned.put(key, now, found.clone());
            found
        }
    };
    // What was linked comes only beside what matched.
    if recalled.iter().all(|one| one.linked || one.score < LEAST) {
        return Ok(Vec::new());
    }
    let line = |one: Recalled| {
        let linked = if one.linked { " [linked]" } else { "" };
        let reason = if one.linked {
            "recalled together before".to_owned()
        } else {
            format!("an entity of the message, {}", one.score)
        };
        Offer { text: format!("• {}{linked}", one_line(&one.text)), reason, source: one.source }
    };
    Ok(recalled.into_iter().filter(|one| one.linked || one.score >= LEAST).map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_questions_are_kept_for_a_minute() {
        let mut cache = Cache::default();
        let at = |seconds: i64| Time::from_millis(seconds * 1_000);
        for n in 0..11 {
            cache.put(format!("q{n}"), at(0), Vec::new());
        }
        assert_eq!(cache.get("q0", at(1)), None, "the eleventh took its place");
        assert_eq!(cache.get("q1", at(59)), Some(Vec::new()));
        assert_eq!(cache.get("q1", at(60)), None);
    }
}
