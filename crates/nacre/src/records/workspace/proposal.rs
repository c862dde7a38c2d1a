//! Proposals: writes that wait for a person.
//!
//! A proposal holds the new content of a file and the content it was based on, or a tool call. It is applied
//! when a person approves it, and only if the file still has the content it was based on. Otherwise the file
//! is left unchanged and the proposal is shown as a conflict. An applied proposal can be reverted until the
//! file changes again.

pub(crate) mod replica;

use crate::base::named::named;
use crate::base::redact;
use crate::store::{Connection, Row};
use std::ops::ControlFlow;

use serde::Serialize;
use serde_json::Value;

use super::FilePath;
use super::change::{self, Change, LockedWorkspace, MAX_FILE_BYTES};
use super::policy;
use crate::base::caller::Visibility;
use crate::base::caller::{Actor, Caller, Role};
use crate::base::diff::{self, Diff};
use crate::base::ids::SessionId;
use crate::base::member::MemberRole;
use crate::base::settings::Accept;
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::records::entry;
use crate::store::audit;

/// The maximum length of a stored reason, in characters.
const MAX_REASON_CHARS: usize = 1_000;

/// A proposal, pending or decided.
#[derive(Clone, Debug, Serialize)]
pub struct Proposal {
    /// Its number, by which people refer to it.
    pub number: i64,
    /// Whether it changes a file or calls a tool.
    pub kind: Kind,
    /// The file within the group's folder, or the tool.
    pub target: String,
    /// Its state.
    pub state: State,
    /// Whether the file has changed since, so that the proposal can't be applied as it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub conflict: bool,
    /// The numbers of added and removed lines.
    pub lines: [usize; 2],
    /// The reason that the proposer gave.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The sources it was derived from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Whether it is hidden from shared sessions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// Who proposed it: person or agent.
    pub actor: String,
    /// The session in which it was proposed.
    pub session: String,
    /// When it was proposed.
    pub at: Time,
    /// When it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Time>,
    /// Why it was denied.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub answer: String,
    /// The person's answer as the client reported it: accept or decline. It is not a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The change, for people.
    #[serde(serialize_with = "as_text")]
    pub diff: Diff,
    /// The changes that others made to the file since, if they conflict.
    #[serde(serialize_with = "as_some_text", skip_serializing_if = "Option::is_none")]
    pub since: Option<Diff>,
    /// Whether both changes can be merged.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mergeable: bool,
}

fn as_text<S: serde::Serializer>(diff: &Diff, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(diff)
}

fn as_some_text<S: serde::Serializer>(diff: &Option<Diff>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&diff.as_ref().map(ToString::to_string).unwrap_or_default())
}

/// The kind of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names explain themselves")]
pub enum Kind {
    File,
    Call,
}

named! {
    /// The state of a proposal.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    #[expect(missing_docs, reason = "the names explain themselves")]
    pub enum State {
        Pending = "pending",
        Approved = "approved",
        Denied = "denied",
        Reverted = "reverted",
    }
}

/// The outcome of proposing a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProposalOutcome {
    pub(crate) number: i64,
    /// Pending, or denied if a person has refused the same change to this session.
    pub(crate) state: State,
    /// Why it was denied.
    pub(crate) answer: String,
    /// The change, for people and models.
    pub(crate) diff: String,
}

/// Proposes a change of a file. The same change again is the same proposal.
///
/// `before` is what the caller read and computed `after` from. The file is not read again: an editor may have saved it in
/// between, and the proposal would take out what was saved.
pub(crate) fn propose_file(
    held: &mut LockedWorkspace<'_>,
    change: Change,
    reason: &str,
    sources: &[String],
) -> Result<ProposalOutcome> {
    let Change { path, before: base, after } = change;
    if after.as_ref().is_some_and(|after| after.len() as u64 > MAX_FILE_BYTES) {
        return Err(Error::FileTooLarge { path: path.to_string(), limit: MAX_FILE_BYTES });
    }
    let rules = &held.view.settings().visibility.private;
    let seen = |bytes: &Option<Vec<u8>>| {
        Visibility::Shared.sees_file(rules, path.as_str(), bytes.as_deref().unwrap_or_default())
    };
    let private = !(seen(&base) && seen(&after));
    let draft =
        Draft { kind: Kind::File, target: path.as_str(), base, proposed: after, reason, sources, private };
    insert(&mut held.view, draft)
}

