//! Fixtures of the official conformance suite: tools, resources and prompts that it calls by name, next to our own, only in test
//! builds (`nacre serve --fixtures`). They show that the protocol is complete, with streams, questions and states. Their contents
//! are in `fixtures.json`.
#![expect(deprecated, reason = "the suite tests what older revisions have: logs, sampling, subscriptions")]

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Server;

static FIXTURES: LazyLock<Fixtures> =
    LazyLock::new(|| serde_json::from_str(include_str!("fixtures.json")).expect("fixtures are JSON"));
/// The key that signs states.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

const TEMPLATE: (&str, &str) = ("test://template/", "/data");
/// The pause between two notifications, so that they arrive separately.
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Deserialize)]
struct Fixtures {
    /// The immediate answer of a tool.
    answers: BTreeMap<String, PromptMessage>,
    /// The arguments of a tool, if it takes any.
    schemas: BTreeMap<String, JsonObject>,
    /// The question of a tool before 2026-07-28.
    forms: BTreeMap<String, Value>,
    /// The questions of a tool or prompt since then, round by round.
    rounds: BTreeMap<String, Vec<InputRequests>>,
    resources: BTreeMap<String, Value>,
    prompts: BTreeMap<String, Template>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptMessage {
    content: Vec<ContentBlock>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct Template {
    #[serde(default)]
    arguments: Vec<String>,
    messages: Value,
}

/// Our server, with the fixtures next to its own tools.
#[derive(Clone)]
pub struct WithFixtures(pub Server);

impl Fixtures {
    fn tools(&self) -> impl Iterator<Item = Tool> {
        let asked = self.rounds.keys().filter(|name| !self.prompts.contains_key(*name));
        let named = self.answers.keys().chain(self.forms.keys()).chain(asked);
        named.map(String::as_str).chain(["test_sampling"]).map(|name| self.tool(name))
    }

    fn tool(&self, name: &str) -> Tool {
        let none = || JsonObject::from_iter([("type".to_owned(), json!("object"))]);
        let schema = self.schemas.get(name).cloned().unwrap_or_else(none);
        Tool::new(name.to_owned(), "A fixture of the conformance suite", Arc::new(schema))
    }

    fn resource(&self, uri: &str) -> Option<ResourceContents> {
        let mut found = self.resources.get(uri).cloned().or_else(|| {
            let id = uri.strip_prefix(TEMPLATE.0)?.strip_suffix(TEMPLATE.1)?;
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            Some(json!({ "mimeType": "application/json", "text": data.to_string() }))
        })?;
        found["uri"] = uri.into();
        serde_json::from_value(found).ok()
    }

    fn prompt(&self, name: &str, arguments: &JsonObject) -> Option<GetPromptResult> {
        let mut text = self.prompts.get(name)?.messages.to_string();
        for (key, value) in arguments {
            let quoted = value.as_str().map(|value| json!(value).to_string()).unwrap_or_default();
            text = text.replace(&format!("{{{key}}}"), quoted.trim_matches('"'));
        }
        Some(GetPromptResult::new(serde_json::from_str(&text).ok()?))
    }

    /// Returns the questions of the next round. `None`: there are none left.
    fn ask(
        &self,
        name: &str,
        responses: Option<&InputResponses>,
        state: Option<&str>,
        can: Option<&ClientCapabilities>,
    ) -> Result<Option<InputRequiredResult>, ErrorData> {
        let Some(rounds) = self.rounds.get(name) else { return Ok(None) };
        let sign = |round: usize| format!("{round}.{:016x}", KEY.hash_one((name, round)));
        let reached = match state {
            None => 0,
            Some(state) => (0..rounds.len())
                .find(|round| sign(*round) == state)
                .ok_or_else(|| ErrorData::invalid_params("this state is not ours", None))?,
        };
        let answered =
            |key: &String| responses.is_some_and(|given| given.get(key).is_some_and(Value::is_object));
        let round = reached + usize::from(rounds[reached].keys().all(answered));
        let Some(needed) = rounds.get(round) else { return Ok(None) };
        let mut needed = needed.clone();
        if name.ends_with("_capabilities") {
            needed.retain(|_, request| match request {
                InputRequest::Elicitation(_) => can.is_some_and(|can| can.elicitation.is_some()),
                _ => true,
            });
        }
        Ok(Some(InputRequiredResult::new(Some(needed), Some(sign(round)))))
    }
}

/// Sends a request to the client, as revisions before 2026-07-28 do.
async fn asked(context: &RequestContext<RoleServer>, request: Value) -> Result<ClientResult, ErrorData> {
    let request: ServerRequest = serde_json::from_value(request).expect("a fixture is a request");
    let answer = context.peer.send_request(request).await;
    answer.map_err(|problem| ErrorData::internal_error(problem.to_string(), None))
}

/// Describes the client's answer.
fn said(what: &str, answer: &ClientResult) -> CallToolResult {
    let answer = serde_json::to_value(answer).unwrap_or_default();
    let text = match what {
        "test_sampling" => {
            format!("LLM response: {}", answer["content"]["text"].as_str().unwrap_or_default())
        }
        "test_elicitation" => {
            format!("User response: action: {}, content: {}", answer["action"], answer["content"])
        }
        _ => format!("Elicitation completed: action={}, content={}", answer["action"], answer["content"]),
    };
    CallToolResult::success(vec![ContentBlock::text(text)])
}

async fn told_log(context: &RequestContext<RoleServer>) {
    for (at, line) in
        ["Tool execution started", "Tool processing data", "Tool execution completed"].iter().enumerate()
    {
        if at > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        let told = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(line));
        let _ = context.peer.notify_logging_message(told).await;
    }
}

async fn told_progress(context: &RequestContext<RoleServer>) {
    for progress in [0.0, 50.0, 100.0] {
        if progress > 0.0 {
            tokio::time::sleep(PAUSE).await;
        }
        if let Some(token) = context.meta.get_progress_token() {
            let told = ProgressNotificationParam::new(token, progress).with_total(100.0);
            let _ = context.peer.notify_progress(told).await;
        }
    }
}

impl ServerHandler for WithFixtures {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.0.get_info();
        let more = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .build();
        info.capabilities = more;
        info
    }

