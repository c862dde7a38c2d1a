//! The tool that stores a memory.

use std::borrow::Cow;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{check_tags, content, default_type, is_behavioral, is_own, record_conflicts};
use crate::base::ids::{EntryId, EntryRef, ProjectName};
use crate::base::origin::RecordOrigin;
use crate::base::redact::redact;
use crate::base::{Calendar, Error, Result};
use crate::group::View;
use crate::records::entry::{self, Data, Draft, EntryType, OnDuplicate, Ownership, Source, Tags};
use crate::records::{project, session, stale};
use crate::search::{self, Contradiction, NewStatement};
use crate::tools::call::{Call, ToolResult};
use crate::tools::conflict::say_contradictions;
use crate::tools::limits::Action;
use crate::tools::schema::output;
use crate::tools::tool::Request;

/// Remember one statement across sessions: a preference, instruction, correction, context or fact. Use fact_upsert instead
/// for a name-key-value that has exactly one current value; never both.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreRequest {
    /// One self-contained statement.
    #[schemars(length(min = 1, max = 2000))]
    pub content: String,
    /// Default fact.
    pub r#type: Option<EntryType>,
    /// Keywords.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// Id of the memory that this one replaces.
    pub supersedes: Option<EntryRef>,
    /// Hide it from shared sessions.
    pub private: Option<bool>,
    /// The project it belongs to; default the one you work in.
    pub project: Option<ProjectName>,
    /// The narrative in which it is written.
    #[schemars(length(min = 1, max = 200))]
    pub narrative_id: Option<String>,
    /// The task that led to it.
    #[schemars(length(min = 1, max = 200))]
    pub task_id: Option<String>,
    /// The message it was taken from, as SESSION/MESSAGE.
    #[schemars(length(max = 1000))]
    pub cites: Option<String>,
}

