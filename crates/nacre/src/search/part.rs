//! The parts of a score: one table of their names, weights and meanings.
//!
//! The weights were found on public conversation sets (docs/benchmarks.md).

use std::ops::{Index, IndexMut};

/// Generates the enum, its names and its weights from one table, so that they can't disagree.
macro_rules! parts {
    ($($(#[doc = $meaning:literal])+ $part:ident, $name:literal, $weight:literal;)+) => {
        /// A part of a score. A score is the sum of its parts in this order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Part {
            $($(#[doc = $meaning])+ $part,)+
        }

        /// The parts of a score, by the names that `--explain` shows and `search.without` takes.
        pub const PARTS: [&str; COUNT] = [$($name),+];

        const ALL: [Part; COUNT] = [$(Part::$part),+];
        const WEIGHTS: Parts = Parts([$($weight),+]);
        const COUNT: usize = [$($name),+].len();
    };
}

// The meaning of each part, its name, and its weight.
parts! {
    /// The words of the question that the passage contains.
    Words, "bm25", 0.35;
    /// The similarity of its embedding to the question's.
    Meaning, "vectors", 0.65;
    /// The words of the question that its whole session contains.
    Session, "session", 0.2;
    /// The retrievers' score of the passages before it. The weight depends on the speaker.
    Before, "before", 1.0;
    /// The retrievers' score of the passages after it. The weight depends on the speaker.
    After, "after", 1.0;
    /// The question names its author.
    Author, "author", 3.2;
    /// The user said it, if the question asks for the user's words.
    Speaker, "speaker", 2.5;
    /// How close its time is to one that the question names.
    Time, "time", 2.5;
    /// It is the first passage of its session.
    First, "first", 0.8;
    /// The speaker talks about themselves.
    Person, "person", 0.6;
    /// It contains the kind of answer that is asked for: a time, a number or a name.
    Answers, "answers", 0.5;
    /// It is a standing instruction.
    Instruction, "instruction", 1.6;
    /// It states a preference, if the question asks for advice.
    Preference, "preference", 2.0;
    /// The logarithm of the whole match, if structure does not count.
    Relevance, "relevance", 1.0;
    /// The logarithm of the weight of an entry's reinforcement.
    Reinforcement, "reinforcement", 1.0;
    /// The logarithm of an entry's recency.
    Recency, "recency", 1.0;
    /// The penalty of a dated document for its age.
    Age, "age", 1.0;
    /// The graph's answer about an entity of the question.
    Graph, "graph", 8.0;
}

impl Part {
    pub(super) fn name(self) -> &'static str {
        PARTS[self as usize]
    }
}

/// One number for each part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts([f32; COUNT]);

impl Parts {
    pub(super) const ZERO: Parts = Parts([0.0; COUNT]);

    /// Returns the weight of each part, 0 for those whose names are in `without`.
    pub(super) fn weights(without: &[String]) -> Parts {
        let mut weights = WEIGHTS;
        for part in ALL.into_iter().filter(|part| without.iter().any(|name| name == part.name())) {
            weights[part] = 0.0;
        }
        weights
    }

    /// Multiplies each part by its weight.
    pub(super) fn weigh(&mut self, weights: &Parts) {
        for (part, weight) in self.0.iter_mut().zip(&weights.0) {
            *part *= weight;
        }
    }

    /// Returns the sum of the parts, each multiplied by its weight. It makes no copy: every passage in scope is summed.
    pub(super) fn weighed_sum(&self, weights: &Parts) -> f32 {
        self.0.iter().zip(&weights.0).map(|(part, weight)| part * weight).sum()
    }

    pub(super) fn sum(&self) -> f32 {
        self.0.iter().sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Part, f32)> {
        ALL.into_iter().zip(self.0)
    }
}

impl Index<Part> for Parts {
    type Output = f32;

    fn index(&self, part: Part) -> &f32 {
        &self.0[part as usize]
    }
}

impl IndexMut<Part> for Parts {
    fn index_mut(&mut self, part: Part) -> &mut f32 {
        &mut self.0[part as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_left_out_weigh_nothing() {
        let weights = Parts::weights(&["time".to_owned()]);
        for (part, weight) in weights.iter() {
            assert_eq!(weight == 0.0, part == Part::Time, "{}", part.name());
        }
    }
}
