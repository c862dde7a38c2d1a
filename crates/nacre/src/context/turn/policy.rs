//! Gating policies: numbered rules of `memory/gating-policies.md`. A turn that matches a trigger gets the rule.
//!
//! The file belongs to a person and is read on every turn: it is small, and a rule must hold as soon as it is written. A
//! rule is a heading with its number, and bullets for trigger, gate, reason and source. Text in another form is ignored.

use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use super::relevance::MemoryTraits;
use super::{Offer, TurnBuilder};
use crate::base::Result;
use crate::base::frame::one_line;
use crate::base::text::nearest;
use crate::group::View;
use crate::records::workspace;

pub(super) const FILE: &str = "memory/gating-policies.md";
/// The most bytes of the file that are read.
const MAX_FILE_BYTES: u64 = 64 << 10;
/// How many rules a turn gets at most.
const MAX_LINES: usize = 2;

/// One rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Policy {
    pub number: String,
    pub title: String,
    pub trigger: String,
    pub gate: String,
    pub reason: String,
    pub source: String,
    /// The line of its heading.
    pub line: usize,
}

/// The rules of the file, and the lines that are almost one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Policies {
    /// The file.
    pub path: &'static str,
    /// The rules.
    pub policies: Vec<Policy>,
    /// Lines that look like part of a rule but are not in its form.
    pub problems: Vec<Problem>,
}

/// A problem with a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "a line and a sentence")]
pub struct Problem {
    pub line: usize,
    pub why: String,
}

