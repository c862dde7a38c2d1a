//! The graph reads documents, seeds and exports.

use std::time::{Duration, SystemTime};

use nacre::graph::Format;
use serde_json::{Value, json};

use crate::graph_recall::write;
use crate::sealed::{Place, is_without_folder, noon};

impl Place {
    /// Writes a document as it was written at the place's present moment, and has it read.
    fn put(&mut self, path: &str, text: &str) {
        let path = self.group.folder().join(path);
        write(&path, text);
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(self.caller.now.as_millis().unsigned_abs());
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(now).unwrap();
        self.read();
    }

    fn take_away(&mut self, path: &str) {
        std::fs::remove_file(self.group.folder().join(path)).unwrap();
        self.read();
    }

    fn read(&mut self) {
        let caller = self.caller.clone();
        nacre::workspace::sync(&mut self.view_of(&caller)).unwrap();
        self.check();
    }

    fn cites(&mut self, entity: &str, key: &str) -> Vec<String> {
        let fact = self.fact(entity, key);
        let cites = fact["cites"].as_array().cloned().unwrap_or_default();
        cites.iter().map(|cite| format!("{}:{}", cite["path"].as_str().unwrap(), cite["line"])).collect()
    }
}

const NONE: [&str; 0] = [];

#[test]
fn documents_are_followed() {
    let mut place = Place::of_person();
    place.put("keystone.md", "# Keystone\n\n- port: 3000\n- region: eu-west\n\nAnna Berg owns Keystone.\n");
    assert_eq!(place.facts(), ["Keystone.port = 3000", "Keystone.region = eu-west"]);
    assert_eq!(place.cites("Keystone", "port"), ["keystone.md:3"]);
    assert_eq!(place.relations(json!({})), ["Anna Berg owns Keystone"]);
    // Read again, nothing changes.
    let rows = place.audit_count();
    place.read();
    assert_eq!(place.audit_count(), rows);

    // An edit ends the value before and moves the lines of the rest.
    place.later(1).put("keystone.md", "# Keystone\n\nNew.\n\n- port: 4100\n- region: eu-west\n");
    assert_eq!(place.facts(), ["Keystone.port = 4100", "Keystone.region = eu-west"]);
    assert_eq!(place.cites("Keystone", "region"), ["keystone.md:6"]);
    assert_eq!(place.relations(json!({})), NONE);
    let then = place.call("fact_list", json!({ "key": "port", "as_of": noon() })).data;
    assert_eq!(then["facts"][0]["value"], "3000");
    // A line that leaves the file leaves the graph.
    place.take_away("keystone.md");
    assert_eq!(place.facts(), NONE);
    assert_eq!(place.ask("Keystone port"), NONE);
}

#[test]
fn what_two_documents_say_stays_while_one_does() {
    let mut place = Place::of_person();
    place.put("a.md", "# Keystone\n- port: 3000\n");
    place.later(1).put("b.md", "# Keystone\n- port: 3000\n");
    assert_eq!(place.cites("Keystone", "port"), ["a.md:2", "b.md:2"]);
    place.take_away("a.md");
    assert_eq!(place.cites("Keystone", "port"), ["b.md:2"]);
    place.take_away("b.md");
    assert_eq!(place.facts(), NONE);
}

#[test]
fn what_a_person_said_survives_the_file_being_touched() {
    let mut place = Place::of_person();
    let text = "# Keystone\n- port: 3000\n- region: eu-west\n";
    place.put("keystone.md", text);
    place.later(1).set("Keystone", "port", "4100");
    for version in [text.to_owned(), format!("{text}- stack: Rust\n"), format!("\n\n{text}")] {
        place.later(1).put("keystone.md", &version);
        assert_eq!(place.fact("Keystone", "port")["value"], "4100", "{version}");
    }
    // A document can't remove a fact that a person stated.
    place.later(1).put("keystone.md", "# Keystone\n- port: 4100\n");
    place.take_away("keystone.md");
    assert_eq!(place.facts(), ["Keystone.port = 4100"]);
}

