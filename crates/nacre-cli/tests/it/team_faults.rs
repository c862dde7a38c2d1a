//! Faults of a team's server: each is a clear error with the right code, nothing is half-written, and work goes on when it is over.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::team::postgres_server::{self, Pooler, Server};
use crate::team::{Member, Served, check_stored, content, exchange, post, team, writes_of_each};

/// The exit code of what can't be served now, and of what is denied.
const UNAVAILABLE: i32 = 7;
const DENIED: i32 = 5;

/// Returns the statements that make the server do something before each row of the audit log, which is the last statement of a write.
fn at_the_end_of_a_write(does: &str) -> String {
    format!(
        "CREATE FUNCTION nacre.fault() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
            AS $$ BEGIN {does}; RETURN NEW; END $$;
         CREATE TRIGGER fault BEFORE INSERT ON nacre.audit FOR EACH ROW EXECUTE FUNCTION nacre.fault()"
    )
}

/// Returns all rows of the tables that a store writes to.
fn rows(raw: &mut postgres::Client) -> Vec<i64> {
    ["entries", "passages", "postings", "audit", "counters"]
        .map(|table| {
            let sql = format!("SELECT coalesce(sum(hashtextextended(t::text, 0) % 1000003), 0)::bigint FROM nacre.{table} AS t");
            raw.query_one(&sql, &[]).unwrap().get(0)
        })
        .to_vec()
}

/// Makes every write fail with a statement. Checks the error, that nothing was written, and that the same write succeeds afterwards.
fn check(fault: &str, undo: &str, code: &str) {
    let Some(server) = postgres_server::server() else { return };
    let url = team(server);
    let database = url.rsplit('/').next().unwrap();
    let petra = Member::new(&url);
    petra.json(&["store", "The office is in Oslo"]);
    let served = Served::start(&petra);
    let mut raw = server.connect(database);
    let before = rows(&mut raw);
    // Connections that are open are cut, as in a failover.
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    raw.batch_execute(&format!("{};\n{cut}", fault.replace("DATABASE", &format!("DATABASE {database}"))))
        .unwrap();
    let write = ["store", "The parser is written in Rust"];
    let (status, error) = petra.error(&write);
    assert_eq!((error["code"].as_str(), status), (Some(code), UNAVAILABLE), "{error}");
    assert!(!error["hint"].as_str().unwrap_or_default().is_empty(), "{error}");
    // A server that was started before reports the same, and reads on.
    let body = json!({ "content": "The parser is written in Rust" });
    let (head, answer) =
        exchange(&served.address, &served.key(), "main", "memory_store", &body).expect("it answers");
    assert!(head.starts_with("http/1.1 503 "), "{head}");
    assert_eq!(answer["error"]["code"], code, "{answer}");
    // A client is asked to try again where nobody has to do anything.
    let passes = ["server_lost", "server_read_only", "busy"].contains(&code);
    assert_eq!(head.contains("\r\nretry-after: 1"), passes, "{head}");
    let (status, found) =
        post(&served.address, "main", "memory_search", &json!({ "query": "office" })).expect("it answers");
    assert_eq!((status, found["hits"][0]["text"].as_str()), (200, Some("The office is in Oslo")), "{found}");
    assert_eq!(rows(&mut raw), before, "something was written");
    raw.batch_execute(&format!("{};\n{cut}", undo.replace("DATABASE", &format!("DATABASE {database}"))))
        .unwrap();
    let (status, answer) = post(&served.address, "main", "memory_store", &body).expect("it answers");
    assert_eq!(status, 200, "{answer}");
    assert_eq!(petra.json(&["audit", "verify"])["ok"], true);
}

const NO_FAULT: &str = "DROP TRIGGER fault ON nacre.audit";

#[test]
fn a_connection_that_is_cut_in_a_write_leaves_nothing() {
    check(&at_the_end_of_a_write("PERFORM pg_terminate_backend(pg_backend_pid())"), NO_FAULT, "server_lost");
}