/// Proposes a call of a tool. `lost` is the text that it would delete or replace.
pub(crate) fn propose_call(
    view: &mut View<'_>,
    tool: &str,
    arguments: &Value,
    lost: Option<String>,
) -> Result<ProposalOutcome> {
    propose_call_for(view, tool, arguments, lost, "", &[])
}

/// Proposes a tool call with a reason and its sources.
pub(crate) fn propose_call_for(
    view: &mut View<'_>,
    tool: &str,
    arguments: &Value,
    lost: Option<String>,
    reason: &str,
    sources: &[String],
) -> Result<ProposalOutcome> {
    let caller = view.caller();
    let proposed = Some(serde_json::to_vec(arguments)?);
    let private = caller.visibility.is_private();
    let base = lost.map(String::into_bytes);
    let draft = Draft { kind: Kind::Call, target: tool, base, proposed, reason, sources, private };
    insert(view, draft)
}

/// Returns the texts of memories that were proposed and are not decided yet, or were denied.
pub(crate) fn proposed_memories(db: &Connection) -> Result<Vec<String>> {
    let sql = "SELECT proposed FROM proposals WHERE kind = 'call' AND target = 'memory_store' AND state IN ('pending', 'denied')";
    let proposed: Vec<Option<Vec<u8>>> = db.rows(sql, (), |row| row.get(0))?;
    let content = |bytes: Vec<u8>| {
        let arguments: Value = serde_json::from_slice(&bytes).ok()?;
        arguments["content"].as_str().map(str::to_owned)
    };
    Ok(proposed.into_iter().flatten().filter_map(content).collect())
}

struct Draft<'a> {
    kind: Kind,
    target: &'a str,
    base: Option<Vec<u8>>,
    proposed: Option<Vec<u8>>,
    reason: &'a str,
    sources: &'a [String],
    private: bool,
}

fn insert(view: &mut View<'_>, draft: Draft<'_>) -> Result<ProposalOutcome> {
    let caller = view.caller();
    if caller.role == Role::Skill {
        return Err(Error::RoleDenied { tool: "propose".into(), role: caller.role.as_str() });
    }
    let Draft { kind, target, base, proposed, reason, sources, private } = draft;
    let reason: String = reason.chars().take(MAX_REASON_CHARS).collect();
    let sources = serde_json::to_string(sources)?;
    let limits = view.settings().limits.clone();
    let limit = if caller.untrusted { limits.untrusted.propose } else { limits.propose };
    let kind_name = if kind == Kind::File { "file" } else { "call" };
    let diff = diff_of(kind, target, base.as_deref(), proposed.as_deref()).to_string();
    let (number, state, answer, is_new) = view.write(|tx| {
        // The session must not learn of proposals that it can't see.
        let sql = "SELECT number, state, answer FROM proposals WHERE kind = $1 AND target = $2
            AND base IS NOT DISTINCT FROM $3 AND proposed IS NOT DISTINCT FROM $4 AND (state = 'pending' AND (session = $5 OR private <= $6) OR state = 'denied' AND session = $5
            AND actor = $7) ORDER BY number DESC LIMIT 1";
        let sees = caller.visibility.is_private();
        let actor = caller.actor_name();
        let fields = (kind_name, target, &base, &proposed, &caller.session, sees, actor);
        let same = tx.row(sql, fields, |row| Ok((row.get(0)?, row.get::<String>(1)?, row.get(2)?)))?;
        if let Some((number, state, answer)) = same
            && (state == "pending" || caller.actor == Actor::Agent)
        {
            return Ok((number, state, answer, false));
        }
        // An untrusted token can name any session, so all of its proposals count.
        let token = caller.token.as_deref().filter(|_| caller.untrusted);
        let sql = "SELECT count(*) FROM proposals WHERE state = 'pending' AND (session = $1 OR token = $2)";
        let waiting: u32 = tx.one(sql, (&caller.session, token), |row| row.get(0))?;
        if caller.actor == Actor::Agent && limit > 0 && waiting >= limit {
            return Err(Error::TooManyProposals { limit });
        }
        let sql = "INSERT INTO proposals (kind, target, base, proposed, reason, sources, state, private, actor, session, at, token)
            VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7, $8, $9, $10, $11) RETURNING number";
        let Caller { session, now, token, .. } = caller;
        let fields =
            (kind_name, target, &base, &proposed, &reason, &sources, private, actor, session, now, token);
        let number: i64 = tx.one(sql, fields, |row| row.get(0))?;
        record(tx, caller, "propose", number, size(proposed.as_deref()), audit::Outcome::Done)?;
        Ok((number, "pending".to_owned(), String::new(), true))
    })?;
    if is_new {
        view.tell_write("proposal", target, change::char_delta(base.as_deref(), proposed.as_deref()));
    }
    let state = State::of_name(&state).unwrap_or(State::Pending);
    Ok(ProposalOutcome { number, state, answer, diff })
}

