-- Schema 22: tasks.json and items.json as files that a person edits.

-- What each file said when it and the rows last agreed.
CREATE TABLE live_files (
    path    TEXT PRIMARY KEY,                         -- tasks.json or items.json
    hash    TEXT NOT NULL,                            -- of the file then
    base    TEXT NOT NULL,                            -- versions of tasks.json; the hash of each item of items.json
    problem TEXT                                      -- why an edit can't be read; NULL: there is none
) WITHOUT ROWID;
