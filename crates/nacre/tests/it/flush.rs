//! The flush before a compaction: the agent is asked once a cycle to store what lasts. One test for each
//! defect that other programs had.

use nacre::session::{Count, check_flush};
use serde_json::{Value, json};

use crate::sealed::{Place, is_without_folder};
use crate::transcripts::{place, say, talk};

fn check(place: &mut Place, session: &str, tokens: Option<usize>, message: &str) -> Value {
    let mut request = json!({ "id": session, "message": message });
    if let Some(tokens) = tokens {
        request["tokens"] = tokens.into();
    }
    place.call("session_flush", request).data
}

#[test]
fn it_is_due_at_the_end_of_the_window_and_once() {
    let mut place = place(&[]);
    let early = check(&mut place, "s", Some(175_000), "");
    assert_eq!((&early["due"], &early["threshold"]), (&json!(false), &json!(176_000)));
    let due = check(&mut place, "s", Some(176_000), "");
    assert_eq!(due["due"], true);
    let prompt = due["prompt"].as_str().unwrap();
    assert!(prompt.contains("memory_store") && prompt.contains("NO_REPLY"), "{prompt}");
    assert_eq!(check(&mut place, "s", Some(179_000), "")["due"], false);
    // Nothing was written for the agent.
    assert_eq!(place.found(json!({ "query": "" })), Vec::<i64>::new());
    let mut seed = self::place(&["session.flush_tokens=80000"]);
    assert_eq!(check(&mut seed, "s", Some(80_000), "")["due"], true);
    let mut off = self::place(&["session.flush=off"]);
    assert_eq!(check(&mut off, "s", Some(190_000), "")["due"], false);
}

#[test]
fn a_stale_token_count_has_neither_the_new_message_nor_the_last_output() {
    let mut place =
        place(&["session.window=10000", "session.reserve=1000", "session.soft=1000", "session.compact=off"]);
    // The host counted before its model answered and before the person wrote.
    let message = "word ".repeat(500);
    let counted = check(&mut place, "host", Some(7_800), &message);
    assert_eq!((&counted["due"], &counted["tokens"]), (&json!(true), &json!(8_425)));
    // Ours is counted with what was just appended, by whoever said it.
    let mut place = self::place(&[
        "session.window=10000",
        "session.reserve=1000",
        "session.soft=1000",
        "session.compact=off",
    ]);
    for _ in 0..7 {
        assert_eq!(say(&mut place, "s", "user", &"word ".repeat(800)).get("flush"), None);
    }
    assert_eq!(say(&mut place, "s", "assistant", &"word ".repeat(800))["flush"]["due"], true);
    // A host whose count is older than the transcript does not make it smaller.
    assert_eq!(check(&mut place, "s", Some(10), "")["tokens"].as_u64().unwrap(), 8_000);
}

#[test]
fn a_counter_of_zero_is_not_already_flushed() {
    let mut place = place(&[]);
    assert_eq!(check(&mut place, "s", Some(180_000), "")["due"], true, "cycle 0, never asked");
    assert_eq!(check(&mut place, "s", Some(180_000), "")["due"], false, "cycle 0, asked in cycle 0");
    assert_eq!(check(&mut place, "other", Some(180_000), "")["due"], true, "another session");
}

#[test]
fn the_reserve_is_the_one_that_is_in_effect() {
    // A reserve larger than the usual one counts as it is.
    let mut place = place(&["session.reserve=60000"]);
    assert_eq!(check(&mut place, "s", Some(136_000), "")["due"], true);
    // And where our own compaction comes before the end of the window, that is what counts.
    let mut place = self::place(&["session.compact_tokens=1000"]);
    talk(&mut place, "s", 2);
    assert_eq!(check(&mut place, "s", None, "")["threshold"], 1_000);
}

#[test]
fn a_compaction_on_overflow_does_not_bypass_the_flush() {
    let mut place = place(&["session.compact_tokens=1000"]);
    talk(&mut place, "s", 4);
    // One message that overflows at once: the agent is asked, and nothing is compacted yet.
    let answer = say(&mut place, "s", "user", &"tulip ".repeat(2_000));
    assert_eq!((&answer["flush"]["due"], answer.get("compacted")), (&json!(true), None));
    talk(&mut place, "t", 1);
    let answer = say(&mut place, "s", "assistant", "NO_REPLY");
    assert_eq!(answer.get("flush"), None);
    // The few that are there are all kept, so it takes some more to have something to sum up.
    for n in 0..12 {
        say(&mut place, "s", "user", &format!("remark {n}"));
    }
    let list = place.call("session_context", json!({ "id": "s" })).data;
    assert_eq!(list["messages"][0]["role"], "summary");
}

