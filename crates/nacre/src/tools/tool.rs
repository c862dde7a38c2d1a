//! A tool: a request type whose doc comments are its schema, and a function that runs it.

use std::borrow::Cow;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::call::{Call, Ran, Way};
use crate::base::settings::DefaultType;
use crate::base::{Result, Settings, Time};
use crate::group::View;

/// The argument that names another group.
pub(super) const GROUP: &str = "group";

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
    /// The proposal that waits for a person to decide about the call.
    pub proposal: Option<i64>,
}

/// One tool.
pub struct Tool {
    /// Its name for agents.
    pub name: &'static str,
    /// What it does to the group.
    pub access: Access,
    /// Whether calling it twice is the same as calling it once.
    pub idempotent: bool,
    /// Whether it is for people alone: agents are refused, whatever is offered to them.
    pub people: bool,
    /// The compatibility API that it belongs to. It is offered if that API is enabled.
    pub compat: Option<&'static str>,
    /// Whether it can read in another group.
    pub(super) across: bool,
    /// Whether it needs to see everything, so that shared sessions are refused.
    pub(super) whole: bool,
    /// Whether it asks the write policy itself: only it knows which file is meant.
    pub(super) decides: bool,
    /// Whether it takes the type of an entry, which the settings may require.
    pub(super) typed: bool,
    pub(super) input: fn() -> Value,
    pub(super) output: fn() -> Value,
    /// Calls it with arguments that fit its schema.
    pub(super) call: fn(&mut View<'_>, &'static Tool, Value, Way<'_>) -> Result<Answer>,
    pub(super) made: OnceLock<Value>,
}

impl Tool {
    /// Tells whether agents are offered it.
    pub fn is_offered(&self, settings: &Settings) -> bool {
        match self.compat {
            Some(api) => settings.tools.compat.iter().any(|enabled| enabled == api),
            None => settings.tools.offer.iter().any(|name| name == self.name),
        }
    }

    /// Returns what it does, in the words of its schema.
    pub fn description(&self) -> &str {
        self.made.get_or_init(self.input)["description"].as_str().unwrap_or_default()
    }

    /// Returns the schema of its arguments under these settings.
    pub fn input_schema(&self, settings: &Settings) -> Value {
        self.schema(settings).into_owned()
    }

    /// The same where it is only looked at, as every call does.
    pub(super) fn schema(&self, settings: &Settings) -> Cow<'_, Value> {
        let made = self.made.get_or_init(self.input);
        self.adapted(made, settings).map_or(Cow::Borrowed(made), Cow::Owned)
    }

    /// Returns the schema of its answer. That of a write may say instead that it waits (`proposal`, `status`, `note`), so
    /// that none of its fields has to be there.
    pub fn output_schema(&self) -> Value {
        let mut schema = (self.output)();
        if matches!(self.access, Access::Write | Access::Destroy)
            && let Some(fields) = schema.as_object_mut()
        {
            fields.remove("required");
        }
        schema
    }

    /// Returns what the settings make of its schema, where that is something else: an argument that names another group, a
    /// type that has to be given.
    fn adapted(&self, schema: &Value, settings: &Settings) -> Option<Value> {
        if self.across && !settings.access.admin_group.is_empty() {
            let mut schema = schema.clone();
            let about = format!("Ask group {} instead.", settings.access.admin_group);
            schema["properties"][GROUP] = json!({ "type": "string", "maxLength": 64, "description": about });
            return Some(schema);
        }
        if !self.typed || settings.entries.default_type != DefaultType::Required {
            return None;
        }
        let mut schema = schema.clone();
        schema.get_mut("required").and_then(Value::as_array_mut)?.push("type".into());
        Some(schema)
    }
}

/// What makes a type the request of a tool. The constants are columns of the table of tools. A field that need not be
/// given is an `Option`; `null` is the same as not given.
pub trait Request: Clone + Serialize + DeserializeOwned + JsonSchema {
    /// The answer.
    type Answer: Serialize + JsonSchema;
    /// The tool's name.
    const NAME: &'static str;
    /// Whether it can read in another group.
    const ACROSS: bool = false;
    /// Whether it needs to see everything.
    const WHOLE: bool = false;
    /// Whether it asks the write policy itself.
    const DECIDES: bool = false;
    /// Whether it takes the type of an entry.
    const TYPED: bool = false;
    /// Tells whether it changes how agents are to behave: a behavioural entry stored, or one changed or deleted.
    #[doc(hidden)]
    fn steers(&self, _: &View<'_>) -> Result<bool> {
        Ok(false)
    }
    /// Returns the text that it would delete or replace, for the person who decides about it.
    #[doc(hidden)]
    fn loses(&self, _: &View<'_>) -> Result<Option<String>> {
        Ok(None)
    }
    /// Does what is asked for.
    #[doc(hidden)]
    fn run(self, call: &mut Call<'_>) -> Ran<Self::Answer>;
    /// Returns the proposal that waits because of an answer, where the tool asks the write policy itself.
    #[doc(hidden)]
    fn proposal(_: &Self::Answer) -> Option<i64> {
        None
    }
    /// Says the answer in few words, for a model.
    #[doc(hidden)]
    fn say(answer: &Self::Answer, now: Time) -> String;
}

pub(super) const fn for_people(mut tool: Tool) -> Tool {
    tool.people = true;
    tool
}
