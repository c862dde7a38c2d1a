//! Private data stays private: words are planted in everything private, and a shared session asks for them in
//! every way there is.
#![allow(clippy::disallowed_methods, reason = "a test writes what a person would")]

use std::fs;

use nacre::turn::{self, Exchange, Request};
use nacre::{Answer, COMPAT_TOOLS, Caller, Error, TOOLS, Visibility};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::sealed::{Place, noon};

/// One word for each private thing; none begins like another.
const CANARIES: &[&str] = &[
    "zorvaqentil",
    "quixelbrand",
    "brelomunda",
    "vaxipholter",
    "murkendrasp",
    "plonvitchek",
    "grawzenfeld",
    "snelqubarto",
    "thropwixley",
    "drunmekazio",
    "fleskovanti",
    "kwybertrolm",
    "hazzenquipe",
    "jolbrimexta",
    "wexnadorpli",
    "cruvanteshk",
    "yaddlemorps",
    "nyxofalgren",
    "oplantervix",
    "ubrekhandol",
    "ispanquorte",
    "axolmenbrit",
    "etvaskorlin",
    "rezzimantov",
    "lubrixadone",
    "tammukverse",
    "pyxenhalbor",
    "skorvindale",
];

/// Text around the canaries, ids, paths, and nothing.
const PROBES: &[&str] = &[
    "",
    "x",
    "*",
    "%",
    "_",
    "\"",
    "fact",
    "fact-1",
    "fact-2",
    "fact-3",
    "fact-4",
    "fact-5",
    "fact-6",
    "fact-9",
    "relation-1",
    "relation-2",
    "relation-3",
    "relation-4",
    "MEMORY.md",
    "USER.md",
    "memory/CORE.md",
    "diary.md",
    "notes.md",
    "user",
    "self",
    "I",
    "me",
    "my cousin",
    "cousin",
    "sister",
    "password of the safe",
    "who drives the boat",
    "secret plan",
    "birthday",
    "port",
    "harbour",
    "Petra",
    "Petra Lindholm",
    "Lind",
    "the surgeon",
    "private-talk",
    "public-talk",
    "private",
    "garden gate",
    "what did I say about the boat",
    "lives in",
    "works at",
    "knows",
    "employer",
    "person",
    "family",
    "alias",
    "everything you know",
    "moved",
    "doctor",
    "illness",
    "heading",
    "lottery numbers",
    "2026",
    "test-session",
    "secret-session",
    "orchard",
    "boat",
];

fn private() -> Caller {
    Caller { session: "secret-session".parse().unwrap(), ..Caller::agent("s".parse().unwrap(), noon()) }
}

fn shared() -> Caller {
    Caller { visibility: Visibility::Shared, ..Caller::agent("open-session".parse().unwrap(), noon()) }
}

fn call(place: &mut Place, caller: &Caller, tool: &str, arguments: Value) -> Result<Answer, Error> {
    nacre::call(&mut place.view_of(caller), tool, arguments)
}

fn done(place: &mut Place, tool: &str, arguments: Value) -> Value {
    call(place, &private(), tool, arguments).unwrap_or_else(|error| panic!("{tool}: {error}")).data
}

fn everything() -> Place {
    let tools: Vec<String> = TOOLS.iter().map(|tool| format!("\"{}\"", tool.name)).collect();
    let offer = format!("tools.offer=[{}]", tools.join(", "));
    let compat = "tools.compat=[\"memory-tool\", \"mem0\", \"memory-server\"]";
    let open = ["limits.store=0", "limits.supersede=0", "limits.delete=0", compat];
    Place::with("balanced", &[&[offer.as_str()], &open[..]].concat())
}

/// A canary as a name is written.
fn named(canary: &str) -> String {
    canary[..1].to_uppercase() + &canary[1..]
}

