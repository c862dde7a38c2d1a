//! Items by a model: a local server speaks the protocol, and a program answers on standard output.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nacre::http;
use nacre::project::{ModelOptions, ModelReport};
use nacre::settings::ExtractBy;
use nacre::{Caller, Error, Secret};
use serde_json::{Value, json};

use crate::sealed::Place;
use crate::transcripts::server;

const PLAN: &str = "# Plan\n\nThe renderer keeps every font in memory.\n\n## Storage\n\nState lives in one file next to the program.\n";

#[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
fn write(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
}

fn with_model(url: &str, settings: &[&str]) -> Place {
    let offer = r#"tools.offer=["memory_store","memory_search","item_list"]"#;
    let mut place = Place::with("balanced", &[&[offer], settings].concat());
    let chat =
        http::Chat::new(url, "small", Some(Secret::new("key-that-nobody-sees")), Duration::from_secs(5));
    place.home = place.home.clone().with_chat(Arc::new(chat.unwrap()));
    place.reopen();
    place
}

fn person(place: &Place) -> Caller {
    Caller::person("a-person".parse().unwrap(), place.caller.now)
}

/// Extracts by rules, and then by a model.
fn try_extract(
    place: &mut Place,
    folder: &Path,
    options: ModelOptions,
) -> Result<Option<ModelReport>, Error> {
    let caller = person(place);
    let name = "p".parse().unwrap();
    nacre::project::extract(&mut place.view_of(&caller), folder, Some(&name), &mut |_| {})?;
    nacre::project::extract_by_model(&mut place.view_of(&caller), &name, options, &mut |_| {})
}

fn by_llm() -> ModelOptions {
    ModelOptions { by: Some(ExtractBy::Llm), again: false }
}

#[track_caller]
fn extract(place: &mut Place, folder: &Path) -> ModelReport {
    try_extract(place, folder, by_llm()).unwrap().unwrap()
}

/// The items as `type path:line content (model)`.
fn items(place: &mut Place) -> Vec<String> {
    let data = place.call("item_list", json!({})).data;
    let word = |value: &Value| value.as_str().unwrap_or("rules").to_owned();
    let line = |item: &Value| {
        let (kind, file, content) = (word(&item["type"]), word(&item["sourceFile"]), word(&item["content"]));
        format!("{kind} {file}:{} {content} ({})", item["lineNumber"], word(&item["model"]))
    };
    data["items"].as_array().unwrap().iter().map(line).collect()
}

fn answer(items: &[Value], tokens: u64) -> (u16, String) {
    said(&json!({ "items": items }).to_string(), tokens)
}

fn said(content: &str, tokens: u64) -> (u16, String) {
    let message = json!({ "message": { "role": "assistant", "content": content } });
    (200, json!({ "choices": [message], "usage": { "total_tokens": tokens } }).to_string())
}

fn item(section: usize, kind: &str, quote: &str) -> Value {
    json!({ "section": section, "type": kind, "title": "A title", "quote": quote })
}

fn both() -> Vec<Value> {
    vec![
        item(1, "claim", "The renderer keeps every font in memory."),
        item(2, "decision", "State lives in one file next to the program."),
    ]
}

const BOTH: [&str; 2] = [
    "claim plan.md:3 The renderer keeps every font in memory. (small)",
    "decision plan.md:7 State lives in one file next to the program. (small)",
];

fn tokens(place: &Place) -> u64 {
    place.rows("SELECT tokens FROM llm_usage").first().map_or(0, |tokens| tokens.parse().unwrap())
}

