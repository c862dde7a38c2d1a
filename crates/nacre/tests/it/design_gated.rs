//! The gated design, told from its first paragraph to its last, under the profile `gated`: memory and workspace files as
//! Markdown, and a person sees and approves every write.

use nacre::event::Event;
use nacre::proposal::{self, State};
use nacre::{Caller, Role, TEMPLATES, Visibility};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

use crate::files::{put, read};
use crate::sealed::Place;

/// The design's layout: memory that grows, and files that say who the agent is. `noon()` is 15 January 2026.
fn place() -> Place {
    let place = Place::with("gated", &[]);
    for (path, text) in [
        ("memory/CORE.md", "# Core\n\n- Ada prefers short answers\n- The boat is called Petrel\n"),
        ("memory/daily/2026-01-15.md", "# 2026-01-15\n\n- Moved the mooring to berth nine\n"),
        ("memory/daily/2026-01-14.md", "# 2026-01-14\n\n- Ordered new sails\n"),
        ("memory/daily/2026-01-02.md", "# 2026-01-02\n\n- Replaced the bilge pump\n"),
        ("memory/topics/contacts.md", "# Contacts\n\n- Sailmaker: Juno Bright, at the old pier\n"),
        ("AGENTS.md", "# Agents\n\nSuggest what is worth keeping; the person decides.\n"),
        ("SOUL.md", "# Soul\n\nPlain words.\n"),
        ("USER.md", "# User\n\nAda, in Oslo.\n"),
        ("TOOLS.md", "# Tools\n\n- harbour box: ssh ada@10.2.0.7\n"),
        ("HEARTBEAT.md", "# Heartbeat\n\n- Look at the tide table\n"),
        (
            "skills/weather/SKILL.md",
            "---\nname: weather\ndescription: Reads the forecast\n---\nthe whole long skill\n",
        ),
    ] {
        put(&place, path, text);
    }
    place
}

fn person(place: &Place) -> Caller {
    Caller::person("terminal".parse().unwrap(), place.caller.now)
}

/// The startup context of a session, as the host passes it.
fn boot(place: &mut Place, visibility: Visibility) -> Value {
    let caller = Caller { visibility, ..person(place) };
    nacre::call(&mut place.view_of(&caller), "memory_boot", json!({})).unwrap().data
}

fn hits(place: &mut Place, query: &str) -> Vec<String> {
    let found = place.call("memory_search", json!({ "query": query, "scope": ["memory"] })).data;
    found["hits"].as_array().unwrap().iter().map(|hit| hit["path"].as_str().unwrap().to_owned()).collect()
}

/// "Memory system": layout and the three operations.
#[test]
fn memory_is_read_freely_written_by_approval_and_searched() {
    let mut place = place();

    // Read: the agent always can; CORE.md and the logs of today and yesterday are in context from the start…
    let start = boot(&mut place, Visibility::Private)["markdown"].as_str().unwrap().to_owned();
    for word in ["Petrel", "berth nine", "new sails"] {
        assert!(start.contains(word), "{word}");
    }
    // …everything else is there when it is looked for, by words or by meaning.
    for word in ["bilge pump", "Juno Bright"] {
        assert!(!start.contains(word), "{word} costs no context until it is needed");
    }
    assert_eq!(hits(&mut place, "bilge pump")[0], "memory/daily/2026-01-02.md");
    assert_eq!(hits(&mut place, "someone who can mend a sail")[0], "memory/topics/contacts.md");

    // Write: the agent proposes, and the person sees exactly what will be added or changed.
    let write =
        json!({ "path": "memory/CORE.md", "content": "- Ada is left-handed", "reason": "she said so" });
    let answer = place.call("memory_write", write).data;
    assert_eq!((&answer["written"], &answer["status"]), (&json!(false), &json!("pending")));
    let before = read(&place, "memory/CORE.md").unwrap();
    // It is staged outside the memory, and survives a restart.
    place.reopen();
    let (caller, number) = (person(&place), answer["proposal"].as_i64().unwrap());
    let waiting = proposal::get(&mut place.view_of(&caller), number).unwrap();
    assert_eq!(
        (waiting.target.as_str(), waiting.reason.as_str(), waiting.lines),
        ("memory/CORE.md", "she said so", [1, 0])
    );
    assert!(waiting.diff.to_string().contains("+- Ada is left-handed\n"), "{}", waiting.diff);
    assert_eq!(read(&place, "memory/CORE.md").unwrap(), before, "nothing is written yet");
    assert_eq!(hits(&mut place, "left-handed"), [] as [&str; 0], "nor found");
    // Applied by us after approval, never by the agent itself.
    let agent = place.caller.clone();
    assert_eq!(proposal::approve(&mut place.view_of(&agent), number).unwrap_err().code(), "person_only");
    assert_eq!(proposal::approve(&mut place.view_of(&caller), number).unwrap().state, State::Approved);
    assert_eq!(read(&place, "memory/CORE.md").unwrap(), [&before[..], b"- Ada is left-handed\n"].concat());
    // Search: the index follows the files, those of an editor too.
    assert_eq!(hits(&mut place, "left-handed")[0], "memory/CORE.md");
    put(&place, "memory/topics/contacts.md", "# Contacts\n\n- Sailmaker: Orla Finch\n");
    assert_eq!(hits(&mut place, "sailmaker Orla")[0], "memory/topics/contacts.md");
    assert!(hits(&mut place, "Juno").is_empty(), "what was edited away is not found");

    // Denied: nothing is written, and the agent that tries again is told so.
    let write = json!({ "path": "memory/CORE.md", "content": "- Ada owes me money" });
    let number = place.call("memory_write", write.clone()).data["proposal"].as_i64().unwrap();
    proposal::deny(&mut place.view_of(&caller), number, "that is not so").unwrap();
    let again = place.call("memory_write", write);
    assert_eq!(again.data["status"], "denied");
    assert!(again.text.contains("that is not so"), "{}", again.text);
    place.check();
}

