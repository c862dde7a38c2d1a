//! The filters of mem0's clients: parsed once, within limits, and applied to entries exactly. They compare redacted values, so
//! that no filter reveals a credential.

use serde_json::{Map, Value};

use super::mem0::OWNERS;
use crate::base::redact;
use crate::base::{Error, Result, Time};
use crate::records::entry::Entry;

/// The most comparisons of a filter, because each is made with every memory.
const MAX_COMPARISONS: usize = 500;
/// The most characters of a filter, as JSON.
const MAX_FILTER_CHARS: usize = 100_000;

/// A condition on memories.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Filter {
    /// All of these.
    All(Vec<Filter>),
    /// One of these.
    Any(Vec<Filter>),
    /// None of these.
    None(Vec<Filter>),
    /// A comparison of a field with a value.
    Is(String, Op, Value),
}

/// An operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Eq,
    Ne,
    In,
    Nin,
    Gt,
    Gte,
    Lt,
    Lte,
    Contains,
    Icontains,
}

const OPS: &[(&str, Op)] = &[
    ("eq", Op::Eq),
    ("ne", Op::Ne),
    ("in", Op::In),
    ("nin", Op::Nin),
    ("gt", Op::Gt),
    ("gte", Op::Gte),
    ("lt", Op::Lt),
    ("lte", Op::Lte),
    ("contains", Op::Contains),
    ("icontains", Op::Icontains),
];

/// The fields that are times.
const TIME_FIELDS: &[&str] = &["created_at", "timestamp", "updated_at"];

impl Filter {
    /// Reads a filter within the limits.
    pub(super) fn read(filters: Map<String, Value>) -> Result<Filter> {
        let filters = Value::Object(filters);
        let filter = Filter::parse(&filters)?;
        if filter.compared() > MAX_COMPARISONS || filters.to_string().len() > MAX_FILTER_CHARS {
            let problem = format!(
                "compare more than {MAX_COMPARISONS} times, or have more than {MAX_FILTER_CHARS} characters"
            );
            return Err(Error::bad_argument("mem0", "filters", problem));
        }
        Ok(filter)
    }

    /// Returns its number of comparisons.
    fn compared(&self) -> usize {
        match self {
            Filter::All(many) | Filter::Any(many) | Filter::None(many) => {
                1 + many.iter().map(Filter::compared).sum::<usize>()
            }
            Filter::Is(..) => 1,
        }
    }

    /// Tells whether every match belongs to an owner that it names.
    pub(super) fn names_owner(&self) -> bool {
        match self {
            Filter::All(all) => all.iter().any(Filter::names_owner),
            Filter::Any(any) => any.iter().all(Filter::names_owner),
            Filter::None(_) => false,
            Filter::Is(name, op, value) => {
                let named =
                    *op == Op::In || *op == Op::Eq && value.as_str().is_some_and(|value| value != "*");
                named && OWNERS.contains(&name.as_str())
            }
        }
    }

    /// Reads a filter as mem0 writes it.
    fn parse(value: &Value) -> Result<Filter> {
        let bad = |problem: String| Error::bad_argument("mem0", "filters", problem);
        let Value::Object(fields) = value else {
            return Err(bad("has a value that is not an object".into()));
        };
        let many = |name: &str, value: &Value| match value {
            Value::Array(filters) => filters.iter().map(Filter::parse).collect::<Result<Vec<_>>>(),
            Value::Object(_) if name == "NOT" => Ok(vec![Filter::parse(value)?]),
            _ => Err(bad(format!("has `{name}` without a list"))),
        };
        let mut all = Vec::new();
        for (name, value) in fields {
            match name.as_str() {
                "AND" => all.push(Filter::All(many(name, value)?)),
                "OR" => all.push(Filter::Any(many(name, value)?)),
                "NOT" => all.push(Filter::None(many(name, value)?)),
                "metadata" => {
                    let Value::Object(inner) = value else {
                        return Err(bad("has `metadata` that is not an object".into()));
                    };
                    for (key, value) in inner {
                        all.extend(Filter::field(&format!("metadata.{key}"), value).map_err(bad)?);
                    }
                }
                _ => all.extend(Filter::field(name, value).map_err(bad)?),
            }
        }
        Ok(match all.len() {
            1 => all.remove(0),
            _ => Filter::All(all),
        })
    }

    fn field(name: &str, value: &Value) -> Result<Vec<Filter>, String> {
        let is = |op, value: &Value| {
            let value = match (op, value) {
                (Op::In | Op::Nin, Value::Array(values)) => {
                    values.iter().map(|value| Filter::value(name, op, value)).collect::<Result<_, _>>()?
                }
                (Op::In | Op::Nin, _) => return Err("has `in` or `nin` without a list".to_owned()),
                _ => Filter::value(name, op, value)?,
            };
            Ok(Filter::Is(name.to_owned(), op, value))
        };
        match value {
            Value::Object(ops) => ops
                .iter()
                .map(|(op, value)| {
                    let known = OPS.iter().find(|(word, _)| word == op);
                    let (_, op) = known.ok_or_else(|| {
                        format!("has `{}`, which is not an operator", crate::base::text::shorten(op))
                    })?;
                    is(*op, value)
                })
                .collect(),
            Value::Array(_) => Ok(vec![is(Op::In, value)?]),
            _ => Ok(vec![is(Op::Eq, value)?]),
        }
    }

