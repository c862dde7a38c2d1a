-- Schema 18: one memory on several machines. What the machines together know of each record, and how far each log was read.

-- A record as all machines together see it. `document` has every field with the time at which it was set.
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

-- Records that were deleted for good, with the place of the deletion in the log of a machine.
CREATE TABLE sync_tombstones (
    kind     TEXT NOT NULL,
    id       TEXT NOT NULL,
    at       TEXT NOT NULL,                           -- hybrid time and machine
    device   TEXT NOT NULL,
    number   INTEGER NOT NULL,
    scrubbed INTEGER NOT NULL DEFAULT 0,              -- whether its text was removed from the log of this machine
    PRIMARY KEY (kind, id)
) WITHOUT ROWID;

-- The texts of deleted records, as keyed hashes.
CREATE TABLE sync_texts (
    hash TEXT PRIMARY KEY,
    at   TEXT NOT NULL
) WITHOUT ROWID;

-- How far the log of each machine was read, the own one included.
CREATE TABLE sync_devices (
    device TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    hash   TEXT NOT NULL
) WITHOUT ROWID;

-- Operations of this machine that are not in its log yet.
CREATE TABLE sync_outbox (
    number INTEGER PRIMARY KEY,
    kind   TEXT NOT NULL,
    id     TEXT NOT NULL,
    record TEXT NOT NULL,
    sealed BLOB                                       -- NULL: it has no text
);

-- A deleted text of another machine was hashed with the secret of that machine. NULL: the secret of this group.
ALTER TABLE tombstones ADD COLUMN secret TEXT;

-- The clock, and the newest row of the audit log that was compared.
CREATE TABLE sync_state (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
