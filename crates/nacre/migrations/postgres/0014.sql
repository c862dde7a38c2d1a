-- Schema 14 on PostgreSQL: everything that the steps 1 to 14 build on SQLite, with a group number leading every key. Later steps
-- are mirrored one by one. The columns are described in the steps of SQLite.
--
-- Statements never name the group: it is the default of `g`, and row-level security hides all other groups. Numbers are counted
-- for each group, so that they are the same on both engines. Text is compared by its bytes.

-- The group of this transaction. Without one, every table is empty.
CREATE FUNCTION nacre_g() RETURNS integer STABLE PARALLEL SAFE LANGUAGE sql
    RETURN nullif(current_setting('nacre.g', true), '')::integer;

-- The groups. A collection is a group of its own, as it is a file of its own on SQLite.
CREATE TABLE groups (
    g INTEGER PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name TEXT COLLATE "C" NOT NULL,
    collection TEXT COLLATE "C" NOT NULL DEFAULT '',  -- empty: the memory of the group
    UNIQUE (name, collection)
);

-- The last number that each table of a group has used.
CREATE TABLE counters (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    name TEXT COLLATE "C" NOT NULL,
    last BIGINT NOT NULL,
    PRIMARY KEY (g, name)
);

-- The next number is used up only by a row that is really inserted, as SQLite does it.
CREATE FUNCTION next_number(counted text) RETURNS bigint VOLATILE LANGUAGE sql
    RETURN coalesce((SELECT last FROM counters WHERE name = counted), 0) + 1;

CREATE FUNCTION count_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO nacre.counters AS c (name, last) VALUES (TG_TABLE_NAME, NEW.id)
        ON CONFLICT (g, name) DO UPDATE SET last = greatest(c.last, excluded.last);
    RETURN NULL;
END $$;

CREATE FUNCTION count_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO nacre.counters AS c (name, last) VALUES (TG_TABLE_NAME, NEW.number)
        ON CONFLICT (g, name) DO UPDATE SET last = greatest(c.last, excluded.last);
    RETURN NULL;
END $$;

-- Functions that SQLite has: the elements of a JSON array or object, the larger of two values, a number with zeros before it.
CREATE FUNCTION json_each(list text) RETURNS TABLE (key text, value text) IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    IF left(ltrim(list), 1) = '[' THEN
        RETURN QUERY SELECT (n - 1)::text, e COLLATE "C"
            FROM jsonb_array_elements_text(list::jsonb) WITH ORDINALITY AS a (e, n);
    ELSE
        RETURN QUERY SELECT k COLLATE "C", v COLLATE "C" FROM jsonb_each_text(list::jsonb) AS o (k, v);
    END IF;
END $$;
CREATE FUNCTION max(one bigint, other bigint) RETURNS bigint IMMUTABLE LANGUAGE sql RETURN greatest(one, other);
CREATE FUNCTION max(one boolean, other boolean) RETURNS boolean IMMUTABLE LANGUAGE sql RETURN one OR other;
CREATE FUNCTION printf(form text, number bigint) RETURNS text IMMUTABLE LANGUAGE sql
    RETURN CASE WHEN form = '%03d' AND number < 1000 THEN lpad(number::text, 3, '0') ELSE number::text END;

CREATE FUNCTION pragma_table_info(wanted text) RETURNS TABLE (name text, type text) STABLE LANGUAGE sql
    BEGIN ATOMIC
        SELECT attname::text, CASE format_type(atttypid, NULL) WHEN 'text' THEN 'TEXT' WHEN 'bytea' THEN 'BLOB'
            WHEN 'double precision' THEN 'REAL' ELSE 'INTEGER' END
        FROM pg_attribute WHERE attrelid = ('nacre.' || wanted)::regclass AND attnum > 1;
    END;

