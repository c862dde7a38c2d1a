//! Background work on the index: upgrading an index of another version, and embedding passages with a
//! provider's model.

use std::ops::ControlFlow;

use serde::Serialize;

use super::database::Database;
use super::embed::Embedder;
use super::{ReembeddingProgress, dense};
use crate::base::{Result, Time};
use crate::store::Connection;

/// The progress of embedding by the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "named after what they count")]
pub struct EmbeddingProgress {
    pub model: String,
    pub done: i64,
    /// Texts that the provider refused.
    pub refused: i64,
    pub left: i64,
}

pub(crate) fn embedded(db: &Connection, embedder: &dyn Embedder) -> Result<EmbeddingProgress> {
    let model = embedder.version().to_owned();
    let of_this = dense::model(db)?.as_deref() == Some(&model);
    let dense::Progress { done, refused, all } = dense::progress(db)?;
    let (done, refused) = if of_this { (done, refused) } else { (0, 0) };
    Ok(EmbeddingProgress { model, done, refused, left: all - done - refused })
}

/// Upgrades one database's index from another version: its words at once, its vectors in batches.
pub(crate) fn renew(
    database: &mut Database,
    now: Time,
    most: usize,
    progress: &mut dyn FnMut(&ReembeddingProgress) -> ControlFlow<()>,
) -> Result<ReembeddingProgress> {
    /// Passages per transaction: the work lost if the process is killed.
    const BATCH_PASSAGES: usize = 500;
    if !database.on_disk() {
        return Ok(ReembeddingProgress::default());
    }
    database.refresh(now)?;
    if database.is_stale()? {
        database.renew(0)?;
        let all = database.read(super::lookup::count)?;
        return Ok(ReembeddingProgress { made: all, all });
    }
    let Some(mut so_far) = database.read(super::renewed)? else { return Ok(ReembeddingProgress::default()) };
    let mut taken = 0;
    while taken < most {
        let made = database.renew((most - taken).min(BATCH_PASSAGES))?;
        if made == 0 {
            break;
        }
        taken += made;
        so_far.made = (so_far.made + i64::try_from(made).unwrap_or(0)).min(so_far.all);
        if progress(&so_far).is_break() {
            break;
        }
    }
    // Other processes may have made some too.
    let all = so_far.all;
    Ok(database.read(super::renewed)?.unwrap_or(ReembeddingProgress { made: all, all }))
}

/// Computes the missing vectors of one database.
pub(crate) fn fill(
    database: &mut Database,
    embedder: &dyn Embedder,
    now: Time,
    most: usize,
    progress: &mut dyn FnMut(&EmbeddingProgress),
) -> Result<EmbeddingProgress> {
    /// Passages per transaction: the work lost if the process is killed.
    const BATCH_PASSAGES: usize = 128;
    if embedder.version().is_empty() {
        // The error says why the model can't be used.
        embedder.embed_documents(&["a text"])?;
    }
    if !database.on_disk() {
        return Ok(EmbeddingProgress {
            model: embedder.version().to_owned(),
            ..EmbeddingProgress::default()
        });
    }
    database.refresh(now)?;
    let mut so_far = database.read(|db| embedded(db, embedder))?;
    if so_far.left == 0 && so_far.done > 0 && embedder.dims() == 0 {
        // The first answer tells the number of components. A model that is down has no new one.
        let _ = embedder.embed_documents(&["a text"]);
    }
    if so_far.done > 0 && embedder.dims() > 0 && !database.read(|db| dense::fits(db, embedder.dims()))? {
        database.write(now, |tx, _| dense::forget(tx))?;
        so_far = database.read(|db| embedded(db, embedder))?;
    }
    if so_far.left > 0 {
        database.write(now, |tx, _| dense::adopt(tx, embedder.version()))?;
    }
    let mut made = 0;
    while made < most && so_far.left > 0 {
        let mut pending = database.read(|db| dense::pending(db, (most - made).min(BATCH_PASSAGES)))?;
        if pending.is_empty() {
            break;
        }
        made += pending.len();
        let vectors = dense::vectors(embedder, &mut pending)?;
        so_far = database.write(now, |tx, _| {
            // Another process may have switched to another model.
            if dense::model(tx)?.as_deref() == Some(embedder.version()) {
                // The model of this name may have been replaced by one with other vectors.
                if embedder.dims() > 0 && !dense::fits(tx, embedder.dims())? {
                    dense::forget(tx)?;
                }
                dense::write(tx, &vectors)?;
            }
            embedded(tx, embedder)
        })?;
        progress(&so_far);
    }
    Ok(so_far)
}
