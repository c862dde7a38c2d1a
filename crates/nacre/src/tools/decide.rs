//! Proposals as tools: list, show, decide. Only people may use them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::call::{Call, ToolResult};
use super::conflict;
use super::people::unmasked;
use super::tool::Request;
use crate::base::redact;
use crate::base::{Calendar, Error};
use crate::records::workspace::change;
use crate::records::workspace::proposal::{self, Kind, Proposal};

/// List the proposals that wait for a person, oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposalsRequest {
    /// Include decided ones.
    #[serde(default)]
    pub all: bool,
}

/// The proposals of a group.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Proposals {
    /// Oldest first.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub proposals: Vec<Proposal>,
}

impl Request for ProposalsRequest {
    type Answer = Proposals;
    const NAME: &str = "proposal_list";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Proposals> {
        Ok(Proposals { proposals: proposal::list(call.view(), self.all)? })
    }

    fn say(answer: &Proposals, _: &Calendar) -> String {
        let line = |one: &Proposal| format!("{} {} {}", one.number, one.state.as_str(), one.target);
        answer.proposals.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Show one proposal, with the texts before and after.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposalRequest {
    /// Its number.
    #[schemars(range(min = 1))]
    pub number: i64,
}

/// A proposal and its effect.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProposalAnswer {
    #[serde(flatten)]
    #[schemars(with = "Map<String, Value>")]
    #[expect(missing_docs)]
    pub proposal: Proposal,
    /// The file it was based on; absent: there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The resulting file; absent: it would be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed: Option<String>,
    /// The file as it is now; absent: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// The hash of the current file, to approve with an edited text; absent: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The file after approval, merged with changes that others made since; absent if it would be deleted or can't be merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The arguments of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub arguments: Option<Value>,
}

impl Request for ProposalRequest {
    type Answer = ProposalAnswer;
    const NAME: &str = "proposal_show";

    fn run(self, call: &mut Call<'_>) -> ToolResult<ProposalAnswer> {
        let found = proposal::get(call.view(), self.number)?;
        let [base, proposed] = proposal::texts(call.view(), self.number)?;
        // Redacted as documents are, so that both sides keep their lines.
        let masked = |bytes: Vec<u8>| redact::document(&String::from_utf8_lossy(&bytes)).into_owned();
        let [current, result] = proposal::effect(call.view(), self.number)?;
        let (base, proposed, arguments) = match found.kind {
            Kind::File => (base.map(masked), proposed.map(masked), None),
            Kind::Call => (None, None, proposed.and_then(|bytes| serde_json::from_slice(&bytes).ok())),
        };
        let hash = current.as_deref().map(change::hash);
        let (current, result) = (current.map(masked), result.map(masked));
        Ok(ProposalAnswer { proposal: found, base, proposed, current, hash, result, arguments })
    }

    fn say(answer: &ProposalAnswer, _: &Calendar) -> String {
        answer.proposal.diff.to_string()
    }
}

/// A person's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(missing_docs, reason = "verbs")]
pub enum Verdict {
    Approve,
    Deny,
    Rebase,
    Revert,
}

/// Approve a proposal, deny it, rebase it onto the current file, or revert it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideRequest {
    /// Its number.
    #[schemars(range(min = 1))]
    pub number: i64,
    /// The decision.
    pub decision: Verdict,
    /// For deny: the reason, for the agent.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    pub reason: String,
    /// For approve: the whole file as the person edited it, instead of the proposed one.
    #[schemars(length(max = 2_000_000))]
    pub content: Option<String>,
    /// With content: the hash of the file that the person saw; absent if there was none. A changed file is not replaced.
    #[schemars(length(max = 64))]
    pub base: Option<String>,
}

/// A decided proposal.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct DecideAnswer(#[schemars(with = "Map<String, Value>")] pub Proposal);

impl Request for DecideRequest {
    type Answer = DecideAnswer;
    const NAME: &str = "proposal_decide";

    fn run(self, call: &mut Call<'_>) -> ToolResult<DecideAnswer> {
        let (number, run_approved) = (self.number, call.run_approved);
        let group = call.view();
        if let Some(content) = self.content {
            let is_file = proposal::get(group, number)?.kind == Kind::File;
            if self.decision != Verdict::Approve || !is_file {
                let problem = "is only for approving the change of a file";
                return Err(Error::bad_argument(Self::NAME, "content", problem).into());
            }
            // The person saw the result masked, or the current file if both changes can't be merged.
            let [current, result] = proposal::effect(group, number)?;
            let edited = unmasked(Self::NAME, &result.or(current).unwrap_or_default(), content)?;
            proposal::amend(group, number, &edited, self.base.as_deref())?;
        }
        let decided = match self.decision {
            Verdict::Approve => {
                let approved = proposal::approve(group, number, run_approved)?;
                conflict::of_approved(group, &approved)?;
                approved
            }
            Verdict::Deny => proposal::deny(group, number, &self.reason)?,
            Verdict::Rebase => proposal::rebase(group, number)?,
            Verdict::Revert => proposal::revert(group, number)?,
        };
        Ok(DecideAnswer(decided))
    }

    fn say(answer: &DecideAnswer, _: &Calendar) -> String {
        format!("Proposal {} is {}.", answer.0.number, answer.0.state.as_str())
    }
}
