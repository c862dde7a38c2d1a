//! A tool: a request type whose doc comments become its schema, and the function that runs it.

use std::borrow::Cow;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::call::{Call, CallOptions, ToolResult};
use super::{dialect, schema};
use crate::base::settings::{DefaultType, Dialect};
use crate::base::{Calendar, Result, Settings};
use crate::group::View;

/// The argument that names another group.
pub(super) const GROUP: &str = "group";

/// How a tool accesses the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Neither reads nor writes.
    Nothing,
    /// Only reads.
    Read,
    /// Adds, or changes in a way that the history can undo.
    Write,
    /// Deletes permanently.
    Destroy,
}

/// The answer to a call: data for programs, and the same as a compact text for a model.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The answer, in the shape of the tool's output schema.
    pub data: Value,
    /// The answer as a compact text.
    pub text: String,
    /// The proposal that waits for a person to decide about the call.
    pub proposal: Option<i64>,
}

/// One tool.
pub struct Tool {
    /// Its name for agents.
    pub name: &'static str,
    /// How it accesses the group.
    pub access: Access,
    /// Whether calling it twice is the same as calling it once.
    pub idempotent: bool,
    /// Whether only people may call it. Agents are refused even if it is offered.
    pub people: bool,
    /// The compatibility API that it belongs to. It is offered if that API is enabled.
    pub compat: Option<&'static str>,
    /// Whether it can read in another group.
    pub(super) across: bool,
    /// Whether it needs to see the whole group, so that shared sessions are refused.
    pub(super) whole: bool,
    /// Whether it asks the write policy itself, because only it knows which file is meant.
    pub(super) decides: bool,
    /// Whether it takes the type of an entry, which the settings may require.
    pub(super) typed: bool,
    /// Arguments that it accepts but that agents are not told about.
    pub(super) advanced: &'static [&'static str],
    /// The tool that does its work now. Where that one is offered, this one still answers calls.
    pub(super) replaced_by: Option<&'static str>,
    pub(super) input: fn() -> Value,
    pub(super) output: fn() -> Value,
    pub(super) lean_output: fn() -> Value,
    /// Calls it with arguments that fit its schema.
    pub(super) call: fn(&mut View<'_>, &'static Tool, Value, CallOptions<'_>) -> Result<Answer>,
    pub(super) made: OnceLock<Value>,
}

impl Tool {
    /// Tells whether it is listed for agents.
    pub fn is_offered(&self, settings: &Settings) -> bool {
        match self.compat {
            Some(api) => settings.tools.compat.iter().any(|enabled| enabled == api),
            None => offers(settings, self.name),
        }
    }

    /// Tells whether agents may call it: it is offered, or the tool that replaced it is.
    pub fn is_callable(&self, settings: &Settings) -> bool {
        self.is_offered(settings) || self.replaced_by.is_some_and(|newer| offers(settings, newer))
    }

    /// Returns its description, from the doc comment of its request.
    pub fn description(&self) -> &str {
        self.made.get_or_init(self.input)["description"].as_str().unwrap_or_default()
    }

    /// Returns the schema of its arguments under these settings.
    pub fn input_schema(&self, settings: &Settings) -> Value {
        self.schema(settings).into_owned()
    }

    /// Returns the schema of its arguments as agents see it: with the names of the dialect, and without the advanced
    /// arguments, which it still accepts.
    pub fn listed_schema(&self, settings: &Settings) -> Value {
        let mut schema = self.input_schema(settings);
        dialect::list(settings, self.name, self.advanced, &mut schema);
        schema
    }

