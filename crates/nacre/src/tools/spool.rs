//! The spool: events of a conversation, written by hooks at once and imported into the memory later.
//!
//! An agent waits for its hooks, so a hook only writes a small file: no lock, no database. Each event is its own file,
//! written under another name and renamed, so that any number of processes may write at once and no file is ever partial.
//! The next process that opens the group imports them. A file is deleted after its content is archived, and an exchange
//! that is already archived is skipped: if the import is killed midway, nothing is lost or stored twice.

use std::collections::BTreeMap;
use std::fs::{self, TryLockError};
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::caller::Caller;
use crate::base::caller::Visibility;
use crate::base::error::Kind;
use crate::base::frame::strip_injected;
use crate::base::ids::{GroupName, SessionId};
use crate::base::settings::DistilMoment;
use crate::base::{Error, Result, Time, files};
use crate::context::turn::{self, Exchange};
use crate::group::{Group, View};
use crate::records::session;
use crate::records::session::NO_REPLY;
use crate::tools::distil;
use crate::tools::home::Home;

/// The spool's name in the group's folder.
const FOLDER: &str = "spool";
/// The most bytes of a client's transcript that are read for a summary.
const MAX_TRANSCRIPT_BYTES: u64 = 64 << 20;
/// How long a message waits for its answer before it is archived without one, in days.
const ANSWER_WAIT_DAYS: f64 = 1.0;
/// How often a process checks whether another one is done: for a second in all.
const MAX_LOCK_TRIES: usize = 200;
/// The pause between two checks.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// One event of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpooledEvent {
    /// The conversation.
    pub session: SessionId,
    /// The time.
    pub at: Time,
    /// The visibility of the session; private if it was not recorded.
    #[serde(default = "private")]
    pub visibility: Visibility,
    /// The folder of the project that the session works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// The event itself.
    pub what: EventKind,
}

fn private() -> Visibility {
    Visibility::Private
}

/// The kinds of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The person wrote this. If it is empty, a program wrote it, and the answer is about no message of the person.
    Message(String),
    /// The agent answered this: to the message given here, otherwise to the last one.
    Answer {
        /// The message, if the client sends it with the answer.
        message: Option<String>,
        /// The answer.
        text: String,
    },
    /// The conversation is over.
    End,
    /// The same, with the file in which the client keeps the conversation.
    Ended {
        /// The file.
        transcript: PathBuf,
    },
    /// The conversation will be compacted.
    Compact,
}

/// Writes an event. `order` grows with time, so that events are imported in order. With `durable` it waits until the file
/// would survive a power failure.
pub fn put(home: &Home, group: &GroupName, order: u128, durable: bool, heard: &SpooledEvent) -> Result<()> {
    let folder = folder(&home.path().join("groups").join(group.as_str()));
    files::create_folder(&folder)?;
    let file = folder.join(format!("{order:024}-{}.json", std::process::id()));
    let bytes = serde_json::to_vec(heard)?;
    if durable { files::write_atomically(&file, &bytes) } else { files::write_without_sync(&file, &bytes) }
}

/// Tells whether the spool of a group has events. It only lists a folder.
pub fn waits(home: &Home, group: &GroupName) -> bool {
    !spooled(&folder(&home.path().join("groups").join(group.as_str()))).is_empty()
}

