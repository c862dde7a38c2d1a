-- Schema 21: the twin of 0021.sql.

CREATE TABLE mentions (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    entry TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    seen_at BIGINT NOT NULL,
    gone_at BIGINT,
    successor TEXT COLLATE "C",
    kept BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY (g, entry, kind, name)
);