/// Proposes the text that another machine gave to a document, where it overlaps with the text of this one: path, text now, text of
/// the other. The same text again is the same proposal. Returns whether it is new.
pub(crate) fn propose_merge(
    tx: &Connection,
    now: Time,
    (path, base, proposed): (&str, &str, &str),
) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM proposals WHERE kind = 'file' AND target = $1 AND proposed = $2)";
    if tx.one(sql, (path, proposed.as_bytes()), |row| row.get(0))? {
        return Ok(false);
    }
    let sql = "INSERT INTO proposals (kind, target, base, proposed, reason, sources, state, private, actor, session, at)
        VALUES ('file', $1, $2, $3, $4, '[]', 'pending', true, 'nacre', 'sync', $5) RETURNING number";
    let reason = "two machines changed the same lines; approve to take the other text";
    let fields = (path, base.as_bytes(), proposed.as_bytes(), reason, now);
    let number: i64 = tx.one(sql, fields, |row| row.get(0))?;
    let row = audit::Row::new("propose").id(&format!("proposal:{number}")).with("bytes", proposed.len());
    audit::append_own(tx, now, &row)?;
    Ok(true)
}

/// Proposes a change to a file, whatever the write policy says.
pub fn propose(
    view: &mut View<'_>,
    path: &FilePath,
    after: Option<Vec<u8>>,
    reason: &str,
) -> Result<Proposal> {
    let caller = view.caller();
    let mut held = change::lock(view)?;
    check_seen(&held, caller, path)?;
    let before = held.read(path)?;
    // A file that does not exist and an empty one are the same here.
    if before == after || before.is_none() && after.as_deref().is_some_and(<[u8]>::is_empty) {
        return Err(Error::NothingToChange { path: path.to_string() });
    }
    let made = propose_file(&mut held, Change { path: path.clone(), before, after }, reason, &[])?;
    drop(held);
    get(view, made.number)
}

/// Refuses a file that the session can't see, because a proposal's diff would reveal it.
pub(crate) fn check_seen(held: &LockedWorkspace<'_>, caller: &Caller, path: &FilePath) -> Result<()> {
    match is_seen(held, caller, path)? {
        true => Ok(()),
        false => Err(Error::HiddenFile { path: path.to_string() }),
    }
}

/// Tells whether the session sees a file that it is about to write. Names on the private list are no secret, and are refused.
/// Whether another file is private is a secret: an agent's write to one waits, as if there were no file.
pub(crate) fn is_seen(held: &LockedWorkspace<'_>, caller: &Caller, path: &FilePath) -> Result<bool> {
    let rules = &held.view.settings().visibility.private;
    let is_named = !caller.visibility.sees(rules, path.as_str(), "");
    let bytes = held.read(path)?.unwrap_or_default();
    let is_seen = caller.visibility.sees_file(rules, path.as_str(), &bytes);
    match is_named || (!is_seen && caller.actor == Actor::Person) {
        true => Err(Error::HiddenFile { path: path.to_string() }),
        false => Ok(is_seen),
    }
}

/// Lists the pending proposals, or all, oldest first.
pub fn list(view: &mut View<'_>, all: bool) -> Result<Vec<Proposal>> {
    complete_pending_changes(view)?;
    let rows = view.read(|db| {
        let sql = format!("SELECT {COLUMNS} FROM proposals WHERE state = 'pending' OR $1 ORDER BY number");
        db.rows(&sql, [all], read_row)
    })?;
    rows.into_iter().map(|row| row.into_proposal(view)).collect()
}

