//! The lists of the guard. What is searched by halves is sorted; a test holds it to that.

use std::collections::HashMap;
use std::sync::LazyLock;

/// No name that is listed here is longer, with an article before it.
pub(super) const LONGEST: usize = 32;

/// What a word that is no name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Pronoun,
    Role,
    Generic,
    Title,
}

/// The words that are no names. One that is in two lists is in the first of them.
pub(super) static LISTED: LazyLock<HashMap<&str, List>> = LazyLock::new(|| {
    let lists =
        [(TITLES, List::Title), (GENERIC, List::Generic), (ROLES, List::Role), (PRONOUNS, List::Pronoun)];
    lists.into_iter().flat_map(|(words, list)| words.iter().map(move |word| (*word, list))).collect()
});

/// A kind of entity or fact.
pub(crate) struct Category {
    pub(crate) name: &'static str,
    /// Does not fade.
    pub(crate) permanent: bool,
}

const fn category(name: &'static str, permanent: bool) -> Category {
    Category { name, permanent }
}

/// The closed list. What is in none of them has none: a catch-all fills up and says nothing.
pub(crate) const CATEGORIES: &[Category] = &[
    category("person", true),
    category("family", true),
    category("friend", true),
    category("pet", true),
    category("organization", false),
    category("project", false),
    category("tool", false),
    category("host", false),
    category("place", false),
    category("event", false),
    category("decision", true),
    category("preference", true),
    category("convention", false),
    category("document", false),
    category("self", true),
    category("user", true),
];

/// Headings and columns that list entities of one category.
pub(super) const CLASSES: &[(&str, &str)] = &[
    ("active projects", "project"),
    ("animal", "pet"),
    ("animals", "pet"),
    ("app", "tool"),
    ("apps", "tool"),
    ("box", "host"),
    ("boxes", "host"),
    ("business", "organization"),
    ("businesses", "organization"),
    ("clients", "organization"),
    ("colleague", "person"),
    ("colleagues", "person"),
    ("companies", "organization"),
    ("company", "organization"),
    ("computer", "host"),
    ("computers", "host"),
    ("contact", "person"),
    ("contacts", "person"),
    ("convention", "convention"),
    ("conventions", "convention"),
    ("customers", "organization"),
    ("decision", "decision"),
    ("decisions", "decision"),
    ("device", "host"),
    ("devices", "host"),
    ("docs", "document"),
    ("documents", "document"),
    ("employee", "person"),
    ("employees", "person"),
    ("events", "event"),
    ("family", "family"),
    ("family and friends", "person"),
    ("family members", "family"),
    ("firm", "organization"),
    ("firms", "organization"),
    ("friend", "friend"),
    ("friends", "friend"),
    ("friends and family", "person"),
    ("host", "host"),
    ("hosts", "host"),
    ("house rules", "convention"),
    ("key decisions", "decision"),
    ("locations", "place"),
    ("machine", "host"),
    ("machines", "host"),
    ("node", "host"),
    ("nodes", "host"),
    ("organisations", "organization"),
    ("organization", "organization"),
    ("organizations", "organization"),
    ("people", "person"),
    ("people and pets", "person"),
    ("person", "person"),
    ("persons", "person"),
    ("pet", "pet"),
    ("pets", "pet"),
    ("place", "place"),
    ("places", "place"),
    ("policies", "convention"),
    ("preference", "preference"),
    ("preferences", "preference"),
    ("program", "tool"),
    ("programs", "tool"),
    ("project", "project"),
    ("projects", "project"),
    ("relative", "family"),
    ("relatives", "family"),
    ("repos", "project"),
    ("repositories", "project"),
    ("rules", "convention"),
    ("server", "host"),
    ("servers", "host"),
    ("service", "tool"),
    ("services", "tool"),
    ("staff", "person"),
    ("supplier", "organization"),
    ("suppliers", "organization"),
    ("team", "person"),
    ("team members", "person"),
    ("the team", "person"),
    ("tool", "tool"),
    ("tools", "tool"),
    ("vendor", "organization"),
    ("vendors", "organization"),
    ("who", "person"),
];

