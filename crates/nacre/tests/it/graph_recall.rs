//! Questions to the graph: whom they name, what they ask, and what comes first. What went
//! wrong in the design's first code has a test here by its name.

use nacre::{Caller, Time};
use serde_json::{Value, json};

use crate::sealed::{Place, noon};

/// A place where a few people and machines are known.
fn known() -> Place {
    let mut place = Place::of_person();
    for (entity, key, value, category) in [
        ("Anna Berg", "phone", "555 0101", "family"),
        ("Anna Berg", "birthday", "3 March", "family"),
        ("Anna Berg", "birthplace", "Bergen", "family"),
        ("Anna Berg", "email", "anna@example.org", "family"),
        ("Keystone", "port", "3000", "project"),
        ("Keystone", "stack", "Rust and SQLite", "project"),
        ("Keystone", "full_name", "Keystone Billing", "project"),
        ("Heron", "port", "4100", "project"),
        ("Ida Holm", "timezone", "Europe/Oslo", "user"),
        ("Ida Holm", "name", "Ida Holm", "user"),
        ("Pearl", "name", "Pearl", "self"),
    ] {
        let fact = json!({ "entity": entity, "key": key, "value": value, "category": category });
        place.call("fact_upsert", fact);
    }
    place.relate("Keystone", "runs_on", "nas-01");
    place.relate("Anna Berg", "owns", "Keystone");
    place.alias("Annie", "Anna Berg");
    place
}

fn check(place: &mut Place, cases: &[(&str, &[&str])]) {
    for (query, expected) in cases {
        assert_eq!(place.ask(query), *expected, "{query}");
    }
}

#[test]
fn four_phases_have_their_scores() {
    let mut place = known();
    let mut score = |query: &str, text: &str| {
        let answer = place.told(query);
        let known = answer["known"].as_array().unwrap();
        let found =
            known.iter().find(|known| known["text"] == text).unwrap_or_else(|| panic!("{query}: {answer}"));
        (found["score"].as_f64().unwrap(), found["combined"].as_f64().unwrap() > 100.0)
    };
    for (query, text, expected) in [
        ("Keystone's port", "Keystone: port = 3000", (95.0, true)),
        ("who owns Keystone?", "Anna Berg owns Keystone", (90.0, true)),
        ("tell me about Keystone", "Keystone: port = 3000", (70.0, true)),
        ("Keystone", "Anna Berg owns Keystone", (65.0, true)),
        ("what is written with sqlite?", "Keystone: stack = Rust and SQLite", (50.0, false)),
        ("what runs on nas?", "Keystone runs on nas-01", (40.0, false)),
    ] {
        assert_eq!(score(query, text), expected, "{query}");
    }
}

#[test]
fn names_are_found_however_they_are_written() {
    let phone: &[&str] = &["Anna Berg: phone = 555 0101"];
    let mut place = known();
    for query in [
        "Anna Berg's phone",
        "anna berg’s phone number?",
        "ANNIE PHONE",
        "phone of annie",
        "how can I call Annie?",
        "what's Annie's number",
        "Annies phone",
        "Anie's phone",
    ] {
        assert_eq!(place.ask(query).first().map(String::as_str), Some(phone[0]), "{query}");
    }
}

// Defects of other systems.

#[test]
fn port_is_no_word_for_where_something_runs() {
    check(
        &mut known(),
        &[
            ("what port does Keystone use?", &["Keystone: port = 3000"]),
            ("port of keystone", &["Keystone: port = 3000"]),
            ("where does Keystone run?", &["Keystone runs on nas-01"]),
        ],
    );
}

#[test]
fn intent_words_are_whole_words() {
    let mut place = known();
    place.set("Keystone", "deliveries", "on Mondays");
    place.set("Keystone", "phone", "555 0199");
    check(
        &mut place,
        &[
            ("when are the deliveries of Keystone?", &["Keystone: deliveries = on Mondays"]),
            ("what is Keystone called in full?", &["Keystone: full name = Keystone Billing"]),
        ],
    );
    for (query, not) in [
        ("what was Annie called at work?", "phone"),
        ("the letter from Annie about her email", "birthplace"),
        ("how many emails, a number, did Annie write?", "phone"),
    ] {
        let answer = place.ask(query);
        assert!(answer.iter().all(|text| !text.contains(not)), "{query}: {answer:?}");
    }
}

