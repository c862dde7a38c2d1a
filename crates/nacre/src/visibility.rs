//! Who sees what (W3): the one place that decides it.
//!
//! A session is private or shared. A shared one never sees what is private: certain documents, what was marked,
//! what was said in private. Readers do not ask; they get a database in which only what they may see is there:
//! over every table that holds words, a shared connection has a view of the same name with the public rows
//! ([`TABLES`]). Files are read through [`Visibility::sees_file`].

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::Result;
use crate::workspace::decode;

/// Whether a session may see what is private.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// The person's own: it sees everything.
    Private,
    /// Others may read along, or it is not known who does.
    #[default]
    Shared,
}

impl Visibility {
    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Visibility::Private => "private",
            Visibility::Shared => "shared",
        }
    }

    /// Tells whether such a session sees a document of this path and text.
    pub(crate) fn sees(self, private: &[String], path: &str, text: &str) -> bool {
        self == Visibility::Private || !(is_private(private, path) || is_marked(text))
    }

    /// The same of a file as it stands there. What can't be read as text can't be seen to be public.
    pub(crate) fn sees_file(self, private: &[String], path: &str, bytes: &[u8]) -> bool {
        self == Visibility::Private || decode(bytes).is_ok_and(|(text, _)| self.sees(private, path, &text))
    }

    /// What `private` columns of rows that such a session makes hold, where all it says is as private as it is.
    pub(crate) fn is_private(self) -> bool {
        self == Visibility::Private
    }
}

/// Tells whether a path is private by its name: a name of the list, in whatever folder and case, or a folder of it
/// (`notes/`) and what is below.
pub(crate) fn is_private(private: &[String], path: &str) -> bool {
    let path = folded(path);
    let name = path.rsplit('/').next().unwrap_or(&path);
    private.iter().map(|rule| folded(rule)).any(|rule| match rule.strip_suffix('/') {
        Some(folder) => path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')),
        None if rule.contains('/') => rule == path,
        None => rule == name,
    })
}

/// As a file system may see it that knows no case and takes letters that look alike for the same.
pub(crate) fn folded(path: &str) -> String {
    path.nfkc().collect::<String>().to_lowercase()
}

