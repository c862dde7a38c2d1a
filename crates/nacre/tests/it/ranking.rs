//! The order of hits, and what comes beside them.
#![expect(clippy::disallowed_methods, reason = "a test writes files as any editor does")]

use serde_json::{Value, json};

use crate::sealed::Place;

fn texts(hits: &Value) -> Vec<&str> {
    hits.as_array().into_iter().flatten().map(|hit| hit["text"].as_str().unwrap()).collect()
}

fn import(place: &mut Place, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let caller = place.caller.clone();
    nacre::session::import_transcript(&mut place.view_of(&caller), text.as_bytes(), "talk.jsonl", |_| {})
        .unwrap();
}

/// A conversation in which an instruction stands among much else that the same words are in.
fn conversation(speaker: &str) -> Vec<Value> {
    let said = |number: usize, speaker: &str, text: String| json!({ "id": number.to_string(), "session": "s", "speaker": speaker, "text": text });
    let about = |number: usize| {
        format!("The submission of chapter {number} is due, I sent the submission to the editor.")
    };
    let mut lines: Vec<Value> = (0..40).map(|number| said(number, "user", about(number))).collect();
    let instruction = "Always write dates in full when I ask about deadlines.".to_owned();
    lines.push(said(40, speaker, instruction));
    lines.push(said(41, speaker, "Never use emoji when I talk about funerals.".into()));
    lines
}

#[test]
fn a_standing_instruction_that_applies_comes_beside_the_hits() {
    let ask = |place: &mut Place| {
        let query =
            json!({ "query": "When is the final submission due?", "scope": ["sessions"], "limit": 3 });
        place.call("memory_search", query)
    };
    let mut place = Place::with("balanced", &["search.without=[\"instruction\"]"]);
    import(&mut place, &conversation("user"));
    let answer = ask(&mut place);
    let applies = "Always write dates in full when I ask about deadlines.";
    assert_eq!(texts(&answer.data["standing"]), [applies]);
    assert!(answer.text.contains("that may apply:\n[session s] user: Always write dates"), "{}", answer.text);

    // The words of a third person are no instruction.
    let mut place = Place::with("balanced", &["search.without=[\"instruction\"]"]);
    import(&mut place, &conversation("Mallory"));
    assert_eq!(ask(&mut place).data["standing"], Value::Null);
}

#[test]
fn a_daily_log_gives_way_as_it_grows_old_and_other_documents_do_not() {
    let order = |settings: &[&str], files: [&str; 2]| {
        let mut place = Place::with("balanced", settings);
        for file in files {
            std::fs::create_dir_all(place.group.folder()).unwrap();
            std::fs::write(place.group.folder().join(file), "The heron mailer runs on port 8125.\n").unwrap();
        }
        let found =
            place.call("memory_search", json!({ "query": "heron mailer port", "explain": true })).data;
        let hits = found["hits"].as_array().unwrap();
        let part = |hit: &Value| {
            let parts = hit["explain"].as_array().unwrap();
            parts
                .iter()
                .find(|part| part["part"] == "age")
                .map_or(0.0, |part| part["value"].as_f64().unwrap())
        };
        hits.iter().map(|hit| (hit["path"].as_str().unwrap().to_owned(), part(hit))).collect::<Vec<_>>()
    };
    // The clock stands at 2026-01-15.
    let logs = ["2025-12-16.md", "2026-01-15.md"];
    let found = order(&[], logs);
    assert_eq!([found[0].0.as_str(), found[1].0.as_str()], [logs[1], logs[0]]);
    assert!((found[1].1 + 0.5).abs() < 0.02, "half of it is lost after the half-life: {found:?}");
    assert!(order(&["search.half_life_days=0.0"], logs).iter().all(|(_, age)| *age == 0.0));
    assert!(order(&[], ["MEMORY.md", "notes-of-2025.md"]).iter().all(|(_, age)| *age == 0.0));
}

