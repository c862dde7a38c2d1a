//! The library through its public functions, as one test binary. In reading order for a newcomer.
#![allow(clippy::print_stderr, reason = "a test says what it measured")]

// A home in a temporary folder, a caller and a clock.
mod sealed;
// The floors of the library.
mod layers;
// Its SQL: portable, and fit for the schema.
mod statements;
// What entries do: store, supersede, find, judge, correct, delete (SPEC E).
mod entries;
// Same means same: when two memories are one (SPEC E12).
mod duplicates;
// One truth: what was current comes back, nothing empties itself, the past says that it is.
mod one_truth;
// Documents: found by what they say, followed as they change (SPEC W1, Q1, Q3, Q5).
mod documents;
// Files of the workspace, read and written within it (SPEC W5, W9, W10).
mod files;
// Writes that wait for a person (SPEC W5).
mod proposals;
// Daily logs: added to, and moved to the archive in time (SPEC W4).
mod logs;
// The care for MEMORY.md, and what is proposed upward (SPEC W6).
mod upward;
// Checkpoints: files and records kept, compared, put back (SPEC W7).
mod checkpoints;
// Collections: corpora in databases of their own (SPEC Q7).
mod collections;
// Conversations of other programs, brought in, found and shown (SPEC S7).
mod sessions;
// Memories of other programs, brought in (SPEC I5).
mod imports;
// Transcripts of our own: appended, read as a model should see them, compacted, ended, packed (SPEC S1 to S6).
mod transcripts;
// The flush before a compaction, one test for each defect that others had (SPEC S4).
mod flush;
// The order of what is found, and what comes beside it (SPEC Q2, Q4).
mod ranking;
// Vectors of a provider beside the built-in ones (SPEC Q6).
mod embedding;
// Built-in vectors of an older model, made anew step by step (SPEC Q6).
mod renewal;
// Models behind a URL, and everything a server may answer (SPEC Q6).
mod providers;
// The summary at the start of a session (SPEC B).
mod brief;
// The workspace's templates, what a session starts with, files as resources (SPEC W1, W2, W3).
mod boot;
// Each turn: what is put before a message, what is learned from the answer (SPEC T, W8).
mod turn;
// Roles: what each may do, other groups, and what skills are handed over (SPEC A1).
mod roles;
// What is private, planted everywhere and looked for by a shared session in every way (SPEC W3).
mod canary;
// What every call passes: schema, roles, limits, redaction, audit, events (SPEC A).
mod pipeline;
// The knowledge graph: facts, relations and names (SPEC G1, G2).
mod graph;
// Questions to it: whom they name, what they ask, and what comes first (SPEC G3, G4, G5, G6).
mod graph_recall;
// What documents say of it, seeds, exports (SPEC G7, G8).
mod graph_read;
// The graph among what a search finds (SPEC Q2, E10).
mod graph_search;
// Bad input to it, and what must hold for any.
mod graph_hostile;
// Compatibility APIs for programs made for another memory (SPEC I10).
mod compat;
// Statements that contradict each other: who is told, what is recorded, how it is settled.
mod conflicts;
// Items: knowledge taken out of a project's files (SPEC K1).
mod items;
// Tasks: what is to be done, and what waits for what (SPEC K2).
mod tasks;
// Maintenance: jobs when they are due (SPEC I6).
mod maintain;
// Settings, their layers and their suggestions (SPEC I7).
mod settings;
// Profiles: what designs disagree about, and the page of it (SPEC I7).
mod profiles;
// What must hold for any input.
mod properties;
// Databases of every schema that was ever released still open.
mod released;
// The documents and the contract of the tools.
mod docs;
// What each seed says, paragraph by paragraph, under its profile (`cargo test --workspace seed_`).
mod seed_000;
mod seed_001;
mod seed_002;
mod seed_003;
mod seed_004;
// The seeds together.
mod seeds;

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
