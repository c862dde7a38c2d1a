//! The protocol with a plugin: one JSON object per line (docs/plugins.md). Everything a plugin sends is checked.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::Arc;

use nacre::settings::Hook;
use nacre::turn::PluginLine;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::process::Process;

/// The version of the protocol.
pub const PROTOCOL: u64 = 1;
/// The longest line, in bytes.
const MAX_LINE_BYTES: usize = 64 << 10;

/// A running process, and the connection to it.
pub struct Running {
    pub process: Arc<Process>,
    pub input: ChildStdin,
    pub output: BufReader<ChildStdout>,
    /// Its introduction at the start.
    pub about: Option<About>,
    pub asked: u64,
}

/// A plugin's introduction.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct About {
    protocol: u64,
    pub name: String,
    pub version: String,
    /// The hooks it claims. Unknown ones belong to another version.
    hooks: Vec<String>,
}

impl About {
    /// Tells whether it claims a hook.
    pub fn claims(&self, hook: Hook) -> bool {
        self.hooks().any(|claimed| claimed == hook)
    }

    pub fn hooks(&self) -> impl Iterator<Item = Hook> {
        self.hooks.iter().filter_map(|name| serde_json::from_value(name.as_str().into()).ok())
    }
}

/// A request.
#[derive(Clone, Debug)]
pub struct Question {
    pub hook: Hook,
    /// Its parameters: session, message and so on.
    pub told: Value,
}

#[derive(Deserialize)]
struct Answer {
    lines: Vec<PluginLine>,
}

/// The reason why there is no answer.
pub enum Trouble {
    /// It closed its output.
    Gone,
    /// It sent something that is not an answer.
    Nonsense(String),
}

impl Running {
    /// Lets it introduce itself if it has not yet, and sends the request if there is one and it claims that hook.
    pub fn converse(&mut self, question: Option<Question>) -> Result<Vec<PluginLine>, Trouble> {
        if self.about.is_none() {
            let about: About =
                self.ask("initialize", json!({ "protocol": PROTOCOL, "nacre": env!("CARGO_PKG_VERSION") }))?;
            if about.protocol != PROTOCOL {
                return Err(Trouble::Nonsense(format!("speaks protocol {}, not {PROTOCOL}", about.protocol)));
            }
            self.about = Some(about);
        }
        match (question, &self.about) {
            (Some(question), Some(about)) if about.claims(question.hook) => {
                let hook = serde_json::to_value(question.hook).unwrap_or_default();
                let answer: Answer = self.ask(hook.as_str().unwrap_or_default(), question.told)?;
                Ok(answer.lines)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn ask<T: DeserializeOwned>(&mut self, hook: &str, mut told: Value) -> Result<T, Trouble> {
        let id = self.asked;
        self.asked += 1;
        told["id"] = id.into();
        told["hook"] = hook.into();
        // A plugin that does not read may still answer.
        let _ = self.input.write_all(format!("{told}\n").as_bytes());
        let line = self.line()?;
        let nonsense =
            |problem: String| Trouble::Nonsense(format!("gave no answer to `{hook}` but {problem}"));
        let mut answer =
            nacre::call::parse(&line).map_err(|problem| nonsense(format!("a line: {problem}")))?;
        let heard = answer.as_object_mut().and_then(|answer| answer.remove("id")).unwrap_or_default();
        if heard != id {
            return Err(nonsense(format!("something with the id {heard}, not {id}")));
        }
        if !self.output.buffer().is_empty() {
            return Err(nonsense("more than one line".into()));
        }
        serde_json::from_value(answer).map_err(|problem| nonsense(format!("something else: {problem}")))
    }

    /// Reads its next line.
    fn line(&mut self) -> Result<Vec<u8>, Trouble> {
        let mut line = Vec::new();
        let most = MAX_LINE_BYTES as u64 + 1;
        let read = self.output.by_ref().take(most).read_until(b'\n', &mut line);
        match (read, line.last()) {
            (Ok(_), Some(b'\n')) => Ok(line),
            (Ok(_), Some(_)) if line.len() > MAX_LINE_BYTES => {
                Err(Trouble::Nonsense(format!("sent more than {MAX_LINE_BYTES} bytes in one line")))
            }
            _ => Err(Trouble::Gone),
        }
    }

    /// Ends it: tells it to, and kills it after a moment.
    pub fn end(self, moment: std::time::Duration) {
        let goodbye = format!("{}\n", json!({ "id": self.asked, "hook": "shutdown" }));
        self.process.end_kindly(self.input, goodbye, moment);
    }
}
