//! Writes that wait for a person (W5).
//!
//! A proposal is a file as it would be, with the file it was made from, or a call of a tool. It is applied when a
//! person says so and only to the file it was made from; whatever else stands there by then is left, and shown as a
//! conflict. What was applied can be undone as long as nobody changed the file again.

use crate::base::named::named;
use crate::base::redact;
use crate::store::{Connection, Row};
use std::ops::ControlFlow;

use serde::Serialize;
use serde_json::Value;

use super::FilePath;
use super::change::{self, Change, Held, LARGEST};
use super::policy;
use crate::base::caller::Visibility;
use crate::base::caller::{Actor, Caller, Role};
use crate::base::diff::{self, Diff};
use crate::base::ids::SessionId;
use crate::base::settings::Accept;
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::records::entry;
use crate::store::audit;

/// The most characters of a reason that are kept.
const LONGEST_REASON: usize = 1_000;

/// A write that waits, or that was decided about.
#[derive(Clone, Debug, Serialize)]
pub struct Proposal {
    /// What it is called by.
    pub number: i64,
    /// Whether it changes a file or calls a tool.
    pub kind: Kind,
    /// The file within the group's folder, or the tool.
    pub target: String,
    /// Where it stands.
    pub state: State,
    /// Whether what it was made from is no longer there, so that it can't be applied as it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub conflict: bool,
    /// Lines that would come in and go out.
    pub lines: [usize; 2],
    /// Why, in the words of whoever proposed it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What it was made from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Whether shared sessions never see it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// Who proposed it: person or agent.
    pub actor: String,
    /// In which conversation.
    pub session: String,
    /// When.
    pub at: Time,
    /// When it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Time>,
    /// Why it was denied.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub answer: String,
    /// What a client said the person said, which is no decision: accept or decline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// What it changes, for people.
    #[serde(serialize_with = "as_text")]
    pub diff: Diff,
    /// What others changed since, where that is in the way.
    #[serde(serialize_with = "as_some_text", skip_serializing_if = "Option::is_none")]
    pub since: Option<Diff>,
    /// Whether both changes can be made one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mergeable: bool,
}

fn as_text<S: serde::Serializer>(diff: &Diff, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(diff)
}

fn as_some_text<S: serde::Serializer>(diff: &Option<Diff>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&diff.as_ref().map(ToString::to_string).unwrap_or_default())
}

/// What a proposal does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "what the words say")]
pub enum Kind {
    File,
    Call,
}

named! {
    /// Where a proposal stands.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    #[expect(missing_docs, reason = "what the words say")]
    pub enum State {
        Pending = "pending",
        Approved = "approved",
        Denied = "denied",
        Reverted = "reverted",
    }
}

/// What became of proposing something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) number: i64,
    /// Pending; or denied, where a person has refused the very same to this session.
    pub(crate) state: State,
    /// Why it was denied.
    pub(crate) answer: String,
    /// What it changes, for people and models.
    pub(crate) diff: String,
}

/// Proposes a change of a file. The same change again is the same proposal.
///
/// `before` is what the caller read and computed `after` from. The file is not read again: an editor may have saved it in
/// between, and the proposal would take out what was saved.
pub(crate) fn make(held: &mut Held<'_>, change: Change, reason: &str, sources: &[String]) -> Result<Made> {
    let Change { path, before: base, after } = change;
    if after.as_ref().is_some_and(|after| after.len() as u64 > LARGEST) {
        return Err(Error::FileTooLarge { path: path.to_string(), limit: LARGEST });
    }
    let rules = &held.view.settings().visibility.private;
    let seen = |bytes: &Option<Vec<u8>>| {
        Visibility::Shared.sees_file(rules, path.as_str(), bytes.as_deref().unwrap_or_default())
    };
    let private = !(seen(&base) && seen(&after));
    let draft =
        Draft { kind: Kind::File, target: path.as_str(), base, proposed: after, reason, sources, private };
    make_in(&mut held.view, draft)
}

