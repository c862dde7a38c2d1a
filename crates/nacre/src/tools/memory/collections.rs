//! The list of collections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::Calendar;
use crate::base::redact::redact;
use crate::records::collection;
use crate::records::collection::Collection;
use crate::tools::call::{Call, ToolResult};
use crate::tools::tool::Request;

/// List the collections with their size and status.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectionsRequest {}

/// The collections of a group.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Collections {
    /// By name.
    pub collections: Vec<Collection>,
}

redact! {
    Collections { collections }
}

impl Request for CollectionsRequest {
    type Answer = Collections;
    const NAME: &str = "collection_list";

    fn run(self, call: &mut Call<'_>) -> ToolResult<Collections> {
        Ok(Collections { collections: collection::list(call.view())? })
    }

    fn say(answer: &Collections, _: &Calendar) -> String {
        if answer.collections.is_empty() {
            return "There are no collections.".into();
        }
        let lines = answer.collections.iter().map(|collection| {
            let Collection { name, documents, passages, .. } = collection;
            let problem =
                collection.problem.as_deref().map(|problem| format!("; {problem}")).unwrap_or_default();
            format!("{name}: {documents} documents in {passages} passages{problem}")
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
