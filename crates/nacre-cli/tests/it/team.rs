//! A team's memory on a PostgreSQL server, which the tests start: prepared, used by a member, shared by two servers.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sealed::{Output, Process, Sealed};

#[path = "../../../nacre/tests/postgres/mod.rs"]
pub mod postgres_server;

use postgres_server::{Pooler, Server};

/// A member of a team: a machine of their own, and the database.
pub struct Member {
    sealed: Sealed,
    folder: TempDir,
    url: String,
}

impl Member {
    pub fn new(url: &str) -> Member {
        let sealed = Sealed::at(Path::new(url));
        Member { sealed, folder: TempDir::new().unwrap(), url: url.to_owned() }
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sealed.command(args);
        command.env("HOME", self.folder.path());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        Process::run_with(&mut self.command(args), b"")
    }

    #[track_caller]
    pub fn json(&self, args: &[&str]) -> Value {
        self.run(&[&["--json"], args].concat()).json()
    }

    #[track_caller]
    pub fn error(&self, args: &[&str]) -> (i32, Value) {
        self.run(&[&["--json"], args].concat()).error()
    }

    /// The name of the database.
    pub fn database(&self) -> &str {
        self.url.rsplit('/').next().unwrap().split('?').next().unwrap()
    }

    /// The folder for what belongs to this machine.
    pub fn local(&self) -> PathBuf {
        let (_, address) = self.url.rsplit_once('@').unwrap();
        let address = address.split('?').next().unwrap();
        let name = address.replace(',', "_").replace([':', '/'], "-");
        self.folder.path().join(".local/share/nacre/servers").join(name)
    }
}

/// Creates a database and prepares it, with a user `petra` who may use it.
pub fn team(server: &Server) -> String {
    let database = server.empty_database();
    let owner = Member::new(&server.url(&database));
    let done = owner.run(&["admin", "init-database"]);
    assert_eq!(done.status, 0, "{done:?}");
    assert!(done.stdout.contains("GRANT nacre_app TO petra"), "{done:?}");
    let create = "DO $$ BEGIN CREATE ROLE petra LOGIN; EXCEPTION WHEN duplicate_object THEN END $$";
    server.connect(&database).batch_execute(&format!("{create}; GRANT nacre_app TO petra")).unwrap();
    server.url_as("petra", &database)
}