-- Tells whether a path is private by its name. `nacre.private` has the rules, folded, as a JSON array; without them all is private.
DO $$
DECLARE unicode text := (SELECT collname FROM pg_collation
    WHERE collname IN ('und-x-icu', 'pg_unicode_fast', 'pg_c_utf8') ORDER BY collname = 'pg_c_utf8', collname DESC LIMIT 1);
BEGIN
    IF unicode IS NULL THEN
        RAISE EXCEPTION 'this server was built without Unicode collations (ICU)';
    END IF;
    EXECUTE format('CREATE FUNCTION fold_path(path text) RETURNS text IMMUTABLE LANGUAGE sql
        RETURN lower(normalize(path, NFKC) COLLATE %I) COLLATE "C"', unicode);
END $$;
CREATE FUNCTION is_private_path(path text) RETURNS boolean STABLE LANGUAGE sql
    RETURN coalesce(current_setting('nacre.private', true), '') = '' OR EXISTS (
        SELECT 1 FROM json_each(coalesce(nullif(current_setting('nacre.private', true), ''), '[]')) AS rule (place, name),
            fold_path(path) AS folded (path)
        WHERE CASE
            WHEN right(rule.name, 1) = '/' THEN starts_with(folded.path, rule.name)
            WHEN strpos(rule.name, '/') > 0 THEN rule.name = folded.path
            ELSE rule.name = regexp_replace(folded.path, '^.*/', '') END);

-- The number of a session may be used again, as that of the last row on SQLite.
CREATE FUNCTION next_session() RETURNS bigint VOLATILE LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT coalesce(max(number), 0) + 1 FROM nacre.sessions);
END $$;

CREATE TABLE meta (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    key TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, key)
);

CREATE TABLE entries (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    number BIGINT NOT NULL DEFAULT next_number('entries'),
    id TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    content TEXT COLLATE "C" NOT NULL,
    folded TEXT COLLATE "C" NOT NULL,
    tags TEXT COLLATE "C" NOT NULL,
    behavioral BOOLEAN NOT NULL,
    score BIGINT NOT NULL DEFAULT 0,
    supersedes TEXT COLLATE "C",
    superseded_by TEXT COLLATE "C",
    superseded_at BIGINT,
    archived_at BIGINT,
    created_at BIGINT NOT NULL,
    confirmed_at BIGINT,
    returned_at BIGINT,
    session TEXT COLLATE "C" NOT NULL,
    source TEXT COLLATE "C" NOT NULL,
    narrative_id TEXT COLLATE "C",
    task_id TEXT COLLATE "C",
    private BOOLEAN NOT NULL DEFAULT false,
    data TEXT COLLATE "C",
    project TEXT COLLATE "C",
    PRIMARY KEY (g, number),
    UNIQUE (g, id)
);
CREATE INDEX entries_created ON entries (g, created_at, number);
CREATE INDEX entries_successor ON entries (g, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX entries_superseded ON entries (g, superseded_at) WHERE superseded_at IS NOT NULL;
CREATE UNIQUE INDEX entries_current ON entries (g, folded, private) WHERE superseded_at IS NULL AND archived_at IS NULL;

CREATE TABLE entry_history (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    entry TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    content TEXT COLLATE "C" NOT NULL,
    tags TEXT COLLATE "C" NOT NULL,
    until BIGINT NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    private BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY (g, entry, version)
);

CREATE TABLE entry_links (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    entry TEXT COLLATE "C" NOT NULL,
    other TEXT COLLATE "C" NOT NULL,
    strength DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (g, entry, other)
);

CREATE TABLE passages (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    id BIGINT NOT NULL DEFAULT next_number('passages'),
    kind TEXT COLLATE "C" NOT NULL,
    ref TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    title TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    live BOOLEAN NOT NULL,
    session BIGINT,
    seq BIGINT,
    author TEXT COLLATE "C",
    slot BIGINT,
    pieces BIGINT,
    hash TEXT COLLATE "C",
    first_line BIGINT,
    last_line BIGINT,
    PRIMARY KEY (g, id),
    UNIQUE (g, kind, ref)
);
CREATE INDEX passages_session ON passages (g, session, seq) WHERE session IS NOT NULL;

CREATE TABLE usage (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    session TEXT COLLATE "C" NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    used BIGINT NOT NULL,
    PRIMARY KEY (g, session, action)
);

CREATE TABLE audit (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    actor TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    outcome TEXT COLLATE "C" NOT NULL,
    ids TEXT COLLATE "C" NOT NULL,
    detail TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, seq)
);

