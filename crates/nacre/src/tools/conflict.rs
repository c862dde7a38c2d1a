//! Conflicts: which stored statements contradict each other, and how a person or an agent settles them.
//!
//! Writes report the statements that they contradict and record the pair here. Settling supersedes an entry, ends a fact, or
//! proposes the edit of a document; no file is edited without an approval.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::call::{Call, ToolResult, Write};
use super::limits::Action;
use super::tool::Request;
use crate::base::caller::Visibility;
use crate::base::frame::one_line;
use crate::base::ids::{EntryId, EntryRef};
use crate::base::redact::{self, redact};
use crate::base::text::decode;
use crate::base::{Calendar, Day, Error, Result, Time};
use crate::group::View;
use crate::index::{Scope, lookup};
use crate::records::conflict::{self, Conflict, CurrentStatement, OpenConflict, StatementRef};
use crate::records::entry::{self, Draft, EntryType, OnDuplicate, Tags};
use crate::records::graph::fact;
use crate::records::workspace::change::{self, Change};
use crate::records::workspace::policy::{self, Target};
use crate::records::workspace::proposal::{self, Kind, Proposal, ProposalOutcome, State};
use crate::records::workspace::{FilePath, edit};
use crate::search::{self, ComparedLines, Contradiction, NewStatement};
use crate::store::Connection;
use crate::store::walk::MAX_DOCUMENT_BYTES;

pub use crate::records::conflict::{ComparedStatements, KeepChoice, StatementKind};

/// How many conflicts an answer has by default.
const DEFAULT_CONFLICTS: usize = 50;
/// The maximum number of statements of one import that are compared with the current ones.
const MAX_COMPARED_IMPORTS: usize = 100;

/// List stored statements that contradict each other, or settle one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConflictsRequest {
    #[expect(missing_docs)]
    pub number: Option<i64>,
    /// The side that is right.
    pub keep: Option<KeepChoice>,
    /// A statement that replaces both sides.
    #[schemars(length(min = 1, max = 2000))]
    pub replace: Option<String>,
    /// Undo how it was settled.
    #[serde(default)]
    pub undo: bool,
    /// The maximum number of conflicts; default 50.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// The open conflicts, or the result of settling one.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Conflicts {
    /// The last found first.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub conflicts: Vec<ConflictRow>,
    /// How many are open.
    pub open: usize,
    /// The proposals that wait for a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub proposals: Vec<i64>,
    /// A sentence about the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Two statements that contradict each other.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ConflictRow {
    pub number: i64,
    pub found_at: Time,
    /// The statement that was there.
    pub first: ConflictSide,
    /// The statement that came later.
    pub second: ConflictSide,
}

/// One statement of a conflict.
#[derive(Clone, Debug, Serialize)]
pub struct ConflictSide {
    /// `id:4` for a memory, `fact-2` for a fact, `path:line` for a document.
    pub id: String,
    /// The record that makes it.
    pub kind: StatementKind,
    /// Its current text.
    pub text: String,
    /// Its time; absent for a line of a document without a date.
    #[serde(skip_serializing_if = "Time::is_undated")]
    pub at: Time,
    /// The source of a memory or a fact, or `document`.
    pub source: String,
    /// The session that stored it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

redact! {
    Conflicts { conflicts, note / open, proposals }
    ConflictRow { first, second / number, found_at }
    ConflictSide { id, text, source, session / kind, at }
}

/// How a conflict is settled.
enum Settlement {
    Keep(KeepChoice),
    Replace(String),
    Undo,
}

impl ConflictsRequest {
    fn settlement(self) -> Result<Option<(i64, Settlement)>> {
        let wrong = |field, problem: &str| Err(Error::bad_argument(Self::NAME, field, problem));
        let settlement = match (self.keep, self.replace, self.undo) {
            (None, None, false) => None,
            (Some(kept), None, false) => Some(Settlement::Keep(kept)),
            (None, Some(text), false) => Some(Settlement::Replace(text)),
            (None, None, true) => Some(Settlement::Undo),
            _ => return wrong("keep", "is one of `keep`, `replace` and `undo`: give only one"),
        };
        match (self.number, settlement) {
            (Some(number), Some(settlement)) => Ok(Some((number, settlement))),
            (None, None) => Ok(None),
            (Some(_), None) => wrong("keep", "is missing: first, second or both"),
            (None, Some(_)) => wrong("number", "is missing: the conflict to settle"),
        }
    }
}

impl Request for ConflictsRequest {
    type Answer = Conflicts;
    const NAME: &str = "memory_conflicts";
    const ADVANCED: &'static [&'static str] = &["limit", "replace", "undo"];
    const LEAN_OUTPUT: fn() -> Value = super::schema::output::<ConflictFields>;

