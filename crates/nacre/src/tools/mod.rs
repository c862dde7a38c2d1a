//! The tools, and the pipeline of every call. In reading order.

// A tool, a call in progress, and their parts.
mod call;
mod limits;
mod schema;
mod tool;
// The tools, by family.
mod boot;
pub mod compat;
pub mod conflict;
mod decide;
mod files;
mod graph;
mod handover;
mod lean;
mod lesson;
mod memory;
mod people;
mod project;
mod session;
pub mod status;
// The steps of every call, the table of tools, the pipeline.
mod access;
mod across;
pub(crate) mod home;
mod perform;
mod pipeline;
mod resource;
mod review;
pub(crate) mod settings;
mod table;
// Work outside of calls.
pub mod maintain;
pub mod spool;

pub use crate::base::caller::{Actor, Caller, Role};
pub use crate::records::workspace::WorkspaceFile;
pub use crate::store::audit::AuditCheck;
pub use across::call_across;
pub use boot::BootRequest;
pub use call::Form;
pub use compat::{COMPAT_APIS, COMPAT_TOOLS, CompatApi, OWNERS};
pub use conflict::{ConflictShown, ConflictSide, Conflicts, ConflictsRequest};
pub use decide::{
    DecideRequest, Decided, ProposalRequest, ProposalShown, Proposals, ProposalsRequest, Verdict,
};
pub use files::{FileShown, Mode as WriteMode, WriteRequest, Written};
pub use graph::{
    AliasRequest, AliasSet, Entities, EntitiesRequest, EntityAct, EntityRequest, FactRemoveRequest,
    FactRequest, FactSet, Facts, FactsRequest, GraphRequest, Joined, RelationAdded, RelationEndRequest,
    RelationRequest, Relations, RelationsRequest, RuleRequest, Rules,
};
pub use handover::{Handed, Handover, HandoverRequest, Payload};
pub use lesson::{LessonLearned, LessonRequest};
pub use memory::{
    BriefRequest, Changed, Collections, CollectionsRequest, DeleteRequest, Deleted, DemoteRequest,
    EntryWithPast, FeedbackRequest, GetRequest, Got, QueryRequest, ReinforceRequest, Restored, SearchRequest,
    StoreRequest, Stored, UnarchiveRequest, UpdateRequest, Updated,
};
pub use people::{
    AuditRequest, AuditShown, FileRead, FileRequest, FileSaved, Files, FilesRequest, Health, HealthRequest,
    PictureRequest, PictureShown, SaveRequest, Week,
};
pub use perform::{Outcome, Reply, Waiting};
pub use pipeline::{MAX_REQUEST, answered, approve, call, call_tool, known, parse, run, run_json};
pub use project::{
    Items, ItemsRequest, TaskAct, TaskChanged, TaskRequest, TaskShown, TaskUpdateRequest, Tasks, TasksRequest,
};
pub use resource::{RESOURCES, Resource, has_workspace, resource, resources};
pub use review::{Review, ReviewRequest, ReviewedEntry, UndoRequest, UndoneSession};
pub use schema::MAX_DEPTH;
pub use session::{
    AppendRequest, CompactRequest, ContextRequest, EndRequest, FlushRequest, SessionRequest, SessionShown,
    Sessions, SessionsRequest,
};
pub use table::{TOOLS, tool};
pub use tool::{Access, Answer, Request, Tool};
