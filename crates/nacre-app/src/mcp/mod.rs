//! The tool table over MCP: both eras, `server/discover` of 2026-07-28 and `initialize` before it; over standard
//! input and output, and over streamable HTTP (`crates/nacre-app/src/serve/`).
//!
//! Every tool, its schemas and its hints come from the library's table. Nothing but protocol may go to
//! standard output.

mod app;
mod elicit;
#[cfg(debug_assertions)]
pub mod fixtures;
mod seat;
mod stdio;

use std::borrow::Cow;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use nacre::call::{BootRequest, BriefRequest, has_workspace};
use nacre::proposal::{self, State};
use nacre::settings::{Accept, Dialect, Inject};
use nacre::{Access, Actor, Answer, COMPAT_APIS, COMPAT_TOOLS, Caller, Form, Home, Role, TOOLS, View};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation, InputRequiredResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject,
    PaginatedRequestParams, Prompt, PromptMessage, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

use crate::args::Mcp;
use crate::context::{self, Context};
use crate::groups::who::Requester;

use seat::ClientSeat;
pub use seat::Seat;

/// A context for the start of a session, as a resource and a prompt.
struct Start {
    name: &'static str,
    uri: &'static str,
    about: &'static str,
    read: fn(&mut View<'_>) -> nacre::Result<String>,
}

static BRIEF: Start = Start {
    name: "brief",
    uri: "memory://brief",
    about: "Memories from earlier sessions: preferences and instructions first, then facts",
    read: |view| Ok(nacre::run(view, BriefRequest::default())?.text),
};
static BOOT: Start = Start {
    name: "boot",
    uri: "memory://boot",
    about: "The startup context of a session: workspace files, the brief and the skills",
    read: |view| Ok(nacre::run(view, BootRequest::default())?.text),
};

const MARKDOWN: &str = "text/markdown";

/// Tools that Claude Code should always show its model: a model does not use a memory that it first has to look for.
const ALWAYS_LOADED: &[&str] = &["memory_store", "memory_search", "memory_query", "memory_brief"];

/// Serves until standard input ends.
pub fn serve(context: &Context, args: &Mcp) -> Result<ExitCode> {
    let role = context.global.role.map_or(Role::Project, Into::into);
    let caller = Caller {
        role,
        untrusted: args.untrusted,
        visibility: context.global.visibility,
        zone: context::zone(),
        project_folder: context::working_project(),
        ..Caller::agent(context.session(), context.now())
    };
    let home = context::with_memory_limit(&context.home);
    let own = ClientSeat::new(&home, &context.global.group, caller, context.global.now);
    let server = Server::new(&home, Seat::ClientSeat(own.clone()));
    if home.embedder().is_some() {
        own.begin_behind();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(async {
        let running =
            server.serve(stdio::Stdio::new()?).await.context("the client did not open the conversation")?;
        running.waiting().await.context("the server stopped")
    })?;
    own.end(context.now());
    Ok(ExitCode::SUCCESS)
}

/// A call that may lead to a question to the user.
struct QuestionableCall<'a> {
    tool: &'a str,
    arguments: &'a Value,
    who: &'a Requester,
}

/// The server of one client.
#[derive(Clone)]
pub struct Server {
    home: Home,
    seat: Seat,
    /// Binds the second call of a question to the first.
    states: Arc<elicit::States>,
}

impl Server {
    pub fn new(home: &Home, seat: Seat) -> Server {
        Server { home: home.clone(), seat, states: Arc::default() }
    }

    /// Calls a tool.
    async fn call(
        &self,
        who: &Requester,
        tool: &'static nacre::Tool,
        arguments: Value,
    ) -> nacre::Result<Answer> {
        let home = self.home.clone();
        let call = move |view: &mut View<'_>| nacre::call_across(&home, view, tool, arguments, Form::Lean);
        self.seat.ask(who.clone(), call).await
    }

