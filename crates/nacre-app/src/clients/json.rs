//! Edits one place of a JSON text and leaves every other byte unchanged: order, spacing, and the comments and trailing commas that
//! some clients allow. For the settings of other programs, which are not ours to format.

use std::ops::Range;

use serde_json::Value;

/// One step into a document.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// A parsed JSON text.
#[derive(Debug)]
pub struct Document {
    text: String,
    root: Node,
}

#[derive(Debug)]
struct Node {
    span: Range<usize>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar,
}

#[derive(Debug)]
struct Member {
    /// The start of its key.
    start: usize,
    key: String,
    node: Node,
}

/// The deepest nesting of a text.
const MAX_DEPTH: usize = 128;

impl Document {
    /// Parses a text; the error says what is wrong, and in which line.
    pub fn read(text: &str) -> Result<Document, String> {
        let mut reader = Reader { text, at: if text.starts_with('\u{feff}') { 3 } else { 0 } };
        let read = reader.value(0).and_then(|root| {
            reader.space()?;
            if reader.at < text.len() { Err("there is more text after its end".into()) } else { Ok(root) }
        });
        match read {
            Ok(root) => Ok(Document { text: text.to_owned(), root }),
            Err(problem) => {
                let line = text[..reader.at.min(text.len())].matches('\n').count() + 1;
                Err(format!("{problem} (line {line})"))
            }
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the value at a path.
    pub fn get(&self, path: &[Step<'_>]) -> Option<Value> {
        self.find(path).map(|node| self.value(node))
    }

    /// Sets the value at a path, which exists or is the next one of its container.
    pub fn set(&mut self, path: &[Step<'_>], value: &Value) {
        let Some((last, container)) = path.split_last() else { return };
        if let Some(node) = self.find(path) {
            let item = self.written(value, self.indent_at(node.span.start));
            self.splice(node.span.clone(), &item);
            return;
        }
        let Some(node) = self.find(container) else { return };
        let (first, end) = match &node.kind {
            Kind::Object(members) => (
                members.first().map(|member| member.start),
                members.last().map(|member| member.node.span.end),
            ),
            Kind::Array(nodes) => {
                (nodes.first().map(|node| node.span.start), nodes.last().map(|node| node.span.end))
            }
            Kind::Scalar => return,
        };
        let close = node.span.end - 1;
        let lines = match first {
            Some(first) => self.text[node.span.start..first].contains('\n'),
            None => self.text.contains('\n') || self.text.trim() == "{}",
        };
        let outer = self.indent_at(node.span.start).to_owned();
        let inner = match first {
            Some(first) if lines => self.indent_at(first).to_owned(),
            _ => outer.clone() + &self.unit(),
        };
        let item = match last {
            Step::Key(key) => format!("{}: {}", Value::from(*key), self.written(value, &inner)),
            Step::Index(_) => self.written(value, &inner),
        };
        let line_end = self.line_end();
        match end {
            None => {
                // There may be a comment between the brackets.
                let start = node.span.start + 1 + self.text[node.span.start + 1..close].trim_end().len();
                let item = if lines { format!("{line_end}{inner}{item}{line_end}{outer}") } else { item };
                self.splice(start..close, &item);
            }
            Some(end) => {
                let (at, behind) = match self.comma(end) {
                    Some(at) => (at, ","),
                    None => {
                        self.splice_unread(end..end, ",");
                        (end + 1, "")
                    }
                };
                // A comment after the last one stays on its line.
                let rest = self.text[at..].lines().next().unwrap_or_default();
                let comment = rest.trim().is_empty() || rest.trim().starts_with("//");
                let at = if lines && comment { at + rest.len() } else { at };
                let before = if lines { format!("{line_end}{inner}") } else { " ".into() };
                self.splice(at..at, &format!("{before}{item}{behind}"));
            }
        }
    }

    /// Removes the value at a path, with its comma.
    pub fn remove(&mut self, path: &[Step<'_>]) {
        let Some((_, container)) = path.split_last() else { return };
        let (Some(gone), Some(node)) = (self.find(path), self.find(container)) else { return };
        let spans: Vec<Range<usize>> = match &node.kind {
            Kind::Object(members) => {
                members.iter().map(|member| member.start..member.node.span.end).collect()
            }
            Kind::Array(nodes) => nodes.iter().map(|node| node.span.clone()).collect(),
            Kind::Scalar => return,
        };
        let Some(place) = spans.iter().position(|span| span.end == gone.span.end) else { return };
        let Range { start, end } = spans[place].clone();
        let behind = self.comma(end);
        let before = place.checked_sub(1).map(|before| spans[before].end);
        // With the space before it, except after a line comment, which would swallow what follows.
        let gap = &self.text[before.unwrap_or(node.span.start + 1)..start];
        let comment = gap.trim_end().lines().last().is_some_and(|line| line.contains("//"));
        let rest = self.text[behind.unwrap_or(end)..].trim_start_matches([' ', '\t']);
        let ends = rest.starts_with(['\r', '\n']);
        let lead = if comment && !ends { start } else { self.text[..start].trim_end().len() };
        match (before, spans.get(place + 1), behind) {
            (None, Some(next), _) => self.splice(start..next.start, ""),
            (Some(_), _, Some(behind)) => self.splice(lead..behind, ""),
            (Some(before), _, None) => {
                self.splice_unread(lead..end, "");
                if let Some(comma) = self.comma(before) {
                    self.splice_unread(comma - 1..comma, "");
                }
                self.splice(0..0, "");
            }
            (None, None, behind) => {
                let end = behind.unwrap_or(end);
                let (open, close) = (node.span.start + 1, node.span.end - 1);
                let alone = lead <= open && self.text[end..close].trim().is_empty();
                self.splice(if alone { open..close } else { lead..end }, "");
            }
        }
    }

    /// Returns the place after the comma that follows, if there is one.
    fn comma(&self, at: usize) -> Option<usize> {
        let mut reader = Reader { text: &self.text, at };
        reader.space().ok()?;
        (reader.peek() == Some(b',')).then_some(reader.at + 1)
    }

    fn splice(&mut self, span: Range<usize>, item: &str) {
        self.splice_unread(span, item);
        *self =
            Document::read(&self.text).expect("a valid value in the place of another, or none and no comma");
    }

    /// Makes the first half of a change. The nodes do not match the text until the second.
    fn splice_unread(&mut self, span: Range<usize>, item: &str) {
        self.text.replace_range(span, item);
    }

    fn find(&self, path: &[Step<'_>]) -> Option<&Node> {
        path.iter().try_fold(&self.root, |node, step| match (&node.kind, step) {
            // Of two members with the same name the last counts, as in every client.
            (Kind::Object(members), Step::Key(key)) => {
                members.iter().rev().find(|member| member.key == *key).map(|member| &member.node)
            }
            (Kind::Array(nodes), Step::Index(index)) => nodes.get(*index),
            _ => None,
        })
    }

    fn value(&self, node: &Node) -> Value {
        match &node.kind {
            Kind::Object(members) => {
                members.iter().map(|member| (member.key.clone(), self.value(&member.node))).collect()
            }
            Kind::Array(nodes) => nodes.iter().map(|node| self.value(node)).collect(),
            Kind::Scalar => serde_json::from_str(&self.text[node.span.clone()]).unwrap_or_default(),
        }
    }

    /// Returns the indent of one level; empty if everything is on one line.
    fn unit(&self) -> String {
        let indented = self.text.lines().skip(1).find(|line| line.starts_with([' ', '\t']));
        let of = |line: &str| line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect::<String>();
        indented.map_or_else(|| "  ".into(), of)
    }

    /// Returns the indent of the line of a place.
    fn indent_at(&self, at: usize) -> &str {
        let line = &self.text[self.text[..at].rfind('\n').map_or(0, |end| end + 1)..at];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    fn line_end(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// Formats a value for a line with this indent.
    fn written(&self, value: &Value, indent: &str) -> String {
        if !self.text.contains('\n') && self.text.trim() != "{}" {
            return value.to_string();
        }
        let pretty = serde_json::to_string_pretty(value).expect("a value has no keys but strings");
        let unit = self.unit();
        let mut lines = pretty.lines().map(|line| {
            let inner = line.trim_start_matches(' ');
            unit.repeat((line.len() - inner.len()) / 2) + inner
        });
        let first = lines.next().unwrap_or_default();
        let line_end = self.line_end();
        lines.fold(first, |text, line| format!("{text}{line_end}{indent}{line}"))
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips white space and comments.
    fn space(&mut self) -> Result<(), String> {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.at += blank;
            let rest = &rest[blank..];
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                self.at += comment.find("*/").ok_or("a comment has no end")? + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, String> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deep".into());
        }
        self.space()?;
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => {
                let mut members = Vec::new();
                self.items(b'}', |reader| {
                    let start = reader.at;
                    if reader.peek() != Some(b'"') {
                        return Err("a key in quotes is missing".into());
                    }
                    let key = reader.scalar()?;
                    reader.space()?;
                    if reader.peek() != Some(b':') {
                        return Err("a `:` is missing".into());
                    }
                    reader.at += 1;
                    let key =
                        serde_json::from_str(&reader.text[key]).map_err(|problem| problem.to_string())?;
                    members.push(Member { start, key, node: reader.value(depth + 1)? });
                    Ok(())
                })?;
                Kind::Object(members)
            }
            Some(b'[') => {
                let mut nodes = Vec::new();
                self.items(b']', |reader| {
                    nodes.push(reader.value(depth + 1)?);
                    Ok(())
                })?;
                Kind::Array(nodes)
            }
            _ => {
                self.scalar()?;
                Kind::Scalar
            }
        };
        Ok(Node { span: start..self.at, kind })
    }

    /// Reads a list between brackets, separated by commas, with an optional trailing comma.
    fn items(
        &mut self,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let missing = || format!("a `,` or a `{}` is missing", char::from(close));
        self.at += 1;
        loop {
            self.space()?;
            if self.peek() == Some(close) {
                break;
            }
            item(self)?;
            self.space()?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == close => break,
                _ => return Err(missing()),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Reads a string, a number or a word.
    fn scalar(&mut self) -> Result<Range<usize>, String> {
        let (start, bytes) = (self.at, self.text.as_bytes());
        if self.peek() == Some(b'"') {
            let mut end = start + 1;
            while bytes.get(end).is_some_and(|byte| *byte != b'"') {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            if end >= bytes.len() {
                return Err("a string has no end".into());
            }
            self.at = end + 1;
        } else {
            let ends =
                |byte: &u8| !matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'.');
            self.at += bytes[start..].iter().position(ends).unwrap_or(bytes.len() - start);
        }
        let span = start..self.at;
        match serde_json::from_str::<Value>(&self.text[span.clone()]) {
            Ok(_) => Ok(span),
            Err(_) if start == self.at => Err("a value is missing".into()),
            Err(_) => Err("this is no value".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Sets a value, compares the text, removes the value, and compares with the original.
    #[track_caller]
    fn check(before: &str, path: &[Step<'_>], value: &Value, after: &str) {
        let mut document = Document::read(before).unwrap();
        document.set(path, value);
        assert_eq!(document.text(), after);
        assert_eq!(document.get(path).as_ref(), Some(value));
        document.remove(path);
        assert_eq!(document.text(), before);
    }

    #[test]
    fn only_the_place_changes() {
        use Step::{Index, Key};
        check("{}", &[Key("a")], &json!(1), "{\n  \"a\": 1\n}");
        check("{\"z\":1}", &[Key("a")], &json!([1, {"b": 2}]), "{\"z\":1, \"a\": [1,{\"b\":2}]}");
        check(
            "{\n    \"z\": [1,2] // two\n}\n",
            &[Key("a")],
            &json!({"b": 2}),
            "{\n    \"z\": [1,2], // two\n    \"a\": {\n        \"b\": 2\n    }\n}\n",
        );
        check("{\n\t\"z\": 1,\n}", &[Key("a")], &json!(2), "{\n\t\"z\": 1,\n\t\"a\": 2,\n}");
        check("{\n  // none\n}\n", &[Key("a")], &json!(2), "{\n  // none\n  \"a\": 2\n}\n");
        check("{\n  \"z\": 1 }", &[Key("a")], &json!(2), "{\n  \"z\": 1,\n  \"a\": 2 }");
        check(
            "{\"z\": {\"y\": []}}",
            &[Key("z"), Key("y"), Index(0)],
            &json!("x"),
            "{\"z\": {\"y\": [\"x\"]}}",
        );
        check(
            "\u{feff}{\"z\": [true]}",
            &[Key("z"), Index(1)],
            &json!(null),
            "\u{feff}{\"z\": [true, null]}",
        );
    }

    #[test]
    fn a_comment_never_takes_what_stands_behind_it() {
        for (before, after) in [
            ("{\"z\": 1, // c\n \"a\": 2, \"b\": 3}", "{\"z\": 1, // c\n  \"b\": 3}"),
            ("{\"z\": 1, // c\n \"a\": 2}", "{\"z\": 1 // c\n }"),
            ("{// c\n \"a\": 2}", "{// c\n }"),
            ("{\n  \"z\": 1, // c\n  \"a\": 2\n}", "{\n  \"z\": 1 // c\n}"),
            ("{\"a\": 2 // c\n}", "{ // c\n}"),
            ("{\"z\": \"http://x\", \"a\": 2}", "{\"z\": \"http://x\"}"),
        ] {
            let mut document = Document::read(before).unwrap();
            document.remove(&[Step::Key("a")]);
            assert_eq!(document.text(), after);
        }
    }

    #[test]
    fn what_is_there_is_replaced_and_the_last_of_two_counts() {
        let mut document = Document::read(r#"{"a": 1, "b": {"c": "\u0061\""}, "a": 2} /* end */"#).unwrap();
        assert_eq!(document.get(&[Step::Key("a")]), Some(json!(2)));
        assert_eq!(document.get(&[Step::Key("b"), Step::Key("c")]), Some(json!("a\"")));
        document.set(&[Step::Key("a")], &json!(3));
        assert_eq!(document.text(), r#"{"a": 1, "b": {"c": "\u0061\""}, "a": 3} /* end */"#);
        document.remove(&[Step::Key("b")]);
        assert_eq!(document.text(), r#"{"a": 1, "a": 3} /* end */"#);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for (text, problem) in [
            ("", "a value is missing (line 1)"),
            ("{\n\"a\" 1}", "a `:` is missing (line 2)"),
            ("{a: 1}", "a key in quotes is missing (line 1)"),
            ("{\"a\": 1\n\"b\": 2}", "a `,` or a `}` is missing (line 2)"),
            ("{\"a\": nul}", "this is no value (line 1)"),
            ("{\"a\": \"x", "a string has no end (line 1)"),
            ("{\"a\": \"x\\", "a string has no end (line 1)"),
            ("{\"a\": \"\0\"}", "this is no value (line 1)"),
            ("{} {}", "there is more text after its end (line 1)"),
            ("/* {}", "a comment has no end (line 1)"),
            ("{\"é\": 1, ü}", "a key in quotes is missing (line 1)"),
        ] {
            assert_eq!(Document::read(text).unwrap_err(), problem, "{text}");
        }
        assert!(Document::read(&"[".repeat(100_000)).unwrap_err().starts_with("it is nested too deep"));
    }
}
