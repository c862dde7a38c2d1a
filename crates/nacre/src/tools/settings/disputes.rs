//! What published designs of agent memory disagree about, which settings decide it, and why the default is what it is.
//!
//! docs/profiles.md is made from this table and the profiles, and a test compares: a profile can't differ from the default
//! in a key that no dispute names.

/// One thing that designs disagree about.
pub struct Dispute {
    /// Its number, from 1.
    pub number: usize,
    /// What the question is.
    pub about: &'static str,
    /// The settings that decide it; none: it is the same in every profile.
    pub keys: &'static [&'static str],
    /// Why the default is what it is, or what always holds.
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

/// Every dispute, by number.
pub static DISPUTES: [Dispute; 32] = [
    dispute(
        1,
        "Which writes of an agent wait for a person?",
        &["write.entries", "write.log", "write.memory", "write.memories", "write.files", "write.untrusted"],
        "A memory or a line of the log does little harm and can be taken back. What every session starts with, and rules of conduct from a conversation that strangers had a hand in, are worth a look.",
    ),
    dispute(
        2,
        "Is harm stopped when something is written, or when it is read?",
        &[],
        "Both, always: what waits is shown as a difference, and what is read has credentials masked, rules of conduct under a warning, and can't break out of its frame.",
    ),
    dispute(
        3,
        "In what voice is a memory given back: as a suggestion, as one's own, or as a record?",
        &[],
        "By block: the brief warns that rules are suggestions, turns quote what was said as the agent's own past, searches show records with their reasons.",
    ),
    dispute(
        4,
        "What may happen that nobody asked for at that moment?",
        &["maintain.behind", "graph.documents"],
        "What is exact and can be undone. Facts are read from files that people write, not from talk.",
    ),
    dispute(
        5,
        "What comes before a conversation is cut short, and when?",
        &["session.flush", "session.flush_tokens", "session.window", "session.reserve", "session.soft"],
        "To lose what was learned is the worse mistake. The agent is asked and writes itself.",
    ),
    dispute(
        6,
        "What becomes of a transcript that is too long?",
        &["session.compact", "session.compact_tokens", "session.keep_recent", "session.keep_tool_results"],
        "A summary behind the lines it stands for costs a little disk and loses nothing.",
    ),
    dispute(
        7,
        "Whose vectors are searched?",
        &[
            "embedding.provider",
            "embedding.model",
            "embedding.dimensions",
            "embedding.key_variable",
            "embedding.api_version",
        ],
        "Those that are compiled in: no network, no download, no key. Others are searched beside them.",
    ),
    dispute(
        8,
        "How do words and meaning become one order?",
        &["search.fusion", "search.vector_weight", "search.word_weight"],
        "What measured best on public conversations (docs/benchmarks.md).",
    ),
    dispute(
        9,
        "What does another model mean for vectors that are there?",
        &[],
        "They are made anew behind the calls; until then the old index answers, and answers say so.",
    ),
    dispute(
        10,
        "What is put before an agent that did not ask?",
        &[
            "brief.inject",
            "boot.inject",
            "turn.contributors",
            "turn.tokens",
            "turn.time_limit_ms",
            "session.with_memory",
        ],
        "Agents forget to ask. What helps with this message, found on this machine, short, in time, or nothing.",
    ),
    dispute(
        11,
        "Is the truth in files or in a database?",
        &["documents.index"],
        "Single memories and facts are rows, prose is files; each can be had as the other, and rows name their source.",
    ),
    dispute(
        12,
        "Where do files lie?",
        &["log.folder"],
        "One layout is written; those of the others are read as well.",
    ),
    dispute(
        13,
        "What is one memory?",
        &["entries.default_type"],
        "An entry, a passage of a file, a fact, an item or a task, and each is found by the same search. A type helps but nobody should have to give one.",
    ),
    dispute(
        14,
        "What is an id?",
        &[],
        "A long one that never changes and a short number; tools take either.",
    ),
    dispute(
        15,
        "How are tags written?",
        &[],
        "As an array, as one text with commas, or in brackets before a line of the log.",
    ),
    dispute(
        16,
        "Which tools is an agent offered?",
        &["tools.offer"],
        "Few: every one costs tokens in every session. The others are a line in the settings away.",
    ),
    dispute(
        17,
        "What does a search look through, and how much does it give?",
        &["search.limit", "graph.lane"],
        "Entries, documents and facts together, each hit with its kind; conversations where they are asked for.",
    ),
    dispute(
        18,
        "Is a correction a new memory or a change of the old one?",
        &[],
        "Either: an update keeps the number and the earlier text, a successor leaves the old one for review.",
    ),
    dispute(
        19,
        "How does something go?",
        &[
            "entries.purge_superseded_days",
            "entries.max_size_mb",
            "entries.prune_percent",
            "log.keep_days_low",
            "log.keep_days_mid",
            "log.low",
            "log.high",
        ],
        "What was replaced goes after a season, what is too much goes to an archive that is still searched; at a person's word it goes with every trace.",
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
        "Enough for a long day's work, little where strangers had a hand in it.",
    ),
    dispute(
        21,
        "Does being found make a memory stronger, or only a judgement?",
        &["rank.reinforce", "rank.demote"],
        "Two numbers: facts that are recalled grow warm and cool again, entries have a score that only a judgement changes.",
    ),
    dispute(
        22,
        "How much do judgements count in the order?",
        &["rank.score_weight", "rank.bound"],
        "So that one is felt and none is final: e^(0.2 score), within bounds.",
    ),
    dispute(
        23,
        "What does age do, and from when does it count?",
        &["rank.recency", "search.half_life_days"],
        "Entries fade slowly from when they were last confirmed, dated logs by half in a month, other files not at all.",
    ),
    dispute(
        24,
        "Is a memory fresh because it was returned, or because it was confirmed?",
        &[],
        "Both times are kept; the order goes by the second.",
    ),
    dispute(
        25,
        "Who sees what?",
        &["visibility.private", "access.admin_group", "access.private"],
        "A group is a database of its own, and what is private stays out of every session that others read along.",
    ),
    dispute(
        26,
        "Whose writes are they: the agent's, the person's, the program's?",
        &["write.accept", "write.elicitation"],
        "Everyone's, and each row says whose. A person's edit needs no leave, and only a person's word approves.",
    ),
    dispute(
        27,
        "What does a session start with, and how much of it?",
        &[
            "boot.main",
            "boot.project",
            "boot.file_chars",
            "boot.total_chars",
            "brief.max_entries",
            "brief.max_chars",
        ],
        "How to behave first, then who, then what is under way. What is cut says so.",
    ),
    dispute(
        28,
        "What happens when a session ends, and long after?",
        &["session.summary_entry", "session.retention_days"],
        "A summary in words that were said stays; the transcript is packed and is still found.",
    ),
    dispute(
        29,
        "What is recorded of what happens?",
        &["telemetry.events"],
        "Every write in a log that shows any change; reads and searches as events, without their words.",
    ),
    dispute(
        30,
        "Where does a lesson end up?",
        &[],
        "It is recalled when it fits, measured by what follows, and proposed for SOUL.md; a person decides.",
    ),
    dispute(
        31,
        "May a memory hold credentials?",
        &[],
        "It may, in the person's own files and rows; they are neither indexed nor shown.",
    ),
    dispute(
        32,
        "Are conversations kept as they were said?",
        &["turn.archive"],
        "As text, with credentials masked, where a host hands them over; private ones are for private sessions.",
    ),
];