/// Relations with what they are called from the other end; a symmetric one has the same name there.
pub(super) const PREDICATES: &[(&str, &str)] = &[
    ("owns", "owned_by"),
    ("works_at", "employs"),
    ("works_on", "worked_on_by"),
    ("works_with", "works_with"),
    ("lives_in", "home_of"),
    ("comes_from", "origin_of"),
    ("born_in", "birthplace_of"),
    ("located_in", "location_of"),
    ("moved_to", "taken_in_by"),
    ("married_to", "married_to"),
    ("partner_of", "partner_of"),
    ("engaged_to", "engaged_to"),
    ("parent_of", "child_of"),
    ("grandparent_of", "grandchild_of"),
    ("sibling_of", "sibling_of"),
    ("cousin_of", "cousin_of"),
    ("friend_of", "friend_of"),
    ("colleague_of", "colleague_of"),
    ("neighbor_of", "neighbor_of"),
    ("roommate_of", "roommate_of"),
    ("pet_of", "has_pet"),
    ("runs_on", "hosts"),
    ("deployed_to", "receives"),
    ("connects_to", "connected_from"),
    ("depends_on", "required_by"),
    ("uses", "used_by"),
    ("part_of", "has_part"),
    ("member_of", "has_member"),
    ("manages", "managed_by"),
    ("leads", "led_by"),
    ("maintains", "maintained_by"),
    ("reports_to", "has_report"),
    ("created", "created_by"),
    ("founded", "founded_by"),
    ("wrote", "written_by"),
    ("replaces", "replaced_by"),
    ("supersedes", "superseded_by"),
    ("studies_at", "has_student"),
    ("teaches_at", "has_teacher"),
    ("attended", "attended_by"),
    ("decided_by", "decided"),
    ("documented_in", "documents"),
    ("stored_in", "stores"),
    ("backs_up", "backed_up_by"),
    ("monitors", "monitored_by"),
    ("looks_after", "looked_after_by"),
    ("alerts", "alerted_by"),
    ("approves", "approved_by"),
    ("backed_up_to", "backup_of"),
    ("insured_with", "insures"),
    ("landlord_of", "tenant_of"),
    ("mentor_of", "mentored_by"),
    ("rented_from", "rented_to"),
    ("teacher_of", "student_of"),
    ("teaches", "taught_by"),
    ("coach_of", "coached_by"),
    ("godparent_of", "godchild_of"),
    ("serves", "client_of"),
    ("treats", "patient_of"),
];

/// Relations that say more than one above: their other end has only the broader name.
pub(super) const NARROW: &[(&str, &str)] = &[
    ("mother_of", "child_of"),
    ("father_of", "child_of"),
    ("son_of", "parent_of"),
    ("daughter_of", "parent_of"),
    ("sister_of", "sibling_of"),
    ("brother_of", "sibling_of"),
    ("wife_of", "married_to"),
    ("husband_of", "married_to"),
    ("girlfriend_of", "partner_of"),
    ("boyfriend_of", "partner_of"),
    ("fiance_of", "engaged_to"),
    ("grandmother_of", "grandchild_of"),
    ("grandfather_of", "grandchild_of"),
    ("grandson_of", "grandparent_of"),
    ("granddaughter_of", "grandparent_of"),
    ("aunt_of", "niece_or_nephew_of"),
    ("uncle_of", "niece_or_nephew_of"),
    ("niece_of", "aunt_or_uncle_of"),
    ("nephew_of", "aunt_or_uncle_of"),
    ("dog_of", "has_pet"),
    ("cat_of", "has_pet"),
    ("boss_of", "reports_to"),
    ("manager_of", "reports_to"),
    ("godmother_of", "godchild_of"),
    ("godfather_of", "godchild_of"),
    ("accountant_of", "client_of"),
    ("lawyer_of", "client_of"),
    ("dentist_of", "patient_of"),
    ("doctor_of", "patient_of"),
    ("therapist_of", "patient_of"),
    ("vet_of", "patient_of"),
];

/// Other names of the same relation.
pub(super) const SAME: &[(&str, &str)] = &[
    ("owner_of", "owns"),
    ("owned", "owns"),
    ("works_for", "works_at"),
    ("employed_by", "works_at"),
    ("employee_of", "works_at"),
    ("employer_of", "employs"),
    ("lives_at", "lives_in"),
    ("resides_in", "lives_in"),
    ("based_in", "located_in"),
    ("spouse_of", "married_to"),
    ("is_married_to", "married_to"),
    ("mom_of", "mother_of"),
    ("mum_of", "mother_of"),
    ("dad_of", "father_of"),
    ("grandma_of", "grandmother_of"),
    ("grandpa_of", "grandfather_of"),
    ("kid_of", "child_of"),
    ("fiancee_of", "fiance_of"),
    ("best_friend_of", "friend_of"),
    ("coworker_of", "colleague_of"),
    ("co_worker_of", "colleague_of"),
    ("neighbour_of", "neighbor_of"),
    ("flatmate_of", "roommate_of"),
    ("puppy_of", "dog_of"),
    ("kitten_of", "cat_of"),
    ("hosted_on", "runs_on"),
    ("hosted_by", "runs_on"),
    ("running_on", "runs_on"),
    ("requires", "depends_on"),
    ("needs", "depends_on"),
    ("is_part_of", "part_of"),
    ("component_of", "part_of"),
    ("belongs_to", "part_of"),
    ("maintainer_of", "maintains"),
    ("manager_is", "reports_to"),
    ("leader_of", "leads"),
    ("lead_of", "leads"),
    ("head_of", "leads"),
    ("founder_of", "founded"),
    ("co_founder_of", "founded"),
    ("author_of", "wrote"),
    ("creator_of", "created"),
    ("replacement_of", "replaces"),
    ("successor_of", "replaces"),
];

