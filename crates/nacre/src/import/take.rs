//! Items ▶ what they become here: entries, documents, the graph, sessions.
//!
//! Parts go in batch by batch, each batch one transaction with its audit row, so that an import that was stopped goes on where
//! it was when it is run again. A document's file is written before the row that knows it: whoever finds the file without the
//! row takes it for their own if it says the same.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::BufRead;

use rusqlite::{Connection, Transaction};

use super::identity::{self, Author, New, Origin, Row, hash};
use super::source::{LARGEST, Source};
use super::{Counts, Format, Passed, Report, Sample, add_messages};
use crate::brief::{one_line, strip_injected};
use crate::call::{Caller, audit, redact};
use crate::entry::{self, Edit, Entry, EntryType, MAX_TAG, MAX_TAGS, Tags};
use crate::group::Group;
use crate::ids::{EntryId, EntryRef};
use crate::index::{Lexicon, Writer};
use crate::session::import as transcript;
use crate::workspace::files::{self, Replaced};
use crate::workspace::{FilePath, change};
use crate::{Error, Result, Time, graph, visibility};

/// How many items go into one transaction, and how many bytes.
const BATCH: usize = 2_000;
const BATCH_BYTES: usize = 8 << 20;
/// How many notes and samples a report has.
const NOTES: usize = 20;
const SAMPLES: usize = 5;
/// The share of their words that a memory has in common with what it was before.
const ALIKE: f64 = 0.4;
/// The most comparisons for it within one part.
const COMPARED: usize = 250_000;

/// The folder that imported documents stand in.
const FOLDER: &str = "memory/imports";

/// One thing of a source.
pub(super) struct Item {
    /// What names it within its part.
    pub(super) key: String,
    pub(super) origin: Origin,
    /// Its own time.
    pub(super) at: Option<Time>,
    pub(super) thing: Thing,
}

/// What an item becomes.
pub(super) enum Thing {
    Entry {
        r#type: EntryType,
        content: String,
        tags: Vec<String>,
        private: bool,
    },
    /// `path` is within the folder of the format.
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

    /// What it says, as it is compared.
    fn hash(&self) -> String {
        match self {
            Thing::Entry { r#type, content, .. } => hash(&[r#type.as_str(), content]),
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

/// A file or record of a source with all that it says: what it said before and is not among the items, it says no more.
struct Part {
    hash: String,
    items: Vec<Item>,
}

/// An item with what is known of it.
struct Step<'a> {
    item: &'a Item,
    key: String,
    hash: String,
    known: Option<Row>,
}

/// Takes items in, and keeps count.
pub(super) struct Sink<'a> {
    group: &'a mut Group,
    caller: &'a Caller,
    format: &'static Format,
    source: &'a Source,
    report: Report,
    items: Vec<Item>,
    parts: Vec<Part>,
    waiting: (usize, usize),
    taken: usize,
    /// Documents that have been written: two names of a source may become one path here.
    paths: HashSet<String>,
    progress: &'a mut dyn FnMut(usize),
}

impl<'a> Sink<'a> {
    pub(super) fn new(
        group: &'a mut Group,
        caller: &'a Caller,
        format: &'static Format,
        source: &'a Source,
        dry_run: bool,
        progress: &'a mut dyn FnMut(usize),
    ) -> Sink<'a> {
        let report = Report {
            format: format.name,
            path: source.path.clone(),
            dry_run,
            kinds: BTreeMap::new(),
            sessions: 0,
            skipped: BTreeMap::new(),
            notes: Vec::new(),
            samples: Vec::new(),
        };
        let (items, parts, paths) = (Vec::new(), Vec::new(), HashSet::new());
        Sink {
            group,
            caller,
            format,
            source,
            report,
            items,
            parts,
            waiting: (0, 0),
            taken: 0,
            paths,
            progress,
        }
    }

    /// Offers an item of the part under way.
    pub(super) fn item(&mut self, mut item: Item) {
        item.at = item.at.map(|at| at.min(self.caller.now));
        if let Thing::Entry { r#type, content, tags, .. } = &mut item.thing {
            if item.origin.author == Author::Others && r#type.behavioral() {
                *r#type = EntryType::Fact;
            }
            match entry::checked(content) {
                Ok(clean) => *content = clean,
                // What is too long for an entry is found as well in a document.
                Err(Error::ContentTooLong { .. }) => {
                    let path = format!("{}-{}.md", item.origin.path, &hash(&[&item.key])[..8]);
                    let text = strip_injected(content).into_owned();
                    item.thing = Thing::Document { path, text };
                    return self.item(item);
                }
                Err(error) => return self.skip(&named(&item), error.to_string()),
            }
            tags.truncate(MAX_TAGS - 1);
            for tag in tags.iter_mut() {
                *tag = tag.chars().take(MAX_TAG).collect();
            }
            tags.push(self.format.name.to_owned());
        }
        if let Thing::Fact { value, .. } = &mut item.thing {
            let own = strip_injected(value);
            if own.trim().is_empty() {
                return self.skip(&named(&item), "text that Nacre put there itself");
            }
            if own.len() < value.len() {
                *value = own.into_owned();
            }
        }
        if let Thing::Document { path, text } = &mut item.thing {
            if text.len() as u64 > LARGEST {
                return self.skip(&named(&item), format!("larger than {} MiB", LARGEST >> 20));
            }
            let own = strip_injected(text);
            if own.trim().is_empty() {
                let why = if text.trim().is_empty() { "empty" } else { "text that Nacre put there itself" };
                return self.skip(&named(&item), why.to_owned());
            }
            if own.len() < text.len() {
                *text = own.into_owned();
            }
            *path = safe(&format!("{FOLDER}/{}/{path}", self.format.name));
        }
        self.items.push(item);
    }

