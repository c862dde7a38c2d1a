use super::*;

#[test]
fn no_listed_name_is_longer_than_the_limit() {
    for list in [&words::PRONOUNS, &words::ROLES, &words::DAYS, &words::GENERIC, &words::TITLES] {
        assert!(list.iter().all(|word| word.len() + "this ".len() <= words::MAX_LISTED_BYTES));
    }
}

#[test]
fn a_category_is_one_of_the_list() {
    let added = ["recipe".to_owned()];
    for (given, expected) in [
        ("person", Ok("person")),
        (" Project ", Ok("project")),
        ("recipe", Ok("recipe")),
        ("persn", Err("did you mean `person`?")),
        ("people", Err("did you mean `person`?")),
        ("company", Err("did you mean `organization`?")),
        ("recipes", Err("did you mean `recipe`?")),
        ("fact", Err("the categories are person, family")),
        ("", Err("the categories are")),
    ] {
        match (category(given, &added), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(refusal), Err(part)) => {
                assert!(refusal.reason.contains(part), "{given}: {}", refusal.reason)
            }
            (found, _) => panic!("{given}: {found:?}"),
        }
    }
    assert!(
        ["person", "pet", "family", "friend", "decision", "preference", "self", "user"]
            .into_iter()
            .all(is_permanent)
    );
    assert!(!["tool", "event", "host", "nothing"].into_iter().any(is_permanent));
    assert_eq!((max_values(From::Person), max_values(From::Document)), (100, 10));
    for class in words::CLASSES.iter() {
        assert!(category(class.1, &[]).is_ok(), "{class:?}");
    }
}

/// Each case says who may give the name: Person, Agent, Document.
#[test]
fn a_name_is_let_in_by_where_it_comes_from() {
    let from = [From::Person, From::Agent, From::Document];
    for (name, category, letters) in [
        // Names.
        ("Anna Berg", None, "PAD"),
        ("Næstved", None, "PAD"),
        ("Москва", None, "PAD"),
        ("東京", None, "PAD"),
        ("می‌خواهم", None, "PAD"),
        ("nas-01", None, "PAD"),
        ("Node.js", None, "PAD"),
        ("Claude", None, "PAD"),
        ("db.internal", None, "PAD"),
        ("Project Team Berlin", None, "PAD"),
        // Not names.
        ("", None, ""),
        ("  ", None, ""),
        ("two\nlines", None, ""),
        ("bell\u{7}", None, ""),
        ("42", None, ""),
        ("—", None, ""),
        ("Аnna", None, ""),    // a Cyrillic А
        ("Mοdel X", None, ""), // a Greek omicron
        ("An\u{200b}na", None, ""),
        ("Anna\u{202e}", None, ""),
        ("They", None, ""),
        ("User", None, ""),
        ("the assistant", None, ""),
        ("System", Some("tool"), ""),
        // Entities with a category of their own may go by such words.
        ("user", Some("user"), "PAD"),
        ("self", Some("self"), "PAD"),
        // General words, titles and days: only a person may mean them.
        ("the team", None, "P"),
        ("The Project", None, "P"),
        ("Next steps", None, "P"),
        ("Todo", None, "P"),
        ("Summary", None, "P"),
        ("Step 3", None, "P"),
        ("Monday", None, "P"),
        ("Sundays", None, "P"),
        ("April", None, "P"),
        ("April", Some("family"), "PAD"),
        // Names that an agent may give on purpose, but a text only mentions.
        ("2026-02-18", None, ""),
        ("18 February 2026", None, "PA"),
        ("config.toml", None, "PA"),
        ("/etc/hosts", None, "PA"),
        ("index.js", None, "PA"),
        ("https://example.com/a", None, "PA"),
        ("gpt-4o", None, "PA"),
        ("claude-3-opus", None, "PA"),
    ] {
        let found: String = from
            .iter()
            .zip("PADC".chars())
            .filter(|(from, _)| entity(name, category, **from).is_ok())
            .map(|(_, letter)| letter)
            .collect();
        assert_eq!(found, letters, "{name:?}");
    }
    assert_eq!(entity("  Anna \t  Berg ", None, From::Person).unwrap(), "Anna Berg");
    assert_eq!(entity("Ju\u{308}rgen", None, From::Person).unwrap(), "Jürgen");
    assert!(entity(&"a".repeat(120), None, From::Person).is_ok());
    let long = entity(&"ü".repeat(121), None, From::Person).unwrap_err();
    assert_eq!(long.reason, "has 121 characters; the limit for a name is 120");
    assert!(long.what.chars().count() <= 81, "what is shown is short");
}