/// Before, a document with a time ahead of the clock won over what was said by hand.
#[test]
fn a_file_from_the_future_has_no_last_word() {
    let mut place = Place::of_person();
    place.put("memory/2030-05-01.md", "# 2030-05-01\n\n## Keystone\n- port: 3000\n");
    place.later(1).set("Keystone", "port", "4100");
    assert_eq!(place.facts(), ["Keystone.port = 4100"]);
}

#[test]
fn a_daily_log_edited_after_its_first_reading_is_read_again() {
    let mut place = Place::of_person();
    place.put("memory/2026-01-10.md", "## Keystone\n- port: 3000\n");
    place.put("memory/2026-01-10.md", "## Keystone\n- port: 3000\n- region: eu-west\n");
    assert_eq!(place.facts(), ["Keystone.port = 3000", "Keystone.region = eu-west"]);
    assert_eq!(place.fact("Keystone", "region")["since"], "2026-01-10T00:00:00.000Z");
    // An older log, read later, says what held before.
    place.put("memory/2026-01-05.md", "## Keystone\n- port: 2000\n");
    assert_eq!(place.fact("Keystone", "port")["value"], "3000");
}

#[test]
fn both_forms_of_tags_and_of_numbers_are_read() {
    let importance = |place: &mut Place, entity: &str| {
        place.call("fact_list", json!({ "entity": entity })).data["facts"][0]["importance"].as_f64()
    };
    let mut place = Place::of_person();
    place.put(
        "memory/2026-01-10.md",
        "## Moving Keystone to web2 [decision|i=1]\nIt was too slow at home.\n\n\
         ## Heron Outage [event|i=.9]\nThe disk was full.\n\n\
         - [decision|i=0.7] Keystone uses PostgreSQL.\n- [fact|i=.8] Anna Berg lives in Oslo.\n",
    );
    assert_eq!(importance(&mut place, "Heron Outage"), Some(0.9), "{:?}", place.facts());
    assert_eq!(importance(&mut place, "Moving Keystone to web2"), Some(1.0), "{:?}", place.facts());
    assert_eq!(place.relations(json!({})), ["Anna Berg lives_in Oslo", "Keystone uses PostgreSQL"]);
}

#[test]
fn broken_tags_lose_nothing_and_break_nothing() {
    let mut place = Place::of_person();
    let text = "## [|i=] [decision|i=NaN\n- [x|i=999] Anna Berg lives in Oslo.\n- [|i=-1]\n- [decision|i=0.9\n\
        **: 3\n- **a**:\n|||\n## Keystone [event|i=1e9999]\n- port: 3000\n```\n- port: 4\n";
    place.put("memory/2026-01-10.md", text);
    let importances = place.call("fact_list", json!({})).data;
    for fact in importances["facts"].as_array().unwrap() {
        assert!((0.0..=1.0).contains(&fact["importance"].as_f64().unwrap()), "{fact}");
    }
    let found = place.call("memory_search", json!({ "query": "Anna Berg Oslo" })).data;
    assert!(found["hits"].to_string().contains("Oslo"), "it is found as a passage: {found}");
}

#[test]
fn junk_is_kept_out_and_listed_with_the_reason() {
    let mut place = Place::of_person();
    place.put(
        "notes.md",
        "# Keystone\n- status: deployed\n- pid: 4711\n- last seen: yesterday\n- port: TBD\n- owner: User\n\n\
         # System\n- port: 1\n\n# gpt-4o\n- price: 5\n\n# config.toml\n- size: 3 kB\n\n# Session\n- length: 2 h\n",
    );
    assert_eq!(place.facts(), NONE);
    let out = nacre::graph::kept_out(&place.view()).unwrap();
    let out: Vec<String> = out.iter().map(|out| format!("{}:{} {}", out.path, out.line, out.what)).collect();
    assert!(out.iter().any(|line| line.starts_with("notes.md:3 ")), "{out:?}");
    // The same by hand is let in: who says it means it.
    place.set("Keystone", "status", "deployed");
    assert_eq!(place.facts(), ["Keystone.status = deployed"]);
    for (entity, code) in [("user", "kept_out"), ("it", "kept_out"), ("she", "kept_out"), ("42", "kept_out")]
    {
        let fact = json!({ "entity": entity, "key": "k", "value": "v" });
        assert_eq!(place.refused("fact_upsert", fact), code, "{entity}");
    }
}