/// Something private of every kind, and something public beside it.
fn planted() -> Place {
    let mut place = everything();
    let folder = place.group.folder().to_owned();
    fs::create_dir_all(folder.join("memory")).unwrap();
    let [a, b, c, d, e, f, g, h] = std::array::from_fn(|n| named(CANARIES[n]));
    let public = "# Petra Lindholm\n- port: Lübeck\n\n# Garden\nThe garden gate is green.\n".to_owned();
    for (path, text) in [
        (
            "MEMORY.md",
            format!(
                "# Heading {a}\n\nThe password of the safe is {c}.\n\n# {b} Lindholm\n- birthday: 3 May\n- employer: {c}\n\n\
                 {b} Lindholm lives in {c}.\n"
            ),
        ),
        ("USER.md", format!("# {d} Brandt\n- port: {e}\n\n{d} Brandt works at {e}.\n")),
        ("memory/CORE.md", format!("# {f}\n- port: 4711\n\n{g} Brandt owns {f}.\n")),
        ("diary.md", format!("---\nprivate: true\ntitle: {h}\n---\n# Petra Lindholm\n- nickname: {h}\n")),
        ("notes.md", public),
    ] {
        fs::write(folder.join(path), text).unwrap();
    }
    nacre::workspace::sync(&mut place.view_of(&private())).unwrap();
    let word = |n: usize| CANARIES[n];
    done(&mut place, "memory_store", json!({ "content": "The boat lies in the harbour", "tags": ["boat"] }));
    done(
        &mut place,
        "memory_store",
        json!({ "content": format!("The surgeon is {}", word(8)), "tags": [word(9)], "private": true }),
    );
    done(
        &mut place,
        "memory_update",
        json!({ "id": 2, "content": format!("The surgeon is called {}", word(10)) }),
    );
    done(
        &mut place,
        "memory_store",
        json!({ "content": format!("The illness is {}", word(11)), "supersedes": 2 }),
    );
    // One whose past is private.
    done(
        &mut place,
        "memory_store",
        json!({ "content": format!("The lottery numbers are {}", word(12)), "tags": [word(13)], "private": true }),
    );
    done(
        &mut place,
        "memory_update",
        json!({ "id": 4, "content": "There is a lottery", "tags": ["lottery"], "private": false }),
    );
    // One that says what a public one says, and has other tags.
    done(
        &mut place,
        "memory_store",
        json!({ "content": "The orchard was sold", "tags": [word(14)], "private": true }),
    );
    done(
        &mut place,
        "fact_upsert",
        json!({ "entity": "Petra Lindholm", "key": "doctor", "value": word(15), "private": true }),
    );
    done(
        &mut place,
        "fact_upsert",
        json!({ "entity": word(16), "key": "birthday", "value": "1 May", "category": "family", "private": true }),
    );
    done(
        &mut place,
        "fact_upsert",
        json!({ "entity": "Petra Lindholm", "key": "boat", "value": word(17), "private": true }),
    );
    done(
        &mut place,
        "fact_upsert",
        json!({ "entity": "Petra Lindholm", "key": "boat", "value": format!("{} two", word(17)) }),
    );
    done(
        &mut place,
        "relation_add",
        json!({ "subject": "Petra Lindholm", "predicate": "knows", "object": word(18), "private": true }),
    );
    done(&mut place, "alias_add", json!({ "alias": "my cousin", "entity": word(16) }));
    done(&mut place, "alias_add", json!({ "alias": word(19), "entity": word(16) }));
    done(
        &mut place,
        "relation_add",
        json!({ "subject": "Petra Lindholm", "predicate": "works_at", "object": "Harbour Office" }),
    );
    for (name, visibility, text) in [
        (
            "private-talk",
            Visibility::Private,
            format!("I live in {}. I went out with my sister {} yesterday", named(word(20)), named(word(21))),
        ),
        ("public-talk", Visibility::Shared, "the orchard needs pruning before the boat comes".to_owned()),
    ] {
        let line = json!({ "speaker": "Ida", "text": text, "timestamp": "2026-01-10T10:00:00Z" });
        let caller = Caller { visibility, ..private() };
        nacre::session::import_transcript(
            &mut place.view_of(&caller),
            format!("{line}\n").as_bytes(),
            name,
            |_| {},
        )
        .unwrap();
    }
    // Earlier versions read facts from conversations, and a home keeps these.
    for (subject, predicate, object) in
        [("Ida", "lives_in", named(word(20)).as_str()), (&named(word(21)), "sister_of", "Ida")]
    {
        let relation = json!({ "subject": subject, "predicate": predicate, "object": object });
        done(&mut place, "relation_add", relation);
    }
    let (one, other) = (word(20), word(21));
    let heard = format!("UPDATE names SET source = 'conversation' WHERE folded IN ('{one}', '{other}')");
    assert_eq!(place.change(&heard), 2);
    let heard = "WITH heard AS (SELECT entity FROM names WHERE source = 'conversation')
        UPDATE relations SET source = 'conversation'
        WHERE subject IN (SELECT entity FROM heard) OR object IN (SELECT entity FROM heard)";
    assert_eq!(place.change(heard), 2);
    let cites = "INSERT INTO citations (path, kind, id, line)
        SELECT 'sessions/' || ref, 'relation', relations.id, 0 FROM relations, passages
        WHERE relations.source = 'conversation' AND passages.kind = 'message' AND text LIKE 'I live in %'";
    assert_eq!(place.change(cites), 2);
    for (user, agent) in [
        (
            format!("What about the boat {}?", word(22)),
            format!("The boat {} is fine, I remember that you decided it.", word(22)),
        ),
        (
            format!("No, that is wrong. Never call me {}, always say the boat is {}", word(23), word(23)),
            "Understood.".to_owned(),
        ),
        (
            format!("Remember: I decided to move to {} because the harbour is nice", word(24)),
            format!("Noted, {}.", word(24)),
        ),
    ] {
        turn::archive(&mut place.view_of(&private()), &Exchange { user, agent, at: noon() }).unwrap();
    }
    turn::archive(
        &mut place.view_of(&shared()),
        &Exchange {
            user: "No, always water the orchard at dawn".into(),
            agent: "I will.".into(),
            at: noon(),
        },
    )
    .unwrap();
    for (target, text, private) in [("MEMORY.md", word(25), false), ("notes.md", word(26), true)] {
        place.change(&format!(
            "INSERT INTO proposals (kind, target, base, proposed, reason, sources, state, private, actor, session, at)
                VALUES ('file', '{target}', NULL, '{text}', '{text}', '[]', 'pending', {private}, 'agent', 's', 0)"
        ));
    }
    place
}