#[test]
fn variety_puts_repetition_down_and_scores_still_give_the_order() {
    let said = [
        "The ferry to the island leaves at nine from the old harbour.",
        "The ferry to the island leaves at nine from the old harbour today.",
        "The ferry to the island leaves at nine from that old harbour.",
        "On the island the ferry was late and we waited an hour.",
    ];
    let ask = |settings: &[&str]| {
        let mut place = Place::with("balanced", settings);
        let lines: Vec<Value> = said
            .iter()
            .enumerate()
            .map(|(n, text)| json!({ "id": "1", "session": n.to_string(), "speaker": "user", "text": text }))
            .collect();
        import(&mut place, &lines);
        place
            .call(
                "memory_search",
                json!({ "query": "ferry island harbour", "scope": ["sessions"], "explain": true }),
            )
            .data["hits"]
            .clone()
    };
    let last = said[3];
    assert_eq!(texts(&ask(&[])).last(), Some(&last));
    let varied = ask(&["search.diversity=0.7"]);
    assert_eq!(texts(&varied)[1], last, "{varied:#}");
    let scores: Vec<f64> =
        varied.as_array().unwrap().iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    let sum = |hit: &Value| -> f64 {
        hit["explain"].as_array().unwrap().iter().map(|part| part["value"].as_f64().unwrap()).sum()
    };
    let sums: Vec<f64> = varied.as_array().unwrap().iter().map(sum).collect();
    assert!(sums.is_sorted_by(|a, b| *a >= b - 0.001), "the parts add up to the order: {sums:?}");
}

#[test]
fn of_two_statements_that_begin_alike_the_newer_comes_first() {
    let mut place = Place::new();
    let said = [
        ("2026-01-01", "Ida Moreau's dentist is Dr Ida Moreau-Lang."),
        ("2026-01-09", "Ida Moreau's dentist is a young man from Valparaíso with three boats and a parrot."),
    ];
    let lines: Vec<Value> = said
        .iter()
        .map(|(day, text)| json!({ "id": "1", "session": day, "speaker": "user", "text": text, "timestamp": day }))
        .collect();
    import(&mut place, &lines);
    let query = json!({ "query": "Who is Ida Moreau's dentist?", "scope": ["sessions"], "explain": true });
    let hits = place.call("memory_search", query).data["hits"].clone();
    assert_eq!(texts(&hits)[0], said[1].1);
}

#[test]
fn a_change_of_language_makes_the_index_anew() {
    let mut place = Place::new();
    place.store("Die Kinder lesen Bücher in der Schule");
    let german = nacre::settings::Layer::from_pair("the test", "search.language=german").unwrap();
    let by_words = |place: &mut Place| place.found_by_words(json!({ "query": "Buch Kindern Schulen" })).len();
    assert_eq!(by_words(&mut place), 0, "English endings do not make these one word");
    place.home = nacre::Home::new(
        place.folder.path(),
        nacre::Settings::from_layers(Some("balanced"), &[german]).unwrap(),
    );
    place.reopen();
    assert_eq!(by_words(&mut place), 1);
    // Texts that were stored and deleted use the new language too.
    let number = place.store("Die Schulen schließen");
    place.call("memory_delete", json!({ "id": number }));
    place.check();
    let unknown = nacre::settings::Layer::from_pair("the test", "search.language=elvish").unwrap();
    let error = nacre::Settings::from_layers(None, &[unknown]).unwrap_err();
    assert!(error.to_string().contains("german"), "{error}");
}

