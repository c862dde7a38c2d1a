//! The models that turn text into vectors: install, list, remove.

use std::process::ExitCode;

use anyhow::Result;
use nacre::embed::ModelInfo;
use nacre::{Builtin, Error};
use serde_json::json;

use crate::args;
use crate::context::Context;
use crate::minilm::{self, Weights};
use crate::render::{self, Progress};

pub fn run(context: &Context, args: &args::Model) -> Result<ExitCode> {
    match args {
        args::Model::Install { path, trust } => {
            let weights = if *trust { Weights::Any } else { Weights::Published };
            let bar = Progress::busy(context.global.json, "Reading the weights and rounding them to 4 bits");
            let installed = minilm::install(context.home.path(), path, weights);
            drop(bar);
            let installed = installed?;
            if context.global.json {
                render::json(&installed)?;
            } else {
                render::out(&format!("Installed {}", line(&installed)))?;
            }
        }
        args::Model::List => {
            let models = [Builtin.info(), minilm::status(context.home.path())];
            if context.global.json {
                render::json(&json!({ "models": models }))?;
            } else {
                let rows: Vec<_> = models.iter().map(|model| (model.name.to_owned(), says(model))).collect();
                render::out(&render::table(&rows))?;
            }
        }
        args::Model::Remove { name } => {
            if name != minilm::NAME {
                return Err(Error::NoModel { given: name.clone() }.into());
            }
            minilm::remove(context.home.path())?;
            if context.global.json {
                render::json(&json!({ "removed": name }))?;
            } else {
                render::out(&format!("Removed {name}"))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(model: &ModelInfo) -> String {
    format!("{}: {}", model.name, says(model))
}

fn says(model: &ModelInfo) -> String {
    if let Some(problem) = &model.problem {
        return format!("can't be used: {problem}");
    }
    let (Some(version), Some(hash)) = (&model.version, &model.hash) else {
        return "not installed (`nacre model install PATH`)".into();
    };
    #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
    let megabytes = model.bytes as f64 / 1_048_576.0;
    let weights = if model.published { "" } else { ", not of the published weights" };
    format!(
        "{} components, {megabytes:.1} MB, version {version}, BLAKE3 {}…{weights}",
        model.dims,
        &hash[..16]
    )
}
