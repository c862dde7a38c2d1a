//! `conversations.json` of a ChatGPT export: conversations that are trees of messages.
//!
//! `current_node` is the end of the branch that the person saw last, and its parents lead to the beginning.
//! The other branches are answers and questions that were replaced.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::intake::{Draft, Intake, made_id};
use super::{Author, Reason};
use crate::base::Result;

pub(super) fn conversation(value: &Value, intake: &mut Intake<'_>) -> Result<()> {
    let Some(tree) = value["mapping"].as_object() else {
        intake.note(Reason::NotMessage);
        return Ok(());
    };
    let given = [&value["conversation_id"], &value["id"]];
    let given = given.into_iter().find(|id| !id.is_null()).unwrap_or(&Value::Null);
    let session = intake.session_of_element(given);
    let branch = branch(tree, &value["current_node"], intake);
    let seen: HashSet<&str> = branch.iter().copied().collect();
    for (_, node) in tree.iter().filter(|(key, _)| !seen.contains(key.as_str())) {
        if matches!(author(&node["message"]), Some(Author::User | Author::Assistant)) {
            intake.note(Reason::OtherBranch);
        }
    }
    for (place, key) in branch.iter().rev().enumerate() {
        let message = &tree[*key]["message"];
        // The root has no message.
        if !message.is_null() {
            let id = intake.given_id(&message["id"]).or_else(|| intake.given_id(&Value::from(*key)));
            let id = id.unwrap_or_else(|| made_id(&session, place));
            self::message(message, &session, id, intake)?;
        }
    }
    Ok(())
}

/// Returns the keys from the end of the conversation to its beginning.
fn branch<'a>(tree: &'a Map<String, Value>, end: &'a Value, intake: &mut Intake<'_>) -> Vec<&'a str> {
    let mut next = end.as_str().filter(|key| tree.contains_key(*key));
    if next.is_none() {
        next = latest_leaf(tree);
        if next.is_some() {
            intake.note(Reason::BrokenTree);
        }
    }
    let mut keys = Vec::new();
    let mut seen = HashSet::new();
    while let Some(key) = next {
        let Some(node) = tree.get(key).filter(|_| seen.insert(key)) else {
            intake.note(Reason::BrokenTree);
            break;
        };
        keys.push(key);
        next = node["parent"].as_str();
    }
    keys
}

/// Returns the leaf with the latest message.
fn latest_leaf(tree: &Map<String, Value>) -> Option<&str> {
    let parents: HashSet<&str> = tree.values().filter_map(|node| node["parent"].as_str()).collect();
    let time = |node: &Value| node["message"]["create_time"].as_f64().unwrap_or_default();
    let leaves = tree.iter().filter(|(key, _)| !parents.contains(key.as_str()));
    leaves.max_by(|(_, a), (_, b)| time(a).total_cmp(&time(b))).map(|(key, _)| key.as_str())
}

fn author(message: &Value) -> Option<Author> {
    match message["author"]["role"].as_str() {
        Some("user") => Some(Author::User),
        Some("assistant") => Some(Author::Assistant),
        _ => None,
    }
}

fn message(message: &Value, session: &str, id: String, intake: &mut Intake<'_>) -> Result<()> {
    let kind = message["content"]["content_type"].as_str();
    let for_a_tool = message["recipient"].as_str().is_some_and(|recipient| recipient != "all");
    let author = author(message);
    let passed = match kind {
        _ if message["author"]["role"] == "tool" => Some(Reason::ToolResult),
        _ if author.is_none() => Some(Reason::Instructions),
        _ if message["weight"].as_f64() == Some(0.0) => Some(Reason::Hidden),
        _ if message["metadata"]["is_visually_hidden_from_conversation"] == true => Some(Reason::Hidden),
        Some("thoughts" | "reasoning_recap") => Some(Reason::Thinking),
        _ if message["channel"] == "analysis" => Some(Reason::Thinking),
        _ if for_a_tool => Some(Reason::ToolUse),
        Some("code" | "execution_output") => Some(Reason::ToolUse),
        Some("user_editable_context" | "model_editable_context") => Some(Reason::Injected),
        None | Some("text" | "multimodal_text") => None,
        Some(_) => Some(Reason::NotMessage),
    };
    let (None, Some(author)) = (passed, author) else {
        intake.note(passed.unwrap_or(Reason::Instructions));
        return Ok(());
    };
    let parts = parts(&message["content"]["parts"], intake);
    if parts.is_empty() {
        return Ok(());
    }
    let at = intake.time(&message["create_time"]);
    intake.offer(Draft { session: session.to_owned(), id, author, parts, at })
}

