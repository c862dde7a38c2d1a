//! The library through its public functions, as one test binary. In reading order for a newcomer.
#![allow(clippy::print_stderr, reason = "a test says what it measured")]

// A home in a temporary folder, a caller and a clock.
mod sealed;
// The floors of the library.
mod layers;
// Its SQL: portable, and fit for the schema.
mod statements;
// Two engines: the same answers on SQLite and PostgreSQL, and nobody sees another group.
mod engines;
// The members of a team: what each role may see and change.
mod members;
// Entries: store, supersede, find, judge, correct, delete.
mod entries;
// Same means same: when two memories are one.
mod duplicates;
// One truth: what was current comes back, nothing empties itself, the past says that it is.
mod one_truth;
// Trust: origins, what is injected, what untrusted callers can change, what stays deleted.
mod trust;
// Attacks: planted orders, a long walk by strangers, and what must be gone after a deletion.
mod attacks;
// The newer of two statements comes first on every way to it, and an old one never comes alone.
mod newer_first;
// Documents: found by what they say, followed as they change.
mod documents;
// Exact search: the same lines that `grep` finds, for everyone who may see them.
mod grep;
// Notes: the line that answers, with what was logged later.
mod note_lines;
// Vectors of the lines of notes: made in bounded numbers, and gone with the text.
mod line_vectors;
// Files of the workspace, read and written within it.
mod files;
// Writes that wait for a person.
mod proposals;
// Daily logs: added to, and moved to the archive in time.
mod logs;
// The care for MEMORY.md, and what is proposed upward.
mod upward;
// Checkpoints: files and records kept, compared, put back.
mod checkpoints;
// Collections: corpora in databases of their own.
mod collections;
// Conversations of other programs, brought in, found and shown.
mod sessions;
// Memories of other programs, brought in.
mod imports;
// Transcripts of our own: appended, read as a model should see them, compacted, ended, packed.
mod transcripts;
// The flush before a compaction, one test for each defect that others had.
mod flush;
// Memories taken out of conversations: by rules, by a model, within a limit.
mod distil;
// The order of what is found, and what comes beside it.
mod ranking;
// Vectors of a provider beside the built-in ones.
mod embedding;
// Built-in vectors of an older model, rebuilt step by step.
mod renewal;
// Groups whose vectors do not fit into the memory of a server.
mod beyond_memory;
// Models behind a URL, and everything a server may answer.
mod providers;
// The summary at the start of a session.
mod brief;
// The workspace's templates, what a session starts with, files as resources.
mod boot;
// Each turn: what is put before a message, what is learned from the answer.
mod turn;
// Roles: what each may do, other groups, and what skills are handed over.
mod roles;
// Private words, planted everywhere and searched for by a shared session in every way.
mod canary;
// Writes of a private session, and how they are shared.
mod private_writes;
// Checks that every call passes: schema, roles, limits, redaction, audit, events.
mod pipeline;
// The knowledge graph: facts, relations and names.
mod graph;
// Questions to it: whom they name, what they ask, and what comes first.
mod graph_recall;
// Facts read from documents, seed files, exports.
mod graph_read;
// The graph among what a search finds.
mod graph_search;
// Bad input to it, and what must hold for any.
mod graph_hostile;
// Projects: memories know where they were written, prefer it, and hide nothing.
mod projects;
// Compatibility APIs for programs made for another memory.
mod compat;
// Statements that contradict each other: who is told, what is recorded, how it is settled.
mod conflicts;
// Memories that name something that the repository of their project no longer has.
mod stale;
// Items: knowledge taken out of a project's files.
mod items;
// Items that a model finds.
mod item_model;
// Tasks: what is to be done, and what waits for what.
mod tasks;
// tasks.json and items.json, which a person edits.
mod live_files;
// Maintenance: jobs when they are due.
mod maintain;
// Settings, their layers and their suggestions.
mod settings;
// Profiles: what designs disagree about, and the page of it.
mod profiles;
// Properties of any input.
mod properties;
// One memory on several machines.
mod past;
mod sync;
mod sync_files;
mod sync_transcripts;
// Databases of every schema that was ever released still open.
mod released;
// The documents and the contract of the tools.
mod docs;
// The published designs, paragraph by paragraph, each under its profile (`cargo test --workspace design_`).
mod design_brain;
mod design_carapace;
mod design_gated;
mod design_koshi;
mod design_nanoclaw;
// The default profile between the designs.
mod designs;

/// A file that is not listed above would never run.
#[test]
fn every_file_is_listed() {
    let main = include_str!("main.rs");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let module = name.strip_suffix(".rs").unwrap_or("main");
        assert!(
            module == "main" || main.contains(&format!("\nmod {module};")),
            "{name} is not listed in main.rs"
        );
    }
}
