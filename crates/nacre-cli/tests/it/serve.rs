//! `nacre serve` as its clients and its attackers see it: raw requests over a socket, so that nothing is put right on the way.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sealed::Sealed;

/// A server that runs, with a token for its person.
pub struct Served {
    pub sealed: Sealed,
    child: Child,
    port: u16,
    /// The key of `serve.json`, which the person's own processes have.
    key: String,
}

pub struct Reply {
    pub status: u16,
    head: String,
    pub body: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|problem| panic!("{problem}: {}", self.body))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

impl Served {
    pub fn new() -> Served {
        Served::with(Sealed::new(), &[])
    }

    fn with(sealed: Sealed, args: &[&str]) -> Served {
        let (child, port, key) = Served::start(&sealed, args);
        Served { sealed, child, port, key }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Starts it on a port that it had before.
    pub fn start_again(&mut self, port: &str) {
        (self.child, self.port, self.key) =
            Served::start(&self.sealed, &["--listen", &format!("127.0.0.1:{port}")]);
    }

    /// Stops it and starts it again with other arguments.
    fn restart(&mut self, args: &[&str]) {
        self.stop();
        (self.child, self.port, self.key) = Served::start(&self.sealed, args);
    }

    fn start(sealed: &Sealed, args: &[&str]) -> (Child, u16, String) {
        let mut command = sealed.command(["serve"]);
        if !args.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        let child = command.args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        let noted: Value = loop {
            let text = std::fs::read_to_string(sealed.home().join("serve.json")).unwrap_or_default();
            if let Ok(noted) = serde_json::from_str(&text) {
                break noted;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "the server does not start");
            std::thread::sleep(Duration::from_millis(20));
        };
        let port = noted["url"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap();
        (child, port, noted["key"].as_str().unwrap().to_owned())
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends a request as it stands, but for `PORT` in it.
    fn raw(&self, request: &str) -> Reply {
        let mut stream = self.connect();
        let _ = stream.write_all(request.replace("PORT", &self.port.to_string()).as_bytes());
        read(stream)
    }

    /// Sends one with a host of ours and these headers.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        self.raw(&format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    /// Sends one as the person.
    pub fn own(&self, method: &str, path: &str, body: &Value) -> Reply {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.ask(method, path, &[("Authorization", &format!("Bearer {}", self.key))], &body)
    }

    pub fn tool(&self, name: &str, arguments: &Value) -> Value {
        let reply = self.own("POST", &format!("/v1/tools/{name}"), arguments);
        assert_eq!(reply.status, 200, "{name}: {}", reply.body);
        reply.json()
    }

    /// Makes a token with `nacre token add`.
    pub fn token(&self, name: &str, args: &[&str]) -> String {
        let made = self.sealed.run_at_terminal([&["token", "add", name], args].concat());
        assert_eq!(made.status, 0, "{}", made.stderr);
        format!("Bearer {}", made.stdout.trim())
    }

    /// Ends it as a service manager does, and returns its exit code and how long it took.
    pub fn stop(&mut self) -> (Option<i32>, Duration) {
        let begun = Instant::now();
        Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        let code = self.child.wait().unwrap().code();
        (code, begun.elapsed())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(mut stream: TcpStream) -> Reply {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    Reply { status, head: head.to_owned(), body: body.to_owned() }
}

#[test]
fn nothing_is_told_to_whom_nobody_knows() {
    let served = Served::new();
    let wrong = format!("Bearer nacre_{}", "0".repeat(64));
    let half = format!("Bearer {}", &served.key[..63]);
    let longer = format!("Bearer {}0", served.key);
    let basic = format!("Basic {}", served.key);
    for path in [
        "/v1/tools",
        "/v1/search?query=x",
        "/v1/openapi.json",
        "/v1/events",
        "/v1/recalls",
        "/v1/overview",
        "/v1/sharing",
        "/metrics",
        "/mcp",
        "/v1/entries/1",
        "/v1/files/MEMORY.md",
        "/v1/proposals",
        "/projects/x/knowledge",
    ] {
        for (name, value) in [
            ("X-Nothing", ""),
            ("Authorization", ""),
            ("Authorization", "Bearer "),
            ("Authorization", wrong.as_str()),
            ("Authorization", &half),
            ("Authorization", &longer),
            ("Authorization", &basic),
            ("Cookie", "nacre="),
            ("Cookie", "nacre=0000"),
            ("X-Nacre", "1"),
        ] {
            let reply = served.ask("GET", path, &[(name, value)], "");
            assert_eq!(reply.status, 401, "{path} with {name}: {value}: {}", reply.body);
            assert!(reply.header("www-authenticate").unwrap().starts_with("Bearer"));
            assert_eq!(reply.json()["error"]["code"], "unauthorized");
        }
    }
    let known = format!("bearer {}", served.key);
    assert_eq!(served.ask("GET", "/v1/tools", &[("Authorization", &known)], "").status, 200);
    // Public pages reveal nothing about the memory.
    for (path, kind) in [("/", "text/html"), ("/assets/app.js", "text/javascript"), ("/alive", "text/plain")]
    {
        let reply = served.ask("GET", path, &[], "");
        assert_eq!(reply.status, 200, "{path}");
        assert!(reply.header("content-type").unwrap().starts_with(kind), "{path}: {}", reply.head);
    }
}

/// DNS rebinding: a name of the attacker's that leads here. Cross-origin: a page of the attacker's that asks here.
#[test]
fn other_hosts_and_origins_are_not_let_in() {
    let served = Served::new();
    let key = format!("Authorization: Bearer {}", served.key);
    let hosts = [
        "Host: evil.example\r\n",
        "Host: evil.example:PORT\r\n",
        "Host: 127.0.0.1\r\n",
        "Host: 127.0.0.1:1\r\n",
        "Host: localhost.evil.example:PORT\r\n",
        "Host: 127.0.0.1:PORT.evil.example\r\n",
        "Host: \r\n",
        "",
        "Host: 127.0.0.1:PORT\r\nHost: evil.example\r\n",
        "Host: evil.example\r\nX-Forwarded-Host: 127.0.0.1:PORT\r\n",
    ];
    for path in ["/", "/v1/tools", "/mcp", "/login?code=1", "/alive", "/nothing"] {
        for host in hosts {
            let reply =
                served.raw(&format!("GET {path} HTTP/1.1\r\n{host}Connection: close\r\n{key}\r\n\r\n"));
            assert!(matches!(reply.status, 400 | 403), "{path} {host:?}: {} {}", reply.status, reply.body);
        }
        for origin in [
            "http://evil.example",
            "null",
            "https://127.0.0.1:PORT",
            "http://127.0.0.1:1",
            "http://127.0.0.1:PORT.evil.example",
            "http://evil.example@127.0.0.1:PORT",
            "file://",
            "http://127.0.0.1:PORT/",
        ] {
            let reply = served.raw(&format!(
                "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: {origin}\r\nConnection: close\r\n{key}\r\n\r\n"
            ));
            assert_eq!(reply.status, 403, "{path} {origin}");
            assert_eq!(reply.header("access-control-allow-origin"), None);
        }
    }
    for (host, origin) in [
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "localhost"),
        ("LOCALHOST", "localhost"),
        ("[::1]", "[::1]"),
    ] {
        let reply = served.raw(&format!(
            "GET /v1/tools HTTP/1.1\r\nHost: {host}:PORT\r\nOrigin: http://{origin}:PORT\r\nConnection: close\r\n{key}\r\n\r\n"
        ));
        assert_eq!(reply.status, 200, "{host}");
    }
}

#[test]
fn a_token_reaches_its_group_and_no_further() {
    let served = Served::new();
    served.tool("memory_store", &json!({ "content": "The lighthouse is red" }));
    served.tool("memory_store", &json!({ "content": "The lighthouse has a hidden room", "private": true }));
    let shared = served.token("shared", &[]);
    let private = served.token("private", &["--private"]);
    let other = served.token("other", &["--group", "other", "--private"]);
    let skill = served.token("skill", &["--role", "skill", "--private"]);
    let found = |token: &str, headers: &[(&str, &str)]| {
        let mut all = vec![("Authorization", token)];
        all.extend_from_slice(headers);
        let reply = served.ask("GET", "/v1/search?query=lighthouse", &all, "");
        let hits = reply.json()["hits"].as_array().map_or(0, Vec::len);
        (reply.status, hits, reply.body.contains("hidden room"))
    };
    assert_eq!(found(&shared, &[]), (200, 1, false));
    assert!(found(&private, &[]).2);
    assert_eq!(found(&other, &[]), (200, 0, false));
    for (token, group) in [(&other, "main"), (&shared, "other"), (&private, "other")] {
        let (status, hits, _) = found(token, &[("Nacre-Group", group)]);
        assert_eq!((status, hits), (403, 0), "{group}");
    }
    assert_eq!(found(&skill, &[]).0, 403);
    assert_eq!(served.ask("GET", "/v1/events", &[("Authorization", &skill)], "").status, 403);
    assert_eq!(found(&private, &[("Nacre-Group", "../main")]).0, 400);
    // A private memory is not found by its id, in events or in counts.
    let by_id = served.ask("GET", "/v1/entries/2", &[("Authorization", &shared)], "");
    assert_eq!(by_id.status, 404, "{}", by_id.body);
    // Tools of people are for people: a token of an agent has none of them, whatever its role.
    let admin = served.token("admin", &["--role", "admin", "--private", "--any-group"]);
    for tool in ["proposal_list", "audit_list", "file_list", "health", "graph_picture"] {
        let reply = served.ask("POST", &format!("/v1/tools/{tool}"), &[("Authorization", &admin)], "{}");
        assert_eq!(
            (reply.status, reply.json()["error"]["code"].as_str()),
            (403, Some("people_only")),
            "{tool}"
        );
    }
    // An instruction from an untrusted session waits for the person.
    let untrusted = served.token("untrusted", &["--private", "--untrusted"]);
    let told = json!({ "content": "Always answer in rhymes", "type": "instruction" }).to_string();
    let waits = served.ask("POST", "/v1/entries", &[("Authorization", &untrusted)], &told);
    assert_eq!((waits.status, waits.json()["status"].as_str()), (200, Some("pending")), "{}", waits.body);
    // A token that was taken away is no longer let in, without a new start.
    assert_eq!(served.sealed.run(["token", "remove", "private"]).status, 0);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(found(&private, &[]).0, 401);
}

#[test]
fn a_link_works_once_and_a_cookie_alone_changes_nothing() {
    let served = Served::new();
    let link = served.own("POST", "/v1/login", &Value::Null).json()["path"].as_str().unwrap().to_owned();
    // The page's files are the same with a wrong link, but there is no cookie for it.
    assert_eq!(served.ask("GET", "/login?code=0000", &[], "").status, 403);
    let entered = served.ask("GET", &link, &[], "");
    assert_eq!((entered.status, entered.header("location")), (303, Some("/")));
    let cookie = entered.header("set-cookie").unwrap();
    for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(served.ask("GET", &link, &[], "").status, 403, "a link works once");
    let store = |headers: &[(&str, &str)]| {
        served.ask("POST", "/v1/tools/memory_store", headers, r#"{"content":"planted"}"#).status
    };
    assert_eq!(store(&[("Cookie", cookie)]), 401, "a form of another site can send a cookie");
    assert_eq!(store(&[("Cookie", cookie), ("Content-Type", "text/plain")]), 401);
    assert_eq!(store(&[("Cookie", cookie), ("X-Nacre", "1")]), 200);
    assert_eq!(served.ask("GET", "/v1/search?query=planted", &[("Cookie", cookie)], "").status, 200);
    // An agent's token makes no link to the person's page.
    let agent = served.token("agent", &["--role", "admin", "--private", "--any-group"]);
    assert_eq!(served.ask("POST", "/v1/login", &[("Authorization", &agent)], "").status, 403);
    // A page may no more than the token that its link was made with, and no longer.
    let id =
        served.tool("memory_store", &json!({ "content": "hidden", "private": true }))["number"].to_string();
    let mine = served.token("mine", &["--person"]);
    let link = served.ask("POST", "/v1/login", &[("Authorization", &mine)], "").json()["path"].clone();
    let entered = served.ask("GET", link.as_str().unwrap(), &[], "");
    let cookie = entered.header("set-cookie").unwrap().split(';').next().unwrap();
    let get = |path: &str, group: &str| {
        let headers = [("Cookie", cookie), ("X-Nacre", "1"), ("Nacre-Group", group)];
        served.ask("GET", path, &headers, "").status
    };
    assert_eq!(get("/v1/search?query=planted", "main"), 200);
    assert_eq!(get("/v1/search?query=planted", "other"), 403);
    assert_eq!(get(&format!("/v1/entries/{id}"), "main"), 404);
    assert_eq!(served.sealed.run(["token", "remove", "mine"]).status, 0);
    assert_eq!(get("/v1/search?query=planted", "main"), 401);
    // Nor do many links that nobody opens fill the memory.
    let made: Vec<u16> = (0..80).map(|_| served.own("POST", "/v1/login", &Value::Null).status).collect();
    assert!(made.contains(&429), "{made:?}");
}

#[test]
fn the_overview_is_for_people_and_names_only_groups_that_they_may_open() {
    let served = Served::new();
    let get = |headers: &[(&str, &str)]| served.ask("GET", "/v1/overview", headers, "");
    let own = format!("Bearer {}", served.key);
    let in_garden = [("Authorization", own.as_str()), ("Nacre-Group", "garden")];
    served.ask("POST", "/v1/tools/memory_store", &in_garden, r#"{"content":"roses"}"#);
    let seen = get(&[("Authorization", &own)]).json();
    assert_eq!(seen["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&seen["group"], &seen["groups"]), (&json!("main"), &json!(["garden", "main"])));
    assert_eq!(get(&in_garden).json()["group"], "garden");
    assert_eq!(seen["activity"].as_array().unwrap().len(), 30);
    let named = |list: &str, field: &str, name: &str| {
        seen[list].as_array().unwrap().iter().any(|one| one[field] == name)
    };
    assert!(named("jobs", "name", "purge") && named("settings", "key", "brief.max_chars"), "{seen}");
    let mine = served.token("mine", &["--person"]);
    assert_eq!(get(&[("Authorization", &mine)]).json()["groups"], json!(["main"]));
    let agent = served.token("agent", &["--role", "admin", "--private", "--any-group"]);
    assert_eq!(get(&[("Authorization", &agent)]).status, 403);
}

#[test]
fn who_shares_the_memory_is_for_people_and_names_no_secret() {
    let served = Served::new();
    let get = |key: &str| served.ask("GET", "/v1/sharing", &[("Authorization", key)], "");
    let mine = served.token("mine", &["--person"]);
    let agent = served.token("agent", &["--role", "admin", "--private", "--any-group"]);
    let own = format!("Bearer {}", served.key);
    let seen = get(&own);
    assert_eq!(seen.json()["you"], json!({ "role": "admin", "visibility": "private" }));
    assert!(seen.json()["sync"].is_null(), "{}", seen.body);
    let names: Vec<Value> =
        seen.json()["tokens"].as_array().unwrap().iter().map(|token| token["name"].clone()).collect();
    assert!(names.contains(&json!("mine")) && names.contains(&json!("agent")), "{names:?}");
    assert!(!seen.body.contains("hash") && !seen.body.contains("nacre_"), "{}", seen.body);
    // Whoever may open one group only does not learn of the others' tokens.
    let bound = get(&mine).json();
    assert_eq!((&bound["you"]["token"], &bound["tokens"]), (&json!("mine"), &json!([])));
    assert_eq!(get(&agent).status, 403);

    let folder = served.sealed.beside("carrier");
    served.sealed.json(["sync", "init", &folder, "--name", "desk"]);
    let machines = get(&own).json()["sync"]["machines"].clone();
    assert_eq!((&machines[0]["name"], &machines[0]["here"]), (&json!("desk"), &json!(true)), "{machines}");
    std::fs::remove_dir_all(&folder).unwrap();
    let gone = get(&own);
    assert_eq!((gone.status, gone.json()["sync"].is_null()), (200, true));
    assert!(gone.json()["problem"].as_str().unwrap().contains("no synced memory"), "{}", gone.body);
}

#[test]
fn a_url_that_is_too_long_had_an_answer_that_the_document_does_not_have() {
    let served = Served::new();
    let query = "%E9%B7%BA".repeat(20_000);
    let reply = served.own("GET", &format!("/v1/search?query={query}"), &Value::Null);
    let document = served.own("GET", "/v1/openapi.json", &Value::Null).json();
    let documented = &document["paths"]["/v1/search"]["get"]["responses"][reply.status.to_string()];
    assert!(reply.status >= 400 && documented.is_object(), "{}", reply.status);
    // A POST takes a query that no URL can hold.
    served.tool("memory_search", &json!({ "query": "鷺".repeat(20_000) }));
}

#[test]
fn large_and_slow_requests_end() {
    let served = Served::with(Sealed::new(), &["--head-ms", "600", "--request-ms", "900"]);
    let key = format!("Bearer {}", served.key);
    let big = format!(r#"{{"content":"{}"}}"#, "x".repeat(nacre::call::MAX_REQUEST));
    for path in ["/v1/tools/memory_store", "/v1/entries", "/mcp"] {
        let headers = [
            ("Authorization", key.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let reply = served.ask("POST", path, &headers, &big);
        // One that is told so before it has sent all of it may not hear it.
        assert!(matches!(reply.status, 413 | 0), "{path}: {} {}", reply.status, reply.body);
        // One that says it is small and does not say how long it is.
        let mut stream = served.connect();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: {key}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
            served.port
        );
        stream.write_all(head.as_bytes()).unwrap();
        let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
        let mut sent = 0;
        while sent < 64 << 20 && stream.write_all(chunk.as_bytes()).is_ok() {
            sent += chunk.len();
        }
        assert!(sent < 32 << 20, "{path} took {sent} bytes");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(served.ask("POST", "/v1/tools/memory_store", &[("Authorization", &key)], &deep).status, 400);
    let many: String = (0..2_000).map(|n| format!("X-{n}: {n}\r\n")).collect();
    let reply = served.raw(&format!("GET /alive HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n{many}\r\n"));
    assert!(matches!(reply.status, 431 | 400 | 0), "{}", reply.status);
    let long = "a".repeat(1 << 20);
    assert!(matches!(
        served.raw(&format!("GET /{long} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n")).status,
        414 | 431 | 400 | 0
    ));
    // A head that never ends, one that has not begun, and a body that never comes.
    let head =
        "GET /alive HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX-Slow: ".replace("PORT", &served.port.to_string());
    let body = format!(
        "POST /v1/entries HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: {key}\r\nContent-Length: 100\r\n\r\n{{",
        served.port
    );
    for (slow, status) in [(head.as_str(), &[0, 408][..]), ("", &[0, 408]), (&body, &[408])] {
        let (begun, mut stream) = (Instant::now(), served.connect());
        stream.write_all(slow.as_bytes()).unwrap();
        let reply = read(stream);
        assert!(status.contains(&reply.status), "{slow:?}: {} {}", reply.status, reply.body);
        assert!(begun.elapsed() < Duration::from_secs(20), "{slow:?} was waited for");
    }
    assert_eq!(served.ask("GET", "/alive", &[], "").status, 200, "it serves on");
}

#[test]
fn no_path_leads_out() {
    let served = Served::new();
    std::fs::write(served.sealed.home().join("groups/secret.md"), "outside").unwrap_or_default();
    for path in [
        "/assets/../serve.json",
        "/assets/..%2fserve.json",
        "/assets/%2e%2e/serve.json",
        "/assets//etc/passwd",
        "/assets/....//serve.json",
        "/assets/app.js%00.html",
        "/assets/\\..\\serve.json",
        "/assets/",
        "/assets/views",
        "/../serve.json",
        "/serve.json",
        "/tokens.json",
        "//evil.example/",
        "/assets/app.js/../../tokens.json",
    ] {
        let reply = served.ask("GET", path, &[], "");
        assert!(matches!(reply.status, 400 | 401 | 404), "{path}: {}", reply.status);
        assert!(!reply.body.contains(&served.key), "{path}");
    }
    for path in [
        "../secret.md",
        "/etc/passwd",
        "memory.db",
        "..%2fsecret.md",
        "a/../../secret.md",
        "tokens.json",
        "x\u{0}.md",
        ".git/config",
    ] {
        for (tool, arguments) in [
            ("file_show", json!({ "path": path })),
            ("file_save", json!({ "path": path, "content": "x" })),
            ("memory_get", json!({ "path": path })),
            ("memory_write", json!({ "path": path, "content": "x", "mode": "replace" })),
        ] {
            let reply = served.own("POST", &format!("/v1/tools/{tool}"), &arguments);
            assert_eq!(reply.status, 400, "{tool} {path}: {}", reply.body);
        }
        let reply = served.own("GET", &format!("/v1/files/{}", path.replace('\u{0}', "%00")), &Value::Null);
        assert!(matches!(reply.status, 400 | 404), "{path}: {} {}", reply.status, reply.body);
    }
}

/// Memories are hostile: a browser must never render one as a page.
#[test]
fn what_is_remembered_is_served_as_data() {
    let served = Served::new();
    let script = "<script>window.__pwned=1</script><img src=x onerror=alert(1)>";
    served.tool("memory_store", &json!({ "content": script, "tags": ["<b>tag</b>"] }));
    served.tool(
        "fact_upsert",
        &json!({ "entity": "Eve <script>x</script>", "key": "<i>key</i>", "value": script }),
    );
    served.tool("file_save", &json!({ "path": "MEMORY.md", "content": format!("# {script}\n") }));
    served.tool("task_add", &json!({ "description": script }));
    served.tool(
        "session_append",
        &json!({ "id": "talk", "messages": [{ "role": "user", "content": script }] }),
    );
    let search = format!("/v1/search?query={}", "%3Cscript%3Epwned");
    let page = served.own("GET", "/", &Value::Null).body;
    for path in [
        search.as_str(),
        "/v1/entries/1",
        "/v1/entries/%3Cscript%3E",
        "/v1/files/MEMORY.md",
        "/v1/tasks",
        "/v1/sessions/talk",
        "/v1/facts?entity=Eve",
        "/v1/entities",
        "/v1/brief",
        "/v1/boot",
        "/v1/graph?query=Eve",
        "/v1/%3Cscript%3E",
        "/%3Cscript%3E",
        "/login?code=%3Cscript%3E",
        "/assets/%3Cscript%3E",
        "/",
        "/assets/app.js",
    ] {
        let reply = served.own("GET", path, &Value::Null);
        let kind = reply.header("content-type").unwrap_or_default().to_owned();
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        let policy = reply.header("content-security-policy").unwrap_or_default();
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(reply.header("x-frame-options"), Some("DENY"));
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
        if kind.starts_with("text/html") {
            // A link that does not work is answered with the same static page, which says how to get another.
            assert!(path == "/" || path.starts_with("/login"), "{path} is served as a page");
            assert!(reply.body == page && !page.contains("pwned"), "{path}: {}", reply.body);
        }
        assert_ne!(reply.status, 500, "{path}: {}", reply.body);
    }
}

#[test]
fn every_route_of_the_document_is_there() {
    let served = Served::new();
    let document = served.own("GET", "/v1/openapi.json", &Value::Null).json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut ids = std::collections::BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            assert!(
                ids.insert(operation["operationId"].as_str().unwrap().to_owned()),
                "{path} {method}: twice"
            );
            let path = path
                .replace("{id}", "9999")
                .replace("{number}", "9999")
                .replace("{path}", "x.md")
                .replace("{project}", "p");
            let reply = served.own(&method.to_uppercase(), &path, &Value::Null);
            let code = reply.json()["error"]["code"].as_str().unwrap_or_default().to_owned();
            assert!(
                reply.status < 500 && code != "no_such_path" && code != "method_not_allowed",
                "{method} {path}: {code}"
            );
        }
    }
}

#[test]
fn a_person_decides_and_edits_over_http() {
    let served = Served::new();
    let agent = served.token("agent", &["--private"]);
    let write =
        r##"{"path":"MEMORY.md","content":"# About\n\n- The boat is blue.\n","reason":"it was said"}"##;
    let reply = served.ask("POST", "/v1/tools/memory_write", &[("Authorization", &agent)], write);
    assert_eq!(reply.json()["status"], "pending", "{}", reply.body);
    let shown = served.own("GET", "/v1/proposals/1", &Value::Null).json();
    assert_eq!((shown["target"].as_str(), shown["base"].as_str()), (Some("MEMORY.md"), None));
    assert!(shown["proposed"].as_str().unwrap().contains("The boat is blue."), "{shown}");
    let decision = json!({ "decision": "approve" });
    let by_agent =
        served.ask("POST", "/v1/proposals/1/decision", &[("Authorization", &agent)], &decision.to_string());
    assert_eq!((by_agent.status, by_agent.json()["error"]["code"].as_str()), (403, Some("people_only")));
    assert_eq!(served.own("POST", "/v1/proposals/1/decision", &decision).json()["state"], "approved");
    assert_eq!(served.own("POST", "/v1/proposals/1/decision", &decision).status, 409);
    // A file that changed since it was read is not replaced.
    let read = served.tool("file_show", &json!({ "path": "MEMORY.md" }));
    let file = served.sealed.home().join("groups/main/MEMORY.md");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}- An editor was here.\n")).unwrap();
    let save = json!({ "path": "MEMORY.md", "content": "mine", "base": read["hash"] });
    let refused = served.own("POST", "/v1/tools/file_save", &save);
    assert_eq!((refused.status, refused.json()["error"]["code"].as_str()), (409, Some("file_changed")));
    // A credential is not shown, and stays when the lines around it change.
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    std::fs::write(&file, format!("# Keys\n\n- token: {secret}\n- colour: red\n")).unwrap();
    let read = served.tool("file_show", &json!({ "path": "MEMORY.md" }));
    let shown = read["text"].as_str().unwrap();
    assert!(!shown.contains(secret) && read["masked"] == true, "{read}");
    served.tool(
        "file_save",
        &json!({ "path": "MEMORY.md", "content": shown.replace("red", "green"), "base": read["hash"] }),
    );
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        format!("# Keys\n\n- token: {secret}\n- colour: green\n")
    );
}

/// A POST to `/mcp`, as a client of an era sends it.
fn mcp(served: &Served, token: &str, headers: &[(&str, &str)], message: &Value) -> Reply {
    let mut all = vec![
        ("Authorization", token),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    all.extend_from_slice(headers);
    served.ask("POST", "/mcp", &all, &message.to_string())
}

/// A token has a number of sessions; who has one keeps it, who needs none is answered, and other tokens have their own.
#[test]
fn sessions_of_mcp_are_limited() {
    let served = Served::new();
    let token = served.token("agent", &[]);
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } } });
    let begin = |headers: &[(&str, &str)]| mcp(&served, &token, headers, &hello);
    let first = begin(&[]).header("mcp-session-id").unwrap().to_owned();
    for _ in 1..256 {
        assert_eq!(begin(&[]).status, 200);
    }
    assert_eq!(
        (begin(&[]).status, begin(&[]).json()["error"]["code"].clone()),
        (503, json!("too_many_sessions"))
    );
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
    assert_eq!(mcp(&served, &token, &[("Mcp-Session-Id", &first)], &list).status, 200);
    let none =
        mcp(&served, &token, &[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")], &list);
    assert_ne!(none.status, 503, "{}", none.body);
    let other = served.token("other", &[]);
    assert_eq!(mcp(&served, &other, &[], &hello).status, 200);
    // A word of another era makes no room.
    assert!(begin(&[("MCP-Protocol-Version", "2026-07-28")]).header("mcp-session-id").is_none());
}

/// How long the person waits for an answer.
fn wait_of_the_person(served: &Served) -> Duration {
    let begun = Instant::now();
    assert_eq!(served.own("GET", "/v1/brief", &Value::Null).status, 200);
    begun.elapsed()
}

/// Any token, also one that may do nothing, locked everybody out: with streams, with bodies that never came, with sessions, or with
/// connections alone.
#[test]
fn a_token_that_may_nothing_locked_everybody_out() {
    let served = Served::new();
    let tokens = [served.token("skill", &["--role", "skill"]), served.token("shared", &[])];
    let host = format!("Host: 127.0.0.1:{}\r\n", served.port);
    let begin = |head: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
        let _ = stream.write_all(head.as_bytes());
        stream
    };
    let limit = Duration::from_secs(1);
    for (attack, head) in [
        ("streams", "GET /v1/events HTTP/1.1\r\n"),
        ("slow bodies", "POST /v1/tools/memory_store HTTP/1.1\r\nContent-Length: 1000\r\n"),
        ("streams of MCP", "GET /mcp HTTP/1.1\r\nAccept: text/event-stream\r\n"),
    ] {
        let mut held = Vec::new();
        for number in 0..600 {
            let token = &tokens[number % 2];
            held.push(begin(&format!("{head}{host}Authorization: {token}\r\n\r\nx")));
        }
        let waited = wait_of_the_person(&served);
        assert!(waited < limit, "{attack}: {waited:?}");
    }
    let held: Vec<TcpStream> = (0..600).map(|_| begin("")).collect();
    let waited = wait_of_the_person(&served);
    assert!(waited < limit, "idle connections: {waited:?}");
    drop(held);
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } } });
    for _ in 0..300 {
        mcp(&served, &tokens[0], &[], &hello);
    }
    let own = mcp(&served, &format!("Bearer {}", served.key), &[], &hello);
    assert_eq!(own.status, 200, "{}", own.body);
    // One large request is refused before it costs seconds.
    let tags: Vec<String> = (0..150_000).map(|number| format!("t{number}")).collect();
    let body = json!({ "content": "x", "tags": tags }).to_string();
    let begun = Instant::now();
    let reply = served.ask("POST", "/v1/tools/memory_store", &[("Authorization", &tokens[1])], &body);
    assert!(reply.status >= 400 && begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

/// A revoked token went on following its stream of MCP, and another token could follow or end a session by its id.
#[test]
fn a_stream_of_mcp_outlived_its_token() {
    let served = Served::new();
    let [owner, stranger] =
        [served.token("owner", &["--private"]), served.token("stranger", &["--group", "other", "--private"])];
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } } });
    let session = mcp(&served, &owner, &[], &hello).header("mcp-session-id").unwrap().to_owned();
    let named = [("Mcp-Session-Id", session.as_str())];
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(mcp(&served, &owner, &named, &ready).status, 202);
    let open = |token: &str| {
        let mut stream = served.connect();
        let head = format!(
            "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\nAuthorization: {token}\r\n\r\n",
            served.port
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    assert_eq!(read(open(&stranger)).status, 404);
    let ended = served.ask("DELETE", "/mcp", &[("Authorization", &stranger), named[0]], "");
    assert_eq!(ended.status, 404, "{}", ended.body);
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
    assert_eq!(mcp(&served, &owner, &named, &list).status, 200, "the session of its owner goes on");
    let stream = open(&owner);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(served.sealed.run(["token", "remove", "owner"]).status, 0);
    let begun = Instant::now();
    assert_eq!(read(stream).status, 200);
    assert!(begun.elapsed() < Duration::from_secs(10), "it ended after {:?}", begun.elapsed());
}

/// The times and numbers of everybody's calls were shown to any token.
#[test]
fn figures_of_all_groups_were_shown_to_any_token() {
    let served = Served::new();
    for (name, args) in [
        ("shared", &[][..]),
        ("private", &["--private"]),
        ("skill", &["--role", "skill"]),
        ("untrusted", &["--role", "admin", "--any-group", "--private", "--untrusted"]),
    ] {
        let token = served.token(name, args);
        for path in ["/metrics", "/v1/recalls"] {
            assert_eq!(
                served.ask("GET", path, &[("Authorization", &token)], "").status,
                403,
                "{name} {path}"
            );
        }
    }
    let admin = served.token("admin", &["--role", "admin", "--any-group", "--private"]);
    let metrics = served.ask("GET", "/metrics", &[("Authorization", &admin)], "");
    assert_eq!(metrics.status, 200);
    for line in ["nacre_vector_memory_limit_bytes 1073741824", "nacre_searches_beyond_memory_total 0"] {
        assert!(metrics.body.contains(line), "{}", metrics.body);
    }
    assert_eq!(served.own("GET", "/v1/recalls", &Value::Null).status, 200);
}

/// The message of an answer, as JSON or as the last event of a stream.
fn message(reply: &Reply) -> Value {
    let lines = reply.body.lines().filter_map(|line| line.strip_prefix("data:"));
    let found = lines.filter_map(|line| serde_json::from_str::<Value>(line.trim()).ok()).next_back();
    found.unwrap_or_else(|| reply.json())
}

#[test]
fn mcp_over_http_is_the_same_table_for_both_eras() {
    let served = Served::new();
    let agent = served.token("agent", &["--private"]);
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let begun = mcp(&served, &agent, &[], &hello);
    assert_eq!(message(&begun)["result"]["protocolVersion"], "2025-11-25", "{}", begun.body);
    let id = begun.header("mcp-session-id").unwrap().to_owned();
    let old = [("Mcp-Session-Id", id.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(mcp(&served, &agent, &old, &ready).status, 202);
    let call = |id: i64, name: &str, arguments: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name, "arguments": arguments } });
    let stored =
        mcp(&served, &agent, &old, &call(2, "memory_store", json!({ "content": "The mill turns at noon" })));
    assert_eq!(message(&stored)["result"]["structuredContent"]["number"], 1, "{}", stored.body);
    // Since 2026-07-28 every request says all of it, and there is no session.
    let mut search = call(3, "memory_search", json!({ "query": "mill" }));
    search["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" } });
    let new =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "memory_search")];
    let found = mcp(&served, &agent, &new, &search);
    assert!(
        message(&found)["result"]["content"][0]["text"].as_str().unwrap().contains("mill"),
        "{}",
        found.body
    );
    // A model with the person's own token is a model: it neither sees nor calls what is for people.
    let person = format!("Bearer {}", served.key);
    let decide = call(4, "proposal_decide", json!({ "number": 1, "decision": "approve" }));
    assert_eq!(mcp(&served, &person, &old, &decide).status, 404, "a session belongs to its token");
    let own = mcp(&served, &person, &[], &hello).header("mcp-session-id").unwrap().to_owned();
    let old = [("Mcp-Session-Id", own.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
    assert_eq!(mcp(&served, &person, &old, &ready).status, 202);
    let refused = mcp(&served, &person, &old, &decide);
    assert!(
        message(&refused)["error"]["message"].as_str().unwrap().contains("unknown tool"),
        "{}",
        refused.body
    );
    let list = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/list" });
    let listed = message(&mcp(&served, &person, &old, &list));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.contains(&"memory_search") && !names.contains(&"proposal_decide"), "{names:?}");
    // Each request names its caller; the connection does not.
    let shared = served.token("other", &["--group", "other"]);
    let foreign = mcp(&served, &shared, &old, &call(6, "memory_search", json!({ "query": "mill" })));
    assert!(!foreign.body.contains("turns at noon"), "{}", foreign.body);
}

