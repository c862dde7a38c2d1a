//! How a client starts Nacre.

/// The name of the server in every client.
pub const SERVER: &str = "nacre";

/// Has the client run this.
pub struct Program {
    /// The running binary.
    pub path: String,
    /// The flags that were given and that every run should have.
    pub flags: Vec<String>,
}

impl Program {
    /// Its arguments, with what it should do behind the flags.
    pub fn arguments(&self, action: &[&str]) -> Vec<String> {
        self.flags.iter().cloned().chain(action.iter().map(|word| (*word).to_owned())).collect()
    }
}
