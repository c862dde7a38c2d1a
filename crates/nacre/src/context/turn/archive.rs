//! Archives an exchange: for continuity across sessions, for lessons, and for the signals of topics and stability.

use serde::Serialize;

use super::{lesson, stability, state, topic};
use crate::base::Result;
use crate::base::origin::RecordOrigin;
use crate::group::View;
use crate::records::lesson::LessonState;
use crate::records::project;
use crate::records::session::exchange::{self, Exchange, Row};
use crate::records::tombstone::Tombstones;
use crate::store::audit;

/// How an exchange was archived.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ArchiveReport {
    /// Its id; empty if there was nothing to archive.
    pub id: String,
    /// Whether it is new.
    pub added: bool,
    /// The lessons learned from it.
    pub lessons: Vec<String>,
}

/// Archives an exchange: its row and passage, its lessons, and the state of the conversation after it.
pub(super) fn archive(view: &mut View<'_>, said: &Exchange) -> Result<ArchiveReport> {
    let caller = view.caller();
    let settings = view.settings().turn.clone();
    let deleted = view.read_all(Tombstones::load)?;
    let [user, agent] =
        [&said.user, &said.agent].map(|text| deleted.mask(&exchange::stored_text(text)).into_owned());
    if !settings.archive || (user.is_empty() && agent.is_empty()) {
        return Ok(ArchiveReport::default());
    }
    let session = caller.session.as_str();
    let id = exchange::hash(&[session, &user, &agent]);
    let searchable = !exchange::is_noise(&user, &agent);
    let (session_id, private) = (session.to_owned(), caller.visibility.is_private());
    let mut row = Row {
        id: id.clone(),
        session: session_id,
        user,
        agent,
        at: said.at,
        searchable,
        private,
        project: None,
        origin: RecordOrigin::of(caller),
    };
    // Looked up before the write, so that other writers do not wait for it.
    let principles = stability::principles(view, caller.visibility);
    let doubts = stability::doubts(view, &row)?;
    let learns = settings.contributors.iter().any(|name| name == "lessons");
    // Anybody may speak in a shared session, and lessons are injected into private ones too.
    let teaches = learns && private && !caller.untrusted;
    let drafts = if teaches { lesson::taught(&row.user) } else { Vec::new() };
    let language = view.settings().search.language();
    let (added, lessons) = view.write(|tx| {
        let mut state = state::load(tx, &caller.session)?;
        if let Some(first) = exchange::time_of(tx, &id)? {
            // The same words again, later, are a repetition. The same exchange that arrives twice is not.
            if said.at > first && state.repeated_at.is_none_or(|last| said.at > last) {
                state.turn += 1;
                state.repeated_at = Some(said.at);
                stability::follow(&mut state, &row, &principles, doubts, language);
                state::save(tx, caller, &state)?;
            }
            return Ok((false, Vec::new()));
        }
        let before = exchange::last(tx, session)?;
        row.project = project::current::adopt(tx, caller.project_folder.as_deref())?;
        exchange::insert(tx, &row)?;
        exchange::keep_newest(tx, settings.max_exchanges)?;
        state.turn += 1;
        let asked = before.as_ref().map_or("", |before| before.user.as_str());
        let learned = lesson::learn(tx, &drafts, asked, caller, said.at, LessonState::Waiting)?;
        lesson::judge(tx, &mut state, &row.user, &drafts)?;
        topic::follow(&mut state, &row, language);
        stability::follow(&mut state, &row, &principles, doubts, language);
        state::save(tx, caller, &state)?;
        let mut audited = audit::Row::new("exchange_archive");
        audited.ids.push(id.clone());
        audited.detail.insert("chars".into(), (row.user.chars().count() + row.agent.chars().count()).into());
        if !learned.is_empty() {
            audited.detail.insert("lessons".into(), learned.len().into());
        }
        audited.append(tx, caller)?;
        Ok((true, learned))
    })?;
    if added {
        let delta = row.user.chars().count() + row.agent.chars().count();
        view.tell_write(exchange::KIND, id.as_str(), delta);
    }
    Ok(ArchiveReport { id, added, lessons })
}
