//! The words by which messages are told apart: which say nothing, who is meant, what is asked for. English; each list
//! is a table to add to.

/// Words that stand in messages about anything, as the analyser stems them.
pub(super) const EMPTY: &[&str] = &[
    "again", "already", "also", "another", "anyth", "ask", "best", "better", "call", "chang", "check",
    "come", "could", "day", "decid", "done", "easi", "else", "even", "everyth", "exampl", "explain", "find",
    "first", "fix", "get", "give", "go", "good", "got", "great", "happen", "help", "hi", "high", "keep",
    "kind", "know", "last", "let", "like", "list", "littl", "look", "lot", "made", "make", "mani", "may",
    "mean", "might", "much", "must", "name", "need", "never", "new", "next", "nice", "number", "ok", "okay",
    "one", "part", "pleas", "point", "put", "question", "realli", "said", "say", "see", "set", "show",
    "someth", "sorri", "still", "suggest", "sure", "take", "tell", "thank", "thing", "think", "time",
    "today", "told", "tri", "turn", "two", "use", "want", "way", "well", "went", "without", "word", "work",
    "write", "yes", "yesterday", "yet",
];

/// Who speaks of themselves, or of both.
pub(super) const PERSONAL: &[&str] = &[
    "i", "i'm", "i've", "i'd", "i'll", "me", "my", "mine", "myself", "we", "we're", "we've", "we'd",
    "we'll", "us", "our", "ours",
];

/// What asks for something that was said or done before.
pub(super) const RECALLS: &[&str] = &[
    "did we", "did i", "did you", "we said", "you said", "you told", "i told", "we decided", "we agreed",
    "again", "remember", "remind me", "last time", "as before", "same as", "we chose", "we wanted",
    "you suggested", "you recommended", "your suggestion", "your recommendation", "we were", "was i",
    "were we", "earlier",
];

/// What asks about the world at large; `*` is any one word.
pub(super) const GENERAL: &[&str] = &[
    "in general", "what is a", "what is an", "what are", "what does a", "what does an", "does one",
    "should one", "do people", "nowadays", "explain", "how does", "how is * made", "the difference between",
    "compare", "the history of", "tell me about", "who invented", "who wrote", "who won", "which countries",
    "how do i", "how do you", "write a poem", "joke",
];

/// Words with which a message begins that tells the agent to do something.
pub(super) const COMMANDS: &[&str] = &[
    "add", "book", "build", "check", "commit", "convert", "create", "delete", "deploy", "draft", "draw",
    "find", "fix", "force", "format", "generate", "give", "help", "implement", "install", "let's", "list",
    "look", "make", "merge", "move", "open", "order", "pay", "plan", "please", "push", "recommend",
    "refactor", "remove", "rename", "restart", "review", "rewrite", "run", "send", "set", "show", "sort",
    "suggest", "summarise", "summarize", "test", "transfer", "translate", "update", "write",
];

/// What points at something that lies before both.
pub(super) const POINTING: &[&str] = &[
    "this", "these", "it", "above", "below",
];

/// Before a noun: a certain one is meant.
pub(super) const WHICH: &[&str] = &[
    "the", "my", "our", "this", "that", "these", "those", "his", "her", "their", "its", "your",
];

/// Before a noun: any one is meant.
pub(super) const ANY: &[&str] = &[
    "a", "an", "any",
];

/// Words that only say when.
pub(super) const TIMES: &[&str] = &[
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "mondays", "tuesdays",
    "wednesdays", "thursdays", "fridays", "saturdays", "sundays", "january", "february", "april", "june",
    "july", "august", "september", "october", "november", "december", "today", "tomorrow", "tonight",
    "yesterday", "week", "weeks", "month", "months",
];

/// What holds in a whole field of life: the words by which a message is in it, and those by which a memory is a rule
/// for it. Somebody who asks for a restaurant does not say that they eat no meat.
pub(super) const FIELDS: &[(&[&str], &[&str])] = &[
    (
        &[
            "breakfast", "cook", "cooking", "curry", "dessert", "dinner", "dish", "dishes", "eat", "eating",
            "food", "groceries", "lunch", "meal", "meals", "menu", "recipe", "recipes", "restaurant",
            "restaurants", "snack", "snacks", "supper", "takeaway", "barbecue", "catering",
        ],
        &[
            "allergic", "allergy", "coeliac", "celiac", "diabetic", "dislikes", "gluten", "halal",
            "intolerance", "intolerant", "kosher", "lactose", "pescatarian", "vegan", "vegetarian", "pork",
            "nuts", "peanuts",
        ],
    ),
    (
        &[
            "antibiotic", "antibiotics", "doctor", "drug", "drugs", "medication", "medications", "medicine",
            "medicines", "painkiller", "painkillers", "pharmacist", "pharmacy", "pill", "pills",
            "prescribe", "prescribed", "prescription", "surgery", "vaccine", "anaesthesia",
        ],
        &[
            "allergic", "allergy", "anticoagulant", "asthma", "asthmatic", "diabetes", "diabetic",
            "epilepsy", "haemophilia", "hypertension", "pacemaker", "pregnant", "penicillin", "ibuprofen",
            "aspirin", "insulin", "warfarin",
        ],
    ),
];