#[test]
fn a_full_disk_of_the_server_leaves_nothing() {
    let full = "RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'";
    check(&at_the_end_of_a_write(full), NO_FAULT, "disk_full");
}

#[test]
fn a_write_that_waits_too_long_for_another_is_refused() {
    let locked = "RAISE EXCEPTION 'canceling statement' USING ERRCODE = 'lock_not_available'";
    check(&at_the_end_of_a_write(locked), NO_FAULT, "busy");
}

#[test]
fn a_missing_grant_is_named() {
    let revoke = "REVOKE INSERT ON nacre.audit FROM nacre_app";
    check(revoke, "GRANT INSERT ON nacre.audit TO nacre_app", "server_not_ready");
}

#[test]
fn a_read_only_replica_is_read_and_refuses_writes() {
    let read_only = "ALTER DATABASE SET default_transaction_read_only = on";
    check(read_only, "ALTER DATABASE RESET default_transaction_read_only", "server_read_only");
}

#[test]
fn of_several_servers_the_one_that_can_be_written_is_used() {
    let (Some(one), Some(two)) = (postgres_server::own_server(), postgres_server::own_server()) else {
        return;
    };
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    // Both have the same database with the same group, as replicas have.
    let database = team(&one).rsplit('/').next().unwrap().to_owned();
    for sql in [&format!("CREATE DATABASE {database}"), "CREATE ROLE petra LOGIN"] {
        two.connect("postgres").batch_execute(sql).unwrap();
    }
    assert_eq!(Member::new(&two.url(&database)).run(&["admin", "init-database"]).status, 0);
    two.connect("postgres").batch_execute("GRANT nacre_app TO petra").unwrap();
    for server in [&one, &two] {
        Member::new(&server.url_as("petra", &database)).json(&["store", "The office is in Oslo"]);
    }
    let read_only = |server: &Server, yes: bool| {
        let mut raw = server.connect("postgres");
        raw.batch_execute(&format!("ALTER SYSTEM SET default_transaction_read_only = {yes}")).unwrap();
        raw.batch_execute("SELECT pg_reload_conf()").unwrap();
        // The server tells its sessions a moment later.
        std::thread::sleep(Duration::from_millis(500));
    };
    let has = |server: &Server, text: &str| -> bool {
        let sql = "SELECT count(*) = 1 FROM nacre.entries WHERE content = $1";
        server.connect(&database).query_one(sql, &[&text]).unwrap().get(0)
    };
    read_only(&one, true);
    let hosts = format!("127.0.0.1:{nobody},127.0.0.1:{},127.0.0.1:{}", one.port(), two.port());
    let url = |options: &str| format!("postgres://petra@{hosts}/{database}{options}");
    let member = Member::new(&url("?target_session_attrs=read-write"));
    let served = Served::start(&member);
    let store =
        |text: &str| post(&served.address, "main", "memory_store", &json!({ "content": text })).unwrap();
    assert_eq!(store("The lake is cold").0, 200);
    assert!(has(&two, "The lake is cold"));
    // The other server takes over, and nobody cuts a connection.
    read_only(&one, false);
    read_only(&two, true);
    let (status, answer) = store("The tea is hot");
    assert_eq!(status, 200, "{answer}");
    assert!(has(&one, "The tea is hot"));
    // Without a word about it, too.
    Member::new(&url("")).json(&["store", "The rain is warm"]);
    assert!(has(&one, "The rain is warm"));
    // While none can be written, a call waits for a moment and says so.
    read_only(&one, true);
    let (status, error) = Member::new(&url("")).error(&["store", "The sun is high"]);
    assert_eq!((status, error["code"].as_str()), (UNAVAILABLE, Some("server_read_only")), "{error}");
    // A refused password is named, not that one of the servers is down.
    let (status, error) = Member::new(&url("").replace("petra", "nobody")).error(&["search", "x"]);
    assert_eq!((status, error["code"].as_str()), (DENIED, Some("server_denied")), "{error}");
}

