-- Schema 4: collections (named corpora of documents). Their databases stand beside this one and are derived: what a collection is
-- stands here.

CREATE TABLE collections (
    name       TEXT PRIMARY KEY,
    sources    TEXT NOT NULL,                         -- a JSON array of absolute paths: folders and files
    added_at   INTEGER NOT NULL,
    indexed_at INTEGER                                -- when all sources were last read; NULL: not since one was added
) WITHOUT ROWID;
