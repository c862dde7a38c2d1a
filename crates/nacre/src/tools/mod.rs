//! The one way in and out (A2): parse, schema, authorise, limits, run, redact, audit.
//!
//! Everything outside arrives as a tool name and JSON arguments and leaves as an [`Answer`]. A tool gets a
//! `Call`: it can read, and it can write only through `Call::write`, which makes the write, its audit row
//! and its share of the limits one transaction.

mod access;
mod boot;
mod compat;
mod decide;
mod files;
mod graph;
mod handover;
pub(crate) mod home;
mod lesson;
mod limits;
pub mod maintain;
mod memory;
mod people;
mod project;
mod resource;
mod schema;
mod session;
pub(crate) mod settings;
pub mod spool;
pub mod status;
mod table;

use crate::base::redact;
use crate::store::audit;
use rusqlite::{Connection, Transaction};
use serde_json::{Map, Value};

use crate::base::Settings;
use crate::base::caller::Visibility;
use crate::base::ids::EntryRef;
use crate::base::text::nearest;
use crate::base::{Error, Result};
use crate::group::Group;
use crate::index::Scope;
use crate::records::entry::{Origin, Source};
use crate::records::graph::Cite;
use crate::records::workspace::checkpoint::{self, Gone};
use crate::records::workspace::policy::{self, Decision, Target};
use crate::records::workspace::{proposal, seen};
use crate::store::event::Event;

pub use crate::base::caller::{Actor, Caller, Role};
pub use crate::records::workspace::FileListed;
pub use crate::store::audit::Verified;
pub use access::call_across;
pub use boot::BootRequest;
pub use compat::{COMPAT_APIS, COMPAT_TOOLS, CompatApi, OWNERS};
pub use decide::{
    DecideRequest, Decided, ProposalRequest, ProposalShown, Proposals, ProposalsRequest, Verdict, answered,
    approve,
};
pub use files::{FileShown, Mode as WriteMode, WriteRequest, Written};
pub use graph::{
    AliasRequest, AliasSet, Entities, EntitiesRequest, EntityAct, EntityRequest, FactRemoveRequest,
    FactRequest, FactSet, Facts, FactsRequest, GraphRequest, Joined, RelationAdded, RelationEndRequest,
    RelationRequest, Relations, RelationsRequest, RuleRequest, Rules,
};
pub use handover::{Handed, Handover, HandoverRequest, Payload};
pub use lesson::{LessonLearned, LessonRequest};
pub(crate) use limits::Action;
pub use memory::{
    BriefRequest, Changed, Collections, CollectionsRequest, DeleteRequest, Deleted, DemoteRequest,
    EntryWithPast, GetRequest, Got, QueryRequest, ReinforceRequest, SearchRequest, StoreRequest, Stored,
    UpdateRequest,
};
pub use people::{
    AuditRequest, AuditShown, FileRead, FileRequest, FileSaved, Files, FilesRequest, Health, HealthRequest,
    PictureRequest, PictureShown, SaveRequest, Week,
};
pub use project::{
    Items, ItemsRequest, TaskAct, TaskChanged, TaskRequest, TaskShown, TaskUpdateRequest, Tasks, TasksRequest,
};
pub use resource::{RESOURCES, Resource, has_workspace, resource, resources};
pub use session::{
    AppendRequest, CompactRequest, ContextRequest, EndRequest, FlushRequest, SessionRequest, SessionShown,
    Sessions, SessionsRequest,
};
pub use table::{TOOLS, Tool, tool};

/// The most bytes of a request that are read.
pub const MAX_REQUEST: usize = 4 << 20;
/// How deep a request may be nested.
pub const MAX_DEPTH: usize = 64;

/// What a tool does to the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Neither reads nor writes.
    Nothing,
    /// Only reads.
    Read,
    /// Adds, or changes what can be seen again in the history.
    Write,
    /// Takes away for good.
    Destroy,
}

/// What comes back: data for programs, and a compact text of the same for a model.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The answer, in the shape of the tool's output schema.
    pub data: Value,
    /// The answer in few words.
    pub text: String,
}