#[test]
fn a_member_stores_and_finds_in_the_database() {
    let Some(server) = postgres_server::server() else { return };
    let petra = Member::new(&team(server));
    petra.json(&["store", "The staging database listens on port 5433"]);
    petra.json(&["--group", "web", "store", "The logo is blue"]);
    // Another machine sees the same.
    let other = Member::new(&petra.url);
    let found = other.json(&["search", "staging port"]);
    assert_eq!(found["hits"][0]["text"], "The staging database listens on port 5433");
    let groups = other.json(&["group", "list"]);
    assert_eq!(groups["groups"].as_array().unwrap().len(), 2, "{groups}");
    assert_eq!(other.json(&["--group", "web", "search", "staging"])["hits"], json!([]));
    assert_eq!(other.json(&["audit", "verify"])["ok"], true);
    // The files of the workspace are there too.
    petra.json(&["init"]);
    petra.json(&["log", "Petra moved to Bergen"]);
    assert!(other.run(&["search", "Bergen"]).stdout.contains("Petra moved to Bergen"));
    // Nothing of it is on this machine.
    let local = petra.local();
    assert!(!local.join("groups/main/memory.db").exists() && !local.join("groups/main/MEMORY.md").exists());
    // A command that needs a database file says so.
    let (status, error) = petra.error(&["checkpoint", "save", "before"]);
    assert_eq!((status, &error["code"]), (2, &json!("not_on_server")), "{error}");
    let doctor = other.run(&["doctor"]);
    assert_eq!(doctor.status, 0, "{doctor:?}");
    petra.json(&["group", "remove", "web", "--yes"]);
    assert_eq!(other.json(&["group", "list"])["groups"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_wrong_with_a_server_is_said() {
    // It changes a role, which all databases of a server share.
    let Some(server) = &postgres_server::own_server() else { return };
    let check = |url: &str, code: &str, says: &str| {
        let (status, error) = Member::new(url).error(&["search", "x"]);
        assert_eq!(error["code"], code, "{url}: {error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{url}: {error}");
        assert!(!error["hint"].as_str().unwrap_or_default().is_empty(), "{url}: {error}");
        assert!(status > 0 && !error.to_string().contains("sesame"), "{url}: {error}");
    };
    check("postgres://petra:sesame@127.0.0.1:1/team", "server_down", "can't be reached");
    check("postgres://petra@127.0.0.1:port/team", "bad_server", "not valid");
    check(&server.url("absent"), "server_not_ready", "does not exist");
    let empty = server.empty_database();
    check(&server.url(&empty), "server_not_ready", "no schema of Nacre");
    check(&server.url_as("nobody_here", &empty), "server_denied", "nobody_here");
    let team = team(server);
    let database = team.rsplit('/').next().unwrap();
    let mut raw = server.connect(database);
    let create = "DO $$ BEGIN CREATE ROLE stranger LOGIN; EXCEPTION WHEN duplicate_object THEN END $$";
    raw.batch_execute(create).unwrap();
    check(&server.url_as("stranger", database), "server_not_ready", "not a member");
    raw.batch_execute("UPDATE nacre.schema SET version = version + 1").unwrap();
    check(&team, "newer_database", "schema");
    raw.batch_execute("UPDATE nacre.schema SET version = version - 2").unwrap();
    check(&team, "server_not_ready", "this program needs");
    raw.batch_execute("UPDATE nacre.schema SET version = version + 1; ALTER ROLE nacre_app BYPASSRLS")
        .unwrap();
    check(&team, "server_not_ready", "bypasses row-level security");
    raw.batch_execute("ALTER ROLE nacre_app NOBYPASSRLS").unwrap();
    Member::new(&team).json(&["store", "It works again"]);
}

#[test]
fn a_group_moves_there_and_back_unchanged() {
    let Some(server) = postgres_server::server() else { return };
    let petra = Member::new(&team(server));
    let here = Sealed::new();
    for args in [
        &["init"][..],
        &["store", "The staging database listens on port 5433", "--tag", "ops"],
        &["store", "I like tea with nothing in it", "--type", "preference"],
        &["store", "The office is in Oslo"],
        &["store", "The office is in Bergen", "--supersedes", "3"],
        &["update", "1", "The staging database listens on port 5434"],
        &["delete", "2", "--yes"],
        &["fact", "set", "Petra", "city", "Bergen"],
        &["relation", "add", "Petra", "owns", "heron"],
        &["alias", "add", "the API", "heron"],
        &["log", "Petra moved to Bergen"],
        &["task", "add", "Write the parser", "--milestone", "v1"],
        &["call", "lesson_add", r#"{"text":"Always run the formatter before a commit"}"#],
        &[
            "call",
            "session_append",
            r#"{"id":"talk","messages":[{"id":"a","role":"user","content":"Rotate the keys"}]}"#,
        ],
    ] {
        let done = here.run(args);
        assert_eq!(done.status, 0, "{args:?}: {done:?}");
    }
    let export = |run: &dyn Fn(&[&str]) -> Value, folder: &str| {
        run(&["export", folder]);
        let mut files = BTreeMap::new();
        collect(Path::new(folder), Path::new(folder), &mut files);
        files
    };
    let before = export(&|args| here.json(args.iter().copied()), &here.beside("before"));
    assert!(before.len() > 3, "{before:?}");
    // The other home has a folder on this machine too.
    let relocate = |args: &[&str]| {
        let mut command = here.command([&["--json", "move", "--to"], args].concat());
        Process::run_with(command.env("HOME", petra.folder.path()), b"")
    };
    let moved = relocate(&[&petra.url]).json();
    assert!(moved["rows"]["audit"].as_i64().unwrap() > 5, "{moved}");
    let there = export(&|args| petra.json(args), &here.beside("there"));
    same(&there, &before);
    let back = Sealed::new();
    petra.json(&["move", "--to", back.home().to_str().unwrap()]);
    same(&export(&|args| back.json(args.iter().copied()), &here.beside("back")), &before);
    assert_eq!(petra.json(&["audit", "verify"]), here.json(["audit", "verify"]));
    let found = petra.json(&["search", "which port does staging use?"]);
    assert_eq!(found["hits"][0]["text"], "The staging database listens on port 5434");
    let doctor = petra.run(&["doctor"]);
    assert_eq!(doctor.status, 0, "{doctor:?}");
    // Nothing is mixed with what is there.
    let (_, error) = relocate(&[&petra.url]).error();
    assert_eq!(error["code"], "group_in_use");
    // A number that was used once is not used again.
    let next = back.json(["store", "The lake is cold"])["number"].clone();
    assert_eq!(next, here.json(["store", "The lake is cold"])["number"]);
}

/// Compares two exports, file by file.
#[track_caller]
fn same(found: &BTreeMap<String, Vec<u8>>, expected: &BTreeMap<String, Vec<u8>>) {
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, bytes) in found {
        assert_eq!(String::from_utf8_lossy(bytes), String::from_utf8_lossy(&expected[name]), "{name}");
    }
}

/// Reads all files below a folder.
fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            files.insert(
                path.strip_prefix(root).unwrap().display().to_string(),
                std::fs::read(&path).unwrap(),
            );
        }
    }
}

