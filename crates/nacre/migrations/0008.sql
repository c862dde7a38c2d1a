-- Schema 8: projects (items taken out of their files), tasks, and the jobs of maintenance.

CREATE TABLE projects (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT NOT NULL UNIQUE,
    folder       TEXT NOT NULL UNIQUE,                -- from the root, without links
    extracted_at INTEGER                              -- when it was last read to its end; NULL: not yet
);

-- What is known of a project's files: those as they were are not read again.
CREATE TABLE project_files (
    project INTEGER NOT NULL,
    path    TEXT NOT NULL,                            -- within the folder, with `/`
    size    INTEGER NOT NULL,
    mtime   INTEGER,                                  -- NULL: to be read again whatever the time
    hash    TEXT NOT NULL,                            -- of its bytes and of who read it; empty: skipped
    note    TEXT,                                     -- why it was skipped
    PRIMARY KEY (project, path)
) WITHOUT ROWID;

CREATE TABLE items (
    id           TEXT PRIMARY KEY,                    -- made from the project, the file, the type and the content
    project      INTEGER NOT NULL,
    path         TEXT NOT NULL,
    line         INTEGER NOT NULL,
    type         TEXT NOT NULL,                       -- entity, claim, task, decision, note
    title        TEXT NOT NULL,
    content      TEXT NOT NULL,
    confidence   REAL NOT NULL,
    extracted_at INTEGER NOT NULL,
    private      INTEGER NOT NULL                     -- of a document that says so of itself
) WITHOUT ROWID;
CREATE INDEX items_file ON items (project, path, line);

CREATE TABLE tasks (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,   -- 1 is TASK-001
    milestone    TEXT,
    priority     INTEGER NOT NULL,                    -- the lowest comes first
    status       TEXT NOT NULL,                       -- pending, in_progress, done, cancelled
    description  TEXT NOT NULL,
    accept       TEXT NOT NULL,                       -- acceptance criteria, a JSON array
    created_at   INTEGER NOT NULL,
    completed_at INTEGER,
    archived_at  INTEGER
);
CREATE INDEX tasks_milestone ON tasks (milestone);

CREATE TABLE task_blocks (
    task INTEGER NOT NULL,
    "by" INTEGER NOT NULL,
    PRIMARY KEY (task, "by")
) WITHOUT ROWID;
CREATE INDEX task_blocks_by ON task_blocks ("by");

-- Every change of a task's status, the first included.
CREATE TABLE task_changes (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    task    INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    status  TEXT NOT NULL,
    actor   TEXT NOT NULL,                            -- person, agent
    session TEXT NOT NULL
);
CREATE INDEX task_changes_task ON task_changes (task);

-- What maintenance has done and is doing.
CREATE TABLE jobs (
    name       TEXT PRIMARY KEY,
    due        INTEGER,                               -- the moment of the schedule that was last served
    claim      TEXT,                                  -- who is at it; NULL: nobody
    claimed_at INTEGER,
    ran_at     INTEGER,
    failed     INTEGER NOT NULL DEFAULT 0,
    says       TEXT                                   -- what the last run did, in a line
) WITHOUT ROWID;
