//! No path leads out of the workspace, whatever its letters: what is one stays below the folder, name by name.
#![no_main]

use std::path::{Component, Path};

use libfuzzer_sys::fuzz_target;
use nacre::diff::visible;
use nacre::{Caller, FilePath, Home, Kind, Settings, Time};
use serde_json::json;

fuzz_target!(|text: &str| {
    let path = text.parse::<FilePath>();
    if let Ok(path) = &path {
        let mut names = Path::new(path.as_str()).components();
        assert!(names.all(|name| matches!(name, Component::Normal(_))), "{text:?}");
        assert!(!path.as_str().contains(['\\', ':', '\0']), "{text:?}");
    }
    assert!(!visible(text).contains(|c: char| c.is_control() && c != '\t'), "{text:?}");
    let now = Time::from_millis(0);
    let home = Home::new("/nonexistent/nacre-fuzz", Settings::default());
    let mut group = home.group(&"main".parse().unwrap(), now).unwrap();
    let caller = Caller::person("fuzz".parse().unwrap(), now);
    match nacre::call(&mut group.enter(&caller).unwrap(), "memory_get", json!({ "path": text })) {
        Ok(answer) => assert_eq!(answer.data["total_lines"], 0),
        Err(error) => assert_eq!(error.kind(), Kind::Invalid, "{error}"),
    }
});
