//! The last run of each client's hooks: one small file per client in `hooks` of the home. A hook replaces the file after it
//! has answered; `nacre doctor` reads it. The memory itself is not touched.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The folder in the home.
const FOLDER: &str = "hooks";

/// One run of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRun {
    /// The event, by Nacre's own name.
    pub event: String,
    pub at: nacre::Time,
    /// Why it answered with nothing, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl LastRun {
    /// Returns the last run of a client's hooks; `None`: none is on record.
    pub fn read(home: &Path, client: &str) -> Option<LastRun> {
        serde_json::from_slice(&fs::read(file(home, client)).ok()?).ok()
    }

    /// Puts a run on record. A home that does not exist is not created.
    pub fn write(&self, home: &Path, client: &str) -> io::Result<()> {
        if !home.is_dir() {
            return Ok(());
        }
        nacre::files::create_folder(&home.join(FOLDER)).map_err(io::Error::other)?;
        // Renamed into place, so that hooks that run at the same time leave one whole file. It is not flushed to disk: after
        // a loss of power the next hook writes another.
        let mut aside = tempfile::NamedTempFile::new_in(home.join(FOLDER))?;
        aside.write_all(&serde_json::to_vec(self)?)?;
        aside.persist(file(home, client))?;
        Ok(())
    }
}

fn file(home: &Path, client: &str) -> PathBuf {
    home.join(FOLDER).join(format!("{client}.json"))
}
