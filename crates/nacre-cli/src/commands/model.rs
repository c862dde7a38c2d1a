//! The models that turn text into vectors: install, list, remove.

use std::process::ExitCode;

use anyhow::Result;
use nacre::model::{self, Model, Strange};
use serde_json::json;

use crate::args;
use crate::context::Context;
use crate::render;

pub fn run(context: &Context, args: &args::Model) -> Result<ExitCode> {
    match args {
        args::Model::Install { path, trust } => {
            let strange = if *trust { Strange::Trust } else { Strange::Refuse };
            render::progress("reading the weights and rounding them to 4 bits");
            let installed = model::install(&context.home, path, strange);
            render::progress("");
            let installed = installed?;
            if context.global.json {
                render::json(&installed)?;
            } else {
                render::out(&format!("Installed {}", line(&installed)))?;
            }
        }
        args::Model::List => {
            let models = model::list(&context.home);
            if context.global.json {
                render::json(&json!({ "models": models }))?;
            } else {
                let rows: Vec<_> = models.iter().map(|model| (model.name.to_owned(), says(model))).collect();
                render::out(&render::table(&rows))?;
            }
        }
        args::Model::Remove { name } => {
            model::remove(&context.home, name)?;
            if context.global.json {
                render::json(&json!({ "removed": name }))?;
            } else {
                render::out(&format!("Removed {name}"))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(model: &Model) -> String {
    format!("{}: {}", model.name, says(model))
}

fn says(model: &Model) -> String {
    if let Some(problem) = &model.problem {
        return format!("can't be used: {problem}");
    }
    let (Some(version), Some(hash)) = (&model.version, &model.hash) else {
        return "not installed (`nacre model install PATH`)".into();
    };
    #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
    let megabytes = model.bytes as f64 / 1_048_576.0;
    let strange = if model.published { "" } else { ", not of the published weights" };
    format!(
        "{} components, {megabytes:.1} MB, version {version}, BLAKE3 {}…{strange}",
        model.dims,
        &hash[..16]
    )
}
