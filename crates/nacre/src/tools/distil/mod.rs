//! Distillation: stores what conversations contain that lasts, as the write policy decides.
//!
//! messages ▶ findings (rules, a program or a model) ▶ list of memories to store, with the messages marked as read, in one
//! transaction ▶ one `memory_store` each, on behalf of the conversation's agent. A second run reads only new messages. If it
//! is killed midway, the next run stores the rest of the list. A failure names its cause, and what was not read stays unread.

use serde::Serialize;
use serde_json::Value;

use super::call::{CallOptions, Form};
use super::memory::StoreRequest;
use super::perform::{Outcome, perform, tool_for};
use super::tool::{Access, Tool};
use crate::base::caller::{Caller, Visibility};
use crate::base::error::Kind as ErrorKind;
use crate::base::ids::{EntryRef, ProjectName, SessionId};
use crate::base::origin::RecordOrigin;
use crate::base::settings::{DistilBy, DistilMoment};
use crate::base::text::canonical;
use crate::base::{Error, Result, Settings};
use crate::context::distil::{
    self as find, Finding, INSTRUCTION, Kind, MAX_ANSWER_TOKENS, answer_schema, batches, read_answer,
};
use crate::group::View;
use crate::index::alike::{meaning, shared};
use crate::index::{self, Language};
use crate::records::distil::{self as rows, FoundMemory};
use crate::records::entry::{self, Ownership, Tags};
use crate::records::reader::{Reader, ReaderTask};
use crate::records::session::{self, IndexedMessage};
use crate::records::workspace::policy::{self, Target};
use crate::records::workspace::proposal::{self, State};
use crate::search::{self, NewStatement};
use crate::store::{Wait, audit};

pub use crate::records::distil::DistilState;

/// The most messages that rules read at once.
const MAX_MESSAGES: usize = 500;
/// The tag of a memory that was taken out of a conversation.
const TAG: &str = "distilled";

/// How a conversation is distilled.
#[derive(Clone, Copy, Debug, Default)]
pub struct DistilOptions {
    /// Who takes memories out of it; `None`: as the settings say.
    pub by: Option<DistilBy>,
    /// Whether messages that were read before are read again.
    pub again: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
}

/// The memories that were taken out of a conversation.
#[derive(Clone, Debug, Serialize)]
pub struct DistilReport {
    /// The session.
    pub session: String,
    /// Who took memories out of it: `rules`, `command`, or the name of a model.
    pub by: String,
    /// The number of messages that were read.
    pub messages: usize,
    /// The memories, in the order of the conversation.
    pub memories: Vec<DistilledMemory>,
    /// How many were remembered or proposed already, in the same words.
    pub same: usize,
    /// How many say no more than a memory that exists.
    pub similar: usize,
    /// How many were refused: they quote no message, or were deleted before.
    pub refused: usize,
    /// Why the rest of the session waits: a limit is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
}

/// A memory that was taken out of a conversation.
#[derive(Clone, Debug, Serialize)]
pub struct DistilledMemory {
    /// The message it was taken from, as SESSION/MESSAGE.
    pub message: String,
    /// Its kind: decision, correction, preference, instruction or fact.
    pub kind: String,
    /// Its text.
    pub content: String,
    /// The number of the stored memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
    /// The number of the proposal that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<i64>,
}

/// Returns the sessions that have something to read, oldest first.
pub fn unread(view: &View<'_>) -> Result<Vec<String>> {
    let seen = view.read(|db| db.rows("SELECT id FROM sessions", (), |row| row.get::<String>(0)))?;
    Ok(view.read_all(rows::unread)?.into_iter().filter(|id| seen.contains(id)).collect())
}

/// Distils a session, by its id or a unique beginning of it.
pub fn session(view: &mut View<'_>, given: &str, options: DistilOptions) -> Result<DistilReport> {
    let id: SessionId = view.read(|db| session::resolve(db, given))?.parse()?;
    let lock = if options.dry_run { None } else { view.lock("distil.lock", Wait::Yes)? };
    let report = run(view, &id, options);
    drop(lock);
    if !options.dry_run {
        note_attempt(view, &id, &report)?;
    }
    report
}

