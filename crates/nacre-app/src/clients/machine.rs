//! The machine on which clients are looked for: its system, the user's home folder, and the environment.

use std::path::PathBuf;

/// Possible places of a file: the system, and a path from `~`, `.` or a variable.
pub type Paths = &'static [(System, &'static str)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    Any,
    Mac,
    Windows,
    Other,
}

/// The facts that decide where settings are.
pub struct Machine {
    pub(super) system: System,
    pub(super) home: PathBuf,
    pub(super) variable: fn(&str) -> Option<PathBuf>,
}

impl Machine {
    /// Returns the current machine, with the user's home folder and a lookup for environment variables that name a folder.
    pub fn this(home: PathBuf, variable: fn(&str) -> Option<PathBuf>) -> Machine {
        let system = match std::env::consts::OS {
            "macos" => System::Mac,
            "windows" => System::Windows,
            _ => System::Other,
        };
        Machine { system, home, variable }
    }

    /// Returns the first existing path among those with the first set variable, or else without one; or else the first path.
    pub(super) fn place(&self, paths: Paths) -> PathBuf {
        let usable: Vec<_> = paths.iter().filter_map(|path| self.path(path)).collect();
        let told = usable[0].0;
        let candidates = || usable.iter().filter(|(variable, _)| *variable == told).map(|(_, path)| path);
        candidates().find(|path| path.exists()).unwrap_or(&usable[0].1).clone()
    }

    /// Returns a path of the table, with the variable it begins with; `None` if it is for another system, or the variable is not set.
    pub(super) fn path(
        &self,
        (system, path): &(System, &'static str),
    ) -> Option<(Option<&'static str>, PathBuf)> {
        if *system != System::Any && *system != self.system {
            return None;
        }
        let mut steps = path.split('/');
        let first = steps.next().unwrap_or_default();
        let (variable, mut found) = match first.strip_prefix('$') {
            Some(name) => (Some(name), (self.variable)(name)?),
            None if first == "." => (None, PathBuf::from(".")),
            None => (None, self.home.clone()),
        };
        found.extend(steps);
        Some((variable, found))
    }

    pub(super) fn has_program(&self, name: &str) -> bool {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| {
            let endings: &[&str] =
                if self.system == System::Windows { &[".exe", ".cmd", ".bat"] } else { &[""] };
            endings.iter().any(|ending| folder.join(format!("{name}{ending}")).is_file())
        })
    }
}
