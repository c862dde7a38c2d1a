//! NanoClaw's design: its layers 1 to 3 and 6 to 9 and how information moves upward between them, in the order of the design.
//! The graph (layer 4), search (5) and the layers of every turn (10 to 12) have files of their own.

use nacre::maintain::JobSelection;
use nacre::promote::{self, Step};
use nacre::turn::{self, Exchange};
use nacre::workspace::look_at_memory_file;
use nacre::{Caller, Visibility, proposal};
use serde_json::{Value, json};

use crate::files::{put, read};
use crate::sealed::{Place, is_without_folder};

const PROFILE: &str = "nanoclaw";

fn place(files: &[(&str, &str)]) -> Place {
    let place = Place::with(PROFILE, &[]);
    for (path, text) in files {
        put(&place, path, text);
    }
    place
}

fn person(place: &Place) -> Caller {
    Caller::person("terminal".parse().unwrap(), place.caller.now)
}

fn boot(place: &mut Place, visibility: Visibility, arguments: Value) -> Value {
    let caller = Caller { visibility, ..person(place) };
    nacre::call(&mut place.view_of(&caller), "memory_boot", arguments).unwrap().data
}

fn text(place: &Place, path: &str) -> String {
    String::from_utf8(read(place, path).unwrap_or_default()).unwrap()
}

/// Takes a step upward and approves what it proposes. Returns the lines that moved.
fn climb(place: &mut Place, step: Step) -> Vec<String> {
    let caller = person(place);
    nacre::workspace::sync(&mut place.view_of(&caller)).unwrap();
    let moved = promote::promote(&mut place.view_of(&caller), step).unwrap();
    for waiting in proposal::list(&mut place.view_of(&caller), false).unwrap() {
        proposal::approve(&mut place.view_of(&caller), waiting.number).unwrap();
    }
    moved.lines.into_iter().map(|line| line.text).collect()
}

/// Words of every always-loaded file, in the order in which a main session has them.
const FILES: &[(&str, &str)] = &[
    ("SOUL.md", "# Soul\n\nCalm and exact.\n"),
    ("USER.md", "# User\n\nBo, who keeps bees.\n"),
    ("IDENTITY.md", "# Identity\n\nCalled Wren.\n"),
    ("memory/active-context.md", "# Active Context\n\n## Current Focus\n\n- Moving the hives to the heath\n"),
    ("MEMORY.md", "# Long-Term Memory\n\n- Bo never works without a veil\n"),
    ("memory/2026-01-14.md", "- [context|i=0.3] Cleaned the smoker\n"),
    ("memory/2026-01-15.md", "- [decision|i=0.9] The queens come from Tuva\n"),
    ("memory/2026-01-10.md", "- [note|i=0.5] Frost in the orchard\n"),
    ("memory/project-heath.md", "# Heath\n\n- The landowner wants a gate kept shut\n"),
];

/// Layer 1: files that are there before the first word, within limits, and never a crash.
#[test]
fn layer_1_is_always_loaded() {
    let mut place = place(FILES);
    let start = boot(&mut place, Visibility::Private, json!({}));
    let markdown = start["markdown"].as_str().unwrap();
    let order = [
        "Calm and exact",
        "who keeps bees",
        "Called Wren",
        "to the heath",
        "without a veil",
        "the smoker",
        "from Tuva",
    ];
    let places: Vec<usize> =
        order.iter().map(|word| markdown.find(word).unwrap_or_else(|| panic!("{word}"))).collect();
    assert!(places.is_sorted(), "{places:?}");
    // About two thousand tokens is the target; what it costs is said.
    assert!((50..2_000).contains(&start["tokens"].as_u64().unwrap()));
    // 20,000 characters a file and 150,000 in all, cut where it can be seen.
    put(&place, "SOUL.md", "long words ".repeat(4_000));
    let start = boot(&mut place, Visibility::Private, json!({}));
    let part = |start: &Value, path: &str| {
        start["parts"].as_array().unwrap().iter().find(|part| part["path"] == path).unwrap().clone()
    };
    let soul = part(&start, "SOUL.md");
    assert!(soul["cut"] == true && soul["chars"].as_u64().unwrap() <= 20_000, "{soul}");
    assert!(start["markdown"].as_str().unwrap().contains("memory_get"), "it says how to read the rest");
    for (path, _) in FILES.iter().filter(|(path, _)| path.ends_with(".md")) {
        put(&place, path, "many words ".repeat(9_000));
    }
    let start = boot(&mut place, Visibility::Private, json!({}));
    assert!(start["chars"].as_u64().unwrap() <= 150_000);
    // A missing file is named in the data, leaves nothing for the model, and stops nothing.
    std::fs::remove_file(place.group.folder().join("IDENTITY.md")).unwrap();
    let start = boot(&mut place, Visibility::Private, json!({}));
    assert_eq!(part(&start, "IDENTITY.md")["missing"], true);
    assert!(!start["markdown"].as_str().unwrap().contains("IDENTITY.md"));
}

