//! Conversations of other programs, brought in and found.

use serde_json::{Value, json};

use crate::sealed::Place;

/// Two friends talk, over two days; `session`, `speaker` and `text` are enough.
const TALK: &str = r#"{"id":"1","session":"monday","speaker":"Ana","text":"What did you do at the weekend?","timestamp":"2026-01-05T09:00:00Z"}
{"id":"2","session":"monday","speaker":"Ben","text":"I took the ferry to the lighthouse.","timestamp":"2026-01-05T09:01:00Z"}
{"id":"3","session":"monday","speaker":"Ana","text":"Lovely! My sister adopted a puppy.","timestamp":"2026-01-05T09:02:00Z"}
{"id":"1","session":"friday","speaker":"Ben","text":"How is the little dog of your sister?","timestamp":"2026-01-09T18:00:00Z"}
{"id":"2","session":"friday","speaker":"Ana","text":"She is called Pepper and chews everything.","timestamp":"2026-01-09T18:01:00Z"}
"#;

fn import(place: &mut Place, text: &str) -> (usize, usize) {
    let caller = place.caller.clone();
    let done =
        nacre::session::import_transcript(&mut place.view_of(&caller), text.as_bytes(), "talk.jsonl", |_| {})
            .unwrap();
    (done.added, done.present)
}

fn best(place: &mut Place, query: &str) -> Value {
    place.call("memory_search", json!({ "query": query, "scope": ["sessions"] })).data["hits"][0].clone()
}

#[test]
fn what_was_said_is_found_by_who_said_it_and_when() {
    let mut place = Place::new();
    assert_eq!(import(&mut place, TALK), (5, 0));
    for (query, session, message) in [
        ("Where did Ben go with the ferry?", "monday", "2"),
        ("What is the dog of Ana's sister called?", "friday", "2"),
        ("What did Ben do on January 5?", "monday", "2"),
    ] {
        let hit = best(&mut place, query);
        assert_eq!((&hit["session"], &hit["message"]), (&json!(session), &json!(message)), "{query}: {hit}");
    }
    // Sessions are searched when asked for, and only then.
    assert_eq!(place.call("memory_search", json!({ "query": "ferry lighthouse" })).data["hits"], json!([]));
    place.check();
}

#[test]
fn an_import_twice_is_an_import_once() {
    let mut place = Place::new();
    let half: String = TALK.lines().take(2).map(|line| format!("{line}\n")).collect();
    assert_eq!(import(&mut place, &half), (2, 0));
    // One that was cut off goes on where it was.
    assert_eq!(import(&mut place, TALK), (3, 2));
    assert_eq!(import(&mut place, TALK), (0, 5));
    place.check();
}

#[test]
fn messages_whose_names_run_together_stop_no_import() {
    let mut place = Place::new();
    let text = r#"{"id":"b/c","session":"a","text":"the first of that name"}
{"id":"c","session":"a/b","text":"a session and an id that make the same name"}
{"id":"d","session":"a/b","text":"and one that does not"}
"#;
    assert_eq!(import(&mut place, text), (2, 1));
    place.check();
}

