//! Memories of other programs brought in: what becomes what, twice is once, a change at the source is a change here.
#![allow(clippy::disallowed_methods, reason = "a test writes what another program would")]

use std::fs;
use std::path::{Path, PathBuf};

use nacre::import::{FORMATS, Options, Report, format};
use nacre::{Caller, Error};
use serde_json::{Value, json};

use crate::sealed::Place;

/// A source in a folder of its own.
struct Source(tempfile::TempDir);

impl Source {
    fn new(files: &[(&str, &str)]) -> Source {
        let source = Source(tempfile::tempdir().unwrap());
        for (path, text) in files {
            source.write(path, text);
        }
        source
    }

    /// Writes a file. The text of a database is the SQL that makes it.
    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if matches!(ending, "db" | "sqlite") {
            rusqlite::Connection::open(path).unwrap().execute_batch(text).unwrap();
        } else {
            fs::write(path, text).unwrap();
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }
}

fn person(place: &Place) -> Caller {
    Caller::person("import".parse().unwrap(), place.caller.now)
}

fn try_import(place: &mut Place, name: &str, path: &Path, options: &Options) -> Result<Report, Error> {
    let caller = person(place);
    nacre::import::import(&mut place.view_of(&caller), format(name).unwrap(), path, options, &mut |_| {})
}

#[track_caller]
fn import(place: &mut Place, name: &str, path: &Path) -> Report {
    try_import(place, name, path, &Options::default()).unwrap()
}

/// `kind added/changed/present`, then what ended and what was kept, and what was passed over.
fn told(report: &Report) -> Vec<String> {
    let kinds = report.kinds.iter().map(|(kind, counts)| {
        let mut text = format!("{kind} {}/{}/{}", counts.added, counts.changed, counts.present);
        for (count, what) in [(counts.ended, "ended"), (counts.kept, "kept")] {
            if count > 0 {
                text.push_str(&format!(" {count} {what}"));
            }
        }
        text
    });
    kinds.chain(report.skipped.iter().map(|(why, count)| format!("{count} {why}"))).collect()
}

/// Everything that is here, as an export has it but for what is new every time.
fn state(place: &mut Place) -> String {
    let folder = tempfile::tempdir().unwrap();
    nacre::export::export(&place.view(), folder.path()).unwrap();
    let mut records: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("nacre.json")).unwrap()).unwrap();
    records["rows"] = Value::Null;
    let mut text = records.to_string() + &fs::read_to_string(folder.path().join("sessions.jsonl")).unwrap();
    for file in place.call_files() {
        text.push_str(&format!("{file}\n"));
    }
    text
}

impl Place {
    fn call_files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.group.folder().join("memory")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else {
                    let path = entry.path();
                    let shown = path.strip_prefix(self.group.folder()).unwrap().display().to_string();
                    found.push(format!("{shown}: {}", fs::read_to_string(&path).unwrap_or_default().len()));
                }
            }
        }
        found.sort();
        found
    }

    /// The first text that a search finds.
    fn finds(&mut self, query: &str) -> Value {
        let asked = json!({ "query": query, "scope": ["entries", "memory", "graph", "sessions", "items"] });
        self.call("memory_search", asked).data["hits"][0].clone()
    }
}

const OPENCLAW: &[(&str, &str)] = &[
    ("MEMORY.md", "# Memory\n\n## Preferences\n- Prefers tabs over spaces\n\n## Alice\n- Plays the cello\n"),
    ("memory/2025-11-03.md", "# 2025-11-03\n- Chose Postgres for the ledger\n\nA walk in the Harz.\n"),
    ("USER.md", "# User\nName: Ilse\n"),
    ("DREAMS.md", "A dream of herons\n"),
    ("notes/other.md", "not part of the memory\n"),
];

const NANOCLAW: &[(&str, &str)] = &[
    (
        "data/facts.db",
        "CREATE TABLE facts (id INTEGER PRIMARY KEY AUTOINCREMENT, entity TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
            category TEXT NOT NULL, source TEXT, created_at TEXT NOT NULL DEFAULT (datetime('now')), last_accessed TEXT,
            access_count INTEGER DEFAULT 0, permanent BOOLEAN DEFAULT 0, decay_score REAL, activation REAL DEFAULT 1.0,
            importance REAL DEFAULT 0.5);
        CREATE VIRTUAL TABLE facts_fts USING fts5(entity, key, value, content=facts, content_rowid=id);
        CREATE TRIGGER facts_ai AFTER INSERT ON facts BEGIN
            INSERT INTO facts_fts(rowid, entity, key, value) VALUES (new.id, new.entity, new.key, new.value); END;
        CREATE TABLE relations (id INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL, predicate TEXT NOT NULL,
            object TEXT NOT NULL, source TEXT, created_at TEXT DEFAULT (datetime('now')));
        CREATE TABLE aliases (alias TEXT NOT NULL COLLATE NOCASE, entity TEXT NOT NULL COLLATE NOCASE, PRIMARY KEY (alias, entity));
        CREATE TABLE co_occurrences (fact_a INTEGER NOT NULL, fact_b INTEGER NOT NULL, weight REAL DEFAULT 1.0, last_wired TEXT,
            PRIMARY KEY (fact_a, fact_b));
        CREATE TABLE growth_vectors (id INTEGER PRIMARY KEY, trigger_pattern TEXT NOT NULL, lesson_text TEXT NOT NULL, principle TEXT,
            created_at TEXT);
        CREATE TABLE vector_outcomes (id INTEGER PRIMARY KEY, vector_id INTEGER);
        INSERT INTO facts (entity, key, value, category, created_at, permanent, activation, importance, access_count) VALUES
            ('Keystone', 'port', '3000', 'project', '2025-02-14 10:00:00', 0, 2.5, 0.9, 7),
            ('Keystone', 'stack', 'Next.js', 'project', '2025-02-14 10:00:00', 0, 1.0, 0.5, 0),
            ('Heidi', 'birthday', 'July 7', 'person', '2025-02-14 10:00:00', 1, 1.0, 0.8, 1);
        INSERT INTO relations (subject, predicate, object) VALUES ('Heidi', 'owns', 'Keystone');
        INSERT INTO aliases VALUES ('Mama', 'Heidi');
        INSERT INTO co_occurrences VALUES (1, 2, 4.0, NULL), (2, 1, 4.0, NULL);
        INSERT INTO growth_vectors VALUES (1, 'restart', 'Ask for confirmation; stop restarting the gateway', 'reliability', '2025-03-01');
        INSERT INTO vector_outcomes VALUES (1, 1);",
    ),
    (
        "data/continuity.db",
        "CREATE TABLE exchanges (id INTEGER PRIMARY KEY, session_id TEXT, user_message TEXT, agent_response TEXT, timestamp TEXT,
            topic TEXT, embedding BLOB);
        INSERT INTO exchanges VALUES (1, 's1', 'How long do REST endpoints stay?', 'We keep REST endpoints alive for six months',
            '2025-02-14T10:00:00Z', 'api', x'00');",
    ),
    ("nanoclaw.json", r#"{ "memory": { "searchWeights": { "vector": 0.7 } }, "embeddings": { "apiKey": "hidden-key", "endpoint": "${X}" } }"#),
    ("workspace/SOUL.md", "# Soul\nDirect and calm.\n"),
    ("workspace/memory/gating-policies.md", "## GP-001\nNever restart the gateway without a gating policy check.\n"),
];