/// The result of a store.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the names say it")]
pub struct StoreAnswer {
    pub id: EntryId,
    pub number: i64,
    pub r#type: EntryType,
    pub behavioral: bool,
    /// The memory that already has this content. No second one was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<EntryId>,
    /// A current memory with nearly the same content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resembles: Option<EntryId>,
    /// Current statements that say otherwise about the same thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub contradicts: Vec<Contradiction>,
    /// Whether the existing memory got the type, tags or privacy of this call.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    pub amended: bool,
    /// The memory that this one replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded: Option<EntryId>,
    /// A remark for the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

redact! {
    StoreAnswer { id, duplicate_of, resembles, contradicts, superseded, note / number, r#type, behavioral, amended }
}

/// The fields that a schema for agents names. The answer has more.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a schema")]
struct StoreFields {
    number: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_of: Option<EntryId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resembles: Option<EntryId>,
}

impl Request for StoreRequest {
    type Answer = StoreAnswer;
    const NAME: &str = "memory_store";
    const TAKES_TYPE: bool = true;
    const ADVANCED: &'static [&'static str] = &["cites", "narrative_id", "project", "task_id"];
    const LEAN_OUTPUT: fn() -> Value = output::<StoreFields>;

    fn steers(&self, view: &View<'_>) -> Result<bool> {
        let r#type = self.r#type.unwrap_or_else(|| default_type(view.settings().entries.default_type));
        Ok(r#type.behavioral() || self.supersedes.as_ref().is_some_and(|old| is_behavioral(view, old)))
    }

    fn only_adds(&self, view: &View<'_>) -> Result<bool> {
        Ok(self.supersedes.as_ref().is_none_or(|old| is_own(view, old)))
    }

    fn with_place(mut self, view: &View<'_>) -> Result<StoreRequest> {
        if self.project.is_none() && self.supersedes.is_none() {
            self.project = view.read(|db| project::current::of_caller(db, view.caller()))?;
        }
        Ok(self)
    }

    fn loses(&self, view: &View<'_>) -> Result<Option<String>> {
        self.supersedes.as_ref().map(|old| content(view, old)).transpose()
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<StoreAnswer> {
        check_tags("memory_store", &self.tags)?;
        let r#type = match self.r#type {
            Some(given) => given,
            None => default_type(call.settings().entries.default_type),
        };
        let least = call.settings().entries.resemblance;
        let skip: Vec<String> = match &self.supersedes {
            Some(old) => call.read(|db| Ok(vec![entry::get(db, old)?.id.to_string()]))?,
            None => Vec::new(),
        };
        let project = match self.project.clone() {
            Some(named) => Some(named),
            None => call.project()?,
        };
        let ownership = Ownership { project, ..Ownership::default() };
        let new = NewStatement {
            content: &self.content,
            ownership: Some(&ownership),
            skip: &skip,
            ..NewStatement::default()
        };
        // Looked up before the write, so that other writers do not wait for it.
        let (resembles, contradicts) = call.read(|db| search::neighbors(db, &new, least))?;
        let holds_secret = matches!(crate::base::redact::text(&self.content), Cow::Owned(_));
        if let Some(old) = &self.supersedes {
            call.check_seen(old)?;
        }
        // The folder is that of another project if the call names one.
        let folder = call.caller.project_folder.as_deref().filter(|_| self.project.is_none());
        let observed = stale::observe(folder, &self.content);
        let (content, tags, supersedes, private) = (self.content, self.tags, self.supersedes, self.private);
        // An untrusted session changes no entry that it did not write.
        let on_duplicate = match call.caller.untrusted {
            true => OnDuplicate::Keep,
            false => OnDuplicate::Amend { r#type: self.r#type },
        };
        let cited = self.cites.map(|message| Citation::find(call, message)).transpose()?;
        let data = cited.as_ref().map(Citation::data);
        let draft = Draft { r#type, content, tags, supersedes, private, data, on_duplicate };
        let project = self.project;
        let narrative = self.narrative_id.or_else(|| cited.as_ref().map(|cited| cited.session.clone()));
        let task = self.task_id;
        let stored = call.write(|write| {
            if let Some(name) = project {
                write.origin.project = entry::Place::Named(name);
            }
            if let Some(cited) = &cited {
                cited.apply(&mut write.origin);
            }
            let stored = entry::store(write.db, &write.origin, draft)?;
            if !stored.duplicate {
                write.spend(Action::Store)?;
                entry::set_context(write.db, &stored.entry.id, narrative.as_deref(), task.as_deref())?;
            }
            if !stored.duplicate || stored.amended {
                write.record(&stored.entry.id, "chars", stored.entry.content.chars().count());
            }
            if !stored.duplicate {
                record_conflicts(write, &stored.entry, &contradicts)?;
                stale::record(write.db, &stored.entry, &observed, write.origin.now)?;
            }
            match &stored.superseded {
                Some(old) => {
                    write.spend(Action::Supersede)?;
                    write.record(old, "superseded", 1);
                }
                None if stored.duplicate && !stored.amended => write.unchanged(),
                None => {}
            }
            Ok(stored)
        })?;
        let entry = stored.entry;
        if !stored.duplicate || stored.amended {
            let delta = entry.content.chars().count();
            call.view().tell_write("entry", entry.id.as_str(), delta);
        }
        let note = holds_secret.then(|| {
            "it seems to contain a credential, which is shown masked and can't be searched".to_owned()
        });
        let known = |other: &EntryId| *other != entry.id && Some(other) != stored.superseded.as_ref();
        Ok(StoreAnswer {
            duplicate_of: stored.duplicate.then(|| entry.id.clone()),
            resembles: resembles.filter(|other| !stored.duplicate && known(other)),
            contradicts: if stored.duplicate { Vec::new() } else { contradicts },
            amended: stored.amended,
            superseded: stored.superseded,
            id: entry.id,
            number: entry.number,
            r#type: entry.r#type,
            behavioral: entry.behavioral,
            note,
        })
    }

    fn say(answer: &StoreAnswer, calendar: &Calendar) -> String {
        let mut text = match &answer.duplicate_of {
            Some(_) if answer.amended => {
                format!(
                    "Already remembered as [id:{}]. Its type, tags or privacy were updated.",
                    answer.number
                )
            }
            Some(_) => format!("Already remembered as [id:{}].", answer.number),
            None => format!("Stored as [id:{}] ({}).", answer.number, answer.r#type),
        };
        if let Some(old) = &answer.superseded {
            let _ = write!(text, " It supersedes {old}.");
        }
        // A contradiction says more.
        let is_named = |other: &EntryId| answer.contradicts.iter().any(|one| one.is_entry(other));
        if let Some(other) = answer.resembles.as_ref().filter(|other| !is_named(other)) {
            let _ = write!(
                text,
                " It resembles {other}: if it replaces that one, store it again with supersedes, or delete one of them."
            );
        }
        text.push_str(&say_contradictions(&answer.contradicts, calendar));
        if let Some(note) = &answer.note {
            let _ = write!(text, " Note: {note}.");
        }
        text
    }
}

/// The message that a memory was taken from.
struct Citation {
    message: String,
    session: String,
    origin: RecordOrigin,
}

impl Citation {
    /// Finds a message that the caller sees.
    fn find(call: &Call<'_>, message: String) -> Result<Citation> {
        let found = call.read(|db| session::said_in(db, &message))?;
        let (session, origin) = found.ok_or_else(|| {
            Error::bad_argument(
                "memory_store",
                "cites",
                "names no message; it is SESSION/MESSAGE, as a search shows it",
            )
        })?;
        Ok(Citation { message, session, origin })
    }

    fn data(&self) -> Data {
        let metadata = Map::from_iter([(entry::CITES.to_owned(), self.message.as_str().into())]);
        Data { metadata, ..Data::default() }
    }

    /// Makes the memory one of a conversation. It is trusted no more than the message, unless a person approved it.
    fn apply(&self, origin: &mut entry::Origin<'_>) {
        if origin.origin != RecordOrigin::Approved {
            origin.origin = origin.origin.weakest(self.origin);
        }
        if origin.source == Source::Agent {
            origin.source = Source::Conversation;
        }
    }
}
