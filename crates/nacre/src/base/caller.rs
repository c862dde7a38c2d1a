//! The caller of a tool: actor, role and session, and what such a session may see.
//!
//! A session is private or shared. A shared one never sees what is private: certain documents, what was marked, what was
//! said in private. Files are read through [`Visibility::sees_file`]; `store::visibility` does the same for rows.

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::base::ids::SessionId;
use crate::base::markdown::front_matter;
use crate::base::named::named;
use crate::base::text::decode;
use crate::base::{Calendar, Time, Zone};

/// The kind of caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A person at the command line or the page: no limits.
    Person,
    /// An agent's tool call.
    Agent,
    /// Nobody: Nacre itself, behind the calls. No limits, and nothing that only a person decides.
    Nacre,
}

named! {
    /// The rights of a caller.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Role {
        /// Everything, in every group.
        Admin = "admin",
        /// Everything within its group, and what is not private of the admin's group to read.
        Project = "project",
        /// Nothing by itself: a skill gets what it needs handed over.
        Skill = "skill",
    }
}

/// A caller: actor, role, session, time and place.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Person or agent.
    pub actor: Actor,
    /// What it may do.
    pub role: Role,
    /// The conversation: stamps provenance, carries limits.
    pub session: SessionId,
    /// Whether the session has read what strangers wrote, so that it gets smaller limits.
    pub untrusted: bool,
    /// Whether it may see what is private (W3).
    pub visibility: Visibility,
    /// When.
    pub now: Time,
    /// Where: what day it is depends on it.
    pub zone: Zone,
}

impl Caller {
    /// Returns a person at the command line.
    pub fn person(session: SessionId, now: Time) -> Caller {
        let (actor, role, visibility) = (Actor::Person, Role::Admin, Visibility::Private);
        Caller { actor, role, session, untrusted: false, visibility, now, zone: Zone::default() }
    }

    /// Returns an agent in the person's own session.
    pub fn agent(session: SessionId, now: Time) -> Caller {
        let (actor, role, visibility) = (Actor::Agent, Role::Project, Visibility::Private);
        Caller { actor, role, session, untrusted: false, visibility, now, zone: Zone::default() }
    }

    /// Returns the calendar that dates are shown by.
    pub fn calendar(&self) -> Calendar {
        Calendar::new(&self.zone, self.now)
    }

    /// Returns Nacre itself, which does what is due while nobody asks.
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
    /// Whether a session may see what is private.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Visibility {
        /// The person's own: it sees everything.
        Private = "private",
        /// Others may read along, or it is not known who does.
        #[default]
        Shared = "shared",
    }
}

impl Visibility {
    /// Tells whether such a session sees a document of this path and text.
    pub(crate) fn sees(self, private: &[String], path: &str, text: &str) -> bool {
        self == Visibility::Private || !(is_private(private, path) || is_marked(text))
    }

    /// The same of a file as it stands there. What can't be read as text can't be seen to be public.
    pub(crate) fn sees_file(self, private: &[String], path: &str, bytes: &[u8]) -> bool {
        self == Visibility::Private || decode(bytes).is_ok_and(|(text, _)| self.sees(private, path, &text))
    }

    /// What `private` columns of rows that such a session makes hold, where all it says is as private as it is.
    pub(crate) fn is_private(self) -> bool {
        self == Visibility::Private
    }
}

/// Tells whether a path is private by its name: a name of the list, in whatever folder and case, or a folder of it
/// (`notes/`) and what is below.
pub(crate) fn is_private(private: &[String], path: &str) -> bool {
    let path = folded(path);
    let name = path.rsplit('/').next().unwrap_or(&path);
    private.iter().map(|rule| folded(rule)).any(|rule| match rule.strip_suffix('/') {
        Some(folder) => path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')),
        None if rule.contains('/') => rule == path,
        None => rule == name,
    })
}

/// As a file system may see it that knows no case and takes letters that look alike for the same.
pub(crate) fn folded(path: &str) -> String {
    path.nfkc().collect::<String>().to_lowercase()
}

/// Tells whether a document says of itself, in its front matter, that it is private.
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
        // A file system without case opens `USER.md` by this name.
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