    fn only_reads(&self) -> bool {
        self.number.is_none()
    }

    // A settled conflict changes what agents believe, so an untrusted session only proposes it.
    fn steers(&self, _: &View<'_>) -> Result<bool> {
        Ok(self.number.is_some())
    }

    fn loses(&self, view: &View<'_>) -> Result<Option<String>> {
        let Some(number) = self.number else { return Ok(None) };
        let Some(open) = view.read(|db| conflict::get_open(db, number))? else { return Ok(None) };
        let texts: Vec<&str> = match self.keep {
            Some(KeepChoice::First) => vec![&open.second.text],
            Some(KeepChoice::Second) => vec![&open.first.text],
            None if self.replace.is_some() => vec![&open.first.text, &open.second.text],
            _ => return Ok(None),
        };
        Ok(Some(texts.join("\n")))
    }

    fn run(self, call: &mut Call<'_>) -> ToolResult<Conflicts> {
        // A line that a person has edited closes its conflict.
        call.follow_documents(vec![Scope::Memory]);
        let limit = self.limit.unwrap_or(DEFAULT_CONFLICTS);
        let Some((number, settlement)) = self.settlement()? else {
            return Ok(call.read(|db| list(db, limit))?);
        };
        let mut done = match settlement {
            Settlement::Undo => undo(call, number)?,
            settlement => {
                let open = call.read(|db| conflict::get_open(db, number))?;
                let open = open.ok_or(Error::NoConflict { number })?;
                match settlement {
                    Settlement::Keep(KeepChoice::Both) => keep_both(call, number, "Both are kept.".into())?,
                    Settlement::Keep(KeepChoice::First) => keep(call, &open, KeepChoice::First)?,
                    Settlement::Keep(KeepChoice::Second) => keep(call, &open, KeepChoice::Second)?,
                    Settlement::Replace(text) => replace(call, &open, &text)?,
                    Settlement::Undo => unreachable!("handled above"),
                }
            }
        };
        done.open = call.read(conflict::open)?.len();
        Ok(done)
    }

    fn proposal(answer: &Conflicts) -> Option<i64> {
        answer.proposals.first().copied()
    }

