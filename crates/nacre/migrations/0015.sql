-- Schema 16: where each record came from, what was deleted for good, and what is quarantined.

-- Who wrote a record: person, approved, agent, document, import or untrusted. The channel sets it, never the text. A record
-- that was derived from others has the weakest origin among them.
ALTER TABLE entries   ADD COLUMN origin TEXT NOT NULL DEFAULT 'agent';
ALTER TABLE facts     ADD COLUMN origin TEXT NOT NULL DEFAULT 'agent';
ALTER TABLE relations ADD COLUMN origin TEXT NOT NULL DEFAULT 'agent';
ALTER TABLE sessions  ADD COLUMN origin TEXT NOT NULL DEFAULT 'agent';
ALTER TABLE exchanges ADD COLUMN origin TEXT NOT NULL DEFAULT 'agent';
ALTER TABLE lessons   ADD COLUMN origin TEXT NOT NULL DEFAULT 'person';
ALTER TABLE passages  ADD COLUMN origin TEXT NOT NULL DEFAULT 'agent';
UPDATE entries SET origin = CASE source WHEN 'person' THEN 'person' WHEN 'migration' THEN 'import' ELSE 'agent' END;
UPDATE facts SET origin = CASE WHEN source IN ('person', 'document', 'import') THEN source ELSE 'agent' END;
UPDATE relations SET origin = CASE WHEN source IN ('person', 'document', 'import') THEN source ELSE 'agent' END;
UPDATE sessions SET origin = 'import' WHERE format NOT IN ('turns', 'transcript');
UPDATE passages SET origin = coalesce(
    CASE kind
        WHEN 'entry' THEN (SELECT origin FROM entries WHERE id = passages.ref)
        WHEN 'fact' THEN (SELECT origin FROM facts WHERE id = CAST(substr(passages.ref, 6) AS INTEGER))
        WHEN 'relation' THEN (SELECT origin FROM relations WHERE id = CAST(substr(passages.ref, 10) AS INTEGER))
        WHEN 'chunk' THEN CASE WHEN passages.ref LIKE 'memory/imports/%' THEN 'import' ELSE 'document' END
    END, 'agent') WHERE kind IN ('entry', 'fact', 'relation', 'chunk');

ALTER TABLE proposals ADD COLUMN token TEXT;          -- the token of whoever proposed it

-- A lesson that was learned from a correction waits until it is confirmed or recurs in another session.
ALTER TABLE lessons ADD COLUMN state TEXT NOT NULL DEFAULT 'confirmed';   -- waiting, confirmed or quarantined

-- Texts that were deleted for good. Only keyed hashes are kept, so that the text can't come back unasked.
CREATE TABLE tombstones (
    key    TEXT PRIMARY KEY,                          -- keyed hash of all words
    head   TEXT NOT NULL,                             -- keyed hash of the first words, to find it in a longer text
    words  INTEGER NOT NULL,
    whole  INTEGER NOT NULL,                          -- 1: only a text that says nothing else is meant
    at     INTEGER NOT NULL
) WITHOUT ROWID;

-- Sessions, sources and tokens whose records are out of recall until the quarantine is lifted.
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