/// Distils a session if the settings say so for this moment. A failure is returned as a note and shown by `nacre status`.
pub(super) fn at_moment(view: &mut View<'_>, id: &SessionId, moment: DistilMoment) -> Option<String> {
    if !is_wanted(view, moment) {
        return None;
    }
    let says = |done: Result<DistilReport>| match done {
        Ok(DistilReport { waits: Some(limit), .. }) => {
            Some(format!("the rest of the session waits to be distilled: {limit}"))
        }
        Ok(report) if report.memories.is_empty() => None,
        Ok(report) => Some(format!("{} memories were distilled", report.memories.len())),
        Err(problem) => Some(format!("the session was not distilled: {problem}")),
    };
    match view.lock("distil.lock", Wait::No) {
        Ok(Some(_lock)) => {
            let done = run(view, id, DistilOptions::default());
            let noted = note_attempt(view, id, &done);
            says(noted.and(done))
        }
        // Another process reads this group now. The session is read next time.
        Ok(None) => mark(view, id, moment).err().map(|problem| problem.to_string()),
        Err(problem) => says(Err(problem)),
    }
}

/// Returns the request to an agent to store what the person just said, if the settings want that and the message has something
/// that lasts.
pub fn request(settings: &Settings, message: &str) -> Option<String> {
    if settings.distil.by != DistilBy::Agent || settings.distil.at.is_empty() {
        return None;
    }
    let tools = settings.store_tools()?;
    let found = find::lasting(message);
    let said: Vec<String> =
        found.iter().map(|(kind, text)| format!("- {} ({})", text, kind.as_str())).collect();
    (!said.is_empty()).then(|| {
        format!(
            "The user's message seems to say something that should be remembered:\n{}\nIf it lasts beyond this task and is not stored \
             yet, store it with {tools}, as one self-contained statement each.",
            said.join("\n")
        )
    })
}

/// Notes that a session is to be distilled, if the settings say so for this moment. [`run_due`] does it.
pub(super) fn mark(view: &mut View<'_>, id: &SessionId, moment: DistilMoment) -> Result<()> {
    if !is_wanted(view, moment) {
        return Ok(());
    }
    let now = view.caller().now;
    view.write(|tx| rows::mark_due(tx, id, now))
}

fn is_wanted(view: &View<'_>, moment: DistilMoment) -> bool {
    let settings = &view.settings().distil;
    settings.at.contains(&moment) && settings.by != DistilBy::Agent
}

/// Distils the sessions that are due. Returns how many, and the first problem.
pub fn run_due(view: &mut View<'_>) -> Result<(usize, Option<Error>)> {
    if !view.is_on_disk() {
        return Ok((0, None));
    }
    let due = view.read_all(rows::due)?;
    let Some(_lock) = (if due.is_empty() { None } else { view.lock("distil.lock", Wait::No)? }) else {
        return Ok((0, None));
    };
    let (mut done, mut problem) = (0, None);
    for id in due {
        let id: SessionId = id.parse()?;
        let report = run(view, &id, DistilOptions::default());
        note_attempt(view, &id, &report)?;
        match report {
            Ok(_) => done += 1,
            // Another conversation may get a better answer.
            Err(error @ Error::DistilAnswer { .. }) => problem = Some(error),
            // The next session would fail the same way.
            Err(error) => {
                problem = Some(error);
                break;
            }
        }
    }
    Ok((done, problem))
}

fn note_attempt(view: &mut View<'_>, id: &SessionId, done: &Result<DistilReport>) -> Result<()> {
    let now = view.caller().now;
    let problem = match done {
        Ok(report) => report.waits.clone(),
        Err(error) => Some(error.to_string()),
    };
    view.write(|tx| rows::attempted(tx, id.as_str(), now, problem.as_deref()))
}

fn run(view: &mut View<'_>, id: &SessionId, options: DistilOptions) -> Result<DistilReport> {
    let by = options.by.unwrap_or(view.settings().distil.by);
    let reader = reader(view, by)?;
    let about = Conversation::of(view, id)?;
    policy::decide(Target::Entries { guarded: false }, &about.caller, view.rights(), view.settings())?;
    let name = reader.as_ref().map_or("rules", |reader| reader.name().trim_matches('`')).to_owned();
    let mut report = DistilReport {
        session: id.to_string(),
        by: name,
        messages: 0,
        memories: Vec::new(),
        same: 0,
        similar: 0,
        refused: 0,
        waits: None,
    };
    if options.again && !options.dry_run {
        view.write(|tx| rows::read_again(tx, id.as_str()))?;
    }
    if !options.dry_run {
        about.store_waiting(view, &mut report)?;
    }
    while report.waits.is_none() {
        let limit = if options.dry_run { usize::MAX } else { MAX_MESSAGES };
        let messages = view.read_all(|db| session::undistilled(db, id.as_str(), limit))?;
        if messages.is_empty() {
            break;
        }
        match &reader {
            None => about.take(view, &messages, find::find(&messages), options, &mut report)?,
            Some(reader) => {
                for batch in batches(&messages) {
                    let answer = reader.read(view, &batch.text)?;
                    let bad = |problem| Error::DistilAnswer { by: reader.name().to_owned(), problem };
                    let accepted = read_answer(&batch, &answer).map_err(bad)?;
                    report.refused += accepted.refused;
                    about.take(view, batch.messages, accepted.found, options, &mut report)?;
                    if report.waits.is_some() {
                        break;
                    }
                }
            }
        }
        if options.dry_run {
            break;
        }
    }
    Ok(report)
}