/// `nacre serve` of one member.
pub struct Served {
    child: Child,
    pub address: Address,
}

/// Where a server listens, and the key of its owner.
#[derive(Clone)]
pub struct Address {
    port: u16,
    key: String,
}

impl Served {
    pub fn start(member: &Member) -> Served {
        Served::start_with(member, &[])
    }

    pub fn start_with(member: &Member, args: &[&str]) -> Served {
        let _ = std::fs::remove_file(member.local().join("serve.json"));
        let usual = ["serve", "--listen", "127.0.0.1:0", "--set", "limits.store=0"];
        let mut command = member.command(&[&usual, args].concat());
        command.env_remove("NACRE_NOW");
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        let noted: Value = loop {
            let text = std::fs::read_to_string(member.local().join("serve.json")).unwrap_or_default();
            if let Ok(noted) = serde_json::from_str(&text) {
                break noted;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "the server does not start");
            std::thread::sleep(Duration::from_millis(20));
        };
        let port = noted["url"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap();
        Served { child, address: Address { port, key: noted["key"].as_str().unwrap().to_owned() } }
    }
}

impl Served {
    /// Returns the owner's key.
    pub fn key(&self) -> String {
        self.address.key.clone()
    }

    /// Returns the metrics, as the owner sees them.
    pub fn metrics(&self) -> String {
        self.get("/metrics", &self.address.key, "main")
    }

