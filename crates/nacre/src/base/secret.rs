//! A key as the library holds it: it can be sent, and can't be shown.

use std::fmt;

use crate::base::redact::MASK;

/// A key or password. Whatever prints it prints a mask; where it comes from is decided at the edge.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes a key, without the white space around it that a file or a shell may have added.
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
