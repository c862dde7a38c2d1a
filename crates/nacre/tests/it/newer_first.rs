//! The newer of two contradicting statements comes first, both with their dates, in searches, graph answers and turns.
//! Each test is named for what once went wrong.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use nacre::Actor;
use nacre::turn::{self, Request};
use serde_json::{Value, json};

use crate::files::put;
use crate::sealed::Place;

/// Imports a conversation: each message with its session and its date, which may be empty.
fn import(place: &mut Place, messages: &[(&str, &str, &str)]) {
    let lines = messages.iter().enumerate().map(|(number, (session, day, text))| {
        let at = if day.is_empty() { Value::Null } else { json!(day) };
        let line = json!({ "id": number.to_string(), "session": session, "speaker": "user", "text": text, "timestamp": at });
        format!("{line}\n")
    });
    let text: String = lines.collect();
    let caller = place.caller.clone();
    nacre::session::import_transcript(&mut place.view_of(&caller), text.as_bytes(), "talk.jsonl", |_| {})
        .unwrap();
}

fn texts(place: &mut Place, query: &str, scope: &[&str]) -> Vec<String> {
    let answer = place.call("memory_search", json!({ "query": query, "scope": scope, "limit": 10 }));
    let hits = answer.data["hits"].as_array().unwrap();
    hits.iter().map(|hit| hit["text"].as_str().unwrap().to_owned()).collect()
}

fn turn_lines(place: &mut Place, message: &str) -> Vec<String> {
    static TURNS: AtomicUsize = AtomicUsize::new(0);
    // A conversation of its own: what was injected lately is not injected again.
    place.caller.session = format!("turn-{}", TURNS.fetch_add(1, Ordering::Relaxed)).parse().unwrap();
    let turn = turn::run(&mut place.view(), &Request::new(message)).unwrap();
    turn.blocks.iter().flat_map(|block| &block.lines).map(|line| line.text.clone()).collect()
}

#[test]
fn a_correction_in_the_same_session_never_won() {
    let talk = [
        "The curator of the Lindqvist Museum is Oskar Brandt.",
        "The Lindqvist Museum closes at six.",
        "Marlene Voss teaches the subject of geology.",
        "The harbour bridge was designed by Ines Caldera.",
        "Tobias Reiter plays the instrument of cello.",
        "Marlene Voss lives in the town of Ystad.",
        "The curator of the Lindqvist Museum is Petra Nilsson.",
        "The harbour bridge was designed by Rafael Ortuño.",
        "Tobias Reiter plays the instrument of harpsichord.",
        "Marlene Voss teaches the subject of botany.",
    ];
    for one_session in [true, false] {
        let mut place = Place::new();
        let sessions: Vec<String> =
            (0..talk.len()).map(|n| if one_session { "s".into() } else { format!("s{n}") }).collect();
        let messages: Vec<(&str, &str, &str)> =
            sessions.iter().zip(talk).map(|(session, text)| (session.as_str(), "", text)).collect();
        import(&mut place, &messages);
        for (question, newer, older) in [
            ("Who is the curator of the Lindqvist Museum?", 6, 0),
            ("Which subject does Marlene Voss teach?", 9, 2),
            ("Who designed the harbour bridge?", 7, 3),
            ("What instrument does Tobias Reiter play?", 8, 4),
        ] {
            let found = texts(&mut place, question, &["sessions"]);
            assert_eq!(found[0], talk[newer], "one session: {one_session}, {found:?}");
            assert!(found.iter().any(|text| text == talk[older]), "the older one stays: {found:?}");
        }
    }
}

#[test]
fn a_newer_statement_on_another_attribute_outranked_the_answer() {
    let mut place = Place::new();
    import(
        &mut place,
        &[
            ("a", "2026-01-02", "Runa Halvorsen is a citizen of Iceland."),
            ("b", "2026-01-05", "Runa Halvorsen is married to Jonas Eide."),
            ("c", "2026-01-09", "Runa Halvorsen is allergic to walnuts."),
        ],
    );
    let found = texts(&mut place, "What is the country of citizenship of Runa Halvorsen?", &["sessions"]);
    assert_eq!(found[0], "Runa Halvorsen is a citizen of Iceland.", "{found:?}");
}

#[test]
fn the_turn_showed_the_stale_fact_before_its_correction() {
    let mut place = Place::new();
    place.call("fact_upsert", json!({ "entity": "heron", "key": "port", "value": "6459" }));
    place.later(3).call(
        "memory_store",
        json!({ "content": "heron's port is 7070 now, not 6459", "type": "correction" }),
    );
    let lines = turn_lines(&mut place, "Which port does heron listen on?");
    assert_eq!(
        lines,
        [
            "- heron's port is 7070 now, not 6459 (correction, today, id:1)",
            "- heron: port = 6459 (fact, 15 Jan)"
        ]
    );
    // The other way round: the fact is the newer one.
    place.later(1).call("fact_upsert", json!({ "entity": "heron", "key": "port", "value": "8080" }));
    let lines = turn_lines(&mut place, "What is the port of heron?");
    assert!(lines[0].contains("8080") && lines[1].contains("7070"), "{lines:?}");
}

