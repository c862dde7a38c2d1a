//! Vectors of a provider beside the built-in ones: made behind the writes, resumed, replaced.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nacre::{Embedder, EmbeddingProgress, Error, Home, Result};
use serde_json::json;

use crate::sealed::{Place, noon};

/// A model that knows which animals are at home on water and nothing else; the words do not say that.
#[derive(Default)]
struct Animals {
    version: &'static str,
    /// How many zeros are behind each vector.
    more: usize,
    down: AtomicBool,
    asked: AtomicUsize,
}

impl Animals {
    fn new(version: &'static str) -> Arc<Animals> {
        Arc::new(Animals { version, ..Animals::default() })
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = Animals::kind(text);
        if !vector.is_empty() {
            vector.resize(3 + self.more, 0.0);
        }
        vector
    }

    fn kind(text: &str) -> Vec<f32> {
        let text = text.to_lowercase();
        let water = ["heron", "otter", "boat"].iter().any(|word| text.contains(word));
        let land = ["camel", "lizard", "desert"].iter().any(|word| text.contains(word));
        match (water, land) {
            (true, _) => vec![1.0, 0.0, 0.0],
            (_, true) => vec![0.0, 1.0, 0.0],
            // A text that this model refuses.
            _ if text.contains("unspeakable") => Vec::new(),
            _ => vec![0.0, 0.0, 1.0],
        }
    }

    fn check(&self) -> Result<()> {
        let problem =
            || Error::Io { path: "animals".into(), source: std::io::ErrorKind::NotConnected.into() };
        if self.down.load(Ordering::SeqCst) { Err(problem()) } else { Ok(()) }
    }
}

impl Embedder for Animals {
    fn dims(&self) -> usize {
        3 + self.more
    }

    fn version(&self) -> &str {
        self.version
    }

