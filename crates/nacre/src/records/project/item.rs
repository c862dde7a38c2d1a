//! Items: rows extracted from a project's files, and their passages. Only extraction writes them.

use std::collections::BTreeSet;
use std::ops::AddAssign;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::{FoundItem, ItemType};
use super::{FileItems, model};
use crate::base::ids::ProjectName;
use crate::base::redact::redact;
use crate::base::{Error, Result, Time};
use crate::index::{Lexicon, Passage, Writer};
use crate::store::{Connection, Row};

/// The kind of an item's passage.
pub(crate) const KIND: &str = "item";
/// The maximum number of characters of an item that comes from a file.
const MAX_CONTENT_CHARS: usize = 4_000;

/// One extracted item of a project, with the fields of `items.json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct Item {
    pub id: String,
    pub r#type: ItemType,
    pub title: String,
    pub content: String,
    /// Relative to the project's folder.
    pub source_file: String,
    pub line_number: i64,
    /// From 0 to 1, set by the rule that found it.
    pub confidence: f64,
    pub extracted_at: Time,
    /// The model that found it; absent if a rule did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// An item and its project.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ProjectItem {
    #[serde(flatten)]
    #[expect(missing_docs)]
    pub item: Item,
    /// The project.
    pub project: ProjectName,
}

redact! {
    Item { id, title, content, source_file, model / r#type, line_number, confidence, extracted_at }
    ProjectItem { item, project }
}

/// Selects items.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) r#type: Option<ItemType>,
    pub(crate) project: Option<ProjectName>,
}

const COLUMNS: &str =
    "items.id, items.type, items.title, items.content, items.path, items.line, items.confidence,
    items.extracted_at, items.model, projects.name FROM items JOIN projects ON projects.number = items.project";

fn of_row(row: &Row<'_>) -> Result<ProjectItem> {
    let named = row.text(1)?;
    let r#type = ItemType::of_name(named).unwrap_or(ItemType::Note);
    let item = Item {
        id: row.get(0)?,
        r#type,
        title: row.get(2)?,
        content: row.get(3)?,
        source_file: row.get(4)?,
        line_number: row.get(5)?,
        confidence: row.get(6)?,
        extracted_at: row.get(7)?,
        model: row.get(8)?,
    };
    Ok(ProjectItem { item, project: row.get(9)? })
}

/// Returns an item.
pub(crate) fn get(db: &Connection, id: &str) -> Result<Option<ProjectItem>> {
    db.row(&format!("SELECT {COLUMNS} WHERE items.id = $1"), [id], of_row)
}