/// Imports all events, and returns the number of exchanges. One process imports at a time; if it takes long, the others leave
/// the rest to it.
pub fn take_in(group: &mut Group, now: Time) -> Result<usize> {
    let folder = folder(group.folder());
    if spooled(&folder).is_empty() {
        return Ok(0);
    }
    let lock = folder.join("lock");
    let lock = files::append_private(&lock).map_err(Error::io(&lock))?;
    let mut tries = 0;
    while let Err(held) = lock.try_lock() {
        match held {
            TryLockError::WouldBlock if tries < MAX_LOCK_TRIES => std::thread::sleep(LOCK_PAUSE),
            TryLockError::WouldBlock => return Ok(0),
            TryLockError::Error(source) => return Err(Error::Io { path: folder, source }),
        }
        tries += 1;
    }
    let mut taken = 0;
    for whole in pair(read(&folder)?, now) {
        if !whole.is_empty() {
            // If a part was shared, anybody may have written the message, so it teaches nothing.
            let (visibility, untrusted) = (whole.visibility, whole.mixed);
            let project_folder = whole.folder.clone();
            let agent = Caller::agent(whole.session.clone(), now);
            let caller = Caller { visibility, untrusted, project_folder, ..agent };
            match turn::archive(&mut group.enter(&caller)?, &whole.exchange) {
                Ok(_) => taken += 1,
                // It would fail again tomorrow.
                Err(error) if error.kind() == Kind::Invalid => {
                    whole.files.iter().for_each(|file| set_aside(file));
                    continue;
                }
                Err(error) => return Err(error),
            }
        }
        // Before its file is deleted: if the process is killed here, this is repeated, and nothing is summarised twice.
        let (visibility, project_folder) = (whole.visibility, whole.folder.clone());
        let caller = Caller { visibility, project_folder, ..Caller::agent(whole.session.clone(), now) };
        let mut view = group.enter(&caller)?;
        if whole.ends {
            match session::end(&mut view, &whole.session) {
                // Some sessions have no transcript of Nacre's.
                Err(Error::NoTranscript { .. }) => summarise(&mut view, &whole)?,
                Err(error) if error.kind() != Kind::Invalid => return Err(error),
                _ => {}
            }
        }
        distil::mark(&mut view, &whole.session, whole.moment())?;
        for file in &whole.files {
            fs::remove_file(file).map_err(Error::io(file))?;
        }
    }
    Ok(taken)
}

/// Stores a summary of a conversation of which Nacre keeps no transcript, if the settings say so: from the client's file, or from
/// the exchanges that were archived.
fn summarise(view: &mut View<'_>, whole: &WholeExchange) -> Result<()> {
    if !view.settings().session.summary_from_hooks || !view.settings().session.summary_entry {
        return Ok(());
    }
    let mut messages = Vec::new();
    if let Some(path) = whole.transcript.as_ref().filter(|path| path.is_file()) {
        let input = BufReader::new(fs::File::open(path).map_err(Error::io(path))?.take(MAX_TRANSCRIPT_BYTES));
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let read = session::import::read(input, &name, |message| {
            messages.push(message);
            Ok(())
        });
        // A file in another form is as good as none.
        match read {
            Err(error) if error.kind() != Kind::Invalid => return Err(error),
            _ => {}
        }
    }
    session::end_reported(view, &whole.session, &messages)
}

fn folder(group: &Path) -> PathBuf {
    group.join(FOLDER)
}

/// Returns the files of the spool, in the order of their events.
fn spooled(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        found.filter(|path| path.extension().is_some_and(|kind| kind == "json")).collect();
    files.sort();
    files
}

fn read(folder: &Path) -> Result<Vec<(PathBuf, SpooledEvent)>> {
    let mut all = Vec::new();
    for file in spooled(folder) {
        match fs::read(&file) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(heard) => all.push((file, heard)),
                Err(_) => set_aside(&file),
            },
            Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::Io { path: file, source }),
        }
    }
    Ok(all)
}

/// Quarantines a file that can't be imported, so that a person can read it.
fn set_aside(file: &Path) {
    let _ = fs::rename(file, file.with_extension("damaged"));
}

/// An exchange, and its files.
struct WholeExchange {
    session: SessionId,
    visibility: Visibility,
    folder: Option<PathBuf>,
    /// Whether one part of it was private and another shared.
    mixed: bool,
    exchange: Exchange,
    files: Vec<PathBuf>,
    /// Whether the conversation ends with it.
    ends: bool,
    /// Whether the conversation is compacted after it.
    compacts: bool,
    /// The file in which the client keeps the conversation that ends.
    transcript: Option<PathBuf>,
}

