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
use std::path::Path;

use super::identity::{self, Author, NewRow, Origin, Row, hash};
use super::source::{MAX_TEXT_BYTES, Source, Text};
use super::{Counts, Format, Options, Report, Sample, SettingAdvice, SkippedItem, add_messages, markdown};
use crate::base::caller::{Actor, Caller, is_marked, is_private};
use crate::base::frame::{one_line, strip_injected};
use crate::base::origin::RecordOrigin;
use crate::base::progress::{Progress, Unit};
use crate::base::redact;
use crate::base::{Error, Result, Time};
use crate::group::View;
use crate::index::Lexicon;
use crate::records::entry::{self, EntryType, MAX_TAG_CHARS, MAX_TAGS};
use crate::records::project::live::{self, LiveFile};
use crate::records::project::{TaskImportReport, item, task};
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
    pub(super) thing: ImportedRecord,
}

/// The record that an item becomes.
pub(super) enum ImportedRecord {
    Entry {
        r#type: EntryType,
        content: String,
        tags: Vec<String>,
        state: EntryState,
    },
    /// `path` is relative to the folder of the format.
    Document {
        path: String,
        text: String,
    },
    Fact {
        entity: String,
        key: String,
        value: String,
        category: Option<&'static str>,
        use_of: FactUse,
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
    /// Two facts of this part, by their keys, that were often recalled together.
    Together {
        facts: [String; 2],
        weight: f64,
    },
}

/// The state of an entry in another program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EntryState {
    pub(super) score: i64,
    /// When it was last confirmed.
    pub(super) confirmed_at: Option<Time>,
    /// Why and since when it is not current, if it is not.
    pub(super) past: Option<PastState>,
}

/// Why an entry is not current.
#[derive(Clone, Copy, Debug)]
pub(super) enum PastState {
    Superseded(Time),
    Archived(Time),
}

/// The use of a fact in another program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FactUse {
    pub(super) importance: Option<f64>,
    pub(super) permanent: Option<bool>,
    pub(super) activation: Option<f64>,
    pub(super) access_count: Option<i64>,
    pub(super) last_accessed: Option<Time>,
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

