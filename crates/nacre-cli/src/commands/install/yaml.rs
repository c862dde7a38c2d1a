//! The server in `extensions` of a YAML file: Goose. Nothing that reads YAML keeps its comments, so the file is changed by
//! lines, and only where its lines leave no doubt: keys at the margin, what belongs to them indented by spaces.

use super::Program;
use super::part::SERVER;

const KEY: &str = "extensions";

/// Where the extensions stand, in lines.
struct Outline<'a> {
    /// With their ends.
    lines: Vec<&'a str>,
    /// How a line ends.
    end: &'static str,
    /// The line `extensions:`, and the one behind the last that belongs to it.
    extensions: Option<(usize, usize)>,
    /// What an extension is indented by.
    indent: String,
    /// The lines of our own.
    ours: Option<(usize, usize)>,
}

pub fn install(text: &str, program: &Program) -> Result<String, String> {
    let outline = Outline::read(text)?;
    let (end, indent) = (outline.end, &outline.indent);
    if let Some((from, to)) = outline.ours {
        let ours = updated(&outline.lines[from..to], end, program)?;
        return Ok(outline.lines[..from].concat() + &ours + &outline.lines[to..].concat());
    }
    let mut new = String::new();
    let mut line = |depth: usize, words: &str| {
        new.push_str(&format!("{}{words}{end}", indent.repeat(depth)));
    };
    if outline.extensions.is_none() {
        line(0, &format!("{KEY}:"));
    }
    line(1, &format!("{SERVER}:"));
    for field in ["enabled: true", "type: stdio", "name: nacre"] {
        line(2, field);
    }
    line(2, "description: \"Memory across sessions\"");
    line(2, &format!("cmd: {}", string(&program.path)));
    line(2, &arguments(program));
    for field in ["envs: {}", "env_keys: []", "timeout: 300", "bundled: false"] {
        line(2, field);
    }
    let at = outline.extensions.map_or(outline.lines.len(), |(_, to)| to);
    let (before, after) = (outline.lines[..at].concat(), outline.lines[at..].concat());
    // The last line of a file may have no end.
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { end };
    let before = match outline.extensions {
        Some((from, _)) if is_braces(outline.lines[from]) => {
            outline.lines[..from].concat() + &outline.lines[from].replacen(" {}", "", 1)
        }
        _ => before,
    };
    Ok([&before, gap, &new, &after].concat::<str>())
}

pub fn remove(text: &str, before: Option<&str>) -> Result<String, String> {
    let outline = Outline::read(text)?;
    let (Some((from, to)), Some((first, last))) = (outline.ours, outline.extensions) else {
        return Ok(text.to_owned());
    };
    // Without a command it is a server of the person's own.
    if !outline.lines[from..to].iter().any(|line| line.trim_start().starts_with("cmd:")) {
        return Ok(text.to_owned());
    }
    let before = before.and_then(|before| Outline::read(before).ok());
    let earlier =
        before.as_ref().and_then(|before| Some(before.lines[before.ours?.0..before.ours?.1].concat()));
    let alone = earlier.is_none() && outline.lines[first + 1..last].len() == to - from;
    // The line `extensions:` is ours where nothing else is below it, and nothing was there before us.
    let heading = match before.as_ref().map(|before| before.extensions.map(|(line, _)| before.lines[line])) {
        Some(Some(line)) => {
            if alone {
                line
            } else {
                outline.lines[first]
            }
        }
        _ => {
            if alone {
                ""
            } else {
                outline.lines[first]
            }
        }
    };
    let mut left = [
        &outline.lines[..first].concat(),
        heading,
        &outline.lines[first + 1..from].concat(),
        &earlier.unwrap_or_default(),
        &outline.lines[to..].concat(),
    ]
    .concat::<str>();
    let ended = before.is_none_or(|before| before.lines.last().is_none_or(|line| line.ends_with('\n')));
    if !ended && to == outline.lines.len() {
        left.truncate(left.trim_end_matches(['\r', '\n']).len());
    }
    Ok(left)
}

