-- Schema 5: the knowledge graph. Entities and the names they go by, facts and relations with the time they held, where each is
-- written, what was recalled together, and what was kept out.

CREATE TABLE entities (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL,                         -- as it is shown
    root       INTEGER NOT NULL,                      -- the entity it counts as: itself, unless it was merged into another
    category   TEXT NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX entities_root ON entities (root);
-- Who "I" and "you" are.
CREATE INDEX entities_speaking ON entities (category) WHERE category IN ('user', 'self');

-- Every name that an entity goes by, its own included. One name, one entity.
CREATE TABLE names (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    folded TEXT NOT NULL UNIQUE,                      -- without case, accents and kinds of apostrophes
    name   TEXT NOT NULL,
    entity INTEGER NOT NULL,
    own    INTEGER NOT NULL,                          -- else it is an alias
    source TEXT NOT NULL
);
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
);
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
);
CREATE INDEX relations_subject ON relations (subject, predicate);
CREATE INDEX relations_object ON relations (object, predicate);

-- Where a fact, a relation or a name is written. What was read from documents goes when the last line that says it goes.
CREATE TABLE citations (
    path TEXT NOT NULL,
    kind TEXT NOT NULL,                               -- fact, relation, name
    id   INTEGER NOT NULL,
    line INTEGER NOT NULL,
    PRIMARY KEY (path, kind, id)
) WITHOUT ROWID;
CREATE INDEX citations_of ON citations (kind, id);

-- Facts and relations that were recalled together (G5), by their references; both ways round.
CREATE TABLE recalled_together (
    one    TEXT NOT NULL,
    other  TEXT NOT NULL,
    weight REAL NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (one, other)
) WITHOUT ROWID;

-- Keys whose values do not replace each other; categories beside the built-in ones.
CREATE TABLE multi_keys (key TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE categories (name TEXT PRIMARY KEY) WITHOUT ROWID;

-- Pairs of entities that are never the same, the lower id first.
CREATE TABLE distinct_entities (
    one   INTEGER NOT NULL,
    other INTEGER NOT NULL,
    PRIMARY KEY (one, other)
) WITHOUT ROWID;

-- What merging moved and ended, so that it can be undone.
CREATE TABLE merges (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    kept      INTEGER NOT NULL,
    gone      INTEGER NOT NULL,
    moved     TEXT NOT NULL,                          -- a JSON array: the entities whose root changed
    ended     TEXT NOT NULL,                          -- a JSON array: the facts that gave way to newer ones
    at        INTEGER NOT NULL,
    undone_at INTEGER
);

-- What was read and not taken in, and why.
CREATE TABLE kept_out (
    path   TEXT NOT NULL,
    line   INTEGER NOT NULL,
    what   TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (path, line, what)
) WITHOUT ROWID;

-- The version of the reader that took the graph's part out of a document; NULL: none has.
ALTER TABLE documents ADD COLUMN graph TEXT;
