//! What must hold for any input.

use std::collections::BTreeMap;

use nacre::call::parse;
use nacre::redact;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::sealed::Place;

/// Text with everything that means something to some parser in it.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        "[a-z]{1,8}",
        "\\PC{0,6}",
        prop::sample::select(vec![
            "\"",
            "'",
            "(",
            ")",
            "*",
            "^",
            ":",
            "-",
            "+",
            "NEAR",
            "AND",
            "OR",
            "NOT",
            "{",
            "}",
            "https://a.b/c?d",
            "%",
            "\\",
            ";--",
            "text:",
            "日本",
            "ก",
            "é",
            "\u{301}",
            "\u{200b}",
            "🦀",
            "C++",
            "user_name",
            "\u{feff}",
            "\t",
            "\n",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_query_breaks_the_search(query in hostile(), tag in hostile()) {
        let mut place = Place::new();
        place.store("a first entry about the user_name in 日本");
        let arguments = json!({ "query": query, "tags": [tag] });
        if let Err(error) = place.try_call("memory_search", arguments) {
            prop_assert_eq!(error.code(), "bad_argument");
        }
    }

    #[test]
    fn what_is_stored_reads_back_the_same_and_is_found(content in hostile()) {
        let mut place = Place::new();
        match place.try_call("memory_store", json!({ "content": content })) {
            Ok(stored) => {
                let entry = place.call("memory_get", json!({ "id": stored.data["id"] })).data;
                prop_assert_eq!(entry["content"].as_str().unwrap(), content.trim());
                let brief = place.call("memory_brief", json!({})).text;
                prop_assert_eq!(brief.lines().filter(|line| line.starts_with("- ")).count(), 1, "{}", brief);
                place.check();
            }
            Err(error) => prop_assert!(matches!(error.code(), "bad_argument" | "empty_content"), "{}", error),
        }
    }

    #[test]
    fn redaction_never_fails_and_masks_once(before in hostile(), after in hostile(), pattern in 0..redact::PATTERNS.len()) {
        let secret = redact::PATTERNS[pattern].sample;
        let masked = redact::text(&format!("{before} {secret} {after}")).into_owned();
        prop_assert!(masked.contains(redact::MASK));
        prop_assert_eq!(redact::text(&masked).into_owned(), masked);
    }

    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), text in hostile()) {
        let _ = parse(&bytes);
        let value: Value = json!({ "query": text, "tags": [text.clone()] });
        prop_assert_eq!(parse(value.to_string().as_bytes()).unwrap(), value);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Store(u8),
    Supersede(u8, u8),
    Update(u8, u8),
    Delete(u8),
    Reindex,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => any::<u8>().prop_map(Step::Store),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(old, new)| Step::Supersede(old, new)),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(old, new)| Step::Update(old, new)),
        1 => any::<u8>().prop_map(Step::Delete),
        1 => Just(Step::Reindex),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random operations beside a plain map of what must be current.
    #[test]
    fn any_sequence_of_writes_agrees_with_a_plain_map(steps in steps()) {
        let mut place = Place::with("balanced", &["limits.store=0", "limits.supersede=0", "limits.delete=0"]);
        let mut current: BTreeMap<i64, u8> = BTreeMap::new();
        // Two letters that no stemmer takes off.
        let name = |word: u8| [word / 16, word % 16].map(|digit| char::from(b"bcdfghjklmnpqrtv"[usize::from(digit)])).iter().collect::<String>();
        let content = |word: u8| format!("statement x{}", name(word));
        for step in steps {
            let pick = |index: u8| current.keys().nth(usize::from(index) % current.len().max(1)).copied();
            match step {
                Step::Store(word) => {
                    let stored = place.call("memory_store", json!({ "content": content(word) })).data;
                    prop_assert_eq!(stored.get("duplicate_of").is_some(), current.values().any(|known| *known == word));
                    current.insert(stored["number"].as_i64().unwrap(), word);
                }
                Step::Supersede(old, word) => if let Some(old) = pick(old) {
                    let stored = place.call("memory_store", json!({ "content": content(word), "supersedes": old })).data;
                    let number = stored["number"].as_i64().unwrap();
                    if number != old {
                        current.remove(&old);
                    }
                    current.insert(number, word);
                },
                Step::Update(old, word) => if let Some(old) = pick(old) {
                    let taken = current.iter().any(|(number, known)| *known == word && *number != old);
                    let answer = place.try_call("memory_update", json!({ "id": old, "content": content(word) }));
                    prop_assert_eq!(answer.is_err(), taken);
                    if !taken {
                        current.insert(old, word);
                    }
                },
                Step::Delete(old) => if let Some(old) = pick(old) {
                    place.call("memory_delete", json!({ "id": old }));
                    current.remove(&old);
                },
                Step::Reindex => {
                    let caller = place.caller.clone();
                    nacre::reindex(&mut place.view_of(&caller)).unwrap();
                }
                Step::Reopen => place.reopen(),
            }
        }
        let mut found = place.found(json!({ "limit": 100 }));
        found.sort_unstable();
        prop_assert_eq!(found, current.keys().copied().collect::<Vec<_>>());
        for (number, word) in &current {
            let query = json!({ "query": format!("x{}", name(*word)) });
            prop_assert_eq!(place.found(query.clone())[0], *number);
            prop_assert_eq!(place.found_by_words(query), vec![*number]);
        }
        place.check();
    }
}