/// Our own lines with the command as it should be; what else stands there is the person's.
fn updated(lines: &[&str], end: &str, program: &Program) -> Result<String, String> {
    let unsure = || format!("`{KEY}`.`{SERVER}` in it is not written as expected");
    let depth = lines[1..]
        .iter()
        .find(|line| is_content(line))
        .map(|line| indent_of(line).len())
        .ok_or_else(unsure)?;
    let field = |line: &str, key: &str| {
        indent_of(line).len() == depth
            && line.trim_start().strip_prefix(key).is_some_and(|rest| rest.starts_with(':'))
    };
    let mut text = String::new();
    let (mut command, mut words) = (false, false);
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let indent = indent_of(line);
        at += 1;
        if field(line, "cmd") {
            command = true;
            text.push_str(&kept(line, &format!("{indent}cmd: {}{end}", string(&program.path))));
        } else if field(line, "args") {
            words = true;
            let from = at - 1;
            // A list below it: deeper, or at the same depth with its dashes.
            while lines.get(at).is_some_and(|line| {
                indent_of(line).len() > depth
                    || (indent_of(line).len() == depth && line.trim_start().starts_with('-'))
            }) {
                at += 1;
            }
            let found = lines[from..at].concat();
            let new = format!("{indent}{}{end}", arguments(program));
            text.push_str(&if listed(&found) == Some(program.arguments(&["mcp"])) { found } else { new });
        } else if field(line, "uri") || field(line, "url") {
            return Err(format!("`{KEY}`.`{SERVER}` in it is a server at a URL already"));
        } else {
            text.push_str(line);
        }
    }
    if command && words { Ok(text) } else { Err(unsure()) }
}

/// The line that is there, where it says the same: Goose writes plain words without quotes.
fn kept(line: &str, new: &str) -> String {
    let value = |line: &str| line.split_once(": ").and_then(|(_, value)| scalar(value.trim()));
    if value(line).is_some() && value(line) == value(new) { line.to_owned() } else { new.to_owned() }
}

/// The list below `args:`, on one line or one item a line; `None` where that can't be told.
fn listed(text: &str) -> Option<Vec<String>> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let first = first.trim().strip_prefix("args:")?.trim();
    if !first.is_empty() {
        return serde_json::from_str(first).ok();
    }
    rest.lines().map(|line| scalar(line.trim().strip_prefix("- ")?.trim())).collect()
}

/// A word in quotes, or one that is plain beyond doubt.
fn scalar(word: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./\\+=,".contains(c);
    if word.starts_with('"') {
        serde_json::from_str(word).ok()
    } else if let Some(inner) = word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')) {
        Some(inner.replace("''", "'"))
    } else {
        (!word.is_empty() && word.chars().all(plain)).then(|| word.to_owned())
    }
}

/// Every string of JSON is one of YAML.
fn string(word: &str) -> String {
    serde_json::Value::from(word).to_string()
}

fn arguments(program: &Program) -> String {
    let words: Vec<String> = program.arguments(&["mcp"]).iter().map(|word| string(word)).collect();
    format!("args: [{}]", words.join(", "))
}

fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches(' ').len()]
}

/// Tells whether a line is more than space and a comment.
fn is_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

/// The key of a line and what stands behind it; `None`: there is no key that can be relied on.
fn value_of(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim().split_once(':')?;
    let plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    (plain && !key.starts_with('-') && (value.is_empty() || value.starts_with(' ')))
        .then(|| (key, value.trim()))
        .map(|(key, value)| (key, if value.starts_with('#') { "" } else { value }))
}

/// Tells whether a value ends where its line does. What goes on in the next line may look like anything there.
fn ends(value: &str) -> bool {
    let without_comment = |text: &str| text.split(" #").next().unwrap_or_default().trim_end().to_owned();
    let mut rest = value.chars();
    match rest.next() {
        Some('"') => {
            while let Some(c) = rest.next() {
                match c {
                    '\\' => drop(rest.next()),
                    '"' => return without_comment(&format!(" {}", rest.as_str())).trim().is_empty(),
                    _ => {}
                }
            }
            false
        }
        Some('\'') => {
            let inner = rest.as_str().replace("''", "");
            inner
                .split_once('\'')
                .is_some_and(|(_, rest)| without_comment(&format!(" {rest}")).trim().is_empty())
        }
        Some('{') => without_comment(value).ends_with('}'),
        Some('[') => without_comment(value).ends_with(']'),
        _ => true,
    }
}

