//! A long random walk over HTTP by callers that nobody trusts, against words that only private places have. Each step is one request of
//! an untrusted, a shared, a skill's, another group's or a revoked token. Nothing leaks, nothing of the person changes, and the person is
//! answered all the while.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::serve::Served;
use crate::trust::say;

/// The number of requests, unless `NACRE_WALK_STEPS` says another.
const STEPS: usize = 5_000;
/// How long the person may wait for one answer.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A word for each private place.
const CANARIES: &[&str] = &[
    "zorvaqentil",
    "qelmivarn",
    "wistoprex",
    "drumvalkis",
    "nembrutiq",
    "obrestilum",
    "pluvendrask",
    "krombazelt",
    "yentomirax",
];

#[test]
fn strangers_walked_over_http_and_learned_and_changed_nothing() {
    let steps = std::env::var("NACRE_WALK_STEPS").ok().and_then(|text| text.parse().ok()).unwrap_or(STEPS);
    let served = Served::new();
    let home = &served.sealed;
    let store = |content: String, private: bool| {
        served.tool("memory_store", &json!({ "content": content, "private": private }));
    };
    store(format!("The harbour code is {}", CANARIES[0]), true);
    store("The harbour opens at six".into(), false);
    store("Always greet the harbour master".into(), false);
    let depth = json!({ "entity": "Harbour Nine", "key": "depth", "value": CANARIES[1], "private": true });
    served.tool("fact_upsert", &depth);
    let folder = home.home().join("groups/main");
    std::fs::create_dir_all(folder.join("memory")).unwrap();
    let texts = [
        ("MEMORY.md", format!("# Harbour\n\n- The harbour key is {}\n", CANARIES[2])),
        ("memory/plan.md", format!("---\nprivate: true\n---\nThe harbour plan is {}.\n", CANARIES[3])),
        ("memory/open.md", "# Open\n\nThe harbour has two cranes.\n".to_owned()),
    ];
    for (path, text) in &texts {
        std::fs::write(folder.join(path), text).unwrap();
    }
    say(home, "private-talk", &format!("The harbour boat is {}.", CANARIES[4]), "Noted.");
    let agent = served.token("agent", &["--private"]);
    let change = json!({ "path": "MEMORY.md", "content": format!("- The harbour sail is {}", CANARIES[5]) });
    served.ask("POST", "/v1/tools/memory_write", &[("Authorization", &agent)], &change.to_string());
    home.run(["--group", "other", "store", &format!("The harbour of others is {}", CANARIES[6])]);
    home.run(["--group", "other", "store", "--private", &format!("The harbour safe is {}", CANARIES[7])]);
    served.tool("task_add", &json!({ "description": format!("Paint the harbour {}", CANARIES[8]) }));
    let tasks_are_open = true;

    let tokens = [
        ("untrusted", served.token("untrusted", &["--untrusted"])),
        ("shared", served.token("shared", &[])),
        ("skill", served.token("skill", &["--role", "skill", "--private"])),
        ("foreign", served.token("foreign", &["--group", "third", "--private"])),
        ("revoked", served.token("revoked", &["--private"])),
    ];
    home.run(["token", "remove", "revoked"]);
    let own = || {
        let entry = |id: i64| {
            let shown = served.own("GET", &format!("/v1/entries/{id}"), &Value::Null).json();
            ["content", "type", "tags", "score", "private", "origin", "superseded_by"]
                .map(|name| shown[name].clone())
        };
        let facts = served.tool("fact_list", &json!({ "entity": "Harbour Nine" }));
        // Another value may stand beside it, for those who do not see this one.
        let depth: Vec<Value> = facts["facts"].as_array().into_iter().flatten().cloned().collect();
        let depth = depth.into_iter().find(|fact| fact["value"] == CANARIES[1]);
        let depth = depth.map(|fact| ["key", "until", "origin", "private"].map(|name| fact[name].clone()));
        let files = texts.clone().map(|(path, _)| std::fs::read_to_string(folder.join(path)).unwrap());
        (entry(1), entry(2), entry(3), depth, files)
    };
    let before = own();
    assert!(before.3.is_some());

    let mut seed: u64 = 20_261_118;
    let mut below = |count: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % count
    };
    let words = [
        "harbour",
        "harbour code",
        "1",
        "2",
        "id:3",
        "fact-1",
        "MEMORY.md",
        "memory/plan.md",
        "memory/open.md",
        "../other/memory.db",
        "private-talk",
        "",
        "*",
        "Harbour Nine",
        "boat",
        "depth",
        "main",
        "other",
    ];
    let paths = [
        "/v1/entries",
        "/v1/entries/1",
        "/v1/entries/2",
        "/v1/brief",
        "/v1/boot",
        "/v1/files/MEMORY.md",
        "/v1/files/memory/plan.md",
        "/v1/sessions",
        "/v1/sessions/private-talk",
        "/v1/facts?entity=Harbour%20Nine",
        "/v1/graph?query=harbour",
        "/v1/entities",
        "/v1/proposals",
        "/v1/proposals/1",
        "/v1/overview",
        "/v1/recalls",
        "/metrics",
        "/v1/search?query=harbour",
        "/v1/audit",
        "/v1/tools",
        "/v1/openapi.json",
    ];
    let (mut longest, mut answered) = (Duration::ZERO, 0);
    for step in 0..steps {
        let (who, token) = &tokens[below(tokens.len())];
        let session = format!("walk-{}", below(30));
        let group = ["main", "other", "third"][below(3)];
        let mut headers = vec![("Authorization", token.as_str()), ("Nacre-Session", session.as_str())];
        if below(4) == 0 {
            headers.push(("Nacre-Group", group));
        }
        // A shared session of a trusted agent may change what is not private, so it is sent to private memories and its own.
        let is_trusted = *who == "shared";
        let number = if is_trusted { [1, 4, 5, 6][below(4)] } else { 1 + below(6) };
        let word = words[below(words.len())];
        let word = if is_trusted && ["2", "id:3"].contains(&word) { "1" } else { word };
        let reply = if below(4) == 0 {
            let method = if is_trusted { "GET" } else { ["GET", "GET", "DELETE", "POST"][below(4)] };
            served.ask(method, paths[below(paths.len())], &headers, "")
        } else if below(2) == 0 {
            // A call as an agent makes it.
            let text = format!("The harbour is number {}", below(200));
            let (tool, arguments) = match below(12) {
                0 | 1 => ("memory_search", json!({ "query": word, "scope": ["all"] })),
                2 => ("memory_search", json!({ "query": "harbour code depth key plan boat sail" })),
                3 => ("memory_get", json!({ "id": number })),
                4 => ("memory_get", json!({ "path": word })),
                5 => ("memory_store", json!({ "content": text })),
                6 => ("memory_store", json!({ "content": text, "supersedes": number })),
                7 => ("memory_update", json!({ "id": number, "content": text })),
                8 => ("memory_delete", json!({ "id": number })),
                9 => ("memory_write", json!({ "path": word, "content": text })),
                10 => ("memory_demote", json!({ "id": number })),
                _ => ("graph_search", json!({ "query": "Harbour Nine depth" })),
            };
            served.ask("POST", &format!("/v1/tools/{tool}"), &headers, &arguments.to_string())
        } else {
            let tool = nacre::TOOLS[below(nacre::TOOLS.len())].name;
            let arguments = match below(8) {
                0 => json!({ "id": word }),
                1 => json!({ "query": word }),
                2 => json!({ "content": format!("The harbour is number {}", below(50)) }),
                3 => json!({ "id": number, "content": format!("The harbour is number {}", below(50)) }),
                4 => json!({ "path": word, "content": "x" }),
                5 => json!({ "entity": "Harbour Nine", "key": "depth", "value": "2 m" }),
                6 => {
                    json!({ "content": format!("The harbour moved {}", below(50)), "supersedes": number })
                }
                _ => json!({}),
            };
            served.ask("POST", &format!("/v1/tools/{tool}"), &headers, &arguments.to_string())
        };
        answered += usize::from(reply.status == 200);
        assert!(
            reply.status < 500 || reply.status == 503,
            "step {step}, {who}: {} {}",
            reply.status,
            reply.body
        );
        for canary in CANARIES {
            // Tasks have no private form: whoever sees the group sees them.
            let is_open = tasks_are_open && *canary == CANARIES[8] && matches!(*who, "untrusted" | "shared");
            assert!(
                is_open || !reply.body.contains(canary),
                "step {step}, {who} has {canary}: {}",
                reply.body
            );
        }
        assert!(*who != "revoked" || reply.status >= 400, "step {step}: {}", reply.status);
        if step % 25 == 0 {
            let begun = Instant::now();
            let found = served.own("POST", "/v1/tools/memory_search", &json!({ "query": "harbour code" }));
            longest = longest.max(begun.elapsed());
            assert!(found.status == 200 && found.body.contains("harbour"), "step {step}: {}", found.body);
        }
        if step % 500 == 0 {
            let begun = Instant::now();
            store(format!("The person was here at step {step}"), false);
            longest = longest.max(begun.elapsed());
        }
    }
    assert!(answered > steps / 20, "the walk reached something: {answered}");
    assert!(longest < LONGEST_WAIT, "the person waited {longest:?}");
    assert_eq!(own(), before);
    assert_eq!(home.json(["doctor"])["ok"], true);
}
