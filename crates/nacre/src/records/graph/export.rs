//! Exports the graph for other programs: JSON, DOT and GraphML.

use std::borrow::Cow;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fact::{self, Fact};
use super::name::{self, EntitySummary};
use super::relation::{self, Relation};
use crate::base::Result;
use crate::base::redact;
use crate::store::Connection;

/// A format that other programs read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "named after the forms")]
pub enum Format {
    Json,
    Dot,
    GraphMl,
}

/// All current facts and relations.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the field names explain themselves")]
pub struct Picture {
    pub entities: Vec<EntitySummary>,
    pub facts: Vec<Fact>,
    pub relations: Vec<Relation>,
}

impl Picture {
    /// Reads all current facts and relations. Redaction comes before formatting, because a mask could
    /// otherwise swallow the format's punctuation.
    pub(crate) fn new(db: &Connection) -> Result<Picture> {
        let mut picture = Picture {
            entities: name::list(db)?,
            facts: fact::list(db, &fact::Filter::default(), usize::MAX)?,
            relations: relation::list(db, None, None, false, usize::MAX)?,
        };
        let hide = |text: &mut String| {
            if let Cow::Owned(masked) = redact::text(text) {
                *text = masked;
            }
        };
        for entity in &mut picture.entities {
            hide(&mut entity.name);
            entity.aliases.iter_mut().for_each(hide);
        }
        for fact in &mut picture.facts {
            [&mut fact.entity, &mut fact.key, &mut fact.value].into_iter().for_each(hide);
        }
        for relation in &mut picture.relations {
            [&mut relation.subject, &mut relation.predicate, &mut relation.object].into_iter().for_each(hide);
        }
        Ok(picture)
    }

    /// Writes it in a format.
    pub fn write(&self, format: Format) -> Result<String> {
        match format {
            Format::Json => Ok(serde_json::to_string_pretty(self)?),
            Format::Dot => Ok(self.dot()),
            Format::GraphMl => Ok(self.graphml()),
        }
    }

    /// Returns the number of an entity in the picture.
    fn node(&self, name: &str) -> usize {
        self.entities.iter().position(|entity| entity.name == name).unwrap_or(0)
    }

    fn facts_of<'a>(&'a self, entity: &'a EntitySummary) -> impl Iterator<Item = &'a Fact> {
        self.facts.iter().filter(move |fact| fact.entity == entity.name)
    }

    fn dot(&self) -> String {
        let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ");
        let mut text = String::from("digraph nacre {\n  node [shape=box];\n");
        for (number, entity) in self.entities.iter().enumerate() {
            let facts = self.facts_of(entity).map(|fact| format!("{}: {}", fact.key, fact.value));
            let label = std::iter::once(entity.name.clone()).chain(facts).collect::<Vec<_>>();
            let label = label.iter().map(|line| escaped(line)).collect::<Vec<_>>().join("\\n");
            let _ = writeln!(text, "  n{number} [label=\"{label}\"];");
        }
        for relation in &self.relations {
            let (from, to) = (self.node(&relation.subject), self.node(&relation.object));
            let _ = writeln!(text, "  n{from} -> n{to} [label=\"{}\"];", escaped(&relation.predicate));
        }
        text.push_str("}\n");
        text
    }

    fn graphml(&self) -> String {
        let mut text = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
        );
        let keys = [
            ("name", "node"),
            ("category", "node"),
            ("facts", "node"),
            ("predicate", "edge"),
            ("since", "edge"),
        ];
        for (key, of) in keys {
            let _ =
                writeln!(text, "  <key id=\"{key}\" for=\"{of}\" attr.name=\"{key}\" attr.type=\"string\"/>");
        }
        text.push_str("  <graph edgedefault=\"directed\">\n");
        let data = |key: &str, value: &str| format!("<data key=\"{key}\">{}</data>", xml(value));
        for (number, entity) in self.entities.iter().enumerate() {
            let facts =
                self.facts_of(entity).map(|fact| format!("{}: {}", fact.key, fact.value)).collect::<Vec<_>>();
            let inner = [
                data("name", &entity.name),
                data("category", &entity.category),
                data("facts", &facts.join("\n")),
            ];
            let _ = writeln!(text, "    <node id=\"n{number}\">{}</node>", inner.concat());
        }
        for relation in &self.relations {
            let (from, to) = (self.node(&relation.subject), self.node(&relation.object));
            let inner = data("predicate", &relation.predicate) + &data("since", &relation.since.to_string());
            let _ = writeln!(text, "    <edge source=\"n{from}\" target=\"n{to}\">{inner}</edge>");
        }
        text.push_str("  </graph>\n</graphml>\n");
        text
    }
}

/// Escapes text for XML. Characters that XML can't represent become spaces.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                out.push(' ')
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::xml;

    #[test]
    fn nothing_breaks_out_of_xml() {
        assert_eq!(xml("a<b>&\"c\u{1}\u{ffff}"), "a&lt;b&gt;&amp;&quot;c  ");
    }
}