const CARAPACE: &[(&str, &str)] = &[(
    "data/memory/main.sqlite",
    "CREATE TABLE memory_entries (id TEXT PRIMARY KEY, type TEXT NOT NULL CHECK(type IN ('preference', 'fact', 'instruction',
            'context', 'correction')), content TEXT NOT NULL, tags TEXT NOT NULL DEFAULT '[]', behavioral INTEGER NOT NULL DEFAULT 0,
        superseded_by TEXT REFERENCES memory_entries(id), session_id TEXT NOT NULL, group_name TEXT NOT NULL, created_at TEXT NOT NULL);
    CREATE VIRTUAL TABLE memory_fts USING fts5(content, tags, content=memory_entries, content_rowid=rowid);
    INSERT INTO memory_entries VALUES
        ('mem-1', 'preference', 'User prefers TypeScript', '[\"coding\"]', 1, NULL, 's', 'main', '2025-02-18T14:30:00Z'),
        ('mem-2', 'fact', 'The dog is called Lola', '[]', 0, 'mem-3', 's', 'main', '2025-01-18T14:30:00Z'),
        ('mem-3', 'fact', 'The dog is called Luna', '[]', 0, NULL, 's', 'main', '2025-02-19T14:30:00Z');",
)];

const KOSHI: &[(&str, &str)] = &[(
    "koshi.db",
    "CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT NOT NULL, source TEXT, tags TEXT, created_at DATETIME DEFAULT
            CURRENT_TIMESTAMP, last_hit_at DATETIME, score INTEGER DEFAULT 0, session_id TEXT, narrative_id INTEGER, task_id INTEGER);
    CREATE VIRTUAL TABLE memories_fts USING fts5(content, tags, source, content='memories', content_rowid='id');
    CREATE TABLE memories_archive (id INTEGER PRIMARY KEY, content TEXT NOT NULL, source TEXT, tags TEXT, created_at DATETIME,
        last_hit_at DATETIME, score INTEGER, session_id TEXT);
    CREATE TABLE memory_links (memory_id INTEGER, related_id INTEGER, strength REAL);
    INSERT INTO memories VALUES
        (1, 'Payment HMAC signature must not include a trailing empty string', 'agent', 'payments, hmac', '2025-02-14 10:00:00',
            '2025-03-01 10:00:00', 6, 's1', NULL, NULL),
        (2, 'Session about onboarding', 'narrative', '', '2025-02-14 11:00:00', NULL, -2, 's1', NULL, NULL);
    INSERT INTO memories_archive VALUES (3, 'An old detail about kayaks', 'agent', 'misc', '2024-02-14 10:00:00', NULL, -8, 's0');
    INSERT INTO memory_links VALUES (1, 2, 1.0);",
)];

const BRAIN: &[(&str, &str)] = &[
    ("AGENT.md", "# Agent\nA project agent.\n"),
    ("MEMORY.md", "# Agent Memory\n\n## Key Decisions\n- Chose SQLite over PostgreSQL\n"),
    ("sessions/sessions.json", r#"{ "sessions": [] }"#),
    (
        "sessions/s-1.jsonl",
        "{\"id\":\"msg_001\",\"role\":\"user\",\"content\":\"Hello, about session locking\",\"timestamp\":\"2025-02-05T10:00:00Z\"}\n\
         {\"id\":\"msg_002\",\"role\":\"assistant\",\"content\":\"Hi there!\",\"timestamp\":\"2025-02-05T10:00:01Z\"}\n\
         {\"id\":\"tool_001\",\"role\":\"tool_call\",\"name\":\"read\",\"content\":\"x\",\"input\":{},\"timestamp\":\"2025-02-05T10:00:02Z\"}\n\
         {\"id\":\"tool_001\",\"role\":\"tool_result\",\"content\":\"# Project\",\"timestamp\":\"2025-02-05T10:00:03Z\"}\n",
    ),
    (
        "items.json",
        r#"[{ "id": "item_abc123", "type": "decision", "title": "Use Fastify for API",
            "content": "We chose Fastify over Express for better TypeScript support.", "sourceFile": "docs/Architecture.md",
            "lineNumber": 45, "confidence": 0.9, "extractedAt": "2025-02-05T10:00:00Z" }]"#,
    ),
    (
        ".agent/tasks/tasks.json",
        r#"{ "tasks": [
            { "id": "TASK-001", "milestone": "M1", "priority": 1, "status": "pending", "description": "Implement session locking",
              "acceptance_criteria": ["Lock released after"], "created": "2025-02-05", "completed": null, "blocked_by": [] },
            { "id": "TASK-002", "milestone": "M1", "priority": 2, "status": "pending", "description": "Release it",
              "acceptance_criteria": [], "created": "2025-02-05", "completed": null, "blocked_by": ["TASK-001"] }
        ] }"#,
    ),
];

const CLAUDE_CODE: &[(&str, &str)] = &[
    (
        "-home-ilse-app/memory/MEMORY.md",
        "- [Tests](use-real-db.md) — integration tests\n- Loose line about kayaks\n",
    ),
    (
        "-home-ilse-app/memory/use-real-db.md",
        "---\nname: use-real-db\ndescription: Integration tests use a real database\nmetadata:\n  type: feedback\n---\n\nNo mocks in integration tests.\n\n**Why:** a mock hid a broken migration. See [[release-freeze]].\n",
    ),
    (
        "-home-ilse-app/memory/release-freeze.md",
        "---\nname: release-freeze\ndescription: freeze\nmetadata:\n  type: project\n---\nThe release freeze begins in May.\n",
    ),
    ("-home-ilse-other/transcript.jsonl", "{}\n"),
];

const CODEX: &[(&str, &str)] = &[
    ("MEMORY.md", "## Build\n- Use just check before pushing\n"),
    ("memory_summary.md", "The user builds a boat planner.\n"),
    ("raw_memories.md", "- Use just check before pushing\n"),
    ("rollout_summaries/one.md", "Fixed the tide tables.\n"),
];

const GEMINI: &[(&str, &str)] = &[(
    "GEMINI.md",
    "# Context\nAnswer in German.\n\n## Gemini Added Memories\n- My cat is called Muffin\n- I live in Kiel\n",
)];

const MCP: &[(&str, &str)] = &[(
    "memory.jsonl",
    "{\"type\":\"entity\",\"name\":\"Ada Byron\",\"entityType\":\"person\",\"observations\":[\"Speaks French\",\"Rows at dawn\"]}\n{\"type\":\"entity\",\"name\":\"Keystone\",\"entityType\":\"project\",\"observations\":[]}\n{\"type\":\"relation\",\"from\":\"Ada Byron\",\"to\":\"Keystone\",\"relationType\":\"works_on\"}\n",
)];