CREATE TABLE sessions (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    number BIGINT NOT NULL DEFAULT next_session(),
    id TEXT COLLATE "C" NOT NULL,
    format TEXT COLLATE "C" NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    private BOOLEAN NOT NULL DEFAULT true,
    project TEXT COLLATE "C",
    PRIMARY KEY (g, number),
    UNIQUE (g, id)
);

CREATE TABLE authors (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    hash BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, hash)
);

CREATE TABLE terms (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    term TEXT COLLATE "C" NOT NULL,
    df BIGINT NOT NULL,
    PRIMARY KEY (g, term)
);

CREATE TABLE marks (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    chunk BIGINT NOT NULL,
    stamp BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (g, chunk)
);

CREATE TABLE vectors (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    chunk BIGINT NOT NULL,
    stamp BIGINT NOT NULL,
    used BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (g, chunk)
);

CREATE TABLE documents (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    path TEXT COLLATE "C" NOT NULL,
    size BIGINT NOT NULL,
    mtime BIGINT,
    hash TEXT COLLATE "C" NOT NULL,
    chunks BIGINT NOT NULL,
    note TEXT COLLATE "C",
    graph TEXT COLLATE "C",
    private BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY (g, path)
);

CREATE TABLE collections (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    name TEXT COLLATE "C" NOT NULL,
    sources TEXT COLLATE "C" NOT NULL,
    added_at BIGINT NOT NULL,
    indexed_at BIGINT,
    PRIMARY KEY (g, name)
);

CREATE TABLE embedded (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    passage BIGINT NOT NULL,
    stamp BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (g, passage)
);
CREATE INDEX embedded_by_stamp ON embedded (g, stamp);

CREATE TABLE entities (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    id BIGINT NOT NULL DEFAULT next_number('entities'),
    name TEXT COLLATE "C" NOT NULL,
    root BIGINT NOT NULL,
    category TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (g, id)
);
CREATE INDEX entities_root ON entities (g, root);
CREATE INDEX entities_speaking ON entities (g, category) WHERE category IN ('user', 'self');

CREATE TABLE names (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    id BIGINT NOT NULL DEFAULT next_number('names'),
    folded TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    entity BIGINT NOT NULL,
    own BOOLEAN NOT NULL,
    source TEXT COLLATE "C" NOT NULL,
    private BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY (g, id),
    UNIQUE (g, folded)
);
CREATE INDEX names_entity ON names (g, entity);

CREATE TABLE facts (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    id BIGINT NOT NULL DEFAULT next_number('facts'),
    entity BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    category TEXT COLLATE "C" NOT NULL,
    importance DOUBLE PRECISION NOT NULL,
    permanent BOOLEAN NOT NULL,
    since BIGINT NOT NULL,
    until BIGINT,
    source TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C",
    activation DOUBLE PRECISION NOT NULL DEFAULT 1,
    access_count BIGINT NOT NULL DEFAULT 0,
    last_accessed BIGINT,
    private BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY (g, id)
);
CREATE INDEX facts_entity ON facts (g, entity, key, since);

CREATE TABLE relations (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    id BIGINT NOT NULL DEFAULT next_number('relations'),
    subject BIGINT NOT NULL,
    predicate TEXT COLLATE "C" NOT NULL,
    object BIGINT NOT NULL,
    since BIGINT NOT NULL,
    until BIGINT,
    source TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C",
    activation DOUBLE PRECISION NOT NULL DEFAULT 1,
    access_count BIGINT NOT NULL DEFAULT 0,
    last_accessed BIGINT,
    private BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY (g, id)
);
CREATE INDEX relations_object ON relations (g, object, predicate);
CREATE INDEX relations_subject ON relations (g, subject, predicate);

