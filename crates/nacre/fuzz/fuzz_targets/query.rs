//! No query can raise an error of the full-text engine.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nacre::{Caller, Home, Settings, Time};
use serde_json::json;

fuzz_target!(|query: &str| {
    let now = Time::from_millis(0);
    // A home that is not there is read as an empty one, in memory; the expression is parsed all the same.
    let home = Home::new("/nonexistent/nacre-fuzz", Settings::default());
    let mut group = home.group(&"main".parse().unwrap(), now).unwrap();
    let caller = Caller::person("fuzz".parse().unwrap(), now);
    if let Err(error) = nacre::call(&mut group.enter(&caller).unwrap(), "memory_search", json!({ "query": query })) {
        assert_eq!(error.code(), "bad_argument", "{error}");
    }
});
