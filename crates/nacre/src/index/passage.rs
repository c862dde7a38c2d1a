//! A passage: the one searchable form of everything that can be found.

use crate::base::Time;
use crate::base::origin::RecordOrigin;
use crate::base::settings::Rank;

/// The kind of the passages of exchanges.
pub(crate) const EXCHANGE: &str = "exchange";

/// One searchable piece of text.
pub(crate) struct Passage {
    pub(crate) kind: &'static str,
    pub(crate) reference: String,
    pub(crate) text: String,
    /// Text that describes the passage and is searched with it: tags, a heading. A message has none of its
    /// own.
    pub(crate) title: String,
    /// The origin of its record.
    pub(crate) origin: RecordOrigin,
    /// The author: `user`, `assistant` or a name.
    pub(crate) author: Option<String>,
    pub(crate) at: Time,
    /// If false, only searches that include the past find it.
    pub(crate) live: bool,
    /// The number of its session and its position there.
    pub(crate) place: Option<(i64, i64)>,
    /// The weight of an entry independent of any question.
    pub(crate) standing: Option<Standing>,
    /// The location of a chunk in its document.
    pub(crate) slice: Option<Slice>,
}

impl Passage {
    /// Returns a live passage with only a text; the caller sets the other fields.
    pub(crate) fn new(kind: &'static str, reference: String, text: String, at: Time) -> Passage {
        let title = String::new();
        Passage {
            kind,
            reference,
            text,
            title,
            origin: RecordOrigin::default(),
            author: None,
            at,
            live: true,
            place: None,
            standing: None,
            slice: None,
        }
    }
}

/// The location of a chunk in its document, and the hash that identifies its content.
#[derive(Clone)]
pub(crate) struct Slice {
    /// The first and the last line, from 1.
    pub(crate) lines: (i64, i64),
    /// SHA-256 of its title and text.
    pub(crate) hash: String,
}

/// The standing of an entry independent of any question: its score, and the day it was last confirmed or
/// stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) score: i8,
    pub(crate) day: u32,
}

impl Standing {
    pub(crate) fn new(score: i64, confirmed: Time) -> Standing {
        let day = confirmed.as_millis().div_euclid(86_400_000).clamp(0, (1 << 24) - 1);
        Standing {
            score: i8::try_from(score.clamp(-127, 127)).expect("clamped"),
            day: u32::try_from(day).expect("clamped"),
        }
    }

    /// Returns the weight of an entry independent of any question: reinforcement times recency.
    pub(crate) fn weight(self, rank: &Rank, now: Time) -> f64 {
        (self.log_reinforcement(rank) + self.log_recency(rank, now)).exp()
    }

    /// Returns the logarithm of its reinforcement, which can be added to the other score parts.
    pub(crate) fn log_reinforcement(self, rank: &Rank) -> f64 {
        f64::from(self.score) * rank.score_weight
    }

    /// Returns the logarithm of its recency, which can be added to the other score parts. A memory from a clock that was ahead is as
    /// far away as one that is as old.
    pub(crate) fn log_recency(self, rank: &Rank, now: Time) -> f64 {
        let at = Time::from_millis(i64::from(self.day) * 86_400_000);
        let days = now.days_since(at).max(at.days_since(now));
        -(1.0 + days.floor() * rank.recency).ln()
    }

    pub(super) fn pack(self) -> u32 {
        self.day << 8 | u32::from(self.score.cast_unsigned())
    }

    pub(super) fn unpack(packed: u32) -> Standing {
        Standing { score: packed.to_le_bytes()[0].cast_signed(), day: packed >> 8 }
    }
}