const BASIC: &[(&str, &str)] = &[(
    "specs/search.md",
    "---\ntitle: Search Engine\ntype: note\npermalink: specs/search\ntags: [core]\ncreated: 2025-02-01\n---\n# Search Engine\n- [tech] Ranks by BM25 #ranking\n- [ ] not an observation\n- depends_on [[Storage Layer]]\n",
)];

const OBSIDIAN: &[(&str, &str)] = &[
    (".obsidian/app.json", "{}"),
    (".trash/Old.md", "thrown away\n"),
    (
        "People/Mira Holm.md",
        "---\naliases: [Mimi]\ntags:\n  - friend\n---\nBuilds kites. Knows [[Jonas Berg|Jonas]].\n",
    ),
    ("Jonas Berg.md", "Lives in Bergen ![[map.png]]\n"),
    ("picture.png", "png"),
];

const MEM0: &[(&str, &str)] = &[(
    "mem0.json",
    "{\"results\":[{\"id\":\"m1\",\"memory\":\"Is allergic to walnuts\",\"user_id\":\"u\",\"metadata\":{\"category\":\"health\"},\"created_at\":\"2025-01-02T03:04:05-07:00\"},{\"id\":\"m2\",\"memory\":\"Old\",\"expiration_date\":\"2025-02-01\"}]}",
)];

const CHATGPT: &[(&str, &str)] = &[
    (
        "conversations-000.json",
        "[{\"id\":\"c1\",\"title\":\"Bread\",\"current_node\":\"b\",\"mapping\":{\"a\":{\"parent\":null,\"message\":{\"id\":\"a\",\"author\":{\"role\":\"user\"},\"create_time\":1700000000,\"content\":{\"content_type\":\"text\",\"parts\":[\"How long does rye dough rest?\"]}}},\"b\":{\"parent\":\"a\",\"message\":{\"id\":\"b\",\"author\":{\"role\":\"assistant\"},\"content\":{\"content_type\":\"text\",\"parts\":[\"Twelve hours.\"]}}}}}]",
    ),
    (
        "conversations-001.json",
        "[{\"id\":\"loop\",\"current_node\":\"a\",\"mapping\":{\"a\":{\"parent\":\"a\",\"message\":{\"author\":{\"role\":\"user\"},\"content\":{\"parts\":[\"round\"]}}}}}]",
    ),
    ("export_manifest.json", "{}"),
];

const CLAUDE: &[(&str, &str)] = &[
    (
        "conversations.json",
        "[{\"uuid\":\"k1\",\"name\":\"Trip\",\"chat_messages\":[{\"uuid\":\"m1\",\"sender\":\"human\",\"text\":\"Where is the lighthouse?\",\"created_at\":\"2025-03-01T09:00:00Z\"}]}]",
    ),
    (
        "projects.json",
        "[{\"uuid\":\"p1\",\"name\":\"Sailing\",\"prompt_template\":\"Use knots.\",\"docs\":[{\"uuid\":\"d1\",\"filename\":\"../rigging.txt\",\"content\":\"The halyard is blue.\"}]},7]",
    ),
    (
        "memories.json",
        "[{\"conversations_memory\":\"**Work**\\n\\nBuilds wooden boats.\",\"account_uuid\":\"a\"}]",
    ),
    ("users.json", "[]"),
];

const MARKDOWN: &[(&str, &str)] =
    &[("a.md", "# Tides\nSpring tide on Monday\n"), ("below/b.markdown", "Neap tide\n"), ("c.txt", "no")];

/// `(format, its files, where the source is, what is told, what is found by which words)`.
type Case = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
);

const CASES: &[Case] = &[
    (
        "openclaw",
        OPENCLAW,
        "",
        &["document 2/0/0", "entry 4/0/0"],
        &[
            ("tabs or spaces", "Preferences: Prefers tabs over spaces"),
            ("cello", "Alice: Plays the cello"),
            ("Postgres ledger", "Chose Postgres for the ledger"),
            ("herons dream", "A dream of herons"),
        ],
    ),
    (
        "claude-code",
        CLAUDE_CODE,
        "",
        &["entry 3/0/0", "relation 1/0/0"],
        &[("kayaks", "Loose line about kayaks"), ("release freeze begins", "freeze begins in May")],
    ),
    (
        "codex",
        CODEX,
        "",
        &["document 2/0/0", "entry 1/0/0", "1 the other files contain the same"],
        &[("just check", "Build: Use just check before pushing"), ("tide tables", "Fixed the tide tables.")],
    ),
    (
        "gemini",
        GEMINI,
        "GEMINI.md",
        &["document 1/0/0", "entry 2/0/0"],
        &[("cat called", "My cat is called Muffin"), ("German", "Answer in German.")],
    ),
    (
        "mcp-memory",
        MCP,
        "memory.jsonl",
        &["fact 4/0/0", "relation 1/0/0"],
        &[("Ada Byron speaks French", "Speaks French"), ("Ada Byron works on", "Keystone")],
    ),
    (
        "basic-memory",
        BASIC,
        "",
        &["document 1/0/0", "fact 2/0/0", "relation 1/0/0"],
        &[("what does Search Engine depend on", "Storage Layer"), ("BM25", "Ranks by BM25")],
    ),
    (
        "obsidian",
        OBSIDIAN,
        "",
        &["alias 1/0/0", "document 2/0/0", "fact 1/0/0", "relation 1/0/0", "1 not Markdown"],
        &[("kites", "Builds kites"), ("Bergen", "Lives in Bergen")],
    ),
    ("mem0", MEM0, "mem0.json", &["entry 1/0/0", "1 expired"], &[("walnuts", "Is allergic to walnuts")]),
    (
        "chatgpt",
        CHATGPT,
        "",
        &["message 3/0/0", "1 a broken tree of messages; the reachable messages were imported"],
        &[("rye dough rest", "How long does rye dough rest?")],
    ),
    (
        "claude",
        CLAUDE,
        "",
        &["document 2/0/0", "entry 1/0/0", "message 1/0/0", "1 no project"],
        &[
            ("lighthouse", "Where is the lighthouse?"),
            ("halyard", "The halyard is blue."),
            ("wooden boats", "Work: Builds wooden boats."),
        ],
    ),
    (
        "nanoclaw",
        NANOCLAW,
        "",
        &[
            "alias 1/0/0",
            "document 2/0/0",
            "entry 1/0/0",
            "fact 3/0/0",
            "link 1/0/0",
            "message 2/0/0",
            "relation 1/0/0",
            "1 a table that is not read",
        ],
        &[
            ("Keystone port", "3000"),
            ("stop restarting the gateway", "confirmation"),
            ("REST endpoints six months", "six months"),
            ("gating policy restart", "Never restart"),
        ],
    ),
    ("carapace", CARAPACE, "", &["entry 3/0/0"], &[("TypeScript preference", "TypeScript"), ("dog", "Luna")]),
    (
        "koshi",
        KOSHI,
        "koshi.db",
        &["entry 3/0/0", "1 a table that is not read"],
        &[("HMAC signature", "trailing empty string")],
    ),
    (
        "brain",
        BRAIN,
        "",
        &[
            "document 2/0/0",
            "item 1/0/0",
            "message 2/0/0",
            "task 2/0/0",
            "1 a list of the transcripts, which are read themselves",
            "1 a tool call",
            "1 a tool result",
        ],
        &[("session locking hello", "Hello"), ("Fastify Express", "Fastify")],
    ),
    (
        "markdown",
        MARKDOWN,
        "",
        &["document 2/0/0", "1 not Markdown"],
        &[("spring tide", "Spring tide on Monday"), ("neap", "Neap tide")],
    ),
];

