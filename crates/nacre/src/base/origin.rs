//! The origin of a record: the channel through which it was written. Text never decides it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::caller::{Actor, Caller};
use crate::base::named::named;
use crate::base::schema::inline_schema;
use crate::base::sql::{FromSql, Problem, ToSql, Value};

named! {
    /// The channel through which a record was written, most trusted first.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum RecordOrigin {
        /// A person, on the command line or in the dashboard.
        Person = "person",
        /// An agent, and a person approved it.
        Approved = "approved",
        /// The person's own agent, in a trusted session.
        #[default]
        Agent = "agent",
        /// A file of the person's workspace.
        Document = "document",
        /// A file of another program that a person imported and did not vouch for.
        Import = "import",
        /// A session that reads text written by strangers.
        Untrusted = "untrusted",
    }
}

inline_schema!(RecordOrigin, { "type": "string" });

impl RecordOrigin {
    /// Returns the origin of what a caller writes.
    pub(crate) fn of(caller: &Caller) -> RecordOrigin {
        match caller.actor {
            Actor::Person => RecordOrigin::Person,
            _ if caller.untrusted => RecordOrigin::Untrusted,
            Actor::Agent | Actor::Nacre => RecordOrigin::Agent,
        }
    }

    /// Returns the origin of a record that is derived from two others.
    pub(crate) fn weakest(self, other: RecordOrigin) -> RecordOrigin {
        self.max(other)
    }

    /// Tells whether such a record may be added to a session unasked: it comes from the person, their own agent or their
    /// own files. Whether another text gives orders can't be told from its words.
    pub(crate) fn is_injectable(self) -> bool {
        self < RecordOrigin::Import
    }

    /// Returns the word that marks it in a list, for origins that are not the person's own.
    pub fn mark(self) -> Option<&'static str> {
        matches!(self, RecordOrigin::Import | RecordOrigin::Untrusted).then(|| self.as_str())
    }
}

impl fmt::Display for RecordOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ToSql for RecordOrigin {
    fn to_sql(&self) -> Value<'_> {
        Value::Text(self.as_str().into())
    }
}

impl FromSql for RecordOrigin {
    fn from_sql(value: Value<'_>) -> Result<RecordOrigin, Problem> {
        // A word that another version wrote is trusted least.
        Ok(RecordOrigin::of_name(&value.into_text()?).unwrap_or(RecordOrigin::Untrusted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_derived_record_has_the_weakest_origin_of_its_sources() {
        use RecordOrigin::{Agent, Import, Person, Untrusted};
        for (one, other, weakest) in [
            (Person, Agent, Agent),
            (Agent, Person, Agent),
            (Import, Untrusted, Untrusted),
            (Person, Person, Person),
        ] {
            assert_eq!(one.weakest(other), weakest);
        }
    }
}
