//! The memories folder of Codex: lasting memories are in MEMORY.md, and the summaries are kept whole. Both
//! were derived from the raw memories, which are skipped.

use std::path::Path;

use super::identity::Author;
use super::openclaw;
use super::source::Source;
use super::take::Sink;
use crate::base::Result;

const RAW_FILE: &str = "raw_memories.md";

pub(super) fn claims(path: &Path) -> bool {
    ["memory_summary.md", "rollout_summaries", RAW_FILE].iter().any(|name| path.join(name).exists())
        || path.join("MEMORY.md").is_file() && path.file_name().is_some_and(|name| name == "memories")
}

pub(super) fn read(source: &Source, sink: &mut Sink<'_>) -> Result<()> {
    let found = source.markdown();
    for (path, why) in found.passed {
        sink.skip(&path, why);
    }
    for path in found.files {
        if path == RAW_FILE {
            sink.skip(&path, "the other files contain the same");
            continue;
        }
        match source.text(&path) {
            Ok(text) if path == "MEMORY.md" => openclaw::take_memories(&text, &path, sink),
            Ok(text) => sink.item(openclaw::document(text, &path, Author::Agent)),
            Err(why) => {
                sink.skip(&path, why);
                continue;
            }
        }
        sink.end(&path)?;
    }
    Ok(())
}
