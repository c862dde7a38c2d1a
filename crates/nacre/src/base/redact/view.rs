//! A text as credentials are looked for in it: without invisible characters, full-width letters as ASCII.

use std::borrow::Cow;
use std::ops::Range;

/// The text to search, and where each byte of it is in the original.
pub(super) struct View<'t> {
    pub(super) text: Cow<'t, str>,
    /// The offset in the original of each byte, and the end; empty if the text is unchanged.
    offsets: Vec<usize>,
}

impl<'t> View<'t> {
    pub(super) fn of(text: &'t str) -> View<'t> {
        if text.is_ascii() || !text.chars().any(|c| is_invisible(c) || half_width(c) != c) {
            return View { text: Cow::Borrowed(text), offsets: Vec::new() };
        }
        let mut plain = String::with_capacity(text.len());
        let mut offsets = Vec::with_capacity(text.len() + 1);
        for (offset, c) in text.char_indices().filter(|(_, c)| !is_invisible(*c)) {
            plain.push(half_width(c));
            offsets.resize(plain.len(), offset);
        }
        offsets.push(text.len());
        View { text: Cow::Owned(plain), offsets }
    }

    /// Returns the same range in the original text.
    pub(super) fn original(&self, range: Range<usize>) -> Range<usize> {
        if self.offsets.is_empty() { range } else { self.offsets[range.start]..self.offsets[range.end] }
    }
}

/// Returns the ASCII form of a full-width letter, digit or sign.
fn half_width(c: char) -> char {
    match c {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        c => c,
    }
}

/// Tells whether a character is shown as nothing: soft hyphen, zero-width characters, marks of direction, variation selectors.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{E0000}'..='\u{E007F}'
    )
}
