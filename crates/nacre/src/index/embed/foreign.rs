//! Words of other languages, in the space of the built-in model.
//!
//! The table has a row for each word: four rows of the model with weights, whose sum is its vector. A text in another
//! language thus comes near the vector of its English translation, and the rows with the largest weights are a dictionary.
//! English texts never use the table. `training/README.md` describes how it is made, and `training/languages.py` is the
//! reference for cutting a text into words.
//!
//! The file, little-endian: `NACRELG1`; the number of rows as u32; five u32, the start of each section and the end of the
//! last. The sections: 256 scales, f32; the start of each block of names, u32; the rows; the names. A row is four rows of
//! the model, u16; their weights, i8; the number of its scale; how much the word counts, 255 for a rare one; how much more
//! common it is in another language than in English, as a logarithm, i8. The names are sorted by their bytes, in blocks of
//! sixteen: the number of bytes that a name shares with the one before it, the number of the others, and these.

use std::ops::{Add, AddAssign};

use rust_stemmers::Algorithm;
use unicode_normalization::UnicodeNormalization;

use super::builtin;
use crate::base::stem::stem;
use crate::base::words::{self, List};

pub(crate) static FILE: &[u8] = include_bytes!("../../../model/languages.bin");

const ROW_BYTES: usize = 15;
const BLOCK_NAMES: usize = 16;

static SCALES: &[[u8; 4]] = section(0).as_chunks().0;
static BLOCKS: &[[u8; 4]] = section(1).as_chunks().0;
static ROWS: &[[u8; ROW_BYTES]] = section(2).as_chunks().0;
static NAMES: &[u8] = section(3);

const _: () = {
    assert!(matches!(FILE.first_chunk(), Some(b"NACRELG1")), "not a table of languages");
    assert!(
        ROWS.len() == header(0) && BLOCKS.len() == ROWS.len().div_ceil(BLOCK_NAMES) && SCALES.len() == 256
    );
    assert!(header(5) == FILE.len(), "the table of languages is cut");
};

/// A word of another language, by the number of its row.
#[derive(Clone, Copy)]
pub(super) struct Word(u32);

impl Word {
    /// Returns the rows of the model that make up its vector, the strongest first, with their weights.
    pub(super) fn pairs(self) -> [(u32, f32); 4] {
        let row = self.row();
        let scale = f32::from_le_bytes(SCALES[usize::from(row[12])]);
        std::array::from_fn(|pair| {
            let number = u32::from(u16::from_le_bytes([row[2 * pair], row[2 * pair + 1]]));
            (number, scale * f32::from(row[8 + pair].cast_signed()))
        })
    }

    /// Returns how much it counts, from 0 for the most common words to 1.
    fn weight(self) -> f32 {
        f32::from(self.row()[13]) / 255.0
    }

    fn odds(self) -> i32 {
        i32::from(self.row()[14].cast_signed())
    }

    fn row(self) -> &'static [u8; ROW_BYTES] {
        &ROWS[self.0 as usize]
    }
}

/// Returns the row of a name.
fn find(name: &[u8]) -> Option<Word> {
    // The block is the last one whose first name is not after the name.
    let first = usize::from(*name.first()?);
    let (from, to) = (usize::from(BLOCKS_BEFORE[first]), usize::from(BLOCKS_BEFORE[first + 1]));
    let among = BLOCKS[from..to].partition_point(|start| first_name(*start) <= name);
    let block = (from + among).checked_sub(1)?;
    let mut rest = &NAMES[u32::from_le_bytes(BLOCKS[block]) as usize..];
    // The number of bytes that the name shares with the current one. Names before it share less and less often.
    let (mut matched, first) = (0, block * BLOCK_NAMES);
    for number in first..ROWS.len().min(first + BLOCK_NAMES) {
        let (shared, length) = (usize::from(rest[0]), usize::from(rest[1]));
        let (own, after) = rest[2..].split_at(length);
        rest = after;
        if shared < matched {
            return None;
        }
        if shared > matched {
            continue;
        }
        let same = own.iter().zip(&name[matched..]).take_while(|(one, other)| one == other).count();
        matched += same;
        if same == length && matched == name.len() {
            return u32::try_from(number).ok().map(Word);
        }
    }
    None
}

