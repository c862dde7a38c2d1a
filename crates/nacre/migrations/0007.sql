-- Schema 7: what only private sessions see, writes that wait for a person, and what joins files and database.

-- Private: shared sessions never see it (W3). Conversations are private unless they were held in a shared session; whatever was
-- archived before this schema is.
ALTER TABLE entries   ADD COLUMN private INTEGER NOT NULL DEFAULT 0;
ALTER TABLE facts     ADD COLUMN private INTEGER NOT NULL DEFAULT 0;
ALTER TABLE relations ADD COLUMN private INTEGER NOT NULL DEFAULT 0;
ALTER TABLE names     ADD COLUMN private INTEGER NOT NULL DEFAULT 0;
ALTER TABLE documents ADD COLUMN private INTEGER NOT NULL DEFAULT 0;
ALTER TABLE exchanges ADD COLUMN private INTEGER NOT NULL DEFAULT 1;
ALTER TABLE lessons   ADD COLUMN private INTEGER NOT NULL DEFAULT 1;
ALTER TABLE sessions  ADD COLUMN private INTEGER NOT NULL DEFAULT 1;
ALTER TABLE turns     ADD COLUMN private INTEGER NOT NULL DEFAULT 1;
-- An earlier text stays private when its entry no longer is.
ALTER TABLE entry_history ADD COLUMN private INTEGER NOT NULL DEFAULT 0;
-- What a shared session stores is never told apart by what a private one has.
DROP INDEX entries_current;
CREATE UNIQUE INDEX entries_current ON entries (folded, private) WHERE superseded_at IS NULL AND archived_at IS NULL;
-- Of a passage its owner decides.
ALTER TABLE passages DROP COLUMN private;
-- Which documents say that they are private is looked at anew.
UPDATE documents SET mtime = NULL;

-- Writes that wait for a person (W5).
CREATE TABLE proposals (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    kind       TEXT NOT NULL,                         -- file, or call
    target     TEXT NOT NULL,                         -- the file within the group's folder, or the tool
    base       BLOB,                                  -- the file as it was when this was proposed; NULL: there was none
    proposed   BLOB,                                  -- the whole file as it would be, NULL: gone; or the tool's arguments as JSON
    reason     TEXT NOT NULL,                         -- why, in the words of whoever proposed it
    sources    TEXT NOT NULL,                         -- a JSON array: what it was made from
    state      TEXT NOT NULL,                         -- pending, approved, denied, reverted
    private    INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    session    TEXT NOT NULL,
    at         INTEGER NOT NULL,
    decided_at INTEGER,
    decided_by TEXT,                                  -- the session that decided
    answer     TEXT NOT NULL DEFAULT '',              -- why it was denied
    client     TEXT                                   -- what a client says the person said: accept, decline
);
CREATE INDEX proposals_pending ON proposals (state, number) WHERE state = 'pending';

-- What is decided about files and not yet done to them: written with the decision in one transaction, taken out when the file stands
-- as it should. A process that dies between leaves it to the next. All changes of one cause are done, or none.
CREATE TABLE file_changes (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    cause  TEXT NOT NULL,                             -- what it is part of: `proposal 3`, `retention`, `restore 2`
    path   TEXT NOT NULL,
    before BLOB,                                      -- the only file that may be replaced; NULL: there must be none
    after  BLOB                                       -- what stands there then; NULL: nothing
);

-- What a step upward has proposed, by a hash of its text, whatever became of it: nothing is proposed twice.
CREATE TABLE promoted (
    step     TEXT NOT NULL,
    what     TEXT NOT NULL,
    proposal INTEGER NOT NULL,
    PRIMARY KEY (step, what)
) WITHOUT ROWID;

-- When a line of MEMORY.md was last of use (W6), by a hash of its text.
CREATE TABLE line_uses (
    path    TEXT NOT NULL,
    line    TEXT NOT NULL,
    seen_at INTEGER NOT NULL,                         -- when the line was first seen
    used_at INTEGER,                                  -- NULL: never
    PRIMARY KEY (path, line)
) WITHOUT ROWID;

-- What a session has seen that a host may want to act on (W10).
CREATE TABLE seen (
    session TEXT NOT NULL,
    what    TEXT NOT NULL,                            -- infrastructure
    at      INTEGER NOT NULL,
    PRIMARY KEY (session, what)
) WITHOUT ROWID;
