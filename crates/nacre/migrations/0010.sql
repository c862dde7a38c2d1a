-- Schema 10: what another program keeps with an entry (whose it is, its metadata), as JSON.

ALTER TABLE entries ADD COLUMN data TEXT;             -- NULL: nothing