#[test]
fn keys_have_no_wildcards() {
    let mut place = known();
    place.set("Keystone", "fullXname", "no");
    check(&mut place, &[("Keystone full_name", &["Keystone: full name = Keystone Billing"])]);
    assert_eq!(place.call("fact_list", json!({ "key": "p_rt" })).data["facts"], json!([]));
    assert_eq!(place.call("fact_list", json!({ "key": "%ort%" })).data["facts"], json!([]));
}

#[test]
fn every_value_of_a_key_comes_back() {
    let mut place = known();
    place.call("graph_rule", json!({ "multi": "phone" }));
    place.set("Annie", "phone", "555 0102");
    let answer = place.ask("Annie's phone");
    assert_eq!(answer.len(), 2, "{answer:?}");
}

#[test]
fn facts_by_words_come_by_how_well_they_fit() {
    let mut place = Place::of_person();
    place.set(
        "Gull",
        "note to self",
        "the walrus and many other animals are fed by someone or other on most days",
    );
    place.set("Tern", "feeds", "walrus");
    place.set("Skua", "remark", "a walrus was here and many another day went by without anybody at all");
    let told = place.told("feeds walrus");
    assert_eq!(told["known"][0]["text"], "Tern: feeds = walrus", "{told}");
}

#[test]
fn relations_are_found_by_their_object() {
    check(
        &mut known(),
        &[
            ("who owns keystone?", &["Anna Berg owns Keystone"]),
            ("what does Annie own?", &["Anna Berg owns Keystone"]),
            ("what runs on nas-01?", &["Keystone runs on nas-01"]),
        ],
    );
}

#[test]
fn an_alias_has_one_entity() {
    let mut place = known();
    let taken = json!({ "alias": "annie", "entity": "Heron" });
    let error = place.try_call("alias_add", taken).unwrap_err();
    assert_eq!(error.code(), "name_taken");
    assert!(error.to_string().contains("Anna Berg"), "it says whose it is: {error}");
}

#[test]
fn one_candidate_beside_the_question_does_not_silence_the_rest() {
    let mut place = known();
    place.set("Will", "city", "Rome");
    place.set("Python", "version", "3.14");
    check(&mut place, &[("will Keystone's port be open?", &["Keystone: port = 3000"])]);
    // Facts that have the words come although somebody else is named who has nothing to say to it.
    let answer = place.ask("did Heron ask which timezone Ida Holm has?");
    assert_eq!(answer.first().map(String::as_str), Some("Ida Holm: timezone = Europe/Oslo"));
}

#[test]
fn a_short_common_word_as_alias_hijacks_no_question() {
    let mut place = known();
    for (alias, entity) in [("Will", "Ida Holm"), ("May", "Heron"), ("Has", "Heron")] {
        place.alias(alias, entity);
    }
    assert_eq!(place.refused("alias_add", json!({ "alias": "IT", "entity": "Heron" })), "kept_out");
    for query in
        ["has anybody Annie's phone?", "will you find Annie's phone or not?", "may I have Annie's phone?"]
    {
        assert_eq!(place.ask(query)[0], "Anna Berg: phone = 555 0101", "{query}");
    }
    check(&mut place, &[("what timezone does Will have?", &["Ida Holm: timezone = Europe/Oslo"])]);
}

#[test]
fn my_is_the_users_when_the_user_asks_and_the_agents_when_the_agent_asks() {
    let mut place = known();
    let mut asked = |query: &str, of_agent: bool| {
        let answer = place.call("graph_search", json!({ "query": query, "of_agent": of_agent })).data;
        crate::graph::texts(&answer)
    };
    for (query, of_agent, expected) in [
        ("what is my name?", false, "Ida Holm: name = Ida Holm"),
        ("what is my name?", true, "Pearl: name = Pearl"),
        ("what is your name?", false, "Pearl: name = Pearl"),
        ("what is your name?", true, "Ida Holm: name = Ida Holm"),
        ("my timezone", false, "Ida Holm: timezone = Europe/Oslo"),
    ] {
        assert_eq!(asked(query, of_agent), [expected], "{query} {of_agent}");
    }
    for (query, of_agent, expected) in [("who am I?", false, "Ida Holm"), ("who am I?", true, "Pearl")] {
        let answer = asked(query, of_agent);
        assert!(!answer.is_empty() && answer.iter().all(|text| text.starts_with(expected)), "{answer:?}");
    }
}

#[test]
fn whos_asks_for_somebody_else_and_not_for_me() {
    let mut place = known();
    for query in ["who's Annie?", "who’s annie", "Who is Annie?", "whos Annie"] {
        let told = place.told(query);
        assert_eq!(told["entities"], json!(["Anna Berg"]), "{query}");
        assert!(told["known"].as_array().unwrap().len() >= 4, "{query}");
    }
}

