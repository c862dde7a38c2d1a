//! The turn state of a session: one row of JSON, written when lines are injected or an exchange is archived.

use serde::{Deserialize, Serialize};

use super::stability::{Alignment, RecentAnswer};
use super::topic::{Anchor, Topic};
use crate::base::caller::Caller;
use crate::base::ids::SessionId;
use crate::base::{Result, Time};
use crate::store::Connection;

/// The state of a session that was silent this long is reset.
const RESET_DAYS: i64 = 30;
/// How many injected lines are remembered.
const MAX_INJECTED: usize = 200;

/// The turn state of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// How many exchanges it has had.
    pub turn: u32,
    /// The current topics.
    pub topics: Vec<Topic>,
    /// Statements to keep in mind.
    pub anchors: Vec<Anchor>,
    /// 0 (stable) to 1 and more (drifting), after each of the last exchanges, newest last.
    pub entropy: Vec<f64>,
    /// The signals of the last exchange.
    pub signals: Vec<String>,
    /// How well the agent follows the principles of SOUL.md.
    pub alignment: Vec<Alignment>,
    /// Claims of the agent that memory does not confirm; injected once.
    pub doubts: Vec<String>,
    /// Lessons that were injected since the last exchange, and those whose outcome the next message shows.
    pub(crate) lessons: Vec<i64>,
    pub(crate) awaiting: Vec<i64>,
    /// The last time at which an exchange was repeated word for word.
    pub(crate) repeated_at: Option<Time>,
    /// The last answers.
    pub(crate) answered: Vec<RecentAnswer>,
    /// Injected lines: the turn, the source and the time of each.
    pub(crate) injected: Vec<(u32, String, Time)>,
}

impl State {
    /// Tells whether a line was injected within the last turns.
    pub(crate) fn was_injected(&self, source: &str, within: u32) -> bool {
        self.injected
            .iter()
            .any(|(turn, known, _)| known == source && self.turn - (*turn).min(self.turn) < within)
    }

    /// Records injected lines. Turns are counted here too, because some hosts archive nothing.
    pub(crate) fn note_injected(&mut self, sources: impl Iterator<Item = String>, now: Time) {
        if self.injected.last().is_some_and(|(turn, ..)| *turn >= self.turn) {
            self.turn += 1;
        }
        self.injected.extend(sources.map(|source| (self.turn, source, now)));
        let over = self.injected.len().saturating_sub(MAX_INJECTED);
        self.injected.drain(..over);
    }

    /// Returns how far the conversation has drifted.
    pub fn drift(&self) -> f64 {
        self.entropy.last().copied().unwrap_or(0.0)
    }
}

pub(crate) fn load(db: &Connection, session: &SessionId) -> Result<State> {
    // A state of another version that can't be read is reset.
    let read = db.row("SELECT state FROM turns WHERE session = $1", [session], |row| {
        Ok(serde_json::from_str(row.text(0)?).unwrap_or_default())
    });
    Ok(read?.unwrap_or_default())
}

pub(crate) fn save(db: &Connection, caller: &Caller, state: &State) -> Result<()> {
    let (session, now, private) = (&caller.session, caller.now, caller.visibility.is_private());
    let sql = "INSERT INTO turns (session, state, at, private) VALUES ($1, $2, $3, $4)
        ON CONFLICT (session) DO UPDATE SET state = excluded.state, at = excluded.at,
            private = max(turns.private, excluded.private)";
    db.run(sql, (session, serde_json::to_string(state)?, now, private))?;
    db.run("DELETE FROM turns WHERE at < $1", [now.plus_days(-RESET_DAYS)]).map(drop)
}
