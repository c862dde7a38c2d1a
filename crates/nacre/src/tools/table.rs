//! The table of tools: one row for each.

use super::boot::BootRequest;
use super::compat::COMPAT_TOOLS;
use super::conflict::ConflictsRequest;
use super::decide::{DecideRequest, ProposalRequest, ProposalsRequest};
use super::erase::{ForgetRequest, QuarantineRequest, RecordDeleteRequest, TraceRequest};
use super::files::WriteRequest;
use super::graph::{
    AliasRequest, EntitiesRequest, EntityRequest, FactRemoveRequest, FactRequest, FactsRequest, GraphRequest,
    RelationEndRequest, RelationRequest, RelationsRequest, RuleRequest,
};
use super::handover::HandoverRequest;
use super::lesson::{LessonDecideRequest, LessonRequest, LessonsRequest};
use super::memory::{
    BriefRequest, CollectionsRequest, DeleteRequest, DemoteRequest, FeedbackRequest, GetRequest, GrepRequest,
    QueryRequest, ReinforceRequest, SearchRequest, StoreRequest, UnarchiveRequest, UpdateRequest,
};
use super::people::{AuditRequest, FileRequest, FilesRequest, HealthRequest, PictureRequest, SaveRequest};
use super::perform::tool_for;
use super::project::{ItemsRequest, TaskRequest, TaskUpdateRequest, TasksRequest};
use super::review::{ReviewRequest, UndoRequest};
use super::session::{
    AppendRequest, CompactRequest, ContextRequest, EndRequest, FlushRequest, SessionRequest, SessionsRequest,
};
use super::share::ShareRequest;
use super::tool::{Access, Tool, for_people};

/// Every tool. A profile offers some of them.
pub static TOOLS: [Tool; 58] = [
    tool_for::<StoreRequest>(Access::Write, true),
    tool_for::<SearchRequest>(Access::Read, true),
    tool_for::<QueryRequest>(Access::Read, true),
    tool_for::<GrepRequest>(Access::Read, true),
    tool_for::<BriefRequest>(Access::Read, true),
    tool_for::<BootRequest>(Access::Read, true),
    tool_for::<GetRequest>(Access::Read, true),
    tool_for::<UpdateRequest>(Access::Write, true),
    tool_for::<FeedbackRequest>(Access::Write, false),
    tool_for::<ReinforceRequest>(Access::Write, false),
    tool_for::<DemoteRequest>(Access::Write, false),
    tool_for::<UnarchiveRequest>(Access::Write, true),
    tool_for::<DeleteRequest>(Access::Destroy, true),
    tool_for::<ConflictsRequest>(Access::Write, true),
    tool_for::<WriteRequest>(Access::Write, true),
    tool_for::<CollectionsRequest>(Access::Read, true),
    tool_for::<SessionsRequest>(Access::Read, true),
    tool_for::<SessionRequest>(Access::Read, true),
    tool_for::<AppendRequest>(Access::Write, true),
    tool_for::<ContextRequest>(Access::Read, true),
    tool_for::<CompactRequest>(Access::Write, true),
    tool_for::<FlushRequest>(Access::Write, false),
    tool_for::<EndRequest>(Access::Write, true),
    tool_for::<GraphRequest>(Access::Read, true),
    tool_for::<FactRequest>(Access::Write, true),
    tool_for::<FactsRequest>(Access::Read, true),
    tool_for::<FactRemoveRequest>(Access::Destroy, true),
    tool_for::<RelationRequest>(Access::Write, true),
    tool_for::<RelationsRequest>(Access::Read, true),
    tool_for::<RelationEndRequest>(Access::Destroy, true),
    tool_for::<AliasRequest>(Access::Write, true),
    tool_for::<EntitiesRequest>(Access::Read, true),
    tool_for::<EntityRequest>(Access::Write, true),
    tool_for::<RuleRequest>(Access::Write, true),
    tool_for::<ItemsRequest>(Access::Read, true),
    tool_for::<TasksRequest>(Access::Read, true),
    tool_for::<TaskRequest>(Access::Write, false),
    tool_for::<TaskUpdateRequest>(Access::Write, true),
    tool_for::<LessonRequest>(Access::Write, true),
    tool_for::<HandoverRequest>(Access::Read, true),
    for_people(tool_for::<LessonsRequest>(Access::Read, true)),
    for_people(tool_for::<LessonDecideRequest>(Access::Write, true)),
    for_people(tool_for::<ReviewRequest>(Access::Read, true)),
    for_people(tool_for::<UndoRequest>(Access::Write, true)),
    for_people(tool_for::<RecordDeleteRequest>(Access::Destroy, true)),
    for_people(tool_for::<ForgetRequest>(Access::Destroy, true)),
    for_people(tool_for::<TraceRequest>(Access::Read, true)),
    for_people(tool_for::<ShareRequest>(Access::Write, true)),
    for_people(tool_for::<QuarantineRequest>(Access::Write, true)),
    for_people(tool_for::<FilesRequest>(Access::Read, true)),
    for_people(tool_for::<FileRequest>(Access::Read, true)),
    for_people(tool_for::<SaveRequest>(Access::Write, true)),
    for_people(tool_for::<ProposalsRequest>(Access::Read, true)),
    for_people(tool_for::<ProposalRequest>(Access::Read, true)),
    for_people(tool_for::<DecideRequest>(Access::Write, false)),
    for_people(tool_for::<AuditRequest>(Access::Read, true)),
    for_people(tool_for::<PictureRequest>(Access::Read, true)),
    for_people(tool_for::<HealthRequest>(Access::Read, true)),
];

/// Returns the tool with this name, including those of compatibility APIs.
pub fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().chain(&COMPAT_TOOLS).find(|tool| tool.name == name)
}