    fn say(answer: &Conflicts, calendar: &Calendar) -> String {
        if let Some(note) = &answer.note {
            return note.clone();
        }
        if answer.conflicts.is_empty() {
            return "There are no open conflicts.".into();
        }
        let mut text = String::new();
        for ConflictRow { number, found_at, first, second } in &answer.conflicts {
            let _ = writeln!(text, "Conflict {number}, found {}:", calendar.date(*found_at));
            for (name, side) in [("first", first), ("second", second)] {
                let ConflictSide { id, text: statement, at, source, .. } = side;
                let (statement, date) = (one_line(statement), calendar.date(*at));
                let _ = writeln!(text, "  {name:6} [{id}] {statement} ({source}, {date})");
            }
        }
        if answer.open > answer.conflicts.len() {
            let _ = writeln!(text, "{} more are open.", answer.open - answer.conflicts.len());
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// The fields of the answer that a schema for agents names.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a schema")]
struct ConflictFields {
    open: usize,
}

/// Returns the open conflicts, the last found first.
fn list(db: &Connection, limit: usize) -> Result<Conflicts> {
    let open = conflict::open(db)?;
    let mut conflicts = Vec::new();
    for OpenConflict { conflict, first, second } in open.iter().take(limit) {
        conflicts.push(ConflictRow {
            number: conflict.number,
            found_at: conflict.found_at,
            first: shown(db, first)?,
            second: shown(db, second)?,
        });
    }
    Ok(Conflicts { conflicts, open: open.len(), ..Conflicts::default() })
}

fn shown(db: &Connection, side: &CurrentStatement) -> Result<ConflictSide> {
    let CurrentStatement { kind, reference, text, at, .. } = side;
    let (source, session) = match kind {
        StatementKind::Entry => {
            let entry = entry::get(db, &entry_ref(side)?)?;
            (entry.provenance.source.to_string(), Some(entry.provenance.session.to_string()))
        }
        StatementKind::Fact => {
            let fact = fact::matching(db, reference, None)?.pop();
            (fact.map(|fact| fact.source).unwrap_or_default(), None)
        }
        StatementKind::Document => (kind.as_str().to_owned(), None),
    };
    let text = match kind {
        StatementKind::Document => search::without_marker(text).to_owned(),
        StatementKind::Entry | StatementKind::Fact => text.clone(),
    };
    Ok(ConflictSide { id: name_of(db, side)?, kind: *kind, text, at: *at, source, session })
}

/// Returns the name by which people and agents know a statement.
fn name_of(db: &Connection, side: &CurrentStatement) -> Result<String> {
    Ok(match (side.kind, side.line) {
        (StatementKind::Entry, _) => format!("id:{}", entry::number(db, &side.reference)?),
        (StatementKind::Document, Some(line)) => format!("{}:{line}", side.reference),
        _ => side.reference.clone(),
    })
}

fn entry_ref(side: &CurrentStatement) -> Result<EntryRef> {
    Ok(EntryRef::Id(side.reference.parse()?))
}

fn settled(note: String) -> Conflicts {
    Conflicts { note: Some(note), ..Conflicts::default() }
}

/// Keeps both statements: the pair is never reported again.
fn keep_both(call: &mut Call<'_>, number: i64, note: String) -> ToolResult<Conflicts> {
    call.write(|write| {
        conflict::settle(write.db, number, Some(KeepChoice::Both))?;
        write.record(&format!("conflict:{number}"), "kept", KeepChoice::Both.as_str());
        Ok(settled(note))
    })
}

/// Keeps one statement and retires the other.
fn keep(call: &mut Call<'_>, open: &OpenConflict, kept: KeepChoice) -> ToolResult<Conflicts> {
    let OpenConflict { conflict, first, second } = open;
    let number = conflict.number;
    let (winner, loser) = if kept == KeepChoice::First { (first, second) } else { (second, first) };
    if loser.kind == StatementKind::Document {
        if is_log(&loser.reference) {
            let line = call.read(|db| name_of(db, loser))?;
            let note = format!("[{line}] stays, because a log is history. This conflict is closed.");
            return keep_both(call, number, note);
        }
        return Ok(propose_edit(call, loser, number, None)?);
    }
    let by = match winner.kind {
        StatementKind::Entry => Some(winner.reference.parse()?),
        StatementKind::Fact | StatementKind::Document => None,
    };
    call.write(|write| {
        let note = retire(write, loser, by.as_ref())?;
        conflict::settle(write.db, number, Some(kept))?;
        write.record(&format!("conflict:{number}"), "kept", kept.as_str());
        Ok(settled(note))
    })
}

/// Tells whether a document is a daily log, whose lines are only ever added.
fn is_log(path: &str) -> bool {
    let day = path.rsplit('/').next().and_then(|name| name.get(..10)).and_then(Day::parse);
    path.starts_with("memory/") && day.is_some()
}

/// Supersedes an entry by `by` or archives it, or ends a fact. Returns what was done, in words.
fn retire(write: &mut Write<'_>, side: &CurrentStatement, by: Option<&EntryId>) -> Result<String> {
    let now = write.origin.now;
    write.spend(Action::Supersede)?;
    let name = name_of(write.db, side)?;
    if side.kind == StatementKind::Fact {
        fact::end_by_id(write.db, &side.reference, now)?;
        write.record(&side.reference, "ended", 1);
        return Ok(format!("[{name}] has ended and stays as history."));
    }
    let old = entry_ref(side)?;
    let Some(by) = by else {
        let entry = entry::get_current(write.db, &old)?;
        entry::archive(write.db, now, &entry.id)?;
        write.record(&entry.id, "archived", 1);
        return Ok(format!("[{name}] is archived; `nacre unarchive {}` brings it back.", entry.number));
    };
    let old = entry::supersede(write.db, now, &old, by)?;
    write.record(&old.id, "superseded", 1);
    Ok(format!("[{name}] is superseded by [id:{}].", entry::number(write.db, by.as_str())?))
}

/// Stores a statement that replaces both sides. Lines of documents are replaced by proposals.
fn replace(call: &mut Call<'_>, open: &OpenConflict, text: &str) -> ToolResult<Conflicts> {
    let sides = [&open.first, &open.second];
    let number = open.conflict.number;
    let mut draft = Draft {
        r#type: EntryType::Fact,
        content: text.to_owned(),
        tags: Tags::default(),
        supersedes: None,
        private: Some(false),
        data: None,
        on_duplicate: OnDuplicate::Keep,
    };
    for side in sides {
        let is_private = is_private(call, side)?;
        draft.private = draft.private.map(|private| private || is_private);
        if side.kind == StatementKind::Entry {
            let entry = call.read(|db| entry::get(db, &entry_ref(side)?))?;
            draft.r#type = entry.r#type;
            draft.tags = draft.tags.with(&entry.tags);
        }
    }
    let note = call.write(|write| {
        let stored = entry::store(write.db, &write.origin, draft)?;
        if !stored.duplicate {
            write.spend(Action::Store)?;
        }
        write.record(&stored.entry.id, "chars", text.chars().count());
        let mut note = format!("Stored as [id:{}] ({}).", stored.entry.number, stored.entry.r#type);
        let others = |side: &&&CurrentStatement| {
            side.kind != StatementKind::Document && side.reference != stored.entry.id.as_str()
        };
        for side in sides.iter().filter(others) {
            let _ = write!(note, " {}", retire(write, side, Some(&stored.entry.id))?);
        }
        write.record(&format!("conflict:{number}"), "replaced", 1);
        Ok(note)
    })?;
    let mut done = settled(note);
    for side in sides.iter().filter(|side| side.kind == StatementKind::Document && !is_log(&side.reference)) {
        let proposed = propose_edit(call, side, number, Some(text))?;
        done.proposals.extend(proposed.proposals);
        done.note = done.note.into_iter().chain(proposed.note).reduce(|note, more| format!("{note} {more}"));
    }
    Ok(done)
}

/// Tells whether a statement is hidden from shared sessions.
fn is_private(call: &mut Call<'_>, side: &CurrentStatement) -> Result<bool> {
    if call.caller.visibility == Visibility::Shared {
        return Ok(false);
    }
    match side.kind {
        StatementKind::Entry => call.read(|db| Ok(entry::get(db, &entry_ref(side)?)?.private)),
        StatementKind::Fact => call.read(|db| fact::is_private(db, &side.reference)),
        StatementKind::Document => {
            let rules = call.settings().visibility.private.clone();
            let bytes = call.view().files().read(&side.reference.parse()?, MAX_DOCUMENT_BYTES)?;
            Ok(!Visibility::Shared.sees_file(&rules, &side.reference, &bytes.unwrap_or_default()))
        }
    }
}

/// Proposes to remove a line of a document, or to replace its statement. A person's file is never edited without their approval.
fn propose_edit(
    call: &mut Call<'_>,
    side: &CurrentStatement,
    number: i64,
    new: Option<&str>,
) -> Result<Conflicts> {
    let (caller, path): (_, FilePath) = (call.caller, side.reference.parse()?);
    // A person's write would be applied at once, but only a refusal counts here.
    policy::decide(Target::File(&path), caller, call.view.rights(), call.settings())?;
    let mut held = change::lock(call.view())?;
    proposal::check_seen(&held, caller, &path)?;
    let before = held.read(&path)?;
    let after = edited(before.as_deref().unwrap_or_default(), side, new)
        .ok_or_else(|| Error::FileChanged { path: path.to_string() })?;
    let reason = format!("settles conflict {number}");
    let change = Change { path, before, after: Some(after) };
    let made = proposal::propose_file(&mut held, change, &reason, &[])?;
    let ProposalOutcome { number: proposed, state, .. } = made;
    let line = format!("{}:{}", side.reference, side.line.unwrap_or(1));
    Ok(match state {
        State::Pending => Conflicts {
            proposals: vec![proposed],
            ..settled(format!(
                "The edit of [{line}] waits for the user as proposal {proposed}: `nacre approve {proposed}` applies it."
            ))
        },
        _ => settled(format!("The user has denied the edit of [{line}] (proposal {proposed}).")),
    })
}

/// Returns a document without a line, or with another statement in it. `None`: the line is not there, or there more than once.
fn edited(file: &[u8], side: &CurrentStatement, new: Option<&str>) -> Option<Vec<u8>> {
    let (text, _) = decode(file).ok()?;
    let masked = redact::document(&text);
    let line = text.lines().zip(masked.lines()).find(|(_, masked)| masked.trim() == side.text)?.0;
    let start = line.rfind(search::without_marker(line).trim())?;
    let new = new.map(|new| format!("{}{}", &line[..start], one_line(new)));
    // The line breaks make sure that a whole line is meant. The first and the last line have only one.
    let forms = match new {
        Some(new) => [
            (format!("\n{line}\n"), format!("\n{new}\n")),
            (format!("{line}\n"), format!("{new}\n")),
            (format!("\n{line}"), format!("\n{new}")),
        ],
        None => [
            (format!("\n{line}\n"), "\n".to_owned()),
            (format!("{line}\n"), String::new()),
            (format!("\n{line}"), String::new()),
        ],
    };
    forms.iter().find_map(|(old, new)| edit::edit(file, old, new).ok())
}

/// Undoes how a conflict was settled: the statement that lost is current again.
fn undo(call: &mut Call<'_>, number: i64) -> ToolResult<Conflicts> {
    // A settled conflict may be about something that a shared session does not see.
    if call.caller.visibility == Visibility::Shared {
        return Err(Error::NeedsPrivate { tool: ConflictsRequest::NAME.into() }.into());
    }
    let nothing = || Error::NotSettled { number };
    let settled_one = call.read(|db| conflict::get(db, number))?.ok_or(Error::NoConflict { number })?;
    let Conflict { first, second, kept, .. } = settled_one;
    let (winner, loser) = match kept.ok_or_else(nothing)? {
        KeepChoice::First => (first, Some(second)),
        KeepChoice::Second => (second, Some(first)),
        KeepChoice::Both => (first, None),
    };
    call.write(|write| {
        if let Some(loser) = &loser {
            match loser.reference.parse().map(EntryRef::Id) {
                Err(_) => fact::reopen_by_id(write.db, &loser.reference)?,
                Ok(named) => {
                    let entry = entry::get(write.db, &named)?;
                    let by = entry.superseded_by.as_ref().map(EntryId::as_str);
                    if by == Some(winner.reference.as_str()) {
                        entry::unsupersede(write.db, &named)?.ok_or_else(nothing)?;
                    } else {
                        entry::unarchive(write.db, write.origin.now, &named)?;
                    }
                }
            }
            write.record(&loser.reference, "restored", 1);
        }
        conflict::settle(write.db, number, None)?;
        write.record(&format!("conflict:{number}"), "undone", 1);
        Ok(settled(format!("Conflict {number} is open again.")))
    })
}

// Conflicts that writes find.

/// Says which current statements a new one contradicts, and how to settle it.
pub(super) fn say_contradictions(found: &[Contradiction], calendar: &Calendar) -> String {
    let mut text = String::new();
    for Contradiction { id, text: statement, at, .. } in found {
        let _ = write!(text, "\nIt contradicts [{id}] {} ({}).", one_line(statement), calendar.date(*at));
    }
    if !found.is_empty() {
        text.push_str(
            " If the new one is right, update, supersede or delete the other; `nacre conflicts` lists both.",
        );
    }
    text
}

/// Records the conflicts of a statement that was just written, and drops the pairs that a person keeps.
pub(super) fn note(call: &mut Call<'_>, later: &StatementRef, found: &mut Vec<Contradiction>) -> Result<()> {
    let pairs = std::mem::take(found).into_iter().map(|one| (later.clone(), one)).collect();
    *found = note_pairs(call.view(), pairs)?;
    Ok(())
}

/// Records pairs of a new statement and one that it contradicts. Returns the ones that a person does not keep.
fn note_pairs(view: &mut View<'_>, pairs: Vec<(StatementRef, Contradiction)>) -> Result<Vec<Contradiction>> {
    if pairs.is_empty() {
        return Ok(Vec::new());
    }
    let now = view.now();
    view.write(|tx| {
        let mut open = Vec::new();
        for (later, one) in pairs {
            if !conflict::is_kept(tx, &later, &one.statement)? {
                conflict::record(tx, now, &later, &one.statement)?;
                open.push(one);
            }
        }
        Ok(open)
    })
}

/// Compares a line that was added to a log with the current statements, and records the conflicts.
pub fn of_log_line(view: &mut View<'_>, path: &str, line: &str) -> Result<Vec<Contradiction>> {
    let later = StatementRef::new(path, line.trim());
    let new = NewStatement { content: search::without_marker(line.trim()), ..NewStatement::default() };
    let found = view.read(|db| search::contradicting(db, &new))?;
    note_pairs(view, found.into_iter().map(|one| (later.clone(), one)).collect())
}

/// Compares the lines that a change added to a document with the current statements. They are recorded if the change was made.
pub(super) fn of_document(
    view: &mut View<'_>,
    Change { path, before, after }: &Change,
    is_made: bool,
) -> Result<Vec<Contradiction>> {
    let Some(after) = after else { return Ok(Vec::new()) };
    let compare = |db: &Connection| search::contradicting_lines(db, path.as_str(), before.as_deref(), after);
    let found = view.read(compare)?;
    if is_made {
        return note_pairs(view, found.into_iter().map(|one| (one.line, one.contradicts)).collect());
    }
    Ok(found.into_iter().map(|one| one.contradicts).collect())
}

/// Records the conflicts of a change to a file that a person approved.
pub(super) fn of_approved(view: &mut View<'_>, approved: &Proposal) -> Result<()> {
    if approved.kind != Kind::File || approved.state != State::Approved {
        return Ok(());
    }
    let [before, after] = proposal::texts(view, approved.number)?;
    of_document(view, &Change { path: approved.target.parse()?, before, after }, true).map(drop)
}

/// Compares imported statements with the current ones and records the conflicts. Comparing a statement costs several times as much
/// as importing it, so only the first hundred are compared. `None`: all of them were compared, and none contradicts another.
pub fn of_import(view: &mut View<'_>, imported: &[String]) -> Result<Option<ComparedStatements>> {
    let compared = imported.len().min(MAX_COMPARED_IMPORTS);
    let contradicting = of_many(view, &imported[..compared])?;
    let found = ComparedStatements { compared, statements: imported.len(), contradicting };
    Ok((contradicting > 0 || compared < imported.len()).then_some(found))
}

/// Compares the lines of documents that were indexed since the last time with the current statements and records the conflicts:
/// files that were edited by hand or imported. Comparing a line takes milliseconds, so a search does not wait for it, and a run
/// compares a thousand chunks at most. The next run continues.
pub fn of_new_lines(view: &mut View<'_>) -> Result<ComparedStatements> {
    const MAX_BATCHES: usize = 20;
    let mut all = ComparedStatements::default();
    for _ in 0..MAX_BATCHES {
        let ComparedLines { pairs, compared, contradicting, last, is_complete } =
            view.read(|db| search::contradicting_new_lines(db, conflict::last_compared(db)?))?;
        if compared > 0 || !is_complete {
            let now = view.now();
            view.write(|tx| {
                let record = |(later, earlier): &_| conflict::record(tx, now, later, earlier);
                pairs.iter().try_for_each(record)?;
                conflict::set_last_compared(tx, last)
            })?;
        }
        all.compared += compared;
        all.contradicting += contradicting;
        if is_complete {
            break;
        }
    }
    all.statements = all.compared;
    Ok(all)
}

/// Compares all current entries and facts with each other and with documents, and records the conflicts. `progress` receives the
/// number of compared statements and their total.
pub fn find(view: &mut View<'_>, progress: &mut dyn FnMut(usize, usize)) -> Result<ComparedStatements> {
    let all = view.read(lookup::all_statements)?;
    let (mut compared, mut contradicting) = (0, 0);
    for batch in all.chunks(MAX_COMPARED_IMPORTS) {
        contradicting += of_many(view, batch)?;
        compared += batch.len();
        progress(compared, all.len());
    }
    view.write(|tx| conflict::set_last_compared(tx, 0))?;
    loop {
        let lines = of_new_lines(view)?;
        compared += lines.compared;
        contradicting += lines.contradicting;
        if lines.compared == 0 {
            return Ok(ComparedStatements { compared, statements: compared, contradicting });
        }
    }
}

/// Compares entries and facts with the current statements and records the conflicts. Returns how many of them have one.
fn of_many(view: &mut View<'_>, references: &[String]) -> Result<usize> {
    let mut contradicting = 0;
    let pairs = view.read(|db| {
        let mut pairs = Vec::new();
        for reference in references {
            let kind = if reference.parse::<EntryId>().is_ok() { entry::KIND } else { fact::KIND };
            let Some((text, at)) = lookup::live(db, kind, reference)? else { continue };
            // A fact that was read from a document is its line, which is compared itself.
            if kind == fact::KIND && fact::read_from(db, reference)?.is_some() {
                continue;
            }
            let own = StatementRef::new(reference, &text);
            let ownership = entry::ownership(db, reference)?;
            let new = NewStatement {
                content: &text,
                ownership: Some(&ownership),
                skip: std::slice::from_ref(reference),
                is_one_of_many: true,
                ..NewStatement::default()
            };
            let found = search::contradicting(db, &new)?;
            contradicting += usize::from(!found.is_empty());
            // Here the other statement may be the later one.
            pairs.extend(found.into_iter().map(|other| match other.at > at {
                true => (other.statement, own.clone()),
                false => (own.clone(), other.statement),
            }));
        }
        Ok(pairs)
    })?;
    if pairs.is_empty() {
        return Ok(0);
    }
    let now = view.now();
    view.write(|tx| pairs.iter().try_for_each(|(later, earlier)| conflict::record(tx, now, later, earlier)))?;
    Ok(contradicting)
}

/// Returns the number of open conflicts.
pub(super) fn count(db: &Connection) -> Result<usize> {
    Ok(conflict::open(db)?.len())
}