/// Relations that only say that there is one.
#[rustfmt::skip]
pub(super) const VAGUE: &[&str] = &[
    "about", "affects", "and", "associated_with", "connected_with", "contains", "does", "for", "has", "have",
    "involved_in", "involves", "is", "is_a", "linked_to", "mentions", "of", "references", "related_to",
    "relates_to", "relation", "see", "see_also", "with",
];

/// What the ends of a relation are, as far as its predicate says.
pub(super) const ENDS: &[(&[&str], Option<&str>, Option<&str>)] = &[
    (
        &[
            "mother_of",
            "father_of",
            "parent_of",
            "son_of",
            "daughter_of",
            "child_of",
            "sister_of",
            "brother_of",
            "sibling_of",
            "wife_of",
            "husband_of",
            "grandmother_of",
            "grandfather_of",
            "grandson_of",
            "granddaughter_of",
            "grandparent_of",
            "grandchild_of",
            "aunt_of",
            "uncle_of",
            "niece_of",
            "nephew_of",
            "cousin_of",
            "fiance_of",
            "married_to",
            "engaged_to",
            "partner_of",
            "girlfriend_of",
            "boyfriend_of",
            "stepmother_of",
            "stepfather_of",
            "stepson_of",
            "stepdaughter_of",
        ],
        Some("family"),
        None,
    ),
    (&["friend_of"], Some("friend"), None),
    (
        &["colleague_of", "neighbor_of", "roommate_of", "boss_of", "manager_of"],
        Some("person"),
        Some("person"),
    ),
    (&["pet_of", "dog_of", "cat_of"], Some("pet"), None),
    (&["works_at"], Some("person"), Some("organization")),
    (&["lives_in", "born_in", "comes_from"], Some("person"), Some("place")),
    (&["located_in"], None, Some("place")),
    (&["reports_to"], Some("person"), Some("person")),
    (&["owns", "maintains", "leads", "manages"], None, None),
];

/// Keys whose values stand side by side.
#[rustfmt::skip]
pub(super) const MULTI: &[&str] = &[
    "aliases", "allergic_to", "allergies", "allergy", "authors", "awards", "books", "brothers", "calendars",
    "cats", "certifications", "children", "clients", "colors", "colours", "conditions", "contributors",
    "courses", "customers", "databases", "daughters", "degrees", "dependencies", "devices", "dislikes",
    "dogs", "domains", "editors", "emails", "features", "folders", "formats", "frameworks", "friends",
    "genres", "godchildren", "grandchildren", "guests", "hobbies", "hobby", "hosts", "ingredients",
    "instruments", "interests", "kids", "languages", "likes", "locations", "machines", "maintainers",
    "medications", "members", "nephews", "nicknames", "nieces", "observations", "offices", "owners", "parents",
    "participants", "partners", "pets", "phones", "platforms", "players", "ports", "projects", "pupils",
    "qualifications", "repos", "repositories", "reviewers", "roles", "services", "shares", "siblings",
    "sisters", "skills", "sons", "speakers", "sponsors", "sports", "students", "subjects", "suppliers",
    "tags", "teachers", "technologies", "testers", "tools", "topics", "urls", "users", "vendors", "websites",
];

