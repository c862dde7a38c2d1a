-- Schema 16: the twin of 0016.sql.

ALTER TABLE entries ADD COLUMN origin TEXT COLLATE "C" NOT NULL DEFAULT 'agent';
ALTER TABLE facts ADD COLUMN origin TEXT COLLATE "C" NOT NULL DEFAULT 'agent';
ALTER TABLE relations ADD COLUMN origin TEXT COLLATE "C" NOT NULL DEFAULT 'agent';
ALTER TABLE sessions ADD COLUMN origin TEXT COLLATE "C" NOT NULL DEFAULT 'agent';
ALTER TABLE exchanges ADD COLUMN origin TEXT COLLATE "C" NOT NULL DEFAULT 'agent';
ALTER TABLE lessons ADD COLUMN origin TEXT COLLATE "C" NOT NULL DEFAULT 'person';
ALTER TABLE passages ADD COLUMN origin TEXT COLLATE "C" NOT NULL DEFAULT 'agent';
ALTER TABLE proposals ADD COLUMN token TEXT COLLATE "C";
ALTER TABLE lessons ADD COLUMN state TEXT COLLATE "C" NOT NULL DEFAULT 'confirmed';
UPDATE entries SET origin = CASE source WHEN 'person' THEN 'person' WHEN 'migration' THEN 'import' ELSE 'agent' END;
UPDATE facts SET origin = CASE WHEN source IN ('person', 'document', 'import') THEN source ELSE 'agent' END;
UPDATE relations SET origin = CASE WHEN source IN ('person', 'document', 'import') THEN source ELSE 'agent' END;
UPDATE sessions SET origin = 'import' WHERE format NOT IN ('turns', 'transcript');
UPDATE passages SET origin = e.origin FROM entries AS e WHERE e.g = passages.g AND kind = 'entry' AND e.id = ref;
UPDATE passages SET origin = f.origin FROM facts AS f WHERE f.g = passages.g AND kind = 'fact' AND 'fact-' || f.id = ref;
UPDATE passages SET origin = r.origin FROM relations AS r
    WHERE r.g = passages.g AND kind = 'relation' AND 'relation-' || r.id = ref;
UPDATE passages SET origin = CASE WHEN ref LIKE 'memory/imports/%' THEN 'import' ELSE 'document' END WHERE kind = 'chunk';

CREATE TABLE tombstones (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    key TEXT COLLATE "C" NOT NULL,
    head TEXT COLLATE "C" NOT NULL,
    words BIGINT NOT NULL,
    whole BOOLEAN NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (g, key)
);

CREATE TABLE quarantines (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    number BIGINT NOT NULL DEFAULT next_number('quarantines'),
    kind TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    lifted_at BIGINT,
    PRIMARY KEY (g, number)
);
CREATE TABLE quarantined (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    quarantine BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    ref TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, quarantine, kind, ref)
);
CREATE TRIGGER count_quarantines AFTER INSERT ON quarantines FOR EACH ROW EXECUTE FUNCTION count_number();
