//! The real binary, in sealed places.
#![allow(clippy::print_stderr, reason = "a test says which seed it used, or why it could not run")]

// A home of its own, an empty environment, a fixed clock; a small MCP client.
mod sealed;
// The rooms of the binary, and how it reads answers.
mod answers;
mod layers;

// The commands, told as short stories.
mod cli;
// Mistakes of newcomers, each by what went wrong.
mod mistakes;
// Runs the commands of README and docs; generates the REST reference.
mod docs;
mod reference;
// A team's memory on a database server.
#[cfg(unix)]
mod team;
#[cfg(unix)]
mod team_faults;
// The members of a team: roles, tokens, promotion with review, working copies.
mod team_members;
// Documents: indexed, followed, shown.
mod documents;
// The workspace: made, given to sessions by commands, hooks and resources.
mod workspace;
// The page that clients show beside answers.
mod app;
// Memories of other programs, and exports: brought in.
mod import;
// Writes that wait for a person: shown, decided, put to the person by a client; processes killed meanwhile.
mod proposals;
// The actor, a person or an agent: what each may do.
mod actor;
// Deletion, quarantine, credentials that a person wants back.
mod trust;
// The acceptance tests of the Agent Memory Atlas.
mod atlas;
// A long walk by callers that nobody trusts.
mod walk;
// Daily logs by many processes, some of them killed.
mod logs;
// One memory on several machines.
mod sync;
mod sync_faults;
// Statements that contradict each other: listed, settled, undone.
mod conflicts;
// The size of tools, instructions and answers.
mod lean;
// Turns: what is put before a message, and how well that works.
mod turn;
// The knowledge graph: said, asked, drawn.
mod graph;
// The project that a command, a hook or a client works in.
mod workplace;
// Projects: knowledge taken out of files, tasks, jobs.
mod project;
// Memories that name something that is gone.
mod stale;
// Plugins: programs of others that behave, and more that do not.
mod packaging;
mod plugin;
// Checkpoints: a story, kills, and what skills are handed.
mod checkpoints;
// Collections: many processes, kills, damage.
mod collections;
// A model behind a URL, from settings to hits.
mod provider;
// Built-in vectors of an older model, rebuilt by a server or a command.
mod renewal;
// Hooks of agents: answered in time, whatever happens; what is said is kept.
mod hook;
// Agents set up and left as they were.
mod install;
// Every client, with settings of every kind.
mod clients;
// Connected agents: what installing says, hooks of each client, when they ran, rules files.
mod connected;
// Bad input: a clear error, and nothing changed.
mod hostile;
// Databases that are damaged, foreign or in a place that can't be written.
mod damage;
// Transcripts: several processes on one, some of them killed; what hooks do with them.
mod transcript;
// `nacre distil`: killed midway, programs that misbehave, started by hooks.
mod distil;
// `nacre extract` with a program or a model.
mod item_model;
// `nacre serve`: who is let in, what is answered, what attackers try.
mod serve;
// Many processes on one group, some of them killed: what was acknowledged is there.
mod nothing_lost;
// The published designs at the binary, each under its profile (`cargo test --workspace design_`).
mod design_brain;
mod design_carapace;
mod design_koshi;
// Each design played from its first paragraph to its last.
mod stories;

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