/// Proposes a call of a tool. `lost` is the text that it would delete or replace.
pub(crate) fn make_call(
    view: &mut View<'_>,
    tool: &str,
    arguments: &Value,
    lost: Option<String>,
) -> Result<Made> {
    make_call_for(view, tool, arguments, lost, "", &[])
}

/// The same, with why and what it was made from.
pub(crate) fn make_call_for(
    view: &mut View<'_>,
    tool: &str,
    arguments: &Value,
    lost: Option<String>,
    reason: &str,
    sources: &[String],
) -> Result<Made> {
    let caller = view.caller();
    let proposed = Some(serde_json::to_vec(arguments)?);
    let private = caller.visibility.is_private();
    let base = lost.map(String::into_bytes);
    let draft = Draft { kind: Kind::Call, target: tool, base, proposed, reason, sources, private };
    make_in(view, draft)
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

fn make_in(view: &mut View<'_>, draft: Draft<'_>) -> Result<Made> {
    let caller = view.caller();
    if caller.role == Role::Skill {
        return Err(Error::RoleDenied { tool: "propose".into(), role: caller.role.as_str() });
    }
    let Draft { kind, target, base, proposed, reason, sources, private } = draft;
    let reason: String = reason.chars().take(LONGEST_REASON).collect();
    let sources = serde_json::to_string(sources)?;
    let limits = view.settings().limits.clone();
    let limit = if caller.untrusted { limits.untrusted.propose } else { limits.propose };
    let kind_name = if kind == Kind::File { "file" } else { "call" };
    let diff = shown(kind, target, base.as_deref(), proposed.as_deref()).to_string();
    let (number, state, answer, is_new) = view.write(|tx| {
        // What this session does not see it can't be told of either.
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
        let sql = "SELECT count(*) FROM proposals WHERE state = 'pending' AND session = $1";
        let waiting: u32 = tx.one(sql, [&caller.session], |row| row.get(0))?;
        if caller.actor == Actor::Agent && limit > 0 && waiting >= limit {
            return Err(Error::TooManyProposals { limit });
        }
        let sql = "INSERT INTO proposals (kind, target, base, proposed, reason, sources, state, private, actor, session, at)
            VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7, $8, $9, $10) RETURNING number";
        let Caller { session, now, .. } = caller;
        let fields =
            (kind_name, target, &base, &proposed, &reason, &sources, private, actor, session, now);
        let number: i64 = tx.one(sql, fields, |row| row.get(0))?;
        record(tx, caller, "propose", number, size(proposed.as_deref()), audit::Outcome::Done)?;
        Ok((number, "pending".to_owned(), String::new(), true))
    })?;
    if is_new {
        view.tell_write("proposal", target, change::grown(base.as_deref(), proposed.as_deref()));
    }
    let state = State::of_name(&state).unwrap_or(State::Pending);
    Ok(Made { number, state, answer, diff })
}

/// Proposes a change of a file for a person to look at, whatever the policy.
pub fn propose(
    view: &mut View<'_>,
    path: &FilePath,
    after: Option<Vec<u8>>,
    reason: &str,
) -> Result<Proposal> {
    let caller = view.caller();
    let mut held = change::hold(view)?;
    check_seen(&held, caller, path)?;
    let before = held.read(path)?;
    if before == after {
        return Err(Error::NothingToChange { path: path.to_string() });
    }
    let made = make(&mut held, Change { path: path.clone(), before, after }, reason, &[])?;
    drop(held);
    get(view, made.number)
}

/// Refuses a file that the session does not see: what is shown of a proposal would show it.
pub(crate) fn check_seen(held: &Held<'_>, caller: &Caller, path: &FilePath) -> Result<()> {
    let rules = &held.view.settings().visibility.private;
    let hidden = || Err(Error::HiddenFile { path: path.to_string() });
    if !caller.visibility.sees(rules, path.as_str(), "") {
        return hidden();
    }
    let bytes = held.read(path)?.unwrap_or_default();
    if caller.visibility.sees_file(rules, path.as_str(), &bytes) { Ok(()) } else { hidden() }
}