#[test]
fn a_stamp_that_was_seen_was_lost_with_the_database() {
    let Some(server) = postgres_server::own_server() else { return };
    let url = team(&server);
    let database = url.rsplit('/').next().unwrap();
    let petra = Member::new(&url);
    petra.json(&["store", "The office is in Oslo"]);
    // A commit that does not wait for the disk stays in memory for a while.
    server.connect("postgres").batch_execute("ALTER SYSTEM SET wal_writer_delay = '10s'").unwrap();
    server.connect("postgres").batch_execute("SELECT pg_reload_conf()").unwrap();
    let stamp = || -> i64 {
        let sql = "SELECT max(value::bigint) FROM nacre.meta WHERE key = 'index_stamp'";
        server.connect(database).query_one(sql, &[]).unwrap().get(0)
    };
    let before = stamp();
    let message = r#"{"id":"talk","messages":[{"id":"a","role":"user","content":"Rotate the keys"}]}"#;
    petra.json(&["call", "session_append", message]);
    let seen = stamp();
    assert!(seen > before, "the message was indexed");
    server.kill();
    server.wait().unwrap();
    let found = petra.json(&["search", "office"]);
    assert_eq!(found["hits"][0]["text"], "The office is in Oslo");
    assert_eq!(stamp(), seen);
}

#[test]
fn after_a_restore_a_server_searched_with_vectors_of_lost_rows() {
    let Some(server) = postgres_server::own_server() else { return };
    let url = team(&server);
    let database = url.rsplit('/').next().unwrap();
    let petra = Member::new(&url);
    petra.json(&["store", "The office is in Oslo"]);
    let served = Served::start(&petra);
    let store =
        |text: &str| post(&served.address, "main", "memory_store", &json!({ "content": text })).unwrap().0;
    let search = || {
        let (status, found) =
            post(&served.address, "main", "memory_search", &json!({ "query": "boats on the water" }))
                .unwrap();
        assert_eq!(status, 200, "{found}");
        let hits = found["hits"].as_array().unwrap().iter();
        hits.map(|hit| format!("{} {}", hit["text"], hit["score"])).collect::<Vec<_>>()
    };
    search();
    // A backup of all rows, and a memory that it does not have.
    let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'nacre'";
    let tables: Vec<String> =
        server.connect(database).query(tables, &[]).unwrap().iter().map(|row| row.get(0)).collect();
    let for_all = |sql: &str| tables.iter().map(|table| sql.replace("TABLE_", table)).collect::<String>();
    let backup = for_all("CREATE TABLE backup.TABLE_ AS SELECT * FROM nacre.TABLE_;");
    server.connect(database).batch_execute(&format!("CREATE SCHEMA backup; {backup}")).unwrap();
    assert_eq!(store("The recipe needs flour and salt"), 200);
    search();
    // The backup is restored, and the next memory gets the number and the stamp of the one that was lost.
    let restore = for_all(
        "DELETE FROM nacre.TABLE_; INSERT INTO nacre.TABLE_ OVERRIDING SYSTEM VALUE SELECT * FROM backup.TABLE_;",
    );
    server
        .connect(database)
        .batch_execute(&format!("SET session_replication_role = replica; BEGIN; {restore} COMMIT"))
        .unwrap();
    server.kill();
    server.wait().unwrap();
    assert_eq!(store("Sailing ships cross the sea"), 200);
    let found = search();
    let fresh = Served::start(&Member::new(&url));
    let (_, expected) =
        post(&fresh.address, "main", "memory_search", &json!({ "query": "boats on the water" })).unwrap();
    let expected: Vec<String> = expected["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| format!("{} {}", hit["text"], hit["score"]))
        .collect();
    assert_eq!(found, expected);
    assert!(found[0].contains("Sailing ships"), "{found:?}");
}

#[test]
fn a_password_is_checked_and_never_shown() {
    let Some(server) = postgres_server::server() else { return };
    let url = team(server);
    let database = url.rsplit('/').next().unwrap();
    let create = "DO $$ BEGIN CREATE ROLE locked LOGIN PASSWORD 'open sesame'; EXCEPTION WHEN duplicate_object THEN END $$";
    server.connect(database).batch_execute(&format!("{create}; GRANT nacre_app TO locked")).unwrap();
    let member = Member::new(&server.url_as("locked", database));
    let run = |password: Option<&str>| {
        let mut command = member.command(&["--json", "store", "The office is in Oslo"]);
        if let Some(password) = password {
            command.env("PGPASSWORD", password);
        }
        crate::sealed::Process::run_with(&mut command, b"")
    };
    for password in [None, Some("sesame street")] {
        let done = run(password);
        assert!(!done.stdout.contains("sesame") && !done.stderr.contains("sesame"), "{done:?}");
        let (status, error) = done.error();
        assert_eq!((status, error["code"].as_str()), (DENIED, Some("server_denied")), "{error}");
    }
    run(Some("open sesame")).json();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("passwords");
    std::fs::write(&file, format!("127.0.0.1:{}:*:locked:open sesame\n", server.port())).unwrap();
    let mut command = member.command(&["--json", "search", "office"]);
    let found = crate::sealed::Process::run_with(command.env("PGPASSFILE", &file), b"").json();
    assert_eq!(found["hits"][0]["text"], "The office is in Oslo");
}

#[test]
fn a_server_that_is_too_old_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().for_each(|stream| answer_as_version(14, stream.unwrap())));
    let (status, error) =
        Member::new(&format!("postgres://petra@127.0.0.1:{port}/team")).error(&["search", "x"]);
    assert_eq!((status, error["code"].as_str()), (UNAVAILABLE, Some("server_too_old")), "{error}");
    assert!(error["message"].as_str().unwrap().contains("PostgreSQL 14"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("15"), "{error}");
}

