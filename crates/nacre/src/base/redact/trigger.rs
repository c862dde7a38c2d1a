//! Which patterns may match a text. Every pattern names short strings of which one occurs in each match. They are indexed by their
//! rarest pair of bytes, so a text costs one lookup for each pair of bytes in it, however many patterns there are.

use std::ops::Range;
use std::sync::LazyLock;

use super::{command, form, keyed, near, phrase, token};

/// The number of pairs of ASCII characters.
pub(super) const PAIRS: usize = 128 * 128;

static INDEX: LazyLock<Index> = LazyLock::new(Index::new);

struct Index {
    /// Whether each pair has rows: most pairs of a text have none.
    is_rare: Box<[bool; PAIRS]>,
    /// For each pair, where its rows start.
    starts: Vec<u16>,
    rows: Vec<Row>,
    /// Triggers of one character.
    singles: Vec<(u8, usize)>,
    count: usize,
    forms: Range<usize>,
    commands: Range<usize>,
    tokens: Range<usize>,
    names: usize,
    passphrases: usize,
    phrases: usize,
    codes: usize,
    recovery: usize,
    things: usize,
}

/// A trigger of more than one character.
struct Row {
    trigger: &'static str,
    /// Where its rarest pair is.
    place: usize,
    /// The byte after that pair in lower case, or 0. Most pairs of a text are told by it without a comparison.
    after: u8,
    /// The number of its pattern.
    number: usize,
}

impl Index {
    fn new() -> Index {
        let mut rows = Vec::new();
        let mut count = 0;
        let mut add = |triggers: &mut dyn Iterator<Item = &'static str>| {
            rows.extend(triggers.map(|trigger| (trigger, count)));
            count += 1;
            count
        };
        let mut last = 0;
        let mut range = |end: usize| {
            let numbers = last..end;
            last = end;
            numbers
        };
        for triggers in form::triggers() {
            add(&mut triggers.iter().copied());
        }
        let forms = range(form::FORMS.len());
        for triggers in command::triggers() {
            add(&mut triggers.iter().copied());
        }
        let commands = range(forms.end + command::triggers().count());
        for (_, prefix) in token::PREFIXES.iter() {
            add(&mut std::iter::once(*prefix));
        }
        let tokens = range(commands.end + token::PREFIXES.len());
        let names = add(&mut keyed::stems()) - 1;
        let passphrases = add(&mut phrase::PASSPHRASE_CUES.iter().copied()) - 1;
        let phrases = add(&mut phrase::CUES.iter().copied()) - 1;
        let codes = add(&mut near::CODES.iter().copied()) - 1;
        let recovery = add(&mut near::RECOVERY_CUES.iter().copied()) - 1;
        let things = add(&mut near::THINGS.iter().copied()) - 1;
        let (singles, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(trigger, _)| trigger.len() == 1);
        let with_place = |(trigger, number): (&'static str, usize)| {
            let bytes = trigger.as_bytes();
            let place = rarest_pair(bytes);
            let after = bytes.get(place + 2).map_or(0, |byte| LOWER[usize::from(*byte)]);
            (pair_of(bytes[place], bytes[place + 1]), Row { trigger, place, after, number })
        };
        let mut rows: Vec<_> = rows.into_iter().map(with_place).collect();
        rows.sort_by_key(|(pair, _)| *pair);
        let mut starts = vec![0u16; PAIRS + 1];
        let mut is_rare = Box::new([false; PAIRS]);
        for (pair, _) in &rows {
            starts[pair + 1] += 1;
            is_rare[*pair] = true;
        }
        for pair in 0..PAIRS {
            starts[pair + 1] += starts[pair];
        }
        let rows = rows.into_iter().map(|(_, row)| row).collect();
        let singles = singles.into_iter().map(|(trigger, number)| (trigger.as_bytes()[0], number)).collect();
        Index {
            is_rare,
            starts,
            rows,
            singles,
            count,
            forms,
            commands,
            tokens,
            names,
            passphrases,
            phrases,
            codes,
            recovery,
            things,
        }
    }
}

/// Returns where the rarest pair of a trigger starts, by how common its characters are in English.
fn rarest_pair(trigger: &[u8]) -> usize {
    let rarity = |byte: u8| usize::from(RARITY[usize::from(LOWER[usize::from(byte)])]);
    let windows = trigger.windows(2).enumerate();
    windows.max_by_key(|(_, two)| rarity(two[0]) + rarity(two[1])).map_or(0, |(place, _)| place)
}

