//! A sealed place: an own home, a fixed clock, nothing from outside.

use nacre::settings::Layer;
use nacre::{Answer, Caller, Error, Group, Home, Settings, Time, View, call};
use serde_json::Value;
use tempfile::TempDir;

/// When tests begin: noon of a winter day.
pub fn noon() -> Time {
    Time::parse("2026-01-15T12:00:00Z").unwrap()
}

pub struct Place {
    pub folder: TempDir,
    pub home: Home,
    pub group: Group,
    pub caller: Caller,
}

impl Place {
    /// A new home under the default settings, with an agent calling.
    pub fn new() -> Place {
        Place::with("balanced", &[])
    }

    /// The same under a profile, with settings changed.
    pub fn with(profile: &str, settings: &[&str]) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let layers: Vec<Layer> =
            settings.iter().map(|pair| Layer::from_pair("the test", pair).unwrap()).collect();
        let home = Home::new(folder.path(), Settings::from_layers(Some(profile), &layers).unwrap());
        let group = home.group(&"main".parse().unwrap(), noon()).unwrap();
        Place { folder, home, group, caller: Caller::agent("test-session".parse().unwrap(), noon()) }
    }

    pub fn later(&mut self, days: i64) -> &mut Place {
        self.caller.now = self.caller.now.plus_days(days);
        self
    }

    /// Opens the group anew, as another process would.
    pub fn reopen(&mut self) {
        self.group = self.home.group(&"main".parse().unwrap(), self.caller.now).unwrap();
    }

    /// The group as the caller sees it.
    pub fn view(&mut self) -> View<'_> {
        self.group.enter(&self.caller).unwrap()
    }

    /// The group as somebody else sees it.
    pub fn view_of<'a>(&'a mut self, caller: &'a Caller) -> View<'a> {
        self.group.enter(caller).unwrap()
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Answer {
        self.try_call(tool, arguments).unwrap_or_else(|error| panic!("{tool}: {error}"))
    }

    pub fn try_call(&mut self, tool: &str, arguments: Value) -> Result<Answer, Error> {
        call(&mut self.view(), tool, arguments)
    }

    /// Calls, and returns the code of the error that must come.
    pub fn refused(&mut self, tool: &str, arguments: Value) -> &'static str {
        self.try_call(tool, arguments).expect_err("this call must be refused").code()
    }

    /// Stores a fact and returns its number.
    pub fn store(&mut self, content: &str) -> i64 {
        self.call("memory_store", serde_json::json!({ "content": content })).data["number"].as_i64().unwrap()
    }

    /// The numbers that a search finds, best first.
    pub fn found(&mut self, arguments: Value) -> Vec<i64> {
        let answer = self.call("memory_search", arguments);
        answer.data["hits"].as_array().unwrap().iter().map(|hit| hit["number"].as_i64().unwrap()).collect()
    }

    /// The numbers of those that the lane of words found: what has a word of the question, and nothing else.
    pub fn found_by_words(&mut self, arguments: Value) -> Vec<i64> {
        let answer = self.call("memory_search", arguments).data;
        let by_words = |hit: &&Value| hit["why"].as_array().unwrap().iter().any(|why| why["lane"] == "bm25");
        let hits = answer["hits"].as_array().unwrap().iter();
        hits.filter(by_words).map(|hit| hit["number"].as_i64().unwrap()).collect()
    }

    /// Nothing is wrong with the database.
    pub fn check(&mut self) {
        assert_eq!(self.view().check().unwrap(), Vec::<String>::new());
    }
}