#[test]
fn every_format_comes_in_and_twice_is_once() {
    let mut names: Vec<&str> = CASES.iter().map(|case| case.0).collect();
    let mut formats: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    names.sort_unstable();
    formats.sort_unstable();
    assert_eq!(names, formats, "a format without a case");
    for (name, files, path, expected, found) in CASES {
        let (source, mut place) = (Source::new(files), Place::new());
        let path = source.path(path);
        assert!(format(name).unwrap().is_at(&path), "{name} is not known again");
        let dry =
            try_import(&mut place, name, &path, &Options { dry_run: true, ..Options::default() }).unwrap();
        assert_eq!(told(&dry), *expected, "{name}, dry run");
        assert!(!dry.samples.is_empty() && !place.group.folder().join("memory").exists(), "{name}");
        let before = state(&mut place);
        let report = import(&mut place, name, &path);
        assert_eq!(told(&report), *expected, "{name}");
        for (query, text) in *found {
            let hit = place.finds(query)["text"].clone();
            assert!(hit.as_str().is_some_and(|hit| hit.contains(text)), "{name}, {query}: {hit}");
        }
        place.view().settle().unwrap();
        let once = state(&mut place);
        assert_ne!(once, before);
        place.later(1);
        let again = import(&mut place, name, &path);
        let all_present = again.kinds.iter().all(|(kind, counts)| {
            counts.added + counts.changed + counts.ended + counts.kept == 0
                && counts.present == report.kinds[kind].added
        });
        assert!(all_present, "{name}: {:?}", told(&again));
        assert_eq!(state(&mut place), once, "{name}");
        place.check();
    }
}

#[test]
fn an_entry_says_where_it_came_from() {
    let (source, mut place) = (Source::new(OPENCLAW), Place::new());
    import(&mut place, "openclaw", &source.path(""));
    let id = place.finds("Postgres ledger")["id"].clone();
    let got = place.call("memory_get", json!({ "id": id })).data;
    assert_eq!(got["provenance"]["source"], "migration");
    assert_eq!(got["provenance"]["timestamp"], "2025-11-03T00:00:00.000Z");
    let imported = &got["imported"];
    assert_eq!(
        (&imported["format"], &imported["path"], &imported["line"], &imported["author"]),
        (&json!("openclaw"), &json!("memory/2025-11-03.md"), &json!(2), &json!("agent"))
    );
    // Facts from MEMORY.md are as private as the file.
    let id = place.finds("cello")["id"].clone();
    assert_eq!(place.call("memory_get", json!({ "id": id })).data["private"], true);
    // Deleting it deletes the memories made from it, and the next import leaves it out.
    place.call("memory_delete", json!({ "id": id }));
    let again = import(&mut place, "openclaw", &source.path(""));
    assert_eq!(told(&again), ["document 0/0/2", "entry 0/0/3 1 kept"]);
}

#[test]
fn what_changes_at_its_source_changes_here() {
    let (source, mut place) = (Source::new(OPENCLAW), Place::new());
    import(&mut place, "openclaw", &source.path(""));
    let id = place.finds("cello")["id"].clone();
    source.write(
        "MEMORY.md",
        "# Memory\n\nA new first line.\n\n## Preferences\n- Prefers tabs over spaces\n\n## Alice\n- Plays the cello and the flute\n",
    );
    source.write("DREAMS.md", "A dream of cranes\n");
    let options = Options { dry_run: true, ..Options::default() };
    let dry = try_import(&mut place, "openclaw", &source.path(""), &options).unwrap();
    let expected = ["document 0/1/1", "entry 1/1/3"];
    assert_eq!(told(&dry), expected);
    assert_eq!(told(&import(&mut place, "openclaw", &source.path(""))), expected);
    assert_eq!(told(&import(&mut place, "openclaw", &source.path(""))), ["document 0/0/2", "entry 0/0/5"]);
    let got = place.call("memory_get", json!({ "id": id })).data;
    assert_eq!(got["content"], "Alice: Plays the cello and the flute");
    assert_eq!(got["versions"][0]["content"], "Alice: Plays the cello");
    assert!(place.finds("dream of cranes")["text"].as_str().unwrap().contains("cranes"));

    // Changed here and there: what is here stays, and is named.
    place.call("memory_update", json!({ "id": id, "content": "Alice sold the cello" }));
    fs::write(place.group.folder().join("memory/imports/openclaw/DREAMS.md"), "Mine\n").unwrap();
    source.write("DREAMS.md", "A dream of storks\n");
    source.write(
        "MEMORY.md",
        "## Preferences\n- Prefers tabs over spaces\n\n## Alice\n- Alice sold the cello and a flute\n",
    );
    let report = import(&mut place, "openclaw", &source.path(""));
    assert_eq!(told(&report), ["document 0/0/1 1 kept", "entry 0/0/3 1 kept"]);
    assert_eq!(report.notes.len(), 2);
    assert_eq!(place.call("memory_get", json!({ "id": id })).data["content"], "Alice sold the cello");
    // Deleted here: it stays so.
    fs::remove_file(place.group.folder().join("memory/imports/openclaw/USER.md")).unwrap();
    assert_eq!(import(&mut place, "openclaw", &source.path("")).kinds["document"].kept, 1 + 1);
    place.check();
}

#[test]
fn claims_end_with_the_source_that_makes_them() {
    let (source, mut place) = (Source::new(MCP), Place::new());
    import(&mut place, "mcp-memory", &source.path("memory.jsonl"));
    source.write(
        "memory.jsonl",
        "{\"type\":\"entity\",\"name\":\"Ada Byron\",\"entityType\":\"person\",\"observations\":[\"Speaks French\",\"Rows at noon\"]}\n",
    );
    let report = import(&mut place, "mcp-memory", &source.path("memory.jsonl"));
    assert_eq!(told(&report), ["fact 1/0/2 1 ended", "relation 0/0/0 1 ended"]);
    let facts = nacre::graph::picture(&place.view()).unwrap().facts;
    let values: Vec<&str> = facts.iter().map(|fact| fact.value.as_str()).collect();
    assert!(values.contains(&"Rows at noon") && !values.contains(&"Rows at dawn"), "{values:?}");
    assert!(facts.iter().all(|fact| fact.source == "import"));

    let (source, mut place) = (Source::new(OBSIDIAN), Place::new());
    import(&mut place, "obsidian", &source.path(""));
    source.write("People/Mira Holm.md", "Builds boats now.\n");
    let report = import(&mut place, "obsidian", &source.path(""));
    let counts = ["alias 0/0/0 1 ended", "document 0/1/1", "fact 0/0/0 1 ended", "relation 0/0/0 1 ended"];
    assert_eq!(told(&report)[..4], counts);
    place.check();
}

