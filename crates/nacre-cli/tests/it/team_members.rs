//! The members of a team: roles in groups on the command line and over HTTP, tokens, promotion with review, a working copy.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sealed::{Output, Process};
use crate::team::postgres_server::{self, Server};
use crate::team::{Member, Served, post_as, team};

/// A team of three with users of the database: petra may write in `web`, olav reads there, rita reviews. Returns the operator, who
/// also runs the servers, and the three.
struct Team {
    operator: Member,
    petra: Member,
    olav: Member,
    rita: Member,
}

impl Team {
    fn new(server: &Server) -> Team {
        let url = team(server);
        let database = url.rsplit('/').next().unwrap();
        for user in ["olav", "rita", "stranger"] {
            let create = format!("CREATE ROLE {user} LOGIN; EXCEPTION WHEN duplicate_object THEN");
            let sql = format!("DO $$ BEGIN {create} END $$; GRANT nacre_app TO {user}");
            server.connect(database).batch_execute(&sql).unwrap();
        }
        let member = |user: &str| Member::new(&server.url_as(user, database));
        let operator = member("postgres");
        operator.json(&["--group", "secret", "store", "The canary sings at dawn"]);
        for (name, role) in [("petra", "writer"), ("olav", "reader"), ("rita", "reviewer")] {
            operator.json(&["team", "add", name]);
            operator.json(&["--group", "web", "team", "role", name, role]);
        }
        Team { operator, petra: member("petra"), olav: member("olav"), rita: member("rita") }
    }

    /// Creates a token.
    fn token(&self, member: &str, name: &str, flags: &[&str]) -> String {
        let args = [&["--json", "team", "token", member, name], flags].concat();
        let made = at_terminal(&self.operator, &args).json();
        made["token"].as_str().unwrap().to_owned()
    }
}

fn at_terminal(member: &Member, args: &[&str]) -> Output {
    Process::start_at_terminal(&mut member.command(args)).finish()
}

#[track_caller]
fn refused(member: &Member, args: &[&str], code: &str) {
    let (status, error) = member.error(args);
    assert_eq!((status, error["code"].as_str()), (5, Some(code)), "{args:?}: {error}");
    assert!(!error["hint"].as_str().unwrap_or_default().is_empty(), "{error}");
}