pub(super) fn offer(builder: &mut TurnBuilder<'_>) -> Result<Vec<Offer>> {
    let policies = look(&builder.view).policies;
    // Rules apply only to messages that ask for an action.
    if policies.is_empty() || !builder.message.says_something() || !builder.message.is_command() {
        return Ok(Vec::new());
    }
    let about = MemoryTraits { behavioral: true, gate: true, ..MemoryTraits::default() };
    let mut offers = Vec::new();
    for policy in policies {
        let texts = [format!("{}: {}", policy.title, policy.trigger), policy.trigger.clone()];
        let weighed = texts.map(|text| builder.message.weigh(&text, about, &mut builder.known));
        let best = weighed.into_iter().max_by(|a, b| a.score.total_cmp(&b.score)).expect("two texts");
        let source = format!("policy:{}", policy.number);
        builder.consider("policies", &source, &policy.trigger, &best);
        if best.score >= builder.least {
            offers.push((best.score, Offer::new(policy.line(), policy.reason(&best.shared), source)));
        }
    }
    offers.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(offers.into_iter().take(MAX_LINES).map(|(_, offer)| offer).collect())
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

/// Reads the file as the session may see it.
pub(super) fn look(view: &View<'_>) -> Policies {
    parse(&workspace::text(view, view.visibility(), FILE, MAX_FILE_BYTES))
}

pub(crate) fn parse(text: &str) -> Policies {
    static HEAD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:#{1,6}\s+|\d+[.)]\s+)?\**([A-Za-z]{1,6}-?\d{1,5}|\d{1,5})\**\s*[:.)—–-]\s*(.+)$")
            .expect("a constant pattern")
    });
    static BULLET: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)^\s*[-*+]?\s*\**(trigger|gate|reason|source)\**\s*:\**\s*(.+)$")
            .expect("a constant pattern")
    });
    // `## GP-004 Title` without a separator after the number, and `- Triger: x`.
    static ALMOST_HEAD: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^#{1,6}\s+\**[A-Za-z]{1,6}-?\d{1,5}\b").expect("a constant pattern"));
    static ALMOST_BULLET: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\s*[-*+]\s+\**([A-Za-z]{3,9})\**\s*:").expect("a constant pattern"));
    let mut policies: Vec<Policy> = Vec::new();
    let mut problems: Vec<Problem> = Vec::new();
    // Rules inside comments do not count: examples, and rules that a person disabled.
    let quiet = workspace::quiet(text);
    for (at, line) in text.lines().enumerate().filter(|(at, _)| !quiet[*at]) {
        let at = at + 1;
        let mut problem = |why: String| problems.push(Problem { line: at, why });
        if let Some(found) = BULLET.captures(line) {
            let Some(policy) = policies.last_mut() else {
                problem(format!("has a {} before any rule's heading", found[1].to_lowercase()));
                continue;
            };
            let value = found[2].trim().to_owned();
            match found[1].to_lowercase().as_str() {
                "trigger" => policy.trigger = value,
                "gate" => policy.gate = value,
                "reason" => policy.reason = value,
                _ => policy.source = value,
            }
        } else if let Some(found) = HEAD.captures(line.trim()) {
            let title = found[2].trim_matches(|c: char| c == '*' || c.is_whitespace()).to_owned();
            let number = found[1].to_owned();
            if policies.iter().any(|other| other.number.eq_ignore_ascii_case(&number)) {
                problem(format!("has the number {number} that another rule has"));
            }
            policies.push(Policy { number, title, line: at, ..Policy::default() });
        } else if ALMOST_HEAD.is_match(line.trim()) {
            problem("has a number without `:` behind it, so it begins no rule".into());
        } else if let Some(found) = ALMOST_BULLET.captures(line).filter(|_| !policies.is_empty()) {
            let key = found[1].to_lowercase();
            if let Some(meant) = nearest(&key, ["trigger", "gate", "reason", "source"]) {
                problem(format!("says `{key}`; did you mean `{meant}`?"));
            }
        }
    }
    for policy in &policies {
        let missing = [("trigger", &policy.trigger), ("gate", &policy.gate)];
        for (what, _) in missing.iter().filter(|(_, value)| value.is_empty()) {
            problems.push(Problem {
                line: policy.line,
                why: format!("is a rule without a {what}, which never applies"),
            });
        }
    }
    problems.sort_by_key(|problem| problem.line);
    policies.retain(|policy| !policy.trigger.is_empty() && !policy.gate.is_empty());
    Policies { path: FILE, policies, problems }
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
            ("<!--\n## GP-001: put aside\n- Trigger: a restart\n- Gate: ask\n-->\n", vec![]),
            ("```\n## GP-001: like this\n- Trigger: a restart\n- Gate: ask\n```\n", vec![]),
            ("", vec![]),
        ] {
            let found: Vec<_> =
                parse(text).policies.into_iter().map(|one| (one.number, one.trigger, one.gate)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_is_almost_a_rule_is_named() {
        for (text, problems) in [
            ("## GP-001: A\n- Trigger: x\n- Gate: y", vec![]),
            ("# Rules\n\nA rule has a trigger: and a gate.\n", vec![]),
            ("## GP-001: A\n- Trigger: x", vec![(1, "is a rule without a gate, which never applies")]),
            (
                "## GP-001: A\n- Triger: x\n- Gate: y",
                vec![
                    (1, "is a rule without a trigger, which never applies"),
                    (2, "says `triger`; did you mean `trigger`?"),
                ],
            ),
            ("- Gate: y", vec![(1, "has a gate before any rule's heading")]),
            (
                "## GP-1: A\n- Trigger: x\n- Gate: y\n## gp-1: B\n- Trigger: x\n- Gate: y",
                vec![(4, "has the number gp-1 that another rule has")],
            ),
            // The template has an example in its comment.
            (include_str!("../../records/workspace/templates/gating-policies.md"), vec![]),
            ("## GP-001 A", vec![(1, "has a number without `:` behind it, so it begins no rule")]),
        ] {
            let found = parse(text).problems;
            let found: Vec<(usize, &str)> = found.iter().map(|one| (one.line, one.why.as_str())).collect();
            assert_eq!(found, problems, "{text}");
        }
    }
}
