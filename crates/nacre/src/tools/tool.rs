//! A tool: a request type whose doc comments are its schema, and a function that runs it.

use std::borrow::Cow;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::call::Call;
use super::schema;
use crate::base::settings::DefaultType;
use crate::base::{Error, Result, Settings, Time};
use crate::group::Group;

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
    /// Whether a call with these arguments changes how agents are to behave.
    pub(super) steers: fn(&Group, &Value) -> bool,
    pub(super) input: fn() -> Value,
    output: fn() -> Value,
    pub(super) run: fn(&mut Call<'_>, Value) -> Result<Answer>,
    made: OnceLock<Value>,
}

impl Tool {
    /// Tells whether agents are offered it.
    pub fn is_offered(&self, settings: &Settings) -> bool {
        match self.compat {
            Some(api) => settings.tools.doors.iter().any(|enabled| enabled == api),
            None => settings.tools.offer.iter().any(|name| name == self.name),
        }
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

/// What makes a type the request of a tool. The constants are columns of the table of tools.
pub(super) trait Request: DeserializeOwned + JsonSchema {
    type Answer: Serialize + JsonSchema;
    const ACROSS: bool = false;
    const WHOLE: bool = false;
    const DECIDES: bool = false;
    const TYPED: bool = false;
    /// Tells whether it changes how agents are to behave: a behavioural entry stored, or one changed or deleted.
    fn steers(&self, _: &Group) -> Result<bool> {
        Ok(false)
    }
    fn run(self, call: &mut Call<'_>) -> Result<Self::Answer>;
    /// Says the answer in few words, for a model.
    fn say(answer: &Self::Answer, now: Time) -> String;
}

pub(super) const fn tool_for<R: Request>(name: &'static str, access: Access, idempotent: bool) -> Tool {
    fn run<R: Request>(call: &mut Call<'_>, arguments: Value) -> Result<Answer> {
        let request: R = serde_json::from_value(arguments).map_err(|problem| {
            // The schema has been checked: what is left is an id or a time in a form that the schema can't
            // say.
            let (tool, field) = (call.name.into(), "arguments".into());
            Error::BadArgument { tool, field, problem: format!("can't be read: {problem}"), nearest: None }
        })?;
        let answer = request.run(call)?;
        Ok(Answer { text: R::say(&answer, call.caller.now), data: serde_json::to_value(&answer)? })
    }
    fn steers<R: Request>(group: &Group, arguments: &Value) -> bool {
        let request = R::deserialize(arguments).ok();
        request.is_some_and(|request| request.steers(group).unwrap_or(false))
    }
    let (input, output) = (schema::input::<R>, schema::output::<R::Answer>);
    Tool {
        name,
        access,
        idempotent,
        people: false,
        compat: None,
        across: R::ACROSS,
        whole: R::WHOLE,
        decides: R::DECIDES,
        typed: R::TYPED,
        steers: steers::<R>,
        input,
        output,
        run: run::<R>,
        made: OnceLock::new(),
    }
}

pub(super) const fn for_people(mut tool: Tool) -> Tool {
    tool.people = true;
    tool
}
