-- Schema 23: the twin of 0023.sql.

CREATE TABLE distil_read (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    session TEXT COLLATE "C" NOT NULL,
    message TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, session, message)
);

CREATE TABLE distil_found (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    session TEXT COLLATE "C" NOT NULL,
    place BIGINT NOT NULL,
    message TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    content TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, session, place)
);

CREATE TABLE distil_due (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    session TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    problem TEXT COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (g, session)
);

CREATE TABLE llm_usage (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    day TEXT COLLATE "C" NOT NULL,
    requests BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    PRIMARY KEY (g, day)
);
