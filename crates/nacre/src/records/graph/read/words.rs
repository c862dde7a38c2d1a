//! Splits sentences into words, and finds names among them.
//!
//! A name is a run of one to five capitalised words, a code span, or a word that looks like a host name. This
//! is deliberately narrow: a sentence that is not understood yields nothing, but a misunderstood one is
//! recalled for ever.

/// The maximum number of words of a sentence that is read.
const MAX_SENTENCE_WORDS: usize = 48;

/// One word of a sentence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Word<'a> {
    /// Without the punctuation around it.
    pub(super) text: &'a str,
    /// The punctuation right after it, or `\0`: a clause may end there.
    pub(super) stop: char,
    /// A bracket or a quotation opens before it.
    pub(super) open: bool,
    /// It was between backticks.
    pub(super) code: bool,
}

/// The words of one sentence.
pub(super) struct Words<'a> {
    words: [Word<'a>; MAX_SENTENCE_WORDS],
    count: usize,
}

impl<'a> Words<'a> {
    /// Splits a sentence; `None` if it is too long to be simple.
    pub(super) fn of(sentence: &'a str) -> Option<Words<'a>> {
        let mut words = Words { words: [Word::default(); MAX_SENTENCE_WORDS], count: 0 };
        let mut rest = sentence.trim_start();
        while !rest.is_empty() {
            let (word, after) = first_word(rest);
            if words.count == MAX_SENTENCE_WORDS {
                return None;
            }
            words.push(word);
            rest = after.trim_start();
        }
        Some(words)
    }

    /// Splits the beginning of a sentence, as much as a pattern looks at.
    pub(super) fn beginning(sentence: &'a str) -> Words<'a> {
        const MAX_BEGINNING_WORDS: usize = 20;
        let mut words = Words { words: [Word::default(); MAX_SENTENCE_WORDS], count: 0 };
        let mut rest = sentence.trim_start();
        while !rest.is_empty() && words.count < MAX_BEGINNING_WORDS {
            let (word, after) = first_word(rest);
            words.push(word);
            rest = after.trim_start();
        }
        words
    }

    fn push(&mut self, word: Word<'a>) {
        if !word.text.is_empty() {
            self.words[self.count] = word;
            self.count += 1;
        } else if let Some(last) = self.count.checked_sub(1) {
            // A lone dash or bracket: its effect on the clause belongs to the word before.
            self.words[last].stop = '-';
        }
    }

    /// Marks known words as names wherever they occur, as if they were code. A capitalised word already is a
    /// name, and may be a person's or continue.
    pub(super) fn know(&mut self, is_known: impl Fn(&str) -> bool) {
        let unseen = |word: &&mut Word<'_>| !is_capital(word.text) && is_known(word.text);
        for word in self.words[..self.count].iter_mut().filter(unseen) {
            word.code = true;
        }
    }

    /// Marks a word as a name if an apposition calls it a thing: `keystone, the server in the cellar`.
    pub(super) fn mark_apposed(&mut self, is_thing: impl Fn(&str) -> bool) {
        for at in 1..self.count.saturating_sub(2) {
            let [word, article, noun] = [self.words[at], self.words[at + 1], self.words[at + 2]];
            if word.stop == ',' && article.text == "the" && word.text.len() > 2 && is_thing(noun.text) {
                self.words[at].code |= word.text.bytes().all(|byte| byte.is_ascii_lowercase());
            }
        }
    }

    pub(super) fn all(&self) -> &[Word<'a>] {
        &self.words[..self.count]
    }
}

fn first_word(text: &str) -> (Word<'_>, &str) {
    let lead = text.trim_start_matches(['(', '"', '“', '‘', '\'', '[', '*']);
    let open = lead.len() < text.len();
    if let Some(inside) = lead.strip_prefix('`')
        && let Some(end) = inside.find('`')
    {
        let after = &inside[end + 1..];
        let tail = after.find(char::is_whitespace).unwrap_or(after.len());
        let mut stop = after[..tail].chars().find(|c| !matches!(c, '"' | '”' | '*')).unwrap_or('\0');
        // `keystone`'s and such are not read.
        if stop.is_alphanumeric() {
            stop = '-';
        }
        return (Word { text: &inside[..end], stop, open, code: true }, &after[tail..]);
    }
    let end = lead.find(char::is_whitespace).unwrap_or(lead.len());
    let (raw, after) = lead.split_at(end);
    let core =
        raw.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#' | '%' | '€' | '$'));
    let stop = raw[core.len()..].chars().find(|c| !matches!(c, '"' | '”' | '*')).unwrap_or('\0');
    (Word { text: core, stop, open, code: false }, after)
}

/// Tells whether a word can be a name or a part of one.
fn is_name(word: &Word<'_>) -> bool {
    if word.code {
        return is_code_name(word.text);
    }
    let first = word.text.bytes().next().unwrap_or(0);
    if first.is_ascii_lowercase() { is_brand(word.text) || is_host(word.text) } else { is_capital(word.text) }
}

/// Tells whether a word is capitalised like a name: `Anna`, `O'Brien`, `IBM`, `Next.js`, `C++`.
pub(super) fn is_capital(text: &str) -> bool {
    let text = bare(text);
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first.is_uppercase() || first.is_alphabetic() && !first.is_lowercase())
        && text.len() > 1
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '-' | '.' | '\'' | '’' | '&' | '+' | '#'))
        && !matches!(text, "I'm" | "I’m" | "I'd" | "I’d" | "I've" | "I’ve" | "I'll" | "I’ll")
}