/// Returns the program or model that takes memories out of a conversation; `None`: rules do.
fn reader(view: &View<'_>, by: DistilBy) -> Result<Option<Reader>> {
    let task = ReaderTask {
        instruction: INSTRUCTION,
        schema: answer_schema,
        max_answer_tokens: MAX_ANSWER_TOKENS,
        failed: |by, problem| Error::DistilFailed { by, problem },
    };
    let reader = match by {
        DistilBy::Rules => return Ok(None),
        DistilBy::Agent => Err("hooks ask the agent while the conversation goes on"),
        DistilBy::Command => Reader::program(view, task),
        DistilBy::Llm => Reader::model(view, task),
    };
    reader.map(Some).map_err(|problem| Error::DistilBy { by: by.as_str(), problem })
}

/// The conversation, and its agent, on whose behalf memories are stored.
struct Conversation {
    caller: Caller,
    project: Option<ProjectName>,
}

impl Conversation {
    fn of(view: &View<'_>, id: &SessionId) -> Result<Conversation> {
        let (origin, private, project) = view.read_all(|db| {
            let projects = session::projects(db)?;
            let origin = session::origin(db, id)?.unwrap_or_default();
            Ok((origin, session::is_private(db, id)?, projects.get(id.as_str()).cloned()))
        })?;
        let caller = view.caller();
        let visibility = if private { Visibility::Private } else { Visibility::Shared };
        let untrusted = origin == RecordOrigin::Untrusted;
        let agent = Caller::agent(id.clone(), caller.now);
        Ok(Conversation {
            caller: Caller { visibility, untrusted, zone: caller.zone.clone(), ..agent },
            project,
        })
    }

    /// Records the memories of messages that were read, and stores them.
    fn take(
        &self,
        view: &mut View<'_>,
        messages: &[IndexedMessage],
        found: Vec<Finding>,
        options: DistilOptions,
        report: &mut DistilReport,
    ) -> Result<()> {
        let mut references: Vec<&str> = messages.iter().map(|message| message.reference.as_str()).collect();
        references.dedup();
        report.messages += references.len();
        if options.dry_run {
            return self.preview(view, found, report);
        }
        let rows: Vec<(String, &str, String)> =
            found.into_iter().map(|one| (one.message, one.kind.as_str(), one.text)).collect();
        let caller = &self.caller;
        view.write(|tx| {
            rows::record(tx, caller.session.as_str(), &references, &rows)?;
            let row = audit::Row::new("distil").with("messages", references.len()).with("found", rows.len());
            row.append(tx, caller)
        })?;
        self.store_waiting(view, report)
    }

    /// Adds to the report what would be stored.
    fn preview(&self, view: &View<'_>, found: Vec<Finding>, report: &mut DistilReport) -> Result<()> {
        for Finding { message, kind, text: content } in found {
            match self.known(view, &content)? {
                Some(Repetition::Same) => report.same += 1,
                Some(Repetition::Similar) => report.similar += 1,
                None => {
                    let kind = kind.as_str().to_owned();
                    report.memories.push(DistilledMemory {
                        message,
                        kind,
                        content,
                        number: None,
                        proposal: None,
                    });
                }
            }
        }
        Ok(())
    }