/// Reads the arguments of a call from bytes that may hold anything.
pub fn parse(bytes: &[u8]) -> Result<Value> {
    if bytes.len() > MAX_REQUEST {
        return Err(Error::RequestTooLarge { size: bytes.len(), limit: MAX_REQUEST });
    }
    let text =
        std::str::from_utf8(bytes).map_err(|problem| Error::NotJson { problem: problem.to_string() })?;
    if deepest(text) > MAX_DEPTH {
        return Err(Error::RequestTooDeep { limit: MAX_DEPTH });
    }
    serde_json::from_str(text).map_err(|problem| Error::NotJson { problem: problem.to_string() })
}

/// The deepest nesting of a JSON text, counted without parsing it.
fn deepest(text: &str) -> usize {
    let (mut depth, mut most) = (0usize, 0usize);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                most = most.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// Calls a tool.
pub fn call(group: &mut Group, caller: &Caller, name: &str, arguments: Value) -> Result<Answer> {
    let Some(tool) = tool(name) else {
        let near = nearest(name, TOOLS.iter().map(|tool| tool.name));
        return Err(Error::UnknownTool { given: crate::base::text::shorten(name), nearest: near });
    };
    group.begin(caller)?;
    let answer = attempt(group, caller, tool, arguments);
    if let Err(error) = &answer
        && tool.access != Access::Read
    {
        group.record_refusal(caller, tool.name, error);
    }
    let mut answer = answer?;
    redact::answer(&mut answer.data, &mut answer.text);
    Ok(answer)
}

fn attempt(group: &mut Group, caller: &Caller, tool: &'static Tool, arguments: Value) -> Result<Answer> {
    let mut arguments = schema::check(tool, &group.settings().clone(), arguments)?;
    if !access::may(caller.role, tool) {
        return Err(Error::RoleDenied { tool: tool.name.into(), role: caller.role.as_str() });
    }
    access::own_group(group, &mut arguments)?;
    if caller.visibility == Visibility::Shared && tool.whole {
        return Err(Error::NeedsPrivate { tool: tool.name.into() });
    }
    if tool.people && caller.actor == Actor::Agent {
        return Err(Error::PeopleOnly { tool: tool.name.into() });
    }
    if caller.actor == Actor::Agent && !tool.is_offered(group.settings()) {
        let profile = group.settings().profile.clone();
        return Err(Error::NotOffered { tool: tool.name.into(), profile });
    }
    gate(group, caller, tool, arguments)
}

/// Runs a tool that the caller may use: reads at once, writes as the policy has it (W5).
fn gate(group: &mut Group, caller: &Caller, tool: &'static Tool, arguments: Value) -> Result<Answer> {
    let decision = match target(group, tool, caller, &arguments) {
        Some(target) => policy::decide(target, caller, group.settings())?,
        None => Decision::Apply,
    };
    if decision == Decision::Apply {
        return (tool.run)(&mut Call { group, caller, tool, mode: Mode::Run, marked: false }, arguments);
    }
    // What could not be done, or would change nothing, is not for a person to decide about.
    match (tool.run)(&mut Call { group, caller, tool, mode: Mode::Try, marked: false }, arguments.clone()) {
        Err(Error::Waits) => Ok(files::waiting(&proposal::make_call(group, caller, tool.name, &arguments)?)),
        tried => tried,
    }
}

/// What a call of a tool is about to change; `None`: nothing, or what the tool itself decides about.
fn target(group: &Group, tool: &Tool, caller: &Caller, arguments: &Value) -> Option<Target<'static>> {
    if !matches!(tool.access, Access::Write | Access::Destroy) || tool.decides {
        return None;
    }
    // Only of an untrusted session it matters.
    Some(Target::Entries { behavioral: caller.untrusted && (tool.steers)(group, arguments) })
}