    /// Returns the answer to a GET request with a key.
    pub fn get(&self, path: &str, key: &str, group: &str) -> String {
        let port = self.address.port;
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let head = format!(
            "Host: 127.0.0.1:{port}\r\nConnection: close\r\nNacre-Group: {group}\r\nAuthorization: Bearer {key}"
        );
        stream.write_all(format!("GET {path} HTTP/1.1\r\n{head}\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Calls a tool over HTTP. Returns the status and the answer, or `None` if there is none.
pub fn post(server: &Address, group: &str, tool: &str, arguments: &Value) -> Option<(u16, Value)> {
    post_as(server, &server.key, group, tool, arguments)
}

/// Does the same with a token.
pub fn post_as(
    server: &Address,
    key: &str,
    group: &str,
    tool: &str,
    arguments: &Value,
) -> Option<(u16, Value)> {
    let (head, answer) = exchange(server, key, group, tool, arguments)?;
    Some((head.split(' ').nth(1)?.parse().ok()?, answer))
}

/// Calls a tool over HTTP. Returns the head of the answer, and the answer.
pub fn exchange(
    server: &Address,
    key: &str,
    group: &str,
    tool: &str,
    arguments: &Value,
) -> Option<(String, Value)> {
    let (port, body) = (server.port, arguments.to_string());
    let request = format!(
        "POST /v1/tools/{tool} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nNacre-Group: {group}\r\n\
         Authorization: Bearer {key}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.to_lowercase(), serde_json::from_str(body).ok()?))
}

/// How many memories each of the eight writers stores.
pub fn writes_of_each() -> usize {
    if std::env::var("NACRE_STRESS").as_deref() == Ok("full") { 500 } else { 25 }
}

/// Returns a text of its own for each write.
pub fn content(writer: usize, number: usize) -> String {
    format!("writer {writer} notes observation {number} about topic {}", number * 7 + writer)
}

/// Checks that every text of the writers is stored exactly once, and that each group is in order.
#[track_caller]
pub fn check_stored(server: &Server, member: &Member, groups: &[String]) {
    let mut raw = server.connect(member.database());
    let sql = "SELECT content, count(*) FROM nacre.entries WHERE content LIKE 'writer %' GROUP BY content";
    let found: BTreeMap<String, i64> =
        raw.query(sql, &[]).unwrap().iter().map(|row| (row.get(0), row.get(1))).collect();
    let writers = (0..8).flat_map(|writer| (0..writes_of_each()).map(move |number| content(writer, number)));
    let expected: BTreeMap<String, i64> = writers.map(|content| (content, 1)).collect();
    let lost: Vec<_> = expected.iter().filter(|(content, _)| !found.contains_key(*content)).collect();
    assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), expected.len());
    assert_eq!(found, expected);
    for group in groups {
        assert_eq!(member.json(&["--group", group, "audit", "verify"])["ok"], true, "{group}");
        let doctor = member.run(&["--group", group, "doctor"]);
        assert_eq!(doctor.status, 0, "{group}: {doctor:?}");
    }
}

/// Has eight clients write over two servers. All writes must succeed at once.
fn eight_writers(server: &Server, url: &str, groups: usize) {
    let members = [Member::new(url), Member::new(url)];
    let served = members.each_ref().map(Served::start);
    let names: Vec<String> = (0..groups).map(|number| format!("group-{number}")).collect();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (address, names) = (&served[writer % 2].address, &names);
            scope.spawn(move || {
                for number in 0..writes_of_each() {
                    let arguments = json!({ "content": content(writer, number) });
                    let answer =
                        post(address, &names[(writer + number) % names.len()], "memory_store", &arguments);
                    assert_eq!(answer.as_ref().map(|(status, _)| *status), Some(200), "{answer:?}");
                }
            });
        }
    });
    let (all, elapsed) = (8 * writes_of_each(), begun.elapsed());
    check_stored(server, &members[0], &names);
    let rate = all as f64 / elapsed.as_secs_f64();
    eprintln!(
        "{all} writes of 8 clients over two servers into {groups} groups: {elapsed:.1?}, {rate:.0} a second"
    );
}

#[test]
fn eight_writers_over_two_servers_share_one_group() {
    let Some(server) = postgres_server::server() else { return };
    eight_writers(server, &team(server), 1);
}

#[test]
fn eight_writers_over_two_servers_use_many_groups() {
    let Some(server) = postgres_server::server() else { return };
    eight_writers(server, &team(server), if writes_of_each() > 25 { 50 } else { 5 });
}

#[test]
fn eight_writers_share_three_connections_of_a_pooler_without_prepared_statements() {
    let Some(server) = postgres_server::own_server() else { return };
    let url = team(&server);
    let Some(pooler) = Pooler::start(&server, &["petra"], "") else { return };
    let url = url.replace(&format!(":{}/", server.port()), &format!(":{}/", pooler.port)) + "?pgbouncer=true";
    eight_writers(&server, &url, 5);
}

#[test]
fn a_killed_server_loses_nothing_that_was_acknowledged() {
    let Some(server) = postgres_server::server() else { return };
    let url = team(server);
    let members = [Member::new(&url), Member::new(&url)];
    let [one, other] = &members;
    let steady = Served::start(one);
    let victim = Mutex::new(Served::start(other));
    let retried = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (steady, victim, retried) = (&steady, &victim, &retried);
            scope.spawn(move || {
                for number in 0..writes_of_each() {
                    let arguments = json!({ "content": content(writer, number) });
                    loop {
                        let address = match writer % 2 {
                            0 => steady.address.clone(),
                            _ => victim.lock().unwrap().address.clone(),
                        };
                        let answer = post(&address, "main", "memory_store", &arguments);
                        match answer {
                            Some((200, _)) => break,
                            None if writer % 2 == 1 => retried.fetch_add(1, Ordering::Relaxed),
                            other => panic!("a server that lives answers {other:?}"),
                        };
                    }
                }
            });
        }
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(700));
            let mut victim = victim.lock().unwrap();
            victim.child.kill().unwrap();
            victim.child.wait().unwrap();
            *victim = Served::start(other);
        });
    });
    check_stored(server, one, &["main".to_owned()]);
    let (all, retried) = (8 * writes_of_each(), retried.into_inner());
    eprintln!("{all} writes of 8 clients over two servers, one killed: none lost, {retried} tried again");
}

