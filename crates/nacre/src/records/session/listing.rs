//! `sessions/sessions.json`: which transcripts there are, for people and other programs. Derived from the database,
//! which is derived from the files; written whole when one is begun, compacted, ended or put away.

use serde::Serialize;

use super::take_in::{self, State};
use super::transcript::{self, Files, Lock};
use crate::base::ids::SessionId;
use crate::base::{Result, Time, files};
use crate::group::View;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
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
    for (id, state) in view.read_all(take_in::all)? {
        let Ok(id) = id.parse::<SessionId>() else { continue };
        let State { first_at, ended_at, compactions, archived_at, .. } = state;
        let archived = archived_at.is_some();
        let file = Files::of(view.folder(), &id)?.shown(archived);
        listed.push(Listed { id, file, started_at: first_at, ended_at, compactions, archived });
    }
    let bytes = serde_json::to_vec_pretty(&serde_json::json!({ "sessions": listed }))?;
    files::write_quickly(&transcript::folder(view.folder()).join("sessions.json"), &bytes)
}
