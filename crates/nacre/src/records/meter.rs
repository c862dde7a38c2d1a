//! Counts the tokens that language models use in a day, and refuses a request that could exceed the limit.
//!
//! A request reserves the most that it can use before it is sent, in a transaction of its own, and settles for what it
//! used when the answer is there. A process that is killed in between leaves the reservation: the count may be too high,
//! and the limit is never exceeded.

use serde::Serialize;

use crate::base::{Error, Result};
use crate::group::View;
use crate::index::embed::http::ChatAnswer;
use crate::store::Connection;

/// The tokens that a chat template adds to a request, at most.
const TEMPLATE_TOKENS: u64 = 256;

/// The use of language models on one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TokenUse {
    /// The requests that were sent.
    pub requests: u64,
    /// The tokens that they used, or at most used.
    pub tokens: u64,
    /// The limit for one day; 0 means none.
    pub limit: u64,
}

/// Returns the most tokens that texts can be: no token is shorter than a byte.
pub(crate) fn most_tokens(texts: &[&str], answer_tokens: u64) -> u64 {
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    bytes as u64 + TEMPLATE_TOKENS + answer_tokens
}

/// Asks a model, within the limit of the day. `most` is the most tokens that this can use.
pub(crate) fn metered(
    view: &mut View<'_>,
    most: u64,
    ask: impl FnOnce() -> Result<ChatAnswer>,
) -> Result<ChatAnswer> {
    let day = day(view);
    let limit = view.settings().llm.daily_tokens;
    view.write(|tx| {
        let sql = "INSERT INTO llm_usage (day, requests, tokens) VALUES ($1, 1, $2)
            ON CONFLICT (day) DO UPDATE SET requests = llm_usage.requests + 1, tokens = llm_usage.tokens + excluded.tokens
            RETURNING tokens";
        let tokens: u64 = tx.one(sql, (&day, most), |row| row.get(0))?;
        if limit > 0 && tokens > limit {
            let left = limit.saturating_sub(tokens - most);
            return Err(Error::TokenLimit { needed: most, left, limit });
        }
        Ok(())
    })?;
    let answer = ask();
    let used = match &answer {
        // Without a report, the answer may have cost all of it.
        Ok(answer) => answer.tokens.unwrap_or(most),
        // It was refused before a model read it.
        Err(
            Error::ProviderDenied { .. }
            | Error::ProviderRefused { .. }
            | Error::ProviderBusy { .. }
            | Error::UnknownModel { .. },
        ) => 0,
        Err(_) => most,
    };
    view.write(|tx| {
        let sql = "UPDATE llm_usage SET tokens = tokens - $2 + $3 WHERE day = $1";
        tx.run(sql, (&day, most, used))?;
        Ok(())
    })?;
    answer
}

/// Returns the use of today.
pub(crate) fn today(view: &View<'_>, db: &Connection) -> Result<TokenUse> {
    let sql = "SELECT requests, tokens FROM llm_usage WHERE day = $1";
    let (requests, tokens) =
        db.row(sql, [&day(view)], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0));
    Ok(TokenUse { requests, tokens, limit: view.settings().llm.daily_tokens })
}

fn day(view: &View<'_>) -> String {
    let caller = view.caller();
    caller.zone.day(caller.now).to_string()
}