/// Returns the parts that are text, including transcribed audio.
fn parts(parts: &Value, intake: &mut Intake<'_>) -> Vec<String> {
    let Some(parts) = parts.as_array() else {
        intake.note(Reason::NoText);
        return Vec::new();
    };
    if parts.is_empty() {
        intake.note(Reason::Empty);
    }
    let mut texts = Vec::new();
    for part in parts {
        match part {
            Value::String(text) => texts.push(without_citations(text)),
            Value::Object(part)
                if part.get("content_type").is_some_and(|kind| kind == "audio_transcription") =>
            {
                texts.extend(part.get("text").and_then(Value::as_str).map(str::to_owned));
            }
            _ => intake.note(Reason::Attachment),
        }
    }
    texts
}

/// Removes citation marks, which consist of private-use characters and refer to nothing outside.
fn without_citations(text: &str) -> String {
    const OPEN: char = '\u{e200}';
    const CLOSE: char = '\u{e201}';
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(OPEN) {
        let Some((_, after)) = behind.split_once(CLOSE) else { break };
        left.push_str(before);
        rest = after;
    }
    left + rest
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, counts};

    #[test]
    fn walks_the_branch_that_was_seen() {
        let input = r#"[
  {"id":"c1","conversation_id":"c1","title":"Bread","create_time":1700000000.5,"current_node":"n7","mapping":{
    "root":{"id":"root","parent":null,"children":["n1"],"message":null},
    "n1":{"id":"n1","parent":"root","message":{"id":"n1","author":{"role":"system"},"content":{"content_type":"text","parts":[""]},"weight":0}},
    "n2":{"id":"n2","parent":"n1","message":{"id":"n2","author":{"role":"user"},"create_time":1700000001.25,"content":{"content_type":"multimodal_text","parts":[{"content_type":"image_asset_pointer"},"How hot?",{"content_type":"audio_transcription","text":"The oven."}]},"weight":1}},
    "n3":{"id":"n3","parent":"n2","message":{"id":"n3","author":{"role":"assistant"},"content":{"content_type":"text","parts":["An answer that was replaced"]}}},
    "n4":{"id":"n4","parent":"n2","message":{"id":"n4","author":{"role":"assistant"},"recipient":"web","content":{"content_type":"code","text":"search()"}}},
    "n5":{"id":"n5","parent":"n4","message":{"id":"n5","author":{"role":"tool"},"content":{"content_type":"text","parts":["found"]}}},
    "n6":{"id":"n6","parent":"n5","message":{"id":"n6","author":{"role":"user"},"metadata":{"is_visually_hidden_from_conversation":true},"content":{"content_type":"text","parts":["hidden"]}}},
    "n7":{"id":"n7","parent":"n6","message":{"id":"n7","author":{"role":"assistant"},"create_time":null,"recipient":"all","content":{"content_type":"text","parts":["240 °C.citeturn0search1"]}}}}}
]"#;
        let input = input.replace("citeturn0search1", "\u{e200}cite\u{e202}turn0search1\u{e201}");
        let read = check(
            &input,
            "chatgpt",
            &["c1 0 n2 user 2023-11-14T22:13:21.250Z: How hot?⏎⏎The oven.", "c1 1 n7 assistant -: 240 °C."],
        );
        assert_eq!(
            counts(&read),
            ["instructions 1", "tool_use 1", "tool_result 1", "attachment 1", "hidden 1", "other_branch 1"]
        );
    }

    #[test]
    fn broken_trees_give_what_can_be_reached() {
        let node = |key: &str, parent: &str| {
            format!(
                r#""{key}":{{"parent":"{parent}","message":{{"author":{{"role":"user"}},"content":{{"parts":["{key}"]}}}}}}"#
            )
        };
        let tree = |rest: &str, nodes: &[String]| format!(r#"{{{rest}"mapping":{{{}}}}}"#, nodes.join(","));
        let input = [
            tree(r#""id":"loop","current_node":"a","#, &[node("a", "b"), node("b", "a")]),
            tree(r#""id":"lost","current_node":"a","#, &[node("a", "nowhere")]),
            tree(r#""id":"endless","current_node":5,"#, &[node("a", "x"), node("b", "a")]),
            tree("", &[node("a", "x")]),
            r#"{"mapping":[]}"#.to_owned(),
            r#"{"mapping":{"a":null},"current_node":"a"}"#.to_owned(),
            r#"{"mapping":{"a":{"message":{"author":{"role":"user"},"content":7}}},"current_node":"a"}"#
                .to_owned(),
            "{broken}".to_owned(),
            "7".to_owned(),
            tree(r#""id":"good","current_node":"a","#, &[node("a", "")]),
            r#"{"id":"cut","mapping":{"a":{"#.to_owned(),
        ];
        let read = check(
            &format!("[{}", input.join(",\n")),
            "chatgpt",
            &[
                "loop 0 b user -: b",
                "loop 1 a user -: a",
                "lost 0 a user -: a",
                "endless 0 a user -: a",
                "endless 1 b user -: b",
                "file:4 0 a user -: a",
                "good 0 a user -: a",
            ],
        );
        assert_eq!(counts(&read), ["not_json 1", "cut 1", "no_text 1", "not_message 2", "broken_tree 7"]);
        assert!(read.cut);
    }
}