/// Lists proposals, the oldest first: those that wait, or all.
pub fn list(view: &mut View<'_>, all: bool) -> Result<Vec<Proposal>> {
    begin(view)?;
    let rows = view.read(|db| {
        let sql = format!("SELECT {COLUMNS} FROM proposals WHERE state = 'pending' OR $1 ORDER BY number");
        db.rows(&sql, [all], read_row)
    })?;
    rows.into_iter().map(|row| row.shown(view)).collect()
}

/// Returns one proposal.
pub fn get(view: &mut View<'_>, number: i64) -> Result<Proposal> {
    begin(view)?;
    find(view, number)?.shown(view)
}

/// Returns what a proposal was made from and what it proposes, whole.
pub(crate) fn texts(view: &View<'_>, number: i64) -> Result<[Option<Vec<u8>>; 2]> {
    find(view, number).map(|row| [row.base, row.proposed])
}

/// Applies a proposal. Only a person can.
pub(crate) fn approve(view: &mut View<'_>, number: i64, run: RunCall) -> Result<Proposal> {
    let caller = view.caller();
    person_only(caller, "approve")?;
    begin(view)?;
    decide_on(view, number, run)
}

/// Denies a proposal. Only a person can.
pub fn deny(view: &mut View<'_>, number: i64, reason: &str) -> Result<Proposal> {
    let caller = view.caller();
    person_only(caller, "deny")?;
    begin(view)?;
    refuse(view, number, reason)
}

/// Notes what a client says the person said about a proposal of this session. That is no proof of a person: it decides
/// only where `write.accept` says so.
pub(crate) fn answered(view: &mut View<'_>, number: i64, accepted: bool, run: RunCall) -> Result<Proposal> {
    let caller = view.caller();
    begin(view)?;
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
        if view.settings().write.accept == Accept::Client {
            return match accepted {
                true => decide_on(view, number, run),
                false => refuse(view, number, "declined in the client"),
            };
        }
    }
    find(view, number)?.shown(view)
}

/// Makes a proposal whose file was changed meanwhile one of the file as it is now, with both changes. It waits on.
pub fn rebase(view: &mut View<'_>, number: i64) -> Result<Proposal> {
    let caller = view.caller();
    person_only(caller, "rebase")?;
    begin(view)?;
    let mut held = change::hold(view)?;
    let row = find(&held.view, number)?;
    row.check_pending()?;
    let now = held.read(&row.path()?)?;
    let (Some(base), Some(now), Some(proposed)) = (&row.base, &now, &row.proposed) else {
        return Err(row.conflict());
    };
    let Some(merged) = diff::merge(base, now, proposed) else { return Err(row.conflict()) };
    held.view.write(|tx| {
        let sql = "UPDATE proposals SET base = $2, proposed = $3, client = NULL WHERE number = $1 AND state = 'pending'";
        tx.run(sql, (number, now, &merged))?;
        record(tx, caller, "rebase", number, size(Some(&merged)), audit::Outcome::Done)
    })?;
    drop(held);
    find(view, number)?.shown(view)
}

/// Undoes what a proposal did to its file, if the file is still as the proposal left it. Only a person can.
pub fn revert(view: &mut View<'_>, number: i64) -> Result<Proposal> {
    let caller = view.caller();
    person_only(caller, "revert")?;
    begin(view)?;
    let row = find(view, number)?;
    if row.state != State::Approved || row.kind != Kind::File {
        return Err(Error::NotReverted { number, state: row.state.as_str(), kind: row.kind_name() });
    }
    let mut held = change::hold(view)?;
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
    let delta = change::grown(row.proposed.as_deref(), row.base.as_deref());
    view.tell_write("file", path.as_str(), delta);
    find(view, number)?.shown(view)
}

