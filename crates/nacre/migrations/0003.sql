-- Schema 3: documents (the Markdown files of the workspace) as passages of kind `chunk`.

-- What the index knows of a file, so that one that has not changed is not read again.
CREATE TABLE documents (
    path   TEXT PRIMARY KEY,                          -- within the group's folder, with `/`
    size   INTEGER NOT NULL,
    mtime  INTEGER,                                   -- NULL: it has to be read again, whatever its size
    hash   TEXT NOT NULL,                             -- SHA-256 of its bytes; empty where they were not read
    chunks INTEGER NOT NULL,
    note   TEXT                                       -- why it was skipped (no chunks) or what was repaired
) WITHOUT ROWID;

-- `ref` of a chunk is the path, `#` and its number, from 0.
ALTER TABLE passages ADD COLUMN hash TEXT;            -- SHA-256 of a chunk's title and text: the same is not written again
ALTER TABLE passages ADD COLUMN first_line INTEGER;   -- the lines of a chunk, from 1
ALTER TABLE passages ADD COLUMN last_line INTEGER;