/// "Agent behavior" and "Context budget".
#[test]
fn the_agent_is_asked_to_suggest_and_to_be_brief() {
    // The guide that `nacre init` lays down asks for suggestions of what lasts, and says who decides.
    let guide = TEMPLATES
        .iter()
        .find(|template| template.path == "AGENTS.md")
        .unwrap()
        .text(place().group.settings());
    for word in ["memory_write", "approve"] {
        assert!(guide.contains(word), "{word}");
    }
    // A file that is known by its path is read by its path, whole or in part.
    let mut place = place();
    let got =
        place.call("memory_get", json!({ "path": "memory/topics/contacts.md", "from": 3, "to": 3 })).data;
    assert_eq!(got["text"], "- Sailmaker: Juno Bright, at the old pier\n");
    assert_eq!(place.call("memory_get", json!({ "path": "memory/topics/nothing.md" })).data["text"], "");
    // The start has a price, and says what it is.
    let start = boot(&mut place, Visibility::Private);
    assert!((1..1_000).contains(&start["tokens"].as_u64().unwrap()), "{}", start["tokens"]);
}

/// "Workspace files": five of them, each writable by the agent through the same gate, and distinct from memory.
#[test]
fn workspace_files_pass_the_same_gate() {
    let mut place = place();
    for (number, path) in
        [(1, "AGENTS.md"), (2, "SOUL.md"), (3, "USER.md"), (4, "TOOLS.md"), (5, "HEARTBEAT.md")]
    {
        let before = read(&place, path).unwrap();
        let answer = place.call("memory_write", json!({ "path": path, "content": "- and this" })).data;
        assert_eq!(answer["proposal"], number, "{path}");
        assert_eq!(read(&place, path).unwrap(), before, "{path}");
        let caller = person(&place);
        proposal::approve(&mut place.view_of(&caller), number).unwrap();
        assert_eq!(read(&place, path).unwrap(), [&before[..], b"- and this\n"].concat(), "{path}");
    }
    // Entries and the log too: under this design there is no write without a yes.
    for (tool, arguments) in [
        ("memory_store", json!({ "content": "The tide turns at six" })),
        ("memory_write", json!({ "content": "Sailed to the lighthouse", "importance": 0.6 })),
    ] {
        assert_eq!(place.call(tool, arguments).data["status"], "pending", "{tool}");
    }
}

/// "Session startup sequence", and the note on TOOLS.md behind it.
#[test]
fn a_session_starts_in_this_order() {
    let mut place = place();
    let start = boot(&mut place, Visibility::Private);
    let text = start["markdown"].as_str().unwrap();
    let order = [
        "the person decides",
        "Plain words",
        "Ada, in Oslo",
        "new sails",
        "berth nine",
        "Petrel",
        "Reads the forecast",
    ];
    let places: Vec<usize> =
        order.iter().map(|word| text.find(word).unwrap_or_else(|| panic!("{word} in {text}"))).collect();
    assert!(places.is_sorted(), "{places:?}");
    // Of a skill its name and description, no more. TOOLS.md is not loaded at all.
    assert!(text.contains("weather") && !text.contains("the whole long skill"));
    assert!(!text.contains("10.2.0.7"));
    // CORE.md is for the person's own sessions; so is USER.md with us.
    let shared = boot(&mut place, Visibility::Shared);
    for word in ["Petrel", "Ada, in Oslo"] {
        assert!(!shared["markdown"].as_str().unwrap().contains(word), "{word}");
    }
    // Reading one's own files sets nothing off; reading TOOLS.md is told, so that a rule can act on it.
    let told: Arc<Mutex<Vec<Value>>> = Arc::default();
    let heard = told.clone();
    place.group.listen(move |event: &Event| heard.lock().unwrap().push(serde_json::to_value(event).unwrap()));
    let flag = |place: &mut Place, path: &str| {
        place.call("memory_get", json!({ "path": path })).data["infrastructure_seen"].clone()
    };
    assert_eq!(flag(&mut place, "memory/CORE.md"), Value::Null);
    assert_eq!(flag(&mut place, "TOOLS.md"), true);
    assert_eq!(flag(&mut place, "memory/CORE.md"), true, "the session has seen it from then on");
    let marks = told.lock().unwrap().iter().filter(|event| event["infrastructure"] == true).count();
    assert_eq!(marks, 1);
    // A skill of its own gets nothing of all this.
    place.caller.role = Role::Skill;
    assert_eq!(place.refused("memory_get", json!({ "path": "SOUL.md" })), "role_denied");
}