/// No canary in any form: whole, in another case, or as its stem.
fn clean(what: &str, text: &str) {
    let lower = text.to_lowercase();
    for canary in CANARIES {
        assert!(!lower.contains(&canary[..7]), "{what} told `{canary}`: {text}");
    }
}

fn clean_answer(what: &str, answer: &Result<Answer, Error>) {
    match answer {
        Ok(answer) => clean(what, &format!("{}\n{}", answer.text, answer.data)),
        Err(error) => clean(what, &format!("{error}\n{}\n{error:?}", error.hint().unwrap_or_default())),
    }
}

/// The private rows, as they stand.
fn private_rows(place: &Place) -> Vec<String> {
    let mut rows = Vec::new();
    for sql in [
        "SELECT number, content, tags, type, score, superseded_by, private FROM entries WHERE private",
        "SELECT entry, version, content, tags, private, '', '' FROM entry_history
            WHERE entry IN (SELECT id FROM entries WHERE private)",
        "SELECT id, entity, key, value, until, private, category FROM facts",
        "SELECT id, subject, predicate, object, until, private, '' FROM relations WHERE private",
        "SELECT id, folded, name, entity, own, source, private FROM names",
        "SELECT number, session, \"user\", agent, private, '', '' FROM exchanges WHERE private",
        "SELECT number, text, asked, private, '', '', '' FROM lessons WHERE private",
        "SELECT number, target, reason, state, private, '', '' FROM proposals",
        "SELECT number, id, private, '', '', '', '' FROM sessions WHERE private",
    ] {
        let holds = |row: &String| CANARIES.iter().any(|canary| row.to_lowercase().contains(canary));
        rows.extend(place.rows(sql).iter().map(|row| format!("{sql}: {row}")).filter(holds));
    }
    assert!(rows.len() > 12, "{rows:#?}");
    // Documents and a conversation were read into the graph.
    let read = "SELECT count(DISTINCT path) FROM citations WHERE path <> 'notes.md'";
    let read: i64 = place.rows(read)[0].parse().unwrap();
    assert!(read >= 4, "{read} private texts were read");
    rows
}

