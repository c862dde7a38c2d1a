//! The analyser turns text into words. Indexing and querying use the same function.
//!
//! Accents, case and width are folded. Words are stemmed, as English unless the settings name another
//! language. Identifiers and paths yield their parts and the whole (`getUserName` is found by `user`,
//! `username` is not needed to find `user_name`). Scripts written without spaces yield pairs of characters.
//! The output is letters and digits only, so that no word has a special meaning to the full-text engine.

use std::borrow::Cow;

use crate::base::settings::Search;
use rust_stemmers::Algorithm;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::base::stem::stem;
use crate::base::words::{self, List};

/// Changes whenever the same text would give other words: an index built by another version is rebuilt. The number counts code
/// changes; the rest is the beginning of the BLAKE3 hash of the table of other languages.
pub(crate) const VERSION: &str = "3-24c15900";

/// Longer words are truncated: nobody types them, and base64 would fill the index.
const MAX_WORD_CHARS: usize = 64;

/// The language of the stemmer (`search.language`). Everything else is the same for all languages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Language(usize);

/// The languages by name; the first is the default.
const LANGUAGES: &[(&str, Option<Algorithm>)] = &[
    ("english", Some(Algorithm::English)),
    ("none", None),
    ("arabic", Some(Algorithm::Arabic)),
    ("danish", Some(Algorithm::Danish)),
    ("dutch", Some(Algorithm::Dutch)),
    ("finnish", Some(Algorithm::Finnish)),
    ("french", Some(Algorithm::French)),
    ("german", Some(Algorithm::German)),
    ("greek", Some(Algorithm::Greek)),
    ("hungarian", Some(Algorithm::Hungarian)),
    ("italian", Some(Algorithm::Italian)),
    ("norwegian", Some(Algorithm::Norwegian)),
    ("portuguese", Some(Algorithm::Portuguese)),
    ("romanian", Some(Algorithm::Romanian)),
    ("russian", Some(Algorithm::Russian)),
    ("spanish", Some(Algorithm::Spanish)),
    ("swedish", Some(Algorithm::Swedish)),
    ("tamil", Some(Algorithm::Tamil)),
    ("turkish", Some(Algorithm::Turkish)),
];

impl Search {
    pub(crate) fn language(&self) -> Language {
        Language::named(&self.language).expect("checked when the settings were read")
    }
}

impl Language {
    /// Returns the language with this name.
    pub(crate) fn named(name: &str) -> Option<Language> {
        LANGUAGES.iter().position(|(known, _)| *known == name).map(Language)
    }

    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        LANGUAGES.iter().map(|(name, _)| *name)
    }

    pub(crate) fn name(self) -> &'static str {
        LANGUAGES[self.0].0
    }

    fn is_english(self) -> bool {
        self == Language::default()
    }

    /// Tells whether a word, as returned by [`words`], is too common to matter in a question. In other
    /// languages, document frequency shows which words are common.
    pub(crate) fn is_common(self, word: &str) -> bool {
        self.is_english() && COMMON.has(word)
    }
}

/// Returns the words of a text in order, with repetitions.
pub(crate) fn words(text: &str, language: Language) -> Vec<String> {
    let algorithm = LANGUAGES[language.0].1;
    let mut words = Words { algorithm, english: language.is_english(), out: Vec::new() };
    // Stemmers of many languages depend on accents; the English one does not.
    let folded = match words.english {
        true if text.is_ascii() => Cow::Borrowed(text),
        true => Cow::Owned(fold_marks(text)),
        false => Cow::Owned(text.nfkc().collect()),
    };
    let mut rest = folded.as_ref();
    while let Some(start) = rest.find(|c: char| is_word(c)) {
        rest = &rest[start..];
        let spaceless = rest.starts_with(is_spaceless);
        let end = if spaceless { rest.find(|c: char| !is_spaceless(c)) } else { Some(compound_end(rest)) };
        let (run, after) = rest.split_at(end.unwrap_or(rest.len()));
        if spaceless {
            words.push_pairs(run)
        } else {
            words.push_compound(run)
        }
        rest = after;
    }
    words.out
}

