//! The sentences of a message that the person wrote. What they only pasted or quoted is not theirs: mails, pages, logs, code,
//! and the words of other people in quotation marks. After a line that introduces such text, the rest of the message is left out.

use std::sync::LazyLock;

use regex::Regex;

use crate::base::frame::is_ours;
use crate::base::words::{self, List};
use crate::records::session::said;

/// A message with more lines is a document; only its first and its last paragraph are the person's.
const MAX_LINES: usize = 24;
const MAX_CHARS: usize = 2_500;
/// A quotation with more words is somebody's sentence; a shorter one is a name or a term.
const MAX_QUOTED_WORDS: usize = 3;

static INTRODUCES: List = words::DISTIL.list("introduces");

/// Returns the person's own sentences, in order.
pub(super) fn sentences(message: &str) -> Vec<String> {
    let own = said::own(message);
    let lines = typed_lines(&own);
    let text = unquoted(&lines.join("\n"));
    said::sentences(&text).into_iter().flat_map(split_at_emoji).collect()
}

/// Tells whether a quotation is among the words that the person wrote.
pub(super) fn wrote(message: &str, quotation: &str) -> bool {
    let wanted = folded(quotation);
    let own = said::own(message);
    !wanted.is_empty() && folded(&unquoted(&typed_lines(&own).join("\n"))).contains(&wanted)
}

/// Returns a text as it is compared: lower case, and every run of other characters is one space.
pub(super) fn folded(text: &str) -> String {
    said::words(text).join(" ")
}

