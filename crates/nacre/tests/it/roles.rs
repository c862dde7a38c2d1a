//! Roles: what each may do, other groups, and what skills are handed over.

use nacre::{Access, Caller, Role, TOOLS, Visibility, call, call_across, turn};
use serde_json::{Value, json};

use crate::sealed::{Place, noon};

fn as_role(role: Role) -> Caller {
    Caller { role, ..Caller::agent("test-session".parse().unwrap(), noon()) }
}

/// The least that the schema takes.
fn least(schema: &Value) -> Value {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let value = |name: &str| {
        let property = &schema["properties"][name];
        match property["enum"].as_array() {
            Some(words) => words[0].clone(),
            None if property["type"] == "array" => json!([]),
            None if property["type"] == "integer" => json!(1),
            None if property["type"] == "boolean" => json!(true),
            None => "1".into(),
        }
    };
    required.map(|name| (name.to_owned(), value(name))).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn a_skill_has_no_tool_at_all() {
    let mut place = Place::new();
    place.store("The orchard is watered at dawn");
    for tool in &TOOLS {
        let arguments = least(&tool.input_schema(place.group.settings()));
        for visibility in [Visibility::Private, Visibility::Shared] {
            let caller = Caller { visibility, ..as_role(Role::Skill) };
            let refused = call(&mut place.view_of(&caller), tool.name, arguments.clone());
            match tool.access {
                Access::Nothing => assert!(refused.is_ok()),
                _ => assert_eq!(refused.unwrap_err().code(), "role_denied", "{}", tool.name),
            }
        }
    }
    let skill = as_role(Role::Skill);
    assert!(turn::run(&mut place.view_of(&skill), &turn::Request::new("the orchard")).is_err());
    assert!(turn::state(&place.view_of(&skill)).is_err());
    assert!(turn::lessons(&place.view_of(&skill)).is_err());
    place.check();
}

/// Two groups with something in each; the handle is the other's.
fn two_groups(settings: &[&str]) -> Place {
    let mut place = Place::with("balanced", settings);
    let open = json!({ "content": "The admin prefers concise answers about the harbour", "private": false });
    place.call("memory_store", open);
    // An agent's note in a private session is as private as one marked private.
    place.store("The harbour key is hidden");
    place.call("fact_upsert", json!({ "entity": "Petra", "key": "port", "value": "Kiel", "private": false }));
    place.group = place.home.group(&"blog".parse().unwrap(), noon()).unwrap();
    place.store("The blog is about the harbour");
    place
}

fn across(place: &mut Place, role: Role, tool: &str, arguments: Value) -> Result<String, &'static str> {
    let answer = call_across(
        &place.home,
        &mut place.group.enter(&as_role(role)).unwrap(),
        nacre::call::known(tool).unwrap(),
        arguments,
        nacre::Form::Whole,
    );
    answer.map(|answer| answer.text).map_err(|error| error.code())
}

#[test]
fn groups_see_nothing_of_each_other_unless_the_settings_name_one() {
    let mut place = two_groups(&[]);
    for role in [Role::Admin, Role::Project] {
        let asked = json!({ "query": "harbour", "group": "main" });
        assert_eq!(across(&mut place, role, "memory_search", asked), Err("bad_argument"));
    }
    for tool in &TOOLS {
        assert!(
            tool.input_schema(place.group.settings())["properties"].get("group").is_none(),
            "{}",
            tool.name
        );
    }
}

