//! Where a session stands in its turns: one row of JSON, written when something was put in or an exchange
//! came.

use serde::{Deserialize, Serialize};

use super::stability::{Alignment, Answered};
use super::topic::{Anchor, Topic};
use crate::base::Result;
use crate::base::caller::Caller;
use crate::base::ids::SessionId;
use crate::store::Connection;

/// A session that has been silent this long starts anew.
const FORGOTTEN_DAYS: i64 = 30;
/// How many of the lines that were put in are remembered.
const INJECTED: usize = 200;

/// Where a session stands.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// How many exchanges it has had.
    pub turn: u32,
    /// What is being spoken of.
    pub topics: Vec<Topic>,
    /// Moments worth keeping in sight.
    pub anchors: Vec<Anchor>,
    /// 0 (stable) to 1 and more (drifting), after each of the last exchanges, newest last.
    pub entropy: Vec<f64>,
    /// What made the last one.
    pub signals: Vec<String>,
    /// How the agent kept the principles of SOUL.md.
    pub alignment: Vec<Alignment>,
    /// What the agent claimed to remember and nothing remembered bears out; told once.
    pub doubts: Vec<String>,
    /// Lessons that were put in since the last exchange, and those whose outcome the next message shows.
    pub(crate) lessons: Vec<i64>,
    pub(crate) awaiting: Vec<i64>,
    /// The last answers, by what they said.
    pub(crate) answered: Vec<Answered>,
    /// What was put in, and at which turn.
    pub(crate) injected: Vec<(u32, String)>,
}

impl State {
    /// Tells whether this was put in within the last turns.
    pub(crate) fn was_injected(&self, source: &str, within: u32) -> bool {
        self.injected
            .iter()
            .any(|(turn, known)| known == source && self.turn - (*turn).min(self.turn) < within)
    }

    /// Notes what is put in now. A host that archives nothing has turns all the same.
    pub(crate) fn note_injected(&mut self, sources: impl Iterator<Item = String>) {
        if self.injected.last().is_some_and(|(turn, _)| *turn >= self.turn) {
            self.turn += 1;
        }
        self.injected.extend(sources.map(|source| (self.turn, source)));
        let over = self.injected.len().saturating_sub(INJECTED);
        self.injected.drain(..over);
    }

    /// How far the conversation has drifted.
    pub fn drift(&self) -> f64 {
        self.entropy.last().copied().unwrap_or(0.0)
    }
}

pub(crate) fn load(db: &Connection, session: &SessionId) -> Result<State> {
    // A state that another version wrote and that can't be read is a session that starts anew.
    let read = db.row("SELECT state FROM turns WHERE session = $1", [session], |row| {
        Ok(serde_json::from_str(row.text(0)?).unwrap_or_default())
    });
    Ok(read?.unwrap_or_default())
}

pub(crate) fn save(db: &Connection, caller: &Caller, state: &State) -> Result<()> {
    let (session, now, private) = (&caller.session, caller.now, caller.visibility.is_private());
    let sql = "INSERT INTO turns (session, state, at, private) VALUES ($1, $2, $3, $4)
        ON CONFLICT (session) DO UPDATE SET state = excluded.state, at = excluded.at,
            private = max(private, excluded.private)";
    db.run(sql, (session, serde_json::to_string(state)?, now, private))?;
    db.run("DELETE FROM turns WHERE at < $1", [now.plus_days(-FORGOTTEN_DAYS)]).map(drop)
}
