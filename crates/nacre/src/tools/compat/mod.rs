//! Compatibility APIs: programs made for another memory use this one with the names, arguments and answers that they know. The
//! tools of these APIs have their own table and pass the same pipeline. Agents are offered them if the user enabled the API
//! (`tools.compat`).

mod filter;
pub mod mem0;
mod memory_server;
pub mod memory_tool;

pub use mem0::OWNERS;
use mem0::{AddRequest, DeleteRequest, FindRequest, HistoryRequest, OwnersRequest, UpdateRequest};
use memory_server::{
    AddObservations, CreateEntities, CreateRelations, DeleteEntities, DeleteObservations, DeleteRelations,
    OpenNodes, ReadGraph, SearchNodes,
};
use memory_tool::MemoryToolRequest;

use super::perform::tool_for;
use super::tool::{Access, Request, Tool};

/// One compatibility API.
pub struct CompatApi {
    /// Its name in the setting `tools.compat`.
    pub name: &'static str,
    /// The interface that it imitates.
    pub about: &'static str,
    /// Whether its tools are listed over MCP.
    pub mcp: bool,
}

/// Every compatibility API.
pub static COMPAT_APIS: [CompatApi; 3] = [
    CompatApi { name: "memory-tool", about: "Anthropic's memory tool, memory_20250818", mcp: false },
    CompatApi { name: "mem0", about: "the REST paths of mem0", mcp: false },
    CompatApi { name: "memory-server", about: "the tools of the official MCP memory server", mcp: true },
];

const fn at<R: Request>(api: &'static str, access: Access, idempotent: bool) -> Tool {
    let mut tool = tool_for::<R>(access, idempotent);
    tool.compat = Some(api);
    tool
}

/// Every tool of a compatibility API.
pub static COMPAT_TOOLS: [Tool; 16] = [
    at::<MemoryToolRequest>("memory-tool", Access::Destroy, false),
    at::<AddRequest>("mem0", Access::Write, true),
    at::<FindRequest>("mem0", Access::Read, true),
    at::<UpdateRequest>("mem0", Access::Write, true),
    at::<DeleteRequest>("mem0", Access::Destroy, true),
    at::<HistoryRequest>("mem0", Access::Read, true),
    at::<OwnersRequest>("mem0", Access::Read, true),
    at::<CreateEntities>("memory-server", Access::Write, false),
    at::<CreateRelations>("memory-server", Access::Write, false),
    at::<AddObservations>("memory-server", Access::Write, false),
    at::<DeleteEntities>("memory-server", Access::Destroy, true),
    at::<DeleteObservations>("memory-server", Access::Destroy, true),
    at::<DeleteRelations>("memory-server", Access::Destroy, true),
    at::<ReadGraph>("memory-server", Access::Read, true),
    at::<SearchNodes>("memory-server", Access::Read, true),
    at::<OpenNodes>("memory-server", Access::Read, true),
];