/// How many of these lines belong to what is at this depth: space and comments behind it do not, but what is deeper may be
/// a text that looks like a comment.
fn theirs(lines: &[&str], depth: usize) -> usize {
    let last = lines
        .iter()
        .rposition(|line| is_content(line) || (!line.trim().is_empty() && indent_of(line).len() > depth));
    last.map_or(0, |last| last + 1)
}

fn is_braces(line: &str) -> bool {
    value_of(line).is_some_and(|(key, value)| key == KEY && is_empty_map(value))
}

fn is_empty_map(value: &str) -> bool {
    value.strip_prefix("{}").is_some_and(|rest| rest.is_empty() || rest.starts_with(" #"))
}

impl<'a> Outline<'a> {
    fn read(text: &'a str) -> Result<Outline<'a>, String> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut extensions = None;
        let mut key = "";
        for (at, line) in lines.iter().enumerate() {
            let unsure = |what: &str| Err(format!("{what} (line {})", at + 1));
            if !is_content(line) {
                continue;
            }
            if line.trim_start_matches(' ').starts_with('\t') {
                return unsure("a tab stands before what it says");
            }
            let item = line.trim().trim_start_matches("- ");
            if !ends(item) || !item.split_once(": ").is_none_or(|(_, value)| ends(value.trim())) {
                return unsure("it is not clear where this value ends");
            }
            if !indent_of(line).is_empty() {
                if key.is_empty() {
                    return unsure("something is indented under no key");
                }
                continue;
            }
            if line.trim_end() == "---" && key.is_empty() {
                continue;
            }
            if line.starts_with("- ") && !key.is_empty() && key != KEY {
                continue;
            }
            let Some((found, value)) = value_of(line) else {
                return unsure("it is not clear what this line is");
            };
            key = found;
            if found == KEY {
                if extensions.is_some() {
                    return unsure("`extensions` stands in it twice");
                }
                if !value.is_empty() && !is_empty_map(value) {
                    return unsure("`extensions` in it is not written as a block");
                }
                extensions = Some((at, at + 1));
            }
        }
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let mut outline = Outline { lines, end, extensions, indent: "  ".into(), ours: None };
        outline.find()?;
        Ok(outline)
    }

    /// Finds what belongs to `extensions`, and ours in it.
    fn find(&mut self) -> Result<(), String> {
        let Some((first, _)) = self.extensions else { return Ok(()) };
        let below = &self.lines[first + 1..];
        let length = below.iter().position(|line| is_content(line) && indent_of(line).is_empty());
        let below = &below[..length.unwrap_or(below.len())];
        let depth = below.iter().find(|line| is_content(line)).map_or(0, |line| indent_of(line).len());
        let below = &below[..theirs(below, depth)];
        self.extensions = Some((first, first + 1 + below.len()));
        if below.iter().any(|line| line.trim_end().ends_with('+')) {
            return Err("a text in `extensions` may keep the empty lines behind it".into());
        }
        let Some(of_first) = below.iter().find(|line| is_content(line)) else { return Ok(()) };
        if is_braces(self.lines[first]) {
            return Err("`extensions` in it is empty and is not".into());
        }
        self.indent = indent_of(of_first).to_owned();
        let mut starts = Vec::new();
        for (at, line) in below.iter().enumerate().filter(|(_, line)| is_content(line)) {
            let depth = indent_of(line).len();
            if depth < self.indent.len() {
                return Err(format!("it is not clear what this line is (line {})", first + at + 2));
            }
            if depth == self.indent.len() {
                starts.push((at, line.trim()));
            }
        }
        let named = |line: &str| {
            let name = line.split(':').next().unwrap_or_default().trim();
            name.trim_matches(['"', '\'']) == SERVER
        };
        let mut ours = starts.iter().enumerate().filter(|(_, (_, line))| named(line));
        let Some((place, (from, line))) = ours.next() else { return Ok(()) };
        if ours.next().is_some() || value_of(line) != Some((SERVER, "")) {
            return Err(format!("`{KEY}`.`{SERVER}` in it is not written as expected"));
        }
        let until = starts.get(place + 1).map_or(below.len(), |(next, _)| *next);
        // Comments before the next one are the next one's.
        let length = theirs(&below[*from..until], self.indent.len());
        self.ours = Some((first + 1 + from, first + 1 + from + length));
        Ok(())
    }
}
