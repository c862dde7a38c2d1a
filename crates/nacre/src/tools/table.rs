//! The table of tools: one row for each.

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
use super::tool::{Access, Tool, for_people, tool_for};

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
