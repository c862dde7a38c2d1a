//! The knowledge graph: facts, relations and names.

use nacre::{Caller, Time};
use serde_json::{Value, json};

use crate::sealed::{Place, is_without_folder, noon};

impl Place {
    /// A person's place: every tool may be called.
    pub fn of_person() -> Place {
        Place::of_person_with(&[])
    }

    pub fn of_person_with(settings: &[&str]) -> Place {
        let mut place = Place::with("balanced", settings);
        place.caller = Caller::person("by-hand".parse().unwrap(), noon());
        place
    }

    pub fn set(&mut self, entity: &str, key: &str, value: &str) -> Value {
        self.call("fact_upsert", json!({ "entity": entity, "key": key, "value": value })).data
    }

    pub fn relate(&mut self, subject: &str, predicate: &str, object: &str) -> Value {
        let arguments = json!({ "subject": subject, "predicate": predicate, "object": object });
        self.call("relation_add", arguments).data
    }

    pub fn alias(&mut self, alias: &str, entity: &str) {
        self.call("alias_add", json!({ "alias": alias, "entity": entity }));
    }

    pub fn join(&mut self, act: &str, one: &str, other: &str) {
        self.call("entity_join", json!({ "do": act, "one": one, "other": other }));
    }

    /// All that is answered.
    pub fn told(&mut self, query: &str) -> Value {
        self.call("graph_search", json!({ "query": query })).data
    }

    /// Answers, best first.
    pub fn ask(&mut self, query: &str) -> Vec<String> {
        texts(&self.told(query))
    }

    /// The values that hold, as `entity.key = value`.
    pub fn facts(&mut self) -> Vec<String> {
        listed(&self.call("fact_list", json!({ "limit": 10000 })).data)
    }

    pub fn relations(&mut self, arguments: Value) -> Vec<String> {
        let relations = self.call("relation_list", arguments).data;
        let line = |of: &Value| {
            let [subject, predicate, object] =
                ["subject", "predicate", "object"].map(|end| of[end].as_str().unwrap());
            format!("{subject} {predicate} {object}")
        };
        relations["relations"].as_array().unwrap().iter().map(line).collect()
    }

    pub fn fact(&mut self, entity: &str, key: &str) -> Value {
        let arguments = json!({ "entity": entity, "key": key });
        self.call("fact_list", arguments).data["facts"][0].take()
    }

    pub fn audit_count(&mut self) -> i64 {
        nacre::status(&self.view()).unwrap().audit_rows
    }
}

pub fn texts(answer: &Value) -> Vec<String> {
    answer["known"].as_array().unwrap().iter().map(|known| known["text"].as_str().unwrap().into()).collect()
}

fn listed(answer: &Value) -> Vec<String> {
    let line = |fact: &Value| {
        let [entity, key, value] = ["entity", "key", "value"].map(|part| fact[part].as_str().unwrap());
        format!("{entity}.{key} = {value}")
    };
    answer["facts"].as_array().unwrap().iter().map(line).collect()
}

fn day(text: &str) -> Time {
    Time::parse(&format!("{text}T00:00:00Z")).unwrap()
}

#[test]
fn a_new_value_ends_the_one_before_which_stays_as_history() {
    let mut place = Place::of_person();
    place.set("Keystone", "port", "3000");
    let set = place.later(10).set("keystone", "Port", "4100");
    assert_eq!((&set["replaced"], &set["known"]), (&json!("3000"), &json!(false)));
    assert_eq!(place.facts(), ["Keystone.port = 4100"]);
    assert_eq!(place.ask("what is the port of Keystone?"), ["Keystone: port = 4100"]);
    for (at, expected) in [
        ("2026-01-15T11:59:59Z", &[][..]),
        ("2026-01-15T12:00:00Z", &["Keystone.port = 3000"]),
        ("2026-01-25T11:59:59Z", &["Keystone.port = 3000"]),
        ("2026-01-25T12:00:00Z", &["Keystone.port = 4100"]),
    ] {
        let then = place.call("fact_list", json!({ "entity": "Keystone", "as_of": at })).data;
        assert_eq!(listed(&then), expected, "{at}");
        let asked = place.call("graph_search", json!({ "query": "Keystone port", "as_of": at })).data;
        assert_eq!(texts(&asked).len(), expected.len(), "{at}");
    }
    let history = place.call("fact_list", json!({ "entity": "Keystone", "history": true })).data;
    assert_eq!(listed(&history), ["Keystone.port = 3000", "Keystone.port = 4100"]);
    place.check();
}