/// Runs a call that a person approved, as the agent that proposed it. The proposal is marked in the transaction of what
/// it does: both or neither.
pub(crate) fn run_approved(
    group: &mut Group,
    agent: &Caller,
    by: &Caller,
    name: &str,
    arguments: Value,
    number: i64,
) -> Result<()> {
    let Some(tool) = tool(name) else {
        return Err(Error::UnknownTool { given: crate::base::text::shorten(name), nearest: None });
    };
    let arguments = schema::check(tool, &group.settings().clone(), arguments)?;
    group.begin(agent)?;
    (tool.run)(
        &mut Call { group, caller: agent, tool, mode: Mode::Approved { number, by }, marked: false },
        arguments,
    )?;
    // One that turned out to change nothing is done as well.
    match group.write(by.now, |tx| proposal::approved(tx, by, number)) {
        Err(Error::AlreadyDecided { .. }) => Ok(()),
        marked => marked,
    }
}

/// A call under way: what a tool may use.
pub(crate) struct Call<'a> {
    group: &'a mut Group,
    pub(crate) caller: &'a Caller,
    tool: &'static Tool,
    mode: Mode<'a>,
    /// Whether it has written.
    marked: bool,
}

/// What becomes of what a tool writes.
#[derive(Clone, Copy)]
enum Mode<'a> {
    /// It is done.
    Run,
    /// It is undone at once: only whether it could be done is asked.
    Try,
    /// It is done as proposal `number`, which this person approved.
    Approved { number: i64, by: &'a Caller },
}

impl Call<'_> {
    pub(crate) fn settings(&self) -> &Settings {
        self.group.settings()
    }

    /// Reads one consistent state.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.group.read(work)
    }

    /// Leaves out what the session does not see of the lines that say something.
    pub(crate) fn seen_cites(&self, cites: Vec<Cite>) -> Result<Vec<Cite>> {
        match self.caller.visibility {
            Visibility::Private => Ok(cites),
            Visibility::Shared => self.read(|db| crate::records::graph::seen_cites(db, cites)),
        }
    }

    /// Refuses an entry that the session does not see as if it were not there.
    pub(crate) fn check_seen(&self, named: &EntryRef) -> Result<()> {
        match self.caller.visibility {
            Visibility::Private => Ok(()),
            Visibility::Shared => self.read(|db| crate::records::entry::get(db, named).map(drop)),
        }
    }

    /// Writes, with the audit row and the limits in the same transaction.
    pub(crate) fn write<T>(&mut self, work: impl FnOnce(&mut Write<'_>) -> Result<T>) -> Result<T> {
        let (caller, name, settings) =
            (self.caller, self.group.name().clone(), self.group.settings().clone());
        let source = match caller.actor {
            Actor::Person | Actor::Nacre => Source::Person,
            Actor::Agent => Source::Agent,
        };
        let row = audit::Row::new(self.tool.name);
        let (mode, marked) = (self.mode, self.marked);
        self.group.write_as_seen(caller.now)?;
        let mut unchanged = None;
        let written = self.group.write(caller.now, |tx| {
            let Caller { now, session, visibility, .. } = caller;
            let (now, visibility) = (*now, *visibility);
            let origin = Origin { now, group: &name, session, source, visibility };
            let refuses = !matches!(mode, Mode::Approved { .. });
            let mut write =
                Write { db: tx, origin, caller, settings: &settings, row, changed: true, refuses };
            let value = work(&mut write)?;
            match mode {
                Mode::Run => {}
                Mode::Try => {
                    if !write.changed {
                        unchanged = Some(value);
                    }
                    return Err(Error::Waits);
                }
                // A tool that writes twice is marked by the first.
                Mode::Approved { number, by } => match proposal::approved(tx, by, number) {
                    Err(Error::AlreadyDecided { .. }) if marked => {}
                    done => done?,
                },
            }
            if write.changed {
                audit::append(tx, caller, &write.row, audit::Outcome::Done)?;
            }
            Ok(value)
        });
        if let Some(value) = unchanged {
            return Ok(value);
        }
        self.marked |= written.is_ok();
        written
    }

    /// Brings the documents up to date where the scope has them. Returns the scope that can be searched, and
    /// what is missing from it.
    pub(crate) fn follow_documents(&mut self, mut scope: Vec<Scope>) -> (Vec<Scope>, Option<String>) {
        if !scope.contains(&Scope::Memory) {
            return (scope, None);
        }
        if self.settings().documents.index {
            return (scope, self.group.follow(self.caller));
        }
        scope.retain(|scope| *scope != Scope::Memory);
        let missing = scope.is_empty().then(|| "memory: `documents.index` is off".to_owned());
        (scope, missing)
    }

    /// Marks the session where it is shown what a host may want to know of (W10), and says so where it is new.
    pub(crate) fn note_seen(&mut self, shown: &[(&str, usize)]) -> bool {
        let shown = shown.iter().copied().filter(|(path, _)| seen::is_infrastructure(path));
        let shown: Vec<(&str, usize)> = shown.collect();
        for (path, size) in &shown {
            let [kind, path] = [("type", "file".into()), ("path", (*path).into())];
            let [size, mark] = [("size", (*size).into()), ("infrastructure", true.into())];
            self.tell("memory:read", crate::store::event::payload([kind, path, size, mark]));
        }
        seen::note(self.group, self.caller, shown.into_iter().map(|(path, _)| path))
    }

    /// Tells what happened. Nothing hears of it that was not committed.
    pub(crate) fn tell(&mut self, name: &'static str, data: Map<String, Value>) {
        let event = Event {
            name,
            at: self.caller.now,
            group: self.group.name().clone(),
            session: self.caller.session.clone(),
            data,
        };
        self.group.tell(&event);
    }

    /// Takes what was deleted for good out of the checkpoints too (E4). Returns those that still have it, and why.
    pub(crate) fn forget_in_checkpoints(&mut self, gone: &[Gone]) -> Vec<String> {
        match checkpoint::forget(self.group, self.caller.now, gone) {
            Ok(left) => left.into_iter().map(|note| format!("{}: {}", note.path, note.why)).collect(),
            Err(error) => vec![format!("all of them: {error}")],
        }
    }

    pub(crate) fn group(&mut self) -> &mut Group {
        self.group
    }
}