    /// Stores the memories that wait, one after the other.
    fn store_waiting(&self, view: &mut View<'_>, report: &mut DistilReport) -> Result<()> {
        let id = self.caller.session.clone();
        for memory in view.read_all(|db| rows::waiting(db, id.as_str()))? {
            match self.known(view, &memory.content)? {
                Some(Repetition::Same) => report.same += 1,
                Some(Repetition::Similar) => report.similar += 1,
                None => match self.store(view, &memory) {
                    Ok(Some(stored)) => report.memories.push(stored),
                    Ok(None) => report.same += 1,
                    // A limit of this session: the other sessions are read.
                    Err(error) if error.kind() == ErrorKind::Limit => {
                        report.waits = Some(error.to_string());
                        return Ok(());
                    }
                    // A person has to act, or it may work later: the memory waits.
                    Err(error)
                        if matches!(
                            error.kind(),
                            ErrorKind::Denied | ErrorKind::Unavailable | ErrorKind::Internal
                        ) && error.code() != "deleted_text" =>
                    {
                        return Err(error);
                    }
                    Err(_) => report.refused += 1,
                },
            }
            view.write(|tx| rows::settled(tx, id.as_str(), memory.place))?;
        }
        Ok(())
    }

    /// Stores a memory, or proposes it. Returns `None` if it was there, or was denied before.
    fn store(&self, view: &mut View<'_>, memory: &FoundMemory) -> Result<Option<DistilledMemory>> {
        static STORE: Tool = tool_for::<StoreRequest>(Access::Write, true);
        let FoundMemory { message, kind, content, .. } = memory.clone();
        let known = Kind::of_name(&kind).unwrap_or(Kind::Fact);
        let tags = match known {
            Kind::Decision => Tags::new([TAG, kind.as_str()]),
            _ => Tags::new([TAG]),
        };
        let request = StoreRequest {
            content: content.clone(),
            r#type: Some(known.entry_type()),
            tags,
            supersedes: None,
            private: Some(self.caller.visibility.is_private()),
            project: self.project.clone(),
            narrative_id: None,
            task_id: None,
            cites: Some(message.clone()),
        };
        // The limits stop an agent that writes too much. A stranger's text is limited here too.
        let counts = self.caller.untrusted;
        let options =
            CallOptions { approved: None, run_approved: approves_nothing, form: Form::Whole, counts };
        let stored = |number, proposal| Some(DistilledMemory { message, kind, content, number, proposal });
        Ok(match perform(&mut view.enter(&self.caller)?, &STORE, request, options)? {
            Outcome::Done(answer) if answer.duplicate_of.is_some() => None,
            Outcome::Done(answer) => stored(Some(answer.number), None),
            Outcome::Waits(waiting) if waiting.state == State::Denied => None,
            Outcome::Waits(waiting) => stored(None, Some(waiting.proposal)),
        })
    }

    /// Tells whether a memory says no more than one that is there, or than one that was proposed.
    fn known(&self, view: &View<'_>, content: &str) -> Result<Option<Repetition>> {
        let least = view.settings().entries.resemblance;
        let visibility = self.caller.visibility;
        view.read_all(|db| {
            if entry::same_content(db, visibility, (content, None), None)?.is_some() {
                return Ok(Some(Repetition::Same));
            }
            let language = index::language(db)?;
            let mut similar = false;
            for proposed in proposal::proposed_memories(db)? {
                if canonical(&proposed) == canonical(content) {
                    return Ok(Some(Repetition::Same));
                }
                similar |= adds_nothing(content, &proposed, language, least);
            }
            let ownership = Ownership { project: self.project.clone(), ..Ownership::default() };
            let new = NewStatement { content, ownership: Some(&ownership), ..NewStatement::default() };
            let (resembling, contradicts) = search::neighbors(db, &new, least)?;
            if let Some(id) = resembling.filter(|_| contradicts.is_empty()) {
                let known = entry::get(db, &EntryRef::Id(id))?;
                similar |= (visibility.is_private() || !known.private)
                    && adds_nothing(content, &known.content, language, least);
            }
            Ok(similar.then_some(Repetition::Similar))
        })
    }
}

enum Repetition {
    Same,
    Similar,
}

/// Tells whether every word of a text is in another one that is much like it, and neither denies the other.
fn adds_nothing(text: &str, known: &str, language: Language, least: f64) -> bool {
    let (new, old) = (meaning(text, language), meaning(known, language));
    let denials = |text: &str| {
        let words = session::said::words(text);
        words
            .iter()
            .filter(|word| {
                matches!(word.as_str(), "no" | "not" | "never" | "without") || word.ends_with("n't")
            })
            .count()
    };
    let is_within = new.iter().all(|word| old.binary_search(word).is_ok());
    is_within && shared(&new, &old) >= least && denials(text) == denials(known)
}

/// A memory that is stored approves no other call.
fn approves_nothing(_: &mut View<'_>, _: &Caller, _: &str, _: Value, _: i64) -> Result<()> {
    Err(Error::Waits)
}
