//! Turns items into records: entries, documents, the graph, sessions.
//!
//! Parts are written in batches, each in one transaction with its audit row, so that an interrupted import
//! continues where it stopped when it is run again. A document's file is written before its row: a later run
//! that finds the file without the row adopts it if the content is the same.

mod place;
mod record;
mod step;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::BufRead;

use super::identity::{self, Author, NewRow, Origin, Row, hash};
use super::source::{MAX_TEXT_BYTES, Source};
use super::{Counts, Format, Options, Report, Sample, SkippedItem, add_messages};
use crate::base::caller::{Actor, Caller, is_marked, is_private};
use crate::base::frame::{one_line, strip_injected};
use crate::base::origin::RecordOrigin;
use crate::base::progress::{Progress, Unit};
use crate::base::redact;
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::records::entry::{self, EntryType, MAX_TAG_CHARS, MAX_TAGS};
use crate::records::session::{self, import as transcript};
use crate::records::tombstone::Tombstones;
use crate::records::workspace::change;
use crate::store::Connection;
use crate::store::audit;

use place::{IMPORTS_FOLDER, Placement, place, safe};
use record::{BatchResult, Importer};
use step::{claim_kind, key_of, kind_of, steps, unchanged};

/// The maximum number of items, and of bytes, in one transaction.
const BATCH_ITEMS: usize = 2_000;
const BATCH_BYTES: usize = 8 << 20;
/// The maximum number of notes and samples in a report.
const MAX_NOTES: usize = 20;
const MAX_SAMPLES: usize = 5;

/// One item of a source.
pub(super) struct Item {
    /// Its name within its part.
    pub(super) key: String,
    pub(super) origin: Origin,
    /// Its own time.
    pub(super) at: Option<Time>,
    /// Whether shared sessions never see it, whatever it becomes.
    pub(super) private: bool,
    pub(super) thing: Thing,
}

/// The record that an item becomes.
pub(super) enum Thing {
    Entry {
        r#type: EntryType,
        content: String,
        tags: Vec<String>,
    },
    /// `path` is relative to the folder of the format.
    Document {
        path: String,
        text: String,
    },
    Fact {
        entity: String,
        key: &'static str,
        value: String,
        category: Option<&'static str>,
    },
    Relation {
        subject: String,
        predicate: String,
        object: String,
    },
    Alias {
        alias: String,
        entity: String,
    },
}

impl Item {
    /// Returns the hash of its content, for comparison.
    fn hash(&self) -> String {
        self.thing.hash(self.private)
    }
}

