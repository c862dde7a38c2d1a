-- Schema 9: transcripts of our own, as far as they have been taken in from their files, and where flushing stands.

CREATE TABLE transcripts (
    session     TEXT PRIMARY KEY,
    taken       INTEGER NOT NULL,                     -- bytes of the file that are taken in
    head        TEXT NOT NULL,                        -- hash of how it begins: another file in its place is known by it
    lines       INTEGER NOT NULL,
    tokens      INTEGER NOT NULL,                     -- of all that came since the last compaction: the context has these at most
    summary_at  INTEGER,                              -- where the last summary stands in the file
    compactions INTEGER NOT NULL,
    narrated    TEXT,                                 -- the last line that an entry sums up
    first_at    INTEGER,
    last_at     INTEGER,
    ended_at    INTEGER,
    archived_at INTEGER
) WITHOUT ROWID;

-- What ids a transcript has, so that a line that is sent again is not written again.
CREATE TABLE transcript_ids (
    session TEXT NOT NULL,
    id      TEXT NOT NULL,                            -- a result has the id of its call, a zero byte and `result`
    hash    TEXT NOT NULL,
    PRIMARY KEY (session, id)
) WITHOUT ROWID;

-- In which cycle (after how many compactions) an agent was last asked to store what lasts.
CREATE TABLE flushes (
    session TEXT PRIMARY KEY,
    cycle   INTEGER NOT NULL DEFAULT 0,               -- compactions that only its host has seen
    asked   INTEGER,                                  -- NULL: never
    at      INTEGER
) WITHOUT ROWID;
