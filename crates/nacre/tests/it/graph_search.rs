//! The graph among what a search finds, and links between entries (SPEC Q2, E10).

use nacre::Caller;
use serde_json::{Value, json};

use crate::graph_recall::write;
use crate::sealed::{Place, noon};

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
fn what_was_replaced_does_not_come_back_through_a_document_that_still_says_it() {
    let mut place = agent(&[]);
    let path = place.group.folder().join("keystone.md");
    write(&path, "# Keystone\n\n- port: 3000\n");
    place.call("memory_search", json!({ "query": "Keystone" }));
    let query = json!({ "query": "what port does Keystone use?" });
    assert!(found(&mut place, query.clone()).iter().any(|text| text.contains("# Keystone")));

    place.later(1).set("Keystone", "port", "4100");
    let now = found(&mut place, query.clone());
    assert_eq!(now[0], "Keystone: port = 4100");
    assert!(!now.iter().any(|text| text.contains("3000")), "{now:?}");
    let all =
        found(&mut place, json!({ "query": "what port does Keystone use?", "include_superseded": true }));
    assert!(all.iter().any(|text| text.contains("3000")), "{all:?}");
    // Said again, what the document says holds again.
    place.later(1).set("Keystone", "port", "3000");
    let again = found(&mut place, query);
    assert!(again.iter().any(|text| text.contains("# Keystone")), "{again:?}");
    place.check();
}

#[test]
fn a_search_is_silent_with_a_reason_where_somebody_is_known_and_not_what_is_asked() {
    let mut place = known(&[]);
    place.store("The dentist has moved to Main Street");
    let answer = place.call("memory_search", json!({ "query": "what is Mama's birthday?" })).data;
    assert_eq!(answer["hits"], json!([]), "{answer}");
    assert!(answer["note"].as_str().unwrap().contains("Anna Berg"), "{answer}");
    // What speaks of her and of it is no matter of the graph.
    place.store("Mama's birthday is the 3rd of March");
    assert_eq!(found(&mut place, json!({ "query": "what is Mama's birthday?" })).len(), 1);
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
    place.group.reindex(&caller).unwrap();
    assert_eq!(answers(&mut place), before);
    place.check();
    place.reopen();
    assert_eq!(answers(&mut place), before);
}

#[test]
fn searches_of_agents_activate_and_those_of_people_do_not() {
    let mut place = known(&[]);
    let count = |place: &mut Place| {
        let now = place.caller.now;
        place.group.settle(now).unwrap();
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
fn e10_entries_that_came_together_bring_each_other() {
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
