//! The knowledge graph (SPEC G): entities and the names they go by, facts and relations with the time they held.

pub(crate) mod guard;
pub(crate) mod read;