/// For each first byte, the number of blocks whose first name begins with a smaller one.
static BLOCKS_BEFORE: [u16; 257] = {
    let mut before = [0u16; 257];
    let (mut byte, mut block) = (0, 0);
    while byte < before.len() {
        while block < BLOCKS.len() && (NAMES[u32::from_le_bytes(BLOCKS[block]) as usize + 2] as usize) < byte
        {
            block += 1;
        }
        assert!(block < 1 << 16, "the number of a block has two bytes");
        #[expect(clippy::cast_possible_truncation, reason = "checked above")]
        {
            before[byte] = block as u16;
        }
        byte += 1;
    }
    before
};

fn first_name(start: [u8; 4]) -> &'static [u8] {
    let start = u32::from_le_bytes(start) as usize;
    &NAMES[start + 2..][..usize::from(NAMES[start + 1])]
}

/// The kind of a character in a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Han and kana, written without spaces.
    Han,
    /// Hangul: words are spaced, and endings follow the stem.
    Hangul,
    /// Other letters and digits.
    Letter,
}

impl Kind {
    fn of(c: char) -> Option<Kind> {
        let kind = match c {
            '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{3005}' => {
                Kind::Han
            }
            '\u{ac00}'..='\u{d7a3}' => Kind::Hangul,
            _ => Kind::Letter,
        };
        c.is_alphanumeric().then_some(kind)
    }

    /// Returns the shortest and the longest piece that a word is cut into, in characters.
    fn piece_chars(self) -> (usize, usize) {
        match self {
            Kind::Han => (1, 4),
            Kind::Hangul => (1, 6),
            Kind::Letter => (4, 23),
        }
    }
}

/// Lower case, one form of each character; accents are removed from Latin, Greek and Cyrillic letters only.
fn fold(text: &str) -> String {
    let lower = text.chars().flat_map(char::to_lowercase).nfkc().flat_map(char::to_lowercase);
    let mut folded = String::with_capacity(text.len());
    for c in lower {
        match c {
            'ß' => folded.push_str("ss"),
            'ł' => folded.push('l'),
            'ø' => folded.push('o'),
            'ı' => folded.push('i'),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'đ' => folded.push('d'),
            '\u{300}'..='\u{36f}' => {}
            '\u{80}'..='\u{52f}' | '\u{1e00}'..='\u{1fff}' => {
                folded.extend(std::iter::once(c).nfd().filter(|c| !('\u{300}'..='\u{36f}').contains(c)));
            }
            c => folded.push(c),
        }
    }
    folded
}

/// Passes the words of a folded text to `take`: runs of characters of one kind.
fn split<'t>(folded: &'t str, mut take: impl FnMut(&'t str, Kind)) {
    let (mut start, mut before) = (0, None);
    for (at, c) in folded.char_indices().map(|(at, c)| (at, Kind::of(c))).chain([(folded.len(), None)]) {
        if c != before {
            if let Some(kind) = before {
                take(&folded[start..at], kind);
            }
            (start, before) = (at, c);
        }
    }
}

/// The lengths of the beginnings that inflected forms of a word share, in characters.
const BEGINNINGS: [usize; 2] = [5, 7];

/// Passes the rows of a folded word to `take`: its own or those of its longest known pieces from the left, then those of its
/// beginnings.
fn cut(word: &str, kind: Kind, mut take: impl FnMut(Word)) {
    if let Some(whole) = find(word.as_bytes()) {
        take(whole);
    } else {
        let (least, most) = kind.piece_chars();
        let ends: Vec<usize> = word.char_indices().map(|(at, _)| at).skip(1).chain([word.len()]).collect();
        let place = |chars: usize| if chars == 0 { 0 } else { ends[chars - 1] };
        let (mut at, mut is_known) = (0, false);
        while at + least <= ends.len() {
            let lengths = (least..=most.min(ends.len() - at)).rev();
            let piece = |length: usize| &word[place(at)..place(at + length)];
            match lengths.into_iter().find_map(|length| Some((length, find(piece(length).as_bytes())?))) {
                Some((length, found)) => {
                    take(found);
                    (at, is_known) = (at + length, true);
                }
                // Without a known stem nothing is guessed from the middle of a word.
                None if kind == Kind::Letter && !is_known => break,
                None => at += 1,
            }
        }
    }
    if kind != Kind::Letter || word.starts_with(char::is_numeric) {
        return;
    }
    let mut name = String::new();
    for length in BEGINNINGS {
        let mut chars = word.char_indices();
        if let Some((end, _)) = chars.nth(length) {
            name.clear();
            name.push_str(&word[..end]);
            name.push('*');
            if let Some(found) = find(name.as_bytes()) {
                take(found);
            }
        }
    }
}

