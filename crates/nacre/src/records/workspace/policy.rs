//! The write policy: the one place that decides whether a write is applied, waits for a person, or is
//! refused.

use serde_json::Value;

use super::FilePath;
use crate::base::Settings;
use crate::base::caller::folded;
use crate::base::caller::{Actor, Caller};
use crate::base::member::{MemberRole, Rights};
use crate::base::settings::Policy;
use crate::base::{Error, Result};

/// The target of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target<'a> {
    /// Entries and the graph. `guarded`: whether an untrusted session changes how agents behave, or what others wrote.
    Entries { guarded: bool },
    /// Today's log.
    Log,
    /// A file of the workspace.
    File(&'a FilePath),
}

/// The decision about a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The write is applied.
    Apply,
    /// The write waits for a person.
    Propose,
}

/// Decides about a write. A person's own write is always applied, unless others in the team review it. A denied
/// write is an error that names the setting.
pub(crate) fn decide(
    target: Target<'_>,
    caller: &Caller,
    rights: &Rights,
    settings: &Settings,
) -> Result<Decision> {
    rights.need(MemberRole::Writer)?;
    let is_person = caller.actor == Actor::Person;
    if is_person && rights.may(MemberRole::Reviewer) {
        return Ok(Decision::Apply);
    }
    let write = &settings.write;
    let (policy, setting) = match target {
        Target::Entries { .. } => (write.entries, "write.entries"),
        Target::Log => (write.log, "write.log"),
        Target::File(path) if is_memory(path) => (write.memory, "write.memory"),
        Target::File(path) if path.is_in_memories() => (write.memories, "write.memories"),
        Target::File(_) => (write.files, "write.files"),
    };
    // Sessions start with the log and the files, and their lines do not say who wrote them.
    let is_guarded = caller.untrusted && target != Target::Entries { guarded: false };
    let (policy, setting) = match is_guarded && write.untrusted > policy {
        true => (write.untrusted, "write.untrusted"),
        false => (policy, setting),
    };
    match policy {
        Policy::Open => Ok(Decision::Apply),
        Policy::Approve => Ok(Decision::Propose),
        // It is denied to agents. A reviewer decides about the write of a person.
        Policy::Deny if is_person => Ok(Decision::Propose),
        Policy::Deny => Err(Error::WriteDenied { what: target.to_string(), setting }),
    }
}

/// Returns whether a file belongs to the memory, rather than to the agent's identity and rules. Ignores case,
/// because some file systems do.
fn is_memory(path: &FilePath) -> bool {
    let path = folded(path.as_str());
    matches!(path.as_str(), "memory.md" | "memory/core.md" | "memory/active-context.md")
        || path.starts_with("memory/topics/")
}

impl std::fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Entries { guarded: false } => f.write_str("memories"),
            Target::Entries { guarded: true } => f.write_str("rules or memories that someone else wrote"),
            Target::Log => f.write_str("the daily log"),
            Target::File(path) => write!(f, "`{path}`"),
        }
    }
}

/// Describes a call for the person who decides about it.
pub(crate) fn describe_call(tool: &str, arguments: &Value) -> String {
    let fields = arguments.as_object().into_iter().flatten();
    let said = fields.map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    });
    format!("{tool}\n{}\n", said.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Time;
    use crate::base::ids::SessionId;
    use crate::tools::settings::Layer;

    #[test]
    fn every_target_has_its_policy() {
        let agent = Caller::agent("s".parse::<SessionId>().unwrap(), Time::from_millis(0));
        let untrusted = Caller { untrusted: true, ..agent.clone() };
        let person = Caller { actor: Actor::Person, ..agent.clone() };
        let files = [
            "MEMORY.md",
            "memory/topics/a.md",
            "memory/Core.md",
            "SOUL.md",
            "memory/2026-01-15.md",
            "notes/MEMORY.md",
        ]
        .map(|path| path.parse::<FilePath>().unwrap());
        let (plain, behavioral) = (Target::Entries { guarded: false }, Target::Entries { guarded: true });
        let check = |pairs: &[&str], caller: &Caller, target: Target<'_>, expected: &str| {
            let layers: Vec<Layer> =
                pairs.iter().map(|pair| Layer::from_pair("test", pair).unwrap()).collect();
            let settings = Settings::from_layers(None, &layers).unwrap();
            let rights = Rights::all(&"main".parse().unwrap());
            let decided = match decide(target, caller, &rights, &settings) {
                Ok(decision) => format!("{decision:?}"),
                Err(error) => error.to_string(),
            };
            assert_eq!(decided, expected, "{pairs:?} {target:?}");
        };
        check(&[], &untrusted, plain, "Apply");
        check(&[], &agent, Target::Log, "Apply");
        check(&[], &untrusted, Target::Log, "Propose");
        check(&["write.untrusted=open"], &untrusted, Target::Log, "Apply");
        check(&[], &agent, behavioral, "Apply");
        check(&[], &untrusted, behavioral, "Propose");
        check(&["write.untrusted=open", "write.entries=approve"], &untrusted, behavioral, "Propose");
        let denied = "an agent may not write memories: `write.entries` is \"deny\"";
        check(&["write.entries=deny"], &untrusted, plain, denied);
        for (place, file) in files.iter().enumerate() {
            let file = Target::File(file);
            check(&[], &agent, file, "Propose");
            check(&["write.memory=deny", "write.files=deny", "write.log=deny"], &person, file, "Apply");
            check(&["write.memory=open"], &agent, file, if place < 3 { "Apply" } else { "Propose" });
        }
    }
}