    fn embed_query(&self, text: &str, _: &mut dyn FnMut(&str) -> f32) -> Result<Vec<f32>> {
        self.check().map(|()| self.vector(text))
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.check()?;
        self.asked.fetch_add(texts.len(), Ordering::SeqCst);
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

impl Place {
    fn with_model(&mut self, model: &Arc<Animals>) {
        let home: Home = self.home.clone().with_embedder(model.clone());
        self.group = home.group(&"main".parse().unwrap(), noon()).unwrap();
    }

    fn embed(&mut self, most: usize) -> EmbeddingProgress {
        nacre::collection::embed(&mut self.view(), most, &mut |_| {}).unwrap()
    }

    fn best_text(&mut self, query: &str) -> String {
        let found = self.call("memory_search", json!({ "query": query })).data;
        found["hits"][0]["text"].as_str().unwrap_or_default().to_owned()
    }
}

fn missing(place: &mut Place) -> Vec<String> {
    let found = place.call("memory_search", json!({ "query": "camel" })).data;
    found["missing"].as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

const NOTES: [&str; 4] =
    ["The heron is grey", "The camel is brown", "The lizard is green", "The table is white"];

fn notes() -> Place {
    let mut place = Place::new();
    for note in NOTES {
        place.store(note);
    }
    place
}

#[test]
fn vectors_of_a_provider_come_behind_the_writes_and_then_count() {
    let (mut place, model) = (notes(), Animals::new("animals-1"));
    place.with_model(&model);
    assert_eq!(model.asked.load(Ordering::SeqCst), 0, "no write waits for a provider");
    // Two at a time, the newest first; a kill in between costs nothing, for the rest is still pending.
    assert_eq!(place.embed(2).left, 2);
    place.with_model(&model);
    let done = place.embed(usize::MAX);
    assert_eq!((done.done, done.refused, done.left), (4, 0, 0));
    assert_eq!(model.asked.load(Ordering::SeqCst), 4, "nothing is asked for twice");
    assert_eq!(place.best_text("What floats like a boat?"), NOTES[0]);
    assert_eq!(nacre::status(&place.view()).unwrap().embedded, Some(done));
    place.check();
}

#[test]
fn a_provider_that_is_down_is_named_and_the_rest_answers() {
    let (mut place, model) = (notes(), Animals::new("animals-1"));
    place.with_model(&model);
    place.embed(usize::MAX);
    model.down.store(true, Ordering::SeqCst);
    let found = place.call("memory_search", json!({ "query": "grey heron" })).data;
    assert_eq!(found["hits"][0]["text"], NOTES[0]);
    assert!(found["missing"][0].as_str().unwrap().contains("only the built-in model was used"), "{found:#}");
    place.store("The otter is sleek");
    assert!(nacre::collection::embed(&mut place.view(), usize::MAX, &mut |_| {}).is_err());
    assert_eq!(
        place.best_text("sleek otter"),
        "The otter is sleek",
        "what it did not see is found all the same"
    );
    model.down.store(false, Ordering::SeqCst);
    assert_eq!(place.embed(usize::MAX).left, 0);
}

#[test]
fn another_model_makes_them_anew_and_what_changed_is_made_again() {
    let (mut place, first, second) = (notes(), Animals::new("animals-1"), Animals::new("animals-2"));
    place.with_model(&first);
    place.embed(usize::MAX);
    place.with_model(&second);
    // Vectors of another model are not compared with this one's question.
    assert_eq!(nacre::status(&place.view()).unwrap().embedded.unwrap().left, 4);
    assert!(missing(&mut place)[0].contains("4 of 4 passages have no vector"));
    assert_eq!(place.embed(usize::MAX).done, 4);
    // An entry that reads otherwise is pending again, one that is deleted is gone.
    let id = place.found(json!({ "query": "table" }))[0];
    place.call("memory_update", json!({ "id": id, "content": "The boat is white" }));
    assert_eq!(nacre::status(&place.view()).unwrap().embedded.unwrap().left, 1);
    place.embed(usize::MAX);
    place.call("memory_delete", json!({ "id": id }));
    let done = place.embed(usize::MAX);
    assert_eq!((done.done, done.left), (3, 0));
    // A text that the model does not take is not sent again.
    place.store("An unspeakable thing");
    assert_eq!(place.embed(usize::MAX).refused, 1);
    let asked = second.asked.load(Ordering::SeqCst);
    assert_eq!(place.embed(usize::MAX).left, 0);
    assert_eq!(second.asked.load(Ordering::SeqCst), asked);
    // Made anew, the index keeps the vectors of what stayed.
    let caller = place.caller.clone();
    nacre::reindex(&mut place.view_of(&caller)).unwrap();
    place.check();
}

#[test]
fn vectors_that_were_not_made_yet_were_not_reported() {
    let (mut place, model) = (notes(), Animals::new("animals-1"));
    place.with_model(&model);
    assert!(missing(&mut place)[0].contains("4 of 4 passages have no vector of the provider's model yet"));
    place.embed(2);
    assert!(missing(&mut place)[0].contains("2 of 4 passages"));
    place.embed(usize::MAX);
    assert_eq!(missing(&mut place), Vec::<String>::new());
    // A text that the provider refuses never gets a vector.
    place.store("An unspeakable thing");
    place.embed(usize::MAX);
    assert_eq!(missing(&mut place), Vec::<String>::new());
}

#[test]
fn a_dead_provider_that_never_answered_was_not_reported() {
    let (mut place, model) = (notes(), Animals::new("animals-1"));
    model.down.store(true, Ordering::SeqCst);
    place.with_model(&model);
    assert!(missing(&mut place)[0].contains("animals"), "its own message names it");
}

#[test]
fn a_model_of_another_size_under_the_same_name_was_mixed_in() {
    let (mut place, first) = (notes(), Animals::new("animals-1"));
    place.with_model(&first);
    place.embed(usize::MAX);
    let second = Arc::new(Animals { version: "animals-1", more: 2, ..Animals::default() });
    place.with_model(&second);
    assert!(missing(&mut place)[0].contains("now returns 5 components"));
    assert_eq!(place.embed(usize::MAX).done, 4);
    assert_eq!(second.asked.load(Ordering::SeqCst), 4, "all are embedded again");
    assert_eq!(missing(&mut place), Vec::<String>::new());
    assert_eq!(place.best_text("What floats like a boat?"), NOTES[0]);
}

#[test]
fn in_a_small_memory_the_hits_of_a_provider_were_dropped() {
    for count in 1..=6 {
        let mut place = Place::new();
        for note in ["The otter sleeps", "The heron is grey"].iter().cycle().take(count).enumerate() {
            place.store(&format!("{} by day {}", note.1, note.0));
        }
        let model = Animals::new("animals-1");
        place.with_model(&model);
        place.embed(usize::MAX);
        // No word is shared, and every vector is the same.
        assert_eq!(place.found(json!({ "query": "boat" })).len(), count, "{count} passages");
        assert!(place.found(json!({ "query": "desert" })).is_empty(), "{count} passages");
    }
}
