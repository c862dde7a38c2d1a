//! The binary reads answers as types. A field that is read by its name in JSON fails only when it is printed.

use std::fs;
use std::path::{Path, PathBuf};

/// `nacre call` passes JSON on, and MCP writes into the JSON that a client gets.
const EXCEPTIONS: &[&str] = &["commands/tools.rs", "mcp/mod.rs"];

#[test]
fn no_answer_is_read_by_the_names_of_its_fields() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../nacre-app/src");
    let mut files = Vec::new();
    collect(&source, &mut files);
    assert!(files.len() > 50, "the source was not read: {files:?}");
    let mut found = Vec::new();
    for file in files {
        let path = file.strip_prefix(&source).unwrap().to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(&file).unwrap();
        if !EXCEPTIONS.contains(&path.as_str()) && text.contains(".data[\"") {
            found.push(path);
        }
    }
    assert!(found.is_empty(), "use `Context::run` and the fields of its answer: {found:?}");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}
