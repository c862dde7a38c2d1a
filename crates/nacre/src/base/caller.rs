//! The caller of a tool: actor, role, session, and which data that session may see.
//!
//! A session is private or shared. A shared session never sees private data: documents on the private list,
//! documents and rows marked private, and everything said in private sessions. [`Visibility::sees_file`]
//! decides for files; `store::visibility` does the same for rows.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::base::ids::SessionId;
use crate::base::markdown::front_matter;
use crate::base::named::named;
use crate::base::text::decode;
use crate::base::{Calendar, Settings, Time, Zone};

/// The kind of caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A person at the command line or in the dashboard: no limits.
    Person,
    /// An agent's tool call.
    Agent,
    /// Nacre itself, working in the background. It has no limits, and may not decide what only a person
    /// decides.
    Nacre,
}

named! {
    /// The rights of a caller.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Role {
        /// Everything, in every group.
        Admin = "admin",
        /// Everything within its group, and read access to public data in the admin's group.
        Project = "project",
        /// Nothing by itself: a skill only gets the data that is handed to it.
        Skill = "skill",
    }
}

/// A caller: actor, role, session, time and place.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Person or agent.
    pub actor: Actor,
    /// The caller's rights.
    pub role: Role,
    /// The conversation. It is recorded as provenance, and limits apply per session.
    pub session: SessionId,
    /// Whether the session has read text written by strangers. It then gets smaller limits.
    pub untrusted: bool,
    /// The name of the access token; `None`: the caller is on this machine.
    pub token: Option<String>,
    /// The member of a team whose token the caller has; `None`: the home decides who acts.
    pub member: Option<String>,
    /// Whether the session sees private data.
    pub visibility: Visibility,
    /// The time of the call.
    pub now: Time,
    /// The caller's time zone, which decides what day it is.
    pub zone: Zone,
    /// The folder of the project that it works in, if it is known.
    pub project_folder: Option<PathBuf>,
}

impl Caller {
    /// Returns a person at the command line.
    pub fn person(session: SessionId, now: Time) -> Caller {
        Caller {
            actor: Actor::Person,
            role: Role::Admin,
            session,
            untrusted: false,
            token: None,
            member: None,
            visibility: Visibility::Private,
            now,
            zone: Zone::default(),
            project_folder: None,
        }
    }

    /// Returns an agent in the person's own session.
    pub fn agent(session: SessionId, now: Time) -> Caller {
        Caller { actor: Actor::Agent, role: Role::Project, ..Caller::person(session, now) }
    }

    /// Tells whether what this caller writes is private unless it says otherwise: an agent's notes about a private
    /// conversation are as private as the conversation.
    pub(crate) fn writes_privately(&self, settings: &Settings) -> bool {
        settings.visibility.private_writes && self.actor != Actor::Person && self.visibility.is_private()
    }

    /// Returns the calendar that dates are shown by.
    pub fn calendar(&self) -> Calendar {
        Calendar::new(&self.zone, self.now)
    }

    /// Returns Nacre itself, which runs maintenance in the background.
    pub fn nacre(now: Time) -> Caller {
        let session = "nacre".parse().expect("a name of a session");
        Caller { actor: Actor::Nacre, ..Caller::person(session, now) }
    }

    pub(crate) fn actor_name(&self) -> &'static str {
        match self.actor {
            Actor::Person => "person",
            Actor::Agent => "agent",
            Actor::Nacre => "nacre",
        }
    }
}

named! {
    /// Whether a session sees private data.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Visibility {
        /// The person's own session: it sees everything.
        Private = "private",
        /// Other people can see its output, or it is unknown who can.
        #[default]
        Shared = "shared",
    }
}

impl Visibility {
    /// Tells whether such a session sees a document with this path and text.
    pub(crate) fn sees(self, private: &[String], path: &str, text: &str) -> bool {
        self == Visibility::Private || !(is_private(private, path) || is_marked(text))
    }

    /// Does the same for the bytes of a file. A file that can't be decoded as text can't be shown to be
    /// public, so it counts as private.
    pub(crate) fn sees_file(self, private: &[String], path: &str, bytes: &[u8]) -> bool {
        self == Visibility::Private || decode(bytes).is_ok_and(|(text, _)| self.sees(private, path, &text))
    }

    /// Returns the value of the `private` column for rows that such a session creates.
    pub(crate) fn is_private(self) -> bool {
        self == Visibility::Private
    }
}

/// Tells whether a path is private by its name: a name on the list, in any folder and any case, or anything
/// below a folder on the list (`notes/`).
pub(crate) fn is_private(private: &[String], path: &str) -> bool {
    let path = folded(path);
    let name = path.rsplit('/').next().unwrap_or(&path);
    private.iter().map(|rule| folded(rule)).any(|rule| match rule.strip_suffix('/') {
        Some(folder) => path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')),
        None if rule.contains('/') => rule == path,
        None => rule == name,
    })
}

/// Folds a path the way a case-insensitive file system that also normalises Unicode may compare it.
pub(crate) fn folded(path: &str) -> String {
    path.nfkc().collect::<String>().to_lowercase()
}

/// Tells whether a document marks itself private in its front matter.
pub(crate) fn is_marked(text: &str) -> bool {
    let Some(front) = front_matter(text) else { return false };
    front.fields.lines().any(|line| {
        let Some((key, value)) = line.split_once(':') else { return false };
        let value = value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        match key.trim().to_ascii_lowercase().as_str() {
            "private" => matches!(value.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1"),
            "visibility" => value.eq_ignore_ascii_case("private"),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_paths_are_known_in_any_spelling() {
        let rules = ["MEMORY.md", "CORE.md", "journal/", "memory/topics/money.md"].map(String::from);
        for path in [
            "MEMORY.md",
            "memory.MD",
            "memory/CORE.md",
            "a/b/core.md",
            "Journal/x.md",
            "journal/a/b.md",
            "memory/topics/Money.md",
            "ＭEMORY.md",
        ] {
            assert!(is_private(&rules, path), "{path}");
        }
        for path in
            ["MEMORY.md.txt", "my-memory.md", "journals/x.md", "topics/money.md", "notes/journal/x.md", ""]
        {
            assert!(!is_private(&rules, path), "{path}");
        }
        // A case-insensitive file system opens `USER.md` under this name.
        assert!(is_private(&["USER.md".into()], "U\u{17f}ER.md"));
    }

    #[test]
    fn a_document_can_say_that_it_is_private() {
        for text in [
            "---\nprivate: true\n---\nx",
            "\u{feff}---\r\ntitle: a\r\nPrivate: yes # so\r\n---\r\n",
            "---\nvisibility: private\n",
        ] {
            assert!(is_marked(text), "{text}");
        }
        for text in [
            "private: true",
            "---\nprivate: false\n---\n",
            "---\n---\nprivate: true",
            "x\n---\nprivate: true\n---",
            "",
        ] {
            assert!(!is_marked(text), "{text}");
        }
    }
}
