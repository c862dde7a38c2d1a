-- Schema 1: entries with their history, passages with their full-text index, limits, audit.
-- Times are UTC milliseconds, ids are text.

-- What the database says about itself: group, head of the audit chain, version of the analyser.
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
);
-- No two current entries say the same, whoever wrote them at whatever moment.
CREATE UNIQUE INDEX entries_current ON entries (folded) WHERE superseded_at IS NULL AND archived_at IS NULL;
CREATE INDEX entries_created ON entries (created_at, number);
CREATE INDEX entries_superseded ON entries (superseded_at) WHERE superseded_at IS NOT NULL;
CREATE INDEX entries_successor ON entries (superseded_by) WHERE superseded_by IS NOT NULL;

-- The earlier texts of entries that were updated in place.
CREATE TABLE entry_history (
    entry      TEXT NOT NULL,
    version    INTEGER NOT NULL,
    type       TEXT NOT NULL,
    content    TEXT NOT NULL,
    tags       TEXT NOT NULL,
    until      INTEGER NOT NULL,
    session    TEXT NOT NULL,                         -- who replaced it
    PRIMARY KEY (entry, version)
) WITHOUT ROWID;

-- Entries returned together (E10).
CREATE TABLE entry_links (
    entry    TEXT NOT NULL,
    other    TEXT NOT NULL,
    strength REAL NOT NULL,
    PRIMARY KEY (entry, other)
) WITHOUT ROWID;

-- Derived: the one searchable form of everything. `nacre reindex` makes it anew.
CREATE TABLE passages (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    kind    TEXT NOT NULL,
    ref     TEXT NOT NULL,
    text    TEXT NOT NULL,
    title   TEXT NOT NULL,                            -- what describes the text: tags, a heading, a speaker
    at      INTEGER NOT NULL,
    live    INTEGER NOT NULL,
    private INTEGER NOT NULL DEFAULT 0,
    UNIQUE (kind, ref)
);
-- Holds the analyser's words, separated by spaces; contentless, so that nothing is stored twice.
CREATE VIRTUAL TABLE passages_fts USING fts5 (text, title, content = '', tokenize = 'ascii');
INSERT INTO passages_fts (passages_fts, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE passages_vocab USING fts5vocab (passages_fts, 'row');

-- What each agent session has used of its limits (E7); shared by all its processes.
CREATE TABLE usage (
    session TEXT NOT NULL,
    action  TEXT NOT NULL,
    used    INTEGER NOT NULL,
    PRIMARY KEY (session, action)
) WITHOUT ROWID;

-- Every write and refusal; each row's hash covers the row before (A3).
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
