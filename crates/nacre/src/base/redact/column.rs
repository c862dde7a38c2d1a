//! Credentials in a table: a column whose head names a password or a token, in CSV, Markdown or tabs.

use std::ops::Range;

use super::form::{is_placeholder, is_strong};
use super::keyed::{is_known_placeholder, is_name};
use super::token::is_random;

/// The most lines of one table.
const MAX_LINES: usize = 200;

/// Adds the ranges of the credentials in tables.
pub(super) fn find(text: &str, found: &mut Vec<Range<usize>>) {
    let mut lines = lines(text).peekable();
    while let Some((_, head)) = lines.next() {
        let Some(delimiter) = [',', '|', '\t', ';'].into_iter().find(|sign| head.contains(*sign)) else {
            continue;
        };
        // Words in a sentence are no heads: a head is short, and rows with as many cells follow it.
        let cells = head.matches(delimiter).count() + 1;
        let has_rows = lines.peek().is_some_and(|(_, row)| row.matches(delimiter).count() + 1 == cells);
        if !has_rows || head.split(delimiter).any(|cell| cell.trim().len() > 30) {
            continue;
        }
        let is_secret: Vec<bool> = head.split(delimiter).map(|cell| is_name(clean(cell))).collect();
        if !is_secret.contains(&true) {
            continue;
        }
        for _ in 0..MAX_LINES {
            let Some((start, row)) =
                lines.next_if(|(_, row)| row.matches(delimiter).count() + 1 == is_secret.len())
            else {
                break;
            };
            let mut at = start;
            for (cell, is_secret) in row.split(delimiter).zip(&is_secret) {
                let value = clean(cell);
                if *is_secret && looks_secret(value) {
                    let place = at + cell.find(value).unwrap_or_default();
                    found.push(place..place + value.len());
                }
                at += cell.len() + delimiter.len_utf8();
            }
        }
    }
}

/// Returns the lines of a text with their offsets.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |offset, line| {
        let start = *offset;
        *offset += line.len();
        Some((start, line.trim_end_matches(['\n', '\r'])))
    })
}

fn clean(cell: &str) -> &str {
    cell.trim().trim_matches(['"', '\'', '`', '*'])
}

fn looks_secret(value: &str) -> bool {
    let is_long = value.len() >= 6 && !value.contains(char::is_whitespace);
    is_long
        && !is_placeholder(value)
        && !is_known_placeholder(value)
        && (is_strong(value)
            || is_random(value.as_bytes())
            || value.bytes().any(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::super::text;

    #[test]
    fn a_column_of_passwords_is_masked() {
        for (given, expected) in [
            (
                "user,password,role\nselma,mOth.Wing2,editor\nbob,hunter22,admin",
                "user,password,role\nselma,[REDACTED],editor\nbob,[REDACTED],admin",
            ),
            (
                "| user | password |\n| --- | --- |\n| bob | hunter22 |",
                "| user | password |\n| --- | --- |\n| bob | [REDACTED] |",
            ),
            (
                "| name | token |\n| --- | --- |\n| max | optional |",
                "| name | token |\n| --- | --- |\n| max | optional |",
            ),
            (
                "login, password, and so on\nwere all asked, then 2 more, again",
                "login, password, and so on\nwere all asked, then 2 more, again",
            ),
        ] {
            assert_eq!(text(given), expected);
        }
    }
}
