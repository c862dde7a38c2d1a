//! The tool with which a person shows private records to shared sessions, or hides them from these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Call, ToolResult};
use super::tool::Request;
use crate::base::frame::one_line;
use crate::base::redact::redact;
use crate::base::{Calendar, Error, FilePath, Result};
use crate::records::entry::{self, Edit};
use crate::records::erase::RecordRef;
use crate::records::graph::{fact, relation};
use crate::records::workspace::daily;

/// Show private memories, facts, relations and lines of daily logs to shared sessions, or hide them again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShareRequest {
    /// Their ids, such as 2, fact-3 or relation-4; a line of a log is memory/2026-02-18.md:7.
    #[schemars(length(max = 1000))]
    pub ids: Vec<String>,
    /// Hide them from shared sessions.
    #[serde(default)]
    pub undo: bool,
}

/// Records that shared sessions see, or see no more.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShareAnswer {
    /// Their ids. A line of a log has a new one, because it moved to the other log of its day.
    pub ids: Vec<String>,
    /// Whether they are hidden from shared sessions.
    pub undone: bool,
}

redact! { ShareAnswer { ids / undone } }

/// A record that can be shared.
enum Shareable {
    Row(RecordRef),
    LogLine(FilePath, usize),
}

impl Request for ShareRequest {
    type Answer = ShareAnswer;
    const NAME: &str = "record_share";
    const NEEDS_WHOLE_GROUP: bool = true;

    fn run(self, call: &mut Call<'_>) -> ToolResult<ShareAnswer> {
        let ShareRequest { ids, undo } = self;
        if ids.is_empty() {
            return Err(Error::bad_argument(Self::NAME, "ids", "is empty: name at least one record").into());
        }
        // If one id is wrong, nothing changes.
        let named = ids.iter().map(|id| Shareable::resolve(call, id)).collect::<Result<Vec<_>>>()?;
        let (mut rows, mut lines) = (Vec::new(), Vec::new());
        for one in named {
            match one {
                Shareable::Row(record) => rows.push(record),
                Shareable::LogLine(path, line) => lines.push((path, line)),
            }
        }
        let mut ids: Vec<String> = rows.iter().map(ToString::to_string).collect();
        if !rows.is_empty() {
            call.write(|write| {
                for record in &rows {
                    match record {
                        RecordRef::Entry(named) => {
                            let edit = Edit {
                                content: None,
                                tags: None,
                                r#type: None,
                                private: Some(undo),
                                data: None,
                            };
                            entry::update(write.db, &write.origin, named, edit)?;
                        }
                        RecordRef::Fact(id) => fact::set_private(write.db, id, undo)?,
                        RecordRef::Relation(id) => relation::set_private(write.db, id, undo)?,
                        _ => {}
                    }
                    write.record(record, if undo { "hidden" } else { "shared" }, 1);
                }
                Ok(())
            })?;
        }
        // The last lines first, so that the numbers of the others stay right.
        lines.sort_by(|one, other| other.cmp(one));
        for (path, line) in lines {
            ids.push(daily::set_private(call.view(), &path, line, undo)?);
        }
        call.view().forget_state();
        Ok(ShareAnswer { ids, undone: undo })
    }

    fn say(answer: &ShareAnswer, _: &Calendar) -> String {
        let ids = one_line(&answer.ids.join(", "));
        match answer.undone {
            true => format!("Hidden from shared sessions: {ids}."),
            false => format!("Shared sessions see {ids}."),
        }
    }
}

impl Shareable {
    fn resolve(call: &Call<'_>, given: &str) -> Result<Shareable> {
        if let Some((path, line)) = given.trim().rsplit_once(':')
            && let (Ok(path), Ok(line)) = (path.parse::<FilePath>(), line.parse())
            && daily::is_log(&path)
        {
            return Ok(Shareable::LogLine(path, line));
        }
        let refused = |why: &str| {
            let problem = format!("names `{}`, {why}", one_line(given));
            Err(Error::bad_argument(ShareRequest::NAME, "ids", problem))
        };
        call.read(|db| match RecordRef::resolve(db, given)? {
            RecordRef::Fact(id) if fact::is_read(db, &id)? => {
                refused("which a document states: it is as private as the document")
            }
            RecordRef::Relation(id) if relation::is_read(db, &id)? => {
                refused("which a document states: it is as private as the document")
            }
            record @ (RecordRef::Entry(_) | RecordRef::Fact(_) | RecordRef::Relation(_)) => {
                Ok(Shareable::Row(record))
            }
            _ => {
                refused("which is no memory, fact, relation or line of a daily log: only these can be shared")
            }
        })
    }
}
