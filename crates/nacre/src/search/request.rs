//! A search request, as the tools make it.

use crate::base::Time;
use crate::base::ids::{CollectionName, ProjectName};
use crate::base::origin::RecordOrigin;
use crate::index::Scope;
use crate::records::entry::{Entry, EntryType, Source, Tags};

/// The text to search for, and the filters on the results.
#[derive(Default)]
pub(crate) struct Request {
    pub(crate) query: String,
    pub(crate) scope: Vec<Scope>,
    /// Restricts the search of collections to this one.
    pub(crate) collection: Option<CollectionName>,
    pub(crate) r#type: Option<EntryType>,
    pub(crate) tags: Tags,
    /// Who wrote the entry.
    pub(crate) source: Option<Source>,
    pub(crate) include_superseded: bool,
    pub(crate) include_archived: bool,
    pub(crate) limit: usize,
    pub(crate) at: Time,
    pub(crate) explain: bool,
    /// The project in which the question is asked. Its memories get a small bonus.
    pub(crate) project: Option<ProjectName>,
    /// Restricts the hits to this project.
    pub(crate) only_project: Option<ProjectName>,
    /// Whether the hits are added to a session unasked. Untrusted records are left out.
    pub(crate) unasked: bool,
    /// Whether "my" means the agent.
    pub(crate) of_agent: bool,
}

impl Request {
    /// Tells whether there is a query. Without one, entries are listed.
    pub(super) fn is_question(&self) -> bool {
        !self.query.trim().is_empty()
    }

    /// Tells whether superseded or archived entries may be found.
    pub(super) fn includes_past(&self) -> bool {
        self.include_superseded || self.include_archived
    }

    /// Tells whether only entries can match: no other kind has a type, tags or a source.
    pub(super) fn is_for_entries(&self) -> bool {
        self.r#type.is_some() || self.source.is_some() || !self.tags.is_empty()
    }

    /// Tells whether the rows must be read to know which passages pass the filters.
    pub(super) fn filters_rows(&self) -> bool {
        self.is_for_entries() || self.includes_past() || self.only_project.is_some()
    }

    /// Tells whether a record of this project passes the filters.
    pub(super) fn admits_project(&self, project: Option<&ProjectName>) -> bool {
        self.only_project.is_none() || self.only_project.as_ref() == project
    }

    /// Tells whether an entry passes the filters.
    pub(super) fn admits(&self, entry: &Entry) -> bool {
        let has = |wanted: &str| entry.tags.iter().any(|tag| tag.to_lowercase() == wanted.to_lowercase());
        !(self.unasked && entry.origin == RecordOrigin::Untrusted)
            && (self.include_superseded || entry.superseded_at.is_none())
            && (self.include_archived || entry.archived_at.is_none())
            && self.r#type.is_none_or(|wanted| entry.r#type == wanted)
            && self.source.is_none_or(|wanted| entry.provenance.source == wanted)
            && self.tags.iter().all(has)
            && self.admits_project(entry.provenance.project.as_ref())
    }
}