/// Tells whether a document says of itself, in its front matter, that it is private.
pub(crate) fn is_marked(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().map(str::trim_end);
    if lines.next() != Some("---") {
        return false;
    }
    let front: Vec<&str> = lines.take_while(|line| !matches!(*line, "---" | "...")).collect();
    front.iter().any(|line| {
        let Some((key, value)) = line.split_once(':') else { return false };
        let value = value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        match key.trim().to_ascii_lowercase().as_str() {
            "private" => matches!(value.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1"),
            "visibility" => value.eq_ignore_ascii_case("private"),
            _ => false,
        }
    })
}

/// What a shared session sees of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Everything: it holds no words of anyone, or words that no reader gives out.
    All,
    /// The rows for which this holds.
    Where(&'static str),
    /// Nothing.
    Nothing,
}

/// What holds of a row that was read: a document or a conversation that is public still says it.
macro_rules! said_in_public {
    ($kind:literal, $table:literal) => {
        concat!(
            "(source NOT IN ('document', 'conversation')
            OR EXISTS (SELECT 1 FROM main.citations JOIN public_documents USING (path)
                WHERE kind = '",
            $kind,
            "' AND citations.id = ",
            $table,
            ".id)
            OR EXISTS (SELECT 1 FROM main.citations AS c
                JOIN main.passages AS p ON p.kind = 'message' AND p.ref = substr(c.path, 10)
                JOIN public_sessions AS s ON s.number = p.session
                WHERE c.kind = '",
            $kind,
            "' AND c.id = ",
            $table,
            ".id AND substr(c.path, 1, 9) = 'sessions/'))"
        )
    };
}

/// Every table of a memory, and what a shared session sees of it. A later row may rely on the views before it.
pub(crate) const TABLES: &[(&str, Seen)] = &[
    ("entries", Seen::Where("private = 0")),
    ("entry_history", Seen::Where("private = 0 AND entry IN (SELECT id FROM public_entries)")),
    ("entry_links", Seen::All),
    // Where an entry came from is shown with it; the rest no reader gives out.
    ("imports", Seen::Where("kind = 'entry' AND ref IN (SELECT id FROM public_entries)")),
    ("documents", Seen::Where("private = 0 AND NOT is_private_path(path)")),
    ("sessions", Seen::Where("private = 0")),
    ("transcripts", Seen::Where("session IN (SELECT id FROM sessions)")),
    ("transcript_ids", Seen::Where("session IN (SELECT id FROM sessions)")),
    ("flushes", Seen::All),
    ("exchanges", Seen::Where("private = 0")),
    ("lessons", Seen::Where("private = 0")),
    ("facts", Seen::Where(concat!("private = 0 AND ", said_in_public!("fact", "facts")))),
    ("relations", Seen::Where(concat!("private = 0 AND ", said_in_public!("relation", "relations")))),
    (
        "names",
        Seen::Where(concat!(
            // Something public is said of whom it names; or it was itself given in public.
            "own AND (EXISTS (SELECT 1 FROM public_facts AS f WHERE f.entity = names.entity)
                OR EXISTS (SELECT 1 FROM public_relations AS r WHERE r.subject = names.entity)
                OR EXISTS (SELECT 1 FROM public_relations AS r WHERE r.object = names.entity))
            OR private = 0 AND ",
            said_in_public!("name", "names")
        )),
    ),
    // Whose own name is seen: an alias alone would tell the name behind it.
    (
        "entities",
        Seen::Where("EXISTS (SELECT 1 FROM public_names AS n WHERE n.entity = entities.id AND n.own)"),
    ),
    ("citations", Seen::Where("path IN (SELECT path FROM public_documents)")),
    ("kept_out", Seen::Where("path IN (SELECT path FROM public_documents)")),
    ("items", Seen::Where("private = 0 AND NOT is_private_path(path)")),
    (
        "passages",
        Seen::Where(
            // Its owner decides; a kind that is not named here is not seen.
            "CASE kind
                WHEN 'entry' THEN ref IN (SELECT id FROM public_entries)
                WHEN 'chunk' THEN substr(ref, 1, length(rtrim(ref, '0123456789')) - 1)
                    IN (SELECT path FROM public_documents)
                WHEN 'message' THEN session IN (SELECT number FROM public_sessions)
                WHEN 'exchange' THEN session IN (SELECT number FROM public_sessions)
                WHEN 'fact' THEN substr(ref, 6) IN (SELECT CAST(id AS TEXT) FROM public_facts)
                WHEN 'relation' THEN substr(ref, 10) IN (SELECT CAST(id AS TEXT) FROM public_relations)
                WHEN 'item' THEN ref IN (SELECT id FROM public_items)
                WHEN 'task' THEN 1
                ELSE 0 END",
        ),
    ),
    ("proposals", Seen::Where("private = 0 AND NOT is_private_path(target)")),
    // Work is shared as entries are that nobody marked.
    ("tasks", Seen::All),
    ("task_blocks", Seen::All),
    ("task_changes", Seen::All),
    // Names of folders and files, which no reader gives out.
    ("projects", Seen::All),
    ("project_files", Seen::All),
    ("jobs", Seen::All),
    ("line_uses", Seen::All),
    ("promoted", Seen::All),
    ("file_changes", Seen::Nothing),
    // A session's own, by its id; who names another's sees nothing of it.
    ("turns", Seen::Where("private = 0")),
    ("usage", Seen::All),
    ("seen", Seen::All),
    // Ids, numbers and sizes.
    ("audit", Seen::All),
    ("meta", Seen::All),
    ("collections", Seen::All),
    ("recalled_together", Seen::All),
    ("merges", Seen::All),
    ("distinct_entities", Seen::All),
    ("multi_keys", Seen::All),
    ("categories", Seen::All),
    // The index: words and numbers by which passages are found, and which are given out of `passages` alone.
    ("passages_fts", Seen::All),
    ("passages_vocab", Seen::All),
    ("terms", Seen::All),
    ("authors", Seen::All),
    ("marks", Seen::All),
    ("vectors", Seen::All),
    ("embedded", Seen::All),
];

/// Tools that act on all there is, seen or not: only private sessions have them.
pub(crate) const WHOLE: &[&str] = &["entity_join", "graph_rule"];

/// Makes a connection one of a shared session: every table is there as such a session sees it.
pub(crate) fn restrict(db: &Connection, private: &[String]) -> Result<()> {
    make_public(db, private)?;
    for (table, _) in TABLES.iter().filter(|(_, seen)| *seen != Seen::All) {
        db.execute_batch(&format!("CREATE TEMP VIEW {table} AS SELECT * FROM public_{table};"))?;
    }
    Ok(())
}

/// Gives a connection that writes a second look at every table, as shared sessions see it: `public_facts` and so on.
/// Who writes for one of them asks it before anything is changed or told ([`shows`]).
pub(crate) fn make_public(db: &Connection, private: &[String]) -> Result<()> {
    let private = private.to_vec();
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    db.create_scalar_function("is_private_path", 1, flags, move |row| {
        Ok(is_private(&private, &row.get::<String>(0)?))
    })?;
    for (table, seen) in TABLES {
        let condition = match seen {
            Seen::All => continue,
            Seen::Where(condition) => condition,
            Seen::Nothing => "0",
        };
        db.execute_batch(&format!(
            "CREATE TEMP VIEW IF NOT EXISTS public_{table} AS SELECT * FROM main.{table} WHERE {condition};"
        ))?;
    }
    Ok(())
}

/// Tells whether such a session sees the row of this number, on a connection that writes.
pub(crate) fn shows(db: &Connection, visibility: Visibility, table: &str, id: i64) -> Result<bool> {
    if visibility == Visibility::Private {
        return Ok(true);
    }
    let sql = format!("SELECT EXISTS (SELECT 1 FROM public_{table} WHERE id = ?1)");
    Ok(db.prepare_cached(&sql)?.query_row([id], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_paths_are_known_in_any_spelling() {
        let rules = ["MEMORY.md", "CORE.md", "journal/", "memory/topics/money.md"].map(String::from);
        for path in [
            "MEMORY.md",
            "memory.MD",
            "memory/CORE.md",
            "a/b/core.md",
            "Journal/x.md",
            "journal/a/b.md",
            "memory/topics/Money.md",
            "ＭEMORY.md",
        ] {
            assert!(is_private(&rules, path), "{path}");
        }
        for path in
            ["MEMORY.md.txt", "my-memory.md", "journals/x.md", "topics/money.md", "notes/journal/x.md", ""]
        {
            assert!(!is_private(&rules, path), "{path}");
        }
        // A file system without case opens `USER.md` by this name.
        assert!(is_private(&["USER.md".into()], "U\u{17f}ER.md"));
    }

    #[test]
    fn a_document_can_say_that_it_is_private() {
        for text in [
            "---\nprivate: true\n---\nx",
            "\u{feff}---\r\ntitle: a\r\nPrivate: yes # so\r\n---\r\n",
            "---\nvisibility: private\n",
        ] {
            assert!(is_marked(text), "{text}");
        }
        for text in [
            "private: true",
            "---\nprivate: false\n---\n",
            "---\n---\nprivate: true",
            "x\n---\nprivate: true\n---",
            "",
        ] {
            assert!(!is_marked(text), "{text}");
        }
    }
}
