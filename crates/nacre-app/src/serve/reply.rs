//! Shared by every path: reading a request and reporting a failure.

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use nacre::{Error, Kind};
use serde_json::json;

/// Returns the HTTP status of a failure, which depends only on its kind.
pub fn status(kind: Kind) -> StatusCode {
    match kind {
        Kind::Invalid => StatusCode::BAD_REQUEST,
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::Conflict => StatusCode::CONFLICT,
        Kind::Denied => StatusCode::FORBIDDEN,
        Kind::Limit => StatusCode::TOO_MANY_REQUESTS,
        Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

pub fn failed(error: &Error) -> Response {
    let mut answer = refuse(status(error.kind()), error.code(), &error.to_string(), error.hint().as_deref());
    if error.may_pass() {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}

pub fn refuse(status: StatusCode, code: &str, message: &str, hint: Option<&str>) -> Response {
    let mut error = json!({ "code": code, "message": nacre::redact::text(message) });
    if let Some(hint) = hint {
        error["hint"] = hint.into();
    }
    (status, Json(json!({ "error": error }))).into_response()
}

#[expect(clippy::result_large_err, reason = "it is the answer")]
pub fn body_of(body: Result<Bytes, BytesRejection>) -> Result<Bytes, Response> {
    body.map_err(|problem| {
        let status = problem.status();
        let code = if status == StatusCode::PAYLOAD_TOO_LARGE { "request_too_large" } else { "unreadable" };
        refuse(status, code, &problem.body_text(), None)
    })
}

/// Returns the decoded pairs of a query string.
pub fn pairs(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}
