//! Plain text, without knowing whose it is: when two texts are the same.

use unicode_normalization::UnicodeNormalization;

/// Returns the form in which two texts are compared: they are the same if they are equal after trimming, Unicode NFC,
/// white space and case.
///
/// Signs, digits, punctuation and accents carry meaning: `-5` is not `5`, `C++` is not `C#`, `10.1.12.3` is not
/// `10.11.2.3`.
pub(crate) fn canonical(text: &str) -> String {
    // Case before NFC: lower case may compose to something that upper case does not.
    let lower: String = text.nfc().flat_map(char::to_lowercase).nfc().collect();
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_case_and_normal_form_are_ignored() {
        for (left, right) in [
            ("  The  staging\tserver\n", "the STAGING server"),
            ("Caf\u{e9}", "cafe\u{301}"),
            ("\u{c5}ngstr\u{f6}m", "\u{212b}ngstro\u{308}m"),
        ] {
            assert_eq!(canonical(left), canonical(right));
        }
        for (left, right) in [
            ("-5", "5"),
            ("version 1.5", "version 15"),
            ("IP is 10.1.12.3", "IP is 10.11.2.3"),
            ("C++", "C#"),
            ("x >= 5", "x <= 5"),
            ("rm -rf ./tmp", "rm -rf /tmp"),
            (":-)", ":-("),
            ("* * 1", "* 1 *"),
            ("a.b@x.com", "ab@x.com"),
            ("a\u{f1}o", "ano"),
            ("\u{1f980}", "\u{1f422}"),
            ("It works.", "It works!"),
        ] {
            assert_ne!(canonical(left), canonical(right));
        }
    }
}
