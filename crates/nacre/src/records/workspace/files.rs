//! Lists the files of the workspace, and reads the text of a file as a session can see it.

use serde::Serialize;

use super::FilePath;
use crate::base::Time;
use crate::base::caller::Visibility;
use crate::base::text::lossy;
use crate::group::Group;
use crate::store::Files;

/// A file of the workspace.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "named after what they are")]
pub struct WorkspaceFile {
    pub path: String,
    pub size: i64,
    pub modified: Time,
    /// Whether it is hidden from shared sessions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
}

/// Returns the documents of a group, by path.
pub(crate) fn list(files: &Files) -> Vec<WorkspaceFile> {
    let listed = files.documents().seen.into_iter().map(|seen| WorkspaceFile {
        path: seen.path,
        size: seen.stat.size,
        modified: Time::from_millis(seen.stat.mtime),
        private: false,
    });
    listed.collect()
}

/// Reads the text of a file. It is empty if the file does not exist or the session can't see it.
pub(crate) fn text(group: &Group, visibility: Visibility, path: &str, most: u64) -> String {
    let Ok(path) = path.parse::<FilePath>() else { return String::new() };
    let bytes = group.files().read(&path, most).ok().flatten().unwrap_or_default();
    let seen = visibility.sees_file(&group.settings().visibility.private, path.as_str(), &bytes);
    if seen { lossy(&bytes) } else { String::new() }
}
