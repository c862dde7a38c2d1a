-- Schema 18: the twin of 0018.sql. A group on a server is not synced; the tables are there so that both engines have one schema.

CREATE TABLE sync_records (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    kind TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    local TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C",
    row_hash TEXT COLLATE "C" NOT NULL,
    document TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, kind, id)
);
CREATE INDEX sync_records_local ON sync_records (g, kind, local) WHERE local <> '';
CREATE INDEX sync_records_text ON sync_records (g, text) WHERE text IS NOT NULL;

CREATE TABLE sync_tombstones (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    kind TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    at TEXT COLLATE "C" NOT NULL,
    device TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    scrubbed BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY (g, kind, id)
);

CREATE TABLE sync_texts (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    hash TEXT COLLATE "C" NOT NULL,
    at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, hash)
);

CREATE TABLE sync_devices (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    device TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, device)
);

CREATE TABLE sync_outbox (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    number BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    record TEXT COLLATE "C" NOT NULL,
    sealed BYTEA,
    PRIMARY KEY (g, number)
);

ALTER TABLE tombstones ADD COLUMN secret TEXT COLLATE "C";

CREATE TABLE sync_state (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    key TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, key)
);
