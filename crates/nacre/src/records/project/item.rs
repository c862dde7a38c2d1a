//! Items: rows extracted from a project's files, and their passages. Only extraction writes them.

use schemars::JsonSchema;
use serde::Serialize;

use super::FileItems;
use super::extract::{FoundItem, ItemType};
use crate::base::ids::ProjectName;
use crate::base::redact::redact;
use crate::base::{Result, Time};
use crate::index::{Passage, Writer};
use crate::store::{Connection, Row};

/// The kind of an item's passage.
pub(crate) const KIND: &str = "item";

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
    Item { id, title, content, source_file / r#type, line_number, confidence, extracted_at }
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
    items.extracted_at, projects.name FROM items JOIN projects ON projects.number = items.project";

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
    };
    Ok(ProjectItem { item, project: row.get(8)? })
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

/// Replaces the items of a file. An item that exists already keeps its id, its time and its passage. Returns
/// how many are new and how many were removed.
pub(super) fn replace(
    db: &Connection,
    writer: &mut Writer<'_>,
    file: (i64, &ProjectName, &str),
    said: &FileItems,
    now: Time,
) -> Result<(usize, usize)> {
    let (project, name, path) = file;
    let FileItems { found, private } = said;
    let sql =
        "SELECT id, line, confidence, title FROM items WHERE project = $1 AND path = $2 ORDER BY line, id";
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
        db.run("DELETE FROM items WHERE id = $1", [gone])?;
        writer.remove(KIND, gone)?;
    }
    Ok((added, old.len()))
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