fn person_only(caller: &Caller, what: &'static str) -> Result<()> {
    if caller.role == Role::Skill {
        return Err(Error::RoleDenied { tool: what.into(), role: caller.role.as_str() });
    }
    match caller.actor {
        Actor::Person => Ok(()),
        Actor::Agent | Actor::Nacre => Err(Error::PersonOnly { what }),
    }
}

/// Begins, and ends what a process began that died.
fn begin(view: &mut View<'_>) -> Result<()> {
    if view.read_all(change::is_unsettled)? {
        drop(change::hold(view)?);
    }
    Ok(())
}

/// Runs a call that a person approved: as which agent, approved by whom, the tool, its arguments, the proposal's number.
pub(crate) type RunCall = fn(&mut View<'_>, &Caller, &str, Value, i64) -> Result<()>;

/// Applies a proposal, once: whoever comes second finds it decided.
fn decide_on(view: &mut View<'_>, number: i64, run: RunCall) -> Result<Proposal> {
    let row = find(view, number)?;
    row.check_pending()?;
    match row.kind {
        Kind::Call => run_call(view, &row, run)?,
        Kind::File => apply(view, number)?,
    }
    find(view, number)?.shown(view)
}

fn apply(view: &mut View<'_>, number: i64) -> Result<()> {
    let caller = view.caller();
    let mut held = change::hold(view)?;
    // Another may have rebased or decided it while this one waited.
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
        approved(tx, caller, number)?;
        record(tx, caller, "approve", number, size(row.proposed.as_deref()), audit::Outcome::Done)
    });
    drop(held);
    match done {
        Err(Error::FileChanged { .. }) => {
            view.write(|tx| {
                record(tx, caller, "approve", number, size(row.proposed.as_deref()), audit::Outcome::Refused)
            })?;
            Err(row.conflict())
        }
        done => {
            done?;
            let delta = change::grown(row.base.as_deref(), row.proposed.as_deref());
            view.tell_write("file", path.as_str(), delta);
            Ok(())
        }
    }
}

