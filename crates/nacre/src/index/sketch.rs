//! Sketches: one sign bit per component. The number of bits that two vectors share estimates their
//! similarity, for an eighth of the memory traffic. Sketches are computed from the vectors when these are
//! read, for large memories; they are not stored.

use std::ops::Range;

use super::budget::room;
use super::scan::{self, Quantised, Record, Signs};

/// Up to this number of vectors, all are compared exactly and there are no sketches. Tests use a smaller
/// number.
pub(crate) const MAX_EXACT_VECTORS: usize = if cfg!(test) { 1_000 } else { 100_000 };

/// The sketches of all vectors, in order.
#[derive(Default)]
pub(crate) struct Sketches {
    signs: Vec<Signs>,
    /// The passage of each vector; 0 if it was deleted.
    owners: Vec<u32>,
    /// The index of a passage's first vector, by passage id.
    starts: Vec<u32>,
}

impl Sketches {
    /// Updates the sketches after these ranges of the vectors changed. Only a search among more `passages` than are compared
    /// exactly needs them.
    pub(super) fn refresh(&mut self, passages: usize, records: &[Record], changed: &[Range<usize>]) {
        if passages <= MAX_EXACT_VECTORS || records.len() <= MAX_EXACT_VECTORS {
            *self = Sketches::default();
            return;
        }
        let known = self.signs.len();
        self.signs.reserve_exact(room(&self.signs, records.len()) - known);
        self.signs.resize(records.len(), Signs::default());
        self.owners.reserve_exact(room(&self.owners, records.len()) - known);
        self.owners.resize(records.len(), 0);
        let all = 0..records.len();
        let changed = if known == 0 { std::slice::from_ref(&all) } else { changed };
        for place in changed.iter().cloned().flatten() {
            let (head, components) = records[place].split_at(8);
            let owner = u32::from_le_bytes(head[..4].try_into().expect("four bytes"));
            self.signs[place] = scan::signs(components.try_into().expect("a vector's components"));
            self.owners[place] = owner;
            // Vectors of one passage are adjacent.
            if owner != 0 && (place == 0 || self.owners[place - 1] != owner) {
                let passage = owner as usize;
                if self.starts.len() <= passage {
                    self.starts.resize(passage + 1, 0);
                }
                self.starts[passage] = u32::try_from(place).expect("passages have numbers of 32 bits");
            }
        }
    }

    /// Returns the bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        let Sketches { signs, owners, starts } = self;
        signs.capacity() * size_of::<Signs>() + (owners.capacity() + starts.capacity()) * size_of::<u32>()
    }

    /// Returns the most bytes that the sketches of this number of vectors take.
    pub(super) fn room_for(&self, vectors: usize, passages: usize) -> usize {
        if vectors <= MAX_EXACT_VECTORS {
            return 0;
        }
        // This list doubles when it grows.
        let starts = self.starts.capacity().max(passages.saturating_mul(2));
        room(&self.signs, vectors).saturating_mul(size_of::<Signs>())
            + (room(&self.owners, vectors) + starts).saturating_mul(size_of::<u32>())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.signs.is_empty()
    }

    /// Returns, by passage id, the most signs that a vector of the passage shares with the question; 0 for a
    /// passage without vectors.
    pub(crate) fn shared(&self, passages: usize, question: &Quantised) -> Vec<u16> {
        let question = scan::signs(&question.1.map(i8::cast_unsigned));
        let mut most = vec![0; passages];
        scan::shared_signs(&self.signs, &question, |place, shared| {
            if let Some(most) = most.get_mut(self.owners[place] as usize) {
                *most = shared.max(*most);
            }
        });
        most
    }

    /// Returns the indexes of a passage's vectors.
    pub(super) fn places(&self, passage: u32) -> Range<usize> {
        let start = self.starts.get(passage as usize).map_or(0, |start| *start as usize);
        let count = self.owners[start..].iter().take_while(|owner| **owner == passage).count();
        start..start + count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::scan::DIMS;

    #[test]
    fn a_sign_is_a_bit() {
        for negative in 0..DIMS {
            let mut components = [0u8; DIMS];
            components[negative] = (-3i8).cast_unsigned();
            let found = scan::signs(&components);
            assert_eq!(found.iter().map(|bits| bits.count_ones()).sum::<u32>(), 1, "{negative}");
            assert_ne!(found[negative / 64], 0, "{negative}");
        }
        assert_eq!(scan::signs(&[255; DIMS]), [u64::MAX; DIMS / 64]);
    }

    #[test]
    fn changed_vectors_are_sketched_anew() {
        let record = |owner: u32, component: i8| {
            let mut record: Record = [component.cast_unsigned(); _];
            record[..4].copy_from_slice(&owner.to_le_bytes());
            record
        };
        let question: Quantised = (1.0, [-1; DIMS]);
        // Two vectors per passage.
        let mut records: Vec<_> =
            (0..MAX_EXACT_VECTORS + 2).zip(0u32..).map(|(_, place)| record(place / 2 + 1, 1)).collect();
        let mut sketches = Sketches::default();
        let passages = MAX_EXACT_VECTORS + 1;
        sketches.refresh(passages, &records[..MAX_EXACT_VECTORS], &[]);
        assert!(sketches.is_empty(), "too few");
        sketches.refresh(passages, &records, &[]);
        assert_eq!(sketches.places(7), 12..14);
        assert_eq!(sketches.shared(10, &question)[7], 0);
        // The passage is deleted and added again after the others; another one changes its second vector.
        records[12..14].fill(record(0, 0));
        records[15] = record(8, -1);
        let end = records.len();
        records.push(record(7, -1));
        sketches.refresh(passages, &records, &[12..14, 15..16, end..end + 1]);
        assert_eq!((sketches.places(7), sketches.places(8)), (end..end + 1, 14..16));
        assert_eq!(sketches.shared(10, &question)[6..9], [0, 256, 256]);
        sketches.refresh(passages, &records, &[]);
        assert!(sketches.places(9_999_999).is_empty());
        sketches.refresh(MAX_EXACT_VECTORS, &records, &[]);
        assert!(sketches.is_empty(), "all passages are compared exactly");
    }
}
