//! What is said to a plugin and heard from it: one JSON object a line (docs/plugins.md). Nothing it says is
//! believed unchecked.

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
/// The most bytes of one line.
const LONGEST: usize = 64 << 10;

/// A process that runs, and the conversation with it.
pub struct Running {
    pub process: Arc<Process>,
    pub input: ChildStdin,
    pub output: BufReader<ChildStdout>,
    /// What it said about itself when it was started.
    pub about: Option<About>,
    pub asked: u64,
}

/// What a plugin says about itself.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct About {
    protocol: u64,
    pub name: String,
    pub version: String,
    /// Where it wants to speak. Hooks that are not known here are those of another version.
    hooks: Vec<String>,
}

impl About {
    /// Whether it claims a hook.
    pub fn claims(&self, hook: Hook) -> bool {
        self.hooks().any(|claimed| claimed == hook)
    }

    pub fn hooks(&self) -> impl Iterator<Item = Hook> {
        self.hooks.iter().filter_map(|name| serde_json::from_value(name.as_str().into()).ok())
    }
}

/// What a plugin is asked.
#[derive(Clone, Debug)]
pub struct Question {
    pub hook: Hook,
    /// What it is told: session, message and the like.
    pub told: Value,
}

#[derive(Deserialize)]
struct Answer {
    lines: Vec<PluginLine>,
}

/// Why there is no answer.
pub enum Trouble {
    /// It closed its output.
    Gone,
    /// It said something that is no answer.
    Nonsense(String),
}

impl Running {
    /// Has it introduce itself, where it has not yet, and asks it where there is something to ask and it
    /// claims that hook.
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
        // One that does not read may answer all the same.
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

    /// The next line it says.
    fn line(&mut self) -> Result<Vec<u8>, Trouble> {
        let mut line = Vec::new();
        let most = LONGEST as u64 + 1;
        let read = self.output.by_ref().take(most).read_until(b'\n', &mut line);
        match (read, line.last()) {
            (Ok(_), Some(b'\n')) => Ok(line),
            (Ok(_), Some(_)) if line.len() > LONGEST => {
                Err(Trouble::Nonsense(format!("said more than {LONGEST} bytes in one line")))
            }
            _ => Err(Trouble::Gone),
        }
    }

    /// Ends it: kindly, within a moment.
    pub fn end(self, moment: std::time::Duration) {
        let goodbye = format!("{}\n", json!({ "id": self.asked, "hook": "shutdown" }));
        self.process.end_kindly(self.input, goodbye, moment);
    }
}
