//! The memories folder of Codex: lasting memories are in MEMORY.md, and the summaries are kept whole. Both
//! were derived from the raw memories, which are skipped.

use std::path::Path;

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
        let discrete = path == "MEMORY.md";
        sink.file(source, &path, |text, sink| openclaw::take(text, &path, discrete, sink))?;
    }
    Ok(())
}
