// The SQL of a keep in PostgreSQL. A commit is one call of one function, so that it takes one round trip and its locks are
// held for no longer than it runs.
//
// The function takes locks first, looks second and writes last. Each key has a lock (one of 2^31 numbers, by its hash), and
// all keys of a commit are locked in one order, so that two commits that share a key happen one after the other, never wait
// for each other in a circle, and each sees what the one before has left: that is what "absent" needs, which no row could
// stand for. A range has keys that are not there yet, so a commit that removes one keeps all others out for its time; so
// does one with very many keys, for which locks would run out. Locks are the scope's own: scopes never wait for each other.

import { VERSION, migration, tables, tokensByTime } from "./postgres-tables.js";
import { threads } from "./postgres-views.js";

export { VERSION };

/** The most keys that are locked one by one. */
const MANY = 64;

/** A name as SQL wants it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A name as a literal. */
function literalOf(name: string): string {
  return `'${name.replaceAll("'", "''")}'`;
}

/** The statements that make everything in `schema`, in one transaction, and migrate an older layout; they change nothing where it is there. */
export function setup(schema: string, partitions: number): string {
  const [s, literal] = [quoted(schema), literalOf(schema)];
  return `
BEGIN ISOLATION LEVEL READ COMMITTED;
-- It is done once, and a migration takes as long as it takes.
SET LOCAL statement_timeout = 0;
SELECT pg_advisory_xact_lock(hashtext('threadkeep'), hashtext(${literal}));
-- Who may not make schemas is refused even where "IF NOT EXISTS" would make none: an owner may have made it.
DO $schema$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = ${literal}) THEN
    CREATE SCHEMA ${s};
  END IF;
END $schema$;
${migration(s, literal, partitions)}
${tables(s, literal, partitions)}
${writing(s, literal)}
${reading(s)}
${acrossScopes(s, literal)}
${messages(s)}
${threads(s)}
COMMIT;
`;
}

/** The number that stands for a scope in locks. */
function place(literal: string): string {
  return `CASE scope_ WHEN '' THEN hashtext(${literal}) ELSE hashtext(${literal} || '/' || scope_) END`;
}

function writing(s: string, literal: string): string {
  return `-- What each writing transaction begins with.
CREATE OR REPLACE FUNCTION ${s}.enter(scope_ text, strict_ boolean) RETURNS void LANGUAGE plpgsql VOLATILE AS $body$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE 'threadkeep needs the isolation level read committed, this connection has %', current_setting('transaction_isolation')
      USING ERRCODE = 'invalid_transaction_state';
  END IF;
  PERFORM set_config('threadkeep.scope', scope_, true);
  IF NOT strict_ THEN
    PERFORM set_config('synchronous_commit', 'off', true);
  ELSIF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
END
$body$;

CREATE OR REPLACE FUNCTION ${s}.commit(
  scope_ text, token_ uuid, retried boolean, strict_ boolean, absent text[], present text[], deletes text[],
  starts text[], ends text[], put_keys text[], put_lengths integer[], put_bytes bytea
) RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
DECLARE
  place CONSTANT integer := ${place(literal)};
  touched CONSTANT text[] := absent || present || deletes || put_keys;
  broken text;
BEGIN
  PERFORM ${s}.enter(scope_, strict_);
  -- Numbers below zero are keys, zero is the whole scope, the others are tokens.
  IF cardinality(starts) > 0 OR cardinality(touched) > ${MANY} THEN
    PERFORM pg_advisory_xact_lock(place, 0);
  ELSE
    PERFORM pg_advisory_xact_lock_shared(place, 0);
    PERFORM pg_advisory_xact_lock(place, number) FROM (
      SELECT DISTINCT hashtext(key) | (-2147483648) AS number FROM unnest(touched) AS key ORDER BY number
    ) AS numbers;
  END IF;
  -- Last of all: nobody else waits for a token but another try of the same commit.
  PERFORM pg_advisory_xact_lock(place, (hashtext(token_::text) & 2147483647) | 1);
  IF retried THEN
    -- Something is written, so that a standby that confirms this transaction has the commit too.
    UPDATE ${s}.commits SET at = now() WHERE scope = scope_ AND token = token_;
    IF FOUND THEN
      RETURN NULL;
    END IF;
  END IF;
  IF cardinality(absent) > 0 THEN
    SELECT key INTO broken FROM ${s}.records WHERE scope = scope_ AND key = ANY (absent) LIMIT 1;
    IF FOUND THEN
      RETURN broken;
    END IF;
  END IF;
  IF cardinality(present) > 0 THEN
    SELECT wanted INTO broken FROM unnest(present) AS wanted
      WHERE NOT EXISTS (SELECT FROM ${s}.records WHERE scope = scope_ AND key = wanted COLLATE "C") LIMIT 1;
    IF FOUND THEN
      RETURN broken;
    END IF;
  END IF;
  IF cardinality(deletes) > 0 THEN
    DELETE FROM ${s}.records WHERE scope = scope_ AND key = ANY (deletes);
  END IF;
  FOR i IN 1 .. cardinality(starts) LOOP
    DELETE FROM ${s}.records WHERE scope = scope_ AND key >= starts[i] COLLATE "C" AND key < ends[i] COLLATE "C";
  END LOOP;
  IF cardinality(put_keys) > 0 THEN
    INSERT INTO ${s}.records (scope, key, data)
      SELECT scope_, key, substring(put_bytes FROM first FOR length) FROM (
        SELECT key, length, (1 + sum(length) OVER (ORDER BY position) - length)::integer AS first
          FROM unnest(put_keys, put_lengths) WITH ORDINALITY AS given (key, length, position)
      ) AS puts
      ON CONFLICT (scope, key) DO UPDATE SET data = excluded.data;
  END IF;
  INSERT INTO ${s}.commits (scope, token) VALUES (scope_, token_);
  RETURN NULL;
END
$body$;

-- Removes all of a scope, its tokens too.
CREATE OR REPLACE FUNCTION ${s}.remove(scope_ text) RETURNS void LANGUAGE plpgsql VOLATILE AS $body$
BEGIN
  PERFORM ${s}.enter(scope_, true);
  PERFORM pg_advisory_xact_lock(${place(literal)}, 0);
  DELETE FROM ${s}.records WHERE scope = scope_;
  DELETE FROM ${s}.commits WHERE scope = scope_;
END
$body$;`;
}

