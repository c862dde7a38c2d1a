-- Schema 11: what was brought in from other memories, so that an item that comes again is known, and shown with where it came from.

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
CREATE INDEX imports_part ON imports (part);            -- alone: with the format before it the planner would take the key
CREATE INDEX imports_ref ON imports (kind, ref);