/// Returns the content of an entry, for comparison: one that has become private at its source has changed.
fn said(r#type: EntryType, content: &str, private: bool) -> String {
    if private { hash(&[r#type.as_str(), content, "private"]) } else { hash(&[r#type.as_str(), content]) }
}

impl Thing {
    fn kind(&self) -> &'static str {
        match self {
            Thing::Entry { .. } => "entry",
            Thing::Document { .. } => "document",
            Thing::Fact { .. } => "fact",
            Thing::Relation { .. } => "relation",
            Thing::Alias { .. } => "alias",
        }
    }

    fn hash(&self, private: bool) -> String {
        match self {
            Thing::Entry { r#type, content, .. } => said(*r#type, content, private),
            Thing::Document { text, .. } => hash(&[text]),
            Thing::Fact { entity, key, value, .. } => hash(&[entity, key, value]),
            Thing::Relation { subject, predicate, object } => hash(&[subject, predicate, object]),
            Thing::Alias { alias, entity } => hash(&[alias, entity]),
        }
    }

    fn shown(&self) -> String {
        match self {
            Thing::Entry { r#type, content, .. } => format!("[{type}] {}", one_line(content)),
            Thing::Document { path, .. } => path.clone(),
            Thing::Fact { entity, key, value, .. } => format!("{entity}: {key} = {}", one_line(value)),
            Thing::Relation { subject, predicate, object } => format!("{subject} {predicate} {object}"),
            Thing::Alias { alias, entity } => format!("{alias} = {entity}"),
        }
    }
}

/// A file or record of a source with all its items: an earlier item that is missing here was removed from the
/// source.
struct Part {
    hash: String,
    items: Vec<Item>,
}

/// Returns the progress of a source whose size is not known.
fn items(done: usize) -> Progress {
    Progress { unit: Unit::Items, done, total: None }
}

/// Imports items and counts the results.
pub(super) struct Sink<'a> {
    view: View<'a>,
    caller: &'a Caller,
    format: &'static Format,
    source: &'a Source,
    report: Report,
    items: Vec<Item>,
    parts: Vec<Part>,
    waiting: (usize, usize),
    taken: usize,
    origin: RecordOrigin,
    /// Documents that have been written: two names in a source may map to one path here.
    paths: HashSet<String>,
    /// Notes of the source, if it is a folder of notes: how many were read, and how many there are.
    notes: Option<(usize, usize)>,
    progress: &'a mut dyn FnMut(Progress),
}

impl<'a> Sink<'a> {
    pub(super) fn new(
        view: &'a mut View<'_>,
        format: &'static Format,
        source: &'a Source,
        options: &Options,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Sink<'a> {
        let report = Report {
            format: format.name,
            path: source.path.clone(),
            dry_run: options.dry_run,
            kinds: BTreeMap::new(),
            sessions: 0,
            skipped: BTreeMap::new(),
            notes: Vec::new(),
            samples: Vec::new(),
            statements: Vec::new(),
            conflicts: None,
        };
        let (items, parts, paths) = (Vec::new(), Vec::new(), HashSet::new());
        let origin = match options.trusted && view.caller().actor == Actor::Person {
            true => RecordOrigin::Approved,
            false => RecordOrigin::Import,
        };
        Sink {
            caller: view.caller(),
            origin,
            view: view.lend(),
            format,
            source,
            report,
            items,
            parts,
            waiting: (0, 0),
            taken: 0,
            paths,
            notes: None,
            progress,
        }
    }

    /// Announces how many notes the source has. From then on notes are counted, not items.
    pub(super) fn expect_notes(&mut self, total: usize) {
        self.notes = Some((0, total));
    }

    /// Counts a note that was read, even if it was skipped.
    pub(super) fn note_read(&mut self) {
        if let Some((read, _)) = &mut self.notes {
            *read += 1;
        }
    }

    /// Adds an item to the current part.
    pub(super) fn item(&mut self, mut item: Item) {
        item.at = item.at.map(|at| at.min(self.caller.now));
        if let Thing::Entry { r#type, content, tags, .. } = &mut item.thing {
            if item.origin.author == Author::Others && r#type.behavioral() {
                *r#type = EntryType::Fact;
            }
            match entry::check_content(content) {
                Ok(clean) => *content = clean,
                // A text that is too long for an entry becomes a document, which is searchable as well.
                Err(Error::ContentTooLong { .. }) => {
                    let path = format!("{}-{}.md", item.origin.path, &hash(&[&item.key])[..8]);
                    let text = std::mem::take(content);
                    item.thing = Thing::Document { path, text };
                    return self.item(item);
                }
                Err(error) => return self.skip(&named(&item), error.to_string()),
            }
            tags.truncate(MAX_TAGS - 1);
            for tag in tags.iter_mut() {
                *tag = tag.chars().take(MAX_TAG_CHARS).collect();
            }
            tags.push(self.format.name.to_owned());
        }
        if let Thing::Fact { value, .. } = &item.thing
            && strip_injected(value).trim().is_empty()
        {
            return self.skip(&named(&item), "text that Nacre itself added");
        }
        if let Thing::Document { text, .. } = &item.thing {
            item.private |= self.is_private(&item.origin.path, text);
        }
        if let Thing::Document { path, text } = &mut item.thing {
            if text.len() as u64 > MAX_TEXT_BYTES {
                return self.skip(&named(&item), format!("larger than {} MiB", MAX_TEXT_BYTES >> 20));
            }
            if strip_injected(text).trim().is_empty() {
                let why = if text.trim().is_empty() { "empty" } else { "text that Nacre itself added" };
                return self.skip(&named(&item), why.to_owned());
            }
            *path = safe(&format!("{IMPORTS_FOLDER}/{}/{path}", self.format.name));
            // A document that was private by its name gets a private mark, because its name changes.
            if item.private && !self.is_private(path, text) {
                *text = marked(text);
            }
        }
        self.items.push(item);
    }

    /// Counts a skipped item.
    pub(super) fn skip(&mut self, what: &str, why: impl Into<String>) {
        let why = why.into();
        self.note(what, &why);
        *self.report.skipped.entry(why).or_default() += 1;
    }

    fn note(&mut self, what: &str, why: &str) {
        if self.report.notes.len() < MAX_NOTES {
            let what: String = redact::text(&one_line(what)).chars().take(200).collect();
            self.report.notes.push(SkippedItem { what, why: redact::text(why).into_owned() });
        }
    }

    /// Ends a part of the source, which was read completely.
    pub(super) fn end(&mut self, part: &str) -> Result<()> {
        self.close(hash(&[&self.source.name, part]))
    }

    /// Ends a part whose name means the same in every source of the format.
    pub(super) fn end_of(&mut self, part: &str) -> Result<()> {
        self.close(hash(&[part]))
    }

    fn close(&mut self, hash: String) -> Result<()> {
        let items = std::mem::take(&mut self.items);
        let bytes: usize = items
            .iter()
            .map(|item| match &item.thing {
                Thing::Document { text, .. } => text.len(),
                _ => 100,
            })
            .sum();
        self.waiting = (self.waiting.0 + items.len() + 1, self.waiting.1 + bytes);
        self.parts.push(Part { hash, items });
        if self.waiting.0 >= BATCH_ITEMS || self.waiting.1 >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    pub(super) fn finish(mut self) -> Result<Report> {
        self.flush()?;
        Ok(self.report)
    }

    /// Imports a transcript. `name` is used in errors.
    pub(super) fn messages(&mut self, input: impl BufRead, name: &str) -> Result<()> {
        let before = self.taken;
        let mut far = before;
        let recorded = if self.report.dry_run {
            self.count_messages(input, name)
        } else {
            let progress = &mut self.progress;
            let told = |messages: usize| {
                far = before + messages;
                progress(items(far));
            };
            session::import_transcript(&mut self.view, input, name, told)
        };
        self.taken = far;
        let recorded = match recorded {
            Err(Error::BadTranscript { problem, .. }) => {
                self.skip(name, problem);
                return Ok(());
            }
            recorded => recorded?,
        };
        add_messages(&mut self.report, &recorded);
        for (why, count) in recorded.read.skipped.iter().chain(&recorded.read.mended) {
            *self.report.skipped.entry(why.to_string()).or_default() += count;
        }
        for note in &recorded.read.notes {
            self.note(&format!("{name}:{}", note.number), &format!("{} {}", note.why, note.detail));
        }
        Ok(())
    }

    fn count_messages(
        &mut self,
        input: impl BufRead,
        name: &str,
    ) -> Result<crate::records::session::TranscriptImport> {
        let (mut added, mut present) = (0, 0);
        let (samples, progress, group) = (&mut self.report.samples, &mut self.progress, &self.view);
        let mut references = Vec::new();
        let mut count = |references: &mut Vec<String>| -> Result<()> {
            let known = group.read_all(|db| known_messages(db, references))?;
            (added, present) = (added + references.len() - known, present + known);
            progress(items(added + present));
            references.clear();
            Ok(())
        };
        let read = transcript::read(input, name, |message| {
            if samples.len() < MAX_SAMPLES {
                let text: String = one_line(&message.text).chars().take(100).collect();
                let text = format!("{}: {}", message.author.as_str(), redact::text(&text));
                samples.push(Sample { kind: "message", text });
            }
            references.push(format!("{}/{}", message.session, message.id));
            if references.len() < BATCH_ITEMS { Ok(()) } else { count(&mut references) }
        })?;
        count(&mut references)?;
        Ok(crate::records::session::TranscriptImport { read, added, present })
    }

    fn count(&mut self, kind: &'static str) -> &mut Counts {
        self.report.kinds.entry(kind).or_default()
    }

    /// Writes the collected parts.
    fn flush(&mut self) -> Result<()> {
        let parts = std::mem::take(&mut self.parts);
        self.waiting = (0, 0);
        if parts.is_empty() {
            return Ok(());
        }
        if self.report.dry_run {
            self.look(&parts)?;
        } else {
            self.write_documents(&parts)?;
            self.write_records(&parts)?;
        }
        self.taken += parts.iter().map(|part| part.items.len()).sum::<usize>();
        (self.progress)(match self.notes {
            Some((done, total)) => Progress { unit: Unit::Notes, done, total: Some(total) },
            None => items(self.taken),
        });
        Ok(())
    }

    /// Reports what would happen to parts, for a dry run.
    fn look(&mut self, parts: &[Part]) -> Result<()> {
        for part in parts {
            let (steps, gone) = self.view.read_all(|db| steps(db, self.format, part))?;
            for step in &steps {
                let kind = step.known.as_ref().map_or(step.item.thing.kind(), kind_of);
                let counts = self.count(kind);
                match &step.known {
                    None => counts.added += 1,
                    Some(row) if row.hash == step.hash => counts.present += 1,
                    Some(row) if row.hash.is_empty() => counts.kept += 1,
                    Some(_) => counts.changed += 1,
                }
                if step.known.is_none() && self.report.samples.len() < MAX_SAMPLES {
                    let text: String = step.item.thing.shown().chars().take(120).collect();
                    let text = redact::text(&text).into_owned();
                    self.report.samples.push(Sample { kind: step.item.thing.kind(), text });
                }
            }
            for row in gone.iter().filter(|row| row.own) {
                if let Some(kind) = claim_kind(&row.kind) {
                    self.count(kind).ended += 1;
                }
            }
        }
        Ok(())
    }

    /// Writes the files of documents, and then their rows.
    fn write_documents(&mut self, parts: &[Part]) -> Result<()> {
        let is_document = |item: &&Item| matches!(item.thing, Thing::Document { .. });
        if !parts.iter().flat_map(|part| &part.items).any(|item| is_document(&item)) {
            return Ok(());
        }
        let (mut written, mut told) = (Vec::new(), Vec::new());
        let known: Vec<HashMap<String, Row>> = self.view.read_all(|db| {
            parts.iter().map(|part| identity::of_part(db, self.format.name, &part.hash)).collect()
        })?;
        let held = change::lock(&mut self.view)?;
        for (part, known) in parts.iter().zip(&known) {
            for item in part.items.iter().filter(is_document) {
                let Thing::Document { path, text } = &item.thing else { continue };
                let (key, new) = (key_of(part, item), item.hash());
                let row = known.get(&key);
                match place(held.files(), (path, text, item.at), row, &new, &mut self.paths) {
                    Ok((placed, path)) => written.push((part, item, key, new, placed, path)),
                    Err(error) => told.push((path.clone(), error.to_string())),
                }
            }
        }
        drop(held);
        for (path, why) in told {
            self.skip(&path, why);
        }
        let (format, caller) = (self.format.name, self.caller);
        let changes =
            |placed: Placement| matches!(placed, Placement::Added | Placement::Changed | Placement::Adopted);
        let any = written.iter().filter(|(.., placed, _)| changes(*placed)).count();
        if any > 0 {
            self.view.write(|tx| {
                for (part, item, key, hash, _, path) in
                    written.iter().filter(|(.., placed, _)| changes(*placed))
                {
                    let new = NewRow {
                        format,
                        key,
                        part: &part.hash,
                        kind: "document",
                        reference: path,
                        own: true,
                        hash,
                        origin: &item.origin,
                        at: item.at,
                        now: caller.now,
                    };
                    identity::put(tx, &new)?;
                }
                audit::Row::new("import").with("documents", any).append(tx, caller)
            })?;
        }
        for (.., placed, path) in &written {
            let counts = self.count("document");
            match placed {
                Placement::Added => counts.added += 1,
                Placement::Changed => counts.changed += 1,
                Placement::Adopted | Placement::Same => counts.present += 1,
                Placement::Kept(why) => {
                    counts.kept += 1;
                    self.note(path, why);
                }
            }
        }
        Ok(())
    }

    /// Writes all records except documents.
    fn write_records(&mut self, parts: &[Part]) -> Result<()> {
        let (caller, format, origin) = (self.caller, self.format, self.origin);
        let known = |view: &View<'_>| view.read_all(|db| unchanged(db, format, parts));
        // An unchanged source costs no write.
        if let Some(present) = known(&self.view)? {
            for (kind, count) in present {
                self.count(kind).present += count;
            }
            return Ok(());
        }
        let group_name = self.view.name().to_string();
        let done = self.view.write_indexed(|tx, lexicon| {
            let mut done = BatchResult::default();
            let deleted = Tombstones::load(tx)?;
            let taker = Importer { tx, caller, format, group: &group_name, origin, deleted };
            taker.take(lexicon, parts, &mut done)?;
            let mut row = audit::Row::new("import");
            for (kind, counts) in &done.kinds {
                row.detail.insert((*kind).into(), (counts.added + counts.changed + counts.ended).into());
            }
            row.append(tx, caller)?;
            Ok(done)
        })?;
        for (kind, counts) in done.kinds {
            let sum = self.count(kind);
            sum.added += counts.added;
            sum.changed += counts.changed;
            sum.present += counts.present;
            sum.ended += counts.ended;
            sum.kept += counts.kept;
        }
        self.report.statements.extend(done.statements);
        for (what, why) in done.skipped {
            self.skip(&what, why);
        }
        for (what, why) in done.notes {
            self.note(&what, &why);
        }
        Ok(())
    }

    /// Tells whether a file is private here: by its name or its front matter.
    pub(super) fn is_private(&self, path: &str, text: &str) -> bool {
        is_private(&self.view.settings().visibility.private, path) || is_marked(text)
    }

    pub(super) fn now(&self) -> Time {
        self.caller.now
    }
}

/// Returns a document with a private mark in its front matter.
fn marked(text: &str) -> String {
    let own = text.strip_prefix('\u{feff}').unwrap_or(text);
    match own.strip_prefix("---\n") {
        Some(rest) => format!("---\nprivate: true\n{rest}"),
        None => format!("---\nprivate: true\n---\n\n{own}"),
    }
}

fn named(item: &Item) -> String {
    let Origin { path, id, line, .. } = &item.origin;
    let place = if path.is_empty() { id } else { path };
    line.map_or_else(|| place.clone(), |line| format!("{place}:{line}"))
}

/// Returns how many of the messages exist already.
fn known_messages(db: &Connection, references: &[String]) -> Result<usize> {
    let sql = "SELECT EXISTS (SELECT 1 FROM passages WHERE kind = 'message' AND ref = $1)";
    let mut known = 0;
    for reference in references {
        known += usize::from(db.one(sql, [reference], |row| row.get::<bool>(0))?);
    }
    Ok(known)
}
