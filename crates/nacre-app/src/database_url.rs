//! A home on a database server: `--home postgres://USER@HOST:PORT/DATABASE`. The password comes from the environment, as with
//! other clients of PostgreSQL, and is shown nowhere.

use std::fs;
use std::path::{Path, PathBuf};

/// The parts of a URL that name a database.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'a> {
    user: &'a str,
    /// The host and port of each server.
    hosts: Vec<[&'a str; 2]>,
    database: &'a str,
}

/// Returns the URL of a database server, if a home is one.
pub fn in_home(home: Option<&Path>) -> Option<&str> {
    let home = home?.to_str()?;
    ["postgres://", "postgresql://"].iter().any(|scheme| home.starts_with(scheme)).then_some(home)
}

/// Returns the name of the folder for what belongs to this machine, such as settings: one for each database.
pub fn folder_name(url: &str) -> String {
    /// File systems take 255.
    const MAX_HOSTS_LENGTH: usize = 150;
    let Parts { hosts, database, .. } = parts(url);
    let names: Vec<String> = hosts.iter().map(|[host, port]| format!("{host}-{port}")).collect();
    let joined = match names.join("_") {
        long if long.len() > MAX_HOSTS_LENGTH => format!("{}_and_{}_more", names[0], names.len() - 1),
        joined => joined,
    };
    let name = format!("{joined}-{database}");
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' }).collect()
}

/// Returns the password for a URL: `PGPASSWORD`, or the line of `PGPASSFILE` (by default `.pgpass`) that fits.
pub fn password(url: &str, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    if let Some(password) = variable("PGPASSWORD").filter(|password| !password.is_empty()) {
        return Some(password);
    }
    let file = variable("PGPASSFILE").map(PathBuf::from);
    let file = file.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".pgpass")))?;
    in_file(&fs::read_to_string(file).ok()?, &parts(url))
}

fn in_file(text: &str, parts: &Parts<'_>) -> Option<String> {
    // The user has the same password on all servers: they replicate each other.
    let wanted = |[host, port]: &[_; 2]| [*host, *port, parts.database, parts.user];
    let wanted: Vec<[&str; 4]> = parts.hosts.iter().map(wanted).collect();
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let [host, port, database, user, password] = fields.as_slice() else { return None };
        let fits = |(field, wanted): (&&String, &&str)| field.as_str() == "*" || field.as_str() == *wanted;
        let given = [host, port, database, user];
        wanted.iter().any(|wanted| given.iter().zip(wanted).all(fits)).then(|| password.clone())
    })
}

/// Splits a line of a password file at its colons. A backslash keeps the character after it.
fn fields(line: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => field.extend(chars.next()),
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    fields.push(field);
    fields
}

fn parts(url: &str) -> Parts<'_> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    // The user ends at the first `@`, as in the client library.
    let (user, rest) = rest.split_once('@').unwrap_or(("", rest));
    let (addresses, database) = rest.split_once('/').unwrap_or((rest, ""));
    let user = user.split(':').next().unwrap_or(user);
    let host_and_port = |address| {
        let (host, port) = match str::rsplit_once(address, ':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
            _ => (address, "5432"),
        };
        [if host.is_empty() { "localhost" } else { host }, port]
    };
    let hosts = addresses.split(',').map(host_and_port).collect();
    Parts { user, hosts, database: if database.is_empty() { user } else { database } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_parts() {
        let check = |url: &str, user: &str, hosts: &[[&str; 2]], database: &str| {
            assert_eq!(parts(url), Parts { user, hosts: hosts.to_vec(), database }, "{url}");
        };
        check("postgres://nacre@db.example:6432/team", "nacre", &[["db.example", "6432"]], "team");
        check("postgresql://nacre:s%3Acret@db/team?sslmode=require", "nacre", &[["db", "5432"]], "team");
        check("postgres://db", "", &[["db", "5432"]], "");
        check("postgres://nacre@", "nacre", &[["localhost", "5432"]], "nacre");
        check(
            "postgres://nacre@one:1,two,three:3/team?target_session_attrs=read-write",
            "nacre",
            &[["one", "1"], ["two", "5432"], ["three", "3"]],
            "team",
        );
        assert_eq!(folder_name("postgres://nacre:secret@db:1/team"), "db-1-team");
        assert_eq!(folder_name("postgres://nacre@one:1,two/team"), "one-1_two-5432-team");
        let many = ["a-host-with-a-long-name.example"; 9].join(",");
        let folder = folder_name(&format!("postgres://nacre@{many}/team"));
        assert_eq!(folder, "a-host-with-a-long-name.example-5432_and_8_more-team");
    }

    #[test]
    fn passwords_are_found_in_a_file() {
        let file = "# a comment\nother:*:*:*:no\ndb:5432:*:nacre:with\\:colon\\\\and:more\n*:*:*:*:any\n";
        let find = |url: &str| in_file(file, &parts(url));
        assert_eq!(find("postgres://nacre@db/team").as_deref(), Some("with:colon\\and:more"));
        assert_eq!(find("postgres://petra@db/team").as_deref(), Some("any"));
        assert_eq!(in_file("db:1:*:*:x", &parts("postgres://a@db/t")), None);
        assert_eq!(in_file("db:1:*:*:x", &parts("postgres://a@other,db:1/t")).as_deref(), Some("x"));
    }
}