/// Requests without a session once shared one for the life of the database: a hundred stores, and every token was refused.
#[test]
fn limits_without_a_session_count_per_token_and_day() {
    let day = |now| ["--set", "limits.store=2", "--door", "mem0", "--now", now];
    let mut first = Served::with(Sealed::new(), &day("2026-02-18T12:00:00Z"));
    let [one, other] = ["one", "other"].map(|name| first.token(name, &["--private"]));
    let store = |served: &Served, token: &str, content: &str| {
        let body = json!({ "content": content }).to_string();
        served.ask("POST", "/v1/entries", &[("Authorization", token)], &body).status
    };
    let era =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "memory_store")];
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "memory_store", "arguments": { "content": "Over MCP" },
        "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" } } } });
    assert_eq!(store(&first, &one, "First"), 200);
    let second = mcp(&first, &one, &era, &call);
    assert_eq!(message(&second)["result"]["structuredContent"]["number"], 2, "{}", second.body);
    assert_eq!(store(&first, &one, "Third"), 429, "REST and MCP count together");
    let add = json!({ "messages": "Fourth", "user_id": "u", "infer": false }).to_string();
    assert_eq!(first.ask("POST", "/v3/memories/add/", &[("Authorization", &one)], &add).status, 429);
    assert_eq!(store(&first, &other, "Of another token"), 200);
    first.restart(&day("2026-02-19T12:00:00Z"));
    assert_eq!(store(&first, &one, "On the next day"), 200);
}