#[test]
fn keys_are_words_joined_by_lines() {
    for (given, kept) in [
        ("Phone (mobile)", "phone_mobile"),
        ("mother’s maiden name", "mothers_maiden_name"),
        ("  API--URL ", "api_url"),
        ("Straße", "straße"),
        ("ＰＯＲＴ", "port"),
    ] {
        assert_eq!(key(given, From::Document).unwrap(), kept);
    }
    for given in ["status", "PID", "Last seen", "TODO", "notes", "https"] {
        assert!(key(given, From::Document).is_err(), "{given}");
        assert!(key(given, From::Person).is_ok() && key(given, From::Agent).is_ok(), "{given}");
    }
    assert!(key("!?", From::Person).is_err());
    assert!(key(&"k".repeat(60), From::Person).is_ok());
    assert!(key(&"k".repeat(61), From::Person).is_err());
}

#[test]
fn values_are_short_and_on_one_line() {
    assert_eq!(value(" a\r\n  b\u{0}c ", From::Person).unwrap(), "a b c");
    for (length, by_hand, read) in
        [(0, false, false), (300, true, true), (301, true, false), (500, true, false), (501, false, false)]
    {
        let text = "é".repeat(length);
        assert_eq!(value(&text, From::Agent).is_ok(), by_hand, "{length}");
        assert_eq!(value(&text, From::Document).is_ok(), read, "{length}");
    }
    for text in ["TBD", "n/a", "-", "...", "<your name>", "{{name}}", "_(what do they like?)_"] {
        assert!(value(text, From::Document).is_err(), "{text}");
    }
    for text in ["no", "🦀", "3000", "(555) 1234", "C#"] {
        assert!(value(text, From::Document).is_ok(), "{text}");
    }
}

#[test]
fn predicates_have_one_name_and_two_ends() {
    for (given, kept) in [
        ("works for", "works_at"),
        ("Owner of", "owns"),
        ("hosted on", "runs_on"),
        ("plays with", "plays_with"),
    ] {
        assert_eq!(predicate(given, From::Document).unwrap(), kept);
    }
    for given in ["related_to", "is", "has", "involves", "associated with"] {
        assert!(predicate(given, From::Document).is_err(), "{given}");
        assert!(predicate(given, From::Person).is_ok(), "{given}");
    }
    for (one, other) in [
        ("owns", Some("owned_by")),
        ("owned_by", Some("owns")),
        ("married_to", Some("married_to")),
        ("mother_of", Some("child_of")),
        ("child_of", Some("parent_of")),
        ("plays_with", None),
    ] {
        assert_eq!(inverse(one), other, "{one}");
    }
    for (name, inverse_name) in words::PREDICATES.iter() {
        assert_eq!(inverse(inverse_name), Some(*name), "{inverse_name} is the other end of one relation");
        for name in [name, inverse_name] {
            assert_eq!(predicate(name, From::Document).as_deref(), Ok(*name), "a known name is not renamed");
        }
    }
    for (name, broader) in words::NARROW.iter() {
        assert_eq!(predicate(name, From::Document).as_deref(), Ok(*name));
        assert!(inverse(broader).is_some() || broader.contains("_or_"), "{broader}");
    }
    for (name, kept) in words::SAME.iter() {
        assert!(inverse(kept).is_some(), "{name} is kept as {kept}, which is known");
    }
}

#[test]
fn four_of_five_words_are_nearly_the_same() {
    for (a, b, same) in [
        ("the red house on the hill", "The red house, on the hill!", true),
        ("the small red house on a hill", "the small red house on the hill", true),
        ("likes tea", "likes coffee", false),
        ("port 3000", "port 4100", false),
        ("the weekly meeting is at 3 pm in the office", "the weekly meeting is at 4 pm in the office", false),
        ("she does eat any meat or fish at home", "she does not eat any meat or fish at home", false),
        ("", "", true),
        ("🦀", "🐙", false),
    ] {
        assert_eq!(nearly_same(a, b), same, "{a} / {b}");
        assert_eq!(nearly_same(b, a), same, "{b} / {a}");
    }
}