    /// Counts something that is passed over.
    pub(super) fn skip(&mut self, what: &str, why: impl Into<String>) {
        let why = why.into();
        self.note(what, &why);
        *self.report.skipped.entry(why).or_default() += 1;
    }

    fn note(&mut self, what: &str, why: &str) {
        if self.report.notes.len() < NOTES {
            let what: String = redact::text(&one_line(what)).chars().take(200).collect();
            self.report.notes.push(Passed { what, why: redact::text(why).into_owned() });
        }
    }

    /// Ends a part of the source, which was read whole.
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
        if self.waiting.0 >= BATCH || self.waiting.1 >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    pub(super) fn finish(mut self) -> Result<Report> {
        self.flush()?;
        Ok(self.report)
    }

    /// Takes a transcript in. What it is named after is only for errors.
    pub(super) fn messages(&mut self, input: impl BufRead, name: &str) -> Result<()> {
        let before = self.taken;
        let mut far = before;
        let recorded = if self.report.dry_run {
            self.count_messages(input, name)
        } else {
            let progress = &mut self.progress;
            let told = |messages: usize| {
                far = before + messages;
                progress(far);
            };
            self.group.import_session(self.caller, input, name, told)
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

    fn count_messages(&mut self, input: impl BufRead, name: &str) -> Result<crate::session::Recorded> {
        let (mut added, mut present) = (0, 0);
        let (samples, progress, group) = (&mut self.report.samples, &mut self.progress, &self.group);
        let mut references = Vec::new();
        let mut count = |references: &mut Vec<String>| -> Result<()> {
            let known = group.read_all(|db| known_messages(db, references))?;
            (added, present) = (added + references.len() - known, present + known);
            progress(added + present);
            references.clear();
            Ok(())
        };
        let read = transcript::read(input, name, |message| {
            if samples.len() < SAMPLES {
                let text: String = one_line(&message.text).chars().take(100).collect();
                let text = format!("{}: {}", message.author.as_str(), redact::text(&text));
                samples.push(Sample { kind: "message", text });
            }
            references.push(format!("{}/{}", message.session, message.id));
            if references.len() < BATCH { Ok(()) } else { count(&mut references) }
        })?;
        count(&mut references)?;
        Ok(crate::session::Recorded { read, added, present })
    }

    fn count(&mut self, kind: &'static str) -> &mut Counts {
        self.report.kinds.entry(kind).or_default()
    }

    /// Takes the parts that wait.
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
        (self.progress)(self.taken);
        Ok(())
    }

    /// Says what would become of parts.
    fn look(&mut self, parts: &[Part]) -> Result<()> {
        for part in parts {
            let (steps, gone) = self.group.read_all(|db| steps(db, self.format, part))?;
            for step in &steps {
                let kind = step.known.as_ref().map_or(step.item.thing.kind(), kind_of);
                let counts = self.count(kind);
                match &step.known {
                    None => counts.added += 1,
                    Some(row) if row.hash == step.hash => counts.present += 1,
                    Some(row) if row.hash.is_empty() => counts.kept += 1,
                    Some(_) => counts.changed += 1,
                }
                if step.known.is_none() && self.report.samples.len() < SAMPLES {
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

    /// Writes the files of documents, and then the rows by which they are known.
    fn write_documents(&mut self, parts: &[Part]) -> Result<()> {
        let is_document = |item: &&Item| matches!(item.thing, Thing::Document { .. });
        if !parts.iter().flat_map(|part| &part.items).any(|item| is_document(&item)) {
            return Ok(());
        }
        let (mut written, mut told) = (Vec::new(), Vec::new());
        let known: Vec<HashMap<String, Row>> = self.group.read_all(|db| {
            parts.iter().map(|part| identity::of_part(db, self.format.name, &part.hash)).collect()
        })?;
        let held = change::hold(self.group, self.caller.now)?;
        for (part, known) in parts.iter().zip(&known) {
            for item in part.items.iter().filter(is_document) {
                let Thing::Document { path, text } = &item.thing else { continue };
                let (key, new) = (key_of(part, item), item.thing.hash());
                let row = known.get(&key);
                match place(held.folder(), (path, text, item.at), row, &new, &mut self.paths) {
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
        let changes = |placed: Placed| matches!(placed, Placed::Added | Placed::Changed | Placed::Adopted);
        let any = written.iter().filter(|(.., placed, _)| changes(*placed)).count();
        if any > 0 {
            self.group.write(caller.now, |tx| {
                for (part, item, key, hash, _, path) in
                    written.iter().filter(|(.., placed, _)| changes(*placed))
                {
                    let new = New {
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
                let mut row = audit::Row::new("import");
                row.detail.insert("documents".into(), any.into());
                audit::append(tx, caller, &row, audit::Outcome::Done)
            })?;
        }
        for (.., placed, path) in &written {
            let counts = self.count("document");
            match placed {
                Placed::Added => counts.added += 1,
                Placed::Changed => counts.changed += 1,
                Placed::Adopted | Placed::Same => counts.present += 1,
                Placed::Kept(why) => {
                    counts.kept += 1;
                    self.note(path, why);
                }
            }
        }
        Ok(())
    }

    /// Writes all but documents.
    fn write_records(&mut self, parts: &[Part]) -> Result<()> {
        let (caller, format) = (self.caller, self.format);
        let known = |group: &Group| group.read_all(|db| unchanged(db, format, parts));
        // A source that is as it was costs no write.
        if let Some(present) = known(self.group)? {
            for (kind, count) in present {
                self.count(kind).present += count;
            }
            return Ok(());
        }
        let group_name = self.group.name().to_string();
        let done = self.group.write_indexed(caller.now, |tx, lexicon| {
            let mut done = Done::default();
            let taker = Taker { tx, caller, format, group: &group_name };
            taker.take(lexicon, parts, &mut done)?;
            let mut row = audit::Row::new("import");
            for (kind, counts) in &done.kinds {
                row.detail.insert((*kind).into(), (counts.added + counts.changed + counts.ended).into());
            }
            audit::append(tx, caller, &row, audit::Outcome::Done)?;
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
        for (what, why) in done.skipped {
            self.skip(&what, why);
        }
        for (what, why) in done.notes {
            self.note(&what, &why);
        }
        Ok(())
    }

    /// Whether what a file says is private here: by its name, or because it says so.
    pub(super) fn is_private(&self, path: &str, text: &str) -> bool {
        visibility::is_private(&self.group.settings().visibility.private, path) || visibility::is_marked(text)
    }

    pub(super) fn now(&self) -> Time {
        self.caller.now
    }
}

fn named(item: &Item) -> String {
    let Origin { path, id, line, .. } = &item.origin;
    let place = if path.is_empty() { id } else { path };
    line.map_or_else(|| place.clone(), |line| format!("{place}:{line}"))
}

fn key_of(part: &Part, item: &Item) -> String {
    hash(&[&part.hash, item.thing.kind(), &item.key])
}

/// How many of the messages are here.
fn known_messages(db: &Connection, references: &[String]) -> Result<usize> {
    let mut statement =
        db.prepare_cached("SELECT EXISTS (SELECT 1 FROM passages WHERE kind = 'message' AND ref = ?1)")?;
    let mut known = 0;
    for reference in references {
        known += usize::from(statement.query_row([reference], |row| row.get::<_, bool>(0))?);
    }
    Ok(known)
}

/// What an item became: a claim that the graph had no room for is an entry.
fn kind_of(row: &Row) -> &'static str {
    ["entry", "document"]
        .into_iter()
        .find(|kind| *kind == row.kind)
        .or(claim_kind(&row.kind))
        .unwrap_or("other")
}

/// The kinds of claims, which end with the last source that makes them.
fn claim_kind(kind: &str) -> Option<&'static str> {
    ["fact", "relation", "alias"].into_iter().find(|claim| *claim == kind)
}

/// Returns what is known of each item, and what a part said before and says no more. A memory that is nearly the same as one
/// that went is that one, changed.
fn steps<'a>(db: &Connection, format: &Format, part: &'a Part) -> Result<(Vec<Step<'a>>, Vec<Row>)> {
    let mut known = identity::of_part(db, format.name, &part.hash)?;
    let mut seen = HashSet::new();
    let mut steps = Vec::new();
    for item in &part.items {
        let key = key_of(part, item);
        if seen.insert(key.clone()) {
            let row = known.remove(&key);
            steps.push(Step { item, hash: item.thing.hash(), known: row, key });
        }
    }
    let mut gone: Vec<Row> = known.into_values().collect();
    gone.sort_by(|a, b| a.key.cmp(&b.key));
    let new = steps.iter().filter(|step| step.known.is_none()).count();
    if new * gone.len() > 0 && new * gone.len() <= COMPARED {
        pair(db, &mut steps, &mut gone)?;
    }
    Ok((steps, gone))
}

fn pair(db: &Connection, steps: &mut [Step<'_>], gone: &mut Vec<Row>) -> Result<()> {
    let mut texts = Vec::new();
    for row in gone.iter().filter(|row| row.kind == "entry" && row.own && !row.hash.is_empty()) {
        let entry = row.reference.parse().ok().and_then(|id| entry::get(db, &EntryRef::Id(id)).ok());
        texts.extend(entry.map(|entry| (row.key.clone(), words(&entry.content))));
    }
    for step in steps.iter_mut().filter(|step| step.known.is_none()) {
        let Thing::Entry { content, .. } = &step.item.thing else { continue };
        let own = words(content);
        let near = texts.iter().enumerate().filter_map(|(at, (key, words))| {
            let row = gone.iter().find(|row| row.key == *key)?;
            let share = alike(&own, words);
            (row.section == step.item.origin.section && share >= ALIKE).then_some((at, share))
        });
        let Some((at, _)) = near.max_by(|(_, a), (_, b)| a.total_cmp(b)) else { continue };
        let (key, _) = texts.swap_remove(at);
        let row = gone.iter().position(|row| row.key == key).expect("looked up above");
        step.known = Some(gone.swap_remove(row));
    }
    Ok(())
}

fn words(text: &str) -> HashSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of words")]
fn alike(one: &HashSet<String>, other: &HashSet<String>) -> f64 {
    let shared = one.intersection(other).count();
    shared as f64 / (one.len() + other.len() - shared).max(1) as f64
}

/// Counts the records of parts by kind, if all of them are known as they are; documents apart.
fn unchanged(
    db: &Connection,
    format: &Format,
    parts: &[Part],
) -> Result<Option<BTreeMap<&'static str, usize>>> {
    let mut present: BTreeMap<&'static str, usize> = BTreeMap::new();
    for part in parts {
        let known = identity::of_part(db, format.name, &part.hash)?;
        let mut seen = HashSet::new();
        for item in part.items.iter().filter(|item| !matches!(item.thing, Thing::Document { .. })) {
            let key = key_of(part, item);
            let kind = match known.get(&key) {
                Some(row) if row.hash == item.thing.hash() => kind_of(row),
                _ => return Ok(None),
            };
            if seen.insert(key) {
                *present.entry(kind).or_default() += 1;
            }
        }
        let claims = known.values().filter(|row| claim_kind(&row.kind).is_some() && row.own);
        if claims.into_iter().any(|row| !seen.contains(&row.key)) {
            return Ok(None);
        }
    }
    Ok(Some(present))
}

/// What became of a document's file.
#[derive(Clone, Copy)]
enum Placed {
    Added,
    Changed,
    /// It stood there, without being known.
    Adopted,
    Same,
    Kept(&'static str),
}

/// Writes a document's file, unless a person's is in the way.
fn place(
    folder: &std::path::Path,
    (path, text, at): (&str, &str, Option<Time>),
    known: Option<&Row>,
    new: &str,
    taken: &mut HashSet<String>,
) -> Result<(Placed, String)> {
    let mut path = known.map_or(path, |row| &row.reference).to_owned();
    // Two names of a source may be one to a file system, or once they are made safe.
    if !taken.insert(visibility::folded(&path)) && known.is_none() {
        path = format!("{}-{}.md", path.trim_end_matches(".md"), &new[..8]);
        taken.insert(visibility::folded(&path));
    }
    let file: FilePath = path.parse()?;
    let there = files::read(folder, &file, LARGEST + 1)?;
    let placed = match (&there, known) {
        (None, Some(_)) => Placed::Kept("was deleted here, and stays so"),
        (Some(there), _) if there == text.as_bytes() => {
            if known.is_some_and(|row| row.hash == new) {
                Placed::Same
            } else {
                Placed::Adopted
            }
        }
        (Some(_), Some(row)) if row.hash == new => Placed::Same,
        (Some(there), Some(row)) if hash(&[&String::from_utf8_lossy(there)]) == row.hash => Placed::Changed,
        (Some(_), Some(_)) => Placed::Kept("was changed here and at its source; what is here stays"),
        (Some(_), None) => Placed::Kept("another file stands there"),
        (None, None) => Placed::Added,
    };
    if let Placed::Added | Placed::Changed = placed
        && files::replace(folder, &file, there.as_deref(), Some(text.as_bytes()))? == Replaced::Changed
    {
        return Ok((Placed::Kept("was changed here in this moment"), path));
    }
    if let (Placed::Added | Placed::Changed, Some(at)) = (placed, at) {
        files::set_time(folder, &file, at)?;
    }
    Ok((placed, path))
}

/// Makes a path of the workspace out of whatever a source calls its files. One that had to be changed has a hash in it, so
/// that two never become one.
fn safe(path: &str) -> String {
    const LONGEST: usize = 120;
    const WHOLE: usize = 480;
    let mut changed = false;
    let mut names = Vec::new();
    for name in path.split('/').filter(|name| !matches!(*name, "" | "." | "..")) {
        let plain = |c: char| {
            if c.is_control() || "\u{2028}\u{2029}:\\~%<>\"|?*".contains(c) { '-' } else { c }
        };
        let mut own: String = name.chars().map(plain).collect();
        while own.len() > LONGEST {
            own.pop();
        }
        own = own.trim_matches([' ', '.']).to_owned();
        changed |= own != name;
        names.push(if own.is_empty() { "-".to_owned() } else { own });
    }
    let mut joined = names.join("/");
    let lower = joined.to_ascii_lowercase();
    let mut stem =
        [".md", ".markdown"].iter().find_map(|end| lower.strip_suffix(end)).map_or(joined.len(), str::len);
    while stem > WHOLE || !joined.is_char_boundary(stem) {
        (stem, changed) = (stem - 1, true);
    }
    joined.truncate(stem);
    let made = if changed { format!("{joined}-{}.md", &hash(&[path])[..8]) } else { format!("{joined}.md") };
    match made.parse::<FilePath>() {
        Ok(_) => made,
        // A device, or what else a name can be.
        Err(_) => {
            let format = names.get(2).map_or("other", String::as_str);
            format!("{FOLDER}/{format}/{}.md", hash(&[path]))
        }
    }
}

/// What became of a batch.
#[derive(Default)]
struct Done {
    kinds: BTreeMap<&'static str, Counts>,
    skipped: Vec<(String, String)>,
    notes: Vec<(String, String)>,
}

impl Done {
    fn count(&mut self, kind: &'static str) -> &mut Counts {
        self.kinds.entry(kind).or_default()
    }
}

/// Takes records in, within one transaction.
struct Taker<'a> {
    tx: &'a Transaction<'a>,
    caller: &'a Caller,
    format: &'static Format,
    group: &'a str,
}

impl Taker<'_> {
    fn take(&self, lexicon: &mut Lexicon, parts: &[Part], done: &mut Done) -> Result<()> {
        let (mut later, mut ended) = (Vec::new(), Vec::new());
        let mut writer = Writer::new(self.tx, lexicon)?;
        for part in parts {
            let (steps, gone) = steps(self.tx, self.format, part)?;
            for step in steps {
                let kind = step.item.thing.kind();
                match (&step.item.thing, &step.known) {
                    (Thing::Document { .. }, _) => {}
                    (_, Some(row)) if row.hash == step.hash && row.key == step.key => {
                        done.count(kind_of(row)).present += 1;
                    }
                    (_, Some(row)) if row.hash.is_empty() => done.count(kind).kept += 1,
                    // Changes and aliases make writers of their own.
                    (Thing::Alias { .. }, _) | (Thing::Entry { .. }, Some(_)) => later.push((part, step)),
                    _ => self.add(&mut writer, part, &step, done)?,
                }
            }
            for row in gone.iter().filter(|row| row.own) {
                if let Some(kind) = claim_kind(&row.kind) {
                    done.count(kind).ended += 1;
                    ended.push(row.clone());
                }
            }
        }
        writer.finish()?;
        for (part, step) in later {
            match (&step.item.thing, &step.known) {
                (Thing::Alias { alias, entity }, _) => {
                    let added = graph::name::add_alias(self.tx, &self.origin(step.item), alias, entity);
                    let added = added.map(|(_, new)| (alias.clone(), new.is_some()));
                    self.claimed(part, &step, added, done)?;
                }
                (Thing::Entry { .. }, Some(row)) => self.change(part, &step, row, done)?,
                _ => {}
            }
        }
        ended.iter().try_for_each(|row| self.end(row))
    }

    fn add(&self, writer: &mut Writer<'_>, part: &Part, step: &Step<'_>, done: &mut Done) -> Result<()> {
        match &step.item.thing {
            Thing::Entry { .. } => {
                let (entry, new) = self.store(writer, step.item)?;
                let counts = done.count("entry");
                if new {
                    counts.added += 1
                } else {
                    counts.present += 1
                }
                self.know(part, step, entry.as_str(), new)
            }
            Thing::Fact { entity, key, value, category } => {
                let draft =
                    graph::fact::Draft { entity, key, value, category: *category, ..Default::default() };
                let set = graph::fact::set_with(self.tx, writer, &self.origin(step.item), &draft);
                if let Err(Error::KeptOut { .. }) = &set {
                    return self.keep_words(writer, part, step, &format!("{entity}: {value}"), done);
                }
                self.claimed(part, step, set.map(|set| (set.fact.id, !set.known)), done)
            }
            Thing::Relation { subject, predicate, object } => {
                let ends = [subject.as_str(), predicate, object];
                let added = graph::relation::add_with(self.tx, writer, &self.origin(step.item), ends);
                self.claimed(part, step, added.map(|added| (added.relation.id, !added.known)), done)
            }
            Thing::Document { .. } | Thing::Alias { .. } => Ok(()),
        }
    }

    /// Keeps what the graph has no room for as an entry.
    fn keep_words(
        &self,
        writer: &mut Writer<'_>,
        part: &Part,
        step: &Step<'_>,
        words: &str,
        done: &mut Done,
    ) -> Result<()> {
        let content = match entry::checked(words) {
            Ok(content) => content,
            Err(error) => {
                done.skipped.push((named(step.item), error.to_string()));
                return Ok(());
            }
        };
        let item = Item {
            key: String::new(),
            origin: step.item.origin.clone(),
            at: step.item.at,
            thing: Thing::Entry {
                r#type: EntryType::Fact,
                content,
                tags: vec![self.format.name.to_owned()],
                private: false,
            },
        };
        let (entry, new) = self.store(writer, &item)?;
        let counts = done.count("entry");
        if new {
            counts.added += 1
        } else {
            counts.present += 1
        }
        let known = New { kind: "entry", ..self.row(part, step, entry.as_str(), new) };
        identity::put(self.tx, &known)
    }

    /// Stores an entry, or finds the one that says the same. Tells whether it is new.
    fn store(&self, writer: &mut Writer<'_>, item: &Item) -> Result<(EntryId, bool)> {
        let Thing::Entry { r#type, content, tags, private } = &item.thing else {
            unreachable!("asked before")
        };
        if let Some(same) = entry::same_content(self.tx, self.caller.visibility, (content, None), None)? {
            return Ok((same.id, false));
        }
        let now = self.caller.now;
        let entry = Entry {
            id: EntryId::new(now),
            number: 0,
            r#type: *r#type,
            content: content.clone(),
            tags: Tags::new(tags),
            behavioral: r#type.behavioral(),
            score: 0,
            supersedes: None,
            superseded_by: None,
            superseded_at: None,
            archived_at: None,
            last_hit_at: None,
            last_returned_at: None,
            private: *private,
            data: None,
            provenance: entry::Provenance {
                session: self.caller.session.clone(),
                group: self.group.to_owned(),
                timestamp: item.at.unwrap_or(now),
                source: entry::Source::Migration,
                narrative_id: None,
                task_id: None,
            },
        };
        Ok((entry::insert_with(self.tx, writer, entry, None)?.id, true))
    }

    /// Changes an entry whose source says something else now.
    fn change(&self, part: &Part, step: &Step<'_>, row: &Row, done: &mut Done) -> Result<()> {
        let Thing::Entry { r#type, content, tags, .. } = &step.item.thing else { return Ok(()) };
        let named_by = row.reference.parse().map(EntryRef::Id);
        let current = named_by.as_ref().ok().and_then(|named| entry::get_current(self.tx, named).ok());
        let untouched = current
            .as_ref()
            .is_some_and(|entry| row.own && hash(&[entry.r#type.as_str(), &entry.content]) == row.hash);
        if row.key != step.key {
            identity::drop(self.tx, self.format.name, &row.key)?;
        }
        if !row.own || current.is_none() {
            // What was here before is not the import's to change; what was superseded here is past.
            let mut lexicon = Lexicon::default();
            let mut writer = Writer::new(self.tx, &mut lexicon)?;
            self.add(&mut writer, part, step, done)?;
            return writer.finish();
        }
        if !untouched {
            done.count("entry").kept += 1;
            done.notes
                .push((named(step.item), "was changed here and at its source; what is here stays".into()));
            return self.know(part, step, &row.reference, true);
        }
        let group = self.group.parse()?;
        let origin = entry::Origin {
            now: self.caller.now,
            group: &group,
            session: &self.caller.session,
            source: entry::Source::Migration,
            visibility: self.caller.visibility,
        };
        let edit = Edit {
            content: Some(content.clone()),
            tags: Some(Tags::new(tags)),
            r#type: Some(*r#type),
            private: None,
            data: None,
        };
        let named_by = named_by.expect("it is current");
        match entry::update(self.tx, &origin, &named_by, edit) {
            Ok(_) => {
                done.count("entry").changed += 1;
                self.know(part, step, &row.reference, true)
            }
            Err(Error::SameContent { other }) => {
                done.count("entry").present += 1;
                self.know(part, step, other.as_str(), false)
            }
            Err(error) => Err(error),
        }
    }

    /// Ends a claim that its source makes no more.
    fn end(&self, row: &Row) -> Result<()> {
        match row.kind.as_str() {
            "fact" => graph::fact::end_by_id(self.tx, &row.reference, self.caller.now)?,
            "relation" => {
                let named = graph::relation::Named::Id(&row.reference);
                match graph::relation::end(self.tx, self.caller.now, &named) {
                    Ok(_) | Err(Error::NoRelation { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            // It may have been taken away here.
            _ => drop(graph::name::remove_alias(self.tx, &row.reference)),
        }
        identity::drop(self.tx, self.format.name, &row.key)
    }

    /// Counts a claim and knows it by its id from now on.
    fn claimed(
        &self,
        part: &Part,
        step: &Step<'_>,
        claimed: Result<(String, bool)>,
        done: &mut Done,
    ) -> Result<()> {
        match claimed {
            Ok((id, new)) => {
                let counts = done.count(step.item.thing.kind());
                if new {
                    counts.added += 1
                } else {
                    counts.present += 1
                }
                self.know(part, step, &id, new)
            }
            Err(Error::KeptOut { what, reason }) => {
                done.skipped.push((what, reason));
                Ok(())
            }
            Err(error @ (Error::NameTaken { .. } | Error::NoEntity { .. } | Error::SelfAlias { .. })) => {
                done.skipped.push((named(step.item), error.to_string()));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn origin(&self, item: &Item) -> graph::Origin<'_> {
        graph::Origin {
            now: self.caller.now,
            since: item.at.unwrap_or(self.caller.now),
            source: graph::Source::Import,
            session: Some(&self.caller.session),
            private: None,
            visibility: self.caller.visibility,
        }
    }

    fn know(&self, part: &Part, step: &Step<'_>, reference: &str, own: bool) -> Result<()> {
        identity::put(self.tx, &self.row(part, step, reference, own))
    }

    fn row<'r>(&'r self, part: &'r Part, step: &'r Step<'_>, reference: &'r str, own: bool) -> New<'r> {
        New {
            format: self.format.name,
            key: &step.key,
            part: &part.hash,
            kind: step.item.thing.kind(),
            reference,
            own,
            hash: &step.hash,
            origin: &step.item.origin,
            at: step.item.at,
            now: self.caller.now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_becomes_a_path_of_the_workspace() {
        for (given, expected) in [
            ("memory/imports/obsidian/v/Note.md", Some("memory/imports/obsidian/v/Note.md")),
            ("memory/imports/obsidian/v/Größe & Ç.markdown", Some("memory/imports/obsidian/v/Größe & Ç.md")),
            ("memory/imports/x/../../../etc/passwd", Some("memory/imports/x/etc/passwd.md")),
            ("memory/imports/x/a: b?.md", None),
            ("memory/imports/x/con.md", None),
            ("memory/imports/x/\u{0}\n.md", None),
            ("memory/imports/x/%2e%2e/a.md", None),
            ("memory/imports/x/.hidden.md", None),
            ("memory/imports/x/ .md", None),
        ] {
            let made = safe(given);
            made.parse::<FilePath>().unwrap();
            assert!(made.starts_with("memory/imports/"), "{made}");
            if let Some(expected) = expected {
                assert_eq!(made, expected);
            }
        }
        let (long, other) = ("a".repeat(4000), "a".repeat(4001));
        let [long, other] = [long, other].map(|name| safe(&format!("memory/imports/x/{name}/{name}.md")));
        assert!(long != other && long.parse::<FilePath>().is_ok());
        let deep = safe(&format!("memory/imports/x/{}b.md", "ü/".repeat(900)));
        deep.parse::<FilePath>().unwrap();
    }
}
