//! A language model behind a URL: `POST {url}/chat/completions`, as OpenAI and most local servers implement
//! it. Requests, errors and messages are handled like those of embedding models.

use serde_json::{Value, json};
use std::time::Duration;
use ureq::http::header::AUTHORIZATION;

use super::answer::{self, HiddenText};
use super::options::Timeouts;
use super::request::Endpoint;
use crate::base::redact;
use crate::base::secret::Secret;
use crate::base::{Error, Result};

/// The maximum number of bytes of a response that are read.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The name of the limit of an answer for newer models.
const NEWER_LIMIT: &str = "max_completion_tokens";

/// A question to a model.
pub(crate) struct ChatQuestion<'q> {
    pub(crate) instruction: &'q str,
    pub(crate) text: &'q str,
    /// The most tokens of the answer.
    pub(crate) max_tokens: Option<u64>,
    /// The JSON schema of the answer.
    pub(crate) schema: Option<Value>,
}

/// The answer of a model.
pub(crate) struct ChatAnswer {
    pub(crate) text: String,
    /// The tokens of the request and the answer, if the server reports them.
    pub(crate) tokens: Option<u64>,
}

/// A language model behind a URL.
pub struct Chat {
    endpoint: Endpoint,
    model: String,
    key: Option<Secret>,
    patience: Timeouts,
}

impl Chat {
    /// Checks the address without sending anything. `timeout` limits the wait for a response.
    pub fn new(url: &str, model: &str, key: Option<Secret>, timeout: Duration) -> Result<Chat> {
        if model.trim().is_empty() {
            let problem = "is empty".to_owned();
            return Err(Error::BadProvider { section: "llm", field: "model", problem });
        }
        let base = url.trim().trim_end_matches('/');
        let base = base.strip_suffix("/chat/completions").unwrap_or(base);
        let named = key.as_ref().map(|key| (AUTHORIZATION, key));
        let endpoint = Endpoint::at("llm", base, "/chat/completions", named)?;
        let patience = Timeouts { whole: timeout, tries: 1, ..Timeouts::DOCUMENTS };
        Ok(Chat { endpoint, model: model.trim().to_owned(), key, patience })
    }

    /// Returns the name of the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Sends a question, and returns the model's answer. The text is redacted. What a server does not know of the question is
    /// said in another way, or left out.
    pub(crate) fn ask(&self, question: &ChatQuestion<'_>) -> Result<ChatAnswer> {
        let text = redact::text(question.text);
        let messages = json!([
            { "role": "system", "content": question.instruction },
            { "role": "user", "content": text },
        ]);
        let mut body =
            json!({ "model": self.model, "messages": messages, "temperature": 0, "stream": false });
        if let Some(most) = question.max_tokens {
            body["max_tokens"] = most.into();
        }
        if let Some(schema) = &question.schema {
            let named = json!({ "name": "answer", "schema": schema });
            body["response_format"] = json!({ "type": "json_schema", "json_schema": named });
        }
        loop {
            let refused = match self.send(&body, &text) {
                Err(refused @ Error::ProviderRefused { .. }) => refused,
                answer => return answer,
            };
            let said = refused.to_string();
            let fields = body.as_object_mut().expect("made above");
            if said.contains(NEWER_LIMIT)
                && let Some(most) = fields.remove("max_tokens")
            {
                fields.insert(NEWER_LIMIT.to_owned(), most);
                continue;
            }
            let knows_no_form = said.contains("response_format") || said.contains("json_schema");
            if !knows_no_form || fields.remove("response_format").is_none() {
                return Err(refused);
            }
        }
    }

    fn send(&self, question: &Value, text: &str) -> Result<ChatAnswer> {
        let host = || self.endpoint.host.clone();
        let hidden = HiddenText { key: self.key.as_ref().map(Secret::expose), texts: &[text] };
        let reply = self
            .endpoint
            .post(&serde_json::to_vec(question)?, &self.patience, MAX_ANSWER_BYTES)
            .map_err(|broken| Error::ProviderDown {
                host: host(),
                problem: answer::shown(&broken.problem, &hidden),
            })?;
        if reply.status != 200 {
            let (host, status) = (host(), reply.status);
            let said = answer::said(&reply.body, &hidden);
            return Err(match status {
                401 | 403 => Error::ProviderDenied { host, status, said },
                404 => Error::UnknownModel { host, model: self.model.clone(), said },
                429 => Error::ProviderBusy { host, wait: reply.retry_after.map(|wait| wait.as_secs()), said },
                300..=399 => {
                    let to = reply.location.map(|to| format!(" to `{to}`")).unwrap_or_default();
                    let problem = format!("is a redirect{to}, and redirects are not followed");
                    Error::ProviderAnswer { host, problem }
                }
                400..=499 => Error::ProviderRefused { host, status, said },
                _ => Error::ProviderDown { host, problem: format!("answers {status}{said}") },
            });
        }
        let wrong = |problem: &str| Error::ProviderAnswer { host: host(), problem: problem.to_owned() };
        if reply.cut {
            return Err(wrong("is too long"));
        }
        let answer: Value = serde_json::from_slice(&reply.body).map_err(|_| wrong("is not JSON"))?;
        let said = answer.pointer("/choices/0/message/content").and_then(Value::as_str);
        let text = said.ok_or_else(|| wrong("has no message"))?.trim().to_owned();
        Ok(ChatAnswer { text, tokens: answer.pointer("/usage/total_tokens").and_then(Value::as_u64) })
    }
}
