//! The schema of a server: who creates it, how it is brought to this version, and which rows of it a session sees.
//!
//! The owner of the schema creates and changes it (`nacre admin init-database`). Everybody else acts as the role
//! `nacre_app`, which can't bypass row-level security. Policies and views are generated from the table of
//! visible rows that SQLite uses too.

use postgres::Client;

use super::{Server, quote};
use crate::base::{Error, Result};
use crate::store::visible_rows::{SAID_IN_PUBLIC, TABLES, VisibleRows};

/// The role that all calls act as.
const ROLE: &str = "nacre_app";
/// The role whose users no member's role restricts: servers, which check tokens, and people who manage members.
const ADMIN_ROLE: &str = "nacre_admin";
/// The members of a team, their tokens and roles. These statements can be run again.
const MEMBERS: &str = include_str!("../../../migrations/postgres/members.sql");
/// How passages are counted. These statements can be run again.
const COUNTING: &str = include_str!("../../../migrations/postgres/counting.sql");
/// The oldest server with views that have the rights of the caller.
const MIN_VERSION: i32 = 15;
/// Serialises everybody who changes the schema: `Nacr` in ASCII.
const MIGRATION_LOCK: i64 = 0x4e61_6372;

/// The first step builds this version of the schema; each further step adds one.
const FIRST_VERSION: i64 = 14;
/// The steps, in order. Every step of SQLite after the first version has its twin here.
const STEPS: &[&str] = &[
    include_str!("../../../migrations/postgres/0014.sql"),
    include_str!("../../../migrations/postgres/0015.sql"),
    include_str!("../../../migrations/postgres/0016.sql"),
    include_str!("../../../migrations/postgres/0017.sql"),
    include_str!("../../../migrations/postgres/0018.sql"),
    include_str!("../../../migrations/postgres/0019.sql"),
    include_str!("../../../migrations/postgres/0020.sql"),
    include_str!("../../../migrations/postgres/0021.sql"),
];

/// Tables that only a server has, and the part that a shared session sees. The files are read for all sessions,
/// as on a disk; no statement on behalf of a shared session reads them.
const SERVER_TABLES: &[(&str, VisibleRows)] = &[
    ("counters", VisibleRows::All),
    ("postings", VisibleRows::All),
    ("files", VisibleRows::Where("path IN (SELECT path FROM public_documents)")),
    ("transcript_parts", VisibleRows::Nothing),
];

/// Returns the version of the schema that this program works with.
pub(crate) fn version() -> i64 {
    FIRST_VERSION + i64::try_from(STEPS.len()).expect("a handful") - 1
}

/// The changes that were made to a database.
#[derive(Clone, Debug)]
pub struct ServerReport {
    /// The version of the schema before; 0 if there was none.
    pub before: i64,
    /// The version of the schema now.
    pub version: i64,
    /// The statements that were run.
    pub statements: Vec<String>,
}

