//! Tools for people that delete anything for good, trace a record, and quarantine what a session, a source or a token wrote.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Call, ToolResult};
use super::tool::Request;
use crate::base::frame::one_line;
use crate::base::redact::redact;
use crate::base::{Calendar, Error, Time};
use crate::records::erase::{self, Receipt, RecordRef};
use crate::records::quarantine::{self, Scope};
use crate::records::trace::{self, Trace};

/// Delete any record for good, with what was derived from it: a memory, fact, relation, entity, lesson, proposal, task, item,
/// message, exchange, session, document or checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordDeleteRequest {
    /// Their ids, as searches and lists show them.
    #[schemars(length(max = 1000))]
    pub ids: Vec<String>,
}

/// Deleted records.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RecordDeleteAnswer {
    /// Their ids.
    pub ids: Vec<String>,
    /// The proof.
    pub receipt: Receipt,
}

redact! { RecordDeleteAnswer { ids, receipt } }

impl Request for RecordDeleteRequest {
    type Answer = RecordDeleteAnswer;
    const NAME: &str = "record_delete";
    const NEEDS_WHOLE_GROUP: bool = true;

    fn run(self, call: &mut Call<'_>) -> ToolResult<RecordDeleteAnswer> {
        if self.ids.is_empty() {
            return Err(Error::bad_argument(Self::NAME, "ids", "is empty: name at least one record").into());
        }
        // If one id is wrong, nothing is deleted.
        let records =
            call.read(|db| self.ids.iter().map(|id| RecordRef::resolve(db, id)).collect::<Result<_, _>>());
        let records: Vec<RecordRef> = records?;
        let receipt = erase::delete(call.view(), &records)?;
        Ok(RecordDeleteAnswer { ids: self.ids, receipt })
    }

    fn say(answer: &RecordDeleteAnswer, _: &Calendar) -> String {
        format!("Deleted {}. {}", one_line(&answer.ids.join(", ")), say_receipt(&answer.receipt))
    }
}

fn say_receipt(receipt: &Receipt) -> String {
    let Receipt { records, audit_row, hash, still_in, kept, .. } = receipt;
    let plural = if *records == 1 { "" } else { "s" };
    let short: String = hash.chars().take(12).collect();
    let mut text = format!("{records} record{plural} removed; receipt: audit row {audit_row}, {short}.");
    if !kept.is_empty() {
        let kept: Vec<String> = kept.iter().map(|number| format!("[id:{number}]")).collect();
        let _ = write!(text, " The rest stays as {}.", kept.join(", "));
    }
    for place in still_in {
        let _ = write!(text, " Still in {}.", one_line(place));
    }
    text
}

/// Find everything that contains a name, a phrase or an identifier, in any spelling; with confirm, delete all of it for good.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetRequest {
    /// The matter.
    #[schemars(length(min = 1, max = 500))]
    pub matter: String,
    /// Delete what was found. Without it, nothing is changed.
    #[serde(default)]
    pub confirm: bool,
}

/// A record that contains the matter.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ForgetMatch {
    pub kind: &'static str,
    pub id: String,
    pub text: String,
    /// The rest of a memory that says something else too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
}

/// The matching records, and the receipt if they were deleted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ForgetAnswer {
    /// The matter.
    pub matter: String,
    /// The records that contain it.
    pub found: Vec<ForgetMatch>,
    /// The proof; absent if nothing was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
}

redact! {
    ForgetAnswer { matter, found, receipt }
    ForgetMatch { id, text, rest / kind }
}

impl Request for ForgetRequest {
    type Answer = ForgetAnswer;
    const NAME: &str = "memory_forget";
    const NEEDS_WHOLE_GROUP: bool = true;

    fn only_reads(&self) -> bool {
        !self.confirm
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<ForgetAnswer> {
        let found = erase::matching(call.view(), &self.matter)?;
        let shown = |one: erase::FoundRecord| ForgetMatch {
            kind: one.record.kind(),
            id: one.record.to_string(),
            text: one.text,
            rest: one.rest,
        };
        let found: Vec<ForgetMatch> = found.into_iter().map(shown).collect();
        let receipt = match self.confirm && !found.is_empty() {
            true => Some(erase::forget(call.view(), &self.matter)?),
            false => None,
        };
        Ok(ForgetAnswer { matter: self.matter, found, receipt })
    }

    fn say(answer: &ForgetAnswer, _: &Calendar) -> String {
        if answer.found.is_empty() {
            return "Nothing contains it. `nacre search` finds what is similar; `nacre delete ID` deletes one record.".into();
        }
        let mut text = String::new();
        for one in &answer.found {
            let _ = writeln!(text, "{} {}: {}", one.kind, one_line(&one.id), one_line(&one.text));
            if let Some(rest) = &one.rest {
                let _ = writeln!(text, "  stays: {}", one_line(rest));
            }
        }
        match &answer.receipt {
            Some(receipt) => text + &say_receipt(receipt),
            None => text + "Nothing was deleted.",
        }
    }
}

/// Show where a record came from, what was derived from it, and every write that touched it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceRequest {
    /// The id of any record.
    #[schemars(length(min = 1, max = 500))]
    pub id: String,
}

