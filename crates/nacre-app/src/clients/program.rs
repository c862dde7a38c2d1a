//! The command with which a client starts Nacre.

/// The name of the server in every client.
pub const SERVER: &str = "nacre";

/// The program that a client runs.
pub struct Program {
    /// The running binary.
    pub path: String,
    /// The flags that were given to `install`, for every run.
    pub flags: Vec<String>,
}

impl Program {
    /// Returns the arguments: the flags, then the action.
    pub fn arguments(&self, action: &[&str]) -> Vec<String> {
        self.flags.iter().cloned().chain(action.iter().map(|word| (*word).to_owned())).collect()
    }
}