#[test]
fn activation_outranks_no_exact_match() {
    let mut place = known();
    for minute in 0..20 {
        place.caller.now = noon().plus_days(minute);
        place.ask("Annie's birthday");
        place.set("Clock", "day", &minute.to_string());
    }
    assert!(place.fact("Annie", "birthday")["activation"].as_f64() > Some(4.0));
    check(&mut place, &[("Annie's phone", &["Anna Berg: phone = 555 0101"])]);
    // Among equals it does.
    assert_eq!(place.ask("tell me about Annie")[0], "Anna Berg: birthday = 3 March");
}

#[test]
fn what_is_recalled_is_activated_once_a_question() {
    let mut place = known();
    let activation = |place: &mut Place| {
        place.view().settle().unwrap();
        let fact = place.fact("Annie", "phone");
        (fact["activation"].as_f64().unwrap(), fact["access_count"].as_i64().unwrap())
    };
    assert_eq!(activation(&mut place), (1.0, 0));
    place.ask("Annie's phone");
    assert_eq!(activation(&mut place), (1.5, 1), "the code is alive");
    assert_eq!(place.fact("Annie", "phone")["last_accessed"], "2026-01-15T12:00:00.000Z");
    // The same question within a minute counts once, asked otherwise it counts.
    place.caller.now = Time::parse("2026-01-15T12:00:59Z").unwrap();
    place.ask("annie’s PHONE");
    place.ask("Annie's phone");
    assert_eq!(activation(&mut place).1, 1);
    place.ask("how do I ring Annie?");
    assert_eq!(activation(&mut place).1, 2);
    place.caller.now = Time::parse("2026-01-15T12:02:00Z").unwrap();
    place.ask("Annie's phone");
    assert_eq!(activation(&mut place), (2.5, 3));
    assert_eq!(place.fact("Annie", "phone")["tier"], "hot");
    // The brief brings things up by itself, and a list is a list.
    place.call("memory_brief", json!({}));
    assert_eq!(activation(&mut place).1, 3);
    for minute in 0..10 {
        place.caller.now = Time::parse(&format!("2026-01-15T13:{minute:02}:30Z")).unwrap();
        place.ask("Annie's phone");
    }
    assert_eq!(activation(&mut place), (5.0, 13), "there is a ceiling");
    assert_eq!(place.fact("Annie", "birthday")["access_count"], 0);
}

#[test]
fn what_is_often_recalled_together_comes_along() {
    let mut place = Place::of_person();
    place.caller = Caller::agent("together".parse().unwrap(), noon());
    place.set("Keystone", "port", "3000");
    place.set("Keystone", "region", "eu-west");
    place.set("Heron", "port", "4100");
    let linked = |place: &mut Place| {
        let told = place.told("port of Heron");
        let known = told["known"].as_array().unwrap().clone();
        let linked = known.into_iter().filter(|known| known["linked"] == true);
        linked
            .map(|known| (known["text"].as_str().unwrap().to_owned(), known["score"].as_f64().unwrap()))
            .collect::<Vec<_>>()
    };
    for time in 1..=2 {
        assert_eq!(linked(&mut place), [], "a weight of {} is too little", time - 1);
        place.later(1).ask("ports of Heron and Keystone");
        place.caller.now = place.caller.now.plus_days(1);
        place.set("Clock", "day", &time.to_string());
    }
    assert_eq!(linked(&mut place), [("Keystone: port = 3000".to_owned(), 50.0)]);
    // Ended and deleted relations are left out.
    place.later(1).set("Keystone", "port", "5000");
    assert_eq!(linked(&mut place), []);
}

#[test]
fn at_most_four_come_along_and_none_that_holds_no_longer_takes_a_place() {
    let mut place = Place::of_person();
    for number in 0..7 {
        place.set(&format!("Host{number}"), "port", &format!("300{number}"));
    }
    place.set("Heron", "port", "4100");
    for day in 0..3 {
        for number in 0..7 {
            place.caller.now = noon().plus_days(day);
            place.ask(&format!("ports of Heron and Host{number}"));
        }
        place.set("Clock", "day", &day.to_string());
    }
    let linked = |place: &mut Place| place.ask("port of Heron").len() - 1;
    assert_eq!(linked(&mut place), 4);
    for number in 0..4 {
        place.later(1).set(&format!("Host{number}"), "port", "closed");
    }
    assert_eq!(linked(&mut place), 3);
}