    /// Returns a value for comparison: a time as a number, because it can be written in many ways.
    fn value(name: &str, op: Op, value: &Value) -> Result<Value, String> {
        match value {
            Value::String(text) if TIME_FIELDS.contains(&name) && text != "*" => {
                let time = Time::parse(text).ok_or_else(|| format!("has `{name}` that is not a time"))?;
                Ok(time.as_millis().into())
            }
            Value::String(text) if op == Op::Icontains => Ok(text.to_lowercase().into()),
            value => Ok(value.clone()),
        }
    }

    /// Returns the owners that every match has.
    pub(super) fn owners(&self) -> Vec<(&str, &str)> {
        match self {
            Filter::All(all) => all.iter().flat_map(Filter::owners).collect(),
            Filter::Is(name, Op::Eq, Value::String(value))
                if value != "*" && OWNERS.contains(&name.as_str()) =>
            {
                vec![(name, value)]
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn fits(&self, entry: &Entry) -> bool {
        match self {
            Filter::All(all) => all.iter().all(|one| one.fits(entry)),
            Filter::Any(any) => any.iter().any(|one| one.fits(entry)),
            Filter::None(none) => !none.iter().any(|one| one.fits(entry)),
            Filter::Is(name, op, value) => compare(&field_of(entry, name), *op, value),
        }
    }
}

/// Returns a field of a memory, redacted; null if it has none. A credential must not be guessed letter by letter.
fn field_of(entry: &Entry, name: &str) -> Value {
    let data = entry.data.as_ref();
    match name {
        "id" | "memory_id" | "memory_ids" => entry.id.as_str().into(),
        "memory" | "keywords" => redact::text(&entry.content).into(),
        "created_at" | "timestamp" => entry.provenance.timestamp.as_millis().into(),
        "updated_at" => entry.last_hit_at.unwrap_or(entry.provenance.timestamp).as_millis().into(),
        "expiration_date" => data.and_then(|data| data.expires.clone()).into(),
        "categories" => entry.tags.iter().map(Value::from).collect(),
        _ if OWNERS.contains(&name) => data.and_then(|data| data.owner.get(name).cloned()).into(),
        _ => {
            let key = name.strip_prefix("metadata.").unwrap_or(name);
            let mut value = data.and_then(|data| data.metadata.get(key).cloned()).unwrap_or_default();
            redact::value(&mut value);
            value
        }
    }
}

fn compare(has: &Value, op: Op, value: &Value) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    // One matching item of a list is enough.
    if let (Value::Array(items), Op::Eq | Op::In | Op::Contains | Op::Icontains) = (has, op) {
        return items.iter().any(|item| match op {
            Op::Contains => item == value,
            Op::Icontains => lower(item).as_deref() == value.as_str(),
            op => compare(item, op, value),
        });
    }
    let order = |value: &Value| match (has, value) {
        (Value::Number(one), Value::Number(other)) => one.as_f64()?.partial_cmp(&other.as_f64()?),
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        _ => None,
    };
    let same = |value: &Value| has == value || order(value) == Some(Equal);
    match op {
        Op::Eq if value == "*" => !has.is_null(),
        Op::Eq => same(value),
        // In a list `*` is an ordinary name.
        Op::In => value.as_array().is_some_and(|values| values.iter().any(same)),
        Op::Ne => !compare(has, Op::Eq, value),
        Op::Nin => !compare(has, Op::In, value),
        Op::Gt => order(value) == Some(Greater),
        Op::Gte => matches!(order(value), Some(Greater | Equal)),
        Op::Lt => order(value) == Some(Less),
        Op::Lte => matches!(order(value), Some(Less | Equal)),
        Op::Contains => has.as_str().zip(value.as_str()).is_some_and(|(has, value)| has.contains(value)),
        Op::Icontains => lower(has).zip(value.as_str()).is_some_and(|(has, value)| has.contains(value)),
    }
}

fn lower(value: &Value) -> Option<String> {
    value.as_str().map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::ids::EntryId;

    #[test]
    fn filters_are_read_and_kept() {
        let entry = |owner: Value, metadata: Value| {
            let data = json!({ "owner": owner, "metadata": metadata, "expires": "2026-12-31" });
            serde_json::from_value::<Entry>(json!({
                "id": EntryId::new(Time::from_millis(0)), "number": 1, "type": "fact", "content": "Likes Green tea", "tags": ["tea"],
                "behavioral": false, "score": 0, "data": data,
                "provenance": { "session": "s", "group": "main", "timestamp": "2026-02-18T14:30:00Z", "source": "agent" },
            }))
            .unwrap()
        };
        let entry = entry(
            json!({ "user_id": "Ada", "run_id": "7" }),
            json!({ "room": "k", "size": 3, "list": ["a", "b"], "key": format!("ghp_{}", "a1B2".repeat(9)) }),
        );
        for (filter, fits) in [
            (json!({}), true),
            (json!({ "user_id": "Ada" }), true),
            (json!({ "user_id": "ada" }), false),
            (json!({ "user_id": "*" }), true),
            (json!({ "agent_id": "*" }), false),
            (json!({ "user_id": ["Bo", "Ada"] }), true),
            (json!({ "user_id": { "in": ["Bo"] } }), false),
            (json!({ "user_id": { "nin": ["Bo"] } }), true),
            (json!({ "user_id": { "ne": "Ada" } }), false),
            (json!({ "AND": [{ "user_id": "Ada" }, { "run_id": "7" }] }), true),
            (json!({ "AND": [{ "user_id": "Ada" }, { "run_id": "8" }] }), false),
            (json!({ "OR": [{ "user_id": "Bo" }, { "run_id": "7" }] }), true),
            (json!({ "OR": [] }), false),
            (json!({ "NOT": [{ "user_id": "Ada" }] }), false),
            (json!({ "NOT": { "user_id": "Bo" } }), true),
            (json!({ "user_id": "Ada", "NOT": [{ "run_id": "7" }] }), false),
            (json!({ "metadata": { "room": "k" } }), true),
            (json!({ "metadata": { "room": "K" } }), false),
            (json!({ "room": "k" }), true),
            (json!({ "size": { "gt": 2, "lte": 3 } }), true),
            (json!({ "size": { "lt": 3 } }), false),
            (json!({ "size": { "gt": "2" } }), false),
            (json!({ "list": { "contains": "b" } }), true),
            (json!({ "memory": { "icontains": "GREEN" } }), true),
            (json!({ "memory": { "contains": "GREEN" } }), false),
            (json!({ "categories": { "in": ["tea"] } }), true),
            (json!({ "created_at": { "gte": "2026-02-18", "lt": "2026-02-19" } }), true),
            (json!({ "created_at": { "lt": "2026-02-18" } }), false),
            // The same moment in different notations is equal.
            (json!({ "created_at": "2026-02-18T15:30:00+01:00" }), true),
            (json!({ "created_at": { "lt": "2026-02-18T14:30:00.5Z" } }), true),
            (json!({ "created_at": { "gt": "2026-02-18T15:00:00+02:00" } }), true),
            // A star means all only by itself, and a memory with a tag does not lack it.
            (json!({ "user_id": { "in": ["*"] } }), false),
            (json!({ "user_id": ["*"] }), false),
            (json!({ "user_id": { "ne": "*" } }), false),
            (json!({ "categories": { "ne": "tea" } }), false),
            (json!({ "categories": { "nin": ["tea"] } }), false),
            (json!({ "categories": { "icontains": "TEA" } }), true),
            (json!({ "list": { "ne": "c" } }), true),
            // A credential can't be guessed letter by letter.
            (json!({ "key": { "contains": "ghp_" } }), false),
            (json!({ "key": "*" }), true),
        ] {
            assert_eq!(Filter::parse(&filter).unwrap().fits(&entry), fits, "{filter}");
        }
        for bad in [
            json!([]),
            json!({ "AND": "x" }),
            json!({ "size": { "above": 3 } }),
            json!({ "OR": [3] }),
            json!({ "metadata": 3 }),
            json!({ "user_id": { "in": "Ada" } }),
            json!({ "created_at": { "gt": "yesterday" } }),
        ] {
            assert_eq!(Filter::parse(&bad).unwrap_err().code(), "bad_argument", "{bad}");
        }
    }

    #[test]
    fn a_filter_has_bounds_and_names_an_owner() {
        let read = |filter: Value| Filter::read(filter.as_object().unwrap().clone());
        for filter in
            [json!({ "OR": vec![json!({ "a": 1 }); 600] }), json!({ "a": "x".repeat(MAX_FILTER_CHARS) })]
        {
            assert_eq!(read(filter).unwrap_err().code(), "bad_argument");
        }
        for (filter, named) in [
            (json!({ "user_id": "ada" }), true),
            (json!({ "user_id": ["ada", "*"] }), true),
            (json!({ "AND": [{ "size": 3 }, { "run_id": "7" }] }), true),
            (json!({ "OR": [{ "agent_id": "a" }, { "run_id": "7" }] }), true),
            (json!({ "OR": [{ "agent_id": "a" }, { "run_id": "*" }] }), false),
            (json!({ "user_id": "*" }), false),
            (json!({ "user_id": { "ne": "ada" } }), false),
            (json!({ "NOT": [{ "user_id": "ada" }] }), false),
            (json!({ "NOT": [] }), false),
            (json!({ "memory": { "contains": "" } }), false),
        ] {
            assert_eq!(read(filter.clone()).unwrap().names_owner(), named, "{filter}");
        }
    }
}
