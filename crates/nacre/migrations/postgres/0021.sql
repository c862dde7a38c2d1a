-- Schema 21: the twin of 0021.sql.

CREATE TABLE line_vectors (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    passage BIGINT NOT NULL,
    stamp BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (g, passage)
);
CREATE INDEX line_vectors_by_stamp ON line_vectors (g, stamp);