/// All of them are as they were; others may have come.
fn unchanged(place: &Place, before: &[String]) {
    let now = private_rows(place);
    for row in before {
        assert!(now.contains(row), "a shared session changed what is private: {row}");
    }
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

/// A value that the schema takes.
fn made(dice: &mut Dice, schema: &Value, ids: &[String]) -> Value {
    if let Some(forms) = schema["anyOf"].as_array() {
        let form = dice.roll(forms.len());
        return made(dice, &forms[form], ids);
    }
    if let Some(values) = schema["enum"].as_array() {
        return values[dice.roll(values.len())].clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds[dice.roll(kinds.len())].as_str().unwrap().to_owned(),
        kind => kind.as_str().unwrap_or("string").to_owned(),
    };
    match kind.as_str() {
        "boolean" => (dice.roll(2) == 0).into(),
        "integer" => (1 + dice.roll(50)).into(),
        "number" => 0.5.into(),
        "null" => Value::Null,
        "array" => {
            let count = dice.roll(3);
            (0..count).map(|_| made(dice, &schema["items"], ids)).collect()
        }
        "object" => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            fields.map(|(name, schema)| (name.clone(), made(dice, schema, ids))).collect::<Map<_, _>>().into()
        }
        _ => match dice.roll(6) {
            0 => ids[dice.roll(ids.len())].clone().into(),
            1 => (1 + dice.roll(50)).to_string().into(),
            2 => format!("{} {}", PROBES[dice.roll(PROBES.len())], PROBES[dice.roll(PROBES.len())]).into(),
            3 => "2026-01-15T12:00:00Z".into(),
            _ => PROBES[dice.roll(PROBES.len())].into(),
        },
    }
}

#[test]
fn no_tool_tells_a_shared_session_what_is_private() {
    let mut place = planted();
    let before = private_rows(&place);
    // They are there to be found.
    let told = TOOLS.iter().filter(|tool| tool.access == nacre::Access::Read).map(|tool| {
        let arguments = match tool.name {
            "memory_search" | "memory_query" | "graph_search" => {
                json!({ "query": "the password of the safe" })
            }
            "memory_get" => json!({ "id": 2 }),
            "session_show" => json!({ "id": "private-talk" }),
            _ => json!({}),
        };
        call(&mut place, &private(), tool.name, arguments).map(|answer| answer.text).unwrap_or_default()
    });
    let told = told.collect::<Vec<_>>().join("\n");
    let seen = CANARIES.iter().filter(|canary| told.to_lowercase().contains(*canary)).count();
    assert!(seen >= 12, "only {seen} canaries are there for a private session: {told}");
    let ids = place.rows("SELECT id FROM entries");
    let mut dice = Dice(7);
    let (mut answered, mut refused) = (0, 0);
    let reads_first = |tool: &&nacre::Tool| tool.access != nacre::Access::Read;
    let mut tools: Vec<&nacre::Tool> = TOOLS.iter().chain(&COMPAT_TOOLS).collect();
    tools.sort_by_key(reads_first);
    for tool in tools {
        let schema = tool.input_schema(place.group.settings());
        let properties = schema["properties"].as_object().cloned().unwrap_or_default();
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for round in 0..50 {
            let mut arguments = Map::new();
            for (name, property) in &properties {
                if required.contains(&name.as_str()) || dice.roll(3) == 0 {
                    arguments.insert(name.clone(), made(&mut dice, property, &ids));
                }
            }
            let what = format!("{} {} (round {round})", tool.name, Value::from(arguments.clone()));
            let answer = call(&mut place, &shared(), tool.name, arguments.into());
            clean_answer(&what, &answer);
            if answer.is_ok() { answered += 1 } else { refused += 1 }
        }
    }
    assert!(answered > 300 && refused > 50, "{answered} answered, {refused} refused");
    for probe in PROBES {
        let mut request = Request::new(format!("Tell me about {probe}"));
        request.explain = true;
        let told = turn::run(&mut place.view_of(&shared()), &request).unwrap();
        clean(&format!("a turn about {probe}"), &serde_json::to_string(&told).unwrap());
    }
    for session in ["open-session", "secret-session", "private-talk"] {
        let caller = Caller { session: session.parse().unwrap(), ..shared() };
        clean("state", &serde_json::to_string(&turn::state(&place.view_of(&caller)).unwrap()).unwrap());
        clean("lessons", &serde_json::to_string(&turn::lessons(&place.view_of(&caller)).unwrap()).unwrap());
        clean(
            "proposals",
            &serde_json::to_string(&turn::proposals(&place.view_of(&caller)).unwrap()).unwrap(),
        );
        for number in 1..5 {
            if let Ok(lesson) = turn::forget(&mut place.view_of(&caller), number) {
                clean("a lesson", &lesson.text);
            }
        }
    }
    unchanged(&place, &before);
}

