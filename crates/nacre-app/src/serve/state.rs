//! The state of a running server, shared by all request handlers.

use std::sync::Arc;

use nacre::Home;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::hosts::Hosts;
use super::login::Logins;
use super::metrics::Metrics;
use super::oidc::Provider;
use super::quota::{Quota, SessionOwners};
use super::telemetry::Stream;
use super::token::Tokens;
use crate::groups::pool::Pool;

/// The state that every request handler shares.
pub struct State {
    pub home: Home,
    pub pool: Arc<Pool>,
    pub tokens: Tokens,
    /// The identity provider whose tokens are accepted, too.
    pub oidc: Option<Arc<Provider>>,
    pub logins: Logins,
    pub events: Stream,
    pub metrics: Metrics,
    /// The requests and event streams of each token.
    pub requests: Quota,
    pub streams: Quota,
    /// The token that opened each MCP session.
    pub owners: SessionOwners,
    /// The settings in force, as the dashboard shows them.
    pub settings: Vec<Setting>,
    pub hosts: Hosts,
    /// Cancelled when the server stops, so that no stream holds it up.
    pub stop: CancellationToken,
    /// Whether the fixtures of the conformance suite are served.
    #[cfg(debug_assertions)]
    pub fixtures: bool,
}

/// One setting in force.
#[derive(Clone, Serialize)]
pub struct Setting {
    pub key: String,
    pub value: String,
    /// Whether it differs from the default.
    pub changed: bool,
}

impl State {
    pub fn now(&self) -> nacre::Time {
        self.pool.now()
    }
}
