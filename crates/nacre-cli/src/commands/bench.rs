//! `nacre bench`: measured through the shipped program.

use std::process::ExitCode;

use anyhow::Result;

pub fn cold(_rows: usize, _runs: usize, _json: bool) -> Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