    fn supported_protocol_versions(&self) -> std::borrow::Cow<'static, [ProtocolVersion]> {
        self.0.supported_protocol_versions()
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        FIXTURES.tools().find(|tool| tool.name == name)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut list = self.0.list_tools(request, context).await?;
        list.tools.extend(FIXTURES.tools());
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.as_ref();
        let argument = |key: &str| request.arguments.as_ref().and_then(|given| given.get(key)).cloned();
        if FIXTURES.rounds.contains_key(name) {
            let (given, state) = (request.input_responses.as_ref(), request.request_state.as_deref());
            let done = || CallToolResult::success(vec![ContentBlock::text("All is answered, state-ok")]);
            let asks = FIXTURES.ask(name, given, state, context.client_capabilities().as_ref())?;
            return Ok(asks.map_or_else(|| done().into(), Into::into));
        }
        if let Some(form) = FIXTURES.forms.get(name) {
            let message = argument("message").unwrap_or_else(|| "Please fill this in".into());
            let form = json!({ "mode": "form", "message": message, "requestedSchema": form });
            let answer = asked(&context, json!({ "method": "elicitation/create", "params": form })).await?;
            return Ok(said(name, &answer).into());
        }
        match name {
            "test_sampling" => {
                let content = json!({ "type": "text", "text": argument("prompt") });
                let params =
                    json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": 100 });
                let answer =
                    asked(&context, json!({ "method": "sampling/createMessage", "params": params })).await?;
                return Ok(said(name, &answer).into());
            }
            "test_missing_capability"
                if context.client_capabilities().is_none_or(|can| can.sampling.is_none()) =>
            {
                let needed = ClientCapabilities::builder().enable_sampling().build();
                return Err(ErrorData::missing_required_client_capability(needed));
            }
            "test_tool_with_logging" => told_log(&context).await,
            "test_tool_with_progress" => told_progress(&context).await,
            _ => {}
        }
        match FIXTURES.answers.get(name) {
            Some(said) if said.is_error => Ok(CallToolResult::error(said.content.clone()).into()),
            Some(said) => Ok(CallToolResult::success(said.content.clone()).into()),
            None => self.0.call_tool(request, context).await,
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut list = self.0.list_resources(request, context).await?;
        let fixtures = FIXTURES.resources.keys();
        list.resources.extend(fixtures.map(|uri| Resource::new(uri, uri).with_description("A fixture")));
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut list = self.0.list_resource_templates(request, context).await?;
        let uri = format!("{}{{id}}{}", TEMPLATE.0, TEMPLATE.1);
        list.resource_templates.push(ResourceTemplate::new(uri, "template").with_description("A fixture"));
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match FIXTURES.resource(&request.uri) {
            Some(found) => Ok(ReadResourceResult::new(vec![found])
                .with_ttl_ms(0)
                .with_cache_scope(CacheScope::Private)
                .into()),
            None => self.0.read_resource(request, context).await,
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut list = self.0.list_prompts(request, context).await?;
        list.prompts.extend(FIXTURES.prompts.iter().map(|(name, prompt)| {
            let arguments = prompt.arguments.iter().map(|name| PromptArgument::new(name).with_required(true));
            Prompt::new(name, Some("A fixture"), Some(arguments.collect()))
        }));
        Ok(list)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.clone().unwrap_or_default();
        let Some(found) = FIXTURES.prompt(&request.name, &arguments) else {
            return self.0.get_prompt(request, context).await;
        };
        let (given, state) = (request.input_responses.as_ref(), request.request_state.as_deref());
        let asks = FIXTURES.ask(&request.name, given, state, context.client_capabilities().as_ref())?;
        Ok(asks.map_or_else(|| found.into(), Into::into))
    }
}