/// How likely a text is to be in another language than English.
#[derive(Clone, Copy, Default)]
pub(crate) struct Odds {
    /// The logarithm of a likelihood, in parts of [`ODDS_UNIT`].
    sum: i32,
    /// Whether a letter or a word shows that English is not all of it: another script, or a function word. Names and
    /// technical terms are common to many languages.
    is_shown: bool,
}

/// The unit of odds: a factor of e.
const ODDS_UNIT: i32 = 32;

/// Above this sum a text counts as one in another language.
const MIN_SUM: i32 = 2 * ODDS_UNIT;

/// The most that a word says which is also an English one: "gift", "tag", "die".
const MAX_SHARED_ODDS: i32 = 2 * ODDS_UNIT;

static FUNCTION_WORDS: List = words::FUNCTION_WORDS.list("function words");

impl Odds {
    /// Returns the odds of a run of characters between white space.
    pub(crate) fn of(run: &str) -> Odds {
        let mut odds = Odds::default();
        let mut add = |word: &str, kind: Kind| odds += word_odds(word, kind);
        // Most runs are ASCII and need no folding but that of case.
        if !run.is_ascii() {
            split(&fold(run), &mut add);
        } else if !is_code(run) {
            split(&run.to_ascii_lowercase(), &mut add);
        }
        odds
    }

    /// Tells whether the text is in another language than English.
    pub(crate) fn is_foreign(self) -> bool {
        self.is_shown && self.sum > MIN_SUM
    }

    /// Returns what the odds of a sentence say about the next one.
    pub(crate) fn faded(self) -> Odds {
        const MAX_SUM: i32 = 2 * MIN_SUM;
        Odds { sum: self.sum.clamp(-MAX_SUM, MAX_SUM) / 2, is_shown: self.is_foreign() }
    }
}

impl Add for Odds {
    type Output = Odds;

    fn add(self, other: Odds) -> Odds {
        Odds { sum: self.sum + other.sum, is_shown: self.is_shown || other.is_shown }
    }
}

impl AddAssign for Odds {
    fn add_assign(&mut self, other: Odds) {
        *self = *self + other;
    }
}

/// Tells whether a text is in another language than English.
pub(crate) fn is_foreign(text: &str) -> bool {
    text.split_whitespace().map(Odds::of).fold(Odds::default(), Add::add).is_foreign()
}

/// Tells whether a run of ASCII is code, a path or a number rather than words.
fn is_code(run: &str) -> bool {
    let inner = run.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    run.bytes()
        .any(|byte| matches!(byte, b'_' | b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b'='))
        || inner.bytes().any(|byte| !byte.is_ascii_alphabetic() && !matches!(byte, b'\'' | b'-' | b','))
}

fn word_odds(word: &str, kind: Kind) -> Odds {
    let mut chars = word.chars();
    let first = chars.next().expect("a word has a character");
    if first.is_numeric() || (first.is_ascii() && chars.next().is_none()) {
        return Odds::default();
    }
    // Of alphabets, the table has Latin and Cyrillic.
    let is_cyrillic = ('\u{400}'..'\u{530}').contains(&first);
    let english = if word.is_ascii() { builtin::rank(word) } else { None };
    let sum = match (find(word.as_bytes()), english) {
        (Some(known), Some(_)) => known.odds().min(MAX_SHARED_ODDS),
        (Some(known), None) => known.odds(),
        (None, Some(rank)) => english_odds(rank),
        (None, None) if word.is_ascii() => 0,
        (None, None) if kind != Kind::Letter || is_cyrillic => 4 * ODDS_UNIT,
        (None, None) if first < '\u{250}' => ODDS_UNIT / 2,
        (None, None) => 0,
    };
    Odds { sum, is_shown: kind != Kind::Letter || is_cyrillic || FUNCTION_WORDS.has(word) }
}

