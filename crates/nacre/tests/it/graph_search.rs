//! The graph among what a search finds, and links between entries.

use nacre::Caller;
use serde_json::{Value, json};

use crate::graph_recall::write;
use crate::sealed::{Place, is_without_folder, noon};

fn agent(settings: &[&str]) -> Place {
    let mut place = Place::of_person_with(settings);
    place.caller = Caller::agent("finding".parse().unwrap(), noon());
    place
}

fn found(place: &mut Place, arguments: Value) -> Vec<String> {
    let found = place.call("memory_search", arguments).data;
    found["hits"].as_array().unwrap().iter().map(|hit| hit["text"].as_str().unwrap().to_owned()).collect()
}

fn by_hand(place: &mut Place, work: impl FnOnce(&mut Place)) {
    let caller = place.caller.clone();
    place.caller = Caller::person("by-hand".parse().unwrap(), caller.now);
    work(place);
    place.caller = caller;
}

fn known(settings: &[&str]) -> Place {
    let mut place = agent(settings);
    place.set("Anna Berg", "phone", "555 0101");
    place.set("Anna Berg", "city", "Oslo");
    place.set("Keystone", "port", "3000");
    by_hand(&mut place, |place| {
        place.alias("Mama", "Anna Berg");
        place.relate("Anna Berg", "owns", "Keystone");
    });
    place
}

#[test]
fn facts_are_found_by_alias_and_relations_from_either_end() {
    let mut place = known(&[]);
    place.store("Mama likes tulips and long walks by the sea");
    for (query, expected) in [
        ("what is mama's phone number?", "Anna Berg: phone = 555 0101"),
        ("who owns Keystone?", "Anna Berg owns Keystone"),
    ] {
        let answer = place.call("memory_search", json!({ "query": query })).data;
        let first = &answer["hits"][0];
        assert_eq!(first["text"], expected, "{query}");
        assert!(first["why"].to_string().contains("graph"), "{first}");
        assert!(matches!(first["kind"].as_str(), Some("fact" | "relation")), "{first}");
    }
    // Where the lane is off, words and meaning are what is left: an alias is neither.
    let mut place = known(&["graph.lane=false"]);
    let answer = place.call("memory_search", json!({ "query": "what is mama's phone number?" })).data;
    assert!(!answer["hits"].to_string().contains("\"graph\""), "{answer}");
    // A scope without the graph has none of it.
    let scope = json!({ "query": "Anna Berg's phone", "scope": ["entries"] });
    assert_eq!(found(&mut known(&[]), scope), [] as [&str; 0]);
}

#[test]
fn a_line_that_a_fact_replaced_was_dropped_instead_of_shown_as_older() {
    let mut place = agent(&[]);
    let path = place.group.folder().join("keystone.md");
    write(&path, "# Keystone\n\n- port: 3000\n");
    place.call("memory_search", json!({ "query": "Keystone" }));
    let query = json!({ "query": "what port does Keystone use?" });
    assert!(found(&mut place, query.clone()).iter().any(|text| text.contains("# Keystone")));

    place.later(1).set("Keystone", "port", "4100");
    let now = found(&mut place, query.clone());
    assert_eq!(now[0], "Keystone: port = 4100");
    assert!(now[1..].iter().any(|text| text.contains("3000")), "{now:?}");
    let answer = place.call("memory_search", query.clone());
    let hits = answer.data["hits"].as_array().unwrap();
    let older = hits.iter().find(|hit| hit["text"].as_str().unwrap().contains("3000")).unwrap();
    assert_eq!(older["newer"]["id"], hits[0]["id"], "{}", answer.text);
    // Said again, what the document says holds again.
    place.later(1).set("Keystone", "port", "3000");
    let again = found(&mut place, query);
    assert!(again.iter().any(|text| text.contains("# Keystone")), "{again:?}");
    place.check();
}

/// Writes documents into a new home, asks, and expects the line that has the answer among the hits.
fn check_documents_answer(documents: &[(&str, &str)], query: &str, expected: &str) {
    for profile in ["balanced", "nanoclaw"] {
        let mut place = Place::with(profile, &[]);
        for (path, text) in documents {
            write(&place.group.folder().join(path), text);
        }
        let answer = place.call("memory_search", json!({ "query": query }));
        let hits = answer.data["hits"].as_array().unwrap();
        let shown = hits.iter().any(|hit| hit["text"].as_str().unwrap().contains(expected));
        assert!(shown, "{profile}: {query}: {}", answer.text);
        assert!(!answer.text.contains("Nothing found"), "{profile}: {}", answer.text);
    }
}

#[test]
fn a_name_in_user_md_silenced_the_log_that_names_the_dentist() {
    let documents = [
        ("USER.md", "# User\n\n- Name: Ana Kovac\n"),
        ("memory/2026-01-03.md", "# 2026-01-03\n\n- Our dentist is Dr. Blum.\n"),
    ];
    check_documents_answer(&documents, "who is our dentist?", "Dr. Blum");
}

