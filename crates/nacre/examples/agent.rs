//! An agent of your own with a memory, in one process: `cargo run --package nacre --example agent -- FOLDER`.
//!
//! The start of a session, the context of a message, a lesson, and a memory that replaces another.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a program, where the library is none")]

use std::time::{SystemTime, UNIX_EPOCH};

use nacre::{Caller, Home, SessionId, Settings, Time, call};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("give a folder for the memory")?;
    // The library never reads the clock: whoever calls says when it is.
    let now = Time::from_millis(i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?);
    let home = Home::new(folder, Settings::default());
    let mut group = home.group(&"main".parse()?, now)?;
    // One a conversation: budgets are counted by it. `Caller::person` is somebody at a keyboard.
    let caller = Caller::agent(SessionId::new(now), now);
    // Whoever has not entered a group can neither read nor write it.
    let mut view = group.enter(&caller)?;

    // Every tool of the table is called alike; `docs/tools.json` has their arguments and answers.
    let brief = call(&mut view, "memory_brief", json!({}))?;
    println!("A session starts with:\n{}\n", brief.text);

    let luna = json!({ "content": "The user's dog is called Luna", "tags": ["dog"] });
    let stored = call(&mut view, "memory_store", luna)?;
    println!("Stored as {}\n", stored.data["id"]);

    let asked = json!({ "query": "what is my puppy's name?", "limit": 3 });
    let found = call(&mut view, "memory_search", asked)?;
    println!("What a model gets:\n{}\n", found.text);
    println!("What a program gets:\n{:#}", found.data["hits"][0]);

    // A mistake is an answer too: it says what to do.
    let refused = call(&mut view, "memory_store", json!({ "contents": "…" }));
    if let Err(error) = refused {
        println!("\n{}: {error}; {}", error.code(), error.hint().unwrap_or_default());
    }
    Ok(())
}