#[test]
fn events_of_one_machine_reach_the_other() {
    let Some(server) = postgres_server::server() else { return };
    let url = team(server);
    let members = [Member::new(&url), Member::new(&url)];
    let [one, other] = members.each_ref().map(Served::start);
    let mut stream = TcpStream::connect(("127.0.0.1", one.address.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let (port, key) = (one.address.port, &one.address.key);
    let request = format!(
        "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nNacre-Group: main\r\nAuthorization: Bearer {key}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut read = String::new();
    let mut read_until = |wanted: &str| {
        let mut block = [0; 4096];
        while !read.contains(wanted) {
            let length = stream.read(&mut block).expect("an event comes");
            assert!(length > 0, "the stream ended: {read}");
            read += &String::from_utf8_lossy(&block[..length]);
        }
        read.clone()
    };
    read_until("\r\n\r\n");
    // Each write of either machine comes once.
    for (machine, text) in [(&other, "The office is in Oslo"), (&one, "The lake is cold")] {
        let (status, answer) =
            post(&machine.address, "main", "memory_store", &json!({ "content": text })).unwrap();
        assert_eq!(status, 200, "{answer}");
        read_until(answer["id"].as_str().unwrap());
    }
    let (_, answer) =
        post(&other.address, "main", "memory_store", &json!({ "content": "The tea is hot" })).unwrap();
    let read = read_until(answer["id"].as_str().unwrap());
    assert_eq!(read.matches("event: memory:write").count(), 3, "{read}");
}

#[test]
fn a_write_to_a_group_that_another_machine_had_removed_was_lost() {
    let Some(server) = postgres_server::server() else { return };
    let url = team(server);
    let [one, other] = [Member::new(&url), Member::new(&url)];
    let served = Served::start(&one);
    let store =
        |text: &str| post(&served.address, "web", "memory_store", &json!({ "content": text })).unwrap();
    assert_eq!(store("The office is in Oslo").0, 200);
    other.json(&["group", "remove", "web", "--yes"]);
    // The first call notices it, and the next one uses the new group.
    let (status, answer) = store("The lake is cold");
    assert_eq!((status, answer["error"]["code"].as_str()), (503, Some("group_removed")), "{answer}");
    let (status, answer) = store("The lake is cold");
    assert_eq!(status, 200, "{answer}");
    let found = other.json(&["--group", "web", "search", "lake office"]);
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["hits"][0]["text"], "The lake is cold");
}