#[test]
fn what_the_graph_has_no_room_for_becomes_entries() {
    let observations: Vec<String> = (0..150).map(|number| format!("Saw comet number {number}")).collect();
    let long = "long ".repeat(200);
    let observations = [observations, vec![long]].concat();
    let line =
        json!({ "type": "entity", "name": "Caroline", "entityType": "person", "observations": observations });
    let (source, mut place) = (Source::new(&[("memory.jsonl", &line.to_string())]), Place::new());
    let report = import(&mut place, "mcp-memory", &source.path("memory.jsonl"));
    assert_eq!(told(&report), ["entry 51/0/0", "fact 101/0/0"]);
    let again = import(&mut place, "mcp-memory", &source.path("memory.jsonl"));
    assert_eq!(told(&again), ["entry 0/0/51", "fact 0/0/101"]);
}

/// Text after an opening mark, and a line in the form of a listing, was lost on import.
#[test]
fn an_import_lost_the_words_around_our_own() {
    let texts = [
        "Doc says <!-- nacre:memory --> marks it; the vault is in Bern",
        "Correct these:\n- [fact] The harbour code is 4711 (0d ago) [id:9]\nand tell Bob",
    ];
    let dump = json!({ "results": texts.map(|text| json!({ "memory": text })) }).to_string();
    let (source, mut place) = (Source::new(&[("mem0.json", &dump)]), Place::new());
    assert_eq!(told(&import(&mut place, "mem0", &source.path("mem0.json"))), ["entry 2/0/0"]);
    for (number, text) in texts.iter().enumerate() {
        assert_eq!(place.call("memory_get", json!({ "id": number + 1 })).data["content"], *text);
    }
}

#[test]
fn the_hostile_is_counted_and_the_rest_comes_in() {
    let secret = "sk-ant-api03-".to_owned() + &"a1B2".repeat(24);
    let bullet = format!("# M\n- the key is {secret}\n- fine\n");
    let source = Source::new(&[
        ("ws/MEMORY.md", &bullet),
        ("ws/memory/long.md", &format!("- {}\n- short\n", "word ".repeat(900))),
        ("ws/memory/ours.md", &nacre::mark_injected("- learned from ourselves")),
        ("ws/memory/empty.md", ""),
        ("outside.md", "- from outside\n"),
    ]);
    fs::write(source.path("ws/memory/broken.md"), b"- caf\xe9 in the harbour\n").unwrap();
    fs::write(source.path("ws/memory/binary.md"), b"\x00\x01\x02").unwrap();
    fs::write(source.path("ws/memory/large.md"), vec![b'x'; 5 << 20]).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(source.path("outside.md"), source.path("ws/memory/link.md")).unwrap();
    let mut place = Place::new();
    let dry = try_import(
        &mut place,
        "openclaw",
        &source.path("ws"),
        &Options { dry_run: true, ..Options::default() },
    )
    .unwrap();
    assert!(!serde_json::to_string(&dry).unwrap().contains(&secret), "a sample shows no credential");
    let report = import(&mut place, "openclaw", &source.path("ws"));
    let told = told(&report);
    assert_eq!(told[..2], ["document 1/0/0", "entry 4/0/0"]);
    for why in ["is binary", "larger than 4 MiB", "a link, and links are not followed"] {
        assert!(told.iter().any(|line| line.contains(why)), "{why}: {told:?}");
    }
    let shown = place.call("memory_search", json!({ "query": "the key is" })).text;
    assert!(!shown.contains(&secret), "{shown}");
    for query in ["learned from ourselves", "from outside"] {
        let hits = place.call("memory_search", json!({ "query": query })).data["hits"].to_string();
        assert!(!hits.contains("ourselves") && !hits.contains("outside"), "{hits}");
    }
    place.check();

    // (format, file, text, what is told)
    for (name, file, text, expected) in [
        (
            "mcp-memory",
            "memory.jsonl",
            "{\"type\":\"entity\",\"name\":\"Bo Ek\",\"entityType\":7,\"observations\":[\"fine\",5,null,\"\"]}\n{broken\n[1]\n{\"type\":\"relation\",\"from\":1,\"relationType\":\"x\"}\n{\"type\":\"relation\",\"from\":\"Bo Ek\",\"to\":\"Bo Ek\",\"relationType\":\"knows\"}\n",
            &[
                "fact 1/0/0",
                "1 a relation without source or target",
                "3 an observation that is not text",
                "1 has the same entity at both ends",
            ][..],
        ),
        (
            "mem0",
            "mem0.jsonl",
            "{\"id\":1,\"memory\":\"fine\"}\n{\"id\":2,\"memory\":{}}\n[]\n{\"memory\":\"   \"}\nnot json\n",
            &["entry 1/0/0", "1 content is empty", "2 no memory", "1 not JSON"],
        ),
        (
            "chatgpt",
            "conversations.json",
            "[{\"mapping\":{}},7,{\"mapping\":{\"a\":{\"message\":{\"author\":{\"role\":\"user\"},\"content\":{\"parts\":[\"fine\"]}}}},\"current_node\":\"a\"},{\"cut",
            &["message 1/0/0"],
        ),
    ] {
        let (source, mut place) = (Source::new(&[(file, text)]), Place::new());
        let told = self::told(&import(&mut place, name, &source.path(file)));
        for expected in expected {
            assert!(told.iter().any(|line| line == expected), "{name}: {told:?} lacks {expected}");
        }
        place.check();
    }
}

#[test]
fn what_is_none_of_the_format_is_refused() {
    let source =
        Source::new(&[("x.md", "text"), ("x.json", "{\"a\":1}"), ("x.zip", "PK\u{3}\u{4} no archive")]);
    for (name, path) in [
        ("openclaw", ""),
        ("claude-code", ""),
        ("obsidian", ""),
        ("mcp-memory", "x.json"),
        ("mem0", "x.json"),
        ("chatgpt", "x.zip"),
        ("claude", "x.json"),
        ("markdown", "x.json"),
        ("markdown", "nowhere"),
    ] {
        let mut place = Place::new();
        let error = try_import(&mut place, name, &source.path(path), &Options::default()).unwrap_err();
        assert_eq!(error.code(), "foreign_source", "{name} {path}: {error}");
    }
    // One that is cut off.
    source.write("cut.json", "{\"results\": [{\"id\": \"a\", \"memory\": \"A heron\"}, {\"memory\": ");
    let mut place = Place::new();
    let error = try_import(&mut place, "mem0", &source.path("cut.json"), &Options::default()).unwrap_err();
    assert_eq!(error.code(), "foreign_source", "{error}");
    // The group itself, which would grow with every import.
    place.store("Likes herons");
    let own = place.group.folder().to_owned();
    fs::write(own.join("MEMORY.md"), "- A heron\n").unwrap();
    for (name, path) in
        [("markdown", own.clone()), ("openclaw", own.clone()), ("markdown", own.join("MEMORY.md"))]
    {
        let error = try_import(&mut place, name, &path, &Options::default()).unwrap_err();
        assert!(error.to_string().contains("the group's own folder"), "{name}: {error}");
    }
    // Where others read along there is no import.
    let mut place = Place::new();
    let caller = Caller { visibility: nacre::Visibility::Shared, ..person(&place) };
    let markdown = format("markdown").unwrap();
    let refused = nacre::import::import(
        &mut place.view_of(&caller),
        markdown,
        &source.path("x.md"),
        &Options::default(),
        &mut |_| {},
    );
    assert_eq!(refused.unwrap_err().code(), "needs_private");
}