    /// Returns the schema of its arguments without a copy where possible, because every call needs it.
    pub(super) fn schema(&self, settings: &Settings) -> Cow<'_, Value> {
        let made = self.made.get_or_init(self.input);
        self.adapted(made, settings).map_or(Cow::Borrowed(made), Cow::Owned)
    }

    /// Returns the schema of its answer. A write may answer that it waits instead (`proposal`, `status`, `note`), so none of
    /// its fields is required.
    pub fn output_schema(&self) -> Value {
        self.published((self.output)())
    }

    /// Returns the schema of its answer in the lean form.
    pub fn lean_output_schema(&self) -> Value {
        self.published((self.lean_output)())
    }

    fn published(&self, mut schema: Value) -> Value {
        if matches!(self.access, Access::Write | Access::Destroy)
            && let Some(fields) = schema.as_object_mut()
        {
            fields.remove("required");
        }
        schema
    }

    /// Returns its schema under these settings if they change it: an argument that names another group, or a type that is
    /// required.
    fn adapted(&self, schema: &Value, settings: &Settings) -> Option<Value> {
        if self.across && !settings.access.admin_group.is_empty() {
            let mut schema = schema.clone();
            let about = match self.access {
                Access::Read | Access::Nothing => {
                    format!("Read in group {} instead.", settings.access.admin_group)
                }
                Access::Write | Access::Destroy => "For admins: the group to write in.".to_owned(),
            };
            schema["properties"][GROUP] = json!({ "type": "string", "maxLength": 64, "description": about });
            return Some(schema);
        }
        let requires_type = self.typed && settings.entries.default_type == DefaultType::Required;
        if !requires_type && !dialect::limits(settings.dialect, self.name) {
            return None;
        }
        let mut schema = schema.clone();
        dialect::limit(settings.dialect, self.name, &mut schema);
        if requires_type {
            schema.get_mut("required").and_then(Value::as_array_mut)?.push("type".into());
            if let Some(fields) = schema["properties"]["type"].as_object_mut() {
                // It would name a default.
                fields.remove("description");
            }
        }
        Some(schema)
    }
}

/// How an answer is written for a model.
pub struct Lens<'a> {
    pub(super) calendar: &'a Calendar,
    /// With scores and reasons.
    pub(super) explain: bool,
    pub(super) dialect: Dialect,
}

/// The request of a tool. The constants are columns of the table of tools. An optional field is an `Option`; `null` counts as
/// not given.
pub trait Request: Clone + Serialize + DeserializeOwned + JsonSchema {
    /// The answer.
    type Answer: Serialize + JsonSchema;
    /// The tool's name.
    const NAME: &'static str;
    /// Whether it can read in another group.
    const CROSSES_GROUPS: bool = false;
    /// Whether it needs to see the whole group.
    const NEEDS_WHOLE_GROUP: bool = false;
    /// Whether it asks the write policy itself.
    const ASKS_POLICY: bool = false;
    /// Whether it takes the type of an entry.
    const TAKES_TYPE: bool = false;
    /// Arguments that it accepts but that agents are not told about.
    const ADVANCED: &'static [&'static str] = &[];
    /// The tool that does its work now.
    const REPLACED_BY: Option<&'static str> = None;
    /// Returns the schema of the answer in the lean form.
    const LEAN_OUTPUT: fn() -> Value = schema::output::<Self::Answer>;
    /// Tells whether it changes how agents behave: it stores, changes or deletes a behavioral entry.
    #[doc(hidden)]
    fn steers(&self, _: &View<'_>) -> Result<bool> {
        Ok(false)
    }
    /// Tells whether it only adds, or changes only what its caller wrote. A call of an untrusted session that does more waits.
    #[doc(hidden)]
    fn only_adds(&self, _: &View<'_>) -> Result<bool> {
        Ok(false)
    }
    /// Fills in what the place of the caller decides. A request that waits is run later, from another place.
    #[doc(hidden)]
    fn with_place(self, _: &View<'_>) -> Result<Self> {
        Ok(self)
    }
    /// Tells whether this call only reads, although its tool can write. The write policy is not asked about it.
    #[doc(hidden)]
    fn only_reads(&self) -> bool {
        false
    }
    /// Returns the text that it would delete or replace, for the person who decides about it.
    #[doc(hidden)]
    fn loses(&self, _: &View<'_>) -> Result<Option<String>> {
        Ok(None)
    }
    /// Runs the call.
    #[doc(hidden)]
    fn run(self, call: &mut Call<'_>) -> ToolResult<Self::Answer>;
    /// Returns the proposal that an answer names, if the tool asks the write policy itself.
    #[doc(hidden)]
    fn proposal(_: &Self::Answer) -> Option<i64> {
        None
    }
    /// Returns the answer in the lean form, for a model; `None`: the whole answer is lean enough.
    #[doc(hidden)]
    fn lean(_: &Self::Answer, _: &Lens<'_>) -> Option<serde_json::Result<Value>> {
        None
    }
    /// Returns the answer as a compact text, for a model.
    #[doc(hidden)]
    fn say(answer: &Self::Answer, calendar: &Calendar) -> String;
}

fn offers(settings: &Settings, tool: &str) -> bool {
    settings.tools.offer.iter().any(|name| name == tool)
}

/// Restricts a tool to people.
pub(super) const fn for_people(mut tool: Tool) -> Tool {
    tool.people = true;
    tool
}