/// Returns a text without case, accents, white space and punctuation, which is equal for texts that say
/// nearly the same. `text::canonical` decides whether two memories are the same.
pub(crate) fn fold(text: &str) -> String {
    let folded: String =
        fold_marks(text).chars().filter(|c| is_word(*c)).flat_map(char::to_lowercase).collect();
    // A text of only symbols and emoji is compared by these.
    if folded.is_empty() { text.split_whitespace().collect() } else { folded }
}

static COMMON: List = words::COMMON.list("common");

struct Words {
    algorithm: Option<Algorithm>,
    english: bool,
    out: Vec<String>,
}

impl Words {
    /// Adds a compound of letters and digits joined by symbols: its parts, and the whole if there are several
    /// parts.
    fn push_compound(&mut self, run: &str) {
        // Nearly every run: a word of plain letters without inner capitals.
        if run
            .bytes()
            .enumerate()
            .all(|(at, byte)| byte.is_ascii_lowercase() || at == 0 && byte.is_ascii_uppercase())
        {
            return self.push(run);
        }
        let mut parts = 0;
        for piece in run.split(|c: char| !is_word(c)).filter(|piece| !piece.is_empty()) {
            let humps = humps(piece);
            parts += humps.len();
            if humps.len() > 1 {
                for hump in &humps {
                    self.push(hump);
                }
            }
            self.push(piece);
        }
        if parts > 1 && run.contains(|c: char| !is_word(c)) {
            self.push(
                &run.replace("++", "plusplus").replace('#', "sharp").replace(|c: char| !is_word(c), ""),
            );
        } else if parts == 1 && (run.ends_with('+') || run.ends_with('#')) {
            // `C++` and `F#` are one-letter names.
            self.push(&run.replace('+', "plus").replace('#', "sharp"));
        }
    }

    /// Adds every pair of adjacent characters, and the last character alone, so that a prefix search for one
    /// character finds all texts that contain it.
    fn push_pairs(&mut self, run: &str) {
        let chars: Vec<char> = run.chars().collect();
        self.out.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
        self.out.extend(chars.last().map(char::to_string));
    }

    fn push(&mut self, word: &str) {
        let word: String = match word.is_ascii() {
            true => word[..word.len().min(MAX_WORD_CHARS)].to_ascii_lowercase(),
            false => word.chars().flat_map(char::to_lowercase).take(MAX_WORD_CHARS).collect(),
        };
        if word.chars().nth(1).is_none() {
            return;
        }
        if self.english {
            let plain = word.bytes().all(|byte| byte.is_ascii_lowercase());
            let algorithm = self.algorithm.filter(|_| plain);
            self.out.push(algorithm.map(|algorithm| stem(algorithm, &word)).unwrap_or(word));
            return;
        }
        // With its accents, and without them as people may type it.
        let stem = |word: &str| match self.algorithm {
            Some(algorithm) if word.chars().all(char::is_alphabetic) => fold_marks(&stem(algorithm, word)),
            _ => fold_marks(word),
        };
        let (written, typed) = (stem(&word), stem(&fold_marks(&word)));
        self.out.extend((typed != written).then_some(typed));
        self.out.push(written);
    }
}

/// Returns the end of a compound whose words are joined by single symbols: `src/auth/login.rs`, `user_name`,
/// `well-known`, `C++`.
fn compound_end(text: &str) -> usize {
    const JOINERS: &[char] = &['_', '-', '.', '/', ':', '@', '\\', '\'', '’'];
    // Most compounds are one word of ASCII, which needs no look at the next character.
    let plain = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    if text[plain..].starts_with([' ', '\n', ',']) || plain == text.len() {
        return plain;
    }
    let mut end = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let joins = JOINERS.contains(&c) && next.is_some_and(|next| is_word(next) && !is_spaceless(next));
        let suffix = (c == '+' || c == '#') && at <= 3 && !next.is_some_and(is_word);
        if !(is_word(c) && !is_spaceless(c) || joins || suffix) {
            break;
        }
        end = at + c.len_utf8();
    }
    end
}