/// Returns the odds of an English word that other languages hardly use, by its rank: its share of all words is about
/// 0.1 / rank.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "between -128 and 0")]
fn english_odds(rank: u32) -> i32 {
    const UNKNOWN_SHARE: f32 = 1e-6;
    let share = 0.1 / (rank as f32 + 10.0);
    ((UNKNOWN_SHARE / (share + UNKNOWN_SHARE)).ln().max(-4.0) * ODDS_UNIT as f32) as i32
}

/// Passes the tokens of a text in another language to `take`, in order: the folded word that contains it, and its row. The rows
/// of the table follow those of the model. A word that the table lacks, such as a name, has the tokens of the model.
pub(crate) fn tokens(text: &str, mut take: impl FnMut(&str, u32)) {
    split(&fold(text), |word, kind| {
        let mut is_known = false;
        cut(word, kind, |found| {
            is_known = true;
            take(word, builtin::COUNT + found.0);
        });
        if is_known {
            return;
        }
        let latin = in_latin(word);
        let spelt = latin.as_deref().unwrap_or(word);
        // A name from another alphabet is known as a whole or not at all.
        if latin.is_none() || builtin::rank(spelt).is_some() {
            super::wordpiece::tokens(spelt, |_, row| take(word, row));
        }
    });
}

/// Returns the word with this row, unless it is one of the model.
pub(super) fn word(row: u32) -> Option<Word> {
    row.checked_sub(builtin::COUNT).map(Word)
}

/// Returns how much a word counts, from 0 for the most common words of its language to 1.
pub(crate) fn weight(word: &str) -> f32 {
    find(fold(word).as_bytes()).map_or(1.0, Word::weight)
}

/// Tells whether the table has a word.
pub(crate) fn knows(word: &str) -> bool {
    find(fold(word).as_bytes()).is_some()
}

/// Returns the folded words of a text. Chinese and Japanese ones are the longest that the table has, from the left.
pub(crate) fn parts(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    split(&fold(text), |word, kind| {
        let mut rest = word;
        while kind == Kind::Han && !rest.is_empty() {
            let ends = || rest.char_indices().map(|(at, c)| at + c.len_utf8()).take(kind.piece_chars().1);
            let known = ends().filter(|end| find(&rest.as_bytes()[..*end]).is_some()).last();
            let (part, after) = rest.split_at(known.or_else(|| ends().next()).unwrap_or(rest.len()));
            parts.push(part.to_owned());
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(rest.to_owned());
        }
    });
    parts
}

/// Passes the words of a text that the table lacks and that may be names to `take`, spelt in Latin letters.
pub(crate) fn spell(text: &str, mut take: impl FnMut(String)) {
    split(&fold(text), |word, kind| {
        if kind == Kind::Han {
            let is_katakana = |c: char| ('\u{30a1}'..='\u{30fc}').contains(&c);
            return word.split(|c| !is_katakana(c)).filter_map(in_romaji).for_each(&mut take);
        }
        let Some(latin) = in_latin(word).filter(|latin| latin.len() > 2 && find(word.as_bytes()).is_none())
        else {
            return;
        };
        // A name has cases: Ивана is Ivan.
        let stem = in_latin(&stem(Algorithm::Russian, word)).filter(|stem| *stem != latin && stem.len() > 2);
        take(latin);
        stem.into_iter().for_each(&mut take);
    });
}