#[test]
fn a_search_and_a_graph_answer_showed_the_old_value_first() {
    let mut place = Place::new();
    place.call("fact_upsert", json!({ "entity": "Kestrel", "key": "port", "value": "6459" }));
    place.later(3).store("Kestrel's port is 7070.");
    let found = place.call("memory_search", json!({ "query": "Kestrel port" }));
    let hits = found.data["hits"].as_array().unwrap();
    let order: Vec<&str> = hits.iter().map(|hit| hit["text"].as_str().unwrap()).collect();
    assert_eq!(order, ["Kestrel's port is 7070.", "Kestrel: port = 6459"], "{}", found.text);
    assert_eq!(hits[1]["newer"]["id"], "id:1", "{}", found.data);
    assert_eq!(
        found.text,
        "[id:1] [fact] Kestrel's port is 7070. (today)\n[fact-1] Kestrel: port = 6459 (15 Jan) (older than [id:1], today)"
    );
    let answer = place.call("graph_search", json!({ "query": "What is the port of Kestrel?" }));
    assert_eq!(answer.text, "[id:1] Kestrel's port is 7070. (today)\n[fact-1] Kestrel: port = 6459 (15 Jan)");
}

#[test]
fn an_old_value_was_the_only_hit_of_a_short_answer() {
    let mut place = Place::new();
    place.store("The gate code of the allotment is 4471.");
    place.later(2).store("New gate code at the allotment: 9036");
    let found =
        place.call("memory_search", json!({ "query": "the gate code of the allotment is", "limit": 1 }));
    assert!(found.text.contains("9036"), "{}", found.text);
}

#[test]
fn a_fresh_clone_made_an_undated_note_beat_a_dated_log() {
    let note = "# Harbor\n\n- api port: 5110\n";
    let log = "## Harbor\n\n- api port: 5140\n";
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000);
    for touched in [false, true] {
        let mut place = Place::new();
        put(&place, "memory/2026-01-10.md", log);
        put(&place, "notes/project-harbor.md", note);
        let touch = |place: &Place, path: &str| {
            let file = std::fs::File::options().write(true).open(place.group.folder().join(path)).unwrap();
            file.set_modified(now).unwrap();
        };
        let ask = |place: &mut Place| {
            let found = place.call("memory_search", json!({ "query": "Harbor api port" }));
            assert!(found.data["hits"][0]["text"].as_str().unwrap().contains("5140"), "{}", found.text);
            let graph = place.call("graph_search", json!({ "query": "What is the api port of Harbor?" }));
            assert!(
                graph.text.starts_with("[fact-") && graph.text.contains("5140 (10 Jan)"),
                "{}",
                graph.text
            );
            let lines = turn_lines(place, "Which api port does Harbor use?");
            assert!(lines.first().is_some_and(|line| line.contains("5140")), "{lines:?}");
            found.text
        };
        if touched {
            touch(&place, "notes/project-harbor.md");
        }
        let before = ask(&mut place);
        touch(&place, "notes/project-harbor.md");
        assert_eq!(ask(&mut place), before);
    }
}

#[test]
fn a_fact_lost_to_a_note_that_was_only_copied() {
    let mut place = Place::new();
    place.caller.actor = Actor::Person;
    place.call("fact_upsert", json!({ "entity": "Marlin", "key": "region", "value": "eu-west" }));
    put(&place, "notes/marlin.md", "# Marlin\n\n- region: us-east\n");
    let found = place.later(1).call("memory_search", json!({ "query": "Marlin notes", "scope": ["memory"] }));
    assert!(found.text.ends_with("(undated)") && found.data["hits"][0].get("at").is_none(), "{}", found.data);
    let facts = place.call("fact_list", json!({ "entity": "Marlin", "key": "region" })).data;
    assert_eq!(facts["facts"][0]["value"], "eu-west", "{facts}");
    // An edit of a known text has a time.
    put(&place, "notes/marlin.md", "# Marlin\n\n- region: us-north\n");
    place.later(1).call("memory_search", json!({ "query": "Marlin" }));
    let facts = place.call("fact_list", json!({ "entity": "Marlin", "key": "region" })).data;
    assert_eq!(facts["facts"][0]["value"], "us-north", "{facts}");
}

