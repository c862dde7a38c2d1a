//! Items that a program or a model of the person finds in documents, after the rules.
//!
//! Documents are read section by section. The items of a request, and the marks of the sections that it covered, are written in
//! one transaction, so that a run that is killed or fails loses what it paid for last and nothing else, and the next run continues
//! there. A section whose text is unchanged is never sent again. Documents that are private are not sent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Serialize;

use super::extract::section::{
    self, AcceptedItems, Batch, INSTRUCTION, MAX_ANSWER_TOKENS, Section, answer_schema, batches, overlap,
    read_answer,
};
use super::extract::{FoundItem, Language};
use super::walk::{self, SkippedFiles};
use super::{FileRow, Project, files, item, known, live, read_text};
use crate::base::caller::{is_marked, is_private};
use crate::base::ids::ProjectName;
use crate::base::progress::{Progress, Unit};
use crate::base::settings::ExtractBy;
use crate::base::{Error, Result};
use crate::group::View;
use crate::index::Writer;
use crate::records::reader::{Reader, ReaderTask};
use crate::store::{Connection, Wait, audit};

/// How a model reads the documents of a project.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelOptions {
    /// The reader; `None`: that of the settings.
    pub by: Option<ExtractBy>,
    /// Whether sections that were read before are read again.
    pub again: bool,
}

/// The items that a model found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ModelReport {
    /// The reader of the documents: `command` or the name of a model.
    pub by: String,
    /// The number of sections that were read.
    pub sections: usize,
    /// The number of sections that were read before.
    pub unchanged: usize,
    /// The number of new items.
    pub added: usize,
    /// The number of items that were removed: their section says something else now.
    pub removed: usize,
    /// How many repeat an item of the same file.
    pub same: usize,
    /// How many were refused: they quote no statement of the section.
    pub refused: usize,
    /// The number of documents that are private and were not sent.
    pub private: usize,
}

/// The sections of a project that were not read.
#[derive(Default)]
struct Unread {
    documents: BTreeMap<String, Document>,
    /// The sections with their files, in the order of the files.
    sections: Vec<(String, Section)>,
}

/// A document with sections that were not read.
struct Document {
    /// The hash of the file, as it was when its sections were taken.
    hash: String,
    /// The hashes of all its sections.
    sections: BTreeSet<String>,
}

