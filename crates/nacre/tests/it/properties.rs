//! Properties of any input.

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
            "“https://a.b”",
            "\u{3000}",
            "\u{2028}",
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

/// The expected state of an entry: its word, who stored it, its earlier words with the sessions that replaced them, its successor,
/// and whether it is archived.
#[derive(Clone, Debug, PartialEq)]
struct Plain {
    word: u8,
    session: String,
    versions: Vec<(u8, String)>,
    superseded_by: Option<i64>,
    archived: bool,
}

impl Plain {
    fn new(word: u8, session: &str) -> Plain {
        Plain { word, session: session.into(), versions: Vec::new(), superseded_by: None, archived: false }
    }

    fn is_current(&self) -> bool {
        self.superseded_by.is_none() && !self.archived
    }

    fn correct(&mut self, word: u8, session: &str) {
        if word != self.word {
            self.versions.push((self.word, session.into()));
            self.word = word;
        }
    }
}

/// A memory as a plain map, with the rules of docs/concepts.md written down a second time.
#[derive(Clone, Default)]
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

    fn superseded_by(&self, number: i64) -> Vec<i64> {
        let old = self.0.iter().filter(|(_, entry)| entry.superseded_by == Some(number));
        old.map(|(old, _)| *old).collect()
    }

    /// Makes the entries that lost their successor current again, or archived like it.
    fn restore(&mut self, before: Vec<i64>, archived: bool) {
        for old in before {
            let again = self.with_word(self.0[&old].word, old);
            let entry = self.0.get_mut(&old).unwrap();
            match again {
                Some(again) => entry.superseded_by = Some(again),
                None => (entry.superseded_by, entry.archived) = (None, archived),
            }
        }
    }

    fn delete(&mut self, number: i64) {
        let gone = self.0.remove(&number).unwrap();
        let before = self.superseded_by(number);
        match gone.superseded_by {
            Some(newer) => {
                before.iter().for_each(|old| self.0.get_mut(old).unwrap().superseded_by = Some(newer));
            }
            None => self.restore(before, gone.archived),
        }
    }

    /// Archives what a session stored, brings back what that replaced, and takes back its corrections of other entries.
    fn undo(&mut self, session: &str, by: &str) {
        let own = |(_, entry): &(&i64, &Plain)| entry.session == session && entry.is_current();
        while let Some((&number, _)) = self.0.iter().rev().find(own) {
            self.0.get_mut(&number).unwrap().archived = true;
            let before = self.superseded_by(number);
            self.restore(before, false);
        }
        let corrected: Vec<i64> = self.0.keys().copied().collect();
        for number in corrected {
            let entry = &self.0[&number];
            let own = entry.versions.iter().rev().take_while(|(_, of)| of == session).count();
            if own == 0 || entry.session == session || entry.superseded_by.is_some() {
                continue;
            }
            let (word, _) = entry.versions[entry.versions.len() - own];
            if self.with_word(word, number).is_none() {
                self.0.get_mut(&number).unwrap().correct(word, by);
            }
        }
    }

    /// Adds what an export has and this memory does not have any more.
    fn import(&mut self, exported: &Model) {
        for (number, entry) in &exported.0 {
            if self.0.contains_key(number) {
                continue;
            }
            let mut entry = entry.clone();
            if entry.is_current() {
                entry.superseded_by = self.with_word(entry.word, *number);
            }
            self.0.insert(*number, entry);
        }
    }
}

/// Random operations on a memory and on a plain map: the same is current, with the same history, and nothing is lost.
#[test]
fn ten_thousand_random_operations_agree_with_a_plain_map() {
    const STEPS: usize = 10_000;
    let limits = ["limits.store=0", "limits.supersede=0", "limits.delete=0"];
    let size = ["entries.max_size_mb=0.000001", "entries.prune_percent=5"];
    let mut place = Place::with("balanced", &[limits.as_slice(), &size].concat());
    let mut model = Model::default();
    let exports = tempfile::tempdir().unwrap();
    let mut exported: Vec<Model> = Vec::new();
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
        // Sessions overlap, as those of two agents do.
        let session = format!("session-{}", step / 60 + below(2));
        place.caller.session = session.parse().unwrap();
        match below(14) {
            0..4 => {
                // A person may say again what was replaced.
                let person = nacre::Caller { actor: nacre::Actor::Person, ..place.caller.clone() };
                let mut view = place.view_of(&person);
                let stored = nacre::call(&mut view, "memory_store", json!({ "content": content(word) }));
                let stored = stored.unwrap().data;
                let number = stored["number"].as_i64().unwrap();
                assert_eq!(stored.get("duplicate_of").is_some(), model.with_word(word, 0).is_some());
                model.0.entry(number).or_insert_with(|| Plain::new(word, &session));
            }
            4..6 if !usable.is_empty() => {
                let old = usable[below(usable.len())];
                let arguments = json!({ "content": content(word), "supersedes": old });
                let number = place.call("memory_store", arguments).data["number"].as_i64().unwrap();
                assert_eq!(number, model.with_word(word, 0).unwrap_or(number));
                if number != old {
                    model.supersede(old, number);
                }
                model.0.entry(number).or_insert_with(|| Plain::new(word, &session));
            }
            6..8 if !usable.is_empty() => {
                let number = usable[below(usable.len())];
                let arguments = json!({ "id": number, "content": content(word) });
                let refused = place.try_call("memory_update", arguments).is_err();
                assert_eq!(refused, model.with_word(word, number).is_some());
                if !refused {
                    let entry = model.0.get_mut(&number).unwrap();
                    entry.correct(word, &session);
                    entry.archived = false;
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
            12 if step % 10 == 0 => {
                let folder = exports.path().join(exported.len().to_string());
                nacre::export::export(&place.view(), &folder).unwrap();
                exported.push(model.clone());
            }
            12 if step % 10 == 5 && !exported.is_empty() => {
                let which = exported.len() - 1 - below(exported.len().min(3));
                let folder = exports.path().join(which.to_string());
                let done = nacre::export::import(&mut place.view(), &folder).unwrap();
                let before = model.0.len();
                model.import(&exported[which]);
                assert_eq!(done.added, model.0.len() - before, "step {step}");
            }
            13 if step % 5 == 0 => {
                let undone = format!("session-{}", (step / 60).saturating_sub(below(4)));
                let agent = place.caller.clone();
                place.caller = nacre::Caller::person("person".parse().unwrap(), agent.now);
                place.call("session_undo", json!({ "session": undone }));
                place.caller = agent;
                model.undo(&undone, "person");
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
        let versions: Vec<(String, String)> =
            entry.versions.iter().map(|(word, session)| (content(*word), session.clone())).collect();
        let text = |version: &Value, field: &str| version[field].as_str().unwrap().to_owned();
        let kept = kept["versions"].as_array().cloned().unwrap_or_default();
        let kept: Vec<_> = kept.iter().map(|one| (text(one, "content"), text(one, "session"))).collect();
        assert_eq!(kept, versions, "{number}");
    }
    for (number, word) in model.current() {
        let query = json!({ "query": content(word).trim_start_matches("statement ") });
        assert_eq!(place.found(query.clone())[0], number);
        assert_eq!(place.found_by_words(query), vec![number]);
    }
    place.check();
}
