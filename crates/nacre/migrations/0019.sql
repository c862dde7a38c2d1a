-- Schema 23: memories that are taken out of conversations, and what language models cost.

-- Messages that were read for memories.
CREATE TABLE distil_read (
    session TEXT NOT NULL,
    message TEXT NOT NULL,                            -- SESSION/MESSAGE
    PRIMARY KEY (session, message)
) WITHOUT ROWID;

-- Memories that were found and are not stored yet. They are written together with the messages that were read.
CREATE TABLE distil_found (
    session TEXT NOT NULL,
    place   INTEGER NOT NULL,
    message TEXT NOT NULL,
    kind    TEXT NOT NULL,                            -- decision, correction, preference, instruction, fact
    content TEXT NOT NULL,
    PRIMARY KEY (session, place)
) WITHOUT ROWID;

-- Sessions that are to be read, and why the last attempt failed.
CREATE TABLE distil_due (
    session TEXT PRIMARY KEY,
    at      INTEGER NOT NULL,
    problem TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;

-- Requests to language models by day. Tokens are reserved before a request and settled after it.
CREATE TABLE llm_usage (
    day      TEXT PRIMARY KEY,
    requests INTEGER NOT NULL,
    tokens   INTEGER NOT NULL
) WITHOUT ROWID;