#[test]
fn the_same_value_again_writes_nothing() {
    let mut place = Place::of_person();
    place.set("Keystone", "port", "3000");
    place.relate("Petra", "owns", "Keystone");
    place.alias("KS", "Keystone");
    let rows = place.audit_count();
    let again = place.later(1).set("  KEYSTONE ", "PORT", " 3000 ");
    assert_eq!((&again["known"], &again["since"]), (&json!(true), &json!("2026-01-15T12:00:00.000Z")));
    assert_eq!(place.relate("petra", "owner of", "ks")["known"], true);
    place.alias("ks", "Keystone");
    assert_eq!(place.audit_count(), rows);
    assert_eq!(place.relations(json!({})), ["Petra owns Keystone"]);

    // A changed weight of a known value is a change to record.
    let arguments = json!({ "entity": "Keystone", "key": "port", "value": "3000", "importance": 0.9,
        "permanent": true, "category": "project" });
    let weighed = place.call("fact_upsert", arguments.clone()).data;
    assert_eq!((&weighed["known"], &weighed["importance"]), (&json!(true), &json!(0.9)));
    assert_eq!((&weighed["permanent"], &weighed["category"]), (&json!(true), &json!("project")));
    assert_eq!(place.audit_count(), rows + 1);
    place.call("fact_upsert", arguments);
    assert_eq!(place.audit_count(), rows + 1);
    assert_eq!(listed(&place.call("fact_list", json!({ "category": "Project" })).data).len(), 1);
    place.check();
}

#[test]
fn older_claims_become_history_where_they_belong() {
    let mut place = Place::of_person();
    let since = |value: &str, since: &str| json!({ "entity": "Ada", "key": "city", "value": value, "since": day(since) });
    for (value, at) in
        [("Oslo", "2024-01-01"), ("Bergen", "2020-01-01"), ("Rome", "2022-01-01"), ("Rome", "2023-01-01")]
    {
        place.call("fact_upsert", since(value, at));
    }
    assert_eq!(place.facts(), ["Ada.city = Oslo"]);
    for (at, city) in
        [("2021-06-01", "Bergen"), ("2022-06-01", "Rome"), ("2023-06-01", "Rome"), ("2025-01-01", "Oslo")]
    {
        let then = place.call("fact_list", json!({ "as_of": day(at) })).data;
        assert_eq!(listed(&then), [format!("Ada.city = {city}")], "{at}");
    }
    assert_eq!(place.ask("where does Ada live?"), ["Ada: city = Oslo"]);
    assert_eq!(place.ask("Bergen"), [] as [&str; 0], "it holds no longer");

    // A relation too: said again with an earlier beginning it is still one.
    let since =
        |at: &str| json!({ "subject": "Ada", "predicate": "owns", "object": "Heron", "since": day(at) });
    place.call("relation_add", since("2024-01-01"));
    place.call("relation_add", since("2021-01-01"));
    assert_eq!(place.relations(json!({})), ["Ada owns Heron"]);
    assert_eq!(place.relations(json!({ "as_of": day("2022-01-01") })), ["Ada owns Heron"]);
    assert_eq!(place.relations(json!({ "as_of": day("2020-01-01") })), [] as [&str; 0]);
    place.check();
}

#[test]
fn keys_may_have_several_values() {
    let mut place = Place::of_person();
    let rule = |place: &mut Place, rule: Value| drop(place.call("graph_rule", rule));
    // Declared after values came: those that a person replaced stay history.
    place.set("Ada", "car", "Saab");
    place.set("Ada", "car", "Volvo");
    rule(&mut place, json!({ "multi": "Car" }));
    assert_eq!(place.facts(), ["Ada.car = Volvo"]);
    place.set("Ada", "car", "Fiat");
    place.later(1).set("Ada", "car", "Lada");
    assert_eq!(place.set("Ada", "car", "volvo")["known"], true);
    assert_eq!(place.facts(), ["Ada.car = Volvo", "Ada.car = Fiat", "Ada.car = Lada"]);
    assert_eq!(place.ask("which cars does Ada have?").len(), 3, "no value hides another");
    // Off again: the newest holds.
    rule(&mut place, json!({ "single": "car" }));
    assert_eq!(place.facts(), ["Ada.car = Lada"]);
    assert_eq!(place.ask("which car does Ada have?"), ["Ada: car = Lada"]);
    // Declared before; and one that is a list by its nature needs no declaring, and can't be made single.
    rule(&mut place, json!({ "multi": "boat" }));
    for (key, value) in [("boat", "Gull"), ("boat", "Tern"), ("languages", "Go"), ("languages", "Rust")] {
        place.set("Ada", key, value);
    }
    assert_eq!(place.facts().len(), 5);
    assert_eq!(place.refused("graph_rule", json!({ "single": "languages" })), "kept_out");
    place.check();
}