/// Keys that a document does not give: they change by the minute, or say nothing.
#[rustfmt::skip]
pub(super) const BLOCKED_KEYS: &[&str] = &[
    "a", "action", "actions", "also", "and", "answer", "as_of", "at", "blocker", "blockers", "btw", "but",
    "caution", "caveat", "caveats", "change", "changed", "changes", "comment", "comments", "created",
    "created_at", "current_status", "date", "day", "decision", "done", "e_g", "edit", "eg", "error", "eta",
    "example", "examples", "exit_code", "fact", "fix", "fixed", "fixme", "hint", "how", "however", "http",
    "https", "i_e", "idea", "important", "in_progress", "info", "input", "issue", "issues", "last_checked",
    "last_login", "last_modified", "last_run", "last_seen", "last_sync", "last_update", "last_updated",
    "learned", "lesson", "lessons", "log", "modified", "modified_at", "n_b", "nb", "next", "next_step",
    "next_steps", "note", "notes", "now", "okay", "or", "output", "p_s", "pid", "plan", "problem", "progress",
    "ps", "q", "question", "questions", "reason", "remember", "result", "results", "root_cause", "see",
    "see_also", "so", "solution", "started", "started_at", "state", "status", "step", "steps", "summary",
    "task", "tasks", "tbd", "then", "time", "timestamp", "tip", "tldr", "todo", "todos", "tomorrow", "ts",
    "update", "updated", "updated_at", "updates", "uptime", "usage", "warning", "what", "when", "where",
    "who", "why", "wip", "yesterday",
];

/// Words that stand for someone else each time.
#[rustfmt::skip]
pub(super) const PRONOUNS: &[&str] = &[
    "all", "another", "anybody", "anyone", "anything", "both", "each", "everybody", "everyone", "everything",
    "he", "her", "hers", "herself", "him", "himself", "his", "i", "it", "its", "itself", "me", "mine", "my",
    "myself", "nobody", "none", "nothing", "one", "our", "ours", "ourselves", "she", "somebody", "someone",
    "something", "that", "their", "theirs", "them", "themselves", "these", "they", "this", "those", "us",
    "we", "what", "which", "who", "whom", "whose", "you", "your", "yours", "yourself", "yourselves",
];

/// The parts of a conversation, which extraction takes for people.
#[rustfmt::skip]
pub(super) const ROLES: &[&str] = &[
    "agent", "ai", "ai agent", "ai assistant", "assistant", "bot", "caller", "chat", "chatbot",
    "conversation", "human", "llm", "model", "self", "session", "system", "the agent", "the ai",
    "the assistant", "the bot", "the human", "the model", "the session", "the system", "the user", "user",
    "users",
];

/// Days and months, which are names of people now and then.
#[rustfmt::skip]
pub(super) const DAYS: &[&str] = &[
    "apr", "april", "aug", "august", "dec", "december", "feb", "february", "fri", "friday", "jan", "january",
    "jul", "july", "jun", "june", "mar", "march", "may", "mon", "monday", "nov", "november", "oct", "october",
    "sat", "saturday", "sep", "sept", "september", "sun", "sunday", "thu", "thursday", "tue", "tuesday",
    "wed", "wednesday",
];

/// The months in their order, by their first letters.
pub(super) const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Keys that say nothing by themselves, and are told as the columns of a table.
pub(super) const COLUMNS: &[&str] = &["date", "day", "time", "when", "where", "who"];

/// Nouns and other words that name nothing in particular, with and without an article.
#[rustfmt::skip]
pub(super) const GENERIC: &[&str] = &[
    "admin", "afternoon", "android", "api", "app", "application", "architecture", "area", "article", "baby",
    "backend", "backup", "backups", "bank", "boss", "branch", "brother", "browser", "bug", "build",
    "business", "cat", "change", "child", "children", "city", "class", "client", "cloud", "cluster", "code",
    "codebase", "colleague", "command", "community", "company", "component", "computer", "config",
    "configuration", "container", "content", "country", "customer", "dad", "daddy", "dashboard", "data",
    "database", "default", "deploy", "deployment", "dev", "developer", "developers", "development", "device",
    "doc", "doctor", "documentation", "dog", "email", "employee", "endpoint", "engineer", "engineering",
    "environment", "error", "evening", "event", "family", "father", "feature", "file", "folder", "framework",
    "friend", "friends", "frontend", "function", "gateway", "god", "group", "guide", "home", "host", "house",
    "idea", "infrastructure", "instance", "interface", "internet", "issue", "job", "key", "kid", "kids",
    "language", "laptop", "library", "life", "line", "link", "list", "machine", "main", "manager", "market",
    "meeting", "member", "members", "memory", "message", "method", "module", "mom", "morning", "mother",
    "mum", "name", "network", "night", "object", "office", "ok", "okay", "online", "organization", "package",
    "page", "parent", "parents", "part", "party", "people", "performance", "person", "phone", "place", "plan",
    "platform", "plugin", "problem", "process", "prod", "product", "production", "program", "programming",
    "project", "projects", "prompt", "query", "question", "release", "repo", "repository", "request",
    "response", "result", "role", "rule", "sales", "school", "script", "search", "security", "server",
    "servers", "service", "services", "setup", "sister", "site", "software", "solution", "someone else",
    "staff", "staging", "state", "storage", "store", "structure", "student", "students", "support", "table",
    "task", "tasks", "teacher", "team", "teams", "test", "testing", "tests", "text", "thing", "things",
    "time", "today", "token", "tomorrow", "tonight", "tool", "tools", "topic", "town", "type", "update",
    "value", "version", "video", "way", "web", "website", "week", "weekend", "wife", "work", "workflow",
    "workspace", "world", "year", "yesterday",
];

