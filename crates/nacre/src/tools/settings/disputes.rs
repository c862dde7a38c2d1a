//! The questions on which published designs of agent memory disagree, the settings that decide them, and the reason for each
//! default.
//!
//! docs/profiles.md is generated from this table and the profiles, and a test compares them: a profile can't differ from the
//! default in a key that no question lists.

/// One question on which designs disagree.
pub struct Dispute {
    /// Its number, from 1.
    pub number: usize,
    /// The question.
    pub about: &'static str,
    /// The settings that decide it; empty if all profiles agree.
    pub keys: &'static [&'static str],
    /// The reason for the default, or the rule that always applies.
    pub why: &'static str,
}

const fn dispute(
    number: usize,
    about: &'static str,
    keys: &'static [&'static str],
    why: &'static str,
) -> Dispute {
    Dispute { number, about, keys, why }
}

/// Every question, by number.
pub static DISPUTES: [Dispute; 33] = [
    dispute(
        1,
        "Which writes of an agent wait for a person?",
        &["write.entries", "write.log", "write.memory", "write.memories", "write.files", "write.untrusted"],
        "A memory or a log line does little harm and can be undone. Files in the startup context, and behavioral memories from untrusted sessions, deserve a review.",
    ),
    dispute(
        2,
        "Is harm prevented at write time or at read time?",
        &[],
        "Both: a proposal is shown as a diff, and text that is read has masked credentials, a warning above behavioral memories, and can't escape its frame.",
    ),
    dispute(
        3,
        "Are memories presented as suggestions, as the agent's own words, or as records?",
        &[],
        "It depends on the block: the brief warns that rules are suggestions, the turn context quotes the agent's own past words, and searches show records with their reasons.",
    ),
    dispute(
        4,
        "What may Nacre do without being asked?",
        &["maintain.behind", "graph.documents"],
        "Only exact and reversible work. Facts are extracted from files that people write, not from conversations.",
    ),
    dispute(
        5,
        "What happens before a conversation is compacted, and when?",
        &["session.flush", "session.flush_tokens", "session.window", "session.reserve", "session.soft"],
        "Losing information is the worse mistake. The agent is asked to store it and writes it itself.",
    ),
    dispute(
        6,
        "How is a long transcript compacted?",
        &["session.compact", "session.compact_tokens", "session.keep_recent", "session.keep_tool_results"],
        "An appended summary costs a little disk space and loses nothing.",
    ),
    dispute(
        7,
        "Which embedding model is used?",
        &[
            "embedding.provider",
            "embedding.model",
            "embedding.dimensions",
            "embedding.key_variable",
            "embedding.api_version",
        ],
        "The one that is compiled in: no network, no download, no key. Others are used in addition.",
    ),
    dispute(
        8,
        "How are words and embeddings combined?",
        &["search.fusion", "search.vector_weight", "search.word_weight"],
        "The best result on public conversation sets (docs/benchmarks.md).",
    ),
    dispute(
        9,
        "What happens to existing vectors when the model changes?",
        &[],
        "They are recomputed in the background; until then the old index is used, and answers say so.",
    ),
    dispute(
        10,
        "What is injected without the agent asking?",
        &[
            "brief.inject",
            "boot.inject",
            "turn.contributors",
            "turn.tokens",
            "turn.time_limit_ms",
            "turn.drift",
            "turn.stability",
            "turn.topics",
            "session.with_memory",
        ],
        "Agents forget to ask. Short text that helps with this message, found locally and in time, or nothing.",
    ),
    dispute(
        11,
        "Are files or the database authoritative?",
        &["documents.index", "documents.live_json"],
        "Memories and facts are rows, prose is files; each can be converted to the other, and rows name their source.",
    ),
    dispute(
        12,
        "Where are files stored?",
        &["log.folder", "boot.files"],
        "One layout is written; the layouts of the other designs are read too.",
    ),
    dispute(
        13,
        "What is one memory?",
        &["entries.default_type"],
        "A memory, a passage of a file, a fact, an item or a task; one search finds all of them. A type helps, but should not be required.",
    ),
    dispute(
        14,
        "What is an id?",
        &[],
        "A long one that never changes, and a short number; tools accept both.",
    ),
    dispute(
        15,
        "How are tags written?",
        &[],
        "As an array, as one string with commas, or in brackets before a log line.",
    ),
    dispute(
        16,
        "Which tools is an agent offered?",
        &["tools.offer"],
        "Few, because each costs tokens in every session. Others can be enabled in the settings.",
    ),
    dispute(
        17,
        "What does a search cover, and how many hits does it return?",
        &["search.limit", "search.agent_limit", "graph.lane"],
        "Memories, documents and facts together, each hit with its kind; conversations on request.",
    ),
    dispute(
        18,
        "Is a correction a new memory or a change of the old one?",
        &[],
        "Both work: an update keeps the number and the earlier text, a superseding memory leaves the old one for review.",
    ),
    dispute(
        19,
        "How is a memory removed?",
        &[
            "entries.purge_superseded_days",
            "entries.max_size_mb",
            "entries.prune_percent",
            "log.keep_days_low",
            "log.keep_days_mid",
            "log.low",
            "log.high",
        ],
        "A superseded memory is deleted after three months, an excess memory is archived and stays searchable, and a person can delete anything without a trace.",
    ),
    dispute(
        20,
        "How much may one session write?",
        &[
            "limits.store",
            "limits.supersede",
            "limits.delete",
            "limits.untrusted.store",
            "limits.untrusted.supersede",
            "limits.untrusted.delete",
        ],
        "Enough for a long day's work; much less in an untrusted session.",
    ),
    dispute(
        21,
        "Does recall strengthen a memory, or only a rating?",
        &["rank.reinforce", "rank.demote"],
        "There are two numbers: recall raises the activation of facts, which decays; memories have a score that only a rating changes.",
    ),
    dispute(
        22,
        "How much do ratings count in the ranking?",
        &["rank.score_weight", "rank.bound"],
        "A single rating is noticeable and none is final: e^(0.2 score), within bounds.",
    ),
    dispute(
        23,
        "How does age affect the ranking, and from when does it count?",
        &["rank.recency", "search.half_life_days"],
        "Memories fade slowly from their last confirmation, dated logs by half in a month, other files not at all.",
    ),
    dispute(
        24,
        "Is a memory fresh because it was returned, or because it was confirmed?",
        &[],
        "Both times are stored; the ranking uses the second.",
    ),
    dispute(
        25,
        "Who sees what?",
        &["visibility.private", "access.admin_group", "access.private"],
        "A group has its own database, and private data does not exist for shared sessions.",
    ),
    dispute(
        26,
        "Who writes: the agent, the person, or the program?",
        &["write.accept", "write.elicitation"],
        "Any of them, and each row records which. A person's edit needs no approval, and only a person approves.",
    ),
    dispute(
        27,
        "What does a session start with, and how much?",
        &[
            "boot.main",
            "boot.project",
            "boot.file_chars",
            "boot.total_chars",
            "brief.max_entries",
            "brief.max_chars",
            "memory_file.max_lines",
        ],
        "First how to act, then who the user is, then current work. Cut text is marked.",
    ),
    dispute(
        28,
        "What happens when a session ends, and later?",
        &["session.summary_entry", "session.summary_from_hooks", "session.retention_days"],
        "A summary that quotes the conversation stays; the transcript is compressed and stays searchable.",
    ),
    dispute(
        29,
        "Which actions are recorded?",
        &["telemetry.events"],
        "Every write, in a tamper-evident log; reads and searches as events, without their text.",
    ),
    dispute(
        30,
        "What happens to a lesson?",
        &[],
        "It is recalled when relevant, measured by its effect, and proposed for SOUL.md; a person decides.",
    ),
    dispute(
        31,
        "May a memory contain credentials?",
        &[],
        "Yes, in the person's own files and rows; they are neither indexed nor shown.",
    ),
    dispute(
        32,
        "Are conversations archived word for word?",
        &["turn.archive", "turn.max_exchanges"],
        "Yes, with credentials masked, if a hook passes them on; private ones are only for private sessions.",
    ),
    dispute(
        33,
        "Whose names do tools and injected text use?",
        &["dialect"],
        "One set of short names that every tool shares. The argument names of the designs are accepted everywhere.",
    ),
];