#[test]
fn what_is_nearly_the_same_is_said_once() {
    let mut place = Place::of_person();
    place.put("a.md", "# Keystone\n- purpose: bills all customers of the whole company\n");
    place.later(1).put("b.md", "# Keystone\n- purpose: bills all customers of the company\n");
    assert_eq!(place.facts(), ["Keystone.purpose = bills all customers of the whole company"]);
    assert_eq!(place.cites("Keystone", "purpose"), ["a.md:2", "b.md:2"]);
    // A number is what a change changes.
    place.later(1).put("c.md", "# Keystone\n- quota: 10 jobs a day for each of us\n");
    place.later(1).put("d.md", "# Keystone\n- quota: 20 jobs a day for each of us\n");
    assert_eq!(place.fact("Keystone", "quota")["value"], "20 jobs a day for each of us");
}

#[test]
fn one_key_takes_so_many_values_and_no_more() {
    let mut place = Place::of_person();
    for number in 0..100 {
        place.set("Keystone", "tags", &format!("tag {number}"));
    }
    let more = json!({ "entity": "Keystone", "key": "tags", "value": "one more" });
    assert_eq!(place.refused("fact_upsert", more), "kept_out");
    let many = (0..40).map(|number| format!("- tags: word{number}\n")).collect::<String>();
    place.put("heron.md", &format!("# Heron\n{many}"));
    let read = place.call("fact_list", json!({ "entity": "Heron" })).data;
    assert_eq!(read["facts"].as_array().unwrap().len(), 10);
    assert_eq!(place.facts().len(), 110);
}

#[test]
fn documents_turned_off_say_nothing() {
    let mut place = Place::of_person_with(&["graph.documents=false"]);
    place.put("keystone.md", "# Keystone\n- port: 3000\n");
    assert_eq!(place.facts(), NONE);
}

#[test]
fn declaring_a_key_multi_valued_brings_back_what_documents_say_side_by_side() {
    let mut place = Place::of_person();
    place.put("a.md", "# Ada\n- boat: Gull\n");
    place.later(1).put("b.md", "# Ada\n- boat: Tern\n");
    assert_eq!(place.facts(), ["Ada.boat = Tern"]);
    place.call("graph_rule", json!({ "multi": "boat" }));
    assert_eq!(place.facts(), ["Ada.boat = Gull", "Ada.boat = Tern"]);
    place.call("graph_rule", json!({ "single": "boat" }));
    assert_eq!(place.facts(), ["Ada.boat = Tern"]);
    place.later(1).put("a.md", "# Ada\n- boat: Gull\n- car: none\n");
    assert_eq!(place.facts(), ["Ada.boat = Tern", "Ada.car = none"]);
}

const SEED: &str = r#"
categories = ["recipe"]
multi = ["boat"]
[[fact]]
entity = "Heidi Boyd"
key = "birthday"
value = "3 March"
category = "family"
importance = 0.9
since = "2020-01-01T00:00:00Z"
[[fact]]
entity = "Heidi Boyd"
key = "boat"
value = "Gull"
[[fact]]
entity = "Heidi Boyd"
key = "boat"
value = "Tern \"the old\" \\ <one> & 'two'"
[[fact]]
entity = "it"
key = "k"
value = "v"
[[fact]]
entity = "Goulash"
key = "time"
value = "2 h"
category = "recipe"
[[relation]]
subject = "Heidi Boyd"
predicate = "owns"
object = "Heron"
[[alias]]
alias = "Mama"
entity = "Heidi Boyd"
[[distinct]]
a = "Heron"
b = "Goulash"
"#;

