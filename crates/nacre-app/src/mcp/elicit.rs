//! Asks the user about a proposal through the client, as a convenience. The client's report of the answer is recorded on the
//! proposal and decides nothing, unless `write.accept` allows it.
//!
//! Before 2026-07-28 the server asks and waits (`elicitation/create`); since then it answers that input is required, and
//! the client calls again with it. A state that only this process can make names the proposal of the second call.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

use nacre::SessionId;
use nacre::settings::Elicitation;
use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequests, InputRequiredResult, InputResponses, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use serde_json::Value;

/// The key of the question in an answer that asks for input.
const KEY: &str = "approval";
/// How long the user may take before the call continues without an answer. The proposal still waits.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// The longest diff in a question, in characters.
const MAX_DIFF_CHARS: usize = 3_000;

/// How a client can be asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ElicitationForm {
    /// By a request of the server's own.
    Ask,
    /// By an answer that input is required.
    Answer,
}

/// Tells how this client can be asked, if the settings and the client allow it.
pub fn way(setting: Elicitation, context: &RequestContext<RoleServer>) -> Option<ElicitationForm> {
    let can = context.client_capabilities()?.elicitation?;
    // A client that names neither form nor URL supports forms: that is how they were declared at first.
    let forms = can.form.is_some() || can.url.is_none();
    if setting == Elicitation::Off || !forms {
        return None;
    }
    let version = context.protocol_version()?;
    Some(if version >= ProtocolVersion::V_2026_07_28 {
        ElicitationForm::Answer
    } else {
        ElicitationForm::Ask
    })
}

/// Asks, and returns whether the user agrees, as the client reports it; `None`: there was no answer.
pub async fn ask(context: &RequestContext<RoleServer>, question: String) -> Option<bool> {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form(question)));
    let options = PeerRequestOptions::no_options();
    let sent = context.peer.send_cancellable_request(request, options).await.ok()?;
    match tokio::time::timeout(ANSWER_TIMEOUT, sent.await_response()).await.ok()?.ok()? {
        ClientResult::ElicitResult(result) => said(&result),
        _ => None,
    }
}

/// Returns the answer that asks for input.
pub fn required(question: String, state: String) -> InputRequiredResult {
    let request = InputRequest::Elicitation(ElicitRequest::new(form(question)));
    InputRequiredResult::new(Some(InputRequests::from([(KEY.to_owned(), request)])), Some(state))
}

/// Reads the input of the second call.
pub fn response(responses: Option<&InputResponses>) -> Option<bool> {
    let result: ElicitResult = serde_json::from_value(responses?.get(KEY)?.clone()).ok()?;
    said(&result)
}

fn said(result: &ElicitResult) -> Option<bool> {
    match result.action {
        ElicitationAction::Accept => Some(true),
        ElicitationAction::Decline => Some(false),
        _ => None,
    }
}

/// A question that is answered by accepting or declining it, with nothing to fill in.
fn form(message: String) -> ElicitRequestParams {
    let requested_schema = ElicitationSchema::new(Default::default());
    ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema }
}

/// The question about a proposal.
pub fn question(number: i64, target: &str, diff: &str, decides: bool) -> String {
    let (shown, cut) = match diff.char_indices().nth(MAX_DIFF_CHARS) {
        Some((at, _)) => (&diff[..at], "\n[… cut; `nacre pending` shows all of it]"),
        None => (diff, ""),
    };
    let then = match decides {
        true => String::new(),
        false => format!("\nIt is written only once you run `nacre approve {number}` in a terminal."),
    };
    format!("An agent wants to change {target} (proposal {number}):\n\n{shown}{cut}\n{then}")
}

/// The secret key that signs and verifies states.
#[derive(Default)]
pub struct States(RandomState);

impl States {
    /// Makes the state of a question about a proposal, bound to its session and call.
    pub fn make(&self, number: i64, session: &SessionId, tool: &str, arguments: &Value) -> String {
        format!("{number}.{:016x}", self.sign(number, session, tool, arguments))
    }

    /// Returns the proposal of a state that this made for the same session and call.
    pub fn number(&self, state: &str, session: &SessionId, tool: &str, arguments: &Value) -> Option<i64> {
        let number = state.split('.').next()?.parse().ok()?;
        (self.make(number, session, tool, arguments) == state).then_some(number)
    }

    fn sign(&self, number: i64, session: &SessionId, tool: &str, arguments: &Value) -> u64 {
        self.0.hash_one((number, session.as_str(), tool, arguments.to_string()))
    }
}
