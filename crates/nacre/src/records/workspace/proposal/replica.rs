//! Proposals as other machines need them: a person may decide on any machine. A tool call that may name a short number of this machine
//! stays here, because the number means something else elsewhere.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::State;
use crate::base::{Result, Time};
use crate::store::Connection;

/// The tool whose calls name no short number, unless they replace a memory by one.
const PORTABLE_TOOL: &str = "memory_store";

/// A proposal: its number here, what names it everywhere, and its fields.
pub(crate) struct ReplicaProposal {
    pub(crate) number: i64,
    pub(crate) key: Vec<String>,
    pub(crate) fields: BTreeMap<String, Value>,
}

/// Returns the proposals that mean the same on every machine.
pub(crate) fn all(db: &Connection) -> Result<Vec<ReplicaProposal>> {
    let sql = "SELECT number, kind, target, base, proposed, reason, sources, state, private, actor, session, at, decided_at, decided_by,
        answer, client FROM proposals WHERE kind = 'file' OR target = $1 ORDER BY number";
    let rows = db.rows(sql, [PORTABLE_TOOL], |row| {
        let text = |at: usize| -> Result<Option<Option<String>>> {
            let bytes: Option<Vec<u8>> = row.get(at)?;
            Ok(bytes.map_or(Some(None), |bytes| String::from_utf8(bytes).ok().map(Some)))
        };
        let (kind, target, session): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(10)?);
        // Bytes that are not text have no place in a record.
        let (Some(base), Some(proposed)) = (text(3)?, text(4)?) else { return Ok(None) };
        if kind == "call" && !is_portable(proposed.as_deref().unwrap_or_default()) {
            return Ok(None);
        }
        let hash = |text: &Option<String>| {
            text.as_ref().map_or(String::new(), |text| blake3::hash(text.as_bytes()).to_string())
        };
        Ok(Some(ReplicaProposal {
            number: row.get(0)?,
            key: vec![kind.clone(), target.clone(), hash(&base), hash(&proposed), session.clone()],
            fields: [
                ("kind", json!(kind)),
                ("target", json!(target)),
                ("base", json!(base)),
                ("proposed", json!(proposed)),
                ("reason", json!(row.text(5)?)),
                ("sources", json!(row.text(6)?)),
                ("state", json!(row.text(7)?)),
                ("private", json!(row.get::<bool>(8)?)),
                ("actor", json!(row.text(9)?)),
                ("session", json!(session)),
                ("at", json!(row.get::<Time>(11)?)),
                ("decided_at", json!(row.get::<Option<Time>>(12)?)),
                ("decided_by", json!(row.get::<Option<String>>(13)?)),
                ("answer", json!(row.text(14)?)),
                ("client", json!(row.get::<Option<String>>(15)?)),
            ]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        }))
    })?;
    Ok(rows.into_iter().flatten().collect())
}

fn is_portable(arguments: &str) -> bool {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let is_everywhere = |id: &Value| id.as_str().is_some_and(|id| id.starts_with("mem-"));
    arguments.get("content").is_some() && arguments.get("supersedes").is_none_or(is_everywhere)
}

/// Writes a proposal. Returns its number, unless the fields are not those of a proposal. Nothing is applied: what an approval
/// changed travels by itself.
pub(crate) fn put(
    db: &Connection,
    number: Option<i64>,
    fields: &BTreeMap<String, Value>,
) -> Result<Option<i64>> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let time = |name: &str| text(name).and_then(|time| Time::parse(&time));
    let bytes = |name: &str| text(name).map(String::into_bytes);
    let (
        Some(kind),
        Some(target),
        Some(reason),
        Some(sources),
        Some(state),
        Some(actor),
        Some(session),
        Some(at),
    ) = (
        text("kind"),
        text("target"),
        text("reason"),
        text("sources"),
        text("state"),
        text("actor"),
        text("session"),
        time("at"),
    )
    else {
        return Ok(None);
    };
    let is_known = kind == "file" || kind == "call" && target == PORTABLE_TOOL;
    if !is_known || State::of_name(&state).is_none() {
        return Ok(None);
    }
    let private = fields.get("private").and_then(Value::as_bool).unwrap_or(true);
    let (base, proposed, decided_at) = (bytes("base"), bytes("proposed"), time("decided_at"));
    let (decided_by, answer, client) =
        (text("decided_by"), text("answer").unwrap_or_default(), text("client"));
    let sql = "INSERT INTO proposals (number, kind, target, base, proposed, reason, sources, state, private, actor, session, at, decided_at,
            decided_by, answer, client)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
        ON CONFLICT (number) DO UPDATE SET kind = excluded.kind, target = excluded.target, base = excluded.base,
            proposed = excluded.proposed, reason = excluded.reason, sources = excluded.sources, state = excluded.state,
            private = excluded.private, actor = excluded.actor, session = excluded.session, at = excluded.at,
            decided_at = excluded.decided_at, decided_by = excluded.decided_by, answer = excluded.answer, client = excluded.client
        RETURNING number";
    let values: [&dyn crate::store::ToSql; 16] = [
        &number,
        &kind,
        &target,
        &base,
        &proposed,
        &reason,
        &sources,
        &state,
        &private,
        &actor,
        &session,
        &at,
        &decided_at,
        &decided_by,
        &answer,
        &client,
    ];
    db.row(sql, values, |row| row.get(0))
}

/// Deletes a proposal.
pub(crate) fn remove(db: &Connection, number: i64) -> Result<()> {
    db.run("DELETE FROM proposals WHERE number = $1", [number]).map(drop)
}
