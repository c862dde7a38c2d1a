//! Notes are searched and shown by the line: the line that answers, with the lines around it.

use std::fs;

use nacre::turn;
use serde_json::{Value, json};

use crate::sealed::Place;

fn write(place: &Place, path: &str, text: &str) {
    let path = place.group.folder().join(path);
    #[expect(clippy::disallowed_methods, reason = "a test writes files as any editor does")]
    let written = fs::create_dir_all(path.parent().unwrap()).and_then(|()| fs::write(path, text));
    written.unwrap();
}

fn hits(place: &mut Place, query: &str) -> Vec<Value> {
    let found = place.call("memory_search", json!({ "query": query, "limit": 6 })).data;
    found["hits"].as_array().unwrap().clone()
}

#[track_caller]
fn first(place: &mut Place, query: &str) -> String {
    hits(place, query)[0]["text"].as_str().unwrap().to_owned()
}

/// Notes of a household: one long list of numbers, a table, and logs.
fn household() -> Place {
    let place = Place::new();
    let numbers: String = (10..50).map(|n| format!("Trader {n}, sells goods of kind {n}\n")).collect();
    write(
        &place,
        "memory/contacts.md",
        &format!(
            "# Contacts\n{numbers}Sparky: Imran, 07700 900218, does evenings\n## Allotment\nSheila keeps the list, 07700 900804\n\
             Gate padlock 4417\n## Garden\npaint\n  - fence: Millpond\n  - shed: Oatcake\n"
        ),
    );
    write(
        &place,
        "memory/crew.md",
        "# Crew\n\n| who | does | phone |\n|---|---|---|\n| Omar | server | 773-555-0139 |\n| Luz | pierogi | 773-555-0103 |\n",
    );
    write(&place, "memory/2026-11-01.md", "Padlock at the allotment is 2958 now\nGarlic in, 3 rows\n");
    place
}

#[test]
fn the_line_that_answers_came_with_a_page_around_it() {
    let mut place = household();
    let hit = hits(&mut place, "the number of the sparky who does evenings")[0].clone();
    let text = hit["text"].as_str().unwrap();
    assert!(text.contains("07700 900218") && text.chars().count() <= 320, "{text}");
    assert!(text.starts_with("Contacts: "), "the heading is named: {text}");
    let [from, to] = [0, 1].map(|end| hit["lines"][end].as_u64().unwrap());
    assert!(from <= 42 && 42 <= to && to - from < 8, "{hit}");
    assert_eq!(hit["id"], format!("memory/contacts.md#L{from}-L{to}"));
}

#[test]
fn a_line_was_not_found_by_the_words_above_it() {
    let mut place = household();
    assert!(first(&mut place, "what is the phone of Luz").contains("773-555-0103"));
    assert!(first(&mut place, "which paint for the shed").contains("Oatcake"));
    assert!(first(&mut place, "crew server phone").contains("773-555-0139"));
}

#[test]
fn a_question_for_a_phone_number_found_a_line_without_one() {
    let mut place = Place::new();
    write(
        &place,
        "memory/people.md",
        &format!(
            "{}Marta the plumber fixed the sink\nMarta 07700 900142\n",
            "An unrelated line of notes.\n".repeat(60)
        ),
    );
    assert!(first(&mut place, "what is Marta's phone number").contains("07700 900142"));
}

#[test]
fn an_old_value_came_without_the_later_line_of_a_log() {
    let mut place = household();
    let texts: Vec<String> = hits(&mut place, "code of the gate padlock")
        .iter()
        .map(|hit| hit["text"].as_str().unwrap().into())
        .collect();
    let old = texts.iter().find(|text| text.contains("4417")).unwrap();
    assert!(old.contains("later (1 November 2026): Padlock at the allotment is 2958 now"), "{texts:?}");
}

#[test]
fn lines_of_two_places_came_as_one_hit_or_twice() {
    let mut place = household();
    let mut seen: Vec<(String, u64)> = Vec::new();
    for hit in hits(&mut place, "Trader 17 and Trader 44 sell goods") {
        let [from, to] = [0, 1].map(|end| hit["lines"][end].as_u64().unwrap());
        for line in from..=to {
            let line = (hit["path"].as_str().unwrap().to_owned(), line);
            assert!(!seen.contains(&line), "{line:?} twice");
            seen.push(line);
        }
    }
}

#[test]
fn plain_words_still_find_chunks() {
    let mut place = Place::with("balanced", &["search.fusion=words"]);
    write(&place, "notes.md", "# Harbor\nThe ferry leaves at nine.\n");
    assert_eq!(hits(&mut place, "ferry")[0]["id"], "notes.md#L1-L2");
}

fn added(place: &mut Place, message: &str) -> Vec<String> {
    nacre::workspace::sync(&mut place.view()).unwrap();
    let turn = turn::run(&mut place.view(), &turn::Request::new(message)).unwrap();
    turn.blocks.into_iter().flat_map(|block| block.lines).map(|line| line.text).collect()
}

#[test]
fn a_message_to_write_got_no_line_or_the_outdated_one() {
    let mut place = household();
    let lines = added(
        &mut place,
        "Beth is stuck outside the allotment, write her a short message with what to enter at the padlock",
    );
    assert!(lines.iter().any(|line| line.contains("2958")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("4417") && !line.contains("2958")), "{lines:?}");
}

#[test]
fn a_request_that_needs_no_note_got_one() {
    for message in [
        "write a limerick about garlic",
        "translate: the padlock of the allotment is broken",
        "who invented the padlock",
        "list five names for a boat",
    ] {
        assert_eq!(added(&mut household(), message), Vec::<String>::new(), "{message}");
    }
}

#[test]
fn a_similar_line_outranked_the_identifier_that_was_looked_up() {
    let mut place = Place::new();
    for number in 0..120u32 {
        let next = (number + 1) % 120;
        // Imported pages have a hash in their names, and a hash has parts that mean something by chance.
        let hash = number.wrapping_mul(2_654_435_761);
        let text = format!("Note about subject{number} with [[Page p{next}]] and more words.\n");
        write(&place, &format!("memory/pages/Page p{number}-{hash:08x}.md"), &text);
    }
    for number in 0..120 {
        let found = first(&mut place, &format!("subject{number}"));
        assert!(found.contains(&format!("subject{number} ")), "subject{number}: {found}");
    }
}
