//! The MCP App (SEP-1865): a small page that clients show beside the answers of a search. It only reads: it searches with
//! the tools of the session, and lists the changes that wait for the user.

use nacre::proposal::{self, Proposal};
use nacre::{Role, View};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Value, json};

/// The extension that a client announces.
const EXTENSION: &str = "io.modelcontextprotocol/ui";
/// The type of the page.
pub const HTML: &str = "text/html;profile=mcp-app";
/// The address of the page.
pub const PAGE_URI: &str = "ui://nacre/memory";
/// The address of the list of changes that wait.
pub const APPROVALS_URI: &str = "ui://nacre/approvals";
/// The page: one file without outside requests.
pub const PAGE: &str = include_str!("app.html");
/// Tools whose answers it shows.
pub const TOOLS: &[&str] = &["memory_search", "memory_query"];

/// Tells whether a client shows such pages.
pub fn is_supported(context: &RequestContext<RoleServer>) -> bool {
    let extensions = context.client_capabilities().and_then(|can| can.extensions).unwrap_or_default();
    let types = extensions.get(EXTENSION).and_then(|details| details.get("mimeTypes"));
    types.and_then(Value::as_array).is_some_and(|types| types.iter().any(|one| one == HTML))
}

/// Returns the changes that wait for the user, without their texts.
pub fn approvals(view: &mut View<'_>) -> nacre::Result<String> {
    let caller = view.caller();
    if caller.role == Role::Skill {
        return Err(nacre::Error::RoleDenied { tool: "resources".into(), role: caller.role.as_str() });
    }
    let shown = |one: Proposal| json!({ "number": one.number, "target": one.target, "reason": nacre::redact::text(&one.reason), "lines": one.lines, "at": one.at });
    let waiting: Vec<Value> = proposal::list(view, false)?.into_iter().map(shown).collect();
    Ok(json!({ "proposals": waiting }).to_string())
}
