//! A program or a model that a person named, which reads text and answers with JSON. Conversations and documents reach either in
//! this way only, and every request counts towards the limit of the day ([`meter`](super::meter)).

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::meter::{self, metered};
use crate::base::text::cut;
use crate::base::{Error, Result};
use crate::group::View;
use crate::index::embed::http::{ChatAnswer, ChatQuestion};

/// Asks a program or a model about a text.
type Ask = dyn Fn(&str) -> Result<ChatAnswer>;

/// Reads the JSON of an answer, which may be in a code block. The error says what is wrong with it.
pub(crate) fn read_form<T: DeserializeOwned>(answer: &str) -> Result<T, String> {
    let answer = answer.trim();
    let fenced = answer.strip_prefix("```json").or_else(|| answer.strip_prefix("```"));
    let bare = fenced.and_then(|rest| rest.trim_end().strip_suffix("```")).unwrap_or(answer).trim();
    serde_json::from_str(bare).map_err(|problem| {
        format!("is not the JSON object that was asked for: {}", cut(&problem.to_string(), 120))
    })
}

/// The task of a reader.
#[derive(Clone, Copy)]
pub(crate) struct ReaderTask {
    /// The instruction in front of every text.
    pub(crate) instruction: &'static str,
    /// The JSON schema of an answer, for servers that can hold a model to it.
    pub(crate) schema: fn() -> Value,
    pub(crate) max_answer_tokens: u64,
    /// The error for a program that failed: its name, and the problem.
    pub(crate) failed: fn(String, String) -> Error,
}

/// A program or a model with its task.
pub(crate) struct Reader {
    /// The name, as errors show it.
    name: String,
    task: ReaderTask,
    ask: Box<Ask>,
}

impl Reader {
    /// Returns the person's program. The error says what is missing.
    pub(crate) fn program(view: &View<'_>, task: ReaderTask) -> Result<Reader, &'static str> {
        let Some(run) = view.services().distiller.clone() else {
            return Err("`distil.command` in nacre.toml names no program");
        };
        let name = "`distil.command`".to_owned();
        let by = name.clone();
        let ask = move |text: &str| {
            let text = run(&format!("{}\n\n{text}", task.instruction))
                .map_err(|problem| (task.failed)(by.clone(), problem))?;
            Ok(ChatAnswer { text, tokens: None })
        };
        Ok(Reader { name, task, ask: Box::new(ask) })
    }

    /// Returns the model in `[llm]`. The error says what is missing.
    pub(crate) fn model(view: &View<'_>, task: ReaderTask) -> Result<Reader, &'static str> {
        let Some(chat) = view.services().chat.clone() else { return Err("`llm.url` names no model") };
        let name = format!("`{}`", chat.model());
        let ReaderTask { instruction, schema, max_answer_tokens, .. } = task;
        let ask = move |text: &str| {
            let max_tokens = Some(max_answer_tokens);
            chat.ask(&ChatQuestion { instruction, text, max_tokens, schema: Some(schema()) })
        };
        Ok(Reader { name, task, ask: Box::new(ask) })
    }

    /// Returns the name, as errors show it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the answer to a text, within the limit of the day.
    pub(crate) fn read(&self, view: &mut View<'_>, text: &str) -> Result<String> {
        let most = meter::most_tokens(&[self.task.instruction, text], self.task.max_answer_tokens);
        metered(view, most, || (self.ask)(text)).map(|answer| answer.text)
    }
}