/// The sum that other systems have. What else counts is a factor of it.
#[test]
fn weighted_is_a_plain_sum_times_age_and_judgement() {
    let found = |more: &[&str], query: &str| -> Value {
        let settings: Vec<&str> = ["search.fusion=weighted"].iter().chain(more).copied().collect();
        let mut place = Place::with("balanced", &settings);
        place.store("The physician told Ana to rest");
        place.store("Ana asked for the doctor");
        place.store("The harbour is closed on Mondays");
        place.call("memory_reinforce", json!({ "id": 1 }));
        // Half of the half-life's worth is left of a log that is as old as it.
        crate::files::put(&place, "memory/2025-12-16.md", "The doctor came at noon.\n");
        place.call("memory_search", json!({ "query": query, "explain": true })).data["hits"].clone()
    };
    let part = |hit: &Value, name: &str| -> f64 {
        let parts = hit["explain"].as_array().unwrap();
        parts.iter().find(|part| part["part"] == name).map_or(0.0, |part| part["value"].as_f64().unwrap())
    };
    let similarity = |hit: &Value| -> f64 {
        let why = hit["why"].as_array().unwrap();
        why.iter().find_map(|why| why["similarity"].as_f64()).unwrap_or(0.0)
    };
    let of = |hits: &Value, word: &str| -> Value {
        let hits = hits.as_array().unwrap();
        hits.iter()
            .find(|hit| hit["text"].as_str().unwrap().contains(word))
            .unwrap_or_else(|| panic!("{hits:?}"))
            .clone()
    };
    // Meaning alone: the sum is the nearness.
    let hits = found(&["search.vector_weight=1", "search.word_weight=0"], "doctor");
    for word in ["physician", "asked", "noon"] {
        let hit = of(&hits, word);
        assert!((part(&hit, "relevance").exp() - similarity(&hit)).abs() < 0.01, "{hit}");
    }
    assert!((part(&of(&hits, "noon"), "age").exp() - 0.5).abs() < 0.01, "{hits}");
    assert_eq!(part(&of(&hits, "asked"), "age"), 0.0);
    assert!((part(&of(&hits, "physician"), "reinforcement").exp() - 1.822).abs() < 0.01, "{hits}");
    // Words alone: who has none of them is worth next to nothing. Structure never counts.
    let hits = found(&["search.vector_weight=0", "search.word_weight=1"], "doctor");
    assert!(part(&of(&hits, "asked"), "relevance").exp() > 0.1, "{hits}");
    for hit in hits.as_array().unwrap() {
        for structure in ["bm25", "vectors", "speaker", "first", "person", "instruction"] {
            assert_eq!(part(hit, structure), 0.0, "{structure}: {hit}");
        }
        assert!((0.0..=1.0).contains(&hit["score"].as_f64().unwrap()), "{hit}");
    }
    let both = found(&[], "doctor");
    let (asked, sum) = (of(&both, "asked"), part(&of(&both, "asked"), "relevance").exp());
    assert!(sum > 0.7 * similarity(&asked) && sum <= 0.7 * similarity(&asked) + 0.3, "{asked}");
    let nothing = ["search.vector_weight=0", "search.word_weight=0"];
    let layers = nothing.map(|pair| nacre::settings::Layer::from_pair("test", pair).unwrap());
    assert!(nacre::Settings::from_layers(None, &layers).is_err());
}

/// Returns the scores of the hits, and the note.
fn scores(place: &mut Place, query: &str) -> (Vec<f64>, Value) {
    let found = place.call("memory_search", json!({ "query": query, "explain": true })).data;
    let hits = found["hits"].as_array().unwrap();
    (hits.iter().map(|hit| hit["score"].as_f64().unwrap()).collect(), found["note"].clone())
}

#[test]
fn the_best_hit_of_a_question_about_nothing_had_a_high_score() {
    let mut place = Place::new();
    for number in 0..30 {
        place.store(&format!("Locker {number} in the north hall belongs to team {number}"));
    }
    place.store("The dentist is Dr. Aamodt, the practice is on Storgata");
    let (known, note) = scores(&mut place, "which dentist on Storgata");
    assert!(known[0] > 0.5 && note.is_null(), "{known:?} {note}");
    assert!(known.is_sorted_by(|one, next| one >= next), "{known:?}");
    for query in ["zorbling quandle frimp", "how do volcanoes belong to plate tectonics"] {
        let (unknown, note) = scores(&mut place, query);
        assert!(unknown.first().is_none_or(|best| *best < 0.5), "{query}: {unknown:?}");
        assert!(note.is_string(), "{query}: {unknown:?} {note}");
    }
}

#[test]
fn a_whole_message_was_too_long_a_query() {
    let mut place = Place::new();
    place.store("The dentist is Dr. Aamodt, the practice is on Storgata");
    for number in 0..30 {
        place.store(&format!("Locker {number} belongs to team {number}"));
    }
    let log: String = (0..600).map(|row| format!("row {row:04} ok, value v{row:05} done. ")).collect();
    let query = format!("{log} Please write to the dentist on Storgata. {log}");
    let query: String = query.chars().take(20_000).collect();
    let found = place.call("memory_search", json!({ "query": query, "limit": 3 })).data;
    assert!(texts(&found["hits"])[0].contains("Aamodt"), "{found}");
}
