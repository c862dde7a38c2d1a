//! Who takes memories out of a conversation: rules, a program or a model.

use crate::base::settings::DistilBy;
use crate::base::{Error, Result};
use crate::context::distil::{INSTRUCTION, MAX_ANSWER_TOKENS, answer_schema};
use crate::group::View;
use crate::index::embed::http::{ChatAnswer, ChatQuestion};

/// Asks a program or a model about a part of a conversation.
type Ask = dyn Fn(&str) -> Result<ChatAnswer>;

/// Who takes memories out of a conversation.
pub(super) enum Reader {
    Rules,
    Model { name: String, ask: Box<Ask> },
}

impl Reader {
    pub(super) fn new(view: &View<'_>, by: DistilBy) -> Result<Reader> {
        let services = view.services();
        let missing = |problem| Err(Error::DistilBy { by: by.as_str(), problem });
        match by {
            DistilBy::Rules => Ok(Reader::Rules),
            DistilBy::Agent => missing("hooks ask the agent while the conversation goes on"),
            DistilBy::Command => {
                let Some(run) = services.distiller.clone() else {
                    return missing("`distil.command` in nacre.toml names no program");
                };
                let name = "`distil.command`".to_owned();
                let by = name.clone();
                let ask = move |text: &str| {
                    let failed = |problem| Error::DistilFailed { by: by.clone(), problem };
                    let text = run(&format!("{INSTRUCTION}\n\n{text}")).map_err(failed)?;
                    Ok(ChatAnswer { text, tokens: None })
                };
                Ok(Reader::Model { name, ask: Box::new(ask) })
            }
            DistilBy::Llm => {
                let Some(chat) = services.chat.clone() else { return missing("`llm.url` names no model") };
                let name = format!("`{}`", chat.model());
                let (instruction, max_tokens) = (INSTRUCTION, Some(MAX_ANSWER_TOKENS));
                let ask = move |text: &str| {
                    chat.ask(&ChatQuestion { instruction, text, max_tokens, schema: Some(answer_schema()) })
                };
                Ok(Reader::Model { name, ask: Box::new(ask) })
            }
        }
    }
}
