-- Schema 14: pairs of statements that contradict each other, and how they were settled. A row holds no text of a statement.

CREATE TABLE conflicts (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    one        TEXT NOT NULL,                         -- the statement that was there: id of an entry, fact-N, or path of a document
    one_hash   TEXT NOT NULL,                         -- of its text; of the line in a document
    other      TEXT NOT NULL,                         -- the statement that came later
    other_hash TEXT NOT NULL,
    found_at   INTEGER NOT NULL,
    kept       TEXT,                                  -- first, second or both; NULL: not settled here
    UNIQUE (one, one_hash, other, other_hash)
);
CREATE INDEX conflicts_other ON conflicts (other);