#[test]
fn people_and_decisions_are_born_permanent() {
    let mut place = Place::of_person();
    for (category, permanent) in [
        ("person", true),
        ("pet", true),
        ("decision", true),
        ("preference", true),
        ("host", false),
        ("event", false),
    ] {
        let arguments =
            json!({ "entity": format!("X {category}"), "key": "k", "value": "v", "category": category });
        assert_eq!(place.call("fact_upsert", arguments).data["permanent"], permanent, "{category}");
    }
    let weighed =
        |importance: f64| json!({ "entity": "Y", "key": "k", "value": "v", "importance": importance });
    assert_eq!(place.refused("fact_upsert", weighed(1.5)), "bad_argument");
    assert_eq!(place.call("fact_upsert", weighed(1.0)).data["importance"], 1.0);
    // The category goes to what is said later too.
    assert_eq!(place.set("X person", "k2", "v")["permanent"], true);
}

#[test]
fn relations_are_found_from_either_end_end_and_go() {
    let mut place = Place::of_person();
    place.relate("Petra", "owns", "Heron");
    place.relate("Heron", "runs_on", "nas-01");
    for query in ["what does Petra own?", "who owns Heron?", "owner of heron"] {
        assert_eq!(place.ask(query), ["Petra owns Heron"], "{query}");
    }
    for query in ["what runs on nas-01?", "where does Heron run?"] {
        assert_eq!(place.ask(query), ["Heron runs on nas-01"], "{query}");
    }
    assert_eq!(place.relations(json!({ "entity": "Heron" })).len(), 2);
    let ends = json!({ "subject": "petra", "predicate": "Owns", "object": "HERON" });
    place.later(5);
    let ended = place.call("relation_end", ends.clone()).data;
    assert_eq!(place.ask("who owns Heron?"), [] as [&str; 0]);
    assert_eq!(place.refused("relation_end", ends), "no_relation");
    assert_eq!(place.relations(json!({ "as_of": noon() })).len(), 2);
    // Ended again, it ended when it ended.
    place.later(5);
    assert_eq!(place.call("relation_end", json!({ "id": ended["id"] })).data["until"], ended["until"]);
    // It may begin again.
    assert_eq!(place.relate("Petra", "owns", "Heron")["known"], false);
    assert_eq!(place.relations(json!({ "history": true })).len(), 3);
    place.call("relation_end", json!({ "id": ended["id"], "remove": true }));
    assert_eq!(place.relations(json!({ "history": true })).len(), 2);
    assert_eq!(place.refused("relation_end", json!({ "id": "relation-99" })), "no_relation");
    assert_eq!(place.refused("relation_end", json!({ "subject": "Petra" })), "bad_argument");
    assert_eq!(
        place.refused("relation_add", json!({ "subject": "Petra", "predicate": "knows", "object": "petra" })),
        "kept_out"
    );
    place.check();
}

#[test]
fn two_hops_over_a_relation_and_over_a_value() {
    let mut place = Place::of_person();
    place.set("Ida Holm", "name", "Ida Holm");
    place.relate("Anna Berg", "sister_of", "Ben Okafor");
    place.set("Anna Berg", "phone", "555 0101");
    place.set("Ben Okafor", "employer", "Acme Labs");
    place.set("Acme Labs", "city", "Oslo");
    for (query, expected) in [
        ("What is the phone number of Ben Okafor's sister?", "Anna Berg: phone = 555 0101"),
        ("In which city is Ben Okafor's employer?", "Acme Labs: city = Oslo"),
    ] {
        assert_eq!(place.ask(query)[0], expected, "{query}");
    }
}