/** A function's body that reads a range: in both directions, `columns` of each record. */
function range(s: string, columns: string, from = ""): string {
  const ordered = (order: string) => `RETURN QUERY SELECT r.key, ${columns} FROM ${s}.records AS r${from}
      WHERE r.scope = scope_ AND r.key >= start_ COLLATE "C" AND r.key < end_ COLLATE "C" ORDER BY r.key${order} LIMIT most;`;
  return `BEGIN
  PERFORM set_config('threadkeep.scope', scope_, true);
  IF down THEN
    ${ordered(" DESC")}
  ELSE
    ${ordered("")}
  END IF;
END`;
}

/** A value with less bytes is read as Base64: the try whether it is a text would take longer. */
const SHORT = 2_048;

/**
 * Reads a range as `scan` does, but texts as they are: a page in half the time. Keeps of earlier releases lack it. The server checks that a value
 * is UTF-8, so what comes back has the very bytes.
 */
function readingTexts(s: string): string {
  return `CREATE OR REPLACE FUNCTION ${s}.readable(data bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $body$
BEGIN
  IF octet_length(data) < ${SHORT} OR getdatabaseencoding() <> 'UTF8' THEN
    RETURN NULL;
  END IF;
  RETURN convert_from(data, 'UTF8');
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END
$body$;
CREATE OR REPLACE FUNCTION ${s}.read(scope_ text, start_ text, end_ text, most bigint, down boolean) RETURNS TABLE (key text, words text, data text)
LANGUAGE plpgsql VOLATILE AS $body$
${range(s, "t.words, CASE WHEN t.words IS NULL THEN encode(r.data, 'base64') END", ` CROSS JOIN LATERAL (SELECT ${s}.readable(r.data) AS words OFFSET 0) AS t`)}
$body$;`;
}

/** Readings of one scope. The client takes columns as text. Base64 is read almost twice as fast as the hex digits that bytea is by itself. */
function reading(s: string): string {
  return `CREATE OR REPLACE FUNCTION ${s}.get(scope_ text, key_ text) RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
BEGIN
  PERFORM set_config('threadkeep.scope', scope_, true);
  RETURN (SELECT encode(data, 'base64') FROM ${s}.records WHERE scope = scope_ AND key = key_ COLLATE "C");
END
$body$;
CREATE OR REPLACE FUNCTION ${s}.scan(scope_ text, start_ text, end_ text, most bigint, down boolean) RETURNS TABLE (key text, data text)
LANGUAGE plpgsql VOLATILE AS $body$
${range(s, "encode(r.data, 'base64')")}
$body$;
${readingTexts(s)}`;
}