fn seeded() -> Place {
    let mut place = Place::of_person();
    let path = place.folder.path().join("seed.toml");
    write(&path, SEED);
    let caller = place.caller.clone();
    let first = nacre::graph::seed(&mut place.view_of(&caller), &path).unwrap();
    assert_eq!((first.added, first.kept_out.len()), (6, 1), "{first:?}");
    let before = (place.facts(), place.relations(json!({})));
    let again = nacre::graph::seed(&mut place.later(1).view_of(&caller), &path).unwrap();
    assert_eq!((again.added, again.kept_out.len()), (0, 1), "{again:?}");
    assert_eq!((place.facts(), place.relations(json!({}))), before, "twice is once");
    place.check();
    place
}

#[test]
fn a_seed_that_cannot_be_read_changes_nothing() {
    let mut place = seeded();
    let before = place.facts();
    for text in ["[[fact]\n", "[[fact]]\nentity = 3\n", "[[fakt]]\n", "{\"fact\": [{}]}", "{", "\u{0}"] {
        let path = place.folder.path().join("bad");
        write(&path, text);
        let caller = place.caller.clone();
        let error = nacre::graph::seed(&mut place.view_of(&caller), &path).unwrap_err();
        assert_eq!(error.code(), "bad_seed", "{text}: {error}");
    }
    assert_eq!(place.facts(), before);
}

/// Quotes are closed and braces match, as far as DOT needs it.
fn is_balanced(dot: &str) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for c in dot.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => depth += 1,
            '}' | ']' if !quoted => depth -= 1,
            '\n' if quoted => return false,
            _ => {}
        }
    }
    depth == 0 && !quoted
}

/// Every element is closed in its order, and `&` and `<` stand only where they may.
fn is_well_formed(xml: &str) -> bool {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        let entities = ["&lt;", "&gt;", "&amp;", "&quot;"]
            .iter()
            .map(|entity| text.matches(entity).count())
            .sum::<usize>();
        let end = rest[start..].find('>').map(|end| start + end);
        let Some(end) = end.filter(|_| text.matches('&').count() == entities) else { return false };
        let tag = &rest[start + 1..end];
        match tag.strip_prefix('/') {
            Some(name) if open.pop() != Some(name) => return false,
            Some(_) => {}
            None if tag.starts_with('?') || tag.ends_with('/') => {}
            None => open.push(tag.split(' ').next().unwrap()),
        }
        rest = &rest[end + 1..];
    }
    open.is_empty() && rest.trim().is_empty()
}

