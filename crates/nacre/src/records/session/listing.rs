//! `sessions/sessions.json`: a list of the transcripts, for people and other programs. It is derived from the
//! database, which is derived from the files. It is rewritten when a transcript is created, compacted, ended
//! or archived.

use serde::Serialize;

use super::ingest::{self, State};
use super::lock::Lock;
use super::transcript::Transcript;
use crate::base::ids::SessionId;
use crate::base::{Result, Time};
use crate::group::View;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListingEntry {
    id: SessionId,
    file: String,
    started_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Time>,
    compactions: i64,
    archived: bool,
}

pub(super) fn write(view: &View<'_>, _lock: &Lock) -> Result<()> {
    let mut listed = Vec::new();
    for (id, state) in view.read_all(ingest::all)? {
        let Ok(id) = id.parse::<SessionId>() else { continue };
        let State { first_at, ended_at, compactions, archived_at, .. } = state;
        let archived = archived_at.is_some();
        let transcript = Transcript::of(view.files(), &id)?;
        let file = if archived { transcript.packed() } else { transcript.plain() };
        listed.push(ListingEntry { id, file, started_at: first_at, ended_at, compactions, archived });
    }
    let bytes = serde_json::to_vec_pretty(&serde_json::json!({ "sessions": listed }))?;
    view.files().write_transcript_list(&bytes)
}
