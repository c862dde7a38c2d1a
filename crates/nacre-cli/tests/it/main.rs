//! The real binary, in sealed places.
#![allow(clippy::print_stderr, reason = "a test says which seed it used, or why it could not run")]

// A home of its own, an empty environment, a fixed clock; a small MCP client.
mod sealed;

// The commands, told as short stories.
mod cli;
// Documents: indexed, followed, shown.
mod documents;
// Turns: what is put before a message, and how well that works.
mod turn;
// The knowledge graph: said, asked, drawn.
mod graph;
// Plugins: programs of others that behave, and more that do not.
mod plugin;
// Checkpoints: a story, kills, and what skills are handed.
mod checkpoints;
// Collections: many processes, kills, damage.
mod collections;
// A model behind a URL, from settings to hits.
mod provider;
// Built-in vectors of an older model, made anew by a server or a command.
mod renewal;
// Hooks of agents: answered in time, whatever happens; what is said is kept.
mod hook;
// Agents set up and left as they were.
mod install;
// Bad input: a clear error, and nothing changed.
mod hostile;
// Databases that are damaged, foreign or in a place that can't be written.
mod damage;
// Many processes on one group, some of them killed: what was acknowledged is there.
mod nothing_lost;

#[test]
fn no_file_is_forgotten() {
    let listed = include_str!("main.rs");
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it")).unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        if let Some(name) = file.strip_suffix(".rs").filter(|name| *name != "main") {
            assert!(listed.contains(&format!("\nmod {name};\n")), "{file} is not in the list of main.rs");
        }
    }
}