/// `iPhone`, `macOS`.
fn is_brand(text: &str) -> bool {
    text.len() > 2
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && text.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
}

/// Tells whether a word looks like a host: `nas-01`, `web1`, `db.internal`. Measures and versions (`v2`,
/// `16gb`) do not.
fn is_host(text: &str) -> bool {
    let shape = text
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.'));
    if !shape || text.len() < 3 {
        return false;
    }
    let digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let version = text.starts_with('v') && text[1..].starts_with(|c: char| c.is_ascii_digit());
    let suffix = text.rsplit_once('.').is_some_and(|(_, last)| HOST_ENDINGS.contains(&last));
    let letters = text.bytes().take_while(u8::is_ascii_lowercase).count();
    suffix || digit && !version && letters >= 2
}

const HOST_ENDINGS: &[&str] = &["com", "dev", "home", "internal", "io", "lan", "local", "net", "org"];

/// Tells whether a word with a hyphen may be the name of a host or a service; many ordinary words look the
/// same.
fn is_hyphenated(text: &str) -> bool {
    text.contains('-')
        && text.len() > 4
        && !text.starts_with('-')
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn is_code_name(text: &str) -> bool {
    (2..=60).contains(&text.len())
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !text.starts_with(['-', '/', '.', '~', '$'])
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | '@' | '/'))
        && text.split(' ').count() <= 3
}

/// Returns a word without its possessive ending.
pub(super) fn bare(text: &str) -> &str {
    text.strip_suffix("'s").or_else(|| text.strip_suffix("’s")).unwrap_or(text)
}

/// Tells whether a word ends in a possessive.
pub(super) fn is_possessive(text: &str) -> bool {
    text.ends_with("'s") || text.ends_with("’s")
}

/// A name at the start of some words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) text: String,
    /// How many words it has.
    pub(super) words: usize,
    /// Its last word is a possessive; `text` is without the ending.
    pub(super) possessive: bool,
    /// It can only be a thing: a code span, a host, a word with digits.
    pub(super) thing: bool,
}

/// Reads the name at the start of some words: one to `most` of them.
pub(super) fn name(words: &[Word<'_>], most: usize, hyphenated: bool) -> Option<Name> {
    let first = words.first()?;
    if !(is_name(first) || hyphenated && is_hyphenated(first.text)) || is_url(first.text) {
        return None;
    }
    let single = first.code || !is_capital(first.text) && !is_brand(first.text);
    let mut count = 1;
    while !single && count < most {
        let last = &words[count - 1];
        if last.stop != '\0' || is_possessive(last.text) {
            break;
        }
        let Some(next) = words.get(count).filter(|next| !next.open && !next.code) else { break };
        let version = next.text.starts_with(|c: char| c.is_ascii_digit())
            && next.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        if is_capital(next.text) || version {
            count += 1;
        } else if matches!(next.text, "of" | "de" | "van" | "von" | "der" | "du" | "la" | "&")
            && words.get(count + 1).is_some_and(|after| is_capital(after.text) && next.stop == '\0')
            && count + 2 <= most
        {
            count += 2;
        } else {
            break;
        }
    }
    let last = words[count - 1].text;
    let possessive = !words[count - 1].code && is_possessive(last);
    let mut text = String::with_capacity(32);
    for (at, word) in words[..count].iter().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        text.push_str(if at + 1 == count && possessive { bare(word.text) } else { word.text });
    }
    let thing = first.code || !is_capital(first.text) || text.bytes().any(|byte| byte.is_ascii_digit());
    Some(Name { text, words: count, possessive, thing })
}

