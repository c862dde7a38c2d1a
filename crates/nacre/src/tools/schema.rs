//! Schemas of the tools, generated from their types, and the check of arguments against the published schemas.
//!
//! The check is written here instead of using a validator. The types use only a dozen keywords of JSON Schema, which a test
//! enforces, and an error has to name the field, the limit and the word that was probably meant (docs/decisions/0003).

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::base::text::nearest;
use crate::base::text::shorten;
use crate::base::{Error, Result};

/// Returns the schema of a request, with its doc comments as descriptions.
pub(super) fn input<T: JsonSchema>() -> Value {
    input_of(SchemaGenerator::into_root_schema_for::<T>)
}

/// Makes the schema of one type. The functions that take it are compiled once, not for every type.
type MakeSchema = fn(SchemaGenerator) -> Schema;

fn input_of(make: MakeSchema) -> Value {
    let mut schema = generate(make, dialect());
    schema["additionalProperties"] = json!(false);
    schema
}

/// Returns the schema of an answer without descriptions: a model reads the answer, and pays for every byte of the schema.
pub(super) fn output<T: JsonSchema>() -> Value {
    output_of(SchemaGenerator::into_root_schema_for::<T>)
}

fn output_of(make: MakeSchema) -> Value {
    // For serialisation: a field that is left out when empty is not required.
    let mut schema = generate(make, dialect().for_serialize());
    strip(&mut schema);
    // The fields of nested objects are left out.
    for property in
        schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
    {
        if property["type"] == "object" {
            *property = json!({ "type": "object" });
        }
        // Items of a list keep only names and types.
        if let Some(item) = property.get_mut("items").and_then(Value::as_object_mut) {
            item.remove("required");
        }
    }
    schema
}

/// Merges an answer that has one of several forms into one object with all their fields, none required. Clients expect an
/// object.
fn join(schema: &mut Value) {
    let Some(Value::Array(forms)) = schema.get_mut("anyOf").map(Value::take) else { return };
    let mut properties = Map::new();
    for mut form in forms {
        if let Value::Object(own) = form["properties"].take() {
            properties.extend(own);
        }
    }
    *schema = json!({ "type": "object", "properties": properties });
}

/// The deepest nesting of a request.
pub const MAX_DEPTH: usize = 64;

/// How fields that a schema does not have are handled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    Refuse,
    /// Clients of another program may send fields that only that program knows.
    Drop,
}

/// Checks arguments and returns them without the fields that were given as null.
pub(super) fn check(tool: &str, schema: &Value, unknown: Unknown, arguments: Value) -> Result<Value> {
    let wrong = |field: &str, problem: String| Error::bad_argument(tool, &shorten(field), problem);
    let mut fields = match arguments {
        Value::Null => Map::new(),
        Value::Object(fields) => fields,
        other => return Err(wrong("arguments", format!("is {}, an object is needed", name_of(&other)))),
    };
    fields.retain(|_, value| !value.is_null());
    if unknown == Unknown::Drop {
        let mut whole = Value::Object(fields);
        prune(schema, &mut whole);
        let Value::Object(pruned) = whole else { unreachable!("it was an object") };
        fields = pruned;
    }
    for (field, value) in &fields {
        if depth(value) > MAX_DEPTH {
            return Err(Error::RequestTooDeep { limit: MAX_DEPTH });
        }
        if let Some(control) = control_character(value) {
            let problem = format!("has the control character U+{:04X}; remove it", u32::from(control));
            return Err(wrong(field, problem));
        }
    }
    let properties = schema["properties"].as_object();
    if let Some(unknown) =
        fields.keys().find(|field| properties.is_none_or(|known| !known.contains_key(*field)))
    {
        let known: Vec<&str> =
            properties.into_iter().flat_map(|known| known.keys().map(String::as_str)).collect();
        let near = nearest(unknown, known.iter().copied()).map(str::to_owned);
        let problem = match &near {
            None if !known.is_empty() => format!("is not an argument; there are {}", known.join(", ")),
            _ => "is not an argument".to_owned(),
        };
        return Err(Error::BadArgument {
            tool: tool.into(),
            field: shorten(unknown),
            problem,
            nearest: near,
        });
    }
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(required) {
            return Err(wrong(required, "is missing".into()));
        }
    }
    for (field, value) in &fields {
        if let Some(problem) = problem(&schema["properties"][field], value) {
            return Err(wrong(field, problem));
        }
    }
    Ok(Value::Object(fields))
}

