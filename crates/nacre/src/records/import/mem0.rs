//! A dump of mem0: `results[]` of its answers, an array of memories, or one per line.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::identity::Origin;
use super::source::{Source, head};
use super::take::{EntryState, ImportedRecord, Item, Sink};
use crate::base::Error;
use crate::records::entry::EntryType;
use crate::records::session::import::{Item as Read, Values, moment};

/// The maximum size in bytes of a dump that is one object; lines and arrays have no limit.
const MAX_DUMP_BYTES: u64 = 256 << 20;

pub(super) fn claims(path: &Path) -> bool {
    let head = head(path);
    let text = String::from_utf8_lossy(&head);
    text.trim_start().starts_with(['{', '[']) && text.contains("\"memory\"")
}

pub(super) fn read(source: &Source, sink: &mut Sink<'_>) -> crate::base::Result<()> {
    let head = head(&source.path);
    let start = String::from_utf8_lossy(&head);
    let start = start.trim_start();
    // An unmodified API answer: an object over many lines, or on one line.
    if start.starts_with('{')
        && start
            .get(..start.find("\"memory\"").unwrap_or(0))
            .is_some_and(|start| start.contains("\"results\""))
    {
        let bad =
            |problem: String| Error::ForeignSource { format: "mem0", path: source.path.clone(), problem };
        let file = File::open(&source.path).map_err(Error::io(&source.path))?;
        if file.metadata().is_ok_and(|found| found.len() > MAX_DUMP_BYTES) {
            return Err(bad(format!("is larger than {} MiB", MAX_DUMP_BYTES >> 20)));
        }
        let (mut number, mut taken) = (0, Ok(()));
        let each = |value: Value| {
            number += 1;
            taken = one(source, number, &value, sink);
            taken.is_ok()
        };
        let mut reader = serde_json::Deserializer::from_reader(BufReader::new(file.take(MAX_DUMP_BYTES)));
        let read = reader.deserialize_map(Dump(each));
        // An error in the first stopped the second.
        taken?;
        read.map_err(|problem| bad(format!("is not JSON: {problem}")))?;
        return Ok(());
    }
    let file = File::open(&source.path).map_err(Error::io(&source.path))?;
    let mut values = Values::new(BufReader::new(file));
    while let Some(item) = values.next().map_err(Error::io(&source.path))? {
        match item.value {
            Read::Value { value, .. } => one(source, item.number, &value, sink)?,
            Read::Bad { why, problem } => {
                sink.skip(&format!("{}:{} ({problem})", source.name, item.number), why.as_str());
            }
        }
    }
    Ok(())
}

/// The object with `results`, which are passed on one by one: all of them at once take seven times the memory
/// of their text. The receiver decides whether to continue.
struct Dump<F>(F);

impl<'de, F: FnMut(Value) -> bool> Visitor<'de> for Dump<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `results`")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "results" {
                map.next_value_seed(Results(&mut self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct Results<'a, F>(&'a mut F);

impl<'de, F: FnMut(Value) -> bool> DeserializeSeed<'de> for Results<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(Value) -> bool> Visitor<'de> for Results<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of memories")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(value) = list.next_element()? {
            if !(self.0)(value) {
                return Err(de::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}

fn one(source: &Source, number: usize, value: &Value, sink: &mut Sink<'_>) -> crate::base::Result<()> {
    let place = format!("{}:{number}", source.name);
    let Some(text) = value["memory"].as_str().or(value["text"].as_str()) else {
        sink.skip(&place, "no memory");
        return Ok(());
    };
    if moment(&value["expiration_date"]).is_some_and(|until| until < sink.now()) {
        sink.skip(&place, "expired");
        return Ok(());
    }
    let id = match &value["id"] {
        Value::String(id) => id.chars().take(128).collect(),
        Value::Number(id) => id.to_string(),
        _ => String::new(),
    };
    let metadata = &value["metadata"];
    let mut tags: Vec<String> = Vec::new();
    for list in [&value["categories"], &metadata["categories"], &metadata["tags"], &metadata["category"]] {
        tags.extend(list.as_str().map(str::to_owned));
        tags.extend(list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
    }
    let at = moment(&value["updated_at"]).or_else(|| moment(&value["created_at"]));
    let path = source.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // Without an id it is identified by its text.
    let key = if id.is_empty() { super::identity::hash(&[text]) } else { id.clone() };
    sink.item(Item {
        key: "memory".to_owned(),
        origin: Origin { path, line: Some(number), id, ..Origin::default() },
        at,
        private: false,
        thing: ImportedRecord::Entry {
            r#type: EntryType::Fact,
            content: text.to_owned(),
            tags,
            state: EntryState::default(),
        },
    });
    // An id means the same memory in every dump.
    sink.end_of(&key)
}