/// Layer 2: MEMORY.md is private, pruned, the target of what matters, and never fades.
#[test]
fn layer_2_is_private_and_kept_short() {
    let mut place = place(FILES);
    // Never loaded, found or read where others read along.
    let start = boot(&mut place, Visibility::Shared, json!({}));
    assert!(!start.to_string().contains("veil"), "{start}");
    place.caller.visibility = Visibility::Shared;
    assert!(!place.call("memory_search", json!({ "query": "veil" })).text.contains("veil"));
    assert_eq!(place.call("memory_get", json!({ "path": "MEMORY.md" })).data["text"], "");
    place.caller.visibility = Visibility::Private;
    // Evergreen: after ten years it is worth what it was; a dated log is not.
    let worth = |place: &mut Place, query: &str| {
        let found =
            place.call("memory_search", json!({ "query": query, "scope": ["memory"], "explain": true })).data;
        let parts = found["hits"][0]["explain"].as_array().unwrap().clone();
        parts.iter().find(|part| part["part"] == "age").map_or(0.0, |part| part["value"].as_f64().unwrap())
    };
    let (memory, log) =
        (worth(&mut place, "works without a veil"), worth(&mut place, "frost in the orchard"));
    place.later(3_650);
    assert!((worth(&mut place, "works without a veil") - memory).abs() < 1e-9);
    assert!(worth(&mut place, "frost in the orchard") < log, "half of what it can lose after thirty days");
    // Over some 200 lines the agent is asked to prune, and writes still work.
    put(&place, "MEMORY.md", (0..260).map(|n| format!("- remark {n}\n")).collect::<String>());
    let caller = person(&place);
    nacre::workspace::sync(&mut place.view_of(&caller)).unwrap();
    let looked = look_at_memory_file(&place.view_of(&caller), 3).unwrap();
    assert!(
        looked.over && looked.advice().unwrap().contains("prune") && looked.stalest.len() == 3,
        "{looked:?}"
    );
    let answer = place.call("memory_write", json!({ "path": "MEMORY.md", "content": "- one more" }));
    assert!(answer.data["written"] == true && answer.text.contains("prune"), "{}", answer.text);
}

/// Layer 3: what a project knows comes first when the session is about it.
#[test]
fn layer_3_puts_the_project_first() {
    let mut place = place(FILES);
    let start = boot(&mut place, Visibility::Private, json!({ "project": "heath" }));
    let markdown = start["markdown"].as_str().unwrap();
    let order = ["gate kept shut", "Calm and exact", "Called Wren", "from Tuva"];
    let places: Vec<usize> =
        order.iter().map(|word| markdown.find(word).unwrap_or_else(|| panic!("{word}"))).collect();
    assert!(places.is_sorted(), "{places:?}");
    for word in ["without a veil", "who keeps bees", "the smoker"] {
        assert!(!markdown.contains(word), "{word} is not about the project");
    }
    // A main session does not pay for it.
    let main = boot(&mut place, Visibility::Private, json!({}));
    assert!(!main["markdown"].as_str().unwrap().contains("gate kept shut"));
}