#[test]
fn it_stops_when_told_and_leaves_nothing_behind() {
    let mut served = Served::new();
    served.tool("memory_store", &json!({ "content": "The bell rings at six" }));
    // Streams that are open do not hold it up.
    let mut events = served.connect();
    let key = format!("Bearer {}", served.key);
    let head =
        format!("GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: {key}\r\n\r\n", served.port);
    events.write_all(head.as_bytes()).unwrap();
    let mut first = [0; 16];
    events.read_exact(&mut first).unwrap();
    assert!(first.starts_with(b"HTTP/1.1 200"));
    let _idle = served.connect();
    let (code, took) = served.stop();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(9), "{took:?}");
    assert!(!served.sealed.home().join("serve.json").exists());
    assert!(served.sealed.run(["search", "bell"]).stdout.contains("rings at six"));
    // The note of a server that came later stays.
    let mut served = Served::new();
    let note = served.sealed.home().join("serve.json");
    let later = r#"{"url":"http://127.0.0.1:1","key":"later"}"#;
    std::fs::write(&note, later).unwrap();
    served.stop();
    assert_eq!(std::fs::read_to_string(&note).unwrap(), later);
}

#[test]
#[cfg(unix)]
fn tokens_are_hashes_in_a_file_of_ones_own() {
    use std::os::unix::fs::PermissionsExt as _;
    let served = Served::new();
    let made = served.token("agent", &[]);
    let secret = made.strip_prefix("Bearer ").unwrap();
    for name in ["tokens.json", "serve.json"] {
        let file = served.sealed.home().join(name);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
        assert!(!std::fs::read_to_string(&file).unwrap().contains(secret), "{name}");
    }
    let listed = served.sealed.run(["token", "list"]);
    assert!(listed.stdout.contains("agent: group main, project, shared") && !listed.stdout.contains(secret));
    assert_eq!(served.sealed.run(["token", "add", "agent"]).status, 4, "a name is one token");
}