    /// Asks the user about a proposal that a call made, if the client can. The answer contains the result; `Err`: the client has
    /// to ask, and to call again.
    async fn put_to_person(
        &self,
        answer: Answer,
        asked: QuestionableCall<'_>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answer, Box<InputRequiredResult>> {
        let write = &self.home.settings().write;
        let (Some(number), Some(way)) = (answer.proposal, elicit::way(write.elicitation, context)) else {
            return Ok(answer);
        };
        let QuestionableCall { tool, arguments, who } = asked;
        let get = move |view: &mut View<'_>| proposal::get(view, number);
        let Ok(found) = self.seat.ask(who.clone(), get).await else { return Ok(answer) };
        // A question is asked only once.
        if found.client.is_some() {
            return Ok(answer);
        }
        let decides = write.accept == Accept::Client;
        let question = elicit::question(number, &found.target, &found.diff.to_string(), decides);
        match way {
            elicit::ElicitationForm::Ask => match elicit::ask(context, question).await {
                Some(accepted) => Ok(self.note_answer(answer, number, accepted, who).await),
                None => Ok(answer),
            },
            elicit::ElicitationForm::Answer => {
                let state = self.states.make(number, &who.caller.session, tool, arguments);
                Err(Box::new(elicit::required(question, state)))
            }
        }
    }

    /// Records the user's reply to the elicitation, and reports the proposal's new state.
    async fn note_answer(&self, mut answer: Answer, number: i64, accepted: bool, who: &Requester) -> Answer {
        let note = move |view: &mut View<'_>| proposal::answered(view, number, accepted);
        let said = match self.seat.ask(who.clone(), note).await {
            Ok(found) if found.state == State::Approved => {
                answer.data["written"] = true.into();
                format!("The user accepted: proposal {number} is applied.")
            }
            Ok(found) if found.state == State::Pending && accepted => format!(
                "The user accepted in the client; proposal {number} is written once they run `nacre approve {number}`."
            ),
            Ok(found) if found.state == State::Pending => {
                format!("The user declined in the client; proposal {number} is not written.")
            }
            Ok(found) => format!("Proposal {number} is {}.", found.state.as_str()),
            Err(error) => format!("Proposal {number} is not written: {error}."),
        };
        if let Ok(found) = self.seat.ask(who.clone(), move |view| proposal::get(view, number)).await {
            answer.data["status"] = found.state.as_str().into();
        }
        answer.data["note"] = said.as_str().into();
        answer.text = said;
        answer
    }

    /// Returns the brief or the startup context within its time limit; without it, the session starts anyway. The user's settings
    /// give it to agents, whether or not they may ask for it themselves.
    async fn start(&self, mut who: Requester, start: &Start) -> String {
        who.caller.actor = Actor::Person;
        let limit = Duration::from_millis(self.home.settings().brief.time_limit_ms);
        match tokio::time::timeout(limit, self.seat.ask(who, start.read)).await {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => {
                format!("The memory could not be read ({error}). The memory tools may still work.")
            }
            Err(_) => "The memory could not be read in time. The memory tools still work.".into(),
        }
    }

    /// Tells whether agents may call a tool.
    fn answers(&self, tool: &nacre::Tool) -> bool {
        let for_agents = match tool.compat {
            Some(name) => COMPAT_APIS.iter().any(|api| api.name == name && api.mcp),
            None => !tool.people,
        };
        for_agents && tool.is_callable(self.home.settings())
    }

    fn gives_brief(&self) -> bool {
        self.home.settings().brief.inject == Inject::Boot
    }

    fn gives_files(&self) -> bool {
        self.home.settings().boot.inject == Inject::Boot
    }

    fn has_resources(&self) -> bool {
        self.gives_brief() || self.gives_files()
    }

    /// Returns the page, or the list of changes that it shows; `None`: the address is another one.
    async fn app_resource(&self, uri: &str, who: &Requester) -> Option<nacre::Result<ResourceContents>> {
        let contents = match uri {
            app::PAGE_URI => Ok(ResourceContents::text(app::PAGE, uri).with_mime_type(app::HTML)),
            app::APPROVALS_URI => {
                let listed = self.seat.ask(who.clone(), app::approvals).await;
                listed.map(|text| ResourceContents::text(text, uri).with_mime_type("application/json"))
            }
            _ => return None,
        };
        Some(contents)
    }