impl Request for TraceRequest {
    type Answer = Trace;
    const NAME: &str = "record_trace";
    const NEEDS_WHOLE_GROUP: bool = true;

    fn run(self, call: &mut Call<'_>) -> ToolResult<Trace> {
        Ok(call.read(|db| trace::trace(db, &RecordRef::resolve(db, &self.id)?))?)
    }

    fn say(answer: &Trace, calendar: &Calendar) -> String {
        let origin = if answer.origin.is_empty() { "" } else { ", origin " };
        let mut text = format!(
            "{} {}{origin}{}\n{}",
            answer.kind,
            one_line(&answer.id),
            answer.origin,
            one_line(&answer.text)
        );
        for one in &answer.connected {
            let _ = write!(text, "\n{} {} {}", one.how, one_line(&one.id), one_line(&one.text));
        }
        for write in &answer.writes {
            let token = write.token.as_deref().map(|name| format!(", token {name}")).unwrap_or_default();
            let _ = write!(
                text,
                "\n{} {} by {} in session {}{token} (audit row {})",
                calendar.date(write.at),
                write.action,
                write.actor,
                one_line(&write.session),
                write.row
            );
        }
        text
    }
}

/// Take everything that a session, a source or a token wrote out of recall, or undo that. Without arguments, list what is
/// quarantined.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuarantineRequest {
    /// The id of a session.
    pub session: Option<String>,
    /// The format or file of an import, or an origin such as untrusted.
    pub source: Option<String>,
    /// The name of a token.
    pub token: Option<String>,
    /// Bring it back.
    #[serde(default)]
    pub undo: bool,
}

/// A quarantine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it")]
pub struct QuarantineRow {
    pub kind: String,
    pub name: String,
    pub at: Time,
    pub records: i64,
}

/// The quarantines in force, and the records that this call held or released.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QuarantineAnswer {
    /// The ids of the records that changed.
    pub changed: Vec<String>,
    /// Whether they are back in recall.
    pub undone: bool,
    /// Every quarantine in force.
    pub quarantines: Vec<QuarantineRow>,
}

redact! {
    QuarantineAnswer { changed, quarantines / undone }
    QuarantineRow { kind, name / at, records }
}

impl Request for QuarantineRequest {
    type Answer = QuarantineAnswer;
    const NAME: &str = "memory_quarantine";
    const NEEDS_WHOLE_GROUP: bool = true;

    fn only_reads(&self) -> bool {
        self.session.is_none() && self.source.is_none() && self.token.is_none()
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<QuarantineAnswer> {
        let given: Vec<Scope> =
            [("session", &self.session), ("source", &self.source), ("token", &self.token)]
                .into_iter()
                .filter_map(|(kind, name)| name.clone().map(|name| Scope { kind, name }))
                .collect();
        if given.len() > 1 || (self.undo && given.is_empty()) {
            let problem = "is given with another one, or nothing is named; give one session, source or token";
            return Err(Error::bad_argument(Self::NAME, "session", problem).into());
        }
        let mut changed = Vec::new();
        if let [scope] = &given[..] {
            changed = call.write(|write| {
                let (db, now) = (write.db, write.origin.now);
                let records = match self.undo {
                    true => quarantine::lift(db, now, scope)?,
                    false => quarantine::impose(db, now, scope)?,
                };
                let word = if self.undo { "released" } else { "quarantined" };
                for (_, reference) in &records {
                    write.record(reference, word, 1);
                }
                if records.is_empty() {
                    write.record(&format!("{}:{}", scope.kind, scope.name), word, 0);
                }
                Ok(records.into_iter().map(|(_, reference)| reference).collect())
            })?;
            call.view().forget_state();
        }
        let quarantines = call.view().read_all(quarantine::list)?;
        let shown = |one: quarantine::Quarantine| QuarantineRow {
            kind: one.kind,
            name: one.name,
            at: one.at,
            records: one.records,
        };
        let quarantines = quarantines.into_iter().map(shown).collect();
        Ok(QuarantineAnswer { changed, undone: self.undo, quarantines })
    }

    fn say(answer: &QuarantineAnswer, calendar: &Calendar) -> String {
        let count = answer.changed.len();
        let plural = if count == 1 { "record is" } else { "records are" };
        let mut text = match (answer.undone, count) {
            (_, 0) => String::new(),
            (true, _) => format!("{count} {plural} back in recall.\n"),
            (false, _) => format!("{count} {plural} out of recall.\n"),
        };
        for one in &answer.quarantines {
            let date = calendar.date(one.at);
            let _ = writeln!(text, "{} {} ({}, since {date})", one.kind, one_line(&one.name), one.records);
        }
        if answer.quarantines.is_empty() {
            text.push_str("Nothing is quarantined.");
        }
        text.trim_end().to_owned()
    }
}