/// Returns a proposal.
pub fn get(view: &mut View<'_>, number: i64) -> Result<Proposal> {
    complete_pending_changes(view)?;
    find(view, number)?.into_proposal(view)
}

/// Returns the full content that a proposal was based on and the content it proposes.
pub(crate) fn texts(view: &View<'_>, number: i64) -> Result<[Option<Vec<u8>>; 2]> {
    find(view, number).map(|row| [row.base, row.proposed])
}

/// Returns the file of a proposal as it is now, and as it is after approval. If others have changed the file since, the
/// second text is the merge of both changes, or `None` if they can't be merged.
pub(crate) fn effect(view: &View<'_>, number: i64) -> Result<[Option<Vec<u8>>; 2]> {
    let row = find(view, number)?;
    if row.kind != Kind::File || row.state != State::Pending {
        return Ok([None, None]);
    }
    // A link or a folder at this path can't be merged with anything.
    let Ok(now) = view.files().read(&row.path()?, MAX_FILE_BYTES + 1) else { return Ok([None, None]) };
    let result = match (&row.base, &now, &row.proposed) {
        (base, now, proposed) if base == now || now == proposed => row.proposed.clone(),
        (Some(base), Some(now), Some(proposed)) => {
            appended(&row, Some(now)).or_else(|| diff::merge(base, now, proposed))
        }
        _ => None,
    };
    Ok([now, result])
}

/// Replaces the text that a pending proposal of a file would write by the text that a person edited. `hash` is that of the file
/// that they saw; absent if there was none. A file that changed since is not replaced.
pub(crate) fn amend(view: &mut View<'_>, number: i64, text: &[u8], hash: Option<&str>) -> Result<()> {
    let caller = view.caller();
    require_person(view, "amend")?;
    let mut held = change::lock(view)?;
    let row = find(&held.view, number)?;
    row.check_pending()?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(Error::FileTooLarge { path: row.target, limit: MAX_FILE_BYTES });
    }
    let now = held.read(&row.path()?)?;
    if now.as_deref().map(change::hash).as_deref() != hash {
        return Err(Error::FileChanged { path: row.target });
    }
    held.view.write(|tx| {
        let sql = "UPDATE proposals SET base = $2, proposed = $3, client = NULL
            WHERE number = $1 AND state = 'pending'";
        tx.run(sql, (number, &now, text))?;
        record(tx, caller, "amend", number, text.len(), audit::Outcome::Done)
    })
}

/// Applies a proposal. Only a person can.
pub(crate) fn approve(view: &mut View<'_>, number: i64, run: RunCall) -> Result<Proposal> {
    require_person(view, "approve")?;
    complete_pending_changes(view)?;
    apply_pending(view, number, run)
}

/// Denies a proposal. Only a person can.
pub fn deny(view: &mut View<'_>, number: i64, reason: &str) -> Result<Proposal> {
    require_person(view, "deny")?;
    complete_pending_changes(view)?;
    mark_denied(view, number, reason)
}

/// Records the person's answer as a client reports it, for a proposal of this session. It does not prove that
/// a person answered, so it decides only if `write.accept` allows it.
pub(crate) fn record_client_answer(
    view: &mut View<'_>,
    number: i64,
    accepted: bool,
    run: RunCall,
) -> Result<Proposal> {
    let caller = view.caller();
    complete_pending_changes(view)?;
    let row = find(view, number)?;
    if row.session != caller.session.as_str() {
        return Err(Error::NoProposal { number });
    }
    if row.state == State::Pending {
        let said = if accepted { "accept" } else { "decline" };
        view.write(|tx| {
            let sql = "UPDATE proposals SET client = $2 WHERE number = $1 AND state = 'pending'";
            tx.run(sql, (number, said))?;
            record(
                tx,
                caller,
                &format!("client_{said}"),
                number,
                size(row.proposed.as_deref()),
                audit::Outcome::Done,
            )
        })?;
        if view.settings().write.accept == Accept::Client && view.rights().may(MemberRole::Reviewer) {
            return match accepted {
                true => apply_pending(view, number, run),
                false => mark_denied(view, number, "declined in the client"),
            };
        }
    }
    find(view, number)?.into_proposal(view)
}