#[test]
fn two_sources_of_one_name_are_told_apart() {
    let source = Source::new(&[("a/notes/x.md", "one\n"), ("b/notes/x.md", "other\n")]);
    let mut place = Place::new();
    import(&mut place, "markdown", &source.path("a/notes"));
    let taken = try_import(&mut place, "markdown", &source.path("b/notes"), &Options::default());
    assert_eq!(taken.unwrap_err().code(), "source_taken");
    let options = Options { name: Some("others".into()), ..Options::default() };
    let report = try_import(&mut place, "markdown", &source.path("b/notes"), &options).unwrap();
    assert_eq!(told(&report), ["document 1/0/0"]);
    // One that was moved is the same.
    fs::rename(source.path("a"), source.path("c")).unwrap();
    assert_eq!(told(&import(&mut place, "markdown", &source.path("c/notes"))), ["document 0/0/1"]);
}

#[test]
fn the_same_words_are_one_entry() {
    let source = Source::new(&[("MEMORY.md", "- Likes herons\n- likes  HERONS\n- Likes storks\n")]);
    let mut place = Place::new();
    place.store("Likes storks");
    let report = import(&mut place, "openclaw", &source.path(""));
    assert_eq!(told(&report), ["entry 1/0/2"]);
    // A memory that was here before is not changed by a change of the source.
    source.write("MEMORY.md", "- Likes herons\n- Likes storks a lot\n");
    let report = import(&mut place, "openclaw", &source.path(""));
    assert_eq!(told(&report), ["entry 1/0/1"]);
    assert_eq!(place.call("memory_get", json!({ "id": 1 })).data["content"], "Likes storks");
}

#[test]
fn a_large_source_comes_in_whole() {
    const NOTES: usize = 600;
    const OBSERVATIONS: usize = 3_000;
    let source = Source::new(&[(".obsidian/app.json", "{}")]);
    for number in 0..NOTES {
        let next = (number + 1) % NOTES;
        let text = format!("Note about subject{number} with [[Page p{next}]] and more words.\n");
        source.write(&format!("folder{}/Page p{number}.md", number % 7), &text);
    }
    let mut place = Place::new();
    let report = import(&mut place, "obsidian", &source.path(""));
    assert_eq!(told(&report), [format!("document {NOTES}/0/0"), format!("relation {NOTES}/0/0")]);
    assert!(place.finds("subject599")["text"].as_str().unwrap().contains("subject599"));
    assert_eq!(place.call_files().len(), NOTES);

    let lines: String = (0..OBSERVATIONS)
        .map(|number| {
            format!("{{\"id\":\"m{number}\",\"memory\":\"Memory number {number} of a large dump\"}}\n")
        })
        .collect();
    source.write("mem0.jsonl", &lines);
    let report = import(&mut place, "mem0", &source.path("mem0.jsonl"));
    assert_eq!(told(&report), [format!("entry {OBSERVATIONS}/0/0")]);
    let again = import(&mut place, "mem0", &source.path("mem0.jsonl"));
    assert_eq!(told(&again), [format!("entry 0/0/{OBSERVATIONS}")]);
    place.check();
}

#[test]
fn the_file_of_the_memory_server_is_what_its_door_shows() {
    let source = Source::new(MCP);
    let mut place = Place::with("balanced", &["tools.compat=[\"memory-server\"]"]);
    import(&mut place, "mcp-memory", &source.path(MCP[0].0));
    let (mut entities, mut relations) = (Vec::new(), Vec::new());
    for line in MCP[0].1.lines() {
        let mut record: Value = serde_json::from_str(line).unwrap();
        let kind = record.as_object_mut().unwrap().remove("type").unwrap();
        if kind == "entity" { entities.push(record) } else { relations.push(record) }
    }
    let shown = place.call("read_graph", json!({})).data;
    assert_eq!(shown, json!({ "entities": entities, "relations": relations }));
}

#[test]
fn what_is_private_at_its_source_is_private_here_whatever_it_becomes() {
    let long = "The heron nests in the old mill. ".repeat(400);
    let marked = "---\nprivate: true\naliases: [Kestrel]\ntags: [osprey]\n---\n- married_to [[Avocet]]\n";
    let source = Source::new(&[
        // Too long for an entry, and so a document.
        ("ws/MEMORY.md", &format!("- {long}\n- A stork\n")),
        ("ws/memory/open.md", "- A crane\n"),
        ("vault/.obsidian/app.json", "{}"),
        ("vault/Note.md", marked),
        // Names that can't stay as they are.
        ("vault/a: b?/USER.md", "A bittern\n"),
        ("vault/a: b?/Note.md", "---\ntitle: x\n---\nA plover\n"),
    ]);
    let mut place = Place::new();
    import(&mut place, "openclaw", &source.path("ws"));
    import(&mut place, "obsidian", &source.path("vault"));
    let seen = |place: &mut Place, visibility: nacre::Visibility, word: &str| {
        let caller = place.caller.clone();
        place.caller.visibility = visibility;
        let asked = json!({ "query": word, "scope": ["entries", "memory", "graph"] });
        let hits = place.call("memory_search", asked).data["hits"].to_string();
        place.caller = caller;
        hits.contains(word)
    };
    for (word, shared) in [
        ("heron", false),
        ("stork", false),
        ("crane", true),
        ("Avocet", false),
        ("Kestrel", false),
        ("osprey", false),
        ("bittern", false),
        ("plover", true),
    ] {
        assert!(seen(&mut place, nacre::Visibility::Private, word), "{word}");
        assert_eq!(seen(&mut place, nacre::Visibility::Shared, word), shared, "{word}");
    }
    // A file that becomes private at the source becomes private here.
    source.write("ws/memory/open.md", "---\nprivate: true\n---\n- A crane\n");
    assert!(told(&import(&mut place, "openclaw", &source.path("ws"))).contains(&"entry 0/1/1".to_owned()));
    assert!(!seen(&mut place, nacre::Visibility::Shared, "crane"));
    assert!(told(&import(&mut place, "openclaw", &source.path("ws"))).contains(&"entry 0/0/2".to_owned()));
}

