//! The knowledge graph at the command line: what is said to people, one JSON value for programs, exit codes.

use serde_json::{Value, json};

use crate::sealed::Sealed;

impl Sealed {
    /// The output for a person.
    #[track_caller]
    fn says<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> String {
        let output = self.run(args);
        assert_eq!((output.status, output.stderr.as_str()), (0, ""), "{output:?}");
        output.stdout.trim_end().to_owned()
    }
}

fn texts(answer: &Value) -> Vec<&str> {
    // The command line gives the whole answer, MCP the lean one.
    let list = answer.get("known").unwrap_or(&answer["hits"]);
    list.as_array().unwrap().iter().map(|known| known["text"].as_str().unwrap()).collect()
}

#[test]
fn a_conversation_with_the_graph() {
    let home = Sealed::new();
    for (args, says) in [
        (
            &["fact", "set", "Heidi Boyd", "birthday", "3 March", "--category", "family"][..],
            "[fact-1] Heidi Boyd: birthday = 3 March",
        ),
        (
            &["fact", "set", "Heidi Boyd", "birthday", "4 March"],
            "[fact-2] Heidi Boyd: birthday = 4 March (was 3 March)",
        ),
        (
            &["fact", "set", "heidi boyd", "Birthday", "4 march"],
            "[fact-2] Heidi Boyd: birthday = 4 March (known already)",
        ),
        (&["alias", "add", "Mama", "Heidi Boyd"], "`Mama` is `Heidi Boyd`."),
        (
            &["fact", "set", "Keystone", "port", "3000", "--since", "2026-02-01T00:00:00Z"],
            "[fact-3] Keystone: port = 3000",
        ),
        (&["relation", "add", "mama", "owner of", "Keystone"], "[relation-1] Heidi Boyd owns Keystone"),
        (&["graph", "when is Mama's birthday?"], "Heidi Boyd: birthday = 4 March  (today)  [fact-2]"),
        (
            &["graph", "when is Mama's birthday?", "--explain"],
            "Heidi Boyd: birthday = 4 March  (today)  [fact-2]\n    95.0 (100.965 with activation): Heidi Boyd (`mama`), asked for `birthday`",
        ),
        (
            &["graph", "Keystone port", "--as-of", "2026-02-02T00:00:00Z"],
            "Keystone: port = 3000  (17d ago)  [fact-3]",
        ),
        (&["graph", "Zorro's phone"], "Nothing found: there is no entity `zorro`."),
        (
            &["fact", "list", "Mama", "--history"],
            "[fact-1] Heidi Boyd: birthday = 3 March (until 2026-02-18T14:30:00.000Z)\n[fact-2] Heidi Boyd: birthday = 4 March",
        ),
        (&["relation", "list", "Keystone"], "[relation-1] Heidi Boyd owns Keystone"),
        (
            &["entity", "list"],
            "Heidi Boyd (family): 1 fact, 1 relation, also Mama\nKeystone: 1 fact, 1 relation",
        ),
        (&["alias", "list"], "Mama  Heidi Boyd"),
        (
            &["relation", "end", "Mama", "owns", "Keystone"],
            "[relation-1] Heidi Boyd owns Keystone no longer holds.",
        ),
        (
            &["entity", "merge", "Keystone", "Mama"],
            "`Keystone` and `Heidi Boyd` are merged; `unmerge` undoes it.",
        ),
        (&["entity", "unmerge", "Keystone"], "`Keystone` and `Heidi Boyd` are separate again."),
        (&["entity", "distinct", "Keystone", "Mama"], "`Keystone` and `Heidi Boyd` will never be merged."),
        (&["alias", "remove", "mama"], "`mama` is no longer `Heidi Boyd`."),
        (&["alias", "list"], "There are no aliases."),
        (&["fact", "multi", "Boat"], "`boat` may have several values."),
        (&["fact", "multi", "boat", "--off"], "a new value of `boat` replaces the previous one."),
        (&["fact", "category", "recipe"], "`recipe` is a category."),
        (&["fact", "kept-out"], "No line was skipped."),
        (&["fact", "remove", "Keystone", "port"], "Removed fact-3."),
        (&["fact", "remove", "Heidi Boyd"], "Removed fact-1, fact-2."),
        (&["fact", "list"], "There are no facts."),
        (&["relation", "list"], "There are no relations."),
    ] {
        assert_eq!(home.says(args.iter().copied()), says, "{args:?}");
    }
    assert_eq!(home.json(["doctor"])["ok"], true);
}

