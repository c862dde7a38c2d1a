//! The tool table over MCP (I2): both eras, `server/discover` of 2026-07-28 and `initialize` before it.
//!
//! Every tool, its schemas and its hints come from the library's table. Nothing but protocol may go to
//! standard output.

pub mod behind;
mod stdio;
mod watch;

use std::borrow::Cow;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use nacre::settings::Inject;
use nacre::{Access, Answer, Caller, Group, GroupName, Home, Role, SKILL, SessionId, TOOLS};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult,
    ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams, Prompt, PromptMessage,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

use crate::args::Mcp;
use crate::context::{self, Context, now};

use behind::Behind;
use watch::Watch;

const BRIEF_URI: &str = "memory://brief";
const BRIEF_NAME: &str = "brief";
const BRIEF_ABOUT: &str =
    "What is remembered from earlier sessions: preferences and instructions first, then facts";

/// The keys of `_meta` in which a client may say which conversation a call belongs to: our own, Codex's.
const SESSION_KEYS: &[&str] = &["nacre/session", "sessionId"];

/// Tools that Claude Code should show its model without being asked: a memory that has to be searched for is
/// not remembered.
const ALWAYS_LOADED: &[&str] = &["memory_store", "memory_search", "memory_query", "memory_brief"];

/// Serves until standard input ends.
pub fn serve(context: &Context, args: &Mcp) -> Result<ExitCode> {
    let role = context.global.role.map_or(Role::Project, Into::into);
    let visibility = context.global.visibility;
    let caller = Caller {
        role,
        untrusted: args.untrusted,
        visibility,
        ..Caller::agent(context.session(), context.now())
    };
    let server = Server {
        home: context.home.clone(),
        name: context.global.group.clone(),
        caller,
        clock: context.global.now,
        group: Arc::new(Mutex::new(None)),
        behind: Arc::default(),
    };
    let (group, behind) = (server.group.clone(), server.behind.clone());
    if context.home.embedder().is_some() {
        server.begin_behind();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(async {
        let running =
            server.serve(stdio::Stdio::new()?).await.context("the client did not open the conversation")?;
        running.waiting().await.context("the server stopped")
    })?;
    if let Some(behind) = lock(&behind).take() {
        behind.end();
    }
    // What was recalled since the last write is remembered; that it can't be is no reason to fail.
    if let Some((group, _)) = &mut *lock(&group) {
        let _ = group.settle(context.now());
    }
    // One after the other: of two that close a database at once neither may be the last.
    drop(group);
    Ok(ExitCode::SUCCESS)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Server {
    home: Home,
    name: GroupName,
    caller: Caller,
    /// A fixed time, in tests.
    clock: Option<nacre::Time>,
    /// Opened by the first call: a store that is down is the answer to a call, not a server that does not
    /// start.
    group: Arc<Mutex<Option<(Group, Watch)>>>,
    /// Set once what is done behind the calls has begun.
    behind: Arc<Mutex<Option<Behind>>>,
}

impl Server {
    /// Begins with what is done behind the calls. Without a provider that is after the first call opened the
    /// group: it is the one to hear what is wrong with it.
    fn begin_behind(&self) {
        lock(&self.behind).get_or_insert_with(|| Behind::begin(&self.home, &self.name));
    }

    /// Calls a tool on a blocking thread.
    async fn call(&self, tool: &str, arguments: Value, session: Option<SessionId>) -> nacre::Result<Answer> {
        let (home, name, tool) = (self.home.clone(), self.name.clone(), tool.to_owned());
        let now = self.clock.unwrap_or_else(now);
        let session = session.unwrap_or_else(|| self.caller.session.clone());
        let caller = Caller { now, session, ..self.caller.clone() };
        let group = self.group.clone();
        let call = move || {
            // A call that panicked may have left the handle half changed: a new one is opened.
            let mut group = group.lock().unwrap_or_else(|poisoned: PoisonError<_>| {
                group.clear_poison();
                let mut held = poisoned.into_inner();
                *held = None;
                held
            });
            let (group, watch) = match &mut *group {
                Some(open) => open,
                none => none.insert((context::open(&home, &name, now)?, Watch::default())),
            };
            watch.keep(group);
            nacre::call_across(&home, group, &caller, &tool, arguments)
        };
        let answer = tokio::task::spawn_blocking(call).await.unwrap_or_else(|panic| {
            let source = std::io::Error::other(format!("the call failed: {panic}"));
            Err(nacre::Error::Io { path: self.home.path().to_owned(), source })
        });
        if answer.is_ok() {
            self.begin_behind();
        }
        answer
    }

    /// The brief, within its time limit; without it the session starts all the same (B3).
    async fn brief(&self) -> String {
        let limit = Duration::from_millis(self.home.settings().brief.time_limit_ms);
        match tokio::time::timeout(limit, self.call("memory_brief", json!({}), None)).await {
            Ok(Ok(answer)) => answer.text,
            Ok(Err(error)) => {
                format!("The memory could not be read ({error}). The memory tools may still work.")
            }
            Err(_) => "The memory could not be read in time. The memory tools still work.".into(),
        }
    }

    fn offers(&self, name: &str) -> bool {
        self.home.settings().tools.offer.iter().any(|offered| offered == name)
    }

    fn injects(&self) -> bool {
        self.home.settings().brief.inject == Inject::Boot
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = if self.injects() {
            ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build()
        } else {
            ServerCapabilities::builder().enable_tools().build()
        };
        let name = Implementation::new("nacre", env!("CARGO_PKG_VERSION")).with_title("Nacre");
        ServerConfig::new(capabilities)
            .with_server_info(name)
            .with_instructions(instructions(self.home.settings()))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&[
            ProtocolVersion::V_2025_06_18,
            ProtocolVersion::V_2025_11_25,
            ProtocolVersion::V_2026_07_28,
        ])
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = TOOLS
            .iter()
            .filter(|tool| self.offers(tool.name))
            .map(|tool| describe(tool, self.home.settings()))
            .collect();
        Ok(ListToolsResult::with_all_items(tools).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.offers(&request.name) || nacre::tool(&request.name).is_none() {
            return Err(ErrorData::invalid_params(
                format!("unknown tool `{}`", render_name(&request.name)),
                None,
            ));
        }
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        let session = serde_json::to_value(&context.meta)
            .ok()
            .and_then(|meta| SESSION_KEYS.iter().find_map(|key| meta[*key].as_str()?.parse().ok()));
        let result = match self.call(&request.name, arguments, session).await {
            Ok(answer) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
                result.structured_content = Some(answer.data);
                result
            }
            Err(error) => {
                let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
                CallToolResult::error(vec![ContentBlock::text(format!(
                    "error ({}): {error}{hint}",
                    error.code()
                ))])
            }
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let brief = Resource::new(BRIEF_URI, BRIEF_NAME)
            .with_description(BRIEF_ABOUT)
            .with_mime_type("text/markdown");
        let resources = if self.injects() { vec![brief] } else { Vec::new() };
        Ok(ListResourcesResult::with_all_items(resources)
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != BRIEF_URI || !self.injects() {
            return Err(ErrorData::resource_not_found(
                format!("there is no resource `{}`", render_name(&request.uri)),
                Some(json!({ "uri": request.uri })),
            ));
        }
        let contents = ResourceContents::text(self.brief().await, BRIEF_URI).with_mime_type("text/markdown");
        Ok(ReadResourceResult::new(vec![contents])
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private)
            .into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts =
            if self.injects() { vec![Prompt::new(BRIEF_NAME, Some(BRIEF_ABOUT), None)] } else { Vec::new() };
        Ok(ListPromptsResult::with_all_items(prompts).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != BRIEF_NAME || !self.injects() {
            return Err(ErrorData::invalid_params(
                format!("there is no prompt `{}`", render_name(&request.name)),
                None,
            ));
        }
        let message = PromptMessage::new_text(rmcp::model::Role::User, self.brief().await);
        Ok(GetPromptResult::new(vec![message]).with_description(BRIEF_ABOUT).into())
    }
}

/// What the server tells an agent about using it (B4), with this profile's budget.
fn instructions(settings: &nacre::Settings) -> String {
    let offered = |name: &str| settings.tools.offer.iter().any(|tool| tool == name);
    // A paragraph about a tool that is not offered would only confuse.
    let fits = |paragraph: &&str| {
        let named = TOOLS.iter().map(|tool| tool.name).filter(|name| paragraph.contains(name));
        named.clone().next().is_none() || named.clone().any(offered)
    };
    let mut text = SKILL.split("\n\n").filter(fits).collect::<Vec<_>>().join("\n\n").trim_end().to_owned();
    for (absent, instead) in [("memory_search", "memory_query")] {
        if !offered(absent) && offered(instead) {
            text = text.replace(absent, instead);
        }
    }
    if settings.limits.store > 0 {
        text.push_str(&format!("\n\nA session may store {} memories. Be choosy.", settings.limits.store));
    }
    text
}

fn describe(tool: &nacre::Tool, settings: &nacre::Settings) -> Tool {
    let object = |value: Value| match value {
        Value::Object(fields) => fields,
        other => unreachable!("a schema is an object, not {other}"),
    };
    let mut input = object(tool.input_schema(settings));
    let about = input
        .remove("description")
        .and_then(|about| about.as_str().map(|about| about.replace('\n', " ")))
        .unwrap_or_default();
    let hints = ToolAnnotations::new()
        .read_only(tool.access == Access::Read)
        .destructive(tool.access == Access::Destroy)
        .idempotent(tool.idempotent)
        .open_world(false);
    let described = Tool::new(tool.name, about, input)
        .with_raw_output_schema(Arc::new(object(tool.output_schema())))
        .with_annotations(hints);
    if ALWAYS_LOADED.contains(&tool.name) {
        described.with_meta(MetaObject(object(json!({ "anthropic/alwaysLoad": true }))))
    } else {
        described
    }
}

fn render_name(name: &str) -> String {
    name.chars().take(60).collect()
}