/// An export, changed by others or by what was there before, and what comes in from it.
#[test]
fn an_export_brings_in_no_more_than_it_lists() {
    let mut place = Place::new();
    place.store("Likes herons");
    let memory = place.group.folder().join("memory");
    fs::create_dir_all(&memory).unwrap();
    fs::write(memory.join("gone.md"), "A walk\n").unwrap();
    fs::write(memory.join("kept.md"), "A swim\n").unwrap();
    // No name that Nacre would give a file.
    fs::write(memory.join("what: why?.md"), "A question\n").unwrap();
    let export = tempfile::tempdir().unwrap();
    nacre::export::export(&place.view(), export.path()).unwrap();
    assert_eq!(fs::read(export.path().join("files/memory/what: why?.md")).unwrap(), b"A question\n");
    fs::remove_file(memory.join("gone.md")).unwrap();
    nacre::export::export(&place.view(), export.path()).unwrap();

    let mut other = Place::new();
    let caller = person(&other);
    let done = nacre::export::import(&mut other.view_of(&caller), export.path()).unwrap();
    assert_eq!((done.files, done.files_kept), (1, vec!["memory/what: why?.md".to_owned()]));
    assert!(!other.group.folder().join("memory/gone.md").exists(), "it was deleted before the second export");
}

#[cfg(unix)]
#[test]
fn an_export_of_others_leads_nowhere_and_breaks_nothing() {
    let mut place = Place::new();
    place.store("Likes herons");
    let export = tempfile::tempdir().unwrap();
    nacre::export::export(&place.view(), export.path()).unwrap();
    let records = export.path().join("nacre.json");
    let mut changed: Value = serde_json::from_str(&fs::read_to_string(&records).unwrap()).unwrap();
    // (how it is wrong, a proposal)
    let proposal = |target: &str, private: Value, at: Value| json!(["file", target, null, { "file": "x" }, "why", "[]", "pending", private, "a", "s", at, null, null, "", null]);
    changed["rows"]["proposals"] = json!([
        [1, proposal("MEMORY.md", json!(0), json!(1))],
        [2, proposal("MEMORY.md", json!("yes"), json!(2))],
        [3, proposal("MEMORY.md", json!(0), json!("noon"))],
        [4, ["file", "MEMORY.md"]],
    ]);
    changed["rows"]["tables"] = json!({ "line_uses": [["MEMORY.md", "x", "noon", 1.5]], "none": [["x"]] });
    changed.as_object_mut().unwrap().remove("files");
    fs::write(&records, changed.to_string()).unwrap();
    let outside = Source::new(&[("a.md", "not theirs to read\n"), ("b.jsonl", "{}\n")]);
    for folder in ["files", "transcripts"] {
        std::os::unix::fs::symlink(outside.path(""), export.path().join(folder)).unwrap();
    }

    let mut other = Place::new();
    let caller = person(&other);
    let done = nacre::export::import(&mut other.view_of(&caller), export.path()).unwrap();
    assert_eq!((done.added, done.files, done.proposals), (1, 0, 1));
    assert_eq!(nacre::proposal::list(&mut other.view_of(&caller), true).unwrap().len(), 1);
    other.check();
}

/// Files by their path, and their texts.
type Texts = [(&'static str, &'static str)];

/// A format, its files, the path that is imported, and the profile of that design.
const DESIGNS: &[(&str, &Texts, &str, &str)] = &[
    ("nanoclaw", NANOCLAW, "", "nanoclaw"),
    ("carapace", CARAPACE, "", "carapace"),
    ("koshi", KOSHI, "koshi.db", "koshi"),
    ("brain", BRAIN, "", "brain"),
];

#[test]
fn a_store_of_a_design_comes_in_under_its_profile_and_twice_is_once() {
    for (name, files, path, profile) in DESIGNS {
        let (source, mut place) = (Source::new(files), Place::with(profile, &[]));
        let path = source.path(path);
        let report = import(&mut place, name, &path);
        assert!(report.kinds.values().any(|counts| counts.added > 0), "{name}");
        let before = state(&mut place);
        place.later(1);
        let again = import(&mut place, name, &path);
        let is_present = again.kinds.values().all(|counts| counts.added + counts.changed + counts.ended == 0);
        assert!(is_present, "{name}: {:?}", told(&again));
        assert_eq!(state(&mut place), before, "{name}");
        place.check();
    }
}

#[test]
fn a_document_was_not_found_under_a_profile_that_searches_no_documents() {
    let long = format!(
        "# Notes\n\n- The ferry to Zanzibar leaves at six\n\n{}\n",
        "A long paragraph about kelp. ".repeat(200)
    );
    let source = Source::new(&[("notes/travel.md", &long), ("notes/other.md", "Marta grows quinces.\n")]);
    for profile in ["koshi", "carapace"] {
        let mut place = Place::with(profile, &[]);
        let report = import(&mut place, "markdown", &source.path("notes"));
        assert!(!report.kinds.contains_key("document"), "{:?}", told(&report));
        for (query, text) in
            [("zanzibar ferry", "leaves at six"), ("quinces", "Marta"), ("kelp paragraph", "kelp")]
        {
            let tool = if profile == "koshi" { "memory_query" } else { "memory_search" };
            let found = place.call(tool, json!({ "query": query })).text;
            assert!(found.contains(text), "{profile}: {query}: {found}");
        }
        let again = import(&mut place, "markdown", &source.path("notes"));
        assert_eq!(again.kinds["entry"].added, 0, "{:?}", told(&again));
    }
}

#[test]
fn a_score_and_the_archive_of_koshi_come_along() {
    let (source, mut place) = (Source::new(KOSHI), Place::with("koshi", &[]));
    import(&mut place, "koshi", &source.path("koshi.db"));
    let rows = place.rows(
        "SELECT score, confirmed_at IS NOT NULL, archived_at IS NOT NULL, type FROM entries ORDER BY number",
    );
    let expected = ["6 | 1 | 0 | fact", "-2 | 0 | 0 | context", "-8 | 0 | 1 | fact"];
    assert_eq!(
        rows.iter().map(|row| row.replace("true", "1").replace("false", "0")).collect::<Vec<_>>(),
        expected
    );
    assert_eq!(place.call("memory_query", json!({ "query": "kayaks" })).data["hits"], json!([]));
}

#[test]
fn what_carapace_superseded_is_history_here_at_once_and_later() {
    let (source, mut place) = (Source::new(CARAPACE), Place::with("carapace", &[]));
    let path = source.path("data/memory/main.sqlite");
    import(&mut place, "carapace", &path);
    assert!(place.finds("dog Lola")["text"].as_str().is_none_or(|text| !text.contains("Lola")));
    let found = place.call("memory_search", json!({ "query": "dog Lola", "include_superseded": true })).text;
    assert!(found.contains("Lola") && found.contains("superseded"), "{found}");
    // It is superseded there after it was imported.
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(
        "INSERT INTO memory_entries VALUES ('mem-4', 'preference', 'User prefers Rust', '[]', 1, NULL, 's', 'main', '2025-03-18T14:30:00Z');
         UPDATE memory_entries SET superseded_by = 'mem-4' WHERE id = 'mem-1'",
    )
    .unwrap();
    drop(db);
    place.later(1);
    let report = import(&mut place, "carapace", &path);
    assert_eq!(told(&report), ["entry 1/1/2"]);
    let hits = place.call("memory_search", json!({ "query": "prefers" })).text;
    assert!(hits.contains("Rust") && !hits.contains("TypeScript"), "{hits}");
    assert_eq!(told(&import(&mut place, "carapace", &path)), ["entry 0/0/4"]);
}