/// Removes the fields that a schema does not name. Clients of other programs send fields that those ignore.
fn prune(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let Some(known) = schema["properties"].as_object() else { return };
            fields.retain(|name, _| known.contains_key(name));
            fields.iter_mut().for_each(|(name, value)| prune(&known[name], value));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| prune(&schema["items"], item)),
        _ => {}
    }
}

/// Returns the problem with a value, if there is one.
fn problem(schema: &Value, value: &Value) -> Option<String> {
    let limit = |key: &str| schema[key].as_u64().and_then(|limit| usize::try_from(limit).ok());
    let forms = schema["anyOf"].as_array().map_or(std::slice::from_ref(schema), Vec::as_slice);
    let allowed: Vec<&str> = forms.iter().filter_map(|form| form["type"].as_str()).collect();
    let given = name_of(value);
    let fits = |name: &str| name == given || (given == "integer" && name == "number");
    if !allowed.is_empty() && !allowed.iter().any(|name| fits(name)) {
        return Some(format!("is {given}, {} is needed", allowed.join(" or ")));
    }
    if schema["anyOf"].is_array() {
        return forms
            .iter()
            .find(|form| form["type"].as_str().is_some_and(fits))
            .and_then(|form| problem(form, value));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        let words = words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
        return Some(format!(
            "is `{}`, not one of {words}",
            shorten(value.as_str().unwrap_or(&value.to_string()))
        ));
    }
    match value {
        Value::String(text) => {
            let length = text.chars().count();
            match (limit("minLength"), limit("maxLength")) {
                (Some(least), _) if length < least => Some("is empty".into()),
                (_, Some(most)) if length > most => {
                    Some(format!("has {length} characters, at most {most} fit"))
                }
                _ => None,
            }
        }
        Value::Number(number) => {
            let number = number.as_f64()?;
            match (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
                (Some(least), _) if number < least => Some(format!("is {value}, at least {least} is needed")),
                (_, Some(most)) if number > most => Some(format!("is {value}, at most {most} is allowed")),
                _ => None,
            }
        }
        Value::Array(items) => match (limit("minItems"), limit("maxItems")) {
            (Some(least), _) if items.len() < least => {
                Some(format!("has {} items, at least {least} is needed", items.len()))
            }
            (_, Some(most)) if items.len() > most => {
                Some(format!("has {} items, at most {most} fit", items.len()))
            }
            _ => items
                .iter()
                .find_map(|item| problem(&schema["items"], item))
                .map(|problem| format!("has an item that {problem}")),
        },
        Value::Object(fields) => {
            let properties = schema["properties"].as_object()?;
            if let Some(unknown) = fields.keys().find(|field| !properties.contains_key(*field)) {
                return Some(format!("has the unknown field `{}`", shorten(unknown)));
            }
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            if let Some(missing) = required.into_iter().find(|field| !fields.contains_key(*field)) {
                return Some(format!("has no `{missing}`"));
            }
            let mut given = fields.iter().filter(|(_, value)| !value.is_null());
            given.find_map(|(field, value)| {
                let problem = problem(&properties[field], value)?;
                Some(format!("has a `{field}` that {problem}"))
            })
        }
        Value::Null | Value::Bool(_) => None,
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Finds a control character: it would be invisible, or would control a terminal. Line breaks and tabs are text.
fn control_character(value: &Value) -> Option<char> {
    match value {
        Value::String(text) => text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')),
        Value::Array(items) => items.iter().find_map(control_character),
        Value::Object(fields) => fields.values().find_map(control_character),
        _ => None,
    }
}

fn dialect() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    })
}

fn generate(make: MakeSchema, settings: SchemaSettings) -> Value {
    let mut schema = make(settings.into_generator()).to_value();
    join(&mut schema);
    simplify(&mut schema);
    schema
}