#[test]
fn each_item_cites_its_line_and_a_second_run_asks_nothing() {
    let mut told = both();
    told.push(item(1, "claim", "The renderer keeps no font in memory."));
    told.push(item(7, "claim", "The renderer keeps every font in memory."));
    let (url, asked) = server(vec![answer(&told, 321)]);
    let (mut place, folder) = (with_model(&url, &[]), tempfile::tempdir().unwrap());
    write(folder.path(), "plan.md", &format!("{PLAN}\nkey: ghp_0123456789abcdefghijklmnopqrstuvwxyz\n"));
    write(folder.path(), "private.md", "---\nprivate: true\n---\n\nMara pays for all of it in cash.\n");
    write(folder.path(), "src/main.rs", "fn main() {} // the queue is small\n");
    let report = extract(&mut place, folder.path());
    let counts = (report.sections, report.added, report.refused, report.private, report.by.as_str());
    assert_eq!(counts, (2, 2, 2, 1, "small"));
    assert_eq!(items(&mut place), BOTH);
    let sent = asked.lock().unwrap()[0].clone();
    assert!(sent.contains("[2] plan.md: Storage"), "{sent}");
    for secret in ["ghp_0123", "Mara", "queue"] {
        assert!(!sent.contains(secret), "{secret}: {sent}");
    }
    assert_eq!(tokens(&place), 321, "the model says what it used");
    // They are found like any item.
    let hits =
        place.call("memory_search", json!({ "query": "fonts in memory", "scope": ["items"] })).data["hits"]
            .clone();
    assert_eq!((&hits[0]["path"], &hits[0]["lines"]), (&json!("plan.md"), &json!([3, 3])));
    // The server has no second answer.
    let again = extract(&mut place, folder.path());
    assert_eq!((again.sections, again.unchanged, again.added, again.removed), (0, 2, 0, 0));
    assert_eq!((items(&mut place), asked.lock().unwrap().len()), (BOTH.map(str::to_owned).to_vec(), 1));
    place.check();
}

#[test]
fn no_model_is_asked_unless_the_settings_name_one() {
    let (url, asked) = server(vec![answer(&both(), 1)]);
    let (mut place, folder) = (with_model(&url, &[]), tempfile::tempdir().unwrap());
    write(folder.path(), "plan.md", PLAN);
    assert!(try_extract(&mut place, folder.path(), ModelOptions::default()).unwrap().is_none());
    assert_eq!((asked.lock().unwrap().len(), items(&mut place)), (0, vec![]));
    let mut place =
        with_model(&url, &["extract.by=\"llm\"", "llm.url=\"http://127.0.0.1:9/v1\"", "llm.model=\"small\""]);
    assert_eq!(try_extract(&mut place, folder.path(), ModelOptions::default()).unwrap().unwrap().added, 2);
    let mut place = Place::new();
    for by in [ExtractBy::Llm, ExtractBy::Command] {
        let options = ModelOptions { by: Some(by), again: false };
        assert_eq!(try_extract(&mut place, folder.path(), options).unwrap_err().code(), "extract_by");
    }
}

#[test]
fn only_the_section_that_changed_is_sent_and_items_follow_their_file() {
    let more = [item(1, "decision", "State lives in two files next to the program.")];
    let (url, asked) = server(vec![answer(&both(), 1), answer(&more, 1), answer(&[], 1)]);
    let (mut place, folder) = (with_model(&url, &[]), tempfile::tempdir().unwrap());
    write(folder.path(), "plan.md", PLAN);
    extract(&mut place, folder.path());
    let before = place.rows("SELECT id FROM items WHERE type = 'claim'");
    // A line above moves the first item, and the statement of the second is gone.
    write(folder.path(), "plan.md", &format!("\n{}", PLAN.replace("one file", "two files")));
    let report = extract(&mut place, folder.path());
    assert_eq!((report.sections, report.unchanged, report.added), (1, 1, 1));
    let sent = asked.lock().unwrap()[1].clone();
    assert!(sent.contains("two files") && !sent.contains("every font"), "{sent}");
    let moved = "claim plan.md:4 The renderer keeps every font in memory. (small)";
    let second = "decision plan.md:8 State lives in two files next to the program. (small)";
    assert_eq!(items(&mut place), [moved, second]);
    assert_eq!(place.rows("SELECT id FROM items WHERE type = 'claim'"), before, "an item keeps its id");
    // A section that is read again without an item replaces what it gave.
    let again = ModelOptions { again: true, ..by_llm() };
    let report = try_extract(&mut place, folder.path(), again).unwrap().unwrap();
    assert_eq!((report.sections, report.removed, items(&mut place)), (2, 2, vec![]));
    // The file is gone.
    let (url, _) = server(vec![answer(&both(), 1), answer(&both(), 1)]);
    let mut place = with_model(&url, &[]);
    write(folder.path(), "plan.md", PLAN);
    write(folder.path(), "other.md", "# Other\n\nNothing of note is here.\n");
    // The sections of `other.md` come first.
    extract(&mut place, folder.path());
    fs::remove_file(folder.path().join("plan.md")).unwrap();
    extract(&mut place, folder.path());
    assert_eq!(items(&mut place), Vec::<String>::new());
    assert_eq!(place.rows("SELECT path FROM item_sections"), ["other.md"]);
    place.check();
}

