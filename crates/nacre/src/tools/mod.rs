//! The tools, and the pipeline of every call. In reading order.

// A tool, a call in progress, and their parts.
mod call;
mod dialect;
mod limits;
mod schema;
mod tool;
// The tools, by family.
mod boot;
pub mod compat;
pub mod conflict;
mod decide;
pub mod distil;
mod erase;
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
mod share;
mod table;
// Work outside of calls.
pub mod maintain;
pub mod spool;
pub mod team;

pub use crate::base::caller::{Actor, Caller, Role};
pub use crate::records::erase::Receipt;
pub use crate::records::trace::{RelatedRecord, TouchedBy, Trace};
pub use crate::records::workspace::WorkspaceFile;
pub use crate::store::audit::AuditCheck;
pub use across::call_across;
pub use boot::BootRequest;
pub use call::Form;
pub use compat::{COMPAT_APIS, COMPAT_TOOLS, CompatApi, OWNERS};
pub use conflict::{ConflictRow, ConflictSide, Conflicts, ConflictsRequest};
pub use decide::{
    DecideAnswer, DecideRequest, ProposalAnswer, ProposalRequest, Proposals, ProposalsRequest, Verdict,
};
pub use erase::{
    ForgetAnswer, ForgetMatch, ForgetRequest, QuarantineAnswer, QuarantineRequest, QuarantineRow,
    RecordDeleteAnswer, RecordDeleteRequest, TraceRequest,
};
pub use files::{FileText, Mode as WriteMode, WriteAnswer, WriteRequest};
pub use graph::{
    AliasAnswer, AliasRequest, Entities, EntitiesRequest, EntityAct, EntityAnswer, EntityRequest, FactAnswer,
    FactRemoveRequest, FactRequest, Facts, FactsRequest, GraphRequest, RelationAnswer, RelationEndRequest,
    RelationRequest, Relations, RelationsRequest, RuleRequest, Rules,
};
pub use handover::{Delivery, Handover, HandoverRequest, Payload};
pub use lesson::{
    LessonAnswer, LessonDecideAnswer, LessonDecideRequest, LessonDecision, LessonRequest, Lessons,
    LessonsRequest,
};
pub use memory::{
    BriefRequest, Collections, CollectionsRequest, DeleteAnswer, DeleteRequest, DemoteRequest, EntryAnswer,
    EntryWithPast, FeedbackRequest, GetAnswer, GetRequest, GrepAnswer, GrepRequest, QueryRequest,
    RatingAnswer, ReinforceRequest, RestoredEntry, SearchRequest, StoreAnswer, StoreRequest,
    UnarchiveRequest, UpdateAnswer, UpdateRequest, reveal,
};
pub use people::{
    AuditAnswer, AuditRequest, FileAnswer, FileRequest, Files, FilesRequest, Health, HealthRequest,
    PictureAnswer, PictureRequest, SaveAnswer, SaveRequest, UnusedEntries, UnusedEntry, Week,
};
pub use perform::{Outcome, Reply, Waiting};
pub use pipeline::{MAX_REQUEST, answered, approve, call, call_tool, known, parse, run, run_json};
pub use project::{
    Items, ItemsRequest, TaskAct, TaskAnswer, TaskRequest, TaskUpdateAnswer, TaskUpdateRequest, Tasks,
    TasksRequest,
};
pub use resource::{RESOURCES, Resource, has_workspace, resource, resources};
pub use review::{InjectedLine, Review, ReviewRequest, ReviewedEntry, UndoAnswer, UndoRequest};
pub use schema::MAX_DEPTH;
pub use session::{
    AppendRequest, CompactRequest, ContextRequest, EndRequest, FlushRequest, SessionAnswer, SessionRequest,
    Sessions, SessionsRequest,
};
pub use share::{ShareAnswer, ShareRequest};
pub use table::{TOOLS, tool};
pub use tool::{Access, Answer, Lens, Request, Tool};