/// How rare each character is, as a table: every process that redacts a text makes the index.
static RARITY: [u8; 128] = {
    const COMMON: &[u8] = b" etaoinshrdlucmfwypvbgkjqxz";
    // Signs and digits are a little rarer than the rarest letter.
    let (mut table, mut at) = ([27; 128], 0u8);
    while (at as usize) < COMMON.len() {
        table[COMMON[at as usize] as usize] = at;
        at += 1;
    }
    table
};

/// Each byte in lower case, as a part of a pair: every text that is stored or returned passes here.
static LOWER: [u8; 256] = {
    let (mut table, mut byte) = ([0; 256], 0);
    while byte < table.len() {
        #[expect(clippy::cast_possible_truncation, reason = "a byte")]
        {
            table[byte] = (byte as u8).to_ascii_lowercase() & 127;
        }
        byte += 1;
    }
    table
};

/// Returns the number of a pair of bytes; those of two cases are one.
pub(super) fn pair_of(one: u8, other: u8) -> usize {
    usize::from(LOWER[usize::from(one)]) << 7 | usize::from(LOWER[usize::from(other)])
}

/// The patterns that may match one text.
pub(super) struct Present([u64; 8]);

impl Present {
    /// Returns the patterns of which a trigger occurs in a text, in any case.
    pub(super) fn of(text: &str) -> Present {
        let index = &*INDEX;
        let mut present = Present([0; 8]);
        debug_assert!(index.count <= 512, "the numbers fit");
        let bytes = text.as_bytes();
        let mut pair = 0;
        for (next, byte) in bytes.iter().enumerate() {
            pair = (pair << 7 | usize::from(LOWER[usize::from(*byte)])) % PAIRS;
            if !index.is_rare[pair] {
                continue;
            }
            // The pair of nothing and the first byte is not a pair.
            let Some(place) = next.checked_sub(1) else { continue };
            let (start, end) = (index.starts[pair], index.starts[pair + 1]);
            let follows = bytes.get(next + 1).map_or(0, |byte| LOWER[usize::from(*byte)]);
            for Row { trigger, place: offset, after, number } in
                &index.rows[usize::from(start)..usize::from(end)]
            {
                if *after != 0 && *after != follows {
                    continue;
                }
                let begins = |from: usize| {
                    let there = bytes.get(from..from + trigger.len());
                    there.is_some_and(|there| there.eq_ignore_ascii_case(trigger.as_bytes()))
                };
                if !present.has(*number) && place.checked_sub(*offset).is_some_and(begins) {
                    present.0[number / 64] |= 1 << (number % 64);
                }
            }
        }
        for (trigger, number) in &index.singles {
            let is_there = || memchr::memchr2(*trigger, trigger.to_ascii_uppercase(), bytes).is_some();
            if !present.has(*number) && is_there() {
                present.0[number / 64] |= 1 << (number % 64);
            }
        }
        present
    }

    fn has(&self, number: usize) -> bool {
        self.0[number / 64] & 1 << (number % 64) != 0
    }

    fn among(&self, numbers: &Range<usize>) -> impl Iterator<Item = usize> + use<'_> {
        let start = numbers.start;
        numbers.clone().filter(|number| self.has(*number)).map(move |number| number - start)
    }

    pub(super) fn forms(&self) -> impl Iterator<Item = usize> + use<'_> {
        self.among(&INDEX.forms)
    }

    pub(super) fn commands(&self) -> impl Iterator<Item = usize> + use<'_> {
        self.among(&INDEX.commands)
    }

    /// Returns the numbers of the prefixes that occur in any case.
    pub(super) fn tokens(&self) -> impl Iterator<Item = usize> + use<'_> {
        self.among(&INDEX.tokens)
    }

    pub(super) fn has_name(&self) -> bool {
        self.has(INDEX.names)
    }

    pub(super) fn has_passphrase(&self) -> bool {
        self.has(INDEX.passphrases)
    }

    pub(super) fn has_phrase(&self) -> bool {
        self.has(INDEX.phrases)
    }

    /// Tells whether codes are spoken of, as [`near`] looks for them.
    pub(super) fn has_code(&self) -> bool {
        self.has(INDEX.codes)
    }

    pub(super) fn has_recovery(&self) -> bool {
        self.has(INDEX.recovery)
    }

    /// Tells whether a thing is named that digits open.
    pub(super) fn has_thing(&self) -> bool {
        self.has(INDEX.things)
    }
}