/// Joins two additions to the end of a file: the proposed one goes behind what was added to the file since it was proposed.
/// `None`: one of the two is more than an addition, or nothing was added.
fn appended(row: &Stored, now: Option<&[u8]>) -> Option<Vec<u8>> {
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

/// Runs a call as the agent that proposed it, which may be of another time and session than who approves it.
fn run_call(view: &mut View<'_>, row: &Stored, run: RunCall) -> Result<()> {
    let caller = view.caller();
    let session: SessionId = row.session.parse()?;
    let visibility = if row.private { Visibility::Private } else { Visibility::Shared };
    let agent = Caller { visibility, ..Caller::agent(session, caller.now) };
    let arguments = serde_json::from_slice(row.proposed.as_deref().unwrap_or_default())?;
    run(&mut view.enter(&agent)?, caller, &row.target, arguments, row.number)
}

/// Takes what a deleted entry said out of every proposal that would have stored it, whatever became of that (E4): of
/// what was decided the decision stays, and what waits has nothing left to wait for. `texts` are all that it ever said,
/// folded. Tells whether there was any.
pub(crate) fn forget(db: &Connection, schema: &str, texts: &[String]) -> Result<bool> {
    let sql = format!(
        "SELECT number, proposed, base FROM {schema}.proposals WHERE kind = 'call' AND proposed IS NOT NULL"
    );
    let (mut found, mut lost): (Vec<i64>, Vec<i64>) = Default::default();
    let is_gone = |text: &str| texts.contains(&entry::folded(text));
    db.each(&sql, (), |row| {
        let arguments: Value = serde_json::from_slice(row.bytes(1)?).unwrap_or_default();
        // What it stores, or what a lesson is made from it.
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
    // What it would delete or replace is only shown: whoever decides is told that it is gone.
    for number in &lost {
        db.run(&format!("UPDATE {schema}.proposals SET base = NULL WHERE number = $1"), [number])?;
    }
    Ok(!(found.is_empty() && lost.is_empty()))
}

/// Marks a proposal as approved, in the transaction that does what it says.
pub(crate) fn approved(tx: &Connection, caller: &Caller, number: i64) -> Result<()> {
    decided(tx, caller, number, State::Approved, "")
}

fn decided(tx: &Connection, caller: &Caller, number: i64, state: State, answer: &str) -> Result<()> {
    let sql = "UPDATE proposals SET state = $2, decided_at = $3, decided_by = $4, answer = $5
        WHERE number = $1 AND state = 'pending'";
    if tx.run(sql, (number, state.as_str(), caller.now, &caller.session, answer))? == 1 {
        return Ok(());
    }
    let state = tx.row("SELECT state FROM proposals WHERE number = $1", [number], |row| row.get(0))?;
    Err(state.map_or(Error::NoProposal { number }, |state| Error::AlreadyDecided { number, state }))
}

fn refuse(view: &mut View<'_>, number: i64, reason: &str) -> Result<Proposal> {
    let caller = view.caller();
    let row = find(view, number)?;
    let reason: String = reason.chars().take(LONGEST_REASON).collect();
    view.write(|tx| {
        decided(tx, caller, number, State::Denied, &reason)?;
        record(tx, caller, "deny", number, size(row.proposed.as_deref()), audit::Outcome::Done)
    })?;
    find(view, number)?.shown(view)
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

/// What a proposal does, as it is shown.
fn shown(kind: Kind, target: &str, base: Option<&[u8]>, proposed: Option<&[u8]>) -> Diff {
    match kind {
        Kind::File => Diff::new(target, base, proposed),
        Kind::Call => {
            let arguments = serde_json::from_slice(proposed.unwrap_or_default()).unwrap_or(Value::Null);
            Diff::new(target, base, Some(policy::say_call(target, &arguments).as_bytes()))
        }
    }
}

const COLUMNS: &str =
    "number, kind, target, base, proposed, reason, sources, state, private, actor, session, at, decided_at,
    answer, client";

/// A row of the table.
struct Stored {
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

fn read_row(row: &Row<'_>) -> Result<Stored> {
    let (kind, state) = (row.text(1)?, row.text(7)?);
    Ok(Stored {
        number: row.get(0)?,
        kind: if kind == "call" { Kind::Call } else { Kind::File },
        target: row.get(2)?,
        base: row.get(3)?,
        proposed: row.get(4)?,
        reason: row.get(5)?,
        sources: row.get(6)?,
        // What another version may have put there is not for this one to apply.
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

/// Finds one that the session under way sees.
fn find(view: &View<'_>, number: i64) -> Result<Stored> {
    let sql = format!("SELECT {COLUMNS} FROM proposals WHERE number = $1");
    view.read(|db| db.row(&sql, [number], read_row))?.ok_or(Error::NoProposal { number })
}

impl Stored {
    /// The path, checked again: the database is a file like any other.
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

    fn conflict(&self) -> Error {
        Error::ProposalConflict { number: self.number, path: self.target.clone() }
    }

    /// Makes what is shown of it, with what stands in its way.
    fn shown(self, view: &View<'_>) -> Result<Proposal> {
        let diff = shown(self.kind, &self.target, self.base.as_deref(), self.proposed.as_deref());
        let (mut since, mut mergeable) = (None, false);
        if self.kind == Kind::File && self.state == State::Pending {
            // A link or a folder that stands there by now is in the way too; applying says what it is.
            let found = self.path().and_then(|path| view.files().read(&path, LARGEST + 1));
            let now = found.as_ref().ok().and_then(Option::as_deref);
            let changed = now != self.base.as_deref() && now != self.proposed.as_deref();
            if found.is_err() || changed && appended(&self, now).is_none() {
                since = Some(Diff::new(&self.target, self.base.as_deref(), now));
                if let (Some(base), Some(now), Some(proposed)) = (&self.base, now, &self.proposed) {
                    mergeable = diff::merge(base, now, proposed).is_some();
                }
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
