-- Schema 6: what each turn needs: exchanges (a user's message with the answer), lessons, and where each session stands.

CREATE TABLE exchanges (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,                  -- hash of the session and both texts: twice is once
    session    TEXT NOT NULL,
    user       TEXT NOT NULL,                         -- what was said, without what we put before it, credentials masked
    agent      TEXT NOT NULL,
    at         INTEGER NOT NULL,
    seq        INTEGER NOT NULL,                      -- its place in the session
    said       TEXT NOT NULL,                         -- hash of the user's text, by which a transcript of the session has it too
    searchable INTEGER NOT NULL                       -- 0: only talk about remembering, or a transcript has it
);
CREATE INDEX exchanges_session ON exchanges (session, number);

CREATE TABLE lessons (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    text        TEXT NOT NULL,
    folded      TEXT NOT NULL UNIQUE,                 -- hash of the text without case, space and punctuation
    asked       TEXT NOT NULL,                        -- what was asked when it was learned; empty where nothing was
    weight      REAL NOT NULL,                        -- how plainly it was said, 0 to 1
    recurred    INTEGER NOT NULL DEFAULT 0,           -- how often it was said again
    injected    INTEGER NOT NULL DEFAULT 0,
    kept        INTEGER NOT NULL DEFAULT 0,           -- injected, and the user did not have to say it again
    broken      INTEGER NOT NULL DEFAULT 0,           -- injected, and said again all the same
    learned_at  INTEGER NOT NULL,
    session     TEXT NOT NULL
);

-- Where a session stands in its turns: what was injected lately, topics, anchors, signals. Forgotten some time after its last turn.
CREATE TABLE turns (
    session TEXT PRIMARY KEY,
    state   TEXT NOT NULL,                            -- JSON
    at      INTEGER NOT NULL
) WITHOUT ROWID;
