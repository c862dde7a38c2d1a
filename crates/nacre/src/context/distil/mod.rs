//! Distillation: takes decisions, corrections, preferences, instructions and facts out of a conversation.
//!
//! `own` finds the sentences of a message that the person wrote, without quotations and pasted text. `rules` decides which of
//! them last, without a model. `answer` is the same task for a model: what it is asked, and what of its answer is accepted.
//! Nothing here writes; `tools::distil` stores what was found.

mod answer;
mod rules;

pub(crate) use answer::{INSTRUCTION, MAX_ANSWER_TOKENS, answer_schema, batches, read_answer};
pub(crate) use rules::{find, lasting};

use crate::base::named::named;
use crate::records::entry::EntryType;

named! {
    /// The kind of a memory that was found in a conversation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Kind {
        Decision = "decision",
        Correction = "correction",
        Preference = "preference",
        Instruction = "instruction",
        Fact = "fact",
    }
}

impl Kind {
    pub(crate) fn entry_type(self) -> EntryType {
        match self {
            Kind::Decision | Kind::Fact => EntryType::Fact,
            Kind::Correction => EntryType::Correction,
            Kind::Preference => EntryType::Preference,
            Kind::Instruction => EntryType::Instruction,
        }
    }
}

/// A memory that was found in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// `SESSION/MESSAGE`.
    pub(crate) message: String,
    pub(crate) kind: Kind,
    pub(crate) text: String,
}