/// Removes what does not help a client: titles, number formats, defaults of null, and the null of an optional field.
fn simplify(schema: &mut Value) {
    if let Value::Object(fields) = schema {
        if fields.get("title").is_some_and(Value::is_string) {
            fields.remove("title");
        }
        fields.remove("format");
        if fields
            .get("default")
            .is_some_and(|default| default.is_null() || default == &json!([]) || default == &json!(false))
        {
            fields.remove("default");
        }
        if let Some(Value::Array(types)) = fields.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                fields.insert("type".into(), only);
            }
        }
        if let Some(Value::Array(words)) = fields.get_mut("enum") {
            words.retain(|word| !word.is_null());
        }
        if let Some(Value::Array(choices)) = fields.remove("anyOf") {
            let mut real = choices.into_iter().filter(|choice| choice["type"] != "null");
            if let Some(Value::Object(only)) = real.next() {
                assert!(real.next().is_none(), "a published type has one form");
                for (key, value) in only {
                    fields.entry(key).or_insert(value);
                }
            }
        }
        // An enum whose variants have doc comments is generated as one constant for each.
        if let Some(Value::Array(variants)) = fields.remove("oneOf") {
            fields.insert("type".into(), "string".into());
            fields.insert("enum".into(), variants.iter().map(|variant| variant["const"].clone()).collect());
        }
        // Some clients support only one type at a time: a list of types becomes one form for each.
        if let Some(Value::Array(types)) = fields.get("type").cloned() {
            fields.remove("type");
            let items = fields.remove("items");
            let form = |name| match &items {
                Some(items) if name == "array" => json!({ "type": name, "items": items }),
                _ => json!({ "type": name }),
            };
            fields.insert("anyOf".into(), types.into_iter().map(form).collect());
        }
        fields.values_mut().for_each(simplify);
    } else if let Value::Array(items) = schema {
        items.iter_mut().for_each(simplify);
    }
}

/// Keeps only the names and types of an answer. Enums and limits matter for input, and would double the size.
fn strip(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            const LEFT_OUT: &[&str] = &["description", "enum", "minimum", "minItems", "maxItems"];
            // A property may have the same name; then it is an object.
            fields.retain(|word, value| value.is_object() || !LEFT_OUT.contains(&word.as_str()));
            // Additional fields are allowed by default.
            fields.retain(|word, value| word != "additionalProperties" || *value != json!(true));
            // The first of several forms is the one that is written.
            if let Some(Value::Array(forms)) = fields.remove("anyOf") {
                fields
                    .extend(forms.into_iter().find_map(|form| form.as_object().cloned()).unwrap_or_default());
            }
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::{COMPAT_TOOLS, TOOLS};
    use super::*;

    #[test]
    fn a_list_that_is_too_short_or_too_long_is_refused() {
        let schema = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 2 });
        for (items, is_wrong) in [(0, true), (1, false), (2, false), (3, true)] {
            assert_eq!(problem(&schema, &json!(vec!["x"; items])).is_some(), is_wrong, "{items}");
        }
    }

    /// The keywords that [`check`] enforces. A keyword that is published but not checked would be a false promise.
    #[test]
    fn every_published_word_is_checked() {
        const UNDERSTOOD: &[&str] = &[
            "type",
            "properties",
            "required",
            "additionalProperties",
            "description",
            "items",
            "anyOf",
            "enum",
            "minLength",
            "maxLength",
            "minimum",
            "maximum",
            "minItems",
            "maxItems",
            "default",
        ];
        fn walk(tool: &str, schema: &Value) {
            for (word, value) in schema.as_object().into_iter().flatten() {
                assert!(UNDERSTOOD.contains(&word.as_str()), "{tool} publishes `{word}`");
                match word.as_str() {
                    "properties" => {
                        value.as_object().unwrap().values().for_each(|property| walk(tool, property))
                    }
                    "items" => walk(tool, value),
                    "anyOf" => value.as_array().unwrap().iter().for_each(|form| walk(tool, form)),
                    _ => {}
                }
            }
        }
        for tool in TOOLS.iter().chain(&COMPAT_TOOLS) {
            walk(tool.name, &tool.input_schema(&crate::base::Settings::default()));
        }
    }
}