/// A write under way.
pub(crate) struct Write<'t> {
    pub(crate) db: &'t Transaction<'t>,
    pub(crate) origin: Origin<'t>,
    caller: &'t Caller,
    settings: &'t Settings,
    row: audit::Row,
    changed: bool,
    /// Whether a limit that is used up refuses the write.
    refuses: bool,
}

impl Write<'_> {
    /// Uses up one of the session's calls of this kind, or refuses (E7). What a person approved is counted all the same.
    pub(crate) fn spend(&self, action: Action) -> Result<()> {
        match limits::spend(self.db, self.caller, self.settings, action) {
            Err(Error::SessionLimit { .. }) if !self.refuses => Ok(()),
            spent => spent,
        }
    }

    /// Names what was written, for the audit row. Ids and sizes only.
    pub(crate) fn record(&mut self, id: &impl ToString, detail: &str, value: impl Into<Value>) {
        self.row.ids.push(id.to_string());
        self.row.detail.insert(detail.into(), value.into());
    }

    /// Says that nothing changed after all, so that there is nothing to record.
    pub(crate) fn unchanged(&mut self) {
        self.changed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_strings() {
        for (text, depth) in
            [("1", 0), ("[]", 1), (r#"{"a":[{}]}"#, 3), (r#""[[[""#, 0), (r#"["\"[[",[]]"#, 2), ("]]][", 1)]
        {
            assert_eq!(deepest(text), depth, "{text}");
        }
    }

    #[test]
    fn hostile_bytes_get_a_clear_error() {
        assert_eq!(parse(&[b'['; 1000]).unwrap_err().code(), "request_too_deep");
        assert_eq!(parse(&vec![b' '; MAX_REQUEST + 1]).unwrap_err().code(), "request_too_large");
        assert_eq!(parse(b"{\"a\": \"\xff\"}").unwrap_err().code(), "not_json");
        assert_eq!(parse(b"{\"a\": ").unwrap_err().code(), "not_json");
    }
}
