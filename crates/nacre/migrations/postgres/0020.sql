-- Schema 20: the twin of 0020.sql.

ALTER TABLE items ADD COLUMN model TEXT COLLATE "C";
ALTER TABLE items ADD COLUMN section TEXT COLLATE "C";

CREATE TABLE item_sections (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    project BIGINT NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    section TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, project, path, section)
);
