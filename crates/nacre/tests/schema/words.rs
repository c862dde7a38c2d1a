//! Schemas in words, for the references that tests write.

use serde_json::Value;

/// Returns the type of a value in words.
pub fn kind(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(|word| format!("`{}`", word.as_str().unwrap())).collect();
        let (last, others) = words.split_last().unwrap();
        return if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) };
    }
    if let Some(kinds) = schema["anyOf"].as_array() {
        return kinds.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match schema["type"].as_str() {
        Some("array") => match kind(&schema["items"]).as_str() {
            "any" => "array".into(),
            items @ ("string" | "integer" | "number" | "object") => format!("array of {items}s"),
            items => format!("array of {items}"),
        },
        Some(kind) => kind.to_owned(),
        None => "any".into(),
    }
}
