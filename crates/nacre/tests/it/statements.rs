//! The SQL of the library, read from its source: who may speak to the engine, and that every statement fits the schema.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rusqlite::fallible_iterator::FallibleIterator;

use nacre::Caller;

use crate::sealed::{Engine, Place, new_database, noon, postgres_server};

/// The floors that speak to SQLite itself.
const ENGINE: &[&str] = &["store/", "index/"];

/// Words that only one database engine understands.
const ENGINE_ONLY: &[&str] = &["rusqlite", "last_insert_rowid", "INSERT OR", "rowid"];

/// How many statements of a file are assembled from parts that this test can't know. The list may only shrink.
const ASSEMBLED: &[(&str, usize)] = &[
    ("records/entry/change.rs", 2),
    ("records/entry/link.rs", 1),
    ("records/entry/mod.rs", 2),
    ("records/export/rows.rs", 4),
    ("records/graph/activation.rs", 2),
    ("records/graph/recall.rs", 1),
    ("records/graph/relation.rs", 1),
    // The columns are those of each table; `nacre move` compares the rows afterwards.
    ("records/relocate.rs", 3),
    ("records/schema.rs", 1),
    ("records/workspace/checkpoint/records.rs", 10),
];

/// Names that a statement may leave open, each with one that fits.
const EXAMPLES: &[(&str, &str)] = &[("schema", "main"), ("table", "entries")];

/// The modules that speak to a server alone, in its own words.
const SERVER: &[&str] = &["store/postgres/", "store/files/rows.rs", "store/lock.rs", "index/postings.rs"];

/// Names that only one engine has. A statement with one of them is for that engine.
const SQLITE_ONLY: &[&str] = &[
    "passages_fts",
    "passages_vocab",
    "sqlite_",
    "PRAGMA",
    "main.",
    "point.",
    " S.",
    "pragma_table_info($1, $2)",
];
const SERVER_ONLY: &[&str] = &["counters", "postings", "unnest(", "next_number(", "pg_postmaster"];

/// First words of a whole statement.
const BEGINNINGS: &[&str] = &["SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ", "WITH "];

