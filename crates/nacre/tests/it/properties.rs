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
    fn redaction_never_fails_and_masks_once(before in hostile(), after in hostile(), pattern in 0..redact::FORMS.len()) {
        let secret = redact::FORMS[pattern].sample;
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

/// The expected state of an entry: its word, its successor, and whether it is archived.
#[derive(Clone, Debug, PartialEq)]
struct Plain {
    word: u8,
    superseded_by: Option<i64>,
    archived: bool,
}

impl Plain {
    fn is_current(&self) -> bool {
        self.superseded_by.is_none() && !self.archived
    }
}

/// A memory as a plain map, with the rules of docs/concepts.md written down a second time.
#[derive(Default)]
struct Model(BTreeMap<i64, Plain>);

impl Model {
    fn current(&self) -> impl Iterator<Item = (i64, u8)> {
        self.0.iter().filter(|(_, entry)| entry.is_current()).map(|(number, entry)| (*number, entry.word))
    }

    fn with_word(&self, word: u8, but: i64) -> Option<i64> {
        self.current().find(|(number, known)| *known == word && *number != but).map(|(number, _)| number)
    }

    fn supersede(&mut self, old: i64, by: i64) {
        let old = self.0.get_mut(&old).unwrap();
        (old.superseded_by, old.archived) = (Some(by), false);
    }

    fn delete(&mut self, number: i64) {
        let gone = self.0.remove(&number).unwrap();
        let before: Vec<i64> = self
            .0
            .iter()
            .filter(|(_, entry)| entry.superseded_by == Some(number))
            .map(|(old, _)| *old)
            .collect();
        for old in before {
            let again = self.with_word(self.0[&old].word, old);
            let entry = self.0.get_mut(&old).unwrap();
            match (gone.superseded_by, again) {
                (Some(newer), _) => entry.superseded_by = Some(newer),
                (None, Some(again)) => entry.superseded_by = Some(again),
                (None, None) => (entry.superseded_by, entry.archived) = (None, gone.archived),
            }
        }
    }
}

/// Random operations on a memory and on a plain map: the same is current, and nothing is lost.
#[test]
fn ten_thousand_random_operations_agree_with_a_plain_map() {
    const STEPS: usize = 10_000;
    let limits = ["limits.store=0", "limits.supersede=0", "limits.delete=0"];
    let size = ["entries.max_size_mb=0.000001", "entries.prune_percent=5"];
    let mut place = Place::with("balanced", &[limits.as_slice(), &size].concat());
    let mut model = Model::default();
    let mut seed = 11u64;
    let mut below = |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % most
    };
    // Two letters that no stemmer takes off.
    let letters =
        |word: u8| [word / 16, word % 16].map(|digit| char::from(b"bcdfghjklmnpqrtv"[usize::from(digit)]));
    let content = |word: u8| format!("statement x{}", letters(word).iter().collect::<String>());
    for step in 0..STEPS {
        let all: Vec<i64> = model.0.keys().copied().collect();
        let usable: Vec<i64> = model
            .0
            .iter()
            .filter(|(_, entry)| entry.superseded_by.is_none())
            .map(|(number, _)| *number)
            .collect();
        let word = u8::try_from(below(96)).unwrap();
        match below(12) {
            0..4 => {
                let stored = place.call("memory_store", json!({ "content": content(word) })).data;
                let number = stored["number"].as_i64().unwrap();
                assert_eq!(stored.get("duplicate_of").is_some(), model.with_word(word, 0).is_some());
                model.0.entry(number).or_insert(Plain { word, superseded_by: None, archived: false });
            }
            4..6 if !usable.is_empty() => {
                let old = usable[below(usable.len())];
                let arguments = json!({ "content": content(word), "supersedes": old });
                let number = place.call("memory_store", arguments).data["number"].as_i64().unwrap();
                assert_eq!(number, model.with_word(word, 0).unwrap_or(number));
                if number != old {
                    model.supersede(old, number);
                }
                model.0.entry(number).or_insert(Plain { word, superseded_by: None, archived: false });
            }
            6..8 if !usable.is_empty() => {
                let number = usable[below(usable.len())];
                let arguments = json!({ "id": number, "content": content(word) });
                let refused = place.try_call("memory_update", arguments).is_err();
                assert_eq!(refused, model.with_word(word, number).is_some());
                if !refused {
                    model.0.insert(number, Plain { word, superseded_by: None, archived: false });
                }
            }
            8 if !all.is_empty() => {
                let number = all[below(all.len())];
                place.call("memory_delete", json!({ "id": number }));
                model.delete(number);
            }
            9 if step % 7 == 0 => {
                let caller = place.caller.clone();
                crate::maintain::only(&mut place.group, &caller, "prune", "archived");
                // Which ones rank lowest is not for this map to know.
                let left = place.found(json!({ "limit": 100 }));
                model.0.iter_mut().filter(|(_, entry)| entry.is_current()).for_each(|(number, entry)| {
                    entry.archived = !left.contains(number);
                });
            }
            10 if !usable.is_empty() => {
                let number = usable[below(usable.len())];
                let refused = place.try_call("memory_reinforce", json!({ "id": number })).is_err();
                let entry = &model.0[&number];
                assert_eq!(refused, entry.archived && model.with_word(entry.word, number).is_some());
                if !refused {
                    model.0.get_mut(&number).unwrap().archived = false;
                }
            }
            11 if step % 50 == 0 => {
                let caller = place.caller.clone();
                nacre::reindex(&mut place.view_of(&caller)).unwrap();
                place.reopen();
            }
            _ => {}
        }
        if step % 100 == 99 {
            let mut found = place.found(json!({ "limit": 100 }));
            found.sort_unstable();
            assert_eq!(found, model.current().map(|(number, _)| number).collect::<Vec<_>>(), "step {step}");
        }
    }
    for (number, entry) in &model.0 {
        let kept = place.call("memory_get", json!({ "id": number })).data;
        assert_eq!(kept["content"], content(entry.word), "{number}");
        assert_eq!(kept.get("superseded_by").is_some(), entry.superseded_by.is_some(), "{number}");
        assert_eq!(kept.get("archived_at").is_some(), entry.archived, "{number}");
    }
    for (number, word) in model.current() {
        let query = json!({ "query": content(word).trim_start_matches("statement ") });
        assert_eq!(place.found(query.clone())[0], number);
        assert_eq!(place.found_by_words(query), vec![number]);
    }
    place.check();
}
