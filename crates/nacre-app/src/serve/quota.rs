//! Quotas of access tokens: how much of the server one token can take up, so that there is always room for the person.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::groups::who::Principal;

/// The most requests of one token at a time. All connections together are 512.
pub const MAX_REQUESTS: usize = 128;
/// The most event streams of one token at a time.
pub const MAX_STREAMS: usize = 32;
/// The most MCP sessions of one token. All sessions together are 1,024.
pub const MAX_SESSIONS: usize = 256;

/// Counts of one kind, by token.
#[derive(Clone, Default)]
pub struct Quota(Arc<Mutex<HashMap<String, usize>>>);

/// A place within a quota, given back when it is dropped.
pub struct Place {
    quota: Quota,
    token: Option<String>,
}

impl Quota {
    /// Takes a place for a principal; `None`: its token has no more. The person has no limit.
    pub fn take(&self, principal: &Principal, most: usize) -> Option<Place> {
        let Some(token) = principal.token.clone().filter(|_| !principal.person) else {
            return Some(Place { quota: self.clone(), token: None });
        };
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(token.clone()).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        drop(counts);
        Some(Place { quota: self.clone(), token: Some(token) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(token) = &self.token else { return };
        let mut counts = self.quota.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(token) {
            *count = count.saturating_sub(1);
        }
    }
}

/// The tokens to which MCP sessions belong.
#[derive(Default)]
pub struct SessionOwners(Mutex<HashMap<String, Option<String>>>);

impl SessionOwners {
    /// Records who began a session.
    pub fn add(&self, session: &str, principal: &Principal) {
        self.lock().insert(session.to_owned(), principal.token.clone());
    }

    /// Tells whether a session is a principal's. One that is not known is nobody's.
    pub fn is_of(&self, session: &str, principal: &Principal) -> bool {
        self.lock().get(session).is_none_or(|token| *token == principal.token)
    }

    /// Tells whether a token has as many open sessions as it may have. Forgets those that ended.
    pub fn is_full(&self, principal: &Principal, is_open: impl Fn(&str) -> bool) -> bool {
        let mut owners = self.lock();
        owners.retain(|session, _| is_open(session));
        let own = owners.values().filter(|token| **token == principal.token).count();
        !principal.person && principal.token.is_some() && own >= MAX_SESSIONS
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Option<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_took_all_the_room() {
        let guest = Principal { token: Some("guest".into()), person: false, ..Principal::OWNER };
        let quota = Quota::default();
        let places: Vec<Place> = (0..3).filter_map(|_| quota.take(&guest, 2)).collect();
        assert_eq!(places.len(), 2);
        assert!(quota.take(&Principal::OWNER, 0).is_some(), "the person always finds room");
        drop(places);
        assert!(quota.take(&guest, 2).is_some(), "places are given back");
    }

    #[test]
    fn another_token_used_the_session_of_the_first() {
        let [one, other] = ["one", "other"].map(|name| Principal {
            token: Some(name.into()),
            person: false,
            ..Principal::OWNER
        });
        let owners = SessionOwners::default();
        owners.add("s", &one);
        assert!(
            owners.is_of("s", &one) && !owners.is_of("s", &other) && !owners.is_of("s", &Principal::OWNER)
        );
        for number in 0..MAX_SESSIONS {
            owners.add(&number.to_string(), &one);
        }
        assert!(owners.is_full(&one, |_| true) && !owners.is_full(&other, |_| true));
        assert!(!owners.is_full(&one, |session| session == "s"), "sessions that ended do not count");
    }
}
