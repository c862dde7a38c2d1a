//! The table of tools. A tool is a request type whose doc comments are its schema, one function, and one line
//! in [`TOOLS`].

use std::borrow::Cow;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::boot::BootRequest;
use super::compat::COMPAT_TOOLS;
use super::decide::{DecideRequest, ProposalRequest, ProposalsRequest};
use super::files::WriteRequest;
use super::graph::{
    AliasRequest, EntitiesRequest, EntityRequest, FactRemoveRequest, FactRequest, FactsRequest, GraphRequest,
    RelationEndRequest, RelationRequest, RelationsRequest, RuleRequest,
};
use super::handover::HandoverRequest;
use super::lesson::LessonRequest;
use super::memory::{
    BriefRequest, CollectionsRequest, DeleteRequest, DemoteRequest, GetRequest, QueryRequest,
    ReinforceRequest, SearchRequest, StoreRequest, UpdateRequest,
};
use super::people::{AuditRequest, FileRequest, FilesRequest, HealthRequest, PictureRequest, SaveRequest};
use super::project::{ItemsRequest, TaskRequest, TaskUpdateRequest, TasksRequest};
use super::session::{
    AppendRequest, CompactRequest, ContextRequest, EndRequest, FlushRequest, SessionRequest, SessionsRequest,
};
use super::{Access, Answer, Call, schema};
use crate::base::{Error, Result, Settings, Time};
use crate::group::Group;

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
    /// Whether a call with these arguments changes how agents are to behave.
    pub(super) steers: fn(&Group, &Value) -> bool,
    input: fn() -> Value,
    output: fn() -> Value,
    pub(super) run: fn(&mut Call<'_>, Value) -> Result<Answer>,
    made: OnceLock<Value>,
}

/// Every tool there is; a profile offers some of them.
pub static TOOLS: [Tool; 45] = [
    tool_for::<StoreRequest>("memory_store", Access::Write, true),
    tool_for::<SearchRequest>("memory_search", Access::Read, true),
    tool_for::<QueryRequest>("memory_query", Access::Read, true),
    tool_for::<BriefRequest>("memory_brief", Access::Read, true),
    tool_for::<BootRequest>("memory_boot", Access::Read, true),
    tool_for::<GetRequest>("memory_get", Access::Read, true),
    tool_for::<UpdateRequest>("memory_update", Access::Write, true),
    tool_for::<ReinforceRequest>("memory_reinforce", Access::Write, false),
    tool_for::<DemoteRequest>("memory_demote", Access::Write, false),
    tool_for::<DeleteRequest>("memory_delete", Access::Destroy, true),
    tool_for::<WriteRequest>("memory_write", Access::Write, true),
    tool_for::<CollectionsRequest>("collection_list", Access::Read, true),
    tool_for::<SessionsRequest>("session_list", Access::Read, true),
    tool_for::<SessionRequest>("session_show", Access::Read, true),
    tool_for::<AppendRequest>("session_append", Access::Write, true),
    tool_for::<ContextRequest>("session_context", Access::Read, true),
    tool_for::<CompactRequest>("session_compact", Access::Write, true),
    tool_for::<FlushRequest>("session_flush", Access::Write, false),
    tool_for::<EndRequest>("session_end", Access::Write, true),
    tool_for::<GraphRequest>("graph_search", Access::Read, true),
    tool_for::<FactRequest>("fact_upsert", Access::Write, true),
    tool_for::<FactsRequest>("fact_list", Access::Read, true),
    tool_for::<FactRemoveRequest>("fact_remove", Access::Destroy, true),
    tool_for::<RelationRequest>("relation_add", Access::Write, true),
    tool_for::<RelationsRequest>("relation_list", Access::Read, true),
    tool_for::<RelationEndRequest>("relation_end", Access::Destroy, true),
    tool_for::<AliasRequest>("alias_add", Access::Write, true),
    tool_for::<EntitiesRequest>("entity_list", Access::Read, true),
    tool_for::<EntityRequest>("entity_join", Access::Write, true),
    tool_for::<RuleRequest>("graph_rule", Access::Write, true),
    tool_for::<ItemsRequest>("item_list", Access::Read, true),
    tool_for::<TasksRequest>("task_list", Access::Read, true),
    tool_for::<TaskRequest>("task_add", Access::Write, false),
    tool_for::<TaskUpdateRequest>("task_update", Access::Write, true),
    tool_for::<LessonRequest>("lesson_add", Access::Write, true),
    tool_for::<HandoverRequest>("skill_handover", Access::Read, true),
    for_people(tool_for::<FilesRequest>("file_list", Access::Read, true)),
    for_people(tool_for::<FileRequest>("file_show", Access::Read, true)),
    for_people(tool_for::<SaveRequest>("file_save", Access::Write, true)),
    for_people(tool_for::<ProposalsRequest>("proposal_list", Access::Read, true)),
    for_people(tool_for::<ProposalRequest>("proposal_show", Access::Read, true)),
    for_people(tool_for::<DecideRequest>("proposal_decide", Access::Write, false)),
    for_people(tool_for::<AuditRequest>("audit_list", Access::Read, true)),
    for_people(tool_for::<PictureRequest>("graph_picture", Access::Read, true)),
    for_people(tool_for::<HealthRequest>("health", Access::Read, true)),
];

/// Returns the tool of that name, ours or one of a compatibility API.
pub fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().chain(&COMPAT_TOOLS).find(|tool| tool.name == name)
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
        schema::adapted(self, made, settings).map_or(Cow::Borrowed(made), Cow::Owned)
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
}

/// What makes a type the request of a tool. The constants are columns of the table of tools.
pub(super) trait Request: DeserializeOwned + JsonSchema {
    type Answer: Serialize + JsonSchema;
    const ACROSS: bool = false;
    const WHOLE: bool = false;
    const DECIDES: bool = false;
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
            let (tool, field) = (call.tool.name.into(), "arguments".into());
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
        steers: steers::<R>,
        input,
        output,
        run: run::<R>,
        made: OnceLock::new(),
    }
}

const fn for_people(mut tool: Tool) -> Tool {
    tool.people = true;
    tool
}
