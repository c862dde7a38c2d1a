//! Compatibility APIs over HTTP: paths, headers and bodies of other memories, turned into calls of the tools in
//! `nacre`'s module `compat`. The MCP memory server needs none of this: its tools are served over MCP.

pub mod mem0;
pub mod memory_tool;