/// Layer 6: the log of the day, tagged by importance, which decides how long a line stays.
#[test]
fn layer_6_logs_are_appended_and_expire_by_importance() {
    let mut place = Place::with(PROFILE, &[]);
    for (content, category, importance) in [
        ("Switched to wooden frames", "decision", 0.9),
        ("Oxalic acid works below eight degrees", "lesson", 0.7),
        ("Routine look, nothing new", "context", 0.3),
    ] {
        let arguments = json!({ "content": content, "category": category, "importance": importance });
        assert_eq!(place.call("memory_write", arguments).data["written"], true);
    }
    let lines = "- [decision|i=0.9] Switched to wooden frames\n- [lesson|i=0.7] Oxalic acid works below eight degrees\n\
        - [context|i=0.3] Routine look, nothing new\n";
    assert!(
        text(&place, "memory/2026-01-15.md").ends_with(lines),
        "{}",
        text(&place, "memory/2026-01-15.md")
    );
    // Seven days below 0.4, thirty below 0.8, for ever from there: strictly more than that.
    for (days, kept) in [(7, 3), (8, 2), (30, 2), (31, 1), (4_000, 1)] {
        place.caller.now = crate::sealed::noon().plus_days(days);
        let caller = person(&place);
        nacre::maintain::run(&mut place.view_of(&caller), &JobSelection::Only("logs".into())).unwrap();
        assert_eq!(text(&place, "memory/2026-01-15.md").matches("|i=").count(), kept, "after {days} days");
    }
    // Nothing vanished: it moved, and is still found.
    let archive = text(&place, "memory/archive/2026-01-15-private.md");
    assert!(archive.contains("Oxalic acid") && archive.contains("Routine look"), "{archive}");
    let found = place.call("memory_search", json!({ "query": "oxalic acid degrees" })).data;
    assert_eq!(found["hits"][0]["path"], "memory/archive/2026-01-15-private.md");
}

/// Layers 7 to 9: runbooks on demand, rules that stop a mistake from being made twice, and a way back.
#[test]
fn layers_7_to_9_are_there_when_needed() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::with(PROFILE, &["turn.contributors=[\"policies\"]"]);
    for (path, text) in FILES {
        put(&place, path, text);
    }
    put(&place, "memory/tools-extractor.md", "# Extractor\n\n1. Warm the honey to 35 degrees\n");
    put(
        &place,
        "memory/gating-policies.md",
        "## GP-001: Never open a hive in the rain\n- Trigger: Any request to open a hive\n\
         - Gate: Ask about the weather first\n- Reason: a colony was lost on 3 May\n- Source: 2026-01-10.md\n",
    );
    // 7: a runbook costs nothing until it is looked for, and reading it is noted.
    assert!(!boot(&mut place, Visibility::Private, json!({})).to_string().contains("35 degrees"));
    let found =
        place.call("memory_search", json!({ "query": "how warm must the honey be for the extractor" })).data;
    assert_eq!(found["hits"][0]["path"], "memory/tools-extractor.md");
    assert_eq!(found["infrastructure_seen"], true);
    // 8: a rule is found when it is looked for; where the settings have it so, a turn that matches its trigger gets it unasked.
    let found = place.call("memory_search", json!({ "query": "may I open a hive in the rain" })).data;
    assert_eq!(found["hits"][0]["path"], "memory/gating-policies.md");
    let caller = place.caller.clone();
    let mut said = |message: &str| {
        turn::run(&mut place.view_of(&caller), &turn::Request::new(message)).unwrap().markdown
    };
    assert!(said("Please open the hive by the wall today").contains("[GP-001]"));
    assert!(!said("What is the capital of Norway?").contains("GP-001"));
    // 9: saved before something risky, compared, put back, files and records as one.
    let caller = person(&place);
    place.caller = caller.clone();
    place.store("The extractor stands in the shed");
    let saved = nacre::checkpoint::save(&mut place.view_of(&caller), "before", "moving house").unwrap();
    put(&place, "SOUL.md", "# Soul\n\nLoud.\n");
    place.call("memory_update", json!({ "id": 1, "content": "The extractor is sold" }));
    let differs = nacre::checkpoint::diff(&mut place.view_of(&caller), &saved.id).unwrap();
    assert!(differs.files.iter().any(|file| file.path == "SOUL.md") && !differs.records.is_empty());
    nacre::checkpoint::restore(&mut place.view_of(&caller), &saved.id).unwrap();
    assert_eq!(text(&place, "SOUL.md"), "# Soul\n\nCalm and exact.\n");
    let found = place.call("memory_search", json!({ "query": "extractor", "scope": ["entries"] })).text;
    assert!(found.contains("in the shed") && !found.contains("is sold"), "{found}");
    place.check();
}