/// Lists items by project, file and line, and returns the total number.
pub(crate) fn list(db: &Connection, filter: &Filter, limit: usize) -> Result<(Vec<ProjectItem>, i64)> {
    let project =
        filter.project.as_ref().map(|name| super::known(db, name)).transpose()?.map(|known| known.number);
    let wanted = "(items.type = $1 OR $1 IS NULL) AND (items.project = $2 OR $2 IS NULL)";
    let r#type = filter.r#type.map(ItemType::as_str);
    let total = format!("SELECT count(*) FROM items WHERE {wanted}");
    let total = db.one(&total, (r#type, project), |row| row.get(0))?;
    let sql = format!(
        "SELECT {COLUMNS} WHERE {wanted} ORDER BY projects.name, items.path, items.line, items.id LIMIT $3"
    );
    Ok((db.rows(&sql, (r#type, project, limit), of_row)?, total))
}

/// Returns every item with the fields of `items.json`.
pub(crate) fn all(db: &Connection) -> Result<Vec<Item>> {
    Ok(list(db, &Filter::default(), usize::MAX)?.0.into_iter().map(|of| of.item).collect())
}

/// Replaces the items that rules found in a file, and updates the lines of those that a model found. An item that exists already
/// keeps its id, its time and its passage. Returns how many are new and how many were removed.
pub(super) fn replace(
    db: &Connection,
    writer: &mut Writer<'_>,
    file: (i64, &ProjectName, &str),
    said: &FileItems,
    now: Time,
) -> Result<(usize, usize)> {
    let (project, name, path) = file;
    let FileItems { found, private, quoted } = said;
    let by_rules: Vec<String> = found.iter().map(|one| one.content.clone()).collect();
    // First, because an item that a rule finds now has the id that it had.
    let dropped = follow_quoted(db, writer, (project, path), quoted, &by_rules, *private)?;
    let sql =
        "SELECT id, line, confidence, title FROM items WHERE project = $1 AND path = $2 AND section IS NULL
        ORDER BY line, id";
    let mut old: Vec<(String, i64, f64, String)> =
        db.rows(sql, (project, path), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let mut ids: Vec<String> = Vec::new();
    let mut added = 0;
    for found in found {
        let twin = |nth: usize| id(name, path, found, nth);
        // The same statement twice in a file gives two items.
        let id = (0..).map(twin).find(|id| !ids.contains(id)).expect("an endless range");
        ids.push(id.clone());
        let line = i64::try_from(found.line).unwrap_or(i64::MAX);
        if let Some(place) = old.iter().position(|(known, ..)| *known == id) {
            let (_, was, confidence, title) = old.swap_remove(place);
            db.run("UPDATE items SET private = $2 WHERE id = $1 AND private <> $2", (&id, private))?;
            if (was, confidence.to_bits(), title.as_str())
                != (line, found.confidence.to_bits(), found.title.as_str())
            {
                let sql = "UPDATE items SET line = $2, confidence = $3, title = $4 WHERE id = $1";
                db.run(sql, (&id, line, found.confidence, &found.title))?;
                if title != found.title {
                    writer.put(&passage(&id, found.r#type, &found.title, &found.content, path, now))?;
                }
            }
            continue;
        }
        let sql = "INSERT INTO items (id, project, path, line, type, title, content, confidence, extracted_at, private)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let FoundItem { r#type, title, content, confidence, .. } = found;
        db.run(sql, (&id, project, path, line, r#type.as_str(), title, content, confidence, now, private))?;
        writer.insert(&passage(&id, found.r#type, &found.title, &found.content, path, now))?;
        added += 1;
    }
    for (gone, ..) in &old {
        remove(db, writer, gone)?;
    }
    Ok((added, old.len() + dropped))
}

/// An item that a model found.
struct Quoted {
    id: String,
    content: String,
    section: String,
}

fn quoted_in(db: &Connection, project: i64, path: &str) -> Result<Vec<Quoted>> {
    let sql =
        "SELECT id, content, section FROM items WHERE project = $1 AND path = $2 AND section IS NOT NULL";
    db.rows(sql, (project, path), |row| {
        Ok(Quoted { id: row.get(0)?, content: row.get(1)?, section: row.get(2)? })
    })
}

/// Returns the texts of all items of a project that a model found, with their files.
pub(super) fn quoted(db: &Connection, project: i64) -> Result<Vec<(String, String)>> {
    let sql = "SELECT path, content FROM items WHERE project = $1 AND section IS NOT NULL";
    db.rows(sql, [project], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Keeps the items of a model that a changed file still states, at their new lines. Returns how many were removed: their
/// statement is gone, or a rule finds it now. A section whose item is gone is read again when it comes back.
fn follow_quoted(
    db: &Connection,
    writer: &mut Writer<'_>,
    (project, path): (i64, &str),
    lines: &[(String, usize)],
    by_rules: &[String],
    private: bool,
) -> Result<usize> {
    let mut removed = 0;
    for Quoted { id, content, section } in quoted_in(db, project, path)? {
        let line = lines.iter().find(|(known, _)| *known == content).map(|(_, line)| *line);
        let is_covered = model::is_covered(&content, by_rules);
        match line.filter(|_| !is_covered) {
            Some(line) => {
                let line = i64::try_from(line).unwrap_or(i64::MAX);
                db.run("UPDATE items SET line = $2, private = $3 WHERE id = $1", (&id, line, private))?;
            }
            None => {
                remove(db, writer, &id)?;
                removed += 1;
                if !is_covered {
                    let sql = "DELETE FROM item_sections WHERE project = $1 AND path = $2 AND section = $3";
                    db.run(sql, (project, path, &section))?;
                }
            }
        }
    }
    Ok(removed)
}

/// The changes that reading a section made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SectionChange {
    pub(super) added: usize,
    pub(super) removed: usize,
    /// How many repeat an item of the same file.
    pub(super) same: usize,
}

impl AddAssign for SectionChange {
    fn add_assign(&mut self, other: SectionChange) {
        self.added += other.added;
        self.removed += other.removed;
        self.same += other.same;
    }
}

/// Writes the items that a model found in a section, in place of those that it found there before, and marks the section as read.
pub(super) fn put_section(
    db: &Connection,
    writer: &mut Writer<'_>,
    (project, name, path): (i64, &ProjectName, &str),
    (model, section): (&str, &str),
    found: &[&FoundItem],
    now: Time,
) -> Result<SectionChange> {
    let sql = "SELECT content FROM items WHERE project = $1 AND path = $2 AND section IS NULL";
    let by_rules: Vec<String> = db.rows(sql, (project, path), |row| row.get(0))?;
    let mut known = quoted_in(db, project, path)?;
    let mut change = SectionChange::default();
    for found in found {
        let id = id(name, path, found, 0);
        let line = i64::try_from(found.line).unwrap_or(i64::MAX);
        if let Some(place) = known.iter().position(|one| one.id == id) {
            known.swap_remove(place);
            let sql = "UPDATE items SET section = $2, line = $3, model = $4 WHERE id = $1";
            db.run(sql, (&id, section, line, model))?;
            change.same += 1;
            continue;
        }
        if model::is_covered(&found.content, &by_rules) || get(db, &id)?.is_some() {
            change.same += 1;
            continue;
        }
        let FoundItem { r#type, title, content, confidence, .. } = found;
        let sql = "INSERT INTO items (id, project, path, line, type, title, content, confidence, extracted_at, private, model,
            section) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, false, $10, $11)";
        let kind = r#type.as_str();
        db.run(sql, (&id, project, path, line, kind, title, content, confidence, now, model, section))?;
        writer.insert(&passage(&id, *r#type, title, content, path, now))?;
        change.added += 1;
    }
    for gone in known.iter().filter(|one| one.section == section) {
        remove(db, writer, &gone.id)?;
        change.removed += 1;
    }
    let sql = "INSERT INTO item_sections (project, path, section) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    db.run(sql, (project, path, section))?;
    Ok(change)
}

/// Removes the items of sections that a file no longer has, once all its sections are read. Returns how many.
pub(super) fn drop_sections(
    db: &Connection,
    writer: &mut Writer<'_>,
    project: i64,
    path: &str,
    current: &BTreeSet<String>,
) -> Result<usize> {
    let sql = "SELECT section FROM item_sections WHERE project = $1 AND path = $2";
    let read: BTreeSet<String> =
        db.rows(sql, (project, path), |row| row.get::<String>(0))?.into_iter().collect();
    if !current.is_subset(&read) {
        return Ok(0);
    }
    let mut removed = 0;
    for gone in quoted_in(db, project, path)?.iter().filter(|one| !current.contains(&one.section)) {
        remove(db, writer, &gone.id)?;
        removed += 1;
    }
    for gone in read.difference(current) {
        let sql = "DELETE FROM item_sections WHERE project = $1 AND path = $2 AND section = $3";
        db.run(sql, (project, path, gone))?;
    }
    Ok(removed)
}

/// How many items of a file are new, changed, here already, or left as they are here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ImportedItems {
    pub(crate) added: usize,
    pub(crate) changed: usize,
    pub(crate) present: usize,
    pub(crate) kept: usize,
}

/// An item of an `items.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileItem {
    #[serde(default)]
    id: String,
    r#type: String,
    #[serde(default)]
    title: String,
    content: String,
    #[serde(default)]
    source_file: String,
    #[serde(default)]
    line_number: i64,
    #[serde(default = "certain")]
    confidence: f64,
    #[serde(default)]
    extracted_at: Option<String>,
}

fn certain() -> f64 {
    1.0
}

/// Reads an `items.json`. Returns its items, and why some of them can't be read. The error says why all of it can't.
pub(crate) fn read(text: &str) -> Result<(Vec<Item>, Vec<String>), String> {
    let values: Vec<serde_json::Value> =
        serde_json::from_str(text).map_err(|problem| format!("is not a list of items: {problem}"))?;
    let (mut items, mut broken) = (Vec::new(), Vec::new());
    for value in values {
        match serde_json::from_value::<FileItem>(value)
            .map_err(|problem| problem.to_string())
            .and_then(checked)
        {
            Ok(item) => items.push(item),
            Err(problem) => broken.push(format!("an item that can't be read: {problem}")),
        }
    }
    Ok((items, broken))
}

fn checked(item: FileItem) -> Result<Item, String> {
    let FileItem { id, r#type, title, content, source_file, line_number, confidence, extracted_at } = item;
    let r#type = ItemType::of_name(&r#type.to_lowercase())
        .ok_or_else(|| format!("unknown type `{}`", crate::base::text::shorten(&r#type)))?;
    let content = content.trim().to_owned();
    let length = content.chars().count();
    if !(1..=MAX_CONTENT_CHARS).contains(&length) {
        return Err(format!("its content has {length} characters; 1 to {MAX_CONTENT_CHARS} are allowed"));
    }
    let is_id = |id: &str| {
        (1..=80).contains(&id.len()) && id.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:".contains(c))
    };
    let id = match is_id(&id) {
        true => id,
        false => format!(
            "item_{}",
            &blake3::hash(format!("{id}\0{source_file}\0{content}").as_bytes()).to_hex()[..16]
        ),
    };
    let cut = |text: &str, most: usize| text.trim().chars().take(most).collect::<String>();
    let title = if title.trim().is_empty() { cut(&content, 80) } else { cut(&title, 200) };
    let at = extracted_at.as_deref().and_then(Time::parse).unwrap_or(Time::from_millis(0));
    Ok(Item {
        id,
        r#type,
        title,
        content,
        source_file: cut(&source_file, 500),
        line_number: line_number.max(0),
        confidence: if confidence.is_finite() { confidence.clamp(0.0, 1.0) } else { 1.0 },
        extracted_at: at,
        model: None,
    })
}

/// Imports the items of a project's folder. Items that extraction found here stay as they are.
pub(crate) fn import(
    db: &Connection,
    lexicon: &mut Lexicon,
    folder: &Path,
    items: &[Item],
    now: Time,
) -> Result<ImportedItems> {
    let project = super::current::adopt(db, Some(folder))?;
    let Some(project) = project.map(|name| super::known(db, &name)).transpose()? else {
        return Err(Error::BadSource { path: folder.to_owned(), problem: "can't be a project".into() });
    };
    let mut done = ImportedItems::default();
    let mut writer = Writer::new(db, lexicon)?;
    for item in items {
        match get(db, &item.id)? {
            Some(known) if same(&known.item, item) => done.present += 1,
            Some(known) if known.project != project.name || project.extracted_at.is_some() => done.kept += 1,
            known => {
                put(db, &mut writer, project.number, item, now)?;
                if known.is_some() { done.changed += 1 } else { done.added += 1 }
            }
        }
    }
    writer.finish()?;
    Ok(done)
}

/// Tells whether two items say the same.
pub(super) fn same(one: &Item, other: &Item) -> bool {
    let fields = |item: &Item| {
        let Item { r#type, title, content, source_file, line_number, confidence, .. } = item.clone();
        (r#type.as_str(), title, content, source_file, line_number, confidence.to_bits())
    };
    fields(one) == fields(other)
}

/// Writes an item with its passage.
pub(super) fn put(
    db: &Connection,
    writer: &mut Writer<'_>,
    project: i64,
    item: &Item,
    now: Time,
) -> Result<()> {
    let Item { id, r#type, title, content, source_file, line_number, confidence, extracted_at, .. } = item;
    let at = if extracted_at.as_millis() == 0 { now } else { *extracted_at };
    let sql = "INSERT INTO items (id, project, path, line, type, title, content, confidence, extracted_at, private)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, false) ON CONFLICT (id) DO UPDATE SET path = excluded.path,
        line = excluded.line, type = excluded.type, title = excluded.title, content = excluded.content,
        confidence = excluded.confidence";
    db.run(sql, (id, project, source_file, line_number, r#type.as_str(), title, content, confidence, at))?;
    // Every item belongs to a file; one that was never read here is read by the next extraction.
    let sql =
        "INSERT INTO project_files (project, path, size, hash) VALUES ($1, $2, 0, '') ON CONFLICT DO NOTHING";
    db.run(sql, (project, source_file))?;
    writer.put(&passage(id, *r#type, title, content, source_file, at))
}

/// Removes an item with its passage.
pub(super) fn remove(db: &Connection, writer: &mut Writer<'_>, id: &str) -> Result<()> {
    db.run("DELETE FROM items WHERE id = $1", [id])?;
    writer.remove(KIND, id)
}

/// Returns the id of an item, derived from its content, so that reading a file again gives the same id.
fn id(project: &ProjectName, path: &str, found: &FoundItem, nth: usize) -> String {
    let mut hash = blake3::Hasher::new();
    for part in [project.as_str(), path, found.r#type.as_str(), &found.content] {
        hash.update(part.as_bytes());
        hash.update(&[0]);
    }
    hash.update(&nth.to_le_bytes());
    format!("item_{}", &hash.finalize().to_hex()[..16])
}

/// Returns the passages of all items, for a rebuild of the index.
pub(crate) fn passages(db: &Connection) -> Result<Vec<Passage>> {
    let (items, _) = list(db, &Filter::default(), usize::MAX)?;
    let passage = |of: ProjectItem| {
        let Item { id, r#type, title, content, source_file, extracted_at, .. } = of.item;
        passage(&id, r#type, &title, &content, &source_file, extracted_at)
    };
    Ok(items.into_iter().map(passage).collect())
}

fn passage(id: &str, r#type: ItemType, title: &str, content: &str, path: &str, at: Time) -> Passage {
    // A title that the content contains would count twice.
    let own = if content.contains(title.trim_end_matches('…')) { "" } else { title };
    let title = format!("{} {own} {path}", r#type.as_str());
    Passage { title, ..Passage::new(KIND, id.to_owned(), content.to_owned(), at) }
}