/// Merges a pending proposal with the changes that others made to its file. It stays pending.
pub fn rebase(view: &mut View<'_>, number: i64) -> Result<Proposal> {
    let caller = view.caller();
    require_person(view, "rebase")?;
    complete_pending_changes(view)?;
    let mut held = change::lock(view)?;
    let row = find(&held.view, number)?;
    row.check_pending()?;
    let now = held.read(&row.path()?)?;
    let (Some(base), Some(now), Some(proposed)) = (&row.base, &now, &row.proposed) else {
        return Err(row.conflict(None));
    };
    let Some(merged) = diff::merge(base, now, proposed) else { return Err(row.conflict(Some(now))) };
    held.view.write(|tx| {
        let sql = "UPDATE proposals SET base = $2, proposed = $3, client = NULL WHERE number = $1 AND state = 'pending'";
        tx.run(sql, (number, now, &merged))?;
        record(tx, caller, "rebase", number, size(Some(&merged)), audit::Outcome::Done)
    })?;
    drop(held);
    find(view, number)?.into_proposal(view)
}

/// Reverts an applied proposal if its file has not changed since. Only a person can.
pub fn revert(view: &mut View<'_>, number: i64) -> Result<Proposal> {
    let caller = view.caller();
    require_person(view, "revert")?;
    complete_pending_changes(view)?;
    let row = find(view, number)?;
    if row.state != State::Approved || row.kind != Kind::File {
        return Err(Error::NotReverted { number, state: row.state.as_str(), kind: row.kind_name() });
    }
    let mut held = change::lock(view)?;
    let path = row.path()?;
    let change = Change { path: path.clone(), before: row.proposed.clone(), after: row.base.clone() };
    held.commit(&format!("revert {number}"), &[change], |tx| {
        let sql = "UPDATE proposals SET state = 'reverted' WHERE number = $1 AND state = 'approved'";
        if tx.run(sql, [number])? == 0 {
            return Err(Error::NotReverted { number, state: "reverted", kind: "file" });
        }
        record(tx, caller, "revert", number, size(row.base.as_deref()), audit::Outcome::Done)
    })?;
    drop(held);
    let delta = change::char_delta(row.proposed.as_deref(), row.base.as_deref());
    view.tell_write("file", path.as_str(), delta);
    let mut reverted = find(view, number)?.into_proposal(view)?;
    reverted.diff = Diff::new(&row.target, row.proposed.as_deref(), row.base.as_deref());
    Ok(reverted)
}

fn require_person(view: &View<'_>, what: &'static str) -> Result<()> {
    let caller = view.caller();
    if caller.role == Role::Skill {
        return Err(Error::RoleDenied { tool: what.into(), role: caller.role.as_str() });
    }
    match caller.actor {
        Actor::Person => view.rights().need(MemberRole::Reviewer),
        Actor::Agent | Actor::Nacre => Err(Error::PersonOnly { what }),
    }
}

/// Completes the file changes of a process that died. A reader leaves this to the writers.
fn complete_pending_changes(view: &mut View<'_>) -> Result<()> {
    if view.rights().may(MemberRole::Writer) && view.read_all(change::has_pending_changes)? {
        drop(change::lock(view)?);
    }
    Ok(())
}

