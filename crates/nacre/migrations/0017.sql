-- Schema 21: what memories name of their projects, such as a path, and whether the repository still has it.

-- A row is there once the repository was seen to have the thing.
CREATE TABLE mentions (
    entry     TEXT NOT NULL,
    kind      TEXT NOT NULL,                          -- path, flag, version, command or branch
    name      TEXT NOT NULL,                          -- as the memory names it
    seen_at   INTEGER NOT NULL,                       -- when it was first seen
    gone_at   INTEGER,                                -- since when it is missed; NULL: it is there
    successor TEXT,                                   -- what took its place, if that is known
    kept      INTEGER NOT NULL DEFAULT 0,             -- 1: a person says that the memory is right
    PRIMARY KEY (entry, kind, name)
) WITHOUT ROWID;