/// Splits an identifier where its case or kind changes: `getHTTPServer2` gives `get`, `HTTP`, `Server`, `2`.
fn humps(piece: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = piece.char_indices().collect();
    let mut humps = Vec::new();
    let mut start = 0;
    for (index, window) in chars.windows(2).enumerate() {
        let ((_, before), (at, here)) = (window[0], window[1]);
        let next_is_lower = chars.get(index + 2).is_some_and(|(_, next)| next.is_lowercase());
        let up = here.is_uppercase() && (before.is_lowercase() || before.is_uppercase() && next_is_lower);
        if up || before.is_ascii_digit() != here.is_ascii_digit() {
            humps.push(&piece[start..at]);
            start = at;
        }
    }
    humps.push(&piece[start..]);
    humps
}

/// Folds width and form, and removes accents. Marks that carry the vowel or tone of a script stay.
pub(crate) fn fold_marks(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    text.nfkd().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).nfc().collect()
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || (!c.is_ascii() && is_combining_mark(c))
}

/// Tells whether a script does not separate words by spaces, or builds words from syllables as Korean does.
pub(crate) fn is_spaceless(c: char) -> bool {
    matches!(c,
        '\u{0e01}'..='\u{0e5b}'       // Thai
        | '\u{0e81}'..='\u{0edf}'     // Lao
        | '\u{1000}'..='\u{109f}'     // Burmese
        | '\u{1780}'..='\u{17dd}'     // Khmer
        | '\u{3005}'..='\u{3007}'     // iteration marks
        | '\u{3041}'..='\u{30ff}'     // Hiragana, Katakana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{ac00}'..='\u{d7a3}'     // Hangul
        | '\u{20000}'..='\u{323af}'   // rarer Han
    ) && is_word(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(words(text, Language::default()).join(" "), expected, "{text}");
    }

    #[test]
    fn prose_is_folded_and_stemmed() {
        check("The users' dogs were RUNNING.", "the user dog were run");
        check("Café Zürich naïve", "cafe zurich naiv");
        check("ＦＵＬＬ width", "full width");
        check("a I 1 ! ?", "");
    }

    #[test]
    fn identifiers_give_parts_and_the_whole() {
        check("getUserName", "get user name getusernam");
        check("user_name", "user name usernam");
        check("src/auth/login.rs", "src auth login rs srcauthloginr");
        check("E1234", "1234 e1234");
        check("HTTPServer", "http server httpserver");
        check("C++ and F#", "cplusplus and fsharp");
        check("e-mail", "mail email");
        check("done. Next", "done next");
        check("see http://a.bc/x", "see http bc abcx");
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        check("東京都", "東京 京都 都");
        check("我喜欢rust语言", "我喜 喜欢 欢 rust 语言 言");
        check("日", "日");
        check("서울에서", "서울 울에 에서 서");
        check("हिन्दी भाषा", "हिन्दी भाषा");
    }

    #[test]
    fn common_words_are_known_by_their_stems() {
        let english = Language::default();
        let is_common = |word: &str| english.is_common(word);
        assert!(is_common("the") && is_common("a") && is_common("your") && !is_common("typescript"));
        assert!(words("why any does because before", english).iter().all(|word| is_common(word)));
    }

    #[test]
    fn folding_ignores_case_space_and_signs() {
        assert_eq!(fold("User  prefers TABS!"), fold("user prefers tabs"));
        assert_ne!(fold("👍"), fold("👎"));
        assert_ne!(fold("tabs"), fold("spaces"));
    }

    #[test]
    fn words_of_one_stem_are_one_word_in_their_language() {
        for (language, one, other) in [
            ("english", "connected", "connections"),
            ("german", "Häuser", "Häusern"),
            ("french", "continuellement", "continuelle"),
            ("spanish", "comunicaciones", "comunicación"),
            ("russian", "книгами", "книга"),
            ("swedish", "flickorna", "flickor"),
        ] {
            let [left, right] = [one, other].map(|word| words(word, Language::named(language).unwrap()));
            assert_eq!(left.last(), right.last(), "{language}");
        }
        let none = Language::named("none").unwrap();
        assert_eq!(words("Dogs CONNECTED café", none), ["dogs", "connected", "cafe"]);
        // A word with an accent is found by a query without one.
        let spanish = Language::named("spanish").unwrap();
        assert_eq!(words("comunicación", spanish), ["comunicacion", "comun"]);
        assert_eq!(words("comunicacion", spanish), ["comunicacion"]);
        assert!(!none.is_common("the"), "no language is known, so no word is known to be common");
        assert!(Language::named("klingon").is_none());
    }
}