#[test]
fn other_machines_need_encryption() {
    let sealed = Sealed::new();
    let refused = sealed.run(["serve", "--listen", "0.0.0.0:0"]);
    assert_ne!(refused.status, 0);
    assert!(refused.stderr.contains("--tls-cert"), "{}", refused.stderr);
    std::fs::write(sealed.home().join("tokens.json"), "[]").unwrap();
    let refused = sealed.run(["serve", "--listen", "0.0.0.0:0"]);
    assert!(refused.status != 0 && refused.stderr.contains("nacre token add"), "{}", refused.stderr);
    let bad = sealed.run(["serve", "--listen", "127.0.0.1:0", "--tls-cert", "no", "--tls-key", "no"]);
    assert!(bad.status != 0 && bad.stderr.contains("PEM"), "{}", bad.stderr);
}

#[test]
fn it_encrypts_with_a_certificate() {
    let sealed = Sealed::new();
    let (cert, key) = (sealed.beside("cert.pem"), sealed.beside("key.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-keyout", &key, "-out", &cert])
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|made| made.success()) {
        eprintln!("there is no openssl: not tested");
        return;
    }
    let served = Served::with(sealed, &["--tls-cert", &cert, "--tls-key", &key]);
    let plain = served.raw("GET /alive HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: close\r\n\r\n");
    assert_ne!(plain.status, 200, "without encryption there is no answer");
    let mut client = Command::new("openssl")
        .args(["s_client", "-quiet", "-CAfile", &cert, "-verify_return_error"])
        .args(["-connect", &format!("127.0.0.1:{}", served.port)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let request =
        format!("GET /alive HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n", served.port);
    client.stdin.take().unwrap().write_all(request.as_bytes()).unwrap();
    let mut said = String::new();
    let _ = client.stdout.take().unwrap().read_to_string(&mut said);
    let _ = client.wait();
    assert!(said.starts_with("HTTP/1.1 200") && said.ends_with("alive\n"), "{said}");
}

/// Events arrive as they happen: all for the person, those of shared sessions for a shared session, none for others.
#[test]
fn events_are_told_to_whom_they_concern() {
    let served = Served::new();
    let shared = served.token("shared", &[]);
    let other = served.token("other", &["--group", "other", "--private"]);
    let gone = served.token("gone", &["--private"]);
    let follow = |token: &str| {
        let mut stream = served.connect();
        let head = format!(
            "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\nAuthorization: {token}\r\n\r\n",
            served.port
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(2_500))).unwrap();
        stream
    };
    let shared_token = shared.clone();
    let mut streams = [format!("Bearer {}", served.key), shared, other].map(|token| follow(&token));
    let mut removed = follow(&gone);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(served.sealed.run(["token", "remove", "gone"]).status, 0);
    let stored = served.tool("memory_store", &json!({ "content": "The quay is closed", "private": true }));
    let id = stored["id"].as_str().unwrap();
    // Once, a shared session was told the moment of each private write.
    std::thread::sleep(Duration::from_millis(1_500));
    let open = json!({ "content": "The quay is open" }).to_string();
    let reply = served.ask("POST", "/v1/entries", &[("Authorization", &shared_token)], &open);
    assert_eq!(reply.status, 200, "{}", reply.body);
    let heard = streams.each_mut().map(|stream| {
        let mut said = String::new();
        let mut part = [0; 4_096];
        while let Ok(read) = stream.read(&mut part) {
            said.push_str(&String::from_utf8_lossy(&part[..read]));
            if read == 0 || said.contains("memory:write") {
                break;
            }
        }
        said
    });
    assert!(heard[0].contains("memory:write") && heard[0].contains(id), "{}", heard[0]);
    assert_eq!(heard[1].matches("memory:write").count(), 1, "{}", heard[1]);
    assert!(!heard[1].contains(id), "{}", heard[1]);
    assert!(heard[2].starts_with("HTTP/1.1 200") && !heard[2].contains("memory:write"), "{}", heard[2]);
    // A stream ends when its token is revoked.
    let mut said = String::new();
    removed.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 200") && !said.contains("memory:write"), "{said}");
}

