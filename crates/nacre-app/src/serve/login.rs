//! Sign-in to the dashboard: a link that works once, and a cookie that only this server's pages send. Neither outlives the server.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::token::secret;

/// How long a link works, and how many browsers can be signed in at once.
const LINK_LIFETIME: Duration = Duration::from_secs(120);
const MAX_PAGES: usize = 64;

pub struct Logins {
    /// The secret of the user's own processes: it is in a file that only they can read.
    key: blake3::Hash,
    shown: String,
    /// When a link was created, and with which secret: a page has the rights of that secret, until it is revoked.
    links: Mutex<HashMap<blake3::Hash, (Instant, String)>>,
    pages: Mutex<Vec<(blake3::Hash, String)>>,
}

impl Logins {
    pub fn new() -> Logins {
        let shown = secret().expect("a machine has randomness");
        Logins {
            key: blake3::hash(shown.as_bytes()),
            shown,
            links: Mutex::default(),
            pages: Mutex::default(),
        }
    }

    pub fn key(&self) -> &str {
        &self.shown
    }

    pub fn is_key(&self, given: &str) -> bool {
        blake3::hash(given.as_bytes()) == self.key
    }

    /// Returns the secret with which a page was signed in.
    pub fn secret(&self, cookie: &str) -> Option<String> {
        let given = blake3::hash(cookie.as_bytes());
        lock(&self.pages).iter().find(|(page, _)| *page == given).map(|(_, secret)| secret.clone())
    }

    /// Creates a link with the rights of this secret.
    pub fn link(&self, by: String) -> Option<String> {
        let code = secret().ok()?;
        let mut links = lock(&self.links);
        links.retain(|_, (made, _)| made.elapsed() < LINK_LIFETIME);
        if links.len() >= MAX_PAGES {
            return None;
        }
        links.insert(blake3::hash(code.as_bytes()), (Instant::now(), by));
        Some(code)
    }

    /// Exchanges a link, which then stops working, for a cookie.
    pub fn enter(&self, code: &str) -> Option<String> {
        let (made, by) = lock(&self.links).remove(&blake3::hash(code.as_bytes()))?;
        if made.elapsed() >= LINK_LIFETIME {
            return None;
        }
        let cookie = secret().ok()?;
        let mut pages = lock(&self.pages);
        if pages.len() >= MAX_PAGES {
            pages.remove(0);
        }
        pages.push((blake3::hash(cookie.as_bytes()), by));
        Some(cookie)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