/// Returns the text if it is a name and nothing else.
pub(super) fn whole_name(text: &str) -> Option<String> {
    let first = text.chars().next()?;
    let spaces = text.bytes().filter(|byte| *byte == b' ').count();
    // Only a one-word name may start in lower case.
    if spaces > 5 || first.is_lowercase() && spaces > 0 {
        return None;
    }
    let words = Words::of(text)?;
    let words = words.all();
    let name = name(words, 5, true)?;
    let ends = matches!(words[name.words - 1].stop, '\0' | '.');
    (name.words == words.len() && ends && !name.possessive && !words[0].open).then_some(name.text)
}

/// Returns the name at the start of a text that goes on: `Josie Berg, with help`, `to Josie Berg first`.
pub(super) fn first_name(text: &str) -> Option<String> {
    let words = Words::beginning(text.strip_prefix("to ").unwrap_or(text));
    let words = words.all();
    // One word may be anything: `Sundays, after ten`.
    let name = name(words, 4, false).filter(|name| name.words > 1 && !name.possessive)?;
    let next = words.get(name.words)?;
    let ends = matches!(words[name.words - 1].stop, ',' | ';') || next.open || next.text == "first";
    (ends && !words[0].open).then_some(name.text)
}

pub(super) fn is_url(text: &str) -> bool {
    text.contains("://") || text.starts_with("www.") || text.contains('@')
}

/// Splits a text into sentences, each with its start and whether it is a question.
pub(super) fn sentences(text: &str, mut each: impl FnMut(usize, &str, bool)) {
    let bytes = text.as_bytes();
    let mut start = 0;
    let mut code = false;
    let mut at = 0;
    while let Some(mark) = next_mark(bytes, at) {
        let byte = bytes[mark];
        at = mark + 1;
        if byte == b'`' {
            code = !code;
            continue;
        }
        let after = bytes.get(at).copied().unwrap_or(b' ');
        let ends = byte == b'\n'
            || !code
                && matches!(after, b' ' | b'\n' | b'\t' | b'"' | b')')
                && !(byte == b'.' && is_abbreviation(&bytes[start..mark], bytes.get(mark + 2)));
        if ends {
            each(start, &text[start..mark], byte == b'?');
            start = at;
            code = false;
        }
    }
    each(start, &text[start..], false);
}

/// Finds a character that may end a sentence, or a backtick. Checks 32 bytes at a time.
fn next_mark(bytes: &[u8], from: usize) -> Option<usize> {
    const BLOCK_BYTES: usize = 32;
    let is_mark = |byte: u8| {
        (byte == b'.') | (byte == b'!') | (byte == b'?') | (byte == b';') | (byte == b'\n') | (byte == b'`')
    };
    let mut at = from;
    while let Some(window) = bytes[at..].first_chunk::<BLOCK_BYTES>() {
        if window.iter().fold(false, |any, byte| any | is_mark(*byte)) {
            break;
        }
        at += BLOCK_BYTES;
    }
    bytes[at..].iter().position(|byte| is_mark(*byte)).map(|n| at + n)
}

/// Tells whether a dot belongs to the word before it: an initial, a title, or a sentence that continues in
/// lower case.
fn is_abbreviation(before: &[u8], next: Option<&u8>) -> bool {
    let from = before.iter().rposition(|byte| *byte == b' ' || *byte == b'(').map_or(0, |at| at + 1);
    let word = &before[from..];
    matches!(word, [last] | [.., b'.', last] if last.is_ascii_uppercase())
        || matches!(
            word,
            b"Dr"
                | b"Mr"
                | b"Mrs"
                | b"Ms"
                | b"St"
                | b"Prof"
                | b"e.g"
                | b"i.e"
                | b"etc"
                | b"vs"
                | b"approx"
                | b"a.k.a"
        )
        || next.is_some_and(u8::is_ascii_lowercase) && word.len() < 5
}
