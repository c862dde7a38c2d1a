//! A sealed place: an own home, a fixed clock, nothing from outside.
//!
//! With `NACRE_TEST_ENGINE=postgres` the groups of every place are on a PostgreSQL server, which the tests start. A test plays the
//! person with an editor in the group's folder; there, a mirror carries the files between that folder and the server.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use nacre::settings::Layer;
use nacre::{Answer, Caller, Error, Group, Home, Settings, Time, View, call};
use rusqlite::types::ValueRef;
use serde_json::Value;
use tempfile::TempDir;

#[path = "../postgres/mod.rs"]
pub mod postgres_server;

/// When tests begin: noon of a winter day.
pub fn noon() -> Time {
    Time::parse("2026-01-15T12:00:00Z").unwrap()
}

/// The database engine of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// The engine of all places that do not name one.
fn engine() -> Engine {
    #[allow(clippy::disallowed_methods, reason = "a test reads its environment")]
    match std::env::var("NACRE_TEST_ENGINE").as_deref() {
        Ok("postgres") => Engine::Postgres,
        _ => Engine::Sqlite,
    }
}

/// Tells that a test about SQLite's files or about folders, links and modes has nothing to test, because all places are on a server.
pub fn is_without_folder() -> bool {
    engine() == Engine::Postgres
}

/// Databases that a test has left, and that are empty again.
static FREE: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Returns the name of an empty database with the schema of Nacre on the server of this process. Returns `None` if this machine has no
/// server.
pub fn new_database() -> Option<String> {
    static TEMPLATE: Mutex<Option<String>> = Mutex::new(None);
    let server = postgres_server::server()?;
    if let Some(free) = FREE.lock().unwrap().pop() {
        return Some(free);
    }
    let mut template = TEMPLATE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let from = template.get_or_insert_with(|| {
        let name = server.empty_database();
        let home = Home::new("unused", Settings::default()).with_server(&server.url(&name), None).unwrap();
        home.initialise_server().unwrap();
        name
    });
    Some(server.copy_of(from))
}

/// The files of a group on a server, in the folder of the group on this machine.
struct Mirror {
    server: RefCell<postgres::Client>,
    database: String,
    folder: PathBuf,
    /// The files that both sides had the last time.
    known: RefCell<BTreeMap<String, Vec<u8>>>,
}

type Files = BTreeMap<String, (Vec<u8>, SystemTime)>;

#[allow(clippy::disallowed_methods, reason = "it plays the person with an editor")]
impl Mirror {
    fn new(database: String, folder: PathBuf) -> Mirror {
        let server = postgres_server::server().expect("it has the database").connect(&database);
        Mirror { server: RefCell::new(server), database, folder, known: RefCell::default() }
    }

    /// Carries over what changed on one side. Where both changed, the person wins.
    fn carry(&self) {
        let mut here = Files::new();
        collect(&self.folder, &self.folder, &mut here);
        let there = self.there();
        let known = self.known.take();
        let paths: BTreeSet<&String> = here.keys().chain(there.keys()).chain(known.keys()).collect();
        let mut now = BTreeMap::new();
        for path in paths {
            let bytes = |files: &Files| files.get(path).map(|(bytes, _)| bytes.clone());
            let before = known.get(path).cloned();
            let file = if bytes(&here) == before { there.get(path) } else { here.get(path) };
            if bytes(&here) != before {
                self.put_there(path, file);
            } else if bytes(&there) != before {
                self.put_here(path, file);
            }
            now.extend(file.map(|(bytes, _)| (path.clone(), bytes.clone())));
        }
        self.known.replace(now);
    }

    /// Runs a statement as the owner of the database, for the group `main`. Returns its rows, and how many it changed.
    fn raw(&self, sql: &str) -> (Vec<String>, u64) {
        let mut server = self.server.borrow_mut();
        let group = "SET search_path = nacre, pg_catalog;
            SELECT set_config('nacre.g', (SELECT max(g)::text FROM groups WHERE name = 'main' AND collection = ''), false)";
        server.batch_execute(group).unwrap();
        let (mut rows, mut changed) = (Vec::new(), 0);
        for message in server.simple_query(sql).unwrap_or_else(|problem| panic!("{sql}: {problem}")) {
            match message {
                postgres::SimpleQueryMessage::Row(row) => {
                    let cells = (0..row.len()).map(|column| row.get(column).unwrap_or_default());
                    rows.push(cells.collect::<Vec<_>>().join(" | "));
                }
                postgres::SimpleQueryMessage::CommandComplete(count) => changed = count,
                _ => {}
            }
        }
        (rows, changed)
    }