#[test]
fn only_store_and_index_speak_to_the_engine() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        if ENGINE.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        for (line, text) in (1..).zip(text.lines()) {
            let word = ENGINE_ONLY.iter().find(|word| text.contains(**word));
            if let Some(word) = word.copied().or_else(|| has_place(text).then_some("?1")) {
                found.push(format!("{path}:{line} has `{word}`"));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_statement_fits_the_schema() {
    let mut place = Place::on(Engine::Sqlite, "balanced", &[]).unwrap();
    place.group.enter(&Caller::nacre(noon())).unwrap().create().unwrap();
    let file = place.group.folder().join("memory.db");
    let db = rusqlite::Connection::open(&file).unwrap();
    // The names under which checkpoints see a second database.
    for name in ["point", "S"] {
        db.execute(&format!("ATTACH $1 AS {name}"), [file.to_str().unwrap()]).unwrap();
    }
    // One of the views of a shared session.
    db.execute_batch("CREATE TEMP VIEW public_entries AS SELECT * FROM main.entries").unwrap();
    let literals: BTreeMap<String, Vec<Literal>> =
        sources().into_iter().map(|(path, text)| (path, literals(&text))).collect();
    let constants: Vec<&Literal> =
        literals.values().flatten().filter(|literal| literal.is_constant()).collect();
    let mut assembled: BTreeMap<&str, usize> = BTreeMap::new();
    let mut checked = 0;
    let mut problems = Vec::new();
    let mut server = new_database().and_then(|name| Some(postgres_server::server()?.connect(&name)));
    if let Some(server) = &mut server {
        server.batch_execute("SET search_path = nacre, pg_catalog; SET ROLE nacre_app").unwrap();
    }
    for (path, of_file) in &literals {
        // A database of another program has a schema of its own.
        if path == "store/foreign.rs" || SERVER.iter().any(|module| path.starts_with(module)) {
            continue;
        }
        let own: Vec<&Literal> = of_file.iter().collect();
        for literal in of_file {
            let (sql, is_whole) = literal.assembled(&[&own, &constants]);
            if !BEGINNINGS.iter().any(|beginning| sql.starts_with(beginning)) {
                continue;
            }
            if !is_whole {
                *assembled.entry(path).or_default() += 1;
                continue;
            }
            checked += 1;
            let has = |names: &[&str]| names.iter().any(|name| sql.contains(name));
            if !has(SERVER_ONLY)
                && let Err(problem) = prepare(&db, &sql)
            {
                problems.push(format!("{path}: {problem}: {sql}"));
            }
            let Some(server) = server.as_mut().filter(|_| !has(SQLITE_ONLY)) else { continue };
            for statement in sql.split(';').filter(|statement| !statement.trim().is_empty()) {
                // As the engine does it: every key begins with the group.
                if let Err(problem) = server.prepare(&statement.replace("ON CONFLICT (", "ON CONFLICT (g, "))
                {
                    problems.push(format!("{path}: PostgreSQL: {problem:?}: {sql}"));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(checked > 200, "the source was not read: {checked} statements");
    let assembled: Vec<(&str, usize)> = assembled.into_iter().collect();
    assert_eq!(assembled, ASSEMBLED, "statements that are not checked");
}

/// Prepares every statement of a text, and looks whether its parameters are counted from `$1` without a gap.
fn prepare(db: &rusqlite::Connection, sql: &str) -> Result<(), String> {
    let mut statements = rusqlite::Batch::new(db, sql);
    while let Some(statement) = statements.next().map_err(|problem| problem.to_string())? {
        let count = statement.parameter_count();
        let mut places: Vec<usize> =
            (1..=count).filter_map(|index| statement.parameter_name(index)?.get(1..)?.parse().ok()).collect();
        places.sort_unstable();
        if !places.into_iter().eq(1..=count) {
            return Err("its parameters are not `$1`, `$2` and so on".into());
        }
    }
    Ok(())
}

/// Every source file of the library, by its path below `src`.
fn sources() -> Vec<(String, String)> {
    fn collect(folder: &Path, below: &str, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{below}{}", path.file_name().unwrap().to_str().unwrap());
            if path.is_dir() {
                collect(&path, &format!("{name}/"), found);
            } else if name.ends_with(".rs") {
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut found);
    found.sort();
    assert!(found.len() > 100, "the source was not read");
    found
}

/// Tells whether a line has a parameter such as `?1`.
fn has_place(line: &str) -> bool {
    line.split('?').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// A string of the source.
struct Literal {
    /// The name that it is bound to, if there is one.
    name: Option<String>,
    /// Whether it is given to `format!`.
    is_format: bool,
    text: String,
}

impl Literal {
    fn is_constant(&self) -> bool {
        self.name.as_ref().is_some_and(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    }

    /// Puts in the strings that are named in the text. Tells whether all of them are known.
    fn assembled(&self, scopes: &[&[&Literal]]) -> (String, bool) {
        if !self.is_format {
            return (self.text.clone(), true);
        }
        let mut text = String::new();
        let mut is_whole = true;
        let mut rest = self.text.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let (name, behind) = after.split_once('}').unwrap_or_default();
            let in_scope = scopes.iter().find_map(|scope| {
                let mut named = scope.iter().filter(|literal| literal.name.as_deref() == Some(name));
                // Of two strings with one name it can't be told which is meant.
                named.next().filter(|literal| !literal.is_format && named.next().is_none())
            });
            let example = EXAMPLES.iter().find(|(known, _)| *known == name);
            let part = in_scope.map(|named| named.text.as_str()).or_else(|| Some(example?.1));
            is_whole &= part.is_some();
            text.push_str(part.unwrap_or("…"));
            rest = behind;
        }
        (text + rest, is_whole)
    }
}

/// The strings of a source file.
fn literals(source: &str) -> Vec<Literal> {
    let mut found = Vec::new();
    let mut rest = source;
    // The code before the next string, without comments.
    let mut code = String::new();
    while let Some(c) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(length) = character(rest) {
            length
        } else if let Some((text, length)) = string(rest) {
            found.push(Literal {
                name: bound_name(&code),
                is_format: code.trim_end().ends_with("format!("),
                text,
            });
            code.clear();
            length
        } else {
            code.push(c);
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    found
}

/// The length of a character such as `'"'` at the start of a text.
fn character(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('\'')?;
    let end = match inner.strip_prefix('\\') {
        Some(escaped) => escaped.char_indices().skip(1).find(|(_, c)| *c == '\'')?.0 + 1,
        None => inner.chars().next()?.len_utf8(),
    };
    inner[end..].starts_with('\'').then_some(end + 2)
}

/// The string at the start of a text, and how long it is in the source.
fn string(text: &str) -> Option<(String, usize)> {
    if let Some(raw) = text.strip_prefix('r') {
        let marks = raw.len() - raw.trim_start_matches('#').len();
        let inner = raw[marks..].strip_prefix('"')?;
        let end = inner.find(&format!("\"{}", "#".repeat(marks)))?;
        return Some((inner[..end].to_owned(), 1 + marks + 1 + end + 1 + marks));
    }
    let inner = text.strip_prefix('"')?;
    let mut found = String::new();
    let mut chars = inner.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((found, at + 2)),
            '\\' => match chars.next()?.1 {
                '\n' => while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {},
                'n' => found.push('\n'),
                other => found.push(other),
            },
            c => found.push(c),
        }
    }
    None
}

/// The name in a `let name =` or `const NAME: &str =` that a text ends with.
fn bound_name(code: &str) -> Option<String> {
    let binding = code.trim_end().strip_suffix('=')?.trim_end();
    let binding = binding.strip_suffix(": &str").unwrap_or(binding);
    let (before, name) = binding.rsplit_once(' ')?;
    ["const", "let"].iter().any(|word| before.ends_with(word)).then(|| name.to_owned())
}

#[test]
fn strings_are_read_from_source() {
    let source = r##"
        // a "comment" and a quote '
        const COLUMNS: &str =
            "SELECT a, \
             b";
        let quote = '"';
        fn f<'a>(x: &'a str) { format!("{COLUMNS} WHERE \"by\" = {x}"); r#"raw "one""#; }
    "##;
    let found = literals(source);
    let texts: Vec<&str> = found.iter().map(|literal| literal.text.as_str()).collect();
    assert_eq!(texts, ["SELECT a, b", "{COLUMNS} WHERE \"by\" = {x}", "raw \"one\""]);
    assert_eq!(found[0].name.as_deref(), Some("COLUMNS"));
    let scope: Vec<&Literal> = found.iter().collect();
    assert_eq!(found[1].assembled(&[&scope]), ("SELECT a, b WHERE \"by\" = …".to_owned(), false));
}
