//! A key that can be sent but not displayed.

use std::fmt;

use crate::base::redact::MASK;

/// A key or password. Its `Display` and `Debug` print a mask. The caller decides where the key comes from.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key, without the white space that a file or a shell may have added around it.
    pub fn new(key: &str) -> Secret {
        Secret(key.trim().to_owned())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}
