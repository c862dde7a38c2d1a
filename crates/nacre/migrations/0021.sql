-- Schema 21: vectors of the lines of documents.

-- Derived, and made after the chunk was written: the vector of each line of a chunk by the compiled-in reader. `meta` has
-- their version under `line_vectors`.
CREATE TABLE line_vectors (
    passage INTEGER PRIMARY KEY,
    stamp   INTEGER NOT NULL,
    data    BLOB NOT NULL                             -- lines end to end: a scale, a byte a component; scale 0: no vector
);
CREATE INDEX line_vectors_by_stamp ON line_vectors (stamp);