#[test]
fn hits_are_in_the_order_of_the_sums_of_their_parts() {
    let mut place = Place::new();
    import(&mut place, TALK);
    let hits = place
        .call(
            "memory_search",
            json!({ "query": "puppy of the sister", "scope": ["sessions"], "explain": true }),
        )
        .data;
    let sum = |hit: &Value| {
        let parts = hit["explain"].as_array().unwrap();
        parts.iter().map(|part| part["value"].as_f64().unwrap()).sum::<f64>()
    };
    let sums: Vec<f64> = hits["hits"].as_array().unwrap().iter().map(sum).collect();
    assert!(sums.len() > 1 && sums.iter().rev().is_sorted(), "{sums:?}");
    // A part that is left out is left out.
    let mut without = Place::with("balanced", &[r#"search.without=["vectors", "author"]"#]);
    import(&mut without, TALK);
    let hits = without
        .call(
            "memory_search",
            json!({ "query": "What did Ana say?", "scope": ["sessions"], "explain": true }),
        )
        .data;
    assert!(
        !hits.to_string().contains(r#""part":"vectors""#) && !hits.to_string().contains(r#""part":"author""#),
        "{hits}"
    );
}

#[test]
fn an_index_made_anew_finds_the_same_messages() {
    let mut place = Place::new();
    import(&mut place, TALK);
    place.store("Ana's sister has a dog");
    let ask = |place: &mut Place| {
        ["sister dog", "ferry", "What did Ana say on Friday?"].map(|query| {
            place
                .call("memory_search", json!({ "query": query, "scope": ["sessions", "entries"] }))
                .data
                .to_string()
        })
    };
    let before = ask(&mut place);
    let caller = place.caller.clone();
    assert_eq!(nacre::reindex(&mut place.view_of(&caller)).unwrap(), 6);
    assert_eq!(ask(&mut place), before);
    place.check();
}

#[test]
fn an_export_brings_sessions_along() {
    let mut place = Place::new();
    import(&mut place, TALK);
    let (first, second) = (place.folder.path().join("first"), place.folder.path().join("second"));
    nacre::export::export(&place.view(), &first).unwrap();
    let mut other = Place::new();
    let caller = other.caller.clone();
    assert_eq!(nacre::export::import(&mut other.view_of(&caller), &first).unwrap().messages, 5);
    nacre::export::export(&other.view(), &second).unwrap();
    let read = |folder: &std::path::Path| std::fs::read_to_string(folder.join("sessions.jsonl")).unwrap();
    assert_eq!(read(&first), read(&second));
    assert_eq!(best(&mut other, "Where did Ben go with the ferry?")["message"], "2");
    assert_eq!(nacre::export::import(&mut other.view_of(&caller), &first).unwrap().messages, 0);
    other.check();
}

/// A place with a person at the command line, who is offered every tool.
fn by_person() -> Place {
    let mut place = Place::new();
    place.caller.actor = nacre::Actor::Person;
    place
}

#[test]
fn sessions_are_listed_newest_first_and_shown_in_order() {
    let mut place = by_person();
    assert_eq!(place.call("session_list", json!({})).data, json!({ "sessions": [], "total": 0 }));
    import(&mut place, TALK);
    let list = place.call("session_list", json!({})).data;
    assert_eq!(
        list,
        json!({ "total": 2, "sessions": [
            { "id": "friday", "title": "How is the little dog of your sister?", "messages": 2, "format": "jsonl",
              "started_at": "2026-01-09T18:00:00.000Z", "ended_at": "2026-01-09T18:01:00.000Z" },
            { "id": "monday", "title": "What did you do at the weekend?", "messages": 3, "format": "jsonl",
              "started_at": "2026-01-05T09:00:00.000Z", "ended_at": "2026-01-05T09:02:00.000Z" },
        ] })
    );
    assert_eq!(
        place.call("session_list", json!({ "limit": 1 })).data["sessions"].as_array().unwrap().len(),
        1
    );

    let show = place.call("session_show", json!({ "id": "monday", "limit": 2 })).data;
    let said: Vec<(&Value, &Value, &Value)> = show["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|said| (&said["number"], &said["author"], &said["text"]))
        .collect();
    assert_eq!(
        said,
        [
            (&json!(1), &json!("Ana"), &json!("What did you do at the weekend?")),
            (&json!(2), &json!("Ben"), &json!("I took the ferry to the lighthouse."))
        ]
    );
    assert_eq!(show["next"], 3);
    let rest = place.call("session_show", json!({ "id": "mon", "from": 3 }));
    assert_eq!(rest.data["messages"][0]["id"], "3");
    assert!(rest.data["next"].is_null());
    assert!(
        rest.text.contains("3. Ana (2026-01-05T09:02:00.000Z): Lovely! My sister adopted a puppy."),
        "{}",
        rest.text
    );
    assert_eq!(place.call("session_show", json!({ "id": "monday", "from": 99 })).data["messages"], json!([]));
}

#[test]
fn a_session_is_named_by_its_id_or_by_a_beginning_of_its_own() {
    let mut place = by_person();
    let line = |session: &str| {
        json!({ "id": "1", "session": session, "role": "user", "text": format!("This is {session}") })
            .to_string()
    };
    let talk: Vec<String> = ["aa-1", "aa-10", "ab%_", "x\u{2028}y"].map(line).to_vec();
    import(&mut place, &talk.join("\n"));
    let mut shown = |id: &str| -> Result<String, &'static str> {
        let answer = place.try_call("session_show", json!({ "id": id }));
        answer
            .map(|answer| answer.data["session"]["id"].as_str().unwrap().to_owned())
            .map_err(|error| error.code())
    };
    for (given, meant) in [
        ("aa-1", Ok("aa-1")),
        ("aa-10", Ok("aa-10")),
        ("ab", Ok("ab%_")),
        ("ab%", Ok("ab%_")),
        ("aa", Err("many_sessions")),
        ("%", Err("no_session")),
        ("a_", Err("no_session")),
        ("' OR 1", Err("no_session")),
        ("", Err("bad_argument")),
    ] {
        assert_eq!(shown(given), meant.map(str::to_owned), "{given}");
    }
    let near = place.try_call("session_show", json!({ "id": "aa-11" })).unwrap_err();
    assert!(near.hint().unwrap().starts_with("did you mean `aa-1"), "{near:?}");
    let said = place.call("session_show", json!({ "id": "x" })).text;
    assert_eq!(said.lines().count(), 2, "nothing in it makes a line of its own: {said}");
}

#[test]
fn credentials_in_sessions_are_not_shown() {
    let mut place = by_person();
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    import(
        &mut place,
        &json!({ "id": "1", "session": secret, "role": "user", "text": format!("It is {secret}") })
            .to_string(),
    );
    for (tool, arguments) in [("session_list", json!({})), ("session_show", json!({ "id": secret }))] {
        let answer = place.call(tool, arguments);
        assert!(
            !answer.data.to_string().contains(secret) && !answer.text.contains(secret),
            "{}",
            answer.data
        );
    }
}