/// Spells a word in katakana, which names from other languages are written in, in Latin letters. Long vowels are short, as most
/// languages write them.
fn in_romaji(word: &str) -> Option<String> {
    const ROWS: [(&str, &str); 14] = [
        ("アイウエオ", ""),
        ("カキクケコ", "k"),
        ("サシスセソ", "s"),
        ("タチツテト", "t"),
        ("ナニヌネノ", "n"),
        ("ハヒフヘホ", "h"),
        ("マミムメモ", "m"),
        ("ラリルレロ", "r"),
        ("ガギグゲゴ", "g"),
        ("ザジズゼゾ", "z"),
        ("ダヂヅデド", "d"),
        ("バビブベボ", "b"),
        ("パピプペポ", "p"),
        ("ァィゥェォ", ""),
    ];
    const OTHERS: [(char, &str); 11] = [
        ('シ', "shi"),
        ('チ', "chi"),
        ('ツ', "tsu"),
        ('フ', "fu"),
        ('ジ', "ji"),
        ('ヤ', "ya"),
        ('ユ', "yu"),
        ('ヨ', "yo"),
        ('ワ', "wa"),
        ('ヴ', "vu"),
        ('ン', "n"),
    ];
    let mut latin = String::new();
    for c in word.chars() {
        if let Some((_, sign)) = OTHERS.iter().find(|(other, _)| *other == c) {
            latin.push_str(sign);
        } else if let Some((row, consonant)) = ROWS.iter().find(|(row, _)| row.contains(c)) {
            let place = row.chars().position(|other| other == c)?;
            // A small vowel replaces the one before it: フェ is fe.
            if *row == "ァィゥェォ" {
                latin.pop();
            }
            latin.push_str(consonant);
            latin.push(char::from(b"aiueo"[place]));
        } else {
            match c {
                'ャ' | 'ュ' | 'ョ' => {
                    latin.pop();
                    latin.push_str(match c {
                        'ャ' => "ya",
                        'ュ' => "yu",
                        _ => "yo",
                    });
                }
                // The mark of a long vowel, and that of a double consonant.
                'ー' | 'ッ' => {}
                _ => return None,
            }
        }
    }
    (latin.len() > 2).then_some(latin)
}

/// Spells a Cyrillic word in Latin letters.
fn in_latin(word: &str) -> Option<String> {
    const LETTERS: [&str; 32] = [
        "a", "b", "v", "g", "d", "e", "zh", "z", "i", "i", "k", "l", "m", "n", "o", "p", "r", "s", "t", "u",
        "f", "kh", "ts", "ch", "sh", "shch", "", "y", "", "e", "yu", "ya",
    ];
    let letter = |c: char| LETTERS.get((c as usize).checked_sub('а' as usize)?).copied();
    let spelt = || word.chars().filter_map(letter).collect::<String>();
    // Мария is Maria, Наталья is Natalia.
    word.starts_with(|c| letter(c).is_some()).then(spelt).map(|latin| latin.replace("iya", "ia"))
}

/// Passes the English translations of the words of a text to `take`, each with how well it fits, from 0 to 1: at most `most` for
/// each part of a word.
pub(crate) fn translate(text: &str, most: usize, mut take: impl FnMut(&'static str, f32)) {
    split(&fold(text), |word, kind| {
        cut(word, kind, |found| {
            let pairs = found.pairs();
            let whole: f32 = pairs.iter().map(|(_, weight)| weight * weight).sum();
            let words = pairs.iter().filter(|(_, weight)| *weight > 0.0);
            let words =
                words.filter_map(|(row, weight)| Some((builtin::whole_word(*row)?, weight * weight / whole)));
            for (english, share) in words.take(most) {
                take(english, share * found.weight());
            }
        });
    });
}

const fn section(number: usize) -> &'static [u8] {
    FILE.split_at(header(2 + number)).0.split_at(header(1 + number)).1
}