/// What sections are called, whatever they are about.
#[rustfmt::skip]
pub(super) const TITLES: &[&str] = &[
    "about", "acknowledgements", "action items", "actions", "active", "added", "agenda", "allergies",
    "api reference", "appendix", "architecture", "archive", "authors", "background", "backlog", "basics",
    "benchmarks", "best practices", "blockers", "bugs", "building", "caveats", "change log", "changed",
    "changelog", "changes", "code of conduct", "commands", "communication", "completed", "conclusion",
    "configuration", "contents", "context", "contributing", "conversation", "conversations", "core features",
    "credits", "current", "current state", "current status", "daily", "daily log", "day", "day to day",
    "decisions", "dependencies", "deployment", "deprecated", "details", "development", "discussion",
    "documentation", "done", "errors", "example", "examples", "faq", "features", "file structure", "finished",
    "firms", "fixed", "fixes", "follow up", "follow-up", "follow-ups", "general", "getting started", "goals",
    "health", "heartbeat", "highlights", "history", "hobbies", "how it works", "how to work", "ideas",
    "identity", "important", "improvements", "in progress", "info", "information", "infrastructure",
    "insights", "installation", "insurance", "introduction", "issues", "journal", "key facts", "key features",
    "known facts", "known issues", "languages", "later", "learned", "learnings", "lessons", "lessons learned",
    "license", "limitations", "links", "log", "long-term memory", "maybe", "memories", "memory", "misc",
    "miscellaneous", "monitoring", "motivation", "news", "next", "next actions", "next steps", "not now",
    "note", "notes", "now", "numbers", "observations", "open items", "open questions", "other", "overview",
    "performance", "personal", "plan", "planning", "plans", "platform support", "preferences",
    "prerequisites", "problems", "progress", "project structure", "questions", "questions and answers",
    "quick facts", "quick reference", "quick start", "quickstart", "reference", "references", "reflection",
    "reflections", "release notes", "reminders", "removed", "requirements", "research", "resources",
    "results", "roadmap", "rules", "schedule", "security", "session notes", "session summary", "settings",
    "setup", "small print", "someday", "soon", "soul", "stack", "standup", "stats", "status", "status update",
    "summary", "support", "table of contents", "tasks", "tbd", "tech stack", "testing", "this week",
    "timeline", "timetable", "title", "tl;dr", "to do", "to-do", "today", "todo", "todos", "tomorrow",
    "troubleshooting", "unreleased", "untitled", "update", "updates", "usage", "use cases", "user profile",
    "vehicles", "waiting", "waiting for", "warning", "weak spots", "weather", "weekly", "what is remembered",
    "wins", "wish list", "wishes", "wishlist", "work", "work log", "work notes", "yesterday",
];

/// Endings of files.
#[rustfmt::skip]
pub(super) const FILES: &[&str] = &[
    "bak", "bash", "bin", "c", "cfg", "conf", "cpp", "css", "csv", "db", "doc", "docx", "env", "gif", "go",
    "gz", "h", "html", "ini", "ipynb", "java", "jpeg", "jpg", "js", "json", "jsonl", "jsx", "lock", "log",
    "md", "mp3", "mp4", "pdf", "php", "plist", "png", "ps1", "py", "rb", "rs", "sh", "sql", "sqlite", "svg",
    "swift", "tar", "tmp", "toml", "ts", "tsv", "tsx", "txt", "wav", "xls", "xlsx", "xml", "yaml", "yml",
    "zip", "zst",
];

/// How names of language models begin; a version follows.
#[rustfmt::skip]
pub(super) const MODELS: &[&str] = &[
    "chatgpt-", "claude-", "codestral", "command-r", "deepseek-", "gemini-", "gemma", "gpt-", "gpt4", "grok-",
    "haiku-", "llama", "mistral-", "mixtral", "nomic-embed", "o1-", "o3-", "o4-", "opus-", "phi-", "qwen",
    "sonnet-", "text-embedding-",
];
