-- Schema 2: messages of sessions as passages; what search needs of every passage in packed rows; vectors; document frequencies.

CREATE TABLE sessions (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    format     TEXT NOT NULL,                         -- where it came from: jsonl, claude-code, codex, chatgpt, claude
    started_at INTEGER,
    ended_at   INTEGER
);

-- A message is its passage: there is no second copy of its text. `ref` is the session's id, a slash and the message's id.
ALTER TABLE passages ADD COLUMN session INTEGER;      -- sessions.number
ALTER TABLE passages ADD COLUMN seq INTEGER;          -- the place in its session
ALTER TABLE passages ADD COLUMN author TEXT;          -- user, assistant or a name
ALTER TABLE passages ADD COLUMN slot INTEGER;         -- the first of its vectors
ALTER TABLE passages ADD COLUMN pieces INTEGER;       -- how many it has
CREATE INDEX passages_session ON passages (session, seq) WHERE session IS NOT NULL;

-- The names of those who speak, so that a question that names one can be told from one that does not.
CREATE TABLE authors (
    hash INTEGER PRIMARY KEY,
    name TEXT NOT NULL
);

-- How many passages have a word.
CREATE TABLE terms (
    term TEXT PRIMARY KEY,
    df   INTEGER NOT NULL
) WITHOUT ROWID;

-- Packed records, many to a row, so that a fresh process reads them in milliseconds: marks (one a passage, by its id) and vectors
-- (one a piece, in the order they came). `stamp` is the index's stamp when the row last changed.
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

-- Indexes of the first schema are made anew on opening.
DELETE FROM meta WHERE key = 'analyser';
