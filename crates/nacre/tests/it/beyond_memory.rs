//! Groups whose vectors do not fit into the memory of a server: searched by reading from the database.
#![expect(clippy::disallowed_methods, reason = "a test writes files as any editor does")]

use std::collections::BTreeSet;
use std::sync::Arc;

use nacre::{Caller, Embedder, MemoryBudget, Result, Visibility};
use serde_json::{Value, json};

use crate::sealed::{Engine, Place, noon};

/// More than the passages whose vectors are all read for one search.
const MESSAGES: usize = 4_400;

const SCOPE: [&str; 3] = ["entries", "memory", "sessions"];

const WHO: [&str; 12] =
    ["Ada", "Bruno", "Carla", "Dimitri", "Elena", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Karin", "Luis"];
const DO: [&str; 14] = [
    "bought",
    "lost",
    "painted",
    "cooked",
    "repaired",
    "photographed",
    "borrowed",
    "cleaned",
    "sold",
    "measured",
    "planted",
    "packed",
    "carried",
    "washed",
];
const WHAT: [&str; 24] = [
    "a bicycle",
    "the kitchen",
    "some bread",
    "a guitar",
    "two tickets",
    "the garden",
    "a novel",
    "old shoes",
    "a camera",
    "the dentist's bill",
    "a boat",
    "tomato soup",
    "the fence",
    "a laptop",
    "winter coats",
    "a telescope",
    "the roof",
    "an umbrella",
    "fresh fish",
    "a violin",
    "the engine",
    "apple trees",
    "a suitcase",
    "the curtains",
];
const WHERE: [&str; 12] = [
    "in Lisbon",
    "at the harbour",
    "near the station",
    "in the mountains",
    "behind the school",
    "in Kyoto",
    "at the market",
    "in the cellar",
    "on the island",
    "in the library",
    "at work",
    "by the river",
];
const WHEN: [&str; 8] = [
    "yesterday",
    "in May",
    "after lunch",
    "because it rained",
    "before the holidays",
    "on Sunday",
    "at dawn",
    "during the concert",
];

const QUESTIONS: [&str; 12] = [
    "Who repaired the boat at the harbour?",
    "What did Greta plant in the garden?",
    "When was the telescope sold in Kyoto?",
    "Did anybody photograph the fence?",
    "the dentist's bill near the station",
    "Which fish did Luis cook on the island?",
    "umbrella during the concert",
    "Elena borrowed a violin by the river",
    "Who cleaned the kitchen before the holidays?",
    "tickets to the concert in Lisbon",
    "What did Jonas carry in the mountains?",
    "repair of the engine",
];

/// Returns a conversation of this many messages.
fn talk(messages: usize) -> String {
    let mut seed = 7u32;
    let mut pick = |words: &[&'static str]| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        words[(seed >> 16) as usize % words.len()]
    };
    let mut talk = String::new();
    for number in 0..messages {
        let said: Vec<String> = (0..1 + number % 2)
            .map(|_| [pick(&WHO), pick(&DO), pick(&WHAT), pick(&WHERE), pick(&WHEN)].join(" "))
            .collect();
        let line = json!({
            "id": format!("m{number}"), "session": format!("s{}", number / 20), "text": said.join(". "),
            "role": if number % 2 == 0 { "user" } else { "assistant" },
            "timestamp": format!("2025-{:02}-{:02}T12:00:00Z", number / 500 % 12 + 1, number / 20 % 28 + 1),
        });
        talk += &format!("{line}\n");
    }
    talk
}

/// Returns a place with a long conversation.
fn talked(engine: Engine) -> Option<Place> {
    let mut place = Place::on(engine, "balanced", &[])?;
    place.caller = Caller::person("test-session".parse().unwrap(), noon());
    let caller = place.caller.clone();
    let text = talk(MESSAGES);
    nacre::session::import_transcript(&mut place.view_of(&caller), text.as_bytes(), "talk", |_| {}).unwrap();
    Some(place)
}

impl Place {
    /// Opens the group again with a memory of this many bytes for vectors.
    fn limit_memory(&mut self, bytes: usize) {
        self.home = self.home.clone().with_memory(MemoryBudget::new(bytes));
        self.reopen();
    }

    fn search_all(&mut self, query: &str) -> Value {
        self.call("memory_search", json!({ "query": query, "scope": SCOPE, "explain": true })).data
    }

    fn search_as(&mut self, caller: &Caller, query: &str) -> String {
        let arguments = json!({ "query": query, "scope": SCOPE });
        nacre::call(&mut self.view_of(caller), "memory_search", arguments).unwrap().data.to_string()
    }
}

fn ids(found: &Value) -> Vec<String> {
    let hits = found["hits"].as_array().unwrap();
    hits.iter().map(|hit| hit["message"].as_str().or(hit["id"].as_str()).unwrap().to_owned()).collect()
}

/// Returns the similarity of the best hit.
fn similarity(found: &Value) -> Option<f64> {
    found["hits"][0]["why"].as_array().unwrap().iter().find_map(|why| why["similarity"].as_f64())
}

fn missing(found: &Value) -> String {
    found["missing"].to_string()
}

/// Compares the hits with those of a search that has all vectors in memory.
#[test]
fn a_search_beyond_memory_missed_the_hits_that_share_words() {
    let mut place = talked(Engine::Sqlite).unwrap();
    let full: Vec<Value> = QUESTIONS.iter().map(|question| place.search_all(question)).collect();
    assert!(full.iter().all(|found| !missing(found).contains("serve.memory")));
    place.limit_memory(1);
    let (mut equal, mut all) = (0, 0);
    for (question, full) in QUESTIONS.iter().zip(full) {
        let found = place.search_all(question);
        let said = missing(&found);
        assert!(
            said.contains(&format!("{MESSAGES} passages")) && said.contains("raise `serve.memory`"),
            "{said}"
        );
        // Its meaning counts as much as it does in memory.
        assert_eq!(similarity(&full), similarity(&found), "{question}");
        let (full, found) = (ids(&full), ids(&found));
        assert_eq!(full[0], found[0], "{question}");
        let best: BTreeSet<&String> = full.iter().take(10).collect();
        equal += found.iter().take(10).filter(|id| best.contains(id)).count();
        all += best.len();
    }
    assert!(equal * 100 >= all * 95, "{equal} of {all}");
    assert_eq!(place.home.memory().used(), 0);
    assert_eq!(place.home.memory().searches_beyond(), QUESTIONS.len() as u64);
}

#[test]
fn the_engines_answered_differently_beyond_memory() {
    let Some(mut postgres) = talked(Engine::Postgres) else { return };
    let mut sqlite = talked(Engine::Sqlite).unwrap();
    for place in [&mut sqlite, &mut postgres] {
        place.limit_memory(1);
        place.store("Greta keeps the key of the boat at the harbour");
        place.store("Always answer in one sentence when I ask about the boat");
    }
    for question in QUESTIONS {
        let (expected, found) = (sqlite.search_all(question), postgres.search_all(question));
        assert_eq!(found["hits"].as_array().unwrap().len(), expected["hits"].as_array().unwrap().len());
        for (expected, found) in
            expected["hits"].as_array().unwrap().iter().zip(found["hits"].as_array().unwrap())
        {
            for field in ["kind", "text", "score", "relevance", "why", "explain"] {
                assert_eq!(found[field], expected[field], "{question}");
            }
        }
        assert_eq!(missing(&found), missing(&expected));
    }
    for place in [&mut sqlite, &mut postgres] {
        place.check();
    }
}

fn filters(engine: Engine) {
    let Some(mut place) = talked(engine) else { return };
    place.store("Greta keeps the key of the boat at the harbour");
    place.call(
        "memory_store",
        json!({ "content": "Ines likes boats", "type": "preference", "tags": ["sea"] }),
    );
    let mut ask = |bytes: usize| {
        place.limit_memory(bytes);
        [json!({ "type": "fact" }), json!({ "tags": ["sea"] }), json!({ "include_superseded": true })].map(
            |filter| {
                let mut arguments =
                    json!({ "query": "Who has the key of the boat?", "scope": SCOPE, "explain": true });
                arguments.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
                place.call("memory_search", arguments).data
            },
        )
    };
    let (full, beyond) = (ask(0), ask(1));
    assert_eq!(full, beyond, "a filter needs all rows, so that everything is compared");
    assert_eq!(full[1]["hits"][0]["text"], "Ines likes boats");
}

#[test]
fn a_filter_left_out_hits_beyond_memory() {
    filters(Engine::Sqlite);
}

#[test]
fn a_filter_left_out_hits_beyond_memory_on_a_server() {
    filters(Engine::Postgres);
}

fn never_comes_back(engine: Engine) {
    let Some(mut place) = talked(engine) else { return };
    place.limit_memory(1);
    let moved = place.store("The spare zeppelin is parked in the north hangar");
    let gone = place.store("The zeppelin's pilot drinks mint tea");
    assert!(place.search_all("zeppelin").to_string().contains("mint tea"), "a write is found at once");
    let newer = json!({ "content": "The spare zeppelin is parked in the south hangar", "supersedes": moved });
    place.call("memory_store", newer);
    place.call("memory_delete", json!({ "id": gone.to_string() }));
    let agent =
        Caller { visibility: Visibility::Private, ..Caller::agent("private-one".parse().unwrap(), noon()) };
    let secret = json!({ "content": "The zeppelin's owner is called Wanda" });
    nacre::call(&mut place.view_of(&agent), "memory_store", secret).unwrap();
    for question in ["zeppelin", "Where is the spare zeppelin parked?", "zeppelin owner Wanda pilot tea"] {
        let found = place.search_all(question).to_string();
        assert!(found.contains("south hangar") && found.contains("serve.memory"), "{found}");
        assert!(!found.contains("north hangar") && !found.contains("mint tea"), "{found}");
        let shared = Caller { visibility: Visibility::Shared, ..place.caller.clone() };
        let seen = place.search_as(&shared, question);
        assert!(seen.contains("south hangar") && !seen.contains("Wanda"), "{seen}");
    }
    let request = nacre::turn::Request::new("Where did we park the spare zeppelin?");
    let turn = nacre::turn::run(&mut place.view(), &request).unwrap().markdown;
    assert!(turn.contains("south hangar") && !turn.contains("north hangar"), "{turn}");
    // A superseded memory is found if it is asked for, and then everything is compared.
    let arguments = json!({ "query": "spare zeppelin", "include_superseded": true });
    assert!(place.call("memory_search", arguments).data.to_string().contains("north hangar"));
    let found = place.call("memory_search", json!({ "query": "zeppelin owner", "type": "fact" })).data;
    assert!(found.to_string().contains("Wanda") && !found.to_string().contains("mint tea"), "{found}");
    place.check();
}

#[test]
fn something_that_was_hidden_came_back_beyond_memory() {
    never_comes_back(Engine::Sqlite);
}

#[test]
fn something_that_was_hidden_came_back_beyond_memory_on_a_server() {
    never_comes_back(Engine::Postgres);
}

/// A model whose vectors say what a text is about, in words that the built-in one does not connect.
struct Animals;

impl Embedder for Animals {
    fn dims(&self) -> usize {
        3
    }

    fn version(&self) -> &str {
        "animals"
    }

    fn embed_query(&self, text: &str, _: &mut dyn FnMut(&str) -> f32) -> Result<Vec<f32>> {
        let has = |words: [&str; 2]| f32::from(u8::from(words.iter().any(|word| text.contains(word))));
        Ok(vec![has(["heron", "float"]), has(["camel", "sand"]), 0.1])
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        texts.iter().map(|text| self.embed_query(text, &mut |_| 1.0)).collect()
    }
}

/// Fewer passages than are read one by one: nothing is left out, so that answers are the same to the last digit.
fn small(engine: Engine) {
    let Some(mut place) = Place::on(engine, "balanced", &[]) else { return };
    place.caller = Caller::person("test-session".parse().unwrap(), noon());
    let notes: String = (0..120)
        .map(|number| {
            format!("## Day {number}\n\n- {} {} {number} times.\n\n", WHO[number % 12], DO[number % 14])
        })
        .collect();
    std::fs::create_dir_all(place.group.folder()).unwrap();
    std::fs::write(place.group.folder().join("notes.md"), format!("# Notes\n\n{notes}")).unwrap();
    for what in WHAT {
        place.store(&format!("Karin wants {what} as a present"));
    }
    place.store("The heron is grey");
    place.store("The camel is brown");
    place.home = place.home.clone().with_embedder(Arc::new(Animals));
    place.reopen();
    place.search_all("camel");
    nacre::workspace::embed_lines(&mut place.view(), usize::MAX, &mut |_, _| {
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    nacre::collection::embed(&mut place.view(), usize::MAX, &mut |_| {}).unwrap();
    let questions =
        ["What can float?", "Who sold a present 44 times?", "sand", "Karin's instrument", "Ada painted"];
    place.limit_memory(0);
    let full: Vec<Value> = questions.iter().map(|question| place.search_all(question)).collect();
    assert!(place.home.memory().used() > 0, "a limit of 0 limits nothing");
    assert_eq!(full[0]["hits"][0]["text"], "The heron is grey");
    assert_eq!(place.home.memory().searches_beyond(), 0);
    place.limit_memory(1);
    for (question, full) in questions.iter().zip(full) {
        assert_eq!(place.search_all(question), full, "{question}");
    }
    assert_eq!((place.home.memory().used(), place.home.memory().searches_beyond()), (0, 5));
    place.check();
}

#[test]
fn a_small_group_beyond_memory_lost_a_hit() {
    small(Engine::Sqlite);
}

#[test]
fn a_small_group_beyond_memory_lost_a_hit_on_a_server() {
    small(Engine::Postgres);
}

#[test]
fn a_provider_was_not_asked_beyond_memory() {
    let mut place = talked(Engine::Sqlite).unwrap();
    place.store("The heron near the jetty is grey");
    place.store("The jetty is closed on Sunday");
    place.home = place.home.clone().with_embedder(Arc::new(Animals));
    place.limit_memory(1);
    nacre::collection::embed(&mut place.view(), usize::MAX, &mut |_| {}).unwrap();
    let found = place.search_all("What can float near the jetty?");
    let heron =
        found["hits"].as_array().unwrap().iter().find(|hit| hit["text"].to_string().contains("heron"));
    let similarity =
        heron.unwrap()["why"].as_array().unwrap().iter().find_map(|why| why["similarity"].as_f64());
    assert!(similarity.unwrap() > 0.9, "{heron:?}");
}

#[test]
fn a_group_that_fits_again_was_still_read_from_the_database() {
    let mut place = talked(Engine::Sqlite).unwrap();
    place.limit_memory(MESSAGES * 3 / 2 * 264);
    let (found, budget) = (place.search_all(QUESTIONS[0]), place.home.memory());
    assert!(!missing(&found).contains("serve.memory"), "{found}");
    assert!(budget.used() >= MESSAGES * 264 && budget.used() <= budget.limit());
    let mut second = place.home.group(&"main".parse().unwrap(), noon()).unwrap();
    let arguments = json!({ "query": QUESTIONS[0], "scope": ["sessions"] });
    let caller = place.caller.clone();
    let ask = |group: &mut nacre::Group| {
        missing(
            &nacre::call(&mut group.enter(&caller).unwrap(), "memory_search", arguments.clone())
                .unwrap()
                .data,
        )
    };
    assert!(ask(&mut second).contains("serve.memory"), "there is room for one of the two");
    place.group.release_vectors();
    assert!(!ask(&mut second).contains("serve.memory"));
    assert!(ask(&mut place.group).contains("serve.memory"));
}
