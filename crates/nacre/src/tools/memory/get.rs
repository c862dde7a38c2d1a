//! The tool that reads one memory, or a file.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::say_entry;
use crate::base::caller::{Actor, Visibility};
use crate::base::frame::one_line;
use crate::base::ids::{EntryId, EntryRef};
use crate::base::redact::{Redact, redact};
use crate::base::{Calendar, Error, Result};
use crate::group::View;
use crate::records::entry::{self, Entry, Version};
use crate::records::import;
use crate::store::audit;
use crate::tools::call::{Call, ToolResult};
use crate::tools::files::{self, FileText};
use crate::tools::schema::output;
use crate::tools::tool::Request;

/// Returns a memory with its credentials unmasked. Only a person in a private session can, and the audit log records it.
pub fn reveal(view: &mut View<'_>, named: &EntryRef) -> Result<Entry> {
    let caller = view.caller();
    if caller.actor != Actor::Person || caller.token.is_some() {
        return Err(Error::PersonOnly { what: "see a credential" });
    }
    if caller.visibility != Visibility::Private {
        return Err(Error::NeedsPrivate { tool: "show --reveal".into() });
    }
    view.write(|tx| {
        let entry = entry::get(tx, named)?;
        audit::Row::new("reveal").id(&entry.id).append(tx, caller)?;
        Ok(entry)
    })
}

/// Read one memory in full with its history (`id`), or a workspace file (`path`).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRequest {
    #[expect(missing_docs)]
    pub id: Option<EntryRef>,
    /// Such as MEMORY.md.
    pub path: Option<String>,
    /// First line.
    #[schemars(range(min = 1))]
    pub from: Option<usize>,
    /// Last line.
    #[schemars(range(min = 1))]
    pub to: Option<usize>,
}

/// A memory or a file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(missing_docs, reason = "the names say it")]
pub enum GetAnswer {
    Entry(Box<EntryWithPast>),
    File(FileText),
}

/// A memory with its history: the memories it replaced or that replaced it, and its earlier texts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EntryWithPast {
    #[serde(flatten)]
    #[expect(missing_docs)]
    pub entry: Entry,
    /// The other memories of its chain of replacements, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub chain: Vec<Link>,
    /// Its earlier texts, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub versions: Vec<Version>,
    /// Its origin, if it was imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub imported: Option<import::Provenance>,
}

/// One memory of a chain.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Link {
    pub id: EntryId,
    pub number: i64,
    pub content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<EntryId>,
}

impl Redact for GetAnswer {
    fn redact(&mut self) {
        match self {
            GetAnswer::Entry(entry) => entry.redact(),
            GetAnswer::File(file) => file.redact(),
        }
    }
}

redact! {
    EntryWithPast { entry, chain, versions, imported }
    Link { id, content, superseded_by / number }
}

impl Request for GetRequest {
    type Answer = GetAnswer;
    const NAME: &str = "memory_get";
    const CROSSES_GROUPS: bool = true;
    const LEAN_OUTPUT: fn() -> Value = output::<GetFields>;

    fn run(self, call: &mut Call<'_>) -> ToolResult<GetAnswer> {
        let id = match (self.id, self.path) {
            (Some(id), None) => id,
            (None, Some(path)) => return Ok(GetAnswer::File(files::show(call, &path, self.from, self.to)?)),
            _ => {
                let problem = "or `path` is needed, one of them";
                return Err(Error::bad_argument("memory_get", "id", problem).into());
            }
        };
        let answer = call.read(|db| {
            let entry = entry::get(db, &id)?;
            let chain = entry::chain(db, &entry.id)?.into_iter().filter(|other| other.id != entry.id);
            let chain = chain
                .map(|other| Link {
                    id: other.id,
                    number: other.number,
                    content: other.content,
                    superseded_by: other.superseded_by,
                })
                .collect();
            let (versions, imported) = (entry::versions(db, &entry.id)?, import::of_entry(db, &entry.id)?);
            Ok(EntryWithPast { versions, chain, imported, entry })
        })?;
        let size = answer.entry.content.chars().count();
        call.view().tell_read("entry", answer.entry.id.as_str(), size);
        Ok(GetAnswer::Entry(Box::new(answer)))
    }

    fn say(answer: &GetAnswer, calendar: &Calendar) -> String {
        let answer = match answer {
            GetAnswer::Entry(answer) => answer,
            GetAnswer::File(file) => return file.text.clone(),
        };
        let mut text = say_entry(&answer.entry, calendar);
        for link in &answer.chain {
            let _ = write!(text, "\nchain: [id:{}] {}", link.number, one_line(&link.content));
        }
        for version in &answer.versions {
            let _ = write!(text, "\nbefore {}: {}", version.until, one_line(&version.content));
        }
        text
    }
}

/// The fields of a memory or a file that a schema for agents names. The answer has more.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a schema")]
struct GetFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}