impl WholeExchange {
    fn moment(&self) -> DistilMoment {
        match (self.ends, self.compacts) {
            (true, _) => DistilMoment::End,
            (false, true) => DistilMoment::Compact,
            (false, false) => DistilMoment::Answer,
        }
    }

    /// Returns an event without an exchange.
    fn marker(
        session: &SessionId,
        visibility: Visibility,
        at: Time,
        file: PathBuf,
        transcript: Option<PathBuf>,
    ) -> WholeExchange {
        WholeExchange {
            session: session.clone(),
            visibility,
            folder: None,
            mixed: false,
            exchange: Exchange { user: String::new(), agent: String::new(), at },
            files: vec![file],
            ends: false,
            compacts: true,
            transcript,
        }
    }

    fn is_empty(&self) -> bool {
        self.exchange.user.is_empty() && self.exchange.agent.is_empty()
    }
}

/// Pairs messages with answers. A message whose answer may still come stays in the spool.
fn pair(heard: Vec<(PathBuf, SpooledEvent)>, now: Time) -> Vec<WholeExchange> {
    /// A message that waits for its answer.
    struct OpenMessage {
        file: PathBuf,
        at: Time,
        visibility: Visibility,
        text: String,
    }
    let mut waiting: BTreeMap<SessionId, OpenMessage> = BTreeMap::new();
    let mut all: Vec<WholeExchange> = Vec::new();
    let whole = |all: &mut Vec<WholeExchange>,
                 session: &SessionId,
                 visibility,
                 at,
                 user: &str,
                 agent: &str,
                 files| {
        let clean = |text: &str| strip_injected(text).trim().to_owned();
        // An agent that was asked to store memories and had none has said nothing.
        let agent = clean(agent);
        let agent = if agent == NO_REPLY { String::new() } else { agent };
        let exchange = Exchange { user: clean(user), agent, at };
        let session = session.clone();
        let (folder, mixed, ends, compacts, transcript) = (None, false, false, false, None);
        all.push(WholeExchange {
            session,
            visibility,
            folder,
            mixed,
            exchange,
            files,
            ends,
            compacts,
            transcript,
        });
    };
    let mut folders: BTreeMap<SessionId, PathBuf> = BTreeMap::new();
    for (file, SpooledEvent { session, at, visibility, folder, what }) in heard {
        let asked = waiting.remove(&session);
        folders.extend(folder.map(|folder| (session.clone(), folder)));
        // An exchange with a private part is private.
        let both = match &asked {
            Some(asked) if asked.visibility == Visibility::Private => Visibility::Private,
            _ => visibility,
        };
        let mixed = asked.as_ref().is_some_and(|asked| asked.visibility != visibility);
        match (what, asked) {
            (EventKind::Message(text), asked) => {
                if let Some(asked) = asked {
                    whole(&mut all, &session, asked.visibility, asked.at, &asked.text, "", vec![asked.file]);
                }
                waiting.insert(session, OpenMessage { file, at, visibility, text });
            }
            (EventKind::Answer { message: None, text }, Some(asked)) => {
                // Text that no person wrote teaches nothing, and neither does its answer.
                let answer = if asked.text.is_empty() { "" } else { text.as_str() };
                whole(&mut all, &session, both, asked.at, &asked.text, answer, vec![asked.file, file]);
            }
            (EventKind::Answer { message: Some(message), text }, Some(asked)) => {
                whole(&mut all, &session, both, asked.at, &message, &text, vec![asked.file, file]);
            }
            (EventKind::Answer { message, text }, None) => {
                whole(&mut all, &session, both, at, &message.unwrap_or_default(), &text, vec![file]);
            }
            // The message that is being answered keeps waiting.
            (EventKind::Compact, asked) => {
                all.push(WholeExchange::marker(&session, visibility, at, file, None));
                waiting.extend(asked.map(|asked| (session, asked)));
            }
            (ended @ (EventKind::End | EventKind::Ended { .. }), asked) => {
                if let Some(asked) = asked {
                    whole(&mut all, &session, asked.visibility, asked.at, &asked.text, "", vec![asked.file]);
                }
                let transcript = match ended {
                    EventKind::Ended { transcript } => Some(transcript),
                    _ => None,
                };
                let marker = WholeExchange::marker(&session, visibility, at, file, transcript);
                all.push(WholeExchange { ends: true, compacts: false, ..marker });
            }
        }
        if mixed && let Some(last) = all.last_mut() {
            last.mixed = true;
        }
    }
    for (session, asked) in waiting {
        if now.days_since(asked.at) > ANSWER_WAIT_DAYS {
            whole(&mut all, &session, asked.visibility, asked.at, &asked.text, "", vec![asked.file]);
        }
    }
    for whole in &mut all {
        whole.folder = folders.get(&whole.session).cloned();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line: session, second, event. Expected: session, second, user, agent.
    fn check(heard: &[(&str, i64, EventKind)], now: i64, expected: &[(&str, i64, &str, &str)]) {
        let at = |second: i64| Time::from_millis(second * 1_000);
        let heard = heard.iter().enumerate().map(|(n, (session, second, what))| {
            let session = session.parse().unwrap();
            let (at, visibility, what) = (at(*second), Visibility::Shared, what.clone());
            (PathBuf::from(n.to_string()), SpooledEvent { session, at, visibility, folder: None, what })
        });
        let paired = pair(heard.collect(), at(now));
        let found: Vec<_> = paired
            .iter()
            .filter(|whole| !whole.is_empty())
            .map(|WholeExchange { session, exchange, .. }| {
                let second = exchange.at.as_millis() / 1_000;
                (session.as_str(), second, exchange.user.as_str(), exchange.agent.as_str())
            })
            .collect();
        assert_eq!(found, expected);
    }

    fn message(text: &str) -> EventKind {
        EventKind::Message(text.into())
    }

    fn answer(text: &str) -> EventKind {
        EventKind::Answer { message: None, text: text.into() }
    }

    #[test]
    fn messages_and_answers_find_each_other() {
        // One after the other, and two conversations at once.
        check(
            &[
                ("a", 1, message("hi")),
                ("b", 2, message("ho")),
                ("b", 3, answer("HO")),
                ("a", 4, answer("HI")),
            ],
            5,
            &[("b", 2, "ho", "HO"), ("a", 1, "hi", "HI")],
        );
        // The answer may still come; a day later it does not.
        check(&[("a", 1, message("hi"))], 5, &[]);
        check(&[("a", 1, message("hi"))], 100_000, &[("a", 1, "hi", "")]);
        // Interrupted by another message, and by the end.
        check(
            &[("a", 1, message("one")), ("a", 2, message("two")), ("a", 3, EventKind::End)],
            5,
            &[("a", 1, "one", ""), ("a", 2, "two", "")],
        );
        // A client that sends both; an answer without a message; an answer to a program.
        let both = EventKind::Answer { message: Some("hi".into()), text: "HI".into() };
        check(&[("a", 1, both.clone())], 5, &[("a", 1, "hi", "HI")]);
        check(&[("a", 1, message("hi")), ("a", 2, both)], 5, &[("a", 1, "hi", "HI")]);
        check(&[("a", 1, answer("HI"))], 5, &[("a", 1, "", "HI")]);
        check(&[("a", 1, message("")), ("a", 2, answer("HI"))], 5, &[]);
        check(&[("a", 1, EventKind::End)], 5, &[]);
        // An agent that had nothing to store has said nothing.
        check(&[("a", 1, message("hi")), ("a", 2, answer(" NO_REPLY\n"))], 5, &[("a", 1, "hi", "")]);
    }

    #[test]
    fn what_we_put_there_is_not_learned() {
        let said = format!("hi\n{}", crate::mark_injected("- [fact] old"));
        check(&[("a", 1, message(&said)), ("a", 2, answer(&said))], 5, &[("a", 1, "hi", "hi")]);
    }
}