#[test]
fn one_name_means_one_entity_in_any_spelling() {
    let mut place = Place::of_person();
    place.set("Márta O'Neil", "phone", "555 0101");
    place.set("Heron", "port", "3000");
    for alias in ["Mama", "MÜTTI", "the boss", "O’Neil’s"] {
        place.alias(alias, "marta o’neil");
    }
    for query in [
        "mama's phone",
        "Mama’s phone",
        "phone of MUTTI",
        "phone of the boss",
        "Marta O'Neil phone",
        "phone of márta o‘neil",
    ] {
        assert_eq!(place.ask(query), ["Márta O'Neil: phone = 555 0101"], "{query}");
    }
    let entities = place.call("entity_list", json!({})).data;
    assert_eq!(entities["entities"][1]["aliases"], json!(["Mama", "MÜTTI", "O’Neil’s", "the boss"]));
    for (alias, entity, code) in [
        ("mama", "Heron", "name_taken"),
        ("heron", "Mama", "name_taken"),
        ("Boss", "Heron", "name_taken"),
        ("márta o'neil", "Mama", "self_alias"),
        ("Zed", "Somebody Else", "no_entity"),
        ("", "Heron", "kept_out"),
        ("  ", "Heron", "kept_out"),
        ("…", "Heron", "kept_out"),
    ] {
        assert_eq!(place.refused("alias_add", json!({ "alias": alias, "entity": entity })), code, "{alias}");
    }
    // An alias of an alias is one of its entity: there is no cycle to go round in.
    place.alias("Mum", "mama");
    place.alias("Mama", "Mum");
    assert_eq!(place.ask("mum's phone"), ["Márta O'Neil: phone = 555 0101"]);
    let remove = |alias: &str| json!({ "alias": alias, "entity": alias, "remove": true });
    place.call("alias_add", remove("MAMA"));
    assert_eq!(place.ask("mama's phone"), [] as [&str; 0]);
    assert_eq!(place.refused("alias_add", remove("Heron")), "own_name");
    place.alias("Mama", "Heron");
    assert_eq!(place.ask("port of mama"), ["Heron: port = 3000"]);
    place.check();
}

/// All that can be seen of a place.
fn seen(place: &mut Place) -> Vec<String> {
    let mut seen = place.facts();
    seen.extend(place.relations(json!({})));
    for query in ["port of keystone", "port of ks api", "who owns ks api"] {
        seen.extend(place.ask(query));
        let found = place.call("memory_search", json!({ "query": query, "scope": ["graph"] })).data;
        let hits = found["hits"].as_array().unwrap().iter();
        seen.extend(hits.map(|hit| format!("{} {}", hit["id"], hit["text"])));
    }
    seen.push(place.call("entity_list", json!({})).text);
    seen
}

#[test]
fn a_merge_can_be_undone_and_leaves_nothing_behind() {
    let mut place = Place::of_person();
    place.set("Keystone", "port", "3000");
    place.set("Keystone", "stack", "Rust");
    place.later(1).set("KS API", "port", "4100");
    place.set("KS API", "region", "eu-west");
    place.relate("Petra", "owns", "KS API");
    let before = seen(&mut place);
    place.join("merge", "KS API", "Keystone");
    assert_eq!(place.facts(), ["Keystone.port = 4100", "Keystone.region = eu-west", "Keystone.stack = Rust"]);
    assert_eq!(place.ask("port of ks api"), place.ask("port of keystone"));
    assert_eq!(place.relations(json!({})), ["Petra owns Keystone"]);
    assert_eq!(
        place.refused("entity_join", json!({ "do": "merge", "one": "ks api", "other": "keystone" })),
        "self_alias"
    );
    place.check();
    // The index says what the rows say, and made anew says the same.
    let merged = seen(&mut place);
    let caller = place.caller.clone();
    nacre::reindex(&mut place.view_of(&caller)).unwrap();
    assert_eq!(seen(&mut place), merged);
    place.join("unmerge", "KS API", "");
    assert_eq!(seen(&mut place), before);
    assert_eq!(place.refused("entity_join", json!({ "do": "unmerge", "one": "KS API" })), "not_merged");
    place.check();
}

/// Before, a value that the merge had ended came back beside the one that was said since.
#[test]
fn undoing_a_merge_leaves_one_value_a_key() {
    let mut place = Place::of_person();
    place.set("Keystone", "port", "3000");
    place.later(1).set("KS API", "port", "4100");
    place.join("merge", "KS API", "Keystone");
    place.later(1).set("Keystone", "port", "5000");
    place.join("unmerge", "KS API", "");
    assert_eq!(place.facts(), ["Keystone.port = 5000"]);
    place.check();
}

/// Before, undoing the second of two merges brought the first one back, undone as it was.
#[test]
fn merges_over_three_come_apart_in_any_order() {
    for order in [["Aa", "Bb"], ["Bb", "Aa"]] {
        let mut place = Place::of_person();
        for name in ["Aa", "Bb", "Cc"] {
            place.set(name, "port", name);
        }
        let before = place.facts();
        place.join("merge", "Aa", "Bb");
        place.join("merge", "Bb", "Cc");
        assert_eq!(place.facts(), ["Cc.port = Cc"]);
        for name in order {
            place.join("unmerge", name, "");
        }
        assert_eq!(place.facts(), before, "{order:?}");
        place.check();
    }
}