    fn there(&self) -> Files {
        let sql = "SELECT path, bytes, mtime FROM nacre.files JOIN nacre.groups USING (g) WHERE name = 'main' AND collection = ''
            UNION ALL SELECT 'sessions/' || p.name, string_agg(bytes, ''::bytea ORDER BY start), 0
            FROM nacre.transcript_parts AS p JOIN nacre.groups AS o USING (g) WHERE o.name = 'main' GROUP BY p.name";
        let rows = self.server.borrow_mut().query(sql, &[]).unwrap();
        let time = |millis: i64| SystemTime::UNIX_EPOCH + Duration::from_millis(millis.unsigned_abs());
        rows.iter().map(|row| (row.get(0), (row.get(1), time(row.get(2))))).collect()
    }

    fn put_here(&self, path: &str, file: Option<&(Vec<u8>, SystemTime)>) {
        let to = self.folder.join(path);
        let Some((bytes, time)) = file else {
            fs::remove_file(&to).unwrap();
            // A server has no empty folders.
            let folders = to.ancestors().skip(1).take_while(|folder| *folder != self.folder);
            return folders.take_while(|folder| fs::remove_dir(folder).is_ok()).for_each(drop);
        };
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(&to, bytes).unwrap();
        fs::File::options().write(true).open(&to).unwrap().set_modified(*time).unwrap();
    }

    fn put_there(&self, path: &str, file: Option<&(Vec<u8>, SystemTime)>) {
        let mut server = self.server.borrow_mut();
        let group = "INSERT INTO nacre.groups (name, collection) VALUES ('main', '') ON CONFLICT DO NOTHING";
        server.batch_execute(group).unwrap();
        let of = "g = (SELECT g FROM nacre.groups WHERE name = 'main' AND collection = '')";
        let (table, key, path) = match path.strip_prefix("sessions/") {
            Some(name) => ("transcript_parts", "name", name),
            None => ("files", "path", path),
        };
        server.execute(&format!("DELETE FROM nacre.{table} WHERE {key} = $1 AND {of}"), &[&path]).unwrap();
        let Some((bytes, time)) = file else { return };
        let millis = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let insert = match table {
            "files" => format!(
                "INSERT INTO nacre.files (g, path, version, mtime, bytes)
                    SELECT g, $1, 1, {millis}, $2 FROM nacre.groups WHERE {of}"
            ),
            _ => format!(
                "INSERT INTO nacre.transcript_parts (g, name, start, bytes) SELECT g, $1, 0, $2 FROM nacre.groups WHERE {of}"
            ),
        };
        server.execute(&insert, &[&path, &bytes]).unwrap();
    }
}

impl Drop for Mirror {
    /// Empties the database, so that another test can use it.
    fn drop(&mut self) {
        let empty = "DO $$ DECLARE t text; BEGIN
            FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'nacre' AND tablename <> 'schema' LOOP
                EXECUTE format('DELETE FROM nacre.%I', t);
            END LOOP; END $$";
        if !std::thread::panicking() && self.server.borrow_mut().batch_execute(empty).is_ok() {
            FREE.lock().unwrap().push(std::mem::take(&mut self.database));
        }
    }
}

/// Collects the files of a folder that a server has as rows.
fn collect(root: &Path, folder: &Path, files: &mut Files) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let is_ours = name.starts_with('.') || name.starts_with("memory.db") || name == "lock";
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        if is_ours {
            continue;
        } else if found.is_dir() {
            collect(root, &path, files);
        } else if found.is_file()
            && let Ok(bytes) = fs::read(&path)
        {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.insert(name, (bytes, found.modified().unwrap()));
        }
    }
}

pub struct Place {
    pub folder: TempDir,
    pub home: Home,
    pub group: Group,
    pub caller: Caller,
    /// Only of a place on a server.
    mirror: Option<Mirror>,
}

impl Place {
    /// A new home under the default settings, with an agent calling.
    pub fn new() -> Place {
        Place::with("balanced", &[])
    }

    /// The same under a profile, with settings changed.
    pub fn with(profile: &str, settings: &[&str]) -> Place {
        Place::on(engine(), profile, settings).expect("this engine was asked for")
    }