/// Has a program or a model read the documents of a project that was extracted by rules. Returns `None` if the settings name
/// none. `progress` is called after each request.
pub fn extract_by_model(
    view: &mut View<'_>,
    name: &ProjectName,
    options: ModelOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<ModelReport>> {
    let by = options.by.unwrap_or(view.settings().extract.by);
    let Some(reader) = reader(view, by)? else { return Ok(None) };
    let project = view.read_all(|db| known(db, name))?;
    // Two processes would pay for the same sections.
    let _lock = view.lock("extract.lock", Wait::Yes)?;
    live::follow(view, live::LiveFile::Items)?;
    if options.again {
        view.write(|tx| tx.run("DELETE FROM item_sections WHERE project = $1", [project.number]).map(drop))?;
    }
    let model = reader.name().trim_matches('`').to_owned();
    let mut report = ModelReport { by: model, ..ModelReport::default() };
    let Unread { documents, sections } = unread(view, &project, &mut report)?;
    let total = sections.len();
    for batch in batches(sections) {
        let answer = reader.read(view, &batch.text)?;
        let bad = |problem| Error::ExtractAnswer { by: reader.name().to_owned(), problem };
        let accepted = read_answer(&batch, &answer).map_err(bad)?;
        store(view, &project, &documents, &batch, &accepted, &mut report)?;
        report.refused += accepted.refused;
        progress(Progress { unit: Unit::Sections, done: report.sections, total: Some(total) });
    }
    if report.added + report.removed > 0 {
        let count = |items: usize| i64::try_from(items).unwrap_or(i64::MAX);
        view.tell_write("items", name.as_str(), count(report.added) - count(report.removed));
    }
    live::follow(view, live::LiveFile::Items)?;
    Ok(Some(report))
}

/// Returns the program or model that reads documents; `None`: rules alone do.
fn reader(view: &View<'_>, by: ExtractBy) -> Result<Option<Reader>> {
    let task = ReaderTask {
        instruction: INSTRUCTION,
        schema: answer_schema,
        max_answer_tokens: MAX_ANSWER_TOKENS,
        failed: |by, problem| Error::ExtractFailed { by, problem },
    };
    let reader = match by {
        ExtractBy::Rules => return Ok(None),
        ExtractBy::Command => Reader::program(view, task),
        ExtractBy::Llm => Reader::model(view, task),
    };
    reader.map(Some).map_err(|problem| Error::ExtractBy { by: by.as_str(), problem })
}

/// Returns the sections that were not read, and their documents.
fn unread(view: &View<'_>, project: &Project, report: &mut ModelReport) -> Result<Unread> {
    let (rows, read) =
        view.read_all(|db| Ok((files(db, project.number)?, read_sections(db, project.number)?)))?;
    let private_paths = &view.settings().visibility.private;
    let mut unread = Unread::default();
    walk::walk(&PathBuf::from(&project.folder), &mut SkippedFiles::default(), &mut |seen, language, _| {
        let row = rows.get(&seen.path).filter(|row| row.note.is_none());
        let (Language::Markdown, Some(FileRow { hash, .. })) = (language, row) else { return Ok(()) };
        // A file that changed since the rules read it is left to the next extraction.
        let Some(text) = read_text(&seen, hash) else { return Ok(()) };
        if is_marked(&text) || is_private(private_paths, &seen.path) {
            report.private += 1;
            return Ok(());
        }
        let known = read.get(&seen.path);
        let mut sections = BTreeSet::new();
        let mut is_complete = true;
        for section in section::sections(&seen.path, &text) {
            if !sections.insert(section.hash.clone()) {
                continue;
            }
            if known.is_some_and(|known| known.contains(&section.hash)) {
                report.unchanged += 1;
                continue;
            }
            is_complete = false;
            unread.sections.push((seen.path.clone(), section));
        }
        if !is_complete {
            unread.documents.insert(seen.path, Document { hash: hash.clone(), sections });
        }
        Ok(())
    })?;
    Ok(unread)
}

/// Returns the sections that were read, by file.
fn read_sections(db: &Connection, project: i64) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let sql = "SELECT path, section FROM item_sections WHERE project = $1";
    let rows: Vec<(String, String)> = db.rows(sql, [project], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut read = BTreeMap::<String, BTreeSet<String>>::new();
    for (path, section) in rows {
        read.entry(path).or_default().insert(section);
    }
    Ok(read)
}

/// Writes the items of a request, and that its sections were read.
fn store(
    view: &mut View<'_>,
    project: &Project,
    documents: &BTreeMap<String, Document>,
    batch: &Batch,
    accepted: &AcceptedItems,
    report: &mut ModelReport,
) -> Result<()> {
    let caller = view.caller();
    let model = report.by.clone();
    let (sections, change) = view.write_indexed(|tx, lexicon| {
        // Another process may have deleted the project, or extracted a changed file, in the meantime.
        known(tx, &project.name)?;
        let now = files(tx, project.number)?;
        let is_current = |path: &str| now.get(path).is_some_and(|row| row.hash == documents[path].hash);
        let mut writer = Writer::new(tx, lexicon)?;
        let (mut sections, mut change) = (0, item::SectionChange::default());
        for (at, (path, section)) in batch.sections.iter().enumerate() {
            if !is_current(path) {
                continue;
            }
            let found: Vec<&FoundItem> =
                accepted.found.iter().filter(|(of, _)| *of == at).map(|(_, item)| item).collect();
            let file = (project.number, &project.name, path.as_str());
            let source = (model.as_str(), section.hash.as_str());
            change += item::put_section(tx, &mut writer, file, source, &found, caller.now)?;
            sections += 1;
        }
        let paths: BTreeSet<&String> = batch.sections.iter().map(|(path, _)| path).collect();
        for path in paths.into_iter().filter(|path| is_current(path)) {
            change.removed +=
                item::drop_sections(tx, &mut writer, project.number, path, &documents[path].sections)?;
        }
        writer.finish()?;
        let row = audit::Row::new("extract_model").with("sections", sections);
        row.with("added", change.added).with("removed", change.removed).append(tx, caller)?;
        Ok((sections, change))
    })?;
    report.sections += sections;
    report.added += change.added;
    report.removed += change.removed;
    report.same += change.same;
    Ok(())
}

/// Tells whether a rule found this statement of a file, or a longer or shorter form of it.
pub(super) fn is_covered(content: &str, by_rules: &[String]) -> bool {
    by_rules.iter().any(|known| overlap(known, content))
}