/// Speaks as much of the protocol as a server needs that answers every question with one number.
fn answer_as_version(version: i32, mut stream: TcpStream) {
    let message = |kind: u8, body: &[u8]| {
        let length = i32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[kind][..], &length, body].concat()
    };
    let column = [
        &b"\0\x01v\0"[..],
        &[0; 6],
        &23_i32.to_be_bytes(),
        &4_i16.to_be_bytes(),
        &(-1_i32).to_be_bytes(),
        &[0; 2],
    ];
    let row = [&1_i16.to_be_bytes()[..], &4_i32.to_be_bytes(), &version.to_be_bytes()].concat();
    let mut header = [0; 5];
    let mut read = |stream: &mut TcpStream, from: usize| -> Option<u8> {
        stream.read_exact(&mut header[from..]).ok()?;
        let length = u32::from_be_bytes(header[1..].try_into().unwrap());
        std::io::copy(&mut stream.take(u64::from(length) - 4), &mut std::io::sink()).ok()?;
        Some(header[0])
    };
    // The first message has no kind.
    read(&mut stream, 1);
    let mut answer = [message(b'R', &[0; 4]), message(b'Z', b"I")].concat();
    while stream.write_all(&answer).is_ok() {
        answer = match read(&mut stream, 0) {
            Some(b'Q') => [message(b'C', b"BEGIN\0"), message(b'Z', b"T")].concat(),
            Some(b'P') => message(b'1', b""),
            Some(b'D') => [message(b't', &[0; 2]), message(b'T', &column.concat())].concat(),
            Some(b'B') => message(b'2', b""),
            Some(b'E') => [message(b'D', &row), message(b'C', b"SELECT 1\0")].concat(),
            Some(b'C') => message(b'3', b""),
            Some(b'S') => message(b'Z', b"T"),
            _ => return,
        };
    }
}