/// Section 8, "upward consolidation": log to working memory to MEMORY.md to facts; corrections to lessons to SOUL.md. Each
/// step proposes with its sources named, and nothing moves without a yes.
#[test]
fn information_moves_upward() {
    let mut place = place(&[
        ("SOUL.md", "# Soul\n\n## Principles\n\n- **Calm.** No haste.\n"),
        ("memory/active-context.md", "# Active Context\n\n## Current Focus\n\n- Moving the hives\n"),
        ("MEMORY.md", "# Long-Term Memory\n\n## Decisions & Lessons\n\n- Bo never works without a veil\n"),
        (
            "memory/2026-01-15.md",
            "# 2026-01-15\n\n- [decision|i=0.9] The hives move to the heath in April\n- [context|i=0.2] Tea\n",
        ),
    ]);
    // Nothing is written by proposing.
    let caller = person(&place);
    nacre::workspace::sync(&mut place.view_of(&caller)).unwrap();
    let plan = promote::plan(&mut place.view_of(&caller), Step::Context).unwrap();
    assert_eq!(plan.lines.len(), 1, "small talk stays below");
    assert_eq!(plan.lines[0].source, "memory/2026-01-15.md:3");
    // Log to working memory, to MEMORY.md.
    assert_eq!(climb(&mut place, Step::Context).len(), 1);
    assert!(text(&place, "memory/active-context.md").contains("to the heath in April"));
    assert!(!climb(&mut place, Step::Memory).is_empty());
    assert!(text(&place, "MEMORY.md").contains("to the heath in April"));
    assert!(text(&place, "MEMORY.md").starts_with("# Long-Term Memory\n"), "what stood there stands");
    // Once.
    assert!(climb(&mut place, Step::Context).is_empty() && climb(&mut place, Step::Memory).is_empty());
    // To facts: what a file says in a form that can be read is in the graph, with its line.
    put(&place, "MEMORY.md", "# Long-Term Memory\n\n## Heath\n\n- Gate code: 4711\n");
    let known = place.call("graph_search", json!({ "query": "gate code of Heath" })).data;
    nacre::workspace::sync(&mut place.view_of(&caller)).unwrap();
    let known = if known["known"].as_array().unwrap().is_empty() {
        place.call("graph_search", json!({ "query": "Heath gate code" })).data
    } else {
        known
    };
    assert!(known.to_string().contains("4711"), "{known}");
    // A correction becomes a lesson; thirty days and many good turns later it is proposed as a principle.
    let corrected = Exchange {
        user: "No, stop writing Latin names. Always use the common names of plants.".into(),
        agent: "Understood.".into(),
        at: place.caller.now,
    };
    turn::archive(&mut place.view(), &corrected).unwrap();
    let lessons = turn::lessons(&place.view()).unwrap();
    assert!(lessons.iter().any(|lesson| lesson.text.to_lowercase().contains("common names")), "{lessons:?}");
    assert!(climb(&mut place, Step::Soul).is_empty(), "a lesson of today has not proved itself");
    assert_eq!(text(&place, "SOUL.md"), "# Soul\n\n## Principles\n\n- **Calm.** No haste.\n");
    place.check();
}
