//! The questions on which published designs of agent memory disagree, the settings that decide each, and the reason for the
//! default.
//!
//! docs/profiles.md is generated from this table and the profiles, and a test compares them: a profile can't differ from the
//! default in a key that no question names.

/// One question on which designs disagree.
pub struct Dispute {
    /// Its number, from 1.
    pub number: usize,
    /// The question.
    pub about: &'static str,
    /// The settings that decide it; none: every profile has the same answer.
    pub keys: &'static [&'static str],
    /// The reason for the default, or the answer of every profile.
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
pub static DISPUTES: [Dispute; 32] = [
    dispute(
        1,
        "Which writes of an agent wait for a person?",
        &["write.entries", "write.log", "write.memory", "write.memories", "write.files", "write.untrusted"],
        "A memory or a log line does little harm and can be undone. Files that every session starts with, and instructions from a conversation with text by strangers, deserve a review.",
    ),
    dispute(
        2,
        "Is harm stopped at write time or at read time?",
        &[],
        "Both: a proposal is shown as a diff; text that is read has credentials masked, carries a warning about instructions, and can't close the tag around it.",
    ),
    dispute(
        3,
        "How is a memory presented: as a suggestion, as the agent's own, or as a record?",
        &[],
        "Injected blocks say that they are background and not instructions; conversations are quoted as the agent's own past; searches show records.",
    ),
    dispute(
        4,
        "What may happen without a request?",
        &["maintain.behind", "graph.documents"],
        "Only what is exact and can be undone. Facts are read from files that people write, not from conversations.",
    ),
    dispute(
        5,
        "What happens before a conversation is compacted, and when?",
        &["session.flush", "session.flush_tokens", "session.window", "session.reserve", "session.soft"],
        "Losing knowledge is the worse mistake. The agent is asked to store it itself.",
    ),
    dispute(
        6,
        "How is a transcript that is too long handled?",
        &["session.compact", "session.compact_tokens", "session.keep_recent", "session.keep_tool_results"],
        "Appending a summary costs a little disk space and loses nothing.",
    ),
    dispute(
        7,
        "Which embeddings are searched?",
        &[
            "embedding.provider",
            "embedding.model",
            "embedding.dimensions",
            "embedding.key_variable",
            "embedding.api_version",
        ],
        "The built-in model: no network, no download, no key. Others are searched together with it.",
    ),
    dispute(
        8,
        "How are words and meaning combined into one ranking?",
        &["search.fusion", "search.vector_weight", "search.word_weight"],
        "The method that measured best on public conversations (docs/benchmarks.md).",
    ),
    dispute(
        9,
        "What happens to existing embeddings when the model changes?",
        &[],
        "They are recomputed in the background; until then the old index answers, and answers say so.",
    ),
    dispute(
        10,
        "What is injected without a request of the agent?",
        &[
            "brief.inject",
            "boot.inject",
            "turn.contributors",
            "turn.tokens",
            "turn.time_limit_ms",
            "session.with_memory",
        ],
        "Agents forget to ask. A few lines that help with this message, found on this machine and in time, or nothing.",
    ),
    dispute(
        11,
        "Is the truth in files or in a database?",
        &["documents.index"],
        "Single memories and facts are rows, prose is files; each can be converted to the other, and rows name their source.",
    ),
    dispute(
        12,
        "Where are the files?",
        &["log.folder"],
        "One layout is written; the layouts of the other designs are read as well.",
    ),
    dispute(
        13,
        "What is one memory?",
        &["entries.default_type"],
        "An entry, a passage of a file, a fact, an item or a task; one search finds all of them. A type helps but is not required.",
    ),
    dispute(
        14,
        "What is an id?",
        &[],
        "A long one that never changes and a short number; tools accept either.",
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
        "Few, because each costs tokens in every session. The settings can offer the others.",
    ),
    dispute(
        17,
        "What does a search cover, and how many hits does it return?",
        &["search.limit", "search.agent_limit", "graph.lane"],
        "Entries, documents and facts together, each hit with its kind; conversations on request. Agents get fewer hits than people, because they pay for them.",
    ),
    dispute(
        18,
        "Is a correction a new memory or a change of the old one?",
        &[],
        "Either: an update keeps the number and the earlier text; a new memory that supersedes the old one keeps both.",
    ),
    dispute(
        19,
        "How is something removed?",
        &[
            "entries.purge_superseded_days",
            "entries.max_size_mb",
            "entries.prune_percent",
            "log.keep_days_low",
            "log.keep_days_mid",
            "log.low",
            "log.high",
        ],
        "Superseded entries are deleted after 90 days; surplus entries move to an archive that can still be searched; a deletion by a person removes every trace.",
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
        "Enough for a long day's work; less for sessions with text by strangers.",
    ),
    dispute(
        21,
        "Does recall make a memory stronger, or only feedback?",
        &["rank.reinforce", "rank.demote"],
        "There are two numbers: recalled facts gain activation and lose it again; entries have a score that only feedback changes.",
    ),
    dispute(
        22,
        "How much does feedback count in the ranking?",
        &["rank.score_weight", "rank.bound"],
        "Enough that one rating has an effect and none is final: e^(0.2 score), within bounds.",
    ),
    dispute(
        23,
        "How does age affect the ranking, and from when does it count?",
        &["rank.recency", "search.half_life_days"],
        "Entries fade slowly after their last confirmation, dated logs by half in a month, other files not at all.",
    ),
    dispute(
        24,
        "Is a memory fresh because it was returned, or because it was confirmed?",
        &[],
        "Both times are kept; the ranking uses the second.",
    ),
    dispute(
        25,
        "Who sees what?",
        &["visibility.private", "access.admin_group", "access.private"],
        "Each group has its own database, and private data does not exist for shared sessions.",
    ),
    dispute(
        26,
        "Who writes: the agent, the person, or the program?",
        &["write.accept", "write.elicitation"],
        "All of them, and each row names its author. A person's edit needs no approval, and only a person approves.",
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
        ],
        "Behavior first, then identity, then current work. Cut files say so.",
    ),
    dispute(
        28,
        "What happens when a session ends, and later?",
        &["session.summary_entry", "session.retention_days"],
        "A summary in the original words stays; the transcript is packed and can still be found.",
    ),
    dispute(
        29,
        "Which events are recorded?",
        &["telemetry.events"],
        "Every write in a tamper-evident log; reads and searches as events, without their text.",
    ),
    dispute(
        30,
        "Where does a lesson end up?",
        &[],
        "It is recalled when it fits, measured by its effect, and proposed for SOUL.md; a person decides.",
    ),
    dispute(
        31,
        "May a memory contain credentials?",
        &[],
        "Yes, in the person's own files and rows; they are neither indexed nor shown.",
    ),
    dispute(
        32,
        "Are conversations kept as they were said?",
        &["turn.archive"],
        "As text, with credentials masked, if the host passes them on; private ones only for private sessions.",
    ),
];