#[test]
fn no_reply_ends_it_and_is_not_remembered() {
    let mut place = place(&[]);
    say(&mut place, "s", "user", "hello");
    say(&mut place, "s", "assistant", " NO_REPLY\n");
    let context = place.call("session_context", json!({ "id": "s" })).data;
    assert_eq!(context["messages"].as_array().unwrap().len(), 1);
    assert_eq!(
        place.call("session_show", json!({ "id": "s" })).data["messages"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn there_is_no_flush_after_the_truncation() {
    let mut place = place(&[]);
    let caller = place.caller.clone();
    let mut host = caller.clone();
    host.session = "host".parse().unwrap();
    assert_eq!(check(&mut place, "host", Some(180_000), "")["due"], true);
    // The host compacts: the count is small again, and a new cycle begins.
    assert!(nacre::session::compacts(&mut place.view_of(&host)).unwrap(), "it was asked in time");
    assert_eq!(check(&mut place, "host", Some(30_000), "")["due"], false);
    assert_eq!(check(&mut place, "host", Some(180_000), "")["due"], true, "the next cycle");
    // One that compacts unasked is known, so that its agent can be asked after.
    host.session = "rash".parse().unwrap();
    assert!(!nacre::session::compacts(&mut place.view_of(&host)).unwrap());
}

#[test]
fn what_a_flush_stores_overwrites_nothing_of_the_day() {
    let mut place = place(&[]);
    let prompt = check(&mut place, "s", Some(180_000), "")["prompt"].as_str().unwrap().to_owned();
    assert!(prompt.contains("overwrite nothing"), "{prompt}");
    place.store("The garden gets tulips");
    let mut host = place.caller.clone();
    host.session = "s".parse().unwrap();
    nacre::session::compacts(&mut place.view_of(&host)).unwrap();
    assert_eq!(check(&mut place, "s", Some(180_000), "")["due"], true);
    place.store("The shed gets a lock");
    assert_eq!(place.found(json!({ "query": "" })).len(), 2, "both of one day are there");
}

#[test]
fn a_second_flush_of_the_day_stores_nothing_twice() {
    let mut place = place(&[]);
    check(&mut place, "s", Some(180_000), "");
    place.store("The garden gets tulips");
    let mut host = place.caller.clone();
    host.session = "s".parse().unwrap();
    nacre::session::compacts(&mut place.view_of(&host)).unwrap();
    let prompt = check(&mut place, "s", Some(180_000), "")["prompt"].as_str().unwrap().to_owned();
    assert!(prompt.contains("only what came after"), "{prompt}");
    let again = place.call("memory_store", json!({ "content": "The garden gets tulips" })).data;
    assert!(again["duplicate_of"].is_string(), "{again}");
    assert_eq!(place.found(json!({ "query": "" })).len(), 1);
}

#[test]
fn of_flushes_at_once_one_is_asked() {
    let place = place(&[]);
    let (home, caller) = (place.home.clone(), place.caller.clone());
    let asked: usize = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut group = home.group(&"main".parse().unwrap(), caller.now).unwrap();
                    let count = Count { tokens: Some(180_000), ..Count::default() };
                    let mut view = group.enter(&caller).unwrap();
                    let flush = check_flush(&mut view, &"s".parse().unwrap(), &count).unwrap();
                    usize::from(flush.due)
                })
            })
            .collect();
        asking.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!(asked, 1);
}

#[test]
fn a_summary_can_take_the_place_of_the_question() {
    let mut place = place(&["session.flush=summary", "session.compact_tokens=1000"]);
    talk(&mut place, "s", 60);
    let entries =
        place.call("memory_search", json!({ "query": "tulips", "scope": ["entries"] })).data["hits"].clone();
    assert!(!entries.as_array().unwrap().is_empty());
    assert_eq!(check(&mut place, "s", Some(180_000), "")["due"], false);
}

#[cfg(unix)]
#[test]
fn it_is_skipped_where_nothing_can_be_written() {
    if is_without_folder() {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let mut place = place(&[]);
    place.store("so that there is a database");
    let folder = place.folder.path().join("groups/main");
    let set = |mode| std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
    for name in ["memory.db", "memory.db-wal", "memory.db-shm"] {
        let file = folder.join(name);
        if file.exists() {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o400)).unwrap();
        }
    }
    set(0o500);
    // Root may write anywhere.
    #[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
    let probe = std::fs::write(folder.join("probe"), "");
    if probe.is_err() {
        place.reopen();
        let flush = check(&mut place, "s", Some(180_000), "");
        assert_eq!(flush["due"], false, "{flush}");
        assert!(flush["note"].as_str().unwrap().contains("read-only"), "{flush}");
    }
    set(0o700);
}

#[test]
fn a_flush_asked_for_tools_and_places_that_the_profile_does_not_have() {
    for (profile, tools) in [
        ("balanced", "Use memory_store or memory_write now"),
        ("brain", "Use memory_write with path `MEMORY.md` now"),
        ("nanoclaw", "Use memory_write now"),
    ] {
        let mut place = Place::with(profile, &[]);
        let session = "s".parse().unwrap();
        let count = Count { tokens: Some(190_000), ..Count::default() };
        let prompt = check_flush(&mut place.view(), &session, &count).unwrap().prompt.unwrap();
        assert!(prompt.contains(tools), "{profile}: {prompt}");
    }
    let mut place = Place::with("balanced", &["tools.offer=[\"memory_search\"]"]);
    let count = Count { tokens: Some(190_000), ..Count::default() };
    let flush = check_flush(&mut place.view(), &"s".parse().unwrap(), &count).unwrap();
    assert_eq!((flush.due, flush.note.as_deref()), (false, Some("no tool that stores text is offered")));
}