impl ImportedRecord {
    fn kind(&self) -> &'static str {
        match self {
            ImportedRecord::Entry { .. } => "entry",
            ImportedRecord::Document { .. } => "document",
            ImportedRecord::Fact { .. } => "fact",
            ImportedRecord::Relation { .. } => "relation",
            ImportedRecord::Alias { .. } => "alias",
            ImportedRecord::Together { .. } => "link",
        }
    }

    fn hash(&self, private: bool) -> String {
        match self {
            ImportedRecord::Entry { r#type, content, .. } => said(*r#type, content, private),
            ImportedRecord::Document { text, .. } => hash(&[text]),
            ImportedRecord::Fact { entity, key, value, .. } => hash(&[entity, key, value]),
            ImportedRecord::Relation { subject, predicate, object } => hash(&[subject, predicate, object]),
            ImportedRecord::Alias { alias, entity } => hash(&[alias, entity]),
            ImportedRecord::Together { weight, .. } => hash(&[&weight.to_string()]),
        }
    }

    fn shown(&self) -> String {
        match self {
            ImportedRecord::Entry { r#type, content, .. } => format!("[{type}] {}", one_line(content)),
            ImportedRecord::Document { path, .. } => path.clone(),
            ImportedRecord::Fact { entity, key, value, .. } => {
                format!("{entity}: {key} = {}", one_line(value))
            }
            ImportedRecord::Relation { subject, predicate, object } => {
                format!("{subject} {predicate} {object}")
            }
            ImportedRecord::Alias { alias, entity } => format!("{alias} = {entity}"),
            ImportedRecord::Together { weight, .. } => format!("two facts recalled together ({weight})"),
        }
    }

    /// Tells whether it is an entry that is no longer current at its source.
    fn is_past(&self) -> bool {
        matches!(self, ImportedRecord::Entry { state: EntryState { past: Some(_), .. }, .. })
    }
}

/// A file or record of a source with all its items: an earlier item that is missing here was removed from the
/// source.
struct Part {
    hash: String,
    items: Vec<Item>,
    /// Whether all of it was read, so that what is missing was removed.
    is_whole: bool,
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
            settings: Vec::new(),
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
    pub(super) fn item(&mut self, item: Item) {
        match self.pieces(&item) {
            Some(pieces) => pieces.into_iter().for_each(|piece| self.put(piece)),
            None => {
                if matches!(item.thing, ImportedRecord::Document { .. })
                    && !self.view.settings().documents.index
                {
                    self.skip(&named(&item), "kept as a document, which this profile does not search");
                }
                self.put(item);
            }
        }
    }

    /// Returns the entries that a text becomes where documents are not searched: one for each bullet and paragraph, and several
    /// for one that is too long.
    fn pieces(&self, item: &Item) -> Option<Vec<Item>> {
        if self.view.settings().documents.index {
            return None;
        }
        let (text, r#type, state) = match &item.thing {
            ImportedRecord::Document { text, .. } => (text, None, EntryState::default()),
            ImportedRecord::Entry { content, r#type, state, .. }
                if content.chars().count() > entry::MAX_CONTENT_CHARS =>
            {
                (content, Some(*r#type), *state)
            }
            _ => return None,
        };
        let private = item.private || self.is_private(&item.origin.path, text);
        let mut pieces = Vec::new();
        for memory in markdown::memories(text) {
            for content in split(&memory.content(), entry::MAX_CONTENT_CHARS) {
                let section = memory.section.join(" / ");
                pieces.push(Item {
                    key: hash(&[&item.key, &section, &content]),
                    origin: Origin { line: Some(memory.line), section, ..item.origin.clone() },
                    at: item.at,
                    private,
                    thing: ImportedRecord::Entry {
                        r#type: r#type.unwrap_or(EntryType::Fact),
                        content,
                        tags: Vec::new(),
                        state,
                    },
                });
            }
        }
        (!pieces.is_empty()).then_some(pieces)
    }

    fn put(&mut self, mut item: Item) {
        item.at = item.at.map(|at| at.min(self.caller.now));
        if let ImportedRecord::Entry { r#type, content, tags, .. } = &mut item.thing {
            if item.origin.author == Author::Others && r#type.behavioral() {
                *r#type = EntryType::Fact;
            }
            match entry::check_content(content) {
                Ok(clean) => *content = clean,
                // A text that is too long for an entry becomes a document, which is searchable as well.
                Err(Error::ContentTooLong { .. }) => {
                    let path = format!("{}-{}.md", item.origin.path, &hash(&[&item.key])[..8]);
                    let text = std::mem::take(content);
                    item.thing = ImportedRecord::Document { path, text };
                    return self.put(item);
                }
                Err(error) => return self.skip(&named(&item), error.to_string()),
            }
            tags.truncate(MAX_TAGS - 1);
            for tag in tags.iter_mut() {
                *tag = tag.chars().take(MAX_TAG_CHARS).collect();
            }
            tags.push(self.format.name.to_owned());
        }
        if let ImportedRecord::Fact { value, .. } = &item.thing
            && strip_injected(value).trim().is_empty()
        {
            return self.skip(&named(&item), "text that Nacre itself added");
        }
        if let ImportedRecord::Document { text, .. } = &item.thing {
            item.private |= self.is_private(&item.origin.path, text);
        }
        if let ImportedRecord::Document { path, text } = &mut item.thing {
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

    /// Reads a text file of the source, which is a part of it. A file that can't be read is skipped.
    pub(super) fn file(
        &mut self,
        source: &Source,
        path: &str,
        take: impl FnOnce(Text, &mut Self),
    ) -> Result<()> {
        match source.text(path) {
            Ok(text) => take(text, self),
            Err(why) => {
                self.skip(path, why);
                return Ok(());
            }
        }
        self.end(path)
    }

    /// Ends a part of the source, which was read completely.
    pub(super) fn end(&mut self, part: &str) -> Result<()> {
        self.close(hash(&[&self.source.name, part]))
    }

    /// Ends a part of which only some was read: what is missing may still be there.
    pub(super) fn end_broken(&mut self, part: &str) -> Result<()> {
        let hash = hash(&[&self.source.name, part]);
        self.close_as(hash, false)
    }

    /// Ends a part whose name means the same in every source of the format.
    pub(super) fn end_of(&mut self, part: &str) -> Result<()> {
        self.close(hash(&[part]))
    }

    fn close(&mut self, hash: String) -> Result<()> {
        self.close_as(hash, true)
    }

    fn close_as(&mut self, hash: String, is_whole: bool) -> Result<()> {
        let items = std::mem::take(&mut self.items);
        let bytes: usize = items
            .iter()
            .map(|item| match &item.thing {
                ImportedRecord::Document { text, .. } => text.len(),
                _ => 100,
            })
            .sum();
        self.waiting = (self.waiting.0 + items.len() + 1, self.waiting.1 + bytes);
        self.parts.push(Part { hash, items, is_whole });
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
        let is_document = |item: &&Item| matches!(item.thing, ImportedRecord::Document { .. });
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
                let ImportedRecord::Document { path, text } = &item.thing else { continue };
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

    /// Returns the folder for copies that reading needs.
    pub(super) fn scratch(&self) -> &'a Path {
        &self.source.scratch
    }

    /// Names a setting of Nacre that does what the source was set to.
    pub(super) fn advise(&mut self, key: &'static str, value: String) {
        self.report.settings.push(SettingAdvice { key, value });
    }

    /// Imports a `tasks.json`.
    pub(super) fn tasks(&mut self, path: &str, text: &str) -> Result<()> {
        let (caller, dry_run, file) = (self.caller, self.report.dry_run, Path::new(path));
        self.follow_live(LiveFile::Tasks)?;
        let take =
            |db: &Connection| task::import(db, file, text, (caller.actor_name(), task::IMPORT_SESSION));
        let done = match dry_run {
            // A group that nobody has written to stays so.
            true if !self.view.is_on_disk() => {
                task::count(file, text).map(|added| TaskImportReport { added, ..TaskImportReport::default() })
            }
            true => self.view.write(|tx| tx.undone(take)),
            false => self.view.write(|tx| {
                let done = take(tx)?;
                if done.added + done.changed > 0 {
                    audit::Row::new("task_import")
                        .with("tasks", done.added + done.changed)
                        .append(tx, caller)?;
                }
                Ok(done)
            }),
        };
        match done {
            Ok(done) => {
                let counts = self.count("task");
                counts.added += done.added;
                counts.changed += done.changed;
                counts.present += done.present;
            }
            Err(Error::BadTasks { problem, .. }) => self.skip(path, problem),
            Err(error) => return Err(error),
        }
        self.follow_live(LiveFile::Tasks)
    }

    /// Keeps the file of the records in step.
    fn follow_live(&mut self, file: LiveFile) -> Result<()> {
        match self.report.dry_run {
            true => Ok(()),
            false => live::follow(&mut self.view, file).map(drop),
        }
    }

    /// Imports an `items.json` of the project in a folder.
    pub(super) fn items(&mut self, path: &str, folder: &Path, text: &str) -> Result<()> {
        let (caller, dry_run) = (self.caller, self.report.dry_run);
        let (items, broken) = match item::read(text) {
            Ok(read) => read,
            Err(problem) => {
                self.skip(path, problem);
                return Ok(());
            }
        };
        for why in broken {
            self.skip(path, why);
        }
        self.follow_live(LiveFile::Items)?;
        let take =
            |db: &Connection, lexicon: &mut Lexicon| item::import(db, lexicon, folder, &items, caller.now);
        if dry_run && !self.view.is_on_disk() {
            self.count("item").added += items.len();
            return Ok(());
        }
        let done = self.view.write_indexed(|tx, lexicon| match dry_run {
            true => tx.undone(|tx| take(tx, lexicon)),
            false => {
                let done = take(tx, lexicon)?;
                if done.added + done.changed > 0 {
                    audit::Row::new("item_import")
                        .with("items", done.added + done.changed)
                        .append(tx, caller)?;
                }
                Ok(done)
            }
        })?;
        let counts = self.count("item");
        counts.added += done.added;
        counts.changed += done.changed;
        counts.present += done.present;
        counts.kept += done.kept;
        self.follow_live(LiveFile::Items)
    }
}

/// Cuts a text into pieces of at most `most` characters, at paragraphs, lines, sentences or words.
fn split(text: &str, most: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while rest.chars().count() > most {
        let end = rest.char_indices().nth(most).map_or(rest.len(), |(end, _)| end);
        let head = &rest[..end];
        let cut = ["\n\n", "\n", ". ", "。", " "]
            .iter()
            .filter_map(|mark| head.rfind(mark).map(|at| at + mark.len()))
            .find(|at| *at > end / 2)
            .unwrap_or(end);
        pieces.push(rest[..cut].trim().to_owned());
        rest = rest[cut..].trim_start();
    }
    pieces.push(rest.to_owned());
    pieces.retain(|piece| !piece.is_empty());
    pieces
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
