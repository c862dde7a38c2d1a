-- Schema 22: the twin of 0022.sql.

CREATE TABLE live_files (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    path TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    base TEXT COLLATE "C" NOT NULL,
    problem TEXT COLLATE "C",
    PRIMARY KEY (g, path)
);