#[test]
fn tls_is_used_and_the_certificate_is_checked() {
    let Some(server) = postgres_server::own_server() else { return };
    let url = team(&server);
    let database = url.rsplit('/').next().unwrap();
    // The server's programs may be built without TLS; PgBouncer speaks it as a server does.
    let Some(folder) = certificates(&server) else { return };
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let tls = format!(
        "client_tls_sslmode = require\nclient_tls_key_file = {}\nclient_tls_cert_file = {}",
        file("key"),
        file("cert")
    );
    let Some(pooler) = Pooler::start(&server, &["petra"], &tls) else { return };
    let url = |host: &str, options: &str| {
        format!("postgres://petra@{host}:{}/{database}?pgbouncer=true{options}", pooler.port)
    };
    let trusted = format!("&sslmode=require&sslrootcert={}", file("ca.pem"));
    Member::new(&url("127.0.0.1", &trusted)).json(&["store", "The office is in Oslo"]);
    let refused = |host: &str, options: &str, code: &str, says: &str| {
        let (_, error) = Member::new(&url(host, options)).error(&["search", "office"]);
        assert_eq!(error["code"], code, "{host} {options}: {error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{host} {options}: {error}");
    };
    // No encryption where it is required, an authority that nobody knows, and a certificate of another name.
    refused("127.0.0.1", "", "server_down", "SSL");
    refused("127.0.0.1", "&sslmode=require", "server_down", "certificate");
    refused("localhost", &trusted, "server_down", "certificate");
    refused("127.0.0.1", "&sslmode=require&sslrootcert=/none.pem", "bad_server", "sslrootcert");
    refused("127.0.0.1", "&sslmode=maybe", "bad_server", "sslmode");
    refused("127.0.0.1", "&pgbouncer=maybe", "bad_server", "pgbouncer");
}

/// Makes an authority and a certificate for 127.0.0.1. Returns their folder, or `None` where there is no `openssl`.
fn certificates(server: &Server) -> Option<PathBuf> {
    let folder = server.folder().join("certificates");
    std::fs::create_dir(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let openssl = |args: &str| {
        let args = args.split(' ').map(|arg| arg.strip_prefix('@').map_or_else(|| arg.to_owned(), path));
        Command::new("openssl")
            .args(args)
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    std::fs::write(path("names"), "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE").unwrap();
    let made = openssl(
        "req -x509 -newkey rsa:2048 -nodes -days 9 -subj /CN=authority -keyout @ca.key -out @ca.pem",
    ) && openssl("req -newkey rsa:2048 -nodes -subj /CN=server -keyout @key -out @request")
        && openssl(
            "x509 -req -in @request -CA @ca.pem -CAkey @ca.key -CAcreateserial -days 9 -extfile @names -out @cert",
        );
    if !made {
        eprintln!("there is no openssl: not tested");
        return None;
    }
    // PgBouncer reads it as another user.
    std::fs::set_permissions(path("key"), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    Some(folder)
}

#[test]
fn a_killed_database_loses_nothing_that_was_acknowledged() {
    let Some(server) = postgres_server::own_server() else { return };
    let url = team(&server);
    let members = [Member::new(&url), Member::new(&url)];
    let served = members.each_ref().map(Served::start);
    let retried = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (address, retried) = (&served[writer % 2].address, &retried);
            scope.spawn(move || {
                for number in 0..writes_of_each() {
                    let arguments = json!({ "content": content(writer, number) });
                    // A client tries again until the write is confirmed.
                    loop {
                        match post(address, "main", "memory_store", &arguments) {
                            Some((200, _)) => break,
                            Some((503, said)) => {
                                let code = said["error"]["code"].as_str().unwrap();
                                assert!(["server_lost", "server_down"].contains(&code), "{said}");
                            }
                            other => panic!("{arguments}: {other:?}"),
                        }
                        retried.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(100));
                    }
                }
            });
        }
        scope.spawn(|| {
            for pause in [500, 2_000] {
                std::thread::sleep(Duration::from_millis(pause));
                server.kill();
            }
        });
    });
    check_stored(&server, &members[0], &["main".to_owned()]);
    let (all, retried) = (8 * writes_of_each(), retried.into_inner());
    eprintln!(
        "{all} writes of 8 clients over two servers, the database killed twice: none lost, {retried} tried again"
    );
}