/// Returns one of the numbers after the magic bytes.
const fn header(number: usize) -> usize {
    let Some(bytes) = FILE.split_at(8 + 4 * number).1.first_chunk() else {
        panic!("the table of languages is cut")
    };
    u32::from_le_bytes(*bytes) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::embed::builtin::embed_weighted;

    /// The name of each row, decoded one after the other.
    fn names() -> Vec<Vec<u8>> {
        let (mut names, mut rest, mut name) = (Vec::new(), NAMES, Vec::new());
        while let [shared, length, after @ ..] = rest {
            name.truncate(usize::from(*shared));
            let (own, next) = after.split_at(usize::from(*length));
            name.extend_from_slice(own);
            names.push(name.clone());
            rest = next;
        }
        names
    }

    #[test]
    fn the_file_is_the_one_that_indexes_are_stamped_with() {
        let hash = blake3::hash(FILE).to_hex();
        assert_eq!(crate::index::analyse::VERSION, format!("3-{}", &hash[..8]));
        assert!(FILE.len() <= 6_000_000, "{} bytes", FILE.len());
    }

    #[test]
    fn every_name_is_found_and_no_other() {
        let names = names();
        assert_eq!(names.len(), ROWS.len());
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
        for (row, name) in names.iter().enumerate() {
            assert_eq!(
                find(name).map(|word| word.0 as usize),
                Some(row),
                "{}",
                String::from_utf8_lossy(name)
            );
        }
        for unknown in ["", "a-b", "zzzzzzzz", "\u{10ffff}", "verfassungsgericht*"] {
            assert!(find(unknown.as_bytes()).is_none(), "{unknown}");
        }
    }

    #[test]
    fn a_text_means_what_its_translation_means() {
        let near =
            |text: &str, english: &str| embed_weighted(text, |_| 1.0).dot(&embed_weighted(english, |_| 1.0));
        for (text, same, other) in [
            ("Der Hund ist krank.", "the dog is ill", "the train is late"),
            ("El servidor se quedó sin memoria", "the server ran out of memory", "a walk along the river"),
            (
                "Il mange une pomme avec sa fille.",
                "he eats an apple with his daughter",
                "she plays the violin",
            ),
            ("Ela comprou uma casa nova", "she bought a new house", "the dog is ill"),
            ("Il treno parte domani mattina", "the train leaves tomorrow morning", "my sister likes cheese"),
            ("De vergadering is niet op dinsdag", "the meeting is not on Tuesday", "a red car"),
            ("Pies jest chory i nie je", "the dog is ill and does not eat", "the server is slow"),
            ("Моя собака больна", "my dog is ill", "the train is late"),
            ("Köpeğim bugün çok hasta", "my dog is very ill today", "the train is late"),
            ("我的狗生病了", "my dog is sick", "the train is late"),
            ("私の犬は病気です", "my dog is sick", "the train is late"),
            ("제 개가 아파요", "my dog is sick", "the train is late"),
        ] {
            assert!(is_foreign(text), "{text}");
            let (near_by, far_off) = (near(text, same), near(text, other));
            assert!(near_by > far_off + 0.1, "{text}: {same} {near_by}, {other} {far_off}");
        }
    }

    #[test]
    fn english_stays_english() {
        for text in [
            "gift",
            "tag",
            "The dog was ill on Tuesday, so we stayed at home.",
            "Zoë ate a crème brûlée at the CAFÉ in São Paulo.",
            "let user_name = getUserName(id) // TODO: handle None",
            "die hard",
            "I was in the war",
            "README.md",
            "crates/nacre/src/embed/wordpiece.rs:42",
            "python pdb no capture std output",
            "Wow, Maria!",
            "Absolutely, Craig!",
            "12:30 p.m.",
            "",
        ] {
            assert!(!is_foreign(text), "{text}");
        }
    }

    #[test]
    fn words_are_translated() {
        let english = |text: &str| {
            let mut words = Vec::new();
            translate(text, 4, |word, _| words.push(word));
            words
        };
        for (text, expected) in
            [("Hund", "dog"), ("universidad", "university"), ("кислород", "oxygen"), ("政府", "government")]
        {
            assert!(english(text).contains(&expected), "{text}: {:?}", english(text));
        }
        assert!(weight("und") < 0.2 && weight("Sauerstoff") > 0.8);
    }

    #[test]
    fn names_in_cyrillic_are_spelt_in_latin_letters() {
        assert_eq!(in_latin("путин").as_deref(), Some("putin"));
        assert_eq!(in_latin("щука").as_deref(), Some("shchuka"));
        assert_eq!(in_latin("berlin"), None);
    }

    #[test]
    fn names_are_spelt_as_english_texts_write_them() {
        let spelt = |text: &str| {
            let mut words = Vec::new();
            spell(text, |word| words.push(word));
            words
        };
        for (text, name) in [
            ("Спроси Ксюшенко", "ksyushenko"),
            ("Ксюшенкова", "ksyushenkov"),
            ("マリアは東京に住んでいます", "maria"),
            ("フェルナンド", "ferunando"),
            ("ニャンコ", "nyanko"),
        ] {
            assert!(spelt(text).contains(&name.to_owned()), "{text}: {:?}", spelt(text));
        }
        assert_eq!(spelt("der Hund 東京 книга"), [""; 0], "known words and other scripts");
    }

    #[test]
    fn chinese_and_japanese_are_cut_into_known_words() {
        assert_eq!(parts("Die Katze schläft"), ["die", "katze", "schlaft"]);
        let parts = parts("政府大学 rust");
        assert!(parts.contains(&"政府".to_owned()) && parts.contains(&"rust".to_owned()), "{parts:?}");
        assert_eq!(parts.concat(), "政府大学rust");
    }
}