#[test]
fn a_member_has_only_the_groups_and_rights_of_their_roles() {
    let Some(server) = postgres_server::server() else { return };
    let team = Team::new(server);
    let Team { operator, petra, olav, rita } = &team;
    petra.json(&["--group", "web", "store", "The staging database listens on port 5433"]);
    let found = olav.json(&["--group", "web", "search", "staging port"]);
    assert_eq!(found["hits"][0]["text"], "The staging database listens on port 5433");
    // A reader writes nothing, by any command.
    for args in [
        &["store", "The tea is hot"][..],
        &["log", "Olav was here"],
        &["fact", "set", "Petra", "city", "Bergen"],
        &["task", "add", "Write the parser"],
        &["file", "propose", "MEMORY.md", "--from", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")],
        &["init"],
        &["reinforce", "1"],
        &["delete", "1", "--yes"],
        &["reindex"],
        &["group", "remove", "web", "--yes"],
    ] {
        let (status, error) = olav.error(&[&["--group", "web"], args].concat());
        let code = error["code"].as_str().unwrap_or_default();
        assert!(status == 5 && ["role_too_low", "write_refused"].contains(&code), "{args:?}: {error}");
    }
    // A group without a role can be neither read nor written, nor seen in a list.
    for member in [petra, olav, rita] {
        refused(member, &["--group", "secret", "search", "canary"], "no_role");
        refused(member, &["--group", "secret", "store", "x"], "no_role");
        refused(member, &["--group", "petra-of-nobody", "store", "x"], "no_role");
        let groups = member.json(&["group", "list"]).to_string();
        assert!(!groups.contains("secret"), "{groups}");
    }
    refused(petra, &["search", "canary"], "no_role");
    let (_, error) = petra.error(&["search", "canary"]);
    assert!(error["message"].as_str().unwrap().contains("your groups: petra, web"), "{error}");
    // Only an admin of a group gives roles in it, and nobody adds members but the operator.
    refused(petra, &["--group", "web", "team", "role", "petra", "admin"], "role_too_low");
    refused(petra, &["team", "add", "mallory"], "not_team_admin");
    petra.json(&["--group", "petra", "team", "role", "olav", "reader"]);
    assert_eq!(olav.json(&["--group", "petra", "search", "x"])["hits"], json!([]));
    petra.json(&["--group", "petra", "team", "role", "olav", "none"]);
    refused(olav, &["--group", "petra", "search", "x"], "no_role");
    // The audit log names the member.
    let audit = rita.json(&["--group", "web", "audit"]).to_string();
    assert!(audit.contains("\"member\":\"petra\""), "{audit}");
    // A person who is no member sees nothing.
    let stranger = Member::new(&server.url_as("stranger", operator.database()));
    refused(&stranger, &["--group", "web", "search", "staging"], "no_role");
    operator.json(&["team", "remove", "olav"]);
    refused(olav, &["--group", "web", "search", "staging"], "no_role");
}

#[test]
fn a_token_is_of_a_person_revocable_and_its_last_use_is_shown() {
    let Some(server) = postgres_server::server() else { return };
    let team = Team::new(server);
    let servers = [
        Member::new(&server.url(team.operator.database())),
        Member::new(&server.url(team.operator.database())),
    ];
    let served = servers.each_ref().map(Served::start);
    let petra = team.token("petra", "laptop", &["--private"]);
    let olav = team.token("olav", "laptop", &["--private"]);
    let text = json!({ "content": "The staging database listens on port 5433" });
    for (number, server) in served.iter().enumerate() {
        let (status, answer) = post_as(&server.address, &petra, "web", "memory_store", &text).unwrap();
        assert_eq!(status, 200, "{answer}");
        let query = json!({ "query": "staging canary" });
        let (status, found) = post_as(&server.address, &olav, "web", "memory_search", &query).unwrap();
        assert_eq!((status, found["hits"].as_array().map(Vec::len)), (200, Some(1)), "{number}: {found}");
        for (token, group, tool, code) in [
            (&olav, "web", "memory_store", "role_too_low"),
            (&olav, "secret", "memory_search", "no_role"),
            (&petra, "secret", "memory_store", "no_role"),
            (&petra, "main", "memory_store", "no_role"),
        ] {
            let arguments = if tool == "memory_store" { &text } else { &query };
            let (status, answer) = post_as(&server.address, token, group, tool, arguments).unwrap();
            assert_eq!((status, answer["error"]["code"].as_str()), (403, Some(code)), "{answer}");
        }
        let (status, _) = post_as(&server.address, "nacre_unknown", "web", "memory_search", &query).unwrap();
        assert_eq!(status, 401);
    }
    let members = team.operator.json(&["team", "list"]);
    let of = |name: &str| {
        members["members"].as_array().unwrap().iter().find(|member| member["name"] == name).unwrap()
    };
    assert!(of("petra")["tokens"][0]["used_at"].is_string(), "{members}");
    assert!(of("rita")["tokens"].as_array().unwrap().is_empty(), "{members}");
    assert!(!members.to_string().contains(&petra[6..]), "the secret is shown");
    team.operator.json(&["team", "revoke", "petra", "laptop"]);
    for server in &served {
        let (status, _) =
            post_as(&server.address, &petra, "web", "memory_search", &json!({ "query": "x" })).unwrap();
        assert_eq!(status, 401, "a revoked token still works");
    }
    // A token on the command line acts for its member, whoever connects.
    let by_token = |token: &str, args: &[&str]| {
        let mut command = team.operator.command(&[&["--json"], args].concat());
        Process::run_with(command.env("NACRE_MEMBER_TOKEN", token), b"")
    };
    assert_eq!(
        by_token(&olav, &["--group", "web", "search", "staging"]).json()["hits"].as_array().unwrap().len(),
        1
    );
    assert_eq!(by_token(&olav, &["--group", "web", "store", "x"]).error().1["code"], "role_too_low");
    assert_eq!(by_token(&olav, &["--group", "secret", "search", "x"]).error().1["code"], "no_role");
    assert_eq!(by_token(&petra, &["--group", "web", "search", "x"]).error().1["code"], "no_role");
    assert_eq!(by_token(&olav, &["team", "add", "mallory"]).error().1["code"], "not_team_admin");
}

#[test]
fn a_member_sees_the_spaces_and_fellows_of_their_own_groups() {
    let Some(server) = postgres_server::server() else { return };
    let team = Team::new(server);
    team.operator.json(&["team", "add", "mallory"]);
    let served = Served::start(&team.operator);
    let petra = team.token("petra", "laptop", &["--person"]);
    team.token("olav", "desk", &[]);
    let agent = team.token("petra", "agent", &[]);
    team.operator.json(&["token", "add", "of-the-server"]);
    let sharing = |key: &str, group: &str| -> Value {
        let answer = served.get("/v1/sharing", key, group);
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    let seen = sharing(&petra, "web");
    let own = |member: &Value| {
        let roles = member["roles"].as_array().unwrap().iter();
        let roles: Vec<String> =
            roles.map(|one| format!("{} {}", one["role"], one["group"]).replace('"', "")).collect();
        (
            member["name"].as_str().unwrap().to_owned(),
            roles.join(", "),
            member["tokens"].as_array().unwrap().len(),
        )
    };
    let members = |seen: &Value| -> Vec<(String, String, usize)> {
        seen["team"]["members"].as_array().unwrap().iter().map(own).collect()
    };
    let row = |name: &str, roles: &str, tokens: usize| (name.to_owned(), roles.to_owned(), tokens);
    assert_eq!(
        (&seen["team"]["member"], &seen["team"]["role"]),
        (&json!("petra"), &json!("writer")),
        "{seen}"
    );
    // Neither mallory, who shares no group, nor the groups and tokens of the others.
    assert_eq!(
        members(&seen),
        [
            row("olav", "reader web", 0),
            row("petra", "admin petra, writer web", 2),
            row("rita", "reviewer web", 0)
        ]
    );
    assert_eq!(seen["tokens"], json!([]), "a member saw the tokens of the server");
    assert_eq!(sharing(&petra, "petra")["team"]["role"], "admin");
    assert_eq!(sharing(&petra, "secret")["error"]["code"], "no_role");
    assert_eq!(sharing(&agent, "web")["error"]["code"], "role_denied");
    // The operator sees everybody.
    let all = sharing(&served.key(), "web");
    assert_eq!((&all["team"]["member"], &all["team"]["role"]), (&Value::Null, &json!("admin")));
    assert_eq!(members(&all).len(), 4);
    assert!(members(&all).contains(&row("olav", "admin olav, reader web", 1)), "{all}");
    assert!(all["tokens"].to_string().contains("of-the-server"), "{all}");
}

#[test]
fn metrics_show_the_connections_and_what_waits() {
    let Some(server) = postgres_server::server() else { return };
    let operator = Member::new(&team(server));
    let served = Served::start(&operator);
    let text = json!({ "content": "The staging database listens on port 5433" });
    assert_eq!(post_as(&served.address, &served.key(), "main", "memory_store", &text).unwrap().0, 200);
    let metrics = served.metrics();
    let value = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is missing: {metrics}")).parse::<f64>().unwrap()
    };
    assert!(value("nacre_db_connections_used") + value("nacre_db_connections_idle") >= 1.0, "{metrics}");
    assert!(value("nacre_db_connections_max") >= 2.0, "{metrics}");
    assert!(value("nacre_db_bytes") > 1e6, "{metrics}");
    for name in [
        "nacre_db_pool_waits_total",
        "nacre_db_pool_timeouts_total",
        "nacre_db_lock_waits",
        "nacre_db_replicas",
    ] {
        assert!(value(name) >= 0.0, "{name}");
    }
}

/// An identity provider on loopback: it describes itself, and signs tokens.
struct IdentityProvider {
    url: String,
    pair: Ed25519KeyPair,
}

impl IdentityProvider {
    fn start() -> IdentityProvider {
        let document = Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let point = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
        let keys = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "k1", "x": point }] });
        let description = json!({ "issuer": url, "jwks_uri": format!("{url}/keys") });
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = [0; 4096];
                let length = stream.read(&mut request).unwrap_or(0);
                let is_description = request[..length].starts_with(b"GET /.well-known/openid-configuration ");
                let body = if is_description { &description } else { &keys }.to_string();
                let head =
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                let _ = stream.write_all((head + &body).as_bytes());
            }
        });
        IdentityProvider { url, pair }
    }

    /// Signs a token for a member that expires so many seconds from now.
    fn token(&self, member: &str, audience: &str, seconds: i64) -> String {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let claims = json!({
            "iss": self.url, "aud": audience, "exp": i64::try_from(now).unwrap() + seconds, "preferred_username": member,
        });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&json!({ "alg": "EdDSA", "kid": "k1" })), part(&claims));
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(self.pair.sign(signed.as_bytes())))
    }
}