CREATE TABLE citations (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    path TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    id BIGINT NOT NULL,
    line BIGINT NOT NULL,
    PRIMARY KEY (g, path, kind, id)
);
CREATE INDEX citations_of ON citations (g, kind, id);

CREATE TABLE recalled_together (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    one TEXT COLLATE "C" NOT NULL,
    other TEXT COLLATE "C" NOT NULL,
    weight DOUBLE PRECISION NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (g, one, other)
);

CREATE TABLE multi_keys (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    key TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, key)
);

CREATE TABLE categories (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    name TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, name)
);

CREATE TABLE distinct_entities (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    one BIGINT NOT NULL,
    other BIGINT NOT NULL,
    PRIMARY KEY (g, one, other)
);

CREATE TABLE merges (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    id BIGINT NOT NULL DEFAULT next_number('merges'),
    kept BIGINT NOT NULL,
    gone BIGINT NOT NULL,
    moved TEXT COLLATE "C" NOT NULL,
    ended TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    undone_at BIGINT,
    PRIMARY KEY (g, id)
);

CREATE TABLE kept_out (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    path TEXT COLLATE "C" NOT NULL,
    line BIGINT NOT NULL,
    what TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, path, line, what)
);

CREATE TABLE exchanges (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    number BIGINT NOT NULL DEFAULT next_number('exchanges'),
    id TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    "user" TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    said TEXT COLLATE "C" NOT NULL,
    searchable BOOLEAN NOT NULL,
    private BOOLEAN NOT NULL DEFAULT true,
    project TEXT COLLATE "C",
    PRIMARY KEY (g, number),
    UNIQUE (g, id)
);
CREATE INDEX exchanges_session ON exchanges (g, session, number);

CREATE TABLE lessons (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    number BIGINT NOT NULL DEFAULT next_number('lessons'),
    text TEXT COLLATE "C" NOT NULL,
    folded TEXT COLLATE "C" NOT NULL,
    asked TEXT COLLATE "C" NOT NULL,
    weight DOUBLE PRECISION NOT NULL,
    recurred BIGINT NOT NULL DEFAULT 0,
    injected BIGINT NOT NULL DEFAULT 0,
    kept BIGINT NOT NULL DEFAULT 0,
    broken BIGINT NOT NULL DEFAULT 0,
    learned_at BIGINT NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    private BOOLEAN NOT NULL DEFAULT true,
    PRIMARY KEY (g, number),
    UNIQUE (g, folded)
);

CREATE TABLE turns (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    session TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    private BOOLEAN NOT NULL DEFAULT true,
    PRIMARY KEY (g, session)
);

CREATE TABLE proposals (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    number BIGINT NOT NULL DEFAULT next_number('proposals'),
    kind TEXT COLLATE "C" NOT NULL,
    target TEXT COLLATE "C" NOT NULL,
    base BYTEA,
    proposed BYTEA,
    reason TEXT COLLATE "C" NOT NULL,
    sources TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    private BOOLEAN NOT NULL,
    actor TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    decided_at BIGINT,
    decided_by TEXT COLLATE "C",
    answer TEXT COLLATE "C" NOT NULL DEFAULT '',
    client TEXT COLLATE "C",
    PRIMARY KEY (g, number)
);
CREATE INDEX proposals_pending ON proposals (g, state, number) WHERE state = 'pending';

CREATE TABLE file_changes (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    id BIGINT NOT NULL DEFAULT next_number('file_changes'),
    cause TEXT COLLATE "C" NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    before BYTEA,
    after BYTEA,
    PRIMARY KEY (g, id)
);

