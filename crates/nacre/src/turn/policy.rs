//! Gating policies (W8): numbered rules of `memory/gating-policies.md`. A turn that matches a trigger gets
//! the rule.
//!
//! The file is a person's and is read anew each time: it is small, and a rule must hold from the moment it is
//! written. A rule is a heading with its number and bullets that say trigger, gate, reason and source; what
//! is not in that form is passed over.

use std::sync::LazyLock;

use regex::Regex;

use super::relevance::About;
use super::{Offer, Turning};
use crate::Result;
use crate::brief::one_line;
use crate::group::Group;
use crate::visibility::Visibility;
use crate::workspace;

pub(super) const FILE: &str = "memory/gating-policies.md";
/// The most bytes of the file that are read.
const MOST: u64 = 64 << 10;
/// How many rules a turn gets at most.
const LINES: usize = 2;

/// One rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policy {
    number: String,
    title: String,
    trigger: String,
    gate: String,
    reason: String,
    source: String,
}

pub(super) fn offer(turning: &mut Turning<'_>) -> Result<Vec<Offer>> {
    let policies = read(turning.group, turning.caller.visibility);
    // A rule stands before what is to be done.
    if policies.is_empty() || !turning.message.says_something() || !turning.message.is_command() {
        return Ok(Vec::new());
    }
    let about = About { behavioral: true, gate: true, ..About::default() };
    let mut offers = Vec::new();
    for policy in policies {
        let texts = [format!("{}: {}", policy.title, policy.trigger), policy.trigger.clone()];
        let weighed = texts.map(|text| turning.message.weigh(&text, about, &mut turning.known));
        let best = weighed.into_iter().max_by(|a, b| a.score.total_cmp(&b.score)).expect("two texts");
        let source = format!("policy:{}", policy.number);
        turning.consider("policies", &source, &policy.trigger, &best);
        if best.score >= turning.least {
            offers.push((
                best.score,
                Offer { text: policy.line(), reason: policy.reason(&best.shared), source },
            ));
        }
    }
    offers.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(offers.into_iter().take(LINES).map(|(_, offer)| offer).collect())
}

impl Policy {
    fn line(&self) -> String {
        let because =
            if self.reason.is_empty() { String::new() } else { format!(" ({})", one_line(&self.reason)) };
        format!(
            "- [{}] {}: {}{because}",
            one_line(&self.number),
            one_line(&self.trigger),
            one_line(&self.gate)
        )
    }

    fn reason(&self, shared: &[String]) -> String {
        let from = if self.source.is_empty() { FILE } else { &self.source };
        match shared.is_empty() {
            true => format!("the message means its trigger; from {}", one_line(from)),
            false => format!("its trigger has {}; from {}", shared.join(", "), one_line(from)),
        }
    }
}

fn read(group: &Group, visibility: Visibility) -> Vec<Policy> {
    let text = workspace::text(group, visibility, FILE, MOST);
    parse(&text)
}

pub(crate) fn parse(text: &str) -> Vec<Policy> {
    static HEAD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:#{1,6}\s+|\d+[.)]\s+)?\**([A-Za-z]{1,6}-?\d{1,5}|\d{1,5})\**\s*[:.)—–-]\s*(.+)$")
            .expect("a constant pattern")
    });
    static BULLET: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)^\s*[-*+]?\s*\**(trigger|gate|reason|source)\**\s*:\**\s*(.+)$")
            .expect("a constant pattern")
    });
    let mut policies: Vec<Policy> = Vec::new();
    for line in text.lines() {
        if let Some(found) = BULLET.captures(line) {
            let Some(policy) = policies.last_mut() else { continue };
            let value = found[2].trim().to_owned();
            match found[1].to_lowercase().as_str() {
                "trigger" => policy.trigger = value,
                "gate" => policy.gate = value,
                "reason" => policy.reason = value,
                _ => policy.source = value,
            }
        } else if let Some(found) = HEAD.captures(line.trim()) {
            let title = found[2].trim_matches(|c: char| c == '*' || c.is_whitespace()).to_owned();
            policies.push(Policy { number: found[1].to_owned(), title, ..Policy::default() });
        }
    }
    policies.retain(|policy| !policy.trigger.is_empty() && !policy.gate.is_empty());
    policies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_people_write_them() {
        let rule = |number: &str, trigger: &str, gate: &str| {
            (number.to_owned(), trigger.to_owned(), gate.to_owned())
        };
        for (text, expected) in [
            (
                "## GP-001: Never restart\n- Trigger: a restart\n- Gate: ask\n- Reason: lost 2h\n- Source: x.md",
                vec![rule("GP-001", "a restart", "ask")],
            ),
            (
                "1. GP-2: Pay\n   * **Trigger**: a payment\n   * **Gate:** show it",
                vec![rule("GP-2", "a payment", "show it")],
            ),
            ("### 7: Title\nTrigger: this\nGate: that", vec![rule("7", "this", "that")]),
            ("## GP-001: no gate\n- Trigger: a restart", vec![]),
            ("- Trigger: before any heading\n# Rules\nprose", vec![]),
            ("", vec![]),
        ] {
            let found: Vec<_> =
                parse(text).into_iter().map(|one| (one.number, one.trigger, one.gate)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