/// Creates the role and the schema, or brings them to this version.
pub(crate) fn initialise(server: &Server) -> Result<ServerReport> {
    let mut client = server.client()?;
    check_version(server, &mut client)?;
    let mut done = Vec::new();
    let mut run = |client: &mut Client, sql: String| -> Result<()> {
        client.batch_execute(&sql).map_err(|problem| server.error(&problem))?;
        done.push(sql);
        Ok(())
    };
    run(&mut client, format!("BEGIN; SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))?;
    // A user with the second role acts as the first one too.
    for (role, member_of) in [(ROLE, String::new()), (ADMIN_ROLE, format!(" IN ROLE {ROLE}"))] {
        let has_role = format!("SELECT 1 FROM pg_roles WHERE rolname = '{role}'");
        if client.query(&has_role, &[]).map_err(|problem| server.error(&problem))?.is_empty() {
            // All databases of a server share its roles. Another one may be prepared at this moment.
            let create = format!("CREATE ROLE {role} NOLOGIN NOSUPERUSER NOBYPASSRLS{member_of}");
            let unless_there = "EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL";
            run(&mut client, format!("DO $$ BEGIN {create}; {unless_there}; END $$"))?;
        }
    }
    let encoding: String = client
        .query_one("SELECT current_setting('server_encoding')", &[])
        .and_then(|row| row.try_get(0))
        .map_err(|problem| server.error(&problem))?;
    if encoding != "UTF8" {
        return Err(server.not_ready(format!("the database has the encoding {encoding}; it must be UTF8")));
    }
    let found = found_version(&mut client).map_err(|problem| server.error(&problem))?;
    if found > version() {
        return Err(newer(server, found));
    }
    let mut version_now = found;
    if found == 0 {
        run(&mut client, "CREATE SCHEMA nacre".into())?;
        run(
            &mut client,
            "CREATE TABLE nacre.schema (version INTEGER NOT NULL, access TEXT NOT NULL)".into(),
        )?;
        run(&mut client, "INSERT INTO nacre.schema VALUES (0, '')".into())?;
        version_now = FIRST_VERSION - 1;
    }
    run(&mut client, "SET LOCAL search_path = nacre, pg_catalog".into())?;
    let taken = usize::try_from(version_now + 1 - FIRST_VERSION).unwrap_or(0);
    for step in &STEPS[taken..] {
        run(&mut client, (*step).into())?;
    }
    run(&mut client, COUNTING.into())?;
    run(&mut client, MEMBERS.into())?;
    run(&mut client, access())?;
    let stamp = stamp();
    run(&mut client, format!("UPDATE nacre.schema SET version = {}, access = '{stamp}'", version()))?;
    run(&mut client, "COMMIT".into())?;
    Ok(ServerReport { before: found, version: version(), statements: done })
}

/// Checks that the server has the schema of this program, and that the role is one that sees only its group.
pub(super) fn check(server: &Server, client: &mut Client) -> Result<()> {
    check_version(server, client)?;
    check_role(server, client)?;
    let failed = |problem: postgres::Error| server.error(&problem);
    match found_version(client).map_err(failed)? {
        0 => return Err(server.not_ready("the database has no schema of Nacre")),
        found if found > version() => return Err(newer(server, found)),
        found if found < version() => {
            return Err(
                server.not_ready(format!("the schema has version {found}; this program needs {}", version()))
            );
        }
        _ => {}
    }
    let found = client.query_one("SELECT access FROM nacre.schema", &[]).and_then(|row| row.try_get(0));
    let found: String = found.map_err(failed)?;
    if found != stamp() {
        return Err(server.not_ready("the policies of the schema are those of another version"));
    }
    Ok(())
}

/// Checks that the user may act as a role that sees only its group.
fn check_role(server: &Server, client: &mut Client) -> Result<()> {
    let failed = |problem: postgres::Error| server.error(&problem);
    let sql = format!(
        "SELECT rolsuper OR rolbypassrls, pg_has_role(current_user, '{ROLE}', 'MEMBER'), current_user::text
            FROM pg_roles WHERE rolname = '{ROLE}'"
    );
    let row = client.query_opt(&sql, &[]).map_err(failed)?;
    let row = row.ok_or_else(|| server.not_ready("the database has no schema of Nacre"))?;
    let (bypasses, is_member, user): (bool, bool, String) = (row.get(0), row.get(1), row.get(2));
    if bypasses {
        return Err(server.not_ready(format!("the role `{ROLE}` bypasses row-level security")));
    }
    if !is_member {
        let problem = format!("the user `{user}` is not a member of `{ROLE}`: GRANT {ROLE} TO {user}");
        return Err(server.not_ready(problem));
    }
    Ok(())
}

fn check_version(server: &Server, client: &mut Client) -> Result<()> {
    let found = client.query_one("SELECT current_setting('server_version_num')::int / 10000", &[]);
    let found: i32 = found.and_then(|row| row.try_get(0)).map_err(|problem| server.error(&problem))?;
    if found < MIN_VERSION {
        return Err(Error::ServerTooOld { server: server.name().to_owned(), found, needed: MIN_VERSION });
    }
    Ok(())
}

/// Returns the version of the schema; 0 if there is none.
fn found_version(client: &mut Client) -> Result<i64, postgres::Error> {
    if client
        .query("SELECT 1 FROM pg_tables WHERE schemaname = 'nacre' AND tablename = 'schema'", &[])?
        .is_empty()
    {
        return Ok(0);
    }
    client.query_one("SELECT version::bigint FROM nacre.schema", &[])?.try_get(0)
}

fn newer(server: &Server, found: i64) -> Error {
    Error::Newer { path: server.name().into(), found, known: version() }
}

/// Identifies the statements that decide who sees what. A program works only with its own.
fn stamp() -> String {
    blake3::hash(format!("{COUNTING}{MEMBERS}{}", access()).as_bytes()).to_hex().to_string()
}

/// Returns the statements that decide who sees what: grants, policies, and the views `public_…`. They replace
/// those of another version.
fn access() -> String {
    let mut sql = String::from("DROP FUNCTION IF EXISTS said_in_public CASCADE;\n");
    let tables = || TABLES.iter().filter(|(table, _)| !table.starts_with("passages_")).chain(SERVER_TABLES);
    for (table, _) in tables() {
        sql += &format!("DROP VIEW IF EXISTS public_{table} CASCADE;\n");
    }
    // A member's role decides in which groups there are rows for them, and whether they can be changed.
    let (read, write) = ("g = (SELECT readable_g())", "g = (SELECT writable_g())");
    for (table, _) in tables() {
        sql += &format!(
            "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
             ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
             DROP POLICY IF EXISTS own ON {table};
             DROP POLICY IF EXISTS seen ON {table};
             DROP POLICY IF EXISTS deleted ON {table};
             CREATE POLICY own ON {table} USING ({read}) WITH CHECK ({write});
             CREATE POLICY deleted ON {table} AS RESTRICTIVE FOR DELETE USING ({write});
             GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {ROLE};\n"
        );
    }
    // A group is found by its name, and the names of one's groups can be listed. Nothing else of another group is visible. The
    // functions that look up roles read this table as its owner, which no policy restricts.
    let named = "name = (SELECT current_setting('nacre.group', true))";
    sql += &format!(
        "ALTER TABLE groups ENABLE ROW LEVEL SECURITY;
         ALTER TABLE groups NO FORCE ROW LEVEL SECURITY;
         DROP POLICY IF EXISTS own ON groups;
         DROP POLICY IF EXISTS named ON groups;
         DROP POLICY IF EXISTS deleted ON groups;
         CREATE POLICY own ON groups USING ({read}) WITH CHECK (false);
         CREATE POLICY named ON groups
            USING (({named} OR (SELECT current_setting('nacre.group', true)) = '*') AND role_in(name) IS NOT NULL)
            WITH CHECK ({named} AND role_in(name) <> 'reader');
         CREATE POLICY deleted ON groups AS RESTRICTIVE FOR DELETE USING ({write});
         GRANT USAGE ON SCHEMA nacre TO {ROLE};
         GRANT SELECT, INSERT, UPDATE, DELETE ON groups TO {ROLE};
         GRANT SELECT ON schema TO {ROLE};\n"
    );
    sql += &members();
    for (table, seen) in tables() {
        let condition = match seen {
            VisibleRows::All => continue,
            VisibleRows::Where(condition) => portable(condition),
            VisibleRows::Nothing => "false".into(),
        };
        if *table == "facts" {
            sql += &said_in_public();
        }
        sql += &format!(
            "CREATE VIEW public_{table} WITH (security_invoker = true) AS SELECT * FROM {table} WHERE {condition};
             GRANT SELECT ON public_{table} TO {ROLE};
             CREATE POLICY seen ON {table} AS RESTRICTIVE FOR SELECT
                USING ((SELECT current_setting('nacre.sees', true)) = 'private' OR ({condition}));\n"
        );
    }
    sql
}

/// Returns the policies of the tables of members. Members see their fellows in a group. The admin of a group sets the roles in it, and
/// members who connect as themselves manage their own tokens.
fn members() -> String {
    let own = "member = (SELECT acting_member())";
    let mut sql = String::new();
    for (table, sees, changes) in [
        ("members", "name = (SELECT acting_member())".to_owned(), "false".to_owned()),
        ("member_tokens", own.to_owned(), format!("{own} AND (SELECT token_member()) IS NULL")),
        (
            "member_roles",
            "role_in(group_name) IS NOT NULL".to_owned(),
            "role_in(group_name) = 'admin'".to_owned(),
        ),
    ] {
        sql += &format!(
            "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
             DROP POLICY IF EXISTS seen ON {table};
             DROP POLICY IF EXISTS changed ON {table};
             CREATE POLICY seen ON {table} FOR SELECT USING ((SELECT manages_members()) OR {sees});
             CREATE POLICY changed ON {table} USING ((SELECT manages_members()) OR {changes});
             GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {ROLE};\n"
        );
    }
    sql
}

/// Returns a condition without what only SQLite understands.
fn portable(condition: &str) -> String {
    let mut condition = condition.to_owned();
    for (kind, table, text) in SAID_IN_PUBLIC {
        let call = format!(
            "(source NOT IN ('document', 'conversation') OR said_in_public({}, {table}.id))",
            quote(kind)
        );
        condition = condition.replace(text, &call);
    }
    condition.replace("main.", "")
}

/// Returns the function that tells whether a public document or conversation states a fact, relation or name.
/// It reads all citations and messages, and decides by the public documents and sessions.
fn said_in_public() -> String {
    format!(
        "CREATE FUNCTION said_in_public(said text, stated bigint) RETURNS boolean STABLE LANGUAGE sql
            SET nacre.sees = 'private'
            BEGIN ATOMIC
                SELECT EXISTS (SELECT 1 FROM citations AS c JOIN public_documents AS d ON d.path = c.path
                        WHERE c.kind = said AND c.id = stated)
                    OR EXISTS (SELECT 1 FROM citations AS c
                        JOIN passages AS p ON p.kind = 'message' AND p.ref = substr(c.path, 10)
                        JOIN public_sessions AS s ON s.number = p.session
                        WHERE c.kind = said AND c.id = stated AND substr(c.path, 1, 9) = 'sessions/');
            END;
         GRANT EXECUTE ON FUNCTION said_in_public TO {ROLE};\n"
    )
}