CREATE TABLE promoted (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    step TEXT COLLATE "C" NOT NULL,
    what TEXT COLLATE "C" NOT NULL,
    proposal BIGINT NOT NULL,
    PRIMARY KEY (g, step, what)
);

CREATE TABLE line_uses (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    path TEXT COLLATE "C" NOT NULL,
    line TEXT COLLATE "C" NOT NULL,
    seen_at BIGINT NOT NULL,
    used_at BIGINT,
    PRIMARY KEY (g, path, line)
);

CREATE TABLE seen (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    session TEXT COLLATE "C" NOT NULL,
    what TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (g, session, what)
);

CREATE TABLE projects (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    number BIGINT NOT NULL DEFAULT next_number('projects'),
    name TEXT COLLATE "C" NOT NULL,
    folder TEXT COLLATE "C" NOT NULL,
    extracted_at BIGINT,
    extract BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY (g, number),
    UNIQUE (g, folder),
    UNIQUE (g, name)
);

CREATE TABLE project_files (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    project BIGINT NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    size BIGINT NOT NULL,
    mtime BIGINT,
    hash TEXT COLLATE "C" NOT NULL,
    note TEXT COLLATE "C",
    PRIMARY KEY (g, project, path)
);

CREATE TABLE items (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    id TEXT COLLATE "C" NOT NULL,
    project BIGINT NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    line BIGINT NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    title TEXT COLLATE "C" NOT NULL,
    content TEXT COLLATE "C" NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    extracted_at BIGINT NOT NULL,
    private BOOLEAN NOT NULL,
    PRIMARY KEY (g, id)
);
CREATE INDEX items_file ON items (g, project, path, line);

CREATE TABLE tasks (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    number BIGINT NOT NULL DEFAULT next_number('tasks'),
    milestone TEXT COLLATE "C",
    priority BIGINT NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    accept TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    completed_at BIGINT,
    archived_at BIGINT,
    PRIMARY KEY (g, number)
);
CREATE INDEX tasks_milestone ON tasks (g, milestone);

CREATE TABLE task_blocks (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    task BIGINT NOT NULL,
    "by" BIGINT NOT NULL,
    PRIMARY KEY (g, task, "by")
);
CREATE INDEX task_blocks_by ON task_blocks (g, "by");

CREATE TABLE task_changes (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    number BIGINT NOT NULL DEFAULT next_number('task_changes'),
    task BIGINT NOT NULL,
    at BIGINT NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    actor TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, number)
);
CREATE INDEX task_changes_task ON task_changes (g, task);

CREATE TABLE jobs (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    name TEXT COLLATE "C" NOT NULL,
    due BIGINT,
    claim TEXT COLLATE "C",
    claimed_at BIGINT,
    ran_at BIGINT,
    failed BOOLEAN NOT NULL DEFAULT false,
    says TEXT COLLATE "C",
    PRIMARY KEY (g, name)
);

CREATE TABLE transcripts (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    session TEXT COLLATE "C" NOT NULL,
    taken BIGINT NOT NULL,
    head TEXT COLLATE "C" NOT NULL,
    lines BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    summary_at BIGINT,
    compactions BIGINT NOT NULL,
    narrated TEXT COLLATE "C",
    first_at BIGINT,
    last_at BIGINT,
    ended_at BIGINT,
    archived_at BIGINT,
    PRIMARY KEY (g, session)
);

CREATE TABLE transcript_ids (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    session TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (g, session, id)
);

CREATE TABLE flushes (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    session TEXT COLLATE "C" NOT NULL,
    cycle BIGINT NOT NULL DEFAULT 0,
    asked BIGINT,
    at BIGINT,
    PRIMARY KEY (g, session)
);

CREATE TABLE imports (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    format TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    part TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    ref TEXT COLLATE "C" NOT NULL,
    own BOOLEAN NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    origin TEXT COLLATE "C" NOT NULL,
    at BIGINT,
    imported_at BIGINT NOT NULL,
    PRIMARY KEY (g, format, key)
);
CREATE INDEX imports_part ON imports (g, part);
CREATE INDEX imports_ref ON imports (g, kind, ref);

