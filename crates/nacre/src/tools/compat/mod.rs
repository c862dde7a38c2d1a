//! Compatibility APIs (I10): programs made for another memory use this store by the names, arguments and answers that
//! they know. The tools of these APIs have a table of their own and pass the same pipeline as ours. Agents are offered
//! them if the user enabled the API (`tools.doors`).

mod filter;
mod mem0;
mod memory_server;
mod memory_tool;

pub use mem0::OWNERS;
use mem0::{AddRequest, ChangeRequest, FindRequest, GoneRequest, OwnersRequest, PastRequest};
use memory_server::{
    AddObservations, CreateEntities, CreateRelations, DeleteEntities, DeleteObservations, DeleteRelations,
    OpenNodes, ReadGraph, SearchNodes,
};
use memory_tool::MemoryToolRequest;

use super::tool::{Access, Request, Tool, tool_for};

/// One compatibility API.
pub struct CompatApi {
    /// Its name in the setting `tools.doors`.
    pub name: &'static str,
    /// Which interface it offers.
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

const fn at<R: Request>(api: &'static str, name: &'static str, access: Access, idempotent: bool) -> Tool {
    let mut tool = tool_for::<R>(name, access, idempotent);
    tool.compat = Some(api);
    tool
}

/// Every tool of a compatibility API.
pub static COMPAT_TOOLS: [Tool; 16] = [
    at::<MemoryToolRequest>("memory-tool", "memory_tool", Access::Destroy, false),
    at::<AddRequest>("mem0", "mem0_add", Access::Write, true),
    at::<FindRequest>("mem0", "mem0_find", Access::Read, true),
    at::<ChangeRequest>("mem0", "mem0_update", Access::Write, true),
    at::<GoneRequest>("mem0", "mem0_delete", Access::Destroy, true),
    at::<PastRequest>("mem0", "mem0_history", Access::Read, true),
    at::<OwnersRequest>("mem0", "mem0_owners", Access::Read, true),
    at::<CreateEntities>("memory-server", "create_entities", Access::Write, false),
    at::<CreateRelations>("memory-server", "create_relations", Access::Write, false),
    at::<AddObservations>("memory-server", "add_observations", Access::Write, false),
    at::<DeleteEntities>("memory-server", "delete_entities", Access::Destroy, true),
    at::<DeleteObservations>("memory-server", "delete_observations", Access::Destroy, true),
    at::<DeleteRelations>("memory-server", "delete_relations", Access::Destroy, true),
    at::<ReadGraph>("memory-server", "read_graph", Access::Read, true),
    at::<SearchNodes>("memory-server", "search_nodes", Access::Read, true),
    at::<OpenNodes>("memory-server", "open_nodes", Access::Read, true),
];