#[test]
fn every_command_has_one_json_value_and_errors_their_code() {
    let home = Sealed::new();
    let set = home.json(["fact", "set", "Keystone", "port", "3000", "--importance", "0.9", "--permanent"]);
    assert_eq!(
        (&set["value"], &set["importance"], &set["permanent"]),
        (&json!("3000"), &json!(0.9), &json!(true))
    );
    home.json(["relation", "add", "Anna", "owns", "Keystone"]);
    home.json(["alias", "add", "KS", "Keystone"]);
    assert_eq!(home.json(["fact", "list", "KS"])["facts"][0]["key"], "port");
    assert_eq!(home.json(["relation", "list"])["relations"][0]["subject"], "Anna");
    assert_eq!(home.json(["alias", "list"]), json!([{ "alias": "KS", "entity": "Keystone" }]));
    assert_eq!(home.json(["entity", "list"])["entities"][1]["aliases"], json!(["KS"]));
    assert_eq!(home.json(["fact", "kept-out"]), json!([]));
    assert_eq!(texts(&home.json(["graph", "ks port"])), ["Keystone: port = 3000"]);
    assert_eq!(home.json(["graph", "--export", "json"])["facts"][0]["value"], "3000");
    for form in ["dot", "graphml"] {
        let text = home.json(["graph", "--export", form]);
        assert_eq!(text.as_str().unwrap().trim_end(), home.says(["graph", "--export", form]), "{form}");
    }
    for (args, status, code) in [
        (&["fact", "set", "", "port", "1"][..], 2, "kept_out"),
        (&["fact", "set", "Keystone", "port", "1", "--category", "projct"], 2, "kept_out"),
        (&["fact", "list", "Keyston"], 3, "no_entity"),
        (&["fact", "remove", "fact-77"], 3, "no_fact"),
        (&["fact", "remove", "Keystone", "prt"], 3, "no_fact"),
        (&["relation", "end", "relation-9"], 3, "no_relation"),
        (&["alias", "add", "KS", "Anna"], 4, "name_taken"),
        (&["alias", "add", "Keystone", "KS"], 4, "self_alias"),
        (&["alias", "remove", "Keystone"], 4, "own_name"),
        (&["entity", "unmerge", "Keystone"], 3, "not_merged"),
        (&["entity", "merge", "Keystone", "ks"], 4, "self_alias"),
        (&["graph", ""], 2, "bad_argument"),
        (&["graph", "x", "--limit", "0"], 2, "bad_argument"),
    ] {
        let (found, error) = home.error(args.iter().copied());
        assert_eq!((found, error["code"].as_str()), (status, Some(code)), "{args:?}: {error}");
    }
}

#[test]
fn a_seed_is_taken_in_once_and_says_what_it_left_out() {
    let home = Sealed::new();
    let file = home.beside("seed.toml");
    std::fs::write(&file, "[[fact]]\nentity = \"Ada\"\nkey = \"city\"\nvalue = \"Oslo\"\n[[fact]]\nentity = \"it\"\nkey = \"k\"\nvalue = \"v\"\n").unwrap();
    let says = home.says(["fact", "seed", &file]);
    assert_eq!(says, "1 added, 0 already known\n  skipped: it.k: `it` is a pronoun, not a name");
    let again = home.json(["fact", "seed", &file]);
    assert_eq!((&again["added"], &again["known"]), (&json!(0), &json!(1)));
    std::fs::write(&file, "[[fact]]\nentity = 1\n").unwrap();
    let (status, error) = home.error(["fact", "seed", &file]);
    assert_eq!((status, &error["code"]), (2, &json!("bad_seed")), "{error}");
}

#[test]
fn documents_speak_and_what_they_say_in_vain_is_listed() {
    let home = Sealed::new();
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    home.write("keystone.md", format!("# Keystone\n\n- port: 3000\n- status: {secret}\n- pid: 7\n"));
    assert_eq!(
        home.says(["graph", "Keystone port"]),
        "Keystone: port = 3000  (undated)  keystone.md:3  [fact-1]"
    );
    let listed = home.json(["fact", "kept-out"]);
    assert!(listed.to_string().contains("keystone.md") && !listed.to_string().contains(secret), "{listed}");
    assert!(home.says(["fact", "kept-out"]).contains("keystone.md:5"));
}

#[test]
fn what_was_recalled_is_remembered_by_the_next_process() {
    let home = Sealed::new();
    home.json(["fact", "set", "Keystone", "port", "3000"]);
    home.json(["graph", "Keystone port"]);
    let fact = &home.json(["fact", "list"])["facts"][0];
    assert_eq!((&fact["activation"], &fact["access_count"]), (&json!(1.5), &json!(1)));
    home.json(["maintain"]);
    assert_eq!(home.json(["maintain", "--now", "2026-02-20T03:00:00Z"])["decayed_days"], 2);
    let fact = &home.json(["fact", "list"])["facts"][0];
    assert!((fact["activation"].as_f64().unwrap() - 1.35375).abs() < 1e-9, "{fact}");
}

#[test]
fn my_is_the_persons_unless_the_agent_asks() {
    let home = Sealed::new();
    home.json(["fact", "set", "Ida Holm", "name", "Ida Holm", "--category", "user"]);
    home.json(["fact", "set", "Pearl", "name", "Pearl", "--category", "self"]);
    assert_eq!(texts(&home.json(["graph", "what is my name?"])), ["Ida Holm: name = Ida Holm"]);
    assert_eq!(texts(&home.json(["graph", "what is my name?", "--agent"])), ["Pearl: name = Pearl"]);
}

#[test]
fn the_graph_over_mcp() {
    let home = Sealed::new();
    let mut server = home.mcp();
    let listed = server.ask("tools/list", &json!({})).unwrap().to_string();
    assert!(listed.len() < 12_000, "a client reads the list at every start: {} bytes", listed.len());
    server.data("fact_upsert", &json!({ "entity": "Keystone", "key": "port", "value": "3000" }));
    let told = server.data("graph_search", &json!({ "query": "Keystone port" }));
    assert_eq!(texts(&told), ["Keystone: port = 3000"]);
    // A tool that is not offered does not exist.
    let relation = json!({ "subject": "A", "predicate": "owns", "object": "B" });
    let answer = server.ask("tools/call", &json!({ "name": "relation_add", "arguments": relation })).unwrap();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}