CREATE TABLE conflicts (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    number BIGINT NOT NULL DEFAULT next_number('conflicts'),
    one TEXT COLLATE "C" NOT NULL,
    one_hash TEXT COLLATE "C" NOT NULL,
    other TEXT COLLATE "C" NOT NULL,
    other_hash TEXT COLLATE "C" NOT NULL,
    found_at BIGINT NOT NULL,
    kept TEXT COLLATE "C",
    PRIMARY KEY (g, number),
    UNIQUE (g, one, one_hash, other, other_hash)
);
CREATE INDEX conflicts_other ON conflicts (g, other);

-- The files of the workspace. SQLite has them in the group's folder.
CREATE TABLE files (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    path TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    mtime BIGINT NOT NULL,                            -- of the last change, in milliseconds
    bytes BYTEA NOT NULL,
    PRIMARY KEY (g, path)
);

-- Transcripts, in the pieces in which they were written.
CREATE TABLE transcript_parts (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    name TEXT COLLATE "C" NOT NULL,
    start BIGINT NOT NULL,                            -- the place of its first byte
    bytes BYTEA NOT NULL,
    PRIMARY KEY (g, name, start)
);

-- Both are rewritten often and fit a page.
ALTER TABLE marks ALTER COLUMN data SET STORAGE PLAIN;
ALTER TABLE vectors ALTER COLUMN data SET STORAGE PLAIN;

-- The words of passages: for each word and each 256 passages one row. `data` has a record for each passage with the word: the last
-- byte of its id, how often it has the word, and how many words it has. The numbers of all passages and words are in `meta`.
CREATE TABLE postings (
    g INTEGER NOT NULL DEFAULT nacre_g(),
    term TEXT COLLATE "C" NOT NULL,
    part BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (g, term, part)
);

CREATE TRIGGER count_entries AFTER INSERT ON entries FOR EACH ROW EXECUTE FUNCTION count_number();
CREATE TRIGGER count_passages AFTER INSERT ON passages FOR EACH ROW EXECUTE FUNCTION count_id();
CREATE TRIGGER count_entities AFTER INSERT ON entities FOR EACH ROW EXECUTE FUNCTION count_id();
CREATE TRIGGER count_names AFTER INSERT ON names FOR EACH ROW EXECUTE FUNCTION count_id();
CREATE TRIGGER count_facts AFTER INSERT ON facts FOR EACH ROW EXECUTE FUNCTION count_id();
CREATE TRIGGER count_relations AFTER INSERT ON relations FOR EACH ROW EXECUTE FUNCTION count_id();
CREATE TRIGGER count_merges AFTER INSERT ON merges FOR EACH ROW EXECUTE FUNCTION count_id();
CREATE TRIGGER count_exchanges AFTER INSERT ON exchanges FOR EACH ROW EXECUTE FUNCTION count_number();
CREATE TRIGGER count_lessons AFTER INSERT ON lessons FOR EACH ROW EXECUTE FUNCTION count_number();
CREATE TRIGGER count_proposals AFTER INSERT ON proposals FOR EACH ROW EXECUTE FUNCTION count_number();
CREATE TRIGGER count_file_changes AFTER INSERT ON file_changes FOR EACH ROW EXECUTE FUNCTION count_id();
CREATE TRIGGER count_projects AFTER INSERT ON projects FOR EACH ROW EXECUTE FUNCTION count_number();
CREATE TRIGGER count_tasks AFTER INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION count_number();
CREATE TRIGGER count_task_changes AFTER INSERT ON task_changes FOR EACH ROW EXECUTE FUNCTION count_number();
CREATE TRIGGER count_conflicts AFTER INSERT ON conflicts FOR EACH ROW EXECUTE FUNCTION count_number();