#[test]
fn what_a_rule_finds_is_not_found_twice() {
    let decided =
        "# Plan\n\nDecision: we use one worker per queue.\n\nWorkers are started by the shop alone.\n";
    let told = [
        item(1, "decision", "we use one worker per queue"),
        item(1, "claim", "Workers are started by the shop alone."),
    ];
    let (url, _) = server(vec![answer(&told, 1)]);
    let (mut place, folder) = (with_model(&url, &[]), tempfile::tempdir().unwrap());
    write(folder.path(), "plan.md", decided);
    let report = extract(&mut place, folder.path());
    assert_eq!((report.added, report.same), (1, 1));
    let by_rule = "decision plan.md:3 we use one worker per queue. (rules)";
    assert_eq!(
        items(&mut place),
        [by_rule, "claim plan.md:5 Workers are started by the shop alone. (small)"]
    );
    // The person labels the statement: a rule finds it now, and the model's item goes.
    write(folder.path(), "plan.md", &decided.replace("Workers are", "Assumption: Workers are"));
    let caller = person(&place);
    nacre::project::extract(&mut place.view_of(&caller), folder.path(), None, &mut |_| {}).unwrap();
    let labelled = "claim plan.md:5 Workers are started by the shop alone. (rules)";
    assert_eq!(items(&mut place), [by_rule, labelled]);
    place.check();
}

#[test]
fn a_failure_is_named_and_nothing_is_half_stored() {
    let failures = [
        ((500, "{}".to_owned()), "provider_down"),
        ((401, "{}".to_owned()), "provider_denied"),
        ((200, "<html>".to_owned()), "provider_answer"),
        (said("I would keep the fonts.", 9), "extract_answer"),
        (said("{\"items\": \"fonts\"}", 9), "extract_answer"),
    ];
    for (response, code) in failures {
        let (url, _) = server(vec![response, answer(&both(), 9)]);
        let (mut place, folder) = (with_model(&url, &[]), tempfile::tempdir().unwrap());
        write(folder.path(), "plan.md", &format!("{PLAN}\nTODO: buy the fonts first\n"));
        let failed = try_extract(&mut place, folder.path(), by_llm()).unwrap_err();
        assert_eq!(failed.code(), code, "{failed}");
        let by_rule = "task plan.md:9 buy the fonts first (rules)";
        assert_eq!(items(&mut place), [by_rule], "{code}: the rules need no model");
        assert_eq!(place.rows("SELECT * FROM item_sections"), Vec::<String>::new());
        assert_eq!(extract(&mut place, folder.path()).added, 2, "{code}: the next run reads it");
    }
}

#[test]
fn the_limit_of_the_day_stops_before_it_is_exceeded() {
    // Each document fills a request of its own.
    let (url, asked) = server(vec![answer(&[], 9_000); 5]);
    let limit = 30_000;
    let (mut place, folder) =
        (with_model(&url, &[&format!("llm.daily_tokens={limit}")]), tempfile::tempdir().unwrap());
    let pages = "A paragraph of a few words, again and again.\n\n".repeat(120);
    for name in ["a.md", "b.md", "c.md", "d.md", "e.md", "f.md", "g.md", "h.md"] {
        write(folder.path(), name, &format!("# {name}\n\n{pages}"));
    }
    let refused = try_extract(&mut place, folder.path(), by_llm()).unwrap_err();
    assert_eq!(refused.code(), "token_limit", "{refused}");
    let requests = asked.lock().unwrap().len();
    assert_eq!(
        tokens(&place),
        9_000 * requests as u64,
        "nothing was reserved for the request that was not sent"
    );
    assert!(requests > 0 && tokens(&place) <= limit);
    let read = place.rows("SELECT path FROM item_sections").len();
    assert!(read > 0 && read < 8, "{read} were read and stay read");
    // The limit is the one of summaries and distillation.
    let used = nacre::status(&place.view()).unwrap().tokens.unwrap();
    assert_eq!((used.requests, used.tokens), (requests as u64, tokens(&place)));
    place.later(1);
    let rest = extract(&mut place, folder.path());
    assert_eq!((rest.sections, rest.unchanged), (8 - read, read), "a day later it goes on behind them");
}
