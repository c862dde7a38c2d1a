-- Schema 4: collections (named corpora of documents), and the vectors of a provider.
--
-- Collections. Their databases stand beside this one and are derived: what a collection is
-- stands here.

CREATE TABLE collections (
    name       TEXT PRIMARY KEY,
    sources    TEXT NOT NULL,                         -- a JSON array of absolute paths: folders and files
    added_at   INTEGER NOT NULL,
    indexed_at INTEGER                                -- when all sources were last read; NULL: not since one was added
) WITHOUT ROWID;

-- Derived, and filled in behind the writes: vectors by the model that the settings name, beside the built-in ones, which every
-- passage has from the start. `meta` has the model's name under `embedding`.
CREATE TABLE embedded (
    passage INTEGER PRIMARY KEY,
    stamp   INTEGER NOT NULL,
    data    BLOB NOT NULL                             -- pieces end to end: a scale, a byte a component; one byte: refused; none: gone
);
CREATE INDEX embedded_by_stamp ON embedded (stamp);
