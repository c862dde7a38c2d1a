-- Rows of passages come many at a time: they are counted once for each statement. With a trigger for each row, one row of `counters` was
-- updated again and again in one transaction, and each update read all earlier versions of it. These statements can be run again.

CREATE OR REPLACE FUNCTION count_ids() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO nacre.counters AS c (name, last) SELECT TG_TABLE_NAME, max(id) FROM added HAVING count(*) > 0
        ON CONFLICT (g, name) DO UPDATE SET last = greatest(c.last, excluded.last);
    RETURN NULL;
END $$;
DROP TRIGGER IF EXISTS count_passages ON passages;
CREATE TRIGGER count_passages AFTER INSERT ON passages REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_ids();
