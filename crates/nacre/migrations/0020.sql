-- Schema 20: items that a model found in documents.

-- The model that found it, and the hash of the section that it read. NULL: a rule found it.
ALTER TABLE items ADD COLUMN model TEXT;
ALTER TABLE items ADD COLUMN section TEXT;

-- Sections of documents that a model has read, by the hash of their text.
CREATE TABLE item_sections (
    project INTEGER NOT NULL,
    path    TEXT NOT NULL,
    section TEXT NOT NULL,
    PRIMARY KEY (project, path, section)
) WITHOUT ROWID;