#[test]
fn pictures_are_what_other_programs_read() {
    let mut place = seeded();
    place.set("Heron", "motto", "say \"hi\"");
    place.set("Heron", "path", "C:\\");
    place.set("Tern \"x\" <b> & co", "k{", "}]\"");
    place.set("Heron", "login", "password=hunter22correct");
    place.set("Heron", "password", "a");
    let picture = nacre::graph::picture(&place.view()).unwrap();
    let json: Value = serde_json::from_str(&picture.write(Format::Json).unwrap()).unwrap();
    assert_eq!(json["facts"].as_array().unwrap().len(), place.facts().len());
    assert_eq!(json["relations"][0]["predicate"], "owns");
    let dot = picture.write(Format::Dot).unwrap();
    assert!(is_balanced(&dot), "{dot}");
    assert!(dot.contains(r"\nlogin: password=[REDACTED]\nmotto"), "a mask takes no sign of DOT: {dot}");
    assert!(dot.contains(r#"motto: say \"hi\""#) && dot.contains("label=\"owns\""), "{dot}");
    let xml = picture.write(Format::GraphMl).unwrap();
    assert!(is_well_formed(&xml), "{xml}");
    assert!([&json.to_string(), &dot, &xml].iter().all(|text| !text.contains("hunter22")));
    assert!(is_balanced(
        &nacre::graph::picture(&Place::of_person().view()).unwrap().write(Format::Dot).unwrap()
    ));
}

#[test]
fn an_export_brings_the_graph_back() {
    let mut place = seeded();
    place.later(1).set("Heidi Boyd", "birthday", "4 March");
    place.relate("Heron", "runs_on", "nas-01");
    place.call("relation_end", json!({ "subject": "Heron", "predicate": "runs_on", "object": "nas-01" }));
    place.set("Mutti", "phone", "555");
    place.join("merge", "Mutti", "Mama");
    place.ask("Mama's birthday");
    let caller = place.caller.clone();
    place.view().settle().unwrap();
    let folder = place.folder.path().join("export");
    nacre::export::export(&place.view(), &folder).unwrap();

    let mut other = Place::of_person();
    other.caller = caller.clone();
    let first = nacre::export::import(&mut other.view_of(&caller), &folder).unwrap();
    assert!(first.graph > 0);
    assert_eq!(
        nacre::export::import(&mut other.view_of(&caller), &folder).unwrap().graph,
        0,
        "twice is once"
    );
    let all = |place: &mut Place| {
        let mut facts = place.call("fact_list", json!({ "history": true })).data;
        facts["facts"].as_array_mut().unwrap().iter_mut().for_each(|fact| fact["id"] = Value::Null);
        let relations = place.relations(json!({ "history": true }));
        (
            facts,
            relations,
            place.relations(json!({})),
            place.ask("Mutti's phone"),
            place.ask("Mama's birthday"),
        )
    };
    assert_eq!(all(&mut other), all(&mut place));
    other.set("Heidi Boyd", "boat", "Skua");
    assert_eq!(other.ask("Mama's boats").len(), 3, "what is multi-valued still is");
    let merge = json!({ "do": "merge", "one": "Heron", "other": "Goulash" });
    assert_eq!(other.refused("entity_join", merge), "never_same");
    other
        .call("fact_upsert", json!({ "entity": "Pie", "key": "time", "value": "1 h", "category": "recipe" }));
    other.check();
}

/// Facts that an earlier version read from conversations stay, cite their message, and are as private as its session.
#[test]
fn facts_that_were_read_from_conversations_stay() {
    if is_without_folder() {
        return;
    }
    let mut place = Place::of_person();
    let talk = json!({ "id": "m1", "session": "s1", "speaker": "Caroline", "text": "I live in Lisbon now." });
    let caller = place.caller.clone();
    nacre::session::import_transcript(
        &mut place.view_of(&caller),
        format!("{talk}\n").as_bytes(),
        "talk",
        |_| {},
    )
    .unwrap();
    assert!(place.facts().is_empty(), "no new facts are read from conversations");
    place.set("Caroline", "city", "Lisbon");
    let db = rusqlite::Connection::open(place.group.folder().join("memory.db")).unwrap();
    let as_read = "UPDATE facts SET source = 'conversation'; UPDATE names SET source = 'conversation';
        INSERT INTO citations (path, kind, id, line) SELECT 'sessions/s1/m1', 'fact', id, 0 FROM facts;";
    db.execute_batch(as_read).unwrap();
    drop(db);

    place.reopen();
    nacre::reindex(&mut place.view_of(&caller)).unwrap();
    let query = json!({ "query": "which city does Caroline live in?" });
    let told = place.call("graph_search", query.clone()).data;
    assert_eq!(told["known"][0]["text"], "Caroline: city = Lisbon");
    assert_eq!(told["known"][0]["cites"][0]["path"], "sessions/s1/m1");
    assert_eq!(place.call("memory_search", query.clone()).data["hits"][0]["text"], "Caroline: city = Lisbon");
    place.caller.visibility = nacre::Visibility::Shared;
    assert_eq!(place.call("graph_search", query).data["known"], json!([]), "the session is private");
    place.check();
}