/// Answers to a shared session that names private things.
#[test]
fn writes_of_a_shared_session_neither_tell_nor_change_what_is_private() {
    let mut place = planted();
    let before = private_rows(&place);
    let word = |n: usize| CANARIES[n];
    // Only the caller's own words come back to it.
    let unsaid = |answer: &Result<Answer, Error>, said: &[&str]| {
        let mut text = match answer {
            Ok(answer) => format!("{} {}", answer.text, answer.data),
            Err(error) => format!("{error} {}", error.hint().unwrap_or_default()),
        };
        for word in said {
            text = text.replace(word, "");
        }
        clean(&format!("{said:?}"), &text);
        for told in ["family", "1 May", "replaced", "MEMORY.md", "CORE.md", "diary.md"] {
            assert!(!text.contains(told), "{said:?} told {told}: {text}");
        }
    };
    for (tool, arguments, said) in [
        ("fact_upsert", json!({ "entity": "Petra Lindholm", "key": "doctor", "value": "Weber" }), vec![]),
        ("fact_upsert", json!({ "entity": "Petra Lindholm", "key": "boat", "value": "Seagull" }), vec![]),
        ("fact_upsert", json!({ "entity": "Petra Lindholm", "key": "secret plan", "value": "none" }), vec![]),
        ("fact_upsert", json!({ "entity": word(16), "key": "birthday", "value": "2 May" }), vec![word(16)]),
        ("fact_upsert", json!({ "entity": "my cousin", "key": "birthday", "value": "2 May" }), vec![]),
        ("fact_upsert", json!({ "entity": word(19), "key": "birthday", "value": "2 May" }), vec![word(19)]),
        ("fact_upsert", json!({ "entity": word(1), "key": "birthday", "value": "2 May" }), vec![word(1)]),
        (
            "relation_add",
            json!({ "subject": "Petra Lindholm", "predicate": "knows", "object": word(18) }),
            vec![word(18)],
        ),
        (
            "relation_add",
            json!({ "subject": "my cousin", "predicate": "knows", "object": "Petra Lindholm" }),
            vec![],
        ),
        ("alias_add", json!({ "alias": "my cousin", "entity": "Petra Lindholm" }), vec![]),
        ("alias_add", json!({ "alias": "the lawyer", "entity": word(18) }), vec![word(18)]),
        ("alias_add", json!({ "alias": "my cousin", "entity": word(16), "remove": true }), vec![word(16)]),
        ("entity_join", json!({ "do": "merge", "one": word(16), "other": "Petra Lindholm" }), vec![]),
        ("entity_join", json!({ "do": "remove", "one": word(16) }), vec![]),
        ("graph_rule", json!({ "single": "boat" }), vec![]),
        ("fact_remove", json!({ "of": "Petra Lindholm" }), vec![]),
        ("fact_remove", json!({ "of": "my cousin" }), vec![]),
        (
            "relation_end",
            json!({ "subject": "Petra Lindholm", "predicate": "knows", "object": word(18), "remove": true }),
            vec![word(18)],
        ),
        ("memory_store", json!({ "content": "The orchard was sold", "tags": ["sold"] }), vec![]),
        (
            "memory_update",
            json!({ "id": 1, "content": format!("The illness is {}", word(11)) }),
            vec![word(11)],
        ),
        ("memory_store", json!({ "content": "x y z", "supersedes": 3 }), vec![]),
        ("memory_reinforce", json!({ "id": 3 }), vec![]),
        ("memory_demote", json!({ "id": 3 }), vec![]),
        ("memory_delete", json!({ "id": 3 }), vec![]),
        ("memory_get", json!({ "id": 4 }), vec![]),
    ] {
        unsaid(&call(&mut place, &shared(), tool, arguments), &said);
    }
    let stored = call(&mut place, &shared(), "memory_search", json!({ "query": "orchard sold" })).unwrap();
    for hit in stored.data["hits"].as_array().unwrap() {
        if let Some(number) = hit["number"].as_i64() {
            unsaid(&call(&mut place, &shared(), "memory_get", json!({ "id": number })), &[]);
        }
    }
    unchanged(&place, &before);
    place.check();
}