#[test]
fn what_is_never_the_same_is_never_merged() {
    let mut place = Place::of_person();
    for name in ["Anna Berg", "Anna Holm", "Annie"] {
        place.set(name, "city", "Oslo");
    }
    place.join("distinct", "Anna Berg", "anna holm");
    let merge = |one: &str, other: &str| json!({ "do": "merge", "one": one, "other": other });
    assert_eq!(place.refused("entity_join", merge("Anna Holm", "Anna Berg")), "never_same");
    // Nor over a third.
    place.join("merge", "Anna Berg", "Annie");
    assert_eq!(place.refused("entity_join", merge("Annie", "Anna Holm")), "never_same");
    assert_eq!(
        place.refused("entity_join", json!({ "do": "distinct", "one": "annie", "other": "Anna Berg" })),
        "self_alias"
    );
    assert_eq!(place.refused("entity_join", merge("Annie", "")), "no_entity");
    place.check();
}

#[test]
fn what_is_removed_leaves_no_trace_in_the_file_or_its_log() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::of_person();
    let secret = "zanzibarquartz";
    let fact = place.set("Ada", "hideout", secret);
    place.later(1).set("Ada", "hideout", &format!("{secret} again"));
    place.relate("Ada", secret, "Heron");
    place.ask("Ada's hideout");
    place.call("fact_remove", json!({ "of": fact["id"] }));
    place.call("fact_remove", json!({ "of": "ada", "key": "Hideout" }));
    place.call(
        "relation_end",
        json!({ "subject": "Ada", "predicate": secret, "object": "Heron", "remove": true }),
    );
    assert_eq!(place.facts(), [] as [&str; 0]);
    for file in std::fs::read_dir(place.group.folder()).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
    for (of, key, code) in [
        ("fact-99", None, "no_fact"),
        ("Ada", Some("hideout"), "no_fact"),
        ("Nobody", None, "no_entity"),
        ("", None, "no_entity"),
        ("ada", None, "no_fact"),
    ] {
        assert_eq!(place.refused("fact_remove", json!({ "of": of, "key": key })), code, "{of}");
    }
    place.check();
}

#[test]
fn groups_know_nothing_of_each_other() {
    let mut place = Place::of_person();
    place.set("Ada", "city", "Oslo");
    let mut other = place.home.group(&"other".parse().unwrap(), noon()).unwrap();
    std::mem::swap(&mut place.group, &mut other);
    assert_eq!(place.ask("where does Ada live?"), [] as [&str; 0]);
    assert_eq!(place.facts(), [] as [&str; 0]);
    place.set("Ada", "city", "Rome");
    std::mem::swap(&mut place.group, &mut other);
    assert_eq!(place.ask("where does Ada live?"), ["Ada: city = Oslo"]);
}

#[test]
fn categories_are_a_closed_list_that_a_person_may_add_to() {
    let mut place = Place::of_person();
    let fact =
        |category: &str| json!({ "entity": "Goulash", "key": "time", "value": "2 h", "category": category });
    for (category, says) in [
        ("peron", "did you mean `person`?"),
        ("People", "did you mean `person`?"),
        ("zzz", "the categories are person, family"),
        ("", "the categories are"),
    ] {
        let error = place.try_call("fact_upsert", fact(category)).unwrap_err();
        assert!(error.code() == "kept_out" && error.to_string().contains(says), "{category}: {error}");
    }
    assert_eq!(place.facts(), [] as [&str; 0]);
    place.call("graph_rule", json!({ "category": "Family recipe" }));
    assert_eq!(place.call("fact_upsert", fact("family recipe")).data["category"], "family_recipe");
    assert_eq!(place.refused("fact_list", json!({ "category": "famly" })), "kept_out");
}

#[test]
fn an_entity_is_forgotten_with_all_that_is_known_of_it() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::of_person();
    place.set("Anna Berg", "phone", "555 0101");
    place.set("Anna Berg", "phone", "555 0102");
    place.relate("Anna Berg", "owns", "heron");
    place.alias("Annie", "Anna Berg");
    place.join("remove", "Annie", "");
    assert!(place.facts().is_empty() && place.relations(json!({})).is_empty());
    for name in ["Annie", "Anna Berg"] {
        assert_eq!(place.refused("fact_list", json!({ "entity": name })), "no_entity");
    }
    let bytes = std::fs::read(place.folder.path().join("groups/main/memory.db")).unwrap();
    assert!(!bytes.windows(4).any(|run| run == b"Anna"), "no trace is left in the file");
    place.check();
}
