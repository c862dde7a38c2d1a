//! Events: reported after the commit to listeners in this process, and to a telemetry file that any process
//! can follow. The file holds ids and sizes, and the text of searches only if the settings allow it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::base::files;
use crate::base::ids::{GroupName, SessionId};
use crate::base::settings::{self, Telemetry};
use crate::base::{Result, Time};

/// The name of the telemetry file in the home.
pub const FILE: &str = "telemetry.jsonl";

/// One event.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// `memory:read`, `memory:write`, `memory:search`, `memory:answer`, `memory:flush` or `memory:compact`.
    #[serde(rename = "event")]
    pub name: &'static str,
    /// The time of the event.
    pub at: Time,
    /// The group in which it happened.
    pub group: GroupName,
    /// The session in which it happened.
    pub session: SessionId,
    /// The payload for this kind of event.
    #[serde(flatten)]
    pub data: Map<String, Value>,
}

type Listener = Box<dyn Fn(&Event) + Send>;

/// The receivers of events.
pub(crate) struct Events {
    file: Option<PathBuf>,
    words: bool,
    max_bytes: u64,
    listeners: Vec<Listener>,
}

impl Events {
    pub(crate) fn new(home: &Path, settings: &Telemetry) -> Events {
        Events {
            file: (settings.events != settings::Events::Off).then(|| home.join(FILE)),
            words: settings.events == settings::Events::Queries,
            max_bytes: settings.max_mb.saturating_mul(1 << 20),
            listeners: Vec::new(),
        }
    }

    pub(crate) fn listen(&mut self, listener: Listener) {
        self.listeners.push(listener);
    }

    /// Notifies all receivers. A telemetry file that can't be written never fails the call.
    pub(crate) fn tell(&self, event: &Event) {
        for listener in &self.listeners {
            listener(event);
        }
        if let Some(file) = &self.file {
            let mut event = event.clone();
            if !self.words
                && let Some(query) = event.data.get_mut("query")
            {
                *query = query.as_str().map_or(0, |text| text.chars().count()).into();
            }
            let _ = self.append(file, &event);
        }
    }

    fn append(&self, path: &Path, event: &Event) -> Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        let io = crate::base::error::Error::io(path);
        let write = || {
            let mut file = files::append_private(path)?;
            // One write per line, so that lines of several processes do not mix.
            file.write_all(&line)?;
            if file.metadata()?.len() > self.max_bytes {
                // Of all processes that see the size, only one rotates the file; the others' lines go to
                // either file.
                file.try_lock()?;
                fs::rename(path, path.with_extension("1.jsonl"))?;
            }
            Ok(())
        };
        write().map_err(io)
    }
}

/// Builds the payload of an event.
pub(crate) fn payload<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