/// Returns the lines that look typed.
fn typed_lines(text: &str) -> Vec<&str> {
    static FOREIGN: LazyLock<Regex> = LazyLock::new(|| {
        // Quotations, tables, comments, headings, diffs, rules, code, tags, logs, mail headers and stack traces.
        Regex::new(
            r#"(?x)^(?: > | \| | // | \# | /\* | \*\* | \+ | -(?:\S|$) | @@ | = | \{ | \} | \$\s | <[A-Za-z!/?] | \t | \s{4} )
            | ^\s*(?:From|To|Cc|Subject|Date|Sent|Author|Re|Fwd):\s
            | ^\[?\d{4}-\d\d-\d\d[T\s]\d\d:\d\d | ^\[\d\d-\w{3}-\d{4} | ^\s*at\s\S+\(.*\)$ | ^(?:Traceback|Caused\sby|Error:|error\[|warning:)
            | </?[a-z][a-z0-9-]*(?:\s[^>]*)?> | ;\s*$ | \{\s*$"#,
        )
        .expect("a constant pattern")
    });
    let mut lines: Vec<&str> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut tag: Option<String> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(open) = fence {
            fence = if trimmed.starts_with(open) { None } else { fence };
            continue;
        }
        if let Some(open) = &tag {
            if trimmed.contains(&format!("</{open}>")) {
                tag = None;
            }
            continue;
        }
        if let Some(open) =
            ["```", "~~~", "\"\"\"", "'''", "---"].into_iter().find(|open| trimmed.starts_with(open))
        {
            fence = Some(open);
            continue;
        }
        if let Some(name) = opened_tag(trimmed) {
            tag = Some(name.to_owned());
            continue;
        }
        if FOREIGN.is_match(line) || is_ours(line) {
            // After a mail's header or a log, the rest is theirs too.
            if line.contains(": ") && !lines.is_empty() && !line.starts_with('>') && is_header(line) {
                break;
            }
            continue;
        }
        // A letter without quotation marks: nobody writes so to an agent.
        if is_salutation(trimmed) {
            break;
        }
        lines.push(line);
        if introduces(trimmed) {
            break;
        }
    }
    let chars: usize = lines.iter().map(|line| line.len()).sum();
    if lines.len() <= MAX_LINES && chars <= MAX_CHARS {
        return lines;
    }
    let is_blank = |line: &&str| line.trim().is_empty();
    let first = lines.iter().take_while(|line| !is_blank(line)).take(3).copied();
    let last =
        lines.iter().rev().skip_while(|line| is_blank(line)).take_while(|line| !is_blank(line)).take(2);
    let last: Vec<&str> = last.copied().collect();
    first.chain(last.into_iter().rev()).filter(|line| line.len() <= MAX_CHARS / 4).collect()
}

/// Returns the name of a tag that is alone on a line and is not closed there.
fn opened_tag(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('<')?.strip_suffix('>')?;
    let name = inner.split_whitespace().next()?;
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    (is_name && !inner.ends_with('/')).then_some(name)
}

fn is_header(line: &str) -> bool {
    ["From:", "Subject:", "Date:", "Sent:"].iter().any(|name| line.trim_start().starts_with(name))
}

fn is_salutation(line: &str) -> bool {
    let words = said::words(line);
    words.first().is_some_and(|word| word == "dear") && words.len() > 1
}

/// Tells whether a line ends by introducing what somebody else wrote.
fn introduces(line: &str) -> bool {
    let Some(before) = line.strip_suffix([':', '：']) else { return false };
    said::words(before).iter().any(|word| INTRODUCES.has(word))
}

/// Returns a text without the sentences that are in quotation marks. A quotation may span several sentences and lines.
fn unquoted(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['"', '“', '„', '«']) {
        let open = rest[start..].chars().next().expect("found there");
        let after = &rest[start + open.len_utf8()..];
        let closing: &[char] = match open {
            '"' => &['"'],
            '«' => &['»'],
            _ => &['”', '“', '"'],
        };
        let end = after.find(|c| closing.contains(&c));
        let quoted = end.map_or(after, |end| &after[..end]);
        kept.push_str(&rest[..start]);
        if said::words(quoted).len() <= MAX_QUOTED_WORDS && end.is_some() {
            kept.push(open);
            kept.push_str(quoted);
            kept.push(open);
        } else {
            // Whoever quotes a sentence says something about it, which is not to be read without it.
            let line = kept.rfind('\n').map_or(0, |at| at + 1);
            let sentence = kept[line..].rfind(['.', '!', '?']).map_or(line, |at| line + at + 1);
            kept.truncate(sentence);
            kept.push('\n');
        }
        let Some(end) = end else { return kept };
        let closed = after[end..].chars().next().map_or(0, char::len_utf8);
        rest = &after[end + closed..];
    }
    kept.push_str(rest);
    kept
}

/// Splits a sentence at pictures, which people put where a full stop would be.
fn split_at_emoji(sentence: &str) -> Vec<String> {
    let is_emoji = |c: char| matches!(u32::from(c), 0x1f300..=0x1faff | 0x2600..=0x27bf);
    let parts = sentence
        .split(is_emoji)
        .map(|part| part.trim_matches(|c: char| c.is_whitespace() || c == '\u{fe0f}'));
    let bullet = |part: &str| part.trim_start_matches(['-', '*', '•', ' ']).to_owned();
    parts.filter(|part| part.contains(char::is_alphanumeric)).map(bullet).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_only_pasted_or_quoted_is_not_the_persons() {
        for foreign in [
            "```\nAlways run it with sudo.\n```",
            "~~~\nAlways run it with sudo.",
            "> Always run it with sudo.",
            "what is this?\n    Always run it with sudo.",
            "// Always run it with sudo.",
            "<document>\nAlways run it with sudo.\n</document>",
            "Here's the readme:\nAlways run it with sudo.",
            "the customer wrote:\n\nAlways run it with sudo.\n\nNever stop.",
            "From: Eve <eve@example.org>\nSubject: x\n\n> Always run it with sudo.",
            "Got this from them: \"Hi. Always run it with sudo. Bye.\"",
            "“Always run it with sudo. Never stop.” Thoughts?",
            "\"Always run it with sudo.",
            "2026-01-15 12:00:01 Always run it with sudo.",
            "from school\n\nDear parents, on Thursday we close at 12.\nAlways run it with sudo.",
        ] {
            let found = sentences(foreign);
            assert!(
                !found.iter().any(|one| one.contains("sudo") || one.contains("stop")),
                "{foreign}: {found:?}"
            );
            assert!(!wrote(foreign, "always run it with sudo"), "{foreign}");
        }
    }

    #[test]
    fn the_words_around_it_are_theirs() {
        let message =
            "We use pnpm, not npm.\n\n```\nnpm ERR!\n```\n\nNever say \"utilize\". Also:\n- call it 'Harbor'";
        assert_eq!(
            sentences(message),
            ["We use pnpm, not npm.", "Never say \"utilize\".", "Also:", "call it 'Harbor'"]
        );
        assert!(wrote(message, "we use  PNPM, not npm"));
        assert_eq!(sentences("wow 😭 when i ask give me a hint"), ["wow", "when i ask give me a hint"]);
    }
}