#[test]
fn the_weights_of_nanoclaw_come_along_and_its_keys_do_not() {
    let (source, mut place) = (Source::new(NANOCLAW), Place::with("nanoclaw", &[]));
    let report = import(&mut place, "nanoclaw", &source.path(""));
    let facts =
        place.rows("SELECT key, value, importance, activation, access_count FROM facts WHERE key = 'port'");
    assert_eq!(facts, ["port | 3000 | 0.9 | 2.5 | 7"]);
    assert_eq!(place.rows("SELECT count(*), max(weight) FROM recalled_together"), ["2 | 4"]);
    let found = place.call("graph_search", json!({ "query": "When is Mama's birthday?" })).text;
    assert!(found.contains("July 7"), "{found}");
    assert_eq!(report.settings.len(), 1);
    assert_eq!((report.settings[0].key, report.settings[0].value.as_str()), ("search.vector_weight", "0.7"));
    assert!(!format!("{report:?}").contains("hidden-key"));
}

#[test]
fn a_fact_that_ended_at_its_source_ends_here_but_not_because_a_table_broke() {
    let (source, mut place) = (Source::new(NANOCLAW), Place::new());
    import(&mut place, "nanoclaw", &source.path(""));
    let file = source.path("data/facts.db");
    rusqlite::Connection::open(&file)
        .unwrap()
        .execute_batch(
            "DELETE FROM facts WHERE key = 'stack'; UPDATE facts SET value = '4000' WHERE key = 'port'",
        )
        .unwrap();
    place.later(1);
    import(&mut place, "nanoclaw", &source.path(""));
    let current = "SELECT key, value FROM facts WHERE until IS NULL ORDER BY key";
    assert_eq!(place.rows(current), ["birthday | July 7", "port | 4000"]);
    // The table can't be read any more.
    rusqlite::Connection::open(&file)
        .unwrap()
        .execute_batch("ALTER TABLE facts RENAME TO other; CREATE VIEW facts AS SELECT * FROM other")
        .unwrap();
    place.later(1);
    let report = import(&mut place, "nanoclaw", &source.path(""));
    assert_eq!(place.rows(current), ["birthday | July 7", "port | 4000"], "{:?}", told(&report));
}

#[test]
fn the_last_writes_of_a_running_program_are_read_and_nothing_is_written_beside_it() {
    let (source, mut place) = (Source::new(&[]), Place::new());
    let file = source.path("koshi.db");
    let db = rusqlite::Connection::open(&file).unwrap();
    db.pragma_update(None, "journal_mode", "WAL").unwrap();
    db.execute_batch(KOSHI[0].1).unwrap();
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(source.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    // The claim looks at the file alone, which has no table yet.
    db.execute_batch(
        "PRAGMA wal_checkpoint; INSERT INTO memories (content) VALUES ('Only in the log: quokkas')",
    )
    .unwrap();
    import(&mut place, "koshi", &file);
    assert!(place.finds("quokkas")["text"].as_str().unwrap().contains("quokkas"));
    assert_eq!(names(), before);
    let left = fs::read_dir(place.group.folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(left.into_iter().all(|name| !name.starts_with("import-")));
}

#[test]
fn a_hostile_database_costs_itself_only() {
    // Truncated, with bytes changed, or with a view, a trigger or a generated column in place of a table.
    let whole = {
        let source = Source::new(KOSHI);
        fs::read(source.path("koshi.db")).unwrap()
    };
    let mut place = Place::new();
    let source = Source::new(&[]);
    let file = source.path("koshi.db");
    for cut in [0, 15, 16, 100, 1_000, 4_096, whole.len() / 2, whole.len() - 1] {
        fs::write(&file, &whole[..cut]).unwrap();
        let _ = try_import(&mut place, "koshi", &file, &Options::default());
    }
    for place_of in (0..whole.len()).step_by(whole.len() / 60) {
        let mut bytes = whole.clone();
        bytes[place_of] ^= 0xff;
        fs::write(&file, &bytes).unwrap();
        let _ = try_import(&mut place, "koshi", &file, &Options::default());
    }
    for sql in [
        "CREATE VIEW memories AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id, x AS content, x AS tags, x AS score, x AS last_hit_at FROM n",
        "CREATE VIRTUAL TABLE memories USING fts5(content, tags, score, last_hit_at)",
        "CREATE TABLE memories (id, content, tags, score, last_hit_at); INSERT INTO memories VALUES (1, zeroblob(100), x'ff', 'many', 1e999), (2, NULL, NULL, NULL, NULL), (3, CAST(x'ff41' AS TEXT), '[1]', -9e99, 'never')",
    ] {
        let source = Source::new(&[("koshi.db", sql)]);
        let _ = try_import(&mut place, "koshi", &source.path("koshi.db"), &Options::default());
    }
    place.check();
}

#[test]
fn a_detected_store_names_its_program() {
    for (name, files, path, _) in DESIGNS {
        let source = Source::new(files);
        let found = nacre::import::detect(&source.path(path));
        assert_eq!(found.iter().map(|format| format.name).collect::<Vec<_>>(), [*name]);
    }
    let source = Source::new(OPENCLAW);
    assert_eq!(nacre::import::detect(&source.path(""))[0].name, "openclaw");
    let source = Source::new(BRAIN);
    for file in ["items.json", ".agent/tasks/tasks.json"] {
        assert_eq!(nacre::import::detect(&source.path(file))[0].name, "brain", "{file}");
    }
}

#[test]
fn the_same_tasks_json_made_its_tasks_again() {
    let (source, mut place) = (Source::new(BRAIN), Place::with("brain", &[]));
    // The ids are taken here.
    for number in 1..=2 {
        place.call("task_add", json!({ "description": format!("Our own task {number}") }));
    }
    let file = source.path(".agent/tasks/tasks.json");
    for times in 0..3 {
        let report = import(&mut place, "brain", &file);
        let expected = if times == 0 { "task 2/0/0" } else { "task 0/0/2" };
        assert_eq!(told(&report), [expected]);
        let caller = person(&place);
        let done = nacre::project::import_tasks(&mut place.view_of(&caller), &file).unwrap();
        assert_eq!((done.added, done.present), (0, 2));
    }
    assert_eq!(place.rows("SELECT count(*) FROM tasks"), ["4"]);
    // A change there is a change here, unless the task was touched here.
    let text = fs::read_to_string(&file)
        .unwrap()
        .replacen("pending", "done", 1)
        .replace("\"priority\": 2", "\"priority\": 7");
    fs::write(&file, text).unwrap();
    place.call("task_update", json!({ "action": "cancel", "id": "TASK-004" }));
    assert_eq!(told(&import(&mut place, "brain", &file)), ["task 0/1/1"]);
    let rows = place.rows("SELECT status, priority FROM tasks ORDER BY number");
    assert_eq!(rows, ["pending | 5", "pending | 5", "done | 1", "cancelled | 2"]);
}
