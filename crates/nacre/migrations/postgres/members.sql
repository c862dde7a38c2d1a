-- The members of a team: who they are, their tokens, and their roles in groups. Only a server has these tables. Every statement can
-- be run again: `nacre admin init-database` runs them each time, before it makes the policies.

CREATE TABLE IF NOT EXISTS members (
    name TEXT COLLATE "C" PRIMARY KEY,  -- also the name of their user of the database, if they have one
    added_at BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS member_tokens (
    member TEXT COLLATE "C" NOT NULL REFERENCES members ON DELETE CASCADE,
    name TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL UNIQUE,  -- SHA-256 of the token
    person BOOLEAN NOT NULL,
    private BOOLEAN NOT NULL,
    untrusted BOOLEAN NOT NULL,
    made_at BIGINT NOT NULL,
    used_at BIGINT,
    PRIMARY KEY (member, name)
);
CREATE TABLE IF NOT EXISTS member_roles (
    group_name TEXT COLLATE "C" NOT NULL,
    member TEXT COLLATE "C" NOT NULL REFERENCES members ON DELETE CASCADE,
    role TEXT COLLATE "C" NOT NULL CHECK (role IN ('reader', 'writer', 'reviewer', 'admin')),
    PRIMARY KEY (group_name, member)
);
CREATE INDEX IF NOT EXISTS member_roles_member ON member_roles (member);

-- The member whose token the session states, by its hash.
CREATE OR REPLACE FUNCTION token_member() RETURNS text STABLE SECURITY DEFINER LANGUAGE plpgsql SET search_path = nacre, pg_catalog AS $$
DECLARE
    given text := nullif(current_setting('nacre.token', true), '');
BEGIN
    IF given IS NULL THEN
        RETURN NULL;
    END IF;
    -- Nobody has the empty name.
    RETURN coalesce((SELECT member FROM member_tokens WHERE hash = encode(sha256(convert_to(given, 'UTF8')), 'hex')), '');
END $$;

-- The member who acts: of the token, or else of the user of the database. NULL: nobody is restricted, because there are no members
-- yet, or because the user has the role nacre_admin.
CREATE OR REPLACE FUNCTION acting_member() RETURNS text STABLE SECURITY DEFINER LANGUAGE plpgsql SET search_path = nacre, pg_catalog AS $$
DECLARE
    named text := token_member();
BEGIN
    IF named IS NOT NULL THEN
        RETURN named;
    END IF;
    -- The first is decided without a table.
    IF pg_has_role(session_user, 'nacre_admin', 'MEMBER') OR NOT EXISTS (SELECT FROM members) THEN
        RETURN NULL;
    END IF;
    RETURN session_user::text;
END $$;

-- Whether the session may manage all members.
CREATE OR REPLACE FUNCTION manages_members() RETURNS boolean STABLE LANGUAGE plpgsql SET search_path = nacre, pg_catalog AS $$
BEGIN
    RETURN token_member() IS NULL AND pg_has_role(session_user, 'nacre_admin', 'MEMBER');
END $$;

-- The role of who acts in a group; NULL: the group does not exist for them.
CREATE OR REPLACE FUNCTION role_in(wanted text) RETURNS text STABLE SECURITY DEFINER LANGUAGE plpgsql SET search_path = nacre, pg_catalog AS $$
DECLARE
    who text := acting_member();
BEGIN
    IF who IS NULL THEN
        RETURN 'admin';
    END IF;
    RETURN (SELECT role FROM member_roles WHERE group_name = wanted AND member = who);
END $$;

-- The group of this transaction, if who acts may read it, or write to it. A collection has the roles of its group.
CREATE OR REPLACE FUNCTION readable_g() RETURNS integer STABLE SECURITY DEFINER LANGUAGE plpgsql SET search_path = nacre, pg_catalog AS $$
DECLARE
    who text := acting_member();
    own integer := nacre_g();
BEGIN
    IF who IS NULL THEN
        RETURN own;
    END IF;
    RETURN (SELECT groups.g FROM groups JOIN member_roles ON group_name = name WHERE groups.g = own AND member = who);
END $$;
CREATE OR REPLACE FUNCTION writable_g() RETURNS integer STABLE SECURITY DEFINER LANGUAGE plpgsql SET search_path = nacre, pg_catalog AS $$
DECLARE
    who text := acting_member();
    own integer := nacre_g();
BEGIN
    IF who IS NULL THEN
        RETURN own;
    END IF;
    RETURN (SELECT groups.g FROM groups JOIN member_roles ON group_name = name
        WHERE groups.g = own AND member = who AND role <> 'reader');
END $$;