/// Runs an approved call. The arguments are the view of the agent that proposed it, the person who approved
/// it, the tool, its arguments, and the proposal's number.
pub(crate) type RunCall = fn(&mut View<'_>, &Caller, &str, Value, i64) -> Result<()>;

/// Applies a pending proposal. Of two concurrent decisions the second one fails.
fn apply_pending(view: &mut View<'_>, number: i64, run: RunCall) -> Result<Proposal> {
    let row = find(view, number)?;
    row.check_pending()?;
    match row.kind {
        Kind::Call => run_call(view, &row, run)?,
        Kind::File => apply(view, number)?,
    }
    find(view, number)?.into_proposal(view)
}

fn apply(view: &mut View<'_>, number: i64) -> Result<()> {
    let caller = view.caller();
    let mut held = change::lock(view)?;
    // Another process may have rebased or decided it while this one waited for the lock.
    let row = find(&held.view, number)?;
    row.check_pending()?;
    let path = row.path()?;
    let now = held.read(&path)?;
    let mut change = Change { path: path.clone(), before: row.base.clone(), after: row.proposed.clone() };
    let joined = appended(&row, now.as_deref());
    if let Some(joined) = &joined {
        (change.before, change.after) = (now.clone(), Some(joined.clone()));
    }
    let changes = if now == row.proposed { Vec::new() } else { vec![change] };
    let done = held.commit(&format!("proposal {number}"), &changes, |tx| {
        if let Some(joined) = &joined {
            let sql = "UPDATE proposals SET base = $2, proposed = $3 WHERE number = $1 AND state = 'pending'";
            tx.run(sql, (number, &now, joined))?;
        }
        mark_approved(tx, caller, number)?;
        record(tx, caller, "approve", number, size(row.proposed.as_deref()), audit::Outcome::Done)
    });
    drop(held);
    match done {
        Err(Error::FileChanged { .. }) => {
            view.write(|tx| {
                record(tx, caller, "approve", number, size(row.proposed.as_deref()), audit::Outcome::Refused)
            })?;
            let now = row.path().and_then(|path| view.files().read(&path, MAX_FILE_BYTES + 1));
            Err(row.conflict(now.ok().flatten().as_deref()))
        }
        done => {
            done?;
            let delta = change::char_delta(row.base.as_deref(), row.proposed.as_deref());
            view.tell_write("file", path.as_str(), delta);
            Ok(())
        }
    }
}

/// Joins two additions to the end of a file: the proposed one goes behind what was added to the file since it was proposed.
/// `None`: one of the two is more than an addition, or nothing was added.
fn appended(row: &ProposalRow, now: Option<&[u8]>) -> Option<Vec<u8>> {
    let (base, now) = (row.base.as_deref()?, now?);
    let added = row.proposed.as_deref()?.strip_prefix(base)?;
    let since = now.strip_prefix(base)?;
    if since.is_empty() || added.is_empty() || since == added {
        return None;
    }
    // The proposal ended the last line of the file if nobody had; by now somebody has.
    let added = if now.ends_with(b"\n") { added.strip_prefix(b"\n").unwrap_or(added) } else { added };
    Some([now, added].concat())
}

/// Runs a call as the agent that proposed it, not as the person who approves it.
fn run_call(view: &mut View<'_>, row: &ProposalRow, run: RunCall) -> Result<()> {
    let caller = view.caller();
    let session: SessionId = row.session.parse()?;
    let visibility = if row.private { Visibility::Private } else { Visibility::Shared };
    let agent = Caller { visibility, ..Caller::agent(session, caller.now) };
    let arguments = serde_json::from_slice(row.proposed.as_deref().unwrap_or_default())?;
    run(&mut view.enter(&agent)?, caller, &row.target, arguments, row.number)
}

/// Removes the texts of a deleted entry from every proposal that stored it or would have stored it. Decided
/// proposals keep their decision; pending ones become denied. `texts` are the hashes of all contents the
/// entry ever had. Returns whether any proposal was changed.
pub(crate) fn forget(db: &Connection, schema: &str, texts: &[String]) -> Result<bool> {
    let sql = format!(
        "SELECT number, proposed, base FROM {schema}.proposals WHERE kind = 'call' AND proposed IS NOT NULL"
    );
    let (mut found, mut lost): (Vec<i64>, Vec<i64>) = Default::default();
    let is_gone = |text: &str| texts.contains(&entry::content_hash(text));
    db.each(&sql, (), |row| {
        let arguments: Value = serde_json::from_slice(row.bytes(1)?).unwrap_or_default();
        // `content` is the text of an entry, `text` that of a lesson.
        let said = ["content", "text"].iter().filter_map(|field| arguments[*field].as_str());
        let base: Option<Vec<u8>> = row.get(2)?;
        if said.into_iter().any(is_gone) {
            found.push(row.get(0)?);
        } else if base.is_some_and(|base| is_gone(&String::from_utf8_lossy(&base))) {
            lost.push(row.get(0)?);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let sql = format!(
        "UPDATE {schema}.proposals SET proposed = NULL, base = NULL, reason = '', sources = '[]',
            answer = CASE state WHEN 'pending' THEN 'what it would have stored was deleted' ELSE '' END,
            state = CASE state WHEN 'pending' THEN 'denied' ELSE state END WHERE number = $1"
    );
    for number in &found {
        db.run(&sql, [number])?;
    }
    // The text that a call would delete or replace is only shown. Approving the call reports that the entry is gone.
    for number in &lost {
        db.run(&format!("UPDATE {schema}.proposals SET base = NULL WHERE number = $1"), [number])?;
    }
    Ok(!(found.is_empty() && lost.is_empty()))
}

/// Marks a proposal as approved, in the transaction that applies it.
pub(crate) fn mark_approved(tx: &Connection, caller: &Caller, number: i64) -> Result<()> {
    mark_decided(tx, caller, number, State::Approved, "")
}

fn mark_decided(tx: &Connection, caller: &Caller, number: i64, state: State, answer: &str) -> Result<()> {
    let sql = "UPDATE proposals SET state = $2, decided_at = $3, decided_by = $4, answer = $5
        WHERE number = $1 AND state = 'pending'";
    if tx.run(sql, (number, state.as_str(), caller.now, &caller.session, answer))? == 1 {
        return Ok(());
    }
    let state = tx.row("SELECT state FROM proposals WHERE number = $1", [number], |row| row.get(0))?;
    Err(state.map_or(Error::NoProposal { number }, |state| Error::AlreadyDecided { number, state }))
}

fn mark_denied(view: &mut View<'_>, number: i64, reason: &str) -> Result<Proposal> {
    let caller = view.caller();
    let row = find(view, number)?;
    let reason: String = reason.chars().take(MAX_REASON_CHARS).collect();
    view.write(|tx| {
        mark_decided(tx, caller, number, State::Denied, &reason)?;
        record(tx, caller, "deny", number, size(row.proposed.as_deref()), audit::Outcome::Done)
    })?;
    find(view, number)?.into_proposal(view)
}

fn record(
    db: &Connection,
    caller: &Caller,
    action: &str,
    number: i64,
    bytes: usize,
    outcome: audit::Outcome,
) -> Result<()> {
    audit::append(
        db,
        caller,
        &audit::Row::new(action).id(&format!("proposal:{number}")).with("bytes", bytes),
        outcome,
    )
}

fn size(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(0, <[u8]>::len)
}

/// Returns the diff of a proposal.
fn diff_of(kind: Kind, target: &str, base: Option<&[u8]>, proposed: Option<&[u8]>) -> Diff {
    match kind {
        Kind::File => Diff::new(target, base, proposed),
        Kind::Call => {
            let arguments = serde_json::from_slice(proposed.unwrap_or_default()).unwrap_or(Value::Null);
            Diff::new(target, base, Some(policy::describe_call(target, &arguments).as_bytes()))
        }
    }
}

const COLUMNS: &str =
    "number, kind, target, base, proposed, reason, sources, state, private, actor, session, at, decided_at,
    answer, client";

/// A row of `proposals`.
struct ProposalRow {
    number: i64,
    kind: Kind,
    target: String,
    base: Option<Vec<u8>>,
    proposed: Option<Vec<u8>>,
    reason: String,
    sources: String,
    state: State,
    private: bool,
    actor: String,
    session: String,
    at: Time,
    decided_at: Option<Time>,
    answer: String,
    client: Option<String>,
}

fn read_row(row: &Row<'_>) -> Result<ProposalRow> {
    let (kind, state) = (row.text(1)?, row.text(7)?);
    Ok(ProposalRow {
        number: row.get(0)?,
        kind: if kind == "call" { Kind::Call } else { Kind::File },
        target: row.get(2)?,
        base: row.get(3)?,
        proposed: row.get(4)?,
        reason: row.get(5)?,
        sources: row.get(6)?,
        // This version must not apply a state that another version wrote.
        state: State::of_name(state).unwrap_or(State::Denied),
        private: row.get(8)?,
        actor: row.get(9)?,
        session: row.get(10)?,
        at: row.get(11)?,
        decided_at: row.get(12)?,
        answer: row.get(13)?,
        client: row.get(14)?,
    })
}

/// Finds a proposal that the session can see.
fn find(view: &View<'_>, number: i64) -> Result<ProposalRow> {
    let sql = format!("SELECT {COLUMNS} FROM proposals WHERE number = $1");
    view.read(|db| db.row(&sql, [number], read_row))?.ok_or(Error::NoProposal { number })
}

impl ProposalRow {
    // The path is checked again: the database is a file that anything could have changed.
    fn path(&self) -> Result<FilePath> {
        self.target.parse()
    }

    fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::File => "file",
            Kind::Call => "call",
        }
    }

    fn check_pending(&self) -> Result<()> {
        match self.state {
            State::Pending => Ok(()),
            state => Err(Error::AlreadyDecided { number: self.number, state: state.as_str().into() }),
        }
    }

    fn conflict(&self, now: Option<&[u8]>) -> Error {
        let mergeable = self.is_mergeable(now);
        Error::ProposalConflict { number: self.number, path: self.target.clone(), mergeable }
    }

    /// Tells whether the proposal and the changes in the file since then can be merged.
    fn is_mergeable(&self, now: Option<&[u8]>) -> bool {
        let texts = (&self.base, now, &self.proposed);
        matches!(texts, (Some(base), Some(now), Some(proposed)) if diff::merge(base, now, proposed).is_some())
    }

    /// Returns the proposal with its diff and any conflict.
    fn into_proposal(self, view: &View<'_>) -> Result<Proposal> {
        let diff = diff_of(self.kind, &self.target, self.base.as_deref(), self.proposed.as_deref());
        let (mut since, mut mergeable) = (None, false);
        if self.kind == Kind::File && self.state == State::Pending {
            // A link or a folder at this path is a conflict too; applying the proposal reports it.
            let found = self.path().and_then(|path| view.files().read(&path, MAX_FILE_BYTES + 1));
            let now = found.as_ref().ok().and_then(Option::as_deref);
            let changed = now != self.base.as_deref() && now != self.proposed.as_deref();
            if found.is_err() || changed && appended(&self, now).is_none() {
                since = Some(Diff::new(&self.target, self.base.as_deref(), now));
                mergeable = self.is_mergeable(now);
            }
        }
        let (into, out) = diff.count();
        let mut sources: Vec<String> = serde_json::from_str(&self.sources).unwrap_or_default();
        let masked = |text: &str| redact::text(text).into_owned();
        sources.iter_mut().for_each(|source| *source = masked(source));
        Ok(Proposal {
            number: self.number,
            kind: self.kind,
            target: self.target,
            state: self.state,
            conflict: since.is_some(),
            lines: [into, out],
            reason: masked(&self.reason),
            sources,
            private: self.private,
            actor: self.actor,
            session: self.session,
            at: self.at,
            decided_at: self.decided_at,
            answer: masked(&self.answer),
            client: self.client,
            diff,
            since,
            mergeable,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Settings, files};
    use crate::tools::home::Home;

    #[test]
    fn a_proposal_took_out_a_line_that_was_saved_while_it_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let now = Time::from_millis(1_767_225_600_000);
        let mut group =
            Home::new(folder.path(), Settings::default()).group(&"main".parse().unwrap(), now).unwrap();
        let path: FilePath = "CORE.md".parse().unwrap();
        let file = group.folder().join("CORE.md");
        files::create_folder(group.folder()).unwrap();
        files::write_atomically(&file, b"- one\n").unwrap();
        let caller = Caller::nacre(now);
        let mut view = group.enter(&caller).unwrap();
        let mut held = change::lock(&mut view).unwrap();
        let before = held.read(&path).unwrap();
        // An editor is not stopped by the lock.
        files::write_atomically(&file, b"- one\n- two\n").unwrap();
        let change = Change { path, before, after: Some(b"- one\n- three\n".to_vec()) };
        let made = propose_file(&mut held, change, "", &[]).unwrap();
        assert!(!made.diff.contains("two"), "{}", made.diff);
        let [base, proposed] = texts(&held.view, made.number).unwrap();
        assert_eq!(base.as_deref(), Some(&b"- one\n"[..]));
        assert_eq!(proposed.as_deref(), Some(&b"- one\n- three\n"[..]));
    }
}