#[test]
fn a_line_of_a_log_had_only_the_date_of_its_file() {
    let mut place = Place::new();
    put(
        &place,
        "memory/decisions.md",
        "# Decisions\n\n- 2026-01-03: The relay station's frequency is 145.600 MHz.\n\n## 2026-01-12\n\nThe relay station's frequency is 145.750 MHz.\n",
    );
    place.caller.now = nacre::Time::parse("2026-01-07T12:00:00Z").unwrap();
    place.store("The relay station's frequency is 145.700 MHz.");
    place.later(8).call("memory_search", json!({ "query": "frequency" }));
    let lines = turn_lines(&mut place, "What is the frequency of the relay station?");
    assert!(lines[0].contains("145.750") && lines[0].contains("12 Jan"), "{lines:?}");
    let stored =
        place.call("memory_store", json!({ "content": "The relay station's frequency is 145.900 MHz." }));
    let dates: Vec<&str> = stored.data["contradicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["at"].as_str().unwrap())
        .collect();
    for day in ["2026-01-03", "2026-01-07", "2026-01-12"] {
        assert!(dates.iter().any(|date| date.starts_with(day)), "{day}: {dates:?}");
    }
}

#[test]
fn a_snippet_cut_off_the_sentence_that_matched() {
    let filler =
        "The committee met in the small hall and spoke about the weather of the past weeks at length. ";
    let wanted = "The key to the boathouse hangs behind the third oar on the left side of the shed.";
    for text in [
        // One long line, and the sentence at its end or in the middle.
        format!("{}{wanted}", filler.repeat(12)),
        format!("{}{wanted} {}", filler.repeat(7), filler.repeat(5)),
        format!("{}\n{wanted}\n{}", filler.repeat(8), filler.repeat(6)),
        // One sentence longer than a snippet.
        format!("{}and {wanted}", "the committee met, ".repeat(40)),
    ] {
        let mut place = Place::new();
        put(&place, "memory/minutes.md", &text);
        for query in ["boathouse key oar", "where does one hang up what opens the boat shed"] {
            let found = place.call("memory_search", json!({ "query": query, "scope": ["memory"] }));
            assert!(found.text.contains(wanted), "{query}: {}", found.text);
        }
    }
}

/// The memory of a person with a family.
fn family(profile: &str) -> Place {
    let mut place = Place::with(profile, &[]);
    put(
        &place,
        "USER.md",
        "# User\n\n- Name: Ana Kovac\n- Call me: Ana\n- Lives in: Turin\n- Allergy: penicillin. Please don't ever forget this one.\n\n\
         ## People\n\n- Tea: my daughter, allergic to peanuts\n- My mother is Vera Kovac\n",
    );
    put(
        &place,
        "memory/2026-01-10.md",
        "- My mother lives in Split now.\n- For the boiler, call Marko Horvat.\n",
    );
    place.call("memory_search", json!({ "query": "boiler" }));
    place
}

#[test]
fn a_question_about_my_mother_was_answered_with_my_own_fact() {
    for profile in ["balanced", "nanoclaw"] {
        let mut place = family(profile);
        let found = place.call("memory_search", json!({ "query": "where does my mother live?" }));
        let first = found.data["hits"][0]["text"].as_str().unwrap();
        assert!(first.contains("Split"), "{profile}: {}", found.text);
        let lines = turn_lines(&mut place, "where does my mother live?");
        assert!(lines.first().is_none_or(|line| !line.contains("Turin")), "{profile}: {lines:?}");
    }
}

#[test]
fn a_call_about_the_boiler_was_answered_with_how_i_am_called() {
    let mut place = family("balanced");
    let lines = turn_lines(&mut place, "Who do I call about the boiler?");
    assert!(lines.first().is_some_and(|line| line.contains("Marko")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.to_lowercase().contains("call me = ana")), "{lines:?}");
}

#[test]
fn my_allergies_were_those_of_my_daughter() {
    let mut place = family("balanced");
    let lines = turn_lines(&mut place, "The doctor wants to know my medication and allergies");
    let mine = lines.iter().position(|line| line.contains("penicillin"));
    let hers = lines.iter().position(|line| line.contains("peanut"));
    assert!(mine.is_some_and(|mine| hers.is_none_or(|hers| mine < hers)), "{lines:?}");
}

#[test]
fn a_mail_about_the_port_change_was_drafted_with_the_old_port() {
    for profile in ["balanced", "nanoclaw"] {
        let mut place = Place::with(profile, &[]);
        put(&place, "notes/project-harbor.md", "# Harbor\n\n- api port: 5110\n");
        put(&place, "memory/2026-01-10.md", "- [decision|i=0.9] Harbor's API moves to port 5140\n");
        place.call("memory_search", json!({ "query": "harbor" }));
        let lines = turn_lines(&mut place, "draft a mail to Nils about the port change of the Harbor API");
        let place_of = |port: &str| lines.iter().position(|line| line.contains(port));
        let is_alone = place_of("5110").is_some_and(|old| place_of("5140").is_none_or(|new| old < new));
        assert!(!is_alone, "{profile}: {lines:?}");
    }
}
