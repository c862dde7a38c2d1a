//! Extracts the text that a person typed from a message: without injected context, text that a program added,
//! pasted code and quotations. Only that text is searched, counted and archived.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::base::frame::{is_ours, strip_injected};
pub(crate) use crate::base::text::sentences;
use crate::records::session::import::typed;

/// The maximum length of a message's prose. Longer text keeps its beginning and its end, where people say
/// what they want; the middle is usually pasted.
const MAX_PROSE_CHARS: usize = 2_000;

/// Returns a text without injected context and without text that a program added.
pub(crate) fn own(text: &str) -> String {
    typed(&strip_injected(text)).trim().to_owned()
}

/// Returns the prose of a message: [`own`] without code, quotations, URLs, the prefix of a chat channel, and
/// lines in the format of our listings.
pub(crate) fn prose(text: &str) -> String {
    // A code fence, inline code, a URL.
    const NOT_PROSE: &str = r"(?ms)^```.*?(?:^```[^\n]*$|\z)|`[^`\n]{40,}`|\b(?:https?|ftp|file)://\S+";
    // A channel prefix such as `[Telegram Mara id:7 2026-01-15 12:00]`.
    const CHANNEL: &str = r"\A\s*\[[^\]\n]{0,160}\d[^\]\n]{0,160}\]";
    // Compiled only for a text that may match: that takes longer than everything else here.
    static WITHOUT_CHANNEL: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(NOT_PROSE).expect("a constant pattern"));
    static WITH_CHANNEL: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(&format!("{NOT_PROSE}|{CHANNEL}")).expect("constant patterns"));
    let own = own(text);
    let left = match () {
        () if own.starts_with('[') => WITH_CHANNEL.replace_all(&own, " "),
        () if own.contains('`') || own.contains("://") => WITHOUT_CHANNEL.replace_all(&own, " "),
        () => Cow::Borrowed(own.as_str()),
    };
    let prose = |line: &&str| !line.is_empty() && !line.starts_with('>') && !is_ours(line);
    let lines = left.lines().map(str::trim).filter(prose);
    cut_middle(&lines.collect::<Vec<_>>().join("\n"))
}

fn cut_middle(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= MAX_PROSE_CHARS {
        return text.to_owned();
    }
    let (head, tail) = (&chars[..MAX_PROSE_CHARS / 2], &chars[chars.len() - MAX_PROSE_CHARS / 2..]);
    head.iter().chain(&['\n']).chain(tail).collect()
}

/// Returns the lower-case words. Apostrophes within a word stay, and both kinds count as the same.
pub(crate) fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace('’', "'");
    let parts = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    parts.map(|word| word.trim_matches('\'')).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns whether the words contain a phrase, as consecutive whole words. `*` matches any one word.
pub(crate) fn says(words: &[String], phrase: &str) -> bool {
    place(words, phrase).is_some()
}

/// Returns the position of a phrase among words.
pub(crate) fn place(words: &[String], phrase: &str) -> Option<usize> {
    let wanted: Vec<&str> = phrase.split(' ').collect();
    words
        .windows(wanted.len())
        .position(|row| row.iter().zip(&wanted).all(|(word, wanted)| *wanted == "*" || word == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_person_typed_is_left() {
        for (text, left) in [
            ("plain words", "plain words"),
            ("<!-- nacre:memory -->\n[MEMORY]\n- x\n<!-- /nacre:memory -->\nwhat now?", "what now?"),
            ("[Telegram Mara id:77 2026-01-15 12:00 UTC] feed the dog", "feed the dog"),
            ("[note] see https://example.org/luna", "[note] see"),
            ("<system-reminder>\nbe kind\n</system-reminder>\nfix it", "fix it"),
            ("why does this fail?\n```rust\nlet luna = dog();\n```", "why does this fail?"),
            ("an open fence\n```\nluna", "an open fence"),
            ("> you said luna\nno", "no"),
            ("see https://example.org/luna now", "see   now"),
            ("run `ls` there", "run `ls` there"),
            ("correct this\n- [fact] a dog (0d ago) [id:9]\nnow", "correct this\nnow"),
        ] {
            assert_eq!(prose(text), left, "{text}");
        }
        assert!(prose(&"word ".repeat(10_000)).chars().count() <= MAX_PROSE_CHARS + 1);
    }
}
