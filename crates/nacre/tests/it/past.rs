//! The memory at an earlier time, and what changed since.

use nacre::Caller;
use nacre::past::{ChangeFilter, changes, copy_as_of};
use serde_json::json;

use crate::sealed::{Place, noon};

fn place() -> Place {
    let mut place = Place::with("balanced", &[]);
    place.caller = Caller::person("person".parse().unwrap(), noon());
    place
}

/// A memory with three days of history. Returns the id that was corrected.
fn three_days(place: &mut Place) -> String {
    let id = place.call("memory_store", json!({ "content": "The dentist is on Monday" })).data["id"].clone();
    let old = place.call("memory_store", json!({ "content": "The car is red" })).data["id"].clone();
    place.call("fact_upsert", json!({ "entity": "Petra", "key": "port", "value": "Kiel" }));
    place.caller.now = noon().plus_days(1);
    place.call("memory_update", json!({ "id": id, "content": "The dentist is on Friday" }));
    place.call("memory_store", json!({ "content": "The car is blue", "supersedes": old }));
    place.call("fact_upsert", json!({ "entity": "Petra", "key": "port", "value": "Rostock" }));
    place.caller.now = noon().plus_days(2);
    place.call("memory_store", json!({ "content": "The boat leaks" }));
    id.as_str().unwrap().to_owned()
}

#[test]
fn an_earlier_state_answers_as_the_memory_did_then() {
    let (mut now, mut past) = (place(), place());
    let id = three_days(&mut now);
    let at = noon().plus_days(1).plus_days(-1);
    let (from, to) =
        (&mut now.group.enter(&now.caller).unwrap(), &mut past.group.enter(&past.caller).unwrap());
    copy_as_of(from, to, at, &mut |_| {}).unwrap();
    let texts = |place: &mut Place, query: &str| {
        place.call("memory_search", json!({ "query": query })).data.to_string()
    };
    let dentist = texts(&mut past, "when is the dentist");
    assert!(dentist.contains("Monday") && !dentist.contains("Friday"), "{dentist}");
    let car = texts(&mut past, "what colour is the car");
    assert!(car.contains("red") && !car.contains("blue"), "{car}");
    assert!(!texts(&mut past, "does the boat leak").contains("leaks"));
    let fact = texts(&mut past, "Petra port");
    assert!(fact.contains("Kiel") && !fact.contains("Rostock"), "{fact}");
    assert!(past.call("memory_get", json!({ "id": id })).data.to_string().contains("Monday"));
    assert!(texts(&mut now, "when is the dentist").contains("Friday"), "the memory itself is as it was");
}

#[test]
fn changes_are_told_with_the_text_before_and_after() {
    let mut now = place();
    let id = three_days(&mut now);
    let since = Some(noon());
    let found = changes(&now.view(), &ChangeFilter { since, ..ChangeFilter::default() }).unwrap();
    let told: Vec<(Option<&str>, Option<&str>)> = found
        .iter()
        .filter(|change| change.kind == "memory")
        .map(|change| (change.before.as_deref(), change.after.as_deref()))
        .collect();
    for expected in [
        (Some("The dentist is on Monday"), Some("The dentist is on Friday")),
        (Some("The car is red"), None),
        (None, Some("The car is blue")),
        (None, Some("The boat leaks")),
    ] {
        assert!(told.contains(&expected), "{expected:?} in {told:?}");
    }
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(found.iter().any(|change| change.kind == "fact" && change.before.is_some()), "{found:?}");
    now.call("memory_delete", json!({ "id": id }));
    let found = changes(&now.view(), &ChangeFilter { since, ..ChangeFilter::default() }).unwrap();
    assert!(found.iter().any(|change| change.id == id && change.before.is_none() && change.after.is_none()));
    let other = ChangeFilter { session: Some("nobody".into()), ..ChangeFilter::default() };
    assert_eq!(changes(&now.view(), &other).unwrap(), []);
}
