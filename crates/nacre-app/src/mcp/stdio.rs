//! JSON-RPC lines over standard input and output, with an answer to every line that can't be read.
//!
//! rmcp's own transport silently skips bytes that are not JSON, so that a client waits forever. This one checks size, depth and
//! encoding with the library's parser and reports what is wrong. It also lets running calls finish when the input ends.

use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, channel};

/// How long running calls may take after the input has ended.
const GRACE: Duration = Duration::from_secs(30);
/// Lines read ahead of the one being answered.
const MAX_LINES_AHEAD: usize = 64;
/// A request and the envelope around it.
const MAX_LINE: usize = nacre::call::MAX_REQUEST;

pub struct Stdio {
    lines: Receiver<Vec<u8>>,
    under_way: Arc<RunningCalls>,
}

#[derive(Default)]
struct RunningCalls {
    calls: AtomicUsize,
    done: Notify,
}

impl Stdio {
    pub fn new() -> io::Result<Stdio> {
        let (send, lines) = channel(MAX_LINES_AHEAD);
        // A thread of its own: reading standard input can't be interrupted, and the process ends without
        // waiting for it.
        std::thread::Builder::new().name("stdin".into()).spawn(move || {
            let mut input = io::stdin().lock();
            while let Ok(Some(line)) = read_line(&mut input) {
                if send.blocking_send(line).is_err() {
                    break;
                }
            }
        })?;
        Ok(Stdio { lines, under_way: Arc::default() })
    }
}

/// Reads a line. A line that is too long is cut one byte over the limit, and the rest of it is skipped.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if input.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.len() > MAX_LINE && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
    }
    Ok(Some(line))
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let under_way = self.under_way.clone();
        async move {
            let written =
                serde_json::to_value(&item).map_err(io::Error::from).and_then(|message| write_line(&message));
            if matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) {
                let before = under_way
                    .calls
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |calls| Some(calls.saturating_sub(1)));
                if before.is_ok_and(|calls| calls <= 1) {
                    under_way.done.notify_one();
                }
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(line) = self.lines.recv().await else {
                while self.under_way.calls.load(Ordering::SeqCst) > 0 {
                    tokio::time::timeout(GRACE, self.under_way.done.notified()).await.ok()?;
                }
                return None;
            };
            if line.trim_ascii().is_empty() {
                continue;
            }
            match read(&line) {
                Ok(message) => {
                    if matches!(message, JsonRpcMessage::Request(_)) {
                        self.under_way.calls.fetch_add(1, Ordering::SeqCst);
                    }
                    return Some(message);
                }
                // A notification gets no answer.
                Err(None) => {}
                Err(Some(answer)) => write_line(&answer).ok()?,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Parses a message, or returns the error that answers it.
fn read(line: &[u8]) -> Result<RxJsonRpcMessage<RoleServer>, Option<Value>> {
    let error = |id: &Value, code: i32, message: String| {
        Some(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
    };
    let value =
        nacre::call::parse(line).map_err(|problem| error(&Value::Null, -32700, problem.to_string()))?;
    // Only an object can be a notification. The sender of anything else waits for an answer.
    let id = if value.is_object() { value.get("id").cloned() } else { Some(Value::Null) };
    serde_json::from_value(value)
        .map_err(|_| id.and_then(|id| error(&id, -32600, "this is not a JSON-RPC request".into())))
}

fn write_line(message: &Value) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut output = io::stdout().lock();
    output.write_all(&line)?;
    output.flush()
}