#[test]
fn an_identity_provider_lets_the_members_in_with_their_roles() {
    let Some(server) = postgres_server::server() else { return };
    let team = Team::new(server);
    let provider = IdentityProvider::start();
    let operator = Member::new(&server.url(team.operator.database()));
    let served = Served::start_with(&operator, &["--oidc-issuer", &provider.url, "--oidc-audience", "nacre"]);
    let text = json!({ "content": "The staging database listens on port 5433" });
    let store = |token: &str, group: &str| {
        let (status, answer) = post_as(&served.address, token, group, "memory_store", &text).unwrap();
        (status, answer["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    let token = |member: &str| provider.token(member, "nacre", 300);
    assert_eq!(store(&token("petra"), "web"), (200, String::new()));
    assert_eq!(store(&token("olav"), "web"), (403, "role_too_low".into()));
    assert_eq!(store(&token("petra"), "secret"), (403, "no_role".into()));
    assert_eq!(store(&token("mallory"), "web"), (403, "no_role".into()));
    for (name, token) in [
        ("expired", provider.token("petra", "nacre", -300)),
        ("for another program", provider.token("petra", "wiki", 300)),
        ("of another provider", IdentityProvider::start().token("petra", "nacre", 300)),
    ] {
        assert_eq!(store(&token, "web"), (401, "unauthorized".into()), "{name}");
    }
    // Tokens of Nacre's own work beside them, and the audit log names the member.
    assert_eq!(store(&team.token("petra", "laptop", &["--private"]), "web").0, 200);
    let audit = team.rita.json(&["--group", "web", "audit"]).to_string();
    assert!(audit.contains("\"token\":\"petra/oidc\""), "{audit}");
    // Without its audience, tokens for every program of the provider would be accepted.
    assert_eq!(operator.error(&["serve", "--oidc-issuer", &provider.url]).0, 2);
}

#[test]
fn a_memory_is_promoted_to_the_team_by_a_reviewer() {
    let Some(server) = postgres_server::server() else { return };
    let team = Team::new(server);
    let Team { operator, petra, olav, rita } = &team;
    let own = |args: &[&str]| petra.json(&[&["--group", "petra"], args].concat());
    own(&["store", "The office key is under the third plant", "--tag", "office"]);
    own(&["store", "My sister Anna visits in May"]);
    refused(petra, &["--group", "petra", "promote", "1", "--to", "secret"], "group_denied");
    refused(olav, &["--group", "petra", "promote", "1", "--to", "web"], "no_role");
    let made = own(&["promote", "1", "--to", "web"]);
    assert_eq!(
        (made["state"].as_str(), made["reason"].as_str()),
        (Some("pending"), Some("a memory of group petra")),
        "{made}"
    );
    let number = made["number"].to_string();
    assert_eq!(own(&["promote", "1", "--to", "web"])["number"], made["number"], "it was proposed twice");
    assert_eq!(olav.json(&["--group", "web", "search", "office key"])["hits"], json!([]));
    // The diff is on the command line. The writer does not decide, the reviewer does.
    let pending = rita.run(&["--group", "web", "pending", &number]);
    assert!(pending.stdout.contains("under the third plant"), "{pending:?}");
    let denied = at_terminal(petra, &["--json", "--group", "web", "approve", &number]);
    assert_eq!(denied.error().1["code"], "role_too_low");
    let approved = at_terminal(rita, &["--json", "--group", "web", "approve", &number]);
    assert_eq!(approved.status, 0, "{approved:?}");
    assert_eq!(olav.json(&["--group", "web", "search", "office key"])["hits"].as_array().unwrap().len(), 1);
    // In her own group, petra finds both, and each line of another group says so.
    operator.json(&["--group", "web", "store", "The canteen closes at two"]);
    let found = own(&["search", "canteen Anna"]);
    let hits: Vec<(Option<&str>, &str)> = found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| (hit["group"].as_str(), hit["text"].as_str().unwrap()))
        .collect();
    assert!(hits.contains(&(Some("web"), "The canteen closes at two")), "{hits:?}");
    assert!(hits.contains(&(None, "My sister Anna visits in May")), "{hits:?}");
    let text = petra.run(&["--group", "petra", "search", "canteen"]).stdout;
    assert!(text.contains("In group web:") && text.contains("closes at two"), "{text}");
    // In the team's group, the personal one does not exist.
    let found = petra.json(&["--group", "web", "search", "Anna sister"]).to_string();
    assert!(!found.contains("Anna visits"), "{found}");
    // A reviewer decides over HTTP too; an agent's token and a writer's do not.
    let made = own(&["promote", "2", "--to", "web"]);
    let decision = json!({ "number": made["number"], "decision": "approve" });
    let served = Served::start(operator);
    for (member, flags, status) in [
        ("rita", &["--private"][..], 403),
        ("petra", &["--private", "--person"], 403),
        ("rita", &["--private", "--person"], 200),
    ] {
        let token = team.token(member, &format!("t{}{status}", flags.len()), flags);
        let (found, answer) = post_as(&served.address, &token, "web", "proposal_decide", &decision).unwrap();
        assert_eq!(found, status, "{member} {flags:?}: {answer}");
    }
    let found = olav.json(&["--group", "web", "search", "sister Anna"]).to_string();
    assert!(found.contains("Anna visits"), "{found}");
    // Over HTTP, her own group is the default, with the hits of the team.
    let token = team.token("petra", "agent", &["--private"]);
    let (_, found) =
        post_as(&served.address, &token, "petra", "memory_search", &json!({ "query": "canteen" })).unwrap();
    assert_eq!(found["hits"][0]["group"], "web", "{found}");
}

#[test]
fn raw_sql_of_a_member_sees_and_changes_only_what_their_role_allows() {
    let Some(server) = postgres_server::server() else { return };
    let team = Team::new(server);
    team.petra.json(&["--group", "web", "store", "The staging database listens on port 5433"]);
    let database = team.operator.database();
    let number = |group: &str| -> i32 {
        let sql = "SELECT g FROM nacre.groups WHERE name = $1 AND collection = ''";
        server.connect(database).query_one(sql, &[&group]).unwrap().get(0)
    };
    let (web, secret) = (number("web"), number("secret"));
    for (user, reads, writes) in
        [("petra", true, true), ("olav", true, false), ("rita", true, true), ("stranger", false, false)]
    {
        let mut raw = postgres::Client::connect(&server.url_as(user, database), postgres::NoTls).unwrap();
        let mut tx = raw.transaction().unwrap();
        tx.batch_execute("SET LOCAL ROLE nacre_app; SET LOCAL search_path = nacre, pg_catalog").unwrap();
        tx.batch_execute("SELECT set_config('nacre.sees', 'private', true)").unwrap();
        let tables: Vec<String> = tx
            .query("SELECT tablename::text FROM pg_tables WHERE schemaname = 'nacre' AND tablename NOT IN ('schema', 'groups') AND tablename NOT LIKE 'member%'", &[])
            .unwrap().iter().map(|row| row.get(0)).collect();
        assert!(tables.len() > 40);
        for (group, visible) in [(secret, false), (web, reads)] {
            tx.execute("SELECT set_config('nacre.g', $1, true)", &[&group.to_string()]).unwrap();
            let mut all = 0;
            for table in &tables {
                let count: i64 = tx.query_one(&format!("SELECT count(*) FROM {table}"), &[]).unwrap().get(0);
                all += count;
                let mut inner = tx.transaction().unwrap();
                let deleted = inner.execute(&format!("DELETE FROM {table}"), &[]).unwrap();
                assert!(deleted == 0 || visible && writes, "{user} deleted {deleted} rows of {table}");
                inner.rollback().unwrap();
            }
            assert_eq!(all > 0, visible, "{user} in group {group}");
            let mut inner = tx.transaction().unwrap();
            let put = inner.execute("INSERT INTO meta (key, value) VALUES ('a', 'b')", &[]);
            assert_eq!(put.is_ok(), visible && writes, "{user} in group {group}: {put:?}");
            inner.rollback().unwrap();
            let mut inner = tx.transaction().unwrap();
            let changed = inner.execute("UPDATE meta SET value = 'b'", &[]);
            assert_eq!(changed.is_ok_and(|rows| rows > 0), visible && writes, "{user} in group {group}");
            inner.rollback().unwrap();
        }
        // Nobody gives themselves a role, a token of somebody else, or another name.
        for sql in [
            format!(
                "INSERT INTO member_roles (group_name, member, role) VALUES ('secret', '{user}', 'admin')"
            ),
            "INSERT INTO members (name, added_at) VALUES ('mallory', 0)".to_owned(),
            "INSERT INTO member_tokens (member, name, hash, person, private, untrusted, made_at)
                VALUES ('rita2', 'x', 'y', true, true, false, 0)"
                .to_owned(),
        ] {
            let mut inner = tx.transaction().unwrap();
            assert!(inner.execute(&sql, &[]).is_err(), "{user}: {sql}");
            inner.rollback().unwrap();
        }
        let raised = tx.execute("UPDATE member_roles SET role = 'admin' WHERE group_name = 'web'", &[]);
        assert!(raised.map_or(true, |rows| rows == 0), "{user} raised a role");
    }
}

#[test]
fn a_working_copy_sends_and_receives_by_the_write_policy() {
    let Some(server) = postgres_server::server() else { return };
    let team = Team::new(server);
    let Team { operator, petra, rita, olav } = &team;
    rita.json(&["--group", "web", "init"]);
    let [petras, ritas, olavs] = [(); 3].map(|()| TempDir::new().unwrap());
    let exchange = |member: &Member, folder: &TempDir| -> Value {
        member.json(&["--group", "web", "checkout", folder.path().to_str().unwrap()])["exchange"].clone()
    };
    for (member, folder) in [(petra, &petras), (rita, &ritas), (olav, &olavs)] {
        let done = exchange(member, folder);
        assert!(done["received"].as_array().unwrap().len() > 5, "{done}");
        assert!(fs::read_to_string(folder.path().join("MEMORY.md")).is_ok());
        let again = exchange(member, folder);
        assert_eq!((&again["received"], &again["sent"]), (&json!([]), &json!([])), "{again}");
    }
    // A reviewer's edit is applied, and reaches the others.
    fs::write(ritas.path().join("MEMORY.md"), "# Memory\n\n- The lake is cold.\n").unwrap();
    assert_eq!(exchange(rita, &ritas)["sent"], json!(["MEMORY.md"]));
    assert_eq!(exchange(petra, &petras)["received"], json!(["MEMORY.md"]));
    assert!(petra.json(&["--group", "web", "search", "lake"]).to_string().contains("The lake is cold"));
    // A writer's edit waits, once; a reader's is refused.
    fs::write(petras.path().join("MEMORY.md"), "# Memory\n\n- The lake is cold and deep.\n").unwrap();
    let waiting = exchange(petra, &petras)["waiting"].clone();
    assert_eq!(waiting, json!([["MEMORY.md", 1]]));
    assert_eq!(exchange(petra, &petras)["waiting"], waiting, "it was proposed twice");
    fs::write(olavs.path().join("SOUL.md"), "mine\n").unwrap();
    let refused = exchange(olav, &olavs);
    assert_eq!(refused["refused"][0][0], "SOUL.md", "{refused}");
    assert!(rita.run(&["--group", "web", "pending", "1"]).stdout.contains("cold and deep"));
    assert_eq!(at_terminal(rita, &["--group", "web", "approve", "1"]).status, 0);
    assert_eq!(exchange(petra, &petras)["waiting"], json!([]));
    // Both sides changed: nothing is overwritten, and the merged file goes when the other version was removed.
    fs::write(ritas.path().join("MEMORY.md"), "# Memory\n\n- The lake is warm.\n").unwrap();
    assert_eq!(exchange(rita, &ritas)["conflicts"], json!(["MEMORY.md"]));
    let theirs = ritas.path().join("MEMORY.md.theirs");
    assert!(fs::read_to_string(&theirs).unwrap().contains("cold and deep"));
    assert_eq!(exchange(rita, &ritas)["conflicts"], json!(["MEMORY.md"]), "it was sent unmerged");
    fs::write(ritas.path().join("MEMORY.md"), "# Memory\n\n- The lake is warm and deep.\n").unwrap();
    fs::remove_file(theirs).unwrap();
    assert_eq!(exchange(rita, &ritas)["sent"], json!(["MEMORY.md"]));
    // A removed file goes; a new one comes.
    fs::create_dir_all(ritas.path().join("memory/topics")).unwrap();
    fs::write(ritas.path().join("memory/topics/harbour.md"), "# Harbour\n\nThe pier is closed.\n").unwrap();
    fs::remove_file(ritas.path().join("HEARTBEAT.md")).unwrap();
    let done = exchange(rita, &ritas);
    assert_eq!(done["sent"], json!(["HEARTBEAT.md", "memory/topics/harbour.md"]), "{done}");
    let done = exchange(petra, &petras);
    assert_eq!(done["received"].as_array().unwrap().len(), 3, "{done}");
    assert!(!petras.path().join("HEARTBEAT.md").exists());
    // Another group's copy, a full folder and a home in a folder are refused.
    let folder = ritas.path().to_str().unwrap();
    let (_, error) = operator.error(&["--group", "secret", "checkout", folder]);
    assert_eq!(error["code"], "not_a_working_copy", "{error}");
    assert_eq!(rita.json(&["--group", "web", "audit", "verify"])["ok"], true);
}