    /// The same on an engine. Returns `None` if this machine has no server.
    pub fn on(engine: Engine, profile: &str, settings: &[&str]) -> Option<Place> {
        let folder = tempfile::tempdir().unwrap();
        let layers: Vec<Layer> =
            settings.iter().map(|pair| Layer::from_pair("the test", pair).unwrap()).collect();
        let mut home = Home::new(folder.path(), Settings::from_layers(Some(profile), &layers).unwrap());
        let database = if engine == Engine::Postgres { Some(new_database()?) } else { None };
        if let Some(name) = &database {
            home = home.with_server(&postgres_server::server()?.url(name), None).unwrap();
        }
        let group = home.group(&"main".parse().unwrap(), noon()).unwrap();
        let mirror = database.map(|name| Mirror::new(name, group.folder().to_owned()));
        let caller = Caller::agent("test-session".parse().unwrap(), noon());
        Some(Place { folder, home, group, caller, mirror })
    }

    /// Carries files between the group's folder and the server, if there is one. A test that reads the folder after anything but a
    /// call does this first.
    pub fn carry(&self) {
        if let Some(mirror) = &self.mirror {
            mirror.carry();
        }
    }

    /// Runs a statement on the database itself, past all policies. Returns how many rows it changed.
    pub fn change(&self, sql: &str) -> u64 {
        match &self.mirror {
            Some(mirror) => mirror.raw(sql).1,
            None => self.sqlite().execute(sql, []).unwrap() as u64,
        }
    }

    /// Returns the rows of a statement on the database itself, each as a line.
    pub fn rows(&self, sql: &str) -> Vec<String> {
        if let Some(mirror) = &self.mirror {
            return mirror.raw(sql).0;
        }
        let db = self.sqlite();
        let mut statement = db.prepare(sql).unwrap();
        let columns = statement.column_count();
        let line = |row: &rusqlite::Row<'_>| -> rusqlite::Result<String> {
            let cells: Vec<String> = (0..columns)
                .map(|column| match row.get_ref(column)? {
                    ValueRef::Null => Ok(String::new()),
                    ValueRef::Integer(number) => Ok(number.to_string()),
                    ValueRef::Real(number) => Ok(number.to_string()),
                    ValueRef::Text(text) | ValueRef::Blob(text) => {
                        Ok(String::from_utf8_lossy(text).into_owned())
                    }
                })
                .collect::<rusqlite::Result<_>>()?;
            Ok(cells.join(" | "))
        };
        statement.query_map([], line).unwrap().map(Result::unwrap).collect()
    }

    fn sqlite(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.group.folder().join("memory.db")).unwrap()
    }

    pub fn later(&mut self, days: i64) -> &mut Place {
        self.caller.now = self.caller.now.plus_days(days);
        self
    }

    /// Opens the group anew, as another process would.
    pub fn reopen(&mut self) {
        self.group = self.home.group(&"main".parse().unwrap(), self.caller.now).unwrap();
    }

    /// The group as the caller sees it.
    pub fn view(&mut self) -> View<'_> {
        self.carry();
        self.group.enter(&self.caller).unwrap()
    }

    /// The group as somebody else sees it.
    pub fn view_of<'a>(&'a mut self, caller: &'a Caller) -> View<'a> {
        self.carry();
        self.group.enter(caller).unwrap()
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Answer {
        self.try_call(tool, arguments).unwrap_or_else(|error| panic!("{tool}: {error}"))
    }

    pub fn try_call(&mut self, tool: &str, arguments: Value) -> Result<Answer, Error> {
        let answer = call(&mut self.view(), tool, arguments);
        self.carry();
        answer
    }

    /// Calls, and returns the code of the error that must come.
    pub fn refused(&mut self, tool: &str, arguments: Value) -> &'static str {
        self.try_call(tool, arguments).expect_err("this call must be refused").code()
    }

    /// Stores a fact and returns its number.
    pub fn store(&mut self, content: &str) -> i64 {
        self.call("memory_store", serde_json::json!({ "content": content })).data["number"].as_i64().unwrap()
    }

    /// The numbers that a search finds, best first.
    pub fn found(&mut self, arguments: Value) -> Vec<i64> {
        let answer = self.call("memory_search", arguments);
        answer.data["hits"].as_array().unwrap().iter().map(|hit| hit["number"].as_i64().unwrap()).collect()
    }

    /// The numbers of those that the lane of words found: what has a word of the question, and nothing else.
    pub fn found_by_words(&mut self, arguments: Value) -> Vec<i64> {
        let answer = self.call("memory_search", arguments).data;
        let by_words = |hit: &&Value| hit["why"].as_array().unwrap().iter().any(|why| why["lane"] == "bm25");
        let hits = answer["hits"].as_array().unwrap().iter();
        hits.filter(by_words).map(|hit| hit["number"].as_i64().unwrap()).collect()
    }

    /// Nothing is wrong with the database.
    pub fn check(&mut self) {
        assert_eq!(self.view().check().unwrap(), Vec::<String>::new());
    }
}
