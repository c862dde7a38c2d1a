-- Schema 13: entries, exchanges and sessions name the project in which they were written. NULL: not known.

ALTER TABLE entries ADD COLUMN project TEXT;
ALTER TABLE exchanges ADD COLUMN project TEXT;
ALTER TABLE sessions ADD COLUMN project TEXT;

-- A project is known once something is written in its folder. Only a person has its files read.
ALTER TABLE projects ADD COLUMN extract INTEGER NOT NULL DEFAULT 0;
UPDATE projects SET extract = 1;