/** The two functions that see all scopes run with the owner's rights. */
function acrossScopes(s: string, literal: string): string {
  return `-- The tables that have records: the partitions, or the table without any.
CREATE OR REPLACE FUNCTION ${s}.parts() RETURNS SETOF regclass LANGUAGE sql STABLE AS $body$
  SELECT c.oid::regclass FROM pg_catalog.pg_class AS c LEFT JOIN pg_catalog.pg_inherits AS i ON i.inhrelid = c.oid
    WHERE c.relkind = 'r' AND to_regclass(format('%I.records', ${literal})) IN (c.oid, i.inhparent) ORDER BY 1
$body$;
-- Up to so many names of scopes after one, in order, of one table: a partition, or the table that has none. The index is sought once for each name.
CREATE OR REPLACE FUNCTION ${s}.scopes(part regclass, after_ text, most bigint) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog AS $body$
BEGIN
  IF NOT part = ANY (ARRAY(SELECT ${s}.parts())) THEN
    RAISE 'not a table of this keep: %', part;
  END IF;
  RETURN QUERY EXECUTE format('WITH RECURSIVE names AS (
    (SELECT scope FROM %1$s WHERE scope > $1 COLLATE "C" ORDER BY scope LIMIT 1)
    UNION ALL
    SELECT (SELECT r.scope FROM %1$s AS r WHERE r.scope > names.scope ORDER BY r.scope LIMIT 1) FROM names WHERE names.scope IS NOT NULL
  )
  SELECT scope FROM names WHERE scope IS NOT NULL LIMIT $2', part) USING after_, most;
END
$body$;
-- Removes old tokens.
CREATE OR REPLACE FUNCTION ${s}.prune() RETURNS void LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog AS $body$
  DELETE FROM ${s}.commits WHERE at < now() - interval '1 hour'
$body$;`;
}

function messages(s: string): string {
  return `-- For people: the messages of all transcripts of the scope that SET threadkeep.scope = 'name' chooses; without it, of those outside all scopes.
CREATE OR REPLACE VIEW ${s}.messages AS
SELECT split_part(pages.key, '/', 2) AS transcript,
       pages.seq + entries.position - 1 AS seq,
       coalesce(node.value ->> 'id', node.value ->> 'node') AS node_id,
       node.value ->> 'parent' AS parent_id,
       (said.position - 1)::integer AS index,
       said.value ->> 'role' AS role,
       CASE json_typeof(said.value -> 'content') WHEN 'string' THEN said.value ->> 'content' ELSE (said.value -> 'content')::text END AS content,
       said.value -> 'tool_calls' AS tool_calls,
       said.value ->> 'tool_call_id' AS tool_call_id,
       to_timestamp((node.value ->> 'createdAt')::double precision / 1000) AS created_at,
       said.value AS message,
       pages.scope
FROM (
  SELECT scope, key, ('x' || right(key, 16))::bit(64)::bigint AS seq, convert_from(data, 'UTF8') AS lines
    FROM ${s}.records WHERE scope = coalesce(current_setting('threadkeep.scope', true), '') AND key >= 'p/' AND key < 'p0' AND key ~ '/[0-9a-f]{16}$'
) AS pages
CROSS JOIN LATERAL unnest(string_to_array(rtrim(pages.lines, E'\\n'), E'\\n')) WITH ORDINALITY AS entries (line, position)
-- PostgreSQL's text cannot hold the character U+0000: one whose backslash is not itself escaped becomes U+FFFD.
CROSS JOIN LATERAL (SELECT regexp_replace(entries.line, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', '\\1\\\\ufffd', 'g')::json AS value) AS entry
CROSS JOIN LATERAL (SELECT coalesce(entry.value -> 'node', entry.value -> 'extend') AS value) AS node
CROSS JOIN LATERAL json_array_elements(CASE json_typeof(node.value -> 'messages') WHEN 'array' THEN node.value -> 'messages' ELSE '[]' END)
  WITH ORDINALITY AS said (value, position);`;
}

/** The statements that a store runs, by their names. */
export function statements(schema: string) {
  const s = quoted(schema);
  return {
    layout: `SELECT version, coalesce(has_function_privilege(
      to_regprocedure(format('%I.read(text,text,text,bigint,boolean)', ${literalOf(schema)})), 'EXECUTE'), false) FROM ${s}.layout`,
    readingTexts: readingTexts(s),
    index: tokensByTime(s, literalOf(schema)),
    get: `SELECT ${s}.get($1, $2)`,
    scan: `SELECT key, NULL, data FROM ${s}.scan($1, $2, $3, $4, $5)`,
    read: `SELECT key, words, data FROM ${s}.read($1, $2, $3, $4, $5)`,
    commit: `SELECT ${s}.commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    remove: `SELECT ${s}.remove($1)`,
    parts: `SELECT ${s}.parts()::text`,
    scopes: `SELECT ${s}.scopes($1::regclass, $2, $3)`,
    prune: `SELECT ${s}.prune()`,
    views: threads(s),
  };
}