#[test]
fn marks_are_kept_by_export_and_import() {
    let mut place = planted();
    let export = tempfile::tempdir().unwrap();
    nacre::export::export(&place.view(), export.path()).unwrap();
    let mut other = everything();
    nacre::export::import(&mut other.view_of(&private()), export.path()).unwrap();
    let count = |place: &Place, sql: &str| -> (i64, i64) {
        let of = |private: bool| {
            let rows = place.rows(&format!("SELECT count(*) FROM {sql} AND private = {private}"));
            rows[0].parse().unwrap()
        };
        (of(true), of(false))
    };
    for sql in [
        "entries WHERE true",
        "entry_history WHERE true",
        "exchanges WHERE true",
        "lessons WHERE true",
        "sessions WHERE true",
        "facts WHERE source = 'agent'",
        "relations WHERE source = 'agent'",
    ] {
        assert_eq!(count(&other, sql), count(&place, sql), "{sql}");
    }
    for query in PROBES {
        let answer = call(
            &mut other,
            &shared(),
            "memory_search",
            json!({ "query": query, "scope": ["entries", "graph", "sessions"] }),
        );
        clean_answer(query, &answer);
    }
    clean_answer("entities", &call(&mut other, &shared(), "entity_list", json!({})));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever is marked: a shared session finds what a private one finds, but for that.
    #[test]
    fn a_shared_search_is_a_private_one_without_what_is_private(marks in prop::collection::vec(any::<bool>(), 12)) {
        let mut place = everything();
        for (number, private) in marks.iter().enumerate() {
            let content = format!("The harbour has berth number{number} for boats");
            done(&mut place, "memory_store", json!({ "content": content, "private": private }));
            let entity = format!("Harbour berth{number}");
            done(&mut place, "fact_upsert", json!({ "entity": entity, "key": "port", "value": "Kiel", "private": private }));
        }
        for (query, scope) in [("harbour berth boats", "entries"), ("harbour port", "graph"), ("", "entries")] {
            let request = json!({ "query": query, "scope": [scope], "limit": 100 });
            let mut found = |caller: &Caller| -> Vec<String> {
                let answer = call(&mut place, caller, "memory_search", request.clone()).unwrap().data;
                let mut texts: Vec<String> = answer["hits"].as_array().unwrap().iter()
                    .map(|hit| hit["text"].as_str().or(hit["content"].as_str()).unwrap_or_default().to_owned()).collect();
                texts.sort();
                texts
            };
            let all = found(&private());
            let seen = found(&shared());
            let is_private = |text: &String| marks.iter().enumerate().any(|(number, private)| {
                *private && (text.contains(&format!("number{number} ")) || text.contains(&format!("berth{number}:")))
            });
            let expected: Vec<String> = all.into_iter().filter(|text| !is_private(text)).collect();
            prop_assert_eq!(seen, expected, "{} in {}", query, scope);
        }
    }
}
