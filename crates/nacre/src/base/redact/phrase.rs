//! Secrets of several words: the seed phrase of a wallet, a passphrase, an app password in groups of four letters.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::trigger::Present;

/// Lower-case strings of which one introduces a passphrase.
pub(super) const PASSPHRASE_CUES: &[&str] = &["pass", "psk"];

/// Lower-case strings of which one introduces a phrase.
pub(super) const CUES: &[&str] = &[
    "seed",
    "mnemonic",
    "recovery",
    "wallet",
    "ledger",
    "trezor",
    "metamask",
    "phrase",
    "backup",
    "words",
    "wiederherstellung",
    "semilla",
    "recupera",
    "récupération",
    "wörter",
    "palabras",
    "parole",
    "助记词",
    "シード",
    "니모닉",
];

/// The most bytes between a cue and its phrase.
const MAX_DISTANCE: usize = 160;

/// Words that every longer sentence has and no list of words for wallets.
const SENTENCE_WORDS: &[&str] =
    &["the", "and", "for", "are", "was", "from", "your", "not", "und", "der", "die", "los", "les", "que"];

/// Twelve to 24 words of three to eight letters, which may be numbered.
static PHRASE: LazyLock<Regex> = LazyLock::new(|| {
    let word = r"(?:\d{1,2}[.):]?[ \t]*)?[a-z]{3,8}";
    let pattern = format!(r"\b{word}(?:[ \t]*[,\n|/ \t-][ \t]*{word}){{11,23}}\b");
    super::compile(&pattern)
});

/// A passphrase of four words or more after its name, to the end of the line.
static PASSPHRASE: LazyLock<Regex> = LazyLock::new(|| {
    super::compile(r"(?im)pass-?phrase\s*(?:is|ist|=|:)\s*(?P<secret>[a-z]+(?:[ -][a-z]+){3,9})[.!]?$")
});

/// The same in quotes, after a few words.
static QUOTED_PASSPHRASE: LazyLock<Regex> = LazyLock::new(|| {
    super::compile(
        r"(?i)(?:pass-?phrase|psk)[^\n\x22]{0,40}?(?:is|ist|=|:)\s*\x22(?P<secret>[a-z]+(?:[ -][a-z]+){2,9})\x22",
    )
});

/// An app password as Google shows it.
static APP_PASSWORD: LazyLock<Regex> = LazyLock::new(|| {
    super::compile(r"(?i)pass(?:word|wort|code)?[^\n]{0,40}?[:=]\s*(?P<secret>[a-z]{4}(?: [a-z]{4}){3})\b")
});

/// Adds the ranges of the secret phrases.
pub(super) fn find(text: &str, present: &Present, found: &mut Vec<Range<usize>>) {
    if !present.has_passphrase() && !present.has_phrase() {
        return;
    }
    // A cue in other capitals is told by the letters alone.
    let may_be_cued = present.has_phrase() || !text.is_ascii();
    if ["pass", "Pass", "PASS", "psk"].iter().any(|name| text.contains(name)) {
        let patterns = [
            (&PASSPHRASE, may_be_cued),
            (&QUOTED_PASSPHRASE, text.contains('"')),
            (&APP_PASSWORD, text.contains([':', '='])),
        ];
        for (pattern, _) in patterns.into_iter().filter(|(_, may_match)| *may_match) {
            let secrets = pattern.captures_iter(text).filter_map(|caught| caught.name("secret"));
            found.extend(secrets.filter(|secret| !is_sentence(secret.as_str())).map(|secret| secret.range()));
        }
    }
    if !may_be_cued {
        return;
    }
    for phrase in PHRASE.find_iter(text) {
        let mut from = phrase.start().saturating_sub(MAX_DISTANCE);
        while !text.is_char_boundary(from) {
            from -= 1;
        }
        let before = text[from..phrase.start()].to_lowercase();
        let words = phrase.as_str();
        if CUES.iter().any(|cue| before.contains(cue)) && !is_sentence(words) && !repeats(words) {
            found.push(phrase.range());
        }
    }
}

fn is_sentence(words: &str) -> bool {
    words.split(|c: char| !c.is_alphabetic()).any(|word| SENTENCE_WORDS.contains(&word))
}

/// Tells whether most of the words are the same, as in a text that fills space.
fn repeats(words: &str) -> bool {
    let words: Vec<&str> =
        words.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
    words.iter().collect::<HashSet<_>>().len() * 2 < words.len()
}

#[cfg(test)]
mod tests {
    use super::super::{MASK, text};

    #[test]
    fn phrases_are_masked() {
        for secret in [
            "seed phrase: legal winner thank year wave sausage worth useful legal winner thank yellow",
            "Ledger backup\n1. harbor\n2. trophy\n3. flavor\n4. lecture\n5. arctic\n6. lunar\n7. cherry\n8. orchard\n9. falcon\n10. obscure\n11. vibrant\n12. scatter",
            "MNEMONIC=\"abandon attract echo sausage canyon horizon fabric hedgehog actor velvet ankle spider\"",
            "passphrase: correct horse battery staple",
            "gmail app password: abcd wxyz mnop qrst",
        ] {
            let masked = text(secret);
            assert!(
                masked.contains(MASK) && !masked.contains("staple") && !masked.contains("lecture"),
                "{masked}"
            );
        }
    }

    #[test]
    fn sentences_stay() {
        for plain in [
            "A seed phrase has twelve words and you must write all of them down before the wallet opens",
            "backup words: these three words are enough",
            "passphrase: ask the team for it before you start",
        ] {
            assert_eq!(text(plain), plain);
        }
    }
}