#[test]
fn what_is_not_permanent_fades_a_day_at_a_time() {
    let mut place = Place::of_person();
    place.set("Keystone", "port", "3000");
    place
        .call("fact_upsert", json!({ "entity": "Anna", "key": "phone", "value": "1", "category": "person" }));
    let maintain = |place: &mut Place, at: &str| {
        place.caller.now = Time::parse(at).unwrap();
        let caller = place.caller.clone();
        let days = crate::maintain::only(&mut place.group, &caller, "decay", "decayed_days");
        let round = |fact: Value| (fact["activation"].as_f64().unwrap() * 10_000.0).round() / 10_000.0;
        (days, round(place.fact("Keystone", "port")), round(place.fact("Anna", "phone")))
    };
    for (at, expected) in [
        ("2026-01-15T12:00:00Z", (0, 1.0)),
        ("2026-01-16T03:00:00Z", (1, 0.95)),
        ("2026-01-16T23:59:00Z", (0, 0.95)),
        // Missed days are caught up once.
        ("2026-01-19T03:00:00Z", (3, 0.8145)),
        ("2026-01-19T03:00:01Z", (0, 0.8145)),
        // A clock that went back does nothing, and nothing twice when it comes forward.
        ("2026-01-10T03:00:00Z", (0, 0.8145)),
        ("2026-01-19T04:00:00Z", (0, 0.8145)),
        ("2026-01-20T04:00:00Z", (1, 0.7738)),
    ] {
        let (days, port, phone) = maintain(&mut place, at);
        assert_eq!(((days, port), phone), (expected, 1.0), "{at}");
    }
    assert_eq!(place.fact("Keystone", "port")["tier"], "cool");
    place.check();
}

#[test]
fn silence_has_a_reason() {
    let mut place = known();
    for (query, says) in [
        ("Keystone's licence", "5 things are known about `Keystone`"),
        ("Zorro's phone", "there is no entity `zorro`"),
        ("quux", "there is no entity `quux`"),
    ] {
        let told = place.told(query);
        assert_eq!(told["known"], json!([]), "{query}");
        assert!(told["note"].as_str().unwrap().contains(says), "{query}: {}", told["note"]);
    }
}

/// A fleet of machines whose names begin alike is asked one by one.
#[test]
fn thousands_of_names_that_begin_alike_hide_none() {
    let mut place = Place::of_person();
    let facts: Vec<Value> = (0..1500)
        .map(|number| json!({ "entity": format!("node-{number:04}"), "key": "rack", "value": format!("r{number}") }))
        .collect();
    let seed = place.folder.path().join("seed.json");
    write(&seed, &json!({ "fact": facts }).to_string());
    let caller = place.caller.clone();
    assert_eq!(nacre::graph::seed(&mut place.view_of(&caller), &seed).unwrap().added, 1500);
    for number in [0, 777, 1499] {
        let query = format!("in which rack is node-{number:04}?");
        assert_eq!(place.ask(&query), [format!("node-{number:04}: rack = r{number}")]);
    }
}

/// The words of keys and of questions are stemmed by one language.
#[test]
fn questions_in_another_language_find_keys_in_it() {
    let mut place = Place::of_person_with(&["search.language=german"]);
    place.set("Keystone", "Abhängigkeiten", "Redis");
    place.set("Keystone", "Häfen", "3000");
    let told = place.told("Abhängigkeit von Keystone");
    let first = &told["known"][0];
    assert_eq!(
        (&first["text"], &first["score"]),
        (&json!("Keystone: abhängigkeiten = Redis"), &json!(88.0)),
        "`von` counts as a word of it"
    );
}

#[expect(clippy::disallowed_methods, reason = "a test writes files as any editor does")]
pub fn write(path: &std::path::Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn a_first_name_is_enough_where_only_one_has_it() {
    let mut place = known();
    let phone: &[&str] = &["Anna Berg: phone = 555 0101"];
    check(&mut place, &[("what is Anna's phone?", phone), ("anna phone", phone)]);
    place.set("Anna Lund", "phone", "555 0999");
    assert_eq!(place.told("what is Anna's phone?")["entities"], json!([]), "two are called so");
}

#[test]
fn what_a_predicate_says_of_its_inverse_is_asked_from_both_ends() {
    let mut place = known();
    place.relate("Brightwater", "employs", "Anna Berg");
    check(&mut place, &[("Annie's employer", &["Brightwater employs Anna Berg"])]);
}
