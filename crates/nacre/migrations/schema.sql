-- The schema of this version, for a new database. Written by the test that compares it with the migrations: run it with
-- NACRE_UPDATE=1 after adding one.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE entries (
    number        INTEGER PRIMARY KEY AUTOINCREMENT,  -- the short number; never given twice
    id            TEXT NOT NULL UNIQUE,
    type          TEXT NOT NULL,
    content       TEXT NOT NULL,
    folded        TEXT NOT NULL,                      -- hash of the content without case, space and punctuation (E12)
    tags          TEXT NOT NULL,                      -- a JSON array
    behavioral    INTEGER NOT NULL,                   -- derived from type
    score         INTEGER NOT NULL DEFAULT 0,
    supersedes    TEXT,
    superseded_by TEXT,
    superseded_at INTEGER,
    archived_at   INTEGER,
    created_at    INTEGER NOT NULL,
    confirmed_at  INTEGER,                            -- last reinforced or corrected; ranking uses this one (E5)
    returned_at   INTEGER,                            -- last shown to an agent; a signal for nobody
    session       TEXT NOT NULL,
    source        TEXT NOT NULL,
    narrative_id  TEXT,
    task_id       TEXT
, private INTEGER NOT NULL DEFAULT 0, data TEXT, project TEXT, origin TEXT NOT NULL DEFAULT 'agent');
CREATE INDEX entries_created ON entries (created_at, number);
CREATE INDEX entries_superseded ON entries (superseded_at) WHERE superseded_at IS NOT NULL;
CREATE INDEX entries_successor ON entries (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE TABLE entry_history (
    entry      TEXT NOT NULL,
    version    INTEGER NOT NULL,
    type       TEXT NOT NULL,
    content    TEXT NOT NULL,
    tags       TEXT NOT NULL,
    until      INTEGER NOT NULL,
    session    TEXT NOT NULL, private INTEGER NOT NULL DEFAULT 0,                         -- who replaced it
    PRIMARY KEY (entry, version)
) WITHOUT ROWID;
CREATE TABLE entry_links (
    entry    TEXT NOT NULL,
    other    TEXT NOT NULL,
    strength REAL NOT NULL,
    PRIMARY KEY (entry, other)
) WITHOUT ROWID;
CREATE TABLE passages (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    kind    TEXT NOT NULL,
    ref     TEXT NOT NULL,
    text    TEXT NOT NULL,
    title   TEXT NOT NULL,                            -- what describes the text: tags, a heading, a speaker
    at      INTEGER NOT NULL,
    live    INTEGER NOT NULL,
    session INTEGER, seq INTEGER, author TEXT, slot INTEGER, pieces INTEGER, hash TEXT, first_line INTEGER, last_line INTEGER, origin TEXT NOT NULL DEFAULT 'agent',
    UNIQUE (kind, ref)
);
CREATE VIRTUAL TABLE passages_fts USING fts5 (text, title, content = '', tokenize = 'ascii');
CREATE VIRTUAL TABLE passages_vocab USING fts5vocab (passages_fts, 'row');
CREATE TABLE usage (
    session TEXT NOT NULL,
    action  TEXT NOT NULL,
    used    INTEGER NOT NULL,
    PRIMARY KEY (session, action)
) WITHOUT ROWID;
CREATE TABLE audit (
    seq     INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    actor   TEXT NOT NULL,
    session TEXT NOT NULL,
    action  TEXT NOT NULL,
    outcome TEXT NOT NULL,
    ids     TEXT NOT NULL,                            -- a JSON array
    detail  TEXT NOT NULL,                            -- a JSON object of sizes, counts and codes; never content
    hash    TEXT NOT NULL
);
CREATE TABLE sessions (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    format     TEXT NOT NULL,                         -- where it came from: jsonl, claude-code, codex, chatgpt, claude
    started_at INTEGER,
    ended_at   INTEGER
, private INTEGER NOT NULL DEFAULT 1, project TEXT, origin TEXT NOT NULL DEFAULT 'agent');
CREATE INDEX passages_session ON passages (session, seq) WHERE session IS NOT NULL;
CREATE TABLE authors (
    hash INTEGER PRIMARY KEY,
    name TEXT NOT NULL
);
CREATE TABLE terms (
    term TEXT PRIMARY KEY,
    df   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE marks (
    chunk INTEGER PRIMARY KEY,
    stamp INTEGER NOT NULL,
    data  BLOB NOT NULL
);
CREATE TABLE vectors (
    chunk INTEGER PRIMARY KEY,
    stamp INTEGER NOT NULL,
    used  INTEGER NOT NULL,
    data  BLOB NOT NULL
);
CREATE TABLE documents (
    path   TEXT PRIMARY KEY,                          -- within the group's folder, with `/`
    size   INTEGER NOT NULL,
    mtime  INTEGER,                                   -- NULL: it has to be read again, whatever its size
    hash   TEXT NOT NULL,                             -- SHA-256 of its bytes; empty where they were not read
    chunks INTEGER NOT NULL,
    note   TEXT                                       -- why it was skipped (no chunks) or what was repaired
, graph TEXT, private INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE collections (
    name       TEXT PRIMARY KEY,
    sources    TEXT NOT NULL,                         -- a JSON array of absolute paths: folders and files
    added_at   INTEGER NOT NULL,
    indexed_at INTEGER                                -- when all sources were last read; NULL: not since one was added
) WITHOUT ROWID;
CREATE TABLE embedded (
    passage INTEGER PRIMARY KEY,
    stamp   INTEGER NOT NULL,
    data    BLOB NOT NULL                             -- pieces end to end: a scale, a byte a component; one byte: refused; none: gone
);
CREATE INDEX embedded_by_stamp ON embedded (stamp);
CREATE TABLE entities (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL,                         -- as it is shown
    root       INTEGER NOT NULL,                      -- the entity it counts as: itself, unless it was merged into another
    category   TEXT NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX entities_root ON entities (root);
CREATE INDEX entities_speaking ON entities (category) WHERE category IN ('user', 'self');
CREATE TABLE names (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    folded TEXT NOT NULL UNIQUE,                      -- without case, accents and kinds of apostrophes
    name   TEXT NOT NULL,
    entity INTEGER NOT NULL,
    own    INTEGER NOT NULL,                          -- else it is an alias
    source TEXT NOT NULL
, private INTEGER NOT NULL DEFAULT 0);
CREATE INDEX names_entity ON names (entity);
CREATE TABLE facts (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    entity        INTEGER NOT NULL,
    key           TEXT NOT NULL,                      -- lower case, words joined by `_`
    value         TEXT NOT NULL,
    category      TEXT NOT NULL,
    importance    REAL NOT NULL,
    permanent     INTEGER NOT NULL,                   -- does not fade
    since         INTEGER NOT NULL,
    until         INTEGER,                            -- NULL: it holds
    source        TEXT NOT NULL,                      -- person, agent, document, seed, conversation
    session       TEXT,
    activation    REAL NOT NULL DEFAULT 1,
    access_count  INTEGER NOT NULL DEFAULT 0,
    last_accessed INTEGER
, private INTEGER NOT NULL DEFAULT 0, origin TEXT NOT NULL DEFAULT 'agent');
CREATE INDEX facts_entity ON facts (entity, key, since);
CREATE TABLE relations (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    subject       INTEGER NOT NULL,
    predicate     TEXT NOT NULL,                      -- lower case, words joined by `_`
    object        INTEGER NOT NULL,
    since         INTEGER NOT NULL,
    until         INTEGER,
    source        TEXT NOT NULL,
    session       TEXT,
    activation    REAL NOT NULL DEFAULT 1,
    access_count  INTEGER NOT NULL DEFAULT 0,
    last_accessed INTEGER
, private INTEGER NOT NULL DEFAULT 0, origin TEXT NOT NULL DEFAULT 'agent');
CREATE INDEX relations_subject ON relations (subject, predicate);
CREATE INDEX relations_object ON relations (object, predicate);
CREATE TABLE citations (
    path TEXT NOT NULL,
    kind TEXT NOT NULL,                               -- fact, relation, name
    id   INTEGER NOT NULL,
    line INTEGER NOT NULL,
    PRIMARY KEY (path, kind, id)
) WITHOUT ROWID;
CREATE INDEX citations_of ON citations (kind, id);
CREATE TABLE recalled_together (
    one    TEXT NOT NULL,
    other  TEXT NOT NULL,
    weight REAL NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (one, other)
) WITHOUT ROWID;
CREATE TABLE multi_keys (key TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE categories (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE distinct_entities (
    one   INTEGER NOT NULL,
    other INTEGER NOT NULL,
    PRIMARY KEY (one, other)
) WITHOUT ROWID;
CREATE TABLE merges (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    kept      INTEGER NOT NULL,
    gone      INTEGER NOT NULL,
    moved     TEXT NOT NULL,                          -- a JSON array: the entities whose root changed
    ended     TEXT NOT NULL,                          -- a JSON array: the facts that gave way to newer ones
    at        INTEGER NOT NULL,
    undone_at INTEGER
);
CREATE TABLE kept_out (
    path   TEXT NOT NULL,
    line   INTEGER NOT NULL,
    what   TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (path, line, what)
) WITHOUT ROWID;
CREATE TABLE exchanges (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,                  -- hash of the session and both texts: twice is once
    session    TEXT NOT NULL,
    user       TEXT NOT NULL,                         -- what was said, without what we put before it, credentials masked
    agent      TEXT NOT NULL,
    at         INTEGER NOT NULL,
    seq        INTEGER NOT NULL,                      -- its place in the session
    said       TEXT NOT NULL,                         -- hash of the user's text, by which a transcript of the session has it too
    searchable INTEGER NOT NULL                       -- 0: only talk about remembering, or a transcript has it
, private INTEGER NOT NULL DEFAULT 1, project TEXT, origin TEXT NOT NULL DEFAULT 'agent');
CREATE INDEX exchanges_session ON exchanges (session, number);
CREATE TABLE lessons (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    text        TEXT NOT NULL,
    folded      TEXT NOT NULL UNIQUE,                 -- hash of the text without case, space and punctuation
    asked       TEXT NOT NULL,                        -- what was asked when it was learned; empty where nothing was
    weight      REAL NOT NULL,                        -- how plainly it was said, 0 to 1
    recurred    INTEGER NOT NULL DEFAULT 0,           -- how often it was said again
    injected    INTEGER NOT NULL DEFAULT 0,
    kept        INTEGER NOT NULL DEFAULT 0,           -- injected, and the user did not have to say it again
    broken      INTEGER NOT NULL DEFAULT 0,           -- injected, and said again all the same
    learned_at  INTEGER NOT NULL,
    session     TEXT NOT NULL
, private INTEGER NOT NULL DEFAULT 1, origin TEXT NOT NULL DEFAULT 'person', state TEXT NOT NULL DEFAULT 'confirmed');
CREATE TABLE turns (
    session TEXT PRIMARY KEY,
    state   TEXT NOT NULL,                            -- JSON
    at      INTEGER NOT NULL
, private INTEGER NOT NULL DEFAULT 1) WITHOUT ROWID;
CREATE UNIQUE INDEX entries_current ON entries (folded, private) WHERE superseded_at IS NULL AND archived_at IS NULL;
CREATE TABLE proposals (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    kind       TEXT NOT NULL,                         -- file, or call
    target     TEXT NOT NULL,                         -- the file within the group's folder, or the tool
    base       BLOB,                                  -- the file as it was when this was proposed; NULL: there was none
    proposed   BLOB,                                  -- the whole file as it would be, NULL: gone; or the tool's arguments as JSON
    reason     TEXT NOT NULL,                         -- why, in the words of whoever proposed it
    sources    TEXT NOT NULL,                         -- a JSON array: what it was made from
    state      TEXT NOT NULL,                         -- pending, approved, denied, reverted
    private    INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    session    TEXT NOT NULL,
    at         INTEGER NOT NULL,
    decided_at INTEGER,
    decided_by TEXT,                                  -- the session that decided
    answer     TEXT NOT NULL DEFAULT '',              -- why it was denied
    client     TEXT                                   -- what a client says the person said: accept, decline
, token TEXT);
CREATE INDEX proposals_pending ON proposals (state, number) WHERE state = 'pending';
CREATE TABLE file_changes (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    cause  TEXT NOT NULL,                             -- what it is part of: `proposal 3`, `retention`, `restore 2`
    path   TEXT NOT NULL,
    before BLOB,                                      -- the only file that may be replaced; NULL: there must be none
    after  BLOB                                       -- what stands there then; NULL: nothing
);
CREATE TABLE promoted (
    step     TEXT NOT NULL,
    what     TEXT NOT NULL,
    proposal INTEGER NOT NULL,
    PRIMARY KEY (step, what)
) WITHOUT ROWID;
CREATE TABLE line_uses (
    path    TEXT NOT NULL,
    line    TEXT NOT NULL,
    seen_at INTEGER NOT NULL,                         -- when the line was first seen
    used_at INTEGER,                                  -- NULL: never
    PRIMARY KEY (path, line)
) WITHOUT ROWID;
CREATE TABLE seen (
    session TEXT NOT NULL,
    what    TEXT NOT NULL,                            -- infrastructure
    at      INTEGER NOT NULL,
    PRIMARY KEY (session, what)
) WITHOUT ROWID;
CREATE TABLE projects (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT NOT NULL UNIQUE,
    folder       TEXT NOT NULL UNIQUE,                -- from the root, without links
    extracted_at INTEGER                              -- when it was last read to its end; NULL: not yet
, extract INTEGER NOT NULL DEFAULT 0);
CREATE TABLE project_files (
    project INTEGER NOT NULL,
    path    TEXT NOT NULL,                            -- within the folder, with `/`
    size    INTEGER NOT NULL,
    mtime   INTEGER,                                  -- NULL: to be read again whatever the time
    hash    TEXT NOT NULL,                            -- of its bytes and of who read it; empty: skipped
    note    TEXT,                                     -- why it was skipped
    PRIMARY KEY (project, path)
) WITHOUT ROWID;
CREATE TABLE items (
    id           TEXT PRIMARY KEY,                    -- made from the project, the file, the type and the content
    project      INTEGER NOT NULL,
    path         TEXT NOT NULL,
    line         INTEGER NOT NULL,
    type         TEXT NOT NULL,                       -- entity, claim, task, decision, note
    title        TEXT NOT NULL,
    content      TEXT NOT NULL,
    confidence   REAL NOT NULL,
    extracted_at INTEGER NOT NULL,
    private      INTEGER NOT NULL                     -- of a document that says so of itself
, model TEXT, section TEXT) WITHOUT ROWID;
CREATE INDEX items_file ON items (project, path, line);
CREATE TABLE tasks (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,   -- 1 is TASK-001
    milestone    TEXT,
    priority     INTEGER NOT NULL,                    -- the lowest comes first
    status       TEXT NOT NULL,                       -- pending, in_progress, done, cancelled
    description  TEXT NOT NULL,
    accept       TEXT NOT NULL,                       -- acceptance criteria, a JSON array
    created_at   INTEGER NOT NULL,
    completed_at INTEGER,
    archived_at  INTEGER
);
CREATE INDEX tasks_milestone ON tasks (milestone);
CREATE TABLE task_blocks (
    task INTEGER NOT NULL,
    "by" INTEGER NOT NULL,
    PRIMARY KEY (task, "by")
) WITHOUT ROWID;
CREATE INDEX task_blocks_by ON task_blocks ("by");
CREATE TABLE task_changes (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    task    INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    status  TEXT NOT NULL,
    actor   TEXT NOT NULL,                            -- person, agent
    session TEXT NOT NULL
);
CREATE INDEX task_changes_task ON task_changes (task);
CREATE TABLE jobs (
    name       TEXT PRIMARY KEY,
    due        INTEGER,                               -- the moment of the schedule that was last served
    claim      TEXT,                                  -- who is at it; NULL: nobody
    claimed_at INTEGER,
    ran_at     INTEGER,
    failed     INTEGER NOT NULL DEFAULT 0,
    says       TEXT                                   -- what the last run did, in a line
) WITHOUT ROWID;
CREATE TABLE transcripts (
    session     TEXT PRIMARY KEY,
    taken       INTEGER NOT NULL,                     -- bytes of the file that are taken in
    head        TEXT NOT NULL,                        -- hash of how it begins: another file in its place is known by it
    lines       INTEGER NOT NULL,
    tokens      INTEGER NOT NULL,                     -- of all that came since the last compaction: the context has these at most
    summary_at  INTEGER,                              -- where the last summary stands in the file
    compactions INTEGER NOT NULL,
    narrated    TEXT,                                 -- the last line that an entry sums up
    first_at    INTEGER,
    last_at     INTEGER,
    ended_at    INTEGER,
    archived_at INTEGER
) WITHOUT ROWID;
CREATE TABLE transcript_ids (
    session TEXT NOT NULL,
    id      TEXT NOT NULL,                            -- a result has the id of its call, a zero byte and `result`
    hash    TEXT NOT NULL,
    PRIMARY KEY (session, id)
) WITHOUT ROWID;
CREATE TABLE flushes (
    session TEXT PRIMARY KEY,
    cycle   INTEGER NOT NULL DEFAULT 0,               -- compactions that only its host has seen
    asked   INTEGER,                                  -- NULL: never
    at      INTEGER
) WITHOUT ROWID;
CREATE TABLE imports (
    format      TEXT NOT NULL,                        -- openclaw, mem0, …
    key         TEXT NOT NULL,                        -- hash of what names the item at its source
    part        TEXT NOT NULL,                        -- hash of what names the file or record it stands in
    kind        TEXT NOT NULL,                        -- entry, document, fact, relation, alias; source: a name of a folder, and the folder
    ref         TEXT NOT NULL,                        -- what it became here
    own         INTEGER NOT NULL,                     -- 0: it was here before
    hash        TEXT NOT NULL,                        -- of what it said when it was last taken in; empty: deleted here for good
    origin      TEXT NOT NULL,                        -- JSON: where it stood, its id there, who wrote it
    at          INTEGER,                              -- its own time
    imported_at INTEGER NOT NULL,
    PRIMARY KEY (format, key)
) WITHOUT ROWID;
CREATE INDEX imports_part ON imports (part);
CREATE INDEX imports_ref ON imports (kind, ref);
CREATE TABLE conflicts (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    one        TEXT NOT NULL,                         -- the statement that was there: id of an entry, fact-N, or path of a document
    one_hash   TEXT NOT NULL,                         -- of its text; of the line in a document
    other      TEXT NOT NULL,                         -- the statement that came later
    other_hash TEXT NOT NULL,
    found_at   INTEGER NOT NULL,
    kept       TEXT,                                  -- first, second or both; NULL: not settled here
    UNIQUE (one, one_hash, other, other_hash)
);
CREATE INDEX conflicts_other ON conflicts (other);
CREATE TABLE tombstones (
    key    TEXT PRIMARY KEY,                          -- keyed hash of all words
    head   TEXT NOT NULL,                             -- keyed hash of the first words, to find it in a longer text
    words  INTEGER NOT NULL,
    whole  INTEGER NOT NULL,                          -- 1: only a text that says nothing else is meant
    at     INTEGER NOT NULL
, secret TEXT) WITHOUT ROWID;
CREATE TABLE quarantines (
    number    INTEGER PRIMARY KEY AUTOINCREMENT,
    kind      TEXT NOT NULL,                          -- session, source or token
    name      TEXT NOT NULL,
    at        INTEGER NOT NULL,
    lifted_at INTEGER
);
CREATE TABLE quarantined (
    quarantine INTEGER NOT NULL,
    kind       TEXT NOT NULL,                         -- entry, fact, relation, message, exchange or lesson
    ref        TEXT NOT NULL,
    PRIMARY KEY (quarantine, kind, ref)
) WITHOUT ROWID;
CREATE TABLE sync_records (
    kind     TEXT NOT NULL,                           -- entry, fact, relation, alias, entity, lesson, exchange
    id       TEXT NOT NULL,                           -- the same on every machine
    local    TEXT NOT NULL,                           -- the row here; empty: it has none
    text     TEXT,                                    -- keyed hash of its text
    row_hash TEXT NOT NULL,                           -- hash of the row as it was last compared
    document TEXT NOT NULL,
    PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE INDEX sync_records_local ON sync_records (kind, local) WHERE local <> '';
CREATE INDEX sync_records_text ON sync_records (text) WHERE text IS NOT NULL;
CREATE TABLE sync_tombstones (
    kind     TEXT NOT NULL,
    id       TEXT NOT NULL,
    at       TEXT NOT NULL,                           -- hybrid time and machine
    device   TEXT NOT NULL,
    number   INTEGER NOT NULL,
    scrubbed INTEGER NOT NULL DEFAULT 0,              -- whether its text was removed from the log of this machine
    PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE TABLE sync_texts (
    hash TEXT PRIMARY KEY,
    at   TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE sync_devices (
    device TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    hash   TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE sync_outbox (
    number INTEGER PRIMARY KEY,
    kind   TEXT NOT NULL,
    id     TEXT NOT NULL,
    record TEXT NOT NULL,
    sealed BLOB                                       -- NULL: it has no text
);
CREATE TABLE sync_state (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE mentions (
    entry     TEXT NOT NULL,
    kind      TEXT NOT NULL,                          -- path, flag, version, command or branch
    name      TEXT NOT NULL,                          -- as the memory names it
    seen_at   INTEGER NOT NULL,                       -- when it was first seen
    gone_at   INTEGER,                                -- since when it is missed; NULL: it is there
    successor TEXT,                                   -- what took its place, if that is known
    kept      INTEGER NOT NULL DEFAULT 0,             -- 1: a person says that the memory is right
    PRIMARY KEY (entry, kind, name)
) WITHOUT ROWID;
CREATE TABLE live_files (
    path    TEXT PRIMARY KEY,                         -- tasks.json or items.json
    hash    TEXT NOT NULL,                            -- of the file then
    base    TEXT NOT NULL,                            -- versions of tasks.json; the hash of each item of items.json
    problem TEXT                                      -- why an edit can't be read; NULL: there is none
) WITHOUT ROWID;
CREATE TABLE distil_read (
    session TEXT NOT NULL,
    message TEXT NOT NULL,                            -- SESSION/MESSAGE
    PRIMARY KEY (session, message)
) WITHOUT ROWID;
CREATE TABLE distil_found (
    session TEXT NOT NULL,
    place   INTEGER NOT NULL,
    message TEXT NOT NULL,
    kind    TEXT NOT NULL,                            -- decision, correction, preference, instruction, fact
    content TEXT NOT NULL,
    PRIMARY KEY (session, place)
) WITHOUT ROWID;
CREATE TABLE distil_due (
    session TEXT PRIMARY KEY,
    at      INTEGER NOT NULL,
    problem TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE llm_usage (
    day      TEXT PRIMARY KEY,
    requests INTEGER NOT NULL,
    tokens   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE item_sections (
    project INTEGER NOT NULL,
    path    TEXT NOT NULL,
    section TEXT NOT NULL,
    PRIMARY KEY (project, path, section)
) WITHOUT ROWID;
CREATE TABLE line_vectors (
    passage INTEGER PRIMARY KEY,
    stamp   INTEGER NOT NULL,
    data    BLOB NOT NULL                             -- lines end to end: a scale, a byte a component; scale 0: no vector
);
CREATE INDEX line_vectors_by_stamp ON line_vectors (stamp);
INSERT INTO passages_fts (passages_fts, rank) VALUES ('secure-delete', 1);