#[test]
fn a_project_reads_what_is_not_private_of_the_admins_group() {
    let mut place = two_groups(&["access.admin_group=main"]);
    let harbour = json!({ "query": "harbour", "group": "main" });
    let told = across(&mut place, Role::Project, "memory_search", harbour.clone()).unwrap();
    assert!(told.contains("concise answers") && !told.contains("hidden") && !told.contains("blog"), "{told}");
    let own =
        across(&mut place, Role::Project, "memory_search", json!({ "query": "harbour", "group": "blog" }))
            .unwrap();
    assert!(own.contains("blog") && !own.contains("concise"), "{own}");
    assert!(
        across(&mut place, Role::Project, "memory_brief", json!({ "group": "main" }))
            .unwrap()
            .contains("concise")
    );
    assert!(
        across(&mut place, Role::Project, "graph_search", json!({ "query": "Petra port", "group": "main" }))
            .unwrap()
            .contains("Kiel")
    );
    assert_eq!(
        across(&mut place, Role::Project, "memory_get", json!({ "id": 2, "group": "main" })),
        Err("no_entry")
    );
    // Nobody writes there, and nobody reads anywhere else.
    for (tool, arguments) in [
        ("memory_store", json!({ "content": "x", "group": "main" })),
        ("memory_delete", json!({ "id": 1, "group": "main" })),
        ("fact_upsert", json!({ "entity": "a", "key": "b", "value": "c", "group": "main" })),
    ] {
        assert_eq!(across(&mut place, Role::Project, tool, arguments), Err("bad_argument"), "{tool}");
    }
    for group in ["other", "../main", "", "MAIN", "main/../main"] {
        let asked = json!({ "query": "harbour", "group": group });
        assert_eq!(across(&mut place, Role::Project, "memory_search", asked), Err("group_denied"), "{group}");
    }
    assert_eq!(across(&mut place, Role::Skill, "memory_search", harbour.clone()), Err("group_denied"));
    assert_eq!(place.home.groups().unwrap().len(), 2, "asking makes no group");
    // A handle by itself answers for its own group.
    let alone = call(&mut place.view_of(&as_role(Role::Admin)), "memory_search", harbour.clone());
    assert_eq!(alone.unwrap_err().code(), "group_denied");
    // The admin sees what its session sees.
    assert!(across(&mut place, Role::Admin, "memory_search", harbour.clone()).unwrap().contains("hidden"));
    let mut place = two_groups(&["access.admin_group=main", "access.private=true"]);
    assert!(across(&mut place, Role::Project, "memory_search", harbour).unwrap().contains("hidden"));
}

#[test]
fn a_skill_is_handed_what_helps_it() {
    let mut place = Place::with("balanced", &["tools.offer=[\"memory_store\", \"skill_handover\"]"]);
    place.store("User prefers concise responses about the blog");
    place.store("The blog token is ghp_0123456789abcdefghijABCDEFGHIJ012345");
    place.call("memory_store", json!({ "content": "The blog earns little", "private": true }));
    let asked =
        json!({ "to": "seo", "action": "analyze", "queries": ["blog"], "context": "SEO for the blog" });
    let message = place.call("skill_handover", asked.clone()).data;
    assert_eq!(
        (&message["from"], &message["to"], &message["type"]),
        (&json!("agent_project_main"), &json!("agent_skill_seo"), &json!("request"))
    );
    assert_eq!(message["payload"]["action"], "analyze");
    assert_eq!(message["payload"]["context"]["project_context"], "SEO for the blog");
    let snippet = message["payload"]["context"]["memory_snippet"].as_str().unwrap();
    assert!(snippet.contains("concise responses") && snippet.contains("earns little"), "{snippet}");
    assert!(!snippet.contains("0123456789abcdef"), "{snippet}");
    // As much as the asking session sees, and as much as there is room for.
    place.caller.visibility = Visibility::Shared;
    let message = place.call("skill_handover", asked).data.to_string();
    assert!(!message.contains("earns little"), "{message}");
    let small = json!({ "to": "agent_skill_seo", "action": "look at the blog", "max_tokens": 20 });
    let message = place.call("skill_handover", small).data;
    assert_eq!(message["to"], "agent_skill_seo");
    let snippet = message["payload"]["context"]["memory_snippet"].as_str().unwrap();
    assert!(turn::tokens(snippet) <= 20, "{snippet}");
    assert_eq!(place.refused("skill_handover", json!({ "to": "…", "action": "x" })), "bad_argument");
}