/// Paths of every compatibility API, with a body that would be answered.
const COMPAT: &[(&str, &str, &str, &str)] = &[
    ("memory-tool", "POST", "/v1/memory-tool", r#"{"command":"view","path":"/memories"}"#),
    ("mem0", "GET", "/v1/ping/", ""),
    ("mem0", "POST", "/v3/memories/add/", r#"{"messages":"I like tea","user_id":"ada"}"#),
    ("mem0", "POST", "/v3/memories/search/", r#"{"query":"tea","filters":{"user_id":"ada"}}"#),
    ("mem0", "POST", "/v3/memories/", r#"{"filters":{"user_id":"ada"}}"#),
    ("mem0", "GET", "/v1/entities/", ""),
    ("mem0", "POST", "/memories", r#"{"messages":"I like tea","user_id":"ada"}"#),
    ("mem0", "GET", "/memories?user_id=ada", ""),
    ("mem0", "POST", "/search", r#"{"query":"tea","user_id":"ada"}"#),
    ("mem0", "DELETE", "/memories?user_id=nobody", ""),
];

#[test]
fn compatibility_apis_are_off_until_they_are_enabled() {
    let served = Served::new();
    let agent = served.token("agent", &[]);
    for (_, method, path, body) in COMPAT {
        let reply = served.ask(method, path, &[("Authorization", &agent)], body);
        assert!(matches!(reply.status, 404 | 405), "{method} {path}: {}", reply.status);
    }
    for tool in ["memory_tool", "mem0_owners", "read_graph"] {
        let body = if tool == "memory_tool" { COMPAT[0].3 } else { "{}" };
        let reply = served.ask("POST", &format!("/v1/tools/{tool}"), &[("Authorization", &agent)], body);
        assert_eq!(
            (reply.status, reply.json()["error"]["code"].as_str()),
            (403, Some("not_offered")),
            "{tool}"
        );
    }
}

#[test]
fn compatibility_apis_authenticate_like_our_own() {
    let served = Served::with(Sealed::new(), &["--compat", "memory-tool", "--door", "mem0"]);
    let main = served.token("main", &[]);
    let bare = main.strip_prefix("Bearer ").unwrap().to_owned();
    let other = served.token("other", &["--group", "other"]);
    let skill = served.token("skill", &["--role", "skill"]);
    let link = served.own("POST", "/v1/login", &Value::Null).json()["path"].as_str().unwrap().to_owned();
    let cookie =
        served.ask("GET", &link, &[], "").header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    for (api, method, path, body) in COMPAT {
        let ask = |headers: &[(&str, &str)]| served.ask(method, path, headers, body).status;
        assert_eq!(ask(&[("Authorization", &main)]), 200, "{path}");
        assert_eq!(ask(&[]), 401, "{path}");
        for wrong in ["Bearer nacre_0", "Token nacre_0", "Token ", "Basic YTpi", "nacre"] {
            assert_eq!(ask(&[("Authorization", wrong)]), 401, "{path} {wrong}");
        }
        assert_eq!(ask(&[("Authorization", &skill)]), if *api == "mem0" { 403 } else { 200 }, "{path}");
        assert_eq!(ask(&[("Authorization", &main), ("Nacre-Group", "other")]), 403, "{path}");
        assert_eq!(ask(&[("Authorization", &main), ("Origin", "http://evil.example")]), 403, "{path}");
        assert_eq!(
            served
                .raw(&format!("{method} {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"))
                .status,
            403
        );
        let token = format!("Token {bare}");
        if *api == "mem0" {
            assert_eq!(ask(&[("Authorization", &token)]), 200, "{path}");
            assert_eq!(ask(&[("X-API-Key", &bare)]), 200, "{path}");
            // The page of the person is no client of mem0.
            assert_eq!(ask(&[("Cookie", &cookie), ("X-Nacre", "1")]), 401, "{path}");
        } else {
            // Of ours, only ours is understood.
            assert_eq!(ask(&[("Authorization", &token)]), 401, "{path}");
            assert_eq!(ask(&[("X-API-Key", &bare)]), 401, "{path}");
            assert_eq!(ask(&[("Cookie", &cookie)]), 401, "{path}");
        }
        if *method == "POST" {
            let large = format!(r#"{{"messages":"{}"}}"#, "x".repeat(nacre::call::MAX_REQUEST));
            let status = served.ask(method, path, &[("Authorization", &main)], &large).status;
            assert!(matches!(status, 413 | 0), "{path}: {status}");
            let deep = served.ask(method, path, &[("Authorization", &main)], &"[".repeat(1000));
            assert_eq!(deep.status, 400, "{path}: {}", deep.body);
        }
    }
    // A skill is told by the tool that it may not.
    let told = served.ask("POST", "/v1/memory-tool", &[("Authorization", &skill)], COMPAT[0].3).json();
    assert_eq!(told["is_error"], true, "{told}");
    // Nothing of one group is there for another.
    let create = r#"{"command":"create","path":"/memories/a.md","file_text":"The lamp is green"}"#;
    assert_eq!(
        served.ask("POST", "/v1/memory-tool", &[("Authorization", &main)], create).json()["is_error"],
        false
    );
    let view = served.ask("POST", "/v1/memory-tool", &[("Authorization", &other)], COMPAT[0].3).json();
    assert!(!view["content"].as_str().unwrap().contains("a.md"), "{view}");
    let found = served.ask("GET", "/memories?user_id=ada", &[("Authorization", &main)], "").json();
    let id = found["results"][0]["id"].as_str().unwrap();
    for (method, body) in [("GET", ""), ("PUT", r#"{"text":"x"}"#), ("DELETE", "")] {
        let reply = served.ask(method, &format!("/v1/memories/{id}/"), &[("Authorization", &other)], body);
        assert_eq!(reply.status, 404, "{method}: {}", reply.body);
        assert!(reply.json()["detail"].is_string(), "{}", reply.body);
    }
    // The audit log has the calls by the names of their tools.
    let rows = served.tool("audit_list", &json!({})).to_string();
    for action in ["memory_tool", "mem0_add"] {
        assert!(rows.contains(action), "{action}: {rows}");
    }
    // Our document has nothing of them.
    let document = served.own("GET", "/v1/openapi.json", &Value::Null).body;
    assert!(
        !document.contains("mem0") && !document.contains("memory-tool") && !document.contains("read_graph")
    );
}