#[test]
fn an_nda_with_a_company_that_is_no_entity_was_silenced() {
    let documents = [
        ("USER.md", "# User\n\n- Name: Ana Kovac\n"),
        ("MEMORY.md", "# Memory\n\n## Contracts\n\n- Corvin Labs NDA ends 30 April 2027\n"),
    ];
    check_documents_answer(&documents, "until when does my NDA with Corvin Labs run?", "30 April 2027");
}

#[test]
fn the_mobile_number_of_a_boss_who_is_no_entity_was_silenced() {
    let documents = [
        ("USER.md", "# User\n\n- Name: Ana Kovac\n"),
        (
            "memory/2026-01-04.md",
            "# 2026-01-04\n\n- My new boss Henrik Dahl can be reached on 0471 55 02 13.\n",
        ),
    ];
    check_documents_answer(&documents, "my boss's mobile?", "0471 55 02 13");
}

#[test]
fn a_brother_in_law_was_silenced_because_nobody_is_called_law() {
    let documents = [
        ("USER.md", "# User\n\n- Name: Ana Kovac\n"),
        ("memory/family.md", "# Family\n\nJoost, my brother-in-law, has the number 0472 90 14 36.\n"),
    ];
    check_documents_answer(&documents, "what's my brother-in-law's phone number?", "0472 90 14 36");
}

#[test]
fn a_search_shows_what_words_found_and_notes_what_the_graph_lacks() {
    let mut place = known(&[]);
    place.store("Mama's birthday cake should be lemon");
    let query = json!({ "query": "what is Mama's birthday?" });
    let answer = place.call("memory_search", query.clone());
    assert_eq!(answer.data["hits"][0]["text"], "Mama's birthday cake should be lemon");
    assert_eq!(answer.data["note"], "the graph has no `birthday` for `Anna Berg`");
    assert!(
        answer.text.starts_with("Note: the graph has no `birthday` for `Anna Berg`.\n"),
        "{}",
        answer.text
    );
    // Where the graph answers, it lacks nothing.
    place.set("Anna Berg", "birthday", "3 March");
    assert_eq!(place.call("memory_search", query).data["note"], Value::Null);
    // The graph alone still answers nothing for what it does not know.
    let told = place.call("graph_search", json!({ "query": "what is Mama's height?" })).data;
    assert_eq!(told["known"], json!([]), "{told}");
}

#[test]
fn a_reindex_changes_no_answer() {
    let mut place = known(&[]);
    place.later(1).set("Keystone", "port", "4100");
    let queries =
        ["mama's phone", "Keystone port", "who owns Keystone?", "Oslo", "where does Anna Berg live?", "3000"];
    let answers = |place: &mut Place| -> Vec<Value> {
        let hits = |answer: Value| -> Value {
            answer["hits"].as_array().unwrap().iter().map(|hit| json!([hit["id"], hit["text"]])).collect()
        };
        let search = |place: &mut Place, query: &str| {
            hits(place.call("memory_search", json!({ "query": query })).data)
        };
        queries.iter().map(|query| json!([search(place, query), place.ask(query)])).collect()
    };
    let before = answers(&mut place);
    let caller = place.caller.clone();
    nacre::reindex(&mut place.view_of(&caller)).unwrap();
    assert_eq!(answers(&mut place), before);
    place.check();
    place.reopen();
    assert_eq!(answers(&mut place), before);
}

#[test]
fn searches_of_agents_activate_and_those_of_people_do_not() {
    let mut place = known(&[]);
    let count = |place: &mut Place| {
        place.view().settle().unwrap();
        let mut count = Value::Null;
        by_hand(place, |place| count = place.fact("Anna Berg", "phone")["access_count"].take());
        count
    };
    by_hand(&mut place, |place| drop(place.call("memory_search", json!({ "query": "Mama's phone" }))));
    assert_eq!(count(&mut place), 0);
    place.call("memory_search", json!({ "query": "Mama's phone" }));
    assert_eq!(count(&mut place), 1);
}

#[test]
fn entries_that_came_together_bring_each_other() {
    if is_without_folder() {
        return;
    }
    let mut place = agent(&[]);
    let tulips = place.store("The walrus eats clams at noon");
    let second = place.store("A walrus keeper wears yellow boots");
    place.store("Taxes are due in April");
    let alone = |place: &mut Place| place.found(json!({ "query": "clams at noon", "limit": 5 }));
    let before = alone(&mut place);
    assert!(before.starts_with(&[tulips]), "{before:?}");
    for day in 0..3 {
        place.caller.now = noon().plus_days(day);
        place.found(json!({ "query": "walrus" }));
        place.store(&format!("Day {day} went by without anything to say"));
    }
    let links: f64 = {
        let db = rusqlite::Connection::open(place.group.folder().join("memory.db")).unwrap();
        db.query_row("SELECT max(strength) FROM entry_links", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(links, 3.0);
    let after = alone(&mut place);
    assert!(after.contains(&second), "{after:?}");
    // One that is gone brings nobody and is brought by nobody.
    place.call("memory_delete", json!({ "id": second }));
    assert!(!alone(&mut place).contains(&second));
    place.check();
}