    /// Returns the contexts for the start of a session, as resources and prompts. A startup context without workspace files would
    /// be the brief again.
    async fn starts(&self, who: &Requester) -> Vec<&'static Start> {
        let files = self.gives_files()
            && self.seat.ask(who.clone(), |view| Ok(has_workspace(view))).await.unwrap_or(false);
        let given = |start: &&Start| if start.name == BOOT.name { files } else { self.gives_brief() };
        [&BRIEF, &BOOT].into_iter().filter(given).collect()
    }

    /// Returns the context with this name or URI.
    fn named_start(&self, name: &str) -> Option<&'static Start> {
        let known = [(&BRIEF, self.gives_brief()), (&BOOT, self.gives_files())];
        known
            .into_iter()
            .find(|(start, given)| *given && (start.name == name || start.uri == name))
            .map(|(start, _)| start)
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = if self.has_resources() {
            ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build()
        } else {
            ServerCapabilities::builder().enable_tools().build()
        };
        let name = Implementation::new("nacre", env!("CARGO_PKG_VERSION")).with_title("Nacre");
        ServerConfig::new(capabilities)
            .with_server_info(name)
            .with_instructions(nacre::instructions(self.home.settings()))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&[
            ProtocolVersion::V_2025_06_18,
            ProtocolVersion::V_2025_11_25,
            ProtocolVersion::V_2026_07_28,
        ])
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.seat.ask_for_roots(&context.peer).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.seat.ask_for_roots(&context.peer).await;
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let has_page = self.has_resources() && app::is_supported(&context);
        // A tool that the role may not use would only cost tokens.
        let role = self.seat.who(&context)?.caller.role;
        let may_use = |tool: &&nacre::Tool| role != Role::Skill || tool.access == Access::Nothing;
        let tools = TOOLS
            .iter()
            .chain(&COMPAT_TOOLS)
            .filter(may_use)
            .filter(|tool| self.answers(tool) && tool.is_offered(self.home.settings()))
            .map(|tool| describe(tool, self.home.settings(), has_page))
            .collect();
        Ok(ListToolsResult::with_all_items(tools).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = nacre::tool(&request.name).filter(|tool| self.answers(tool)) else {
            return Err(ErrorData::invalid_params(
                format!("unknown tool `{}`", render_name(&request.name)),
                None,
            ));
        };
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        let who = self.seat.who(&context)?;
        // The second call of a question is about the proposal that the first made.
        let state = request.request_state.as_deref();
        let asked =
            state.and_then(|state| self.states.number(state, &who.caller.session, &request.name, &arguments));
        let called = match asked {
            Some(number) => {
                let data = json!({ "proposal": number, "status": "pending" });
                let text = format!("Not written yet: proposal {number} waits for the user.");
                let answer = Answer { data, text, proposal: Some(number) };
                match elicit::response(request.input_responses.as_ref()) {
                    Some(accepted) => Ok(self.note_answer(answer, number, accepted, &who).await),
                    None => Ok(answer),
                }
            }
            None => match self.call(&who, tool, arguments.clone()).await {
                Ok(answer) => {
                    let asked = QuestionableCall { tool: &request.name, arguments: &arguments, who: &who };
                    match self.put_to_person(answer, asked, &context).await {
                        Ok(answer) => Ok(answer),
                        Err(required) => return Ok((*required).into()),
                    }
                }
                Err(error) => Err(error),
            },
        };
        let result = match called {
            Ok(answer) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
                result.structured_content = Some(answer.data);
                result
            }
            // Clients of a compatibility API get the error in that API's form.
            Err(error) if tool.compat.is_some() => {
                CallToolResult::error(vec![ContentBlock::text(error.to_string())])
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
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let described = |uri: &str, name: &str, about: &str| {
            Resource::new(uri, name).with_description(about).with_mime_type(MARKDOWN)
        };
        let who = self.seat.who(&context)?;
        let starts = self.starts(&who).await;
        let mut resources: Vec<Resource> =
            starts.iter().map(|start| described(start.uri, start.name, start.about)).collect();
        if self.gives_files() {
            let files = self.seat.ask(who, |view| Ok(nacre::call::resources(view))).await;
            let files = files.unwrap_or_default();
            resources.extend(files.iter().map(|file| described(&file.uri(), file.name, file.about)));
        }
        Ok(ListResourcesResult::with_all_items(resources)
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let who = self.seat.who(&context)?;
        let failed = |error: nacre::Error| {
            ErrorData::internal_error(error.to_string(), Some(json!({ "code": error.code() })))
        };
        let given = |contents: ResourceContents| {
            ReadResourceResult::new(vec![contents]).with_ttl_ms(0).with_cache_scope(CacheScope::Private)
        };
        if self.has_resources()
            && app::is_supported(&context)
            && let Some(contents) = self.app_resource(&request.uri, &who).await
        {
            return Ok(given(contents.map_err(failed)?).into());
        }
        let text = match self.named_start(&request.uri).filter(|start| start.uri == request.uri) {
            Some(start) => Some(self.start(who, start).await),
            None if self.gives_files() => {
                let uri = request.uri.clone();
                let read = move |view: &mut View<'_>| nacre::call::resource(view, &uri);
                self.seat.ask(who, read).await.map_err(failed)?
            }
            None => None,
        };
        let Some(text) = text else {
            return Err(ErrorData::resource_not_found(
                format!("there is no resource `{}`", render_name(&request.uri)),
                Some(json!({ "uri": request.uri })),
            ));
        };
        let contents = ResourceContents::text(text, &request.uri).with_mime_type(MARKDOWN);
        Ok(given(contents).into())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let file = ResourceTemplate::new("memory://file/{+path}", "file")
            .with_description("A Markdown file of the workspace by its path, such as memory/2026-02-18.md")
            .with_mime_type(MARKDOWN);
        let templates = if self.gives_files() { vec![file] } else { Vec::new() };
        Ok(ListResourceTemplatesResult::with_all_items(templates)
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let who = self.seat.who(&context)?;
        let prompt = |start: &&Start| Prompt::new(start.name, Some(start.about), None);
        let prompts = self.starts(&who).await.iter().map(prompt).collect();
        Ok(ListPromptsResult::with_all_items(prompts).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let who = self.seat.who(&context)?;
        let Some(start) = self.named_start(&request.name).filter(|start| start.name == request.name) else {
            return Err(ErrorData::invalid_params(
                format!("there is no prompt `{}`", render_name(&request.name)),
                None,
            ));
        };
        let message = PromptMessage::new_text(rmcp::model::Role::User, self.start(who, start).await);
        Ok(GetPromptResult::new(vec![message]).with_description(start.about).into())
    }
}

/// Describes a tool. `has_page`: the client shows the page beside its answers.
fn describe(tool: &nacre::Tool, settings: &nacre::Settings, has_page: bool) -> Tool {
    let object = |value: Value| match value {
        Value::Object(fields) => fields,
        other => unreachable!("a schema is an object, not {other}"),
    };
    let mut input = object(tool.listed_schema(settings));
    let about = input
        .remove("description")
        .and_then(|about| about.as_str().map(|about| about.replace('\n', " ")))
        .unwrap_or_default();
    // Hints that only repeat the protocol's defaults are left out.
    let hints = ToolAnnotations::new().open_world(false);
    let hints = match tool.access {
        Access::Read | Access::Nothing => hints.read_only(true),
        Access::Write if tool.idempotent => hints.destructive(false).idempotent(true),
        Access::Write => hints.destructive(false),
        Access::Destroy => hints.destructive(true).idempotent(tool.idempotent),
    };
    let described = Tool::new(tool.name, about, input)
        .with_raw_output_schema(Arc::new(object(tool.lean_output_schema())))
        .with_annotations(hints);
    let mut meta = serde_json::Map::new();
    if ALWAYS_LOADED.contains(&tool.name) {
        meta.insert("anthropic/alwaysLoad".into(), true.into());
    }
    if settings.dialect == Dialect::Carapace {
        meta.insert("risk_level".into(), "low".into());
    }
    if has_page && app::TOOLS.contains(&tool.name) {
        meta.insert("ui".into(), json!({ "resourceUri": app::PAGE_URI }));
    }
    if meta.is_empty() { described } else { described.with_meta(MetaObject(meta)) }
}

fn render_name(name: &str) -> String {
    name.chars().take(60).collect()
}
