// The SQL of a keep in PostgreSQL. A commit is one call of one function, so that it takes one round trip and its locks are
// held for no longer than it runs.
//
// The function takes locks first, looks second and writes last. Each key has a lock (one of 2^31 numbers, by its hash), and
// all keys of a commit are locked in one order, so that two commits that share a key happen one after the other, never wait
// for each other in a circle, and each sees what the one before has left: that is what "absent" needs, which no row could
// stand for. A range has keys that are not there yet, so a commit that removes one keeps all others out for its time; so
// does one with very many keys, for which locks would run out.

/** The version of the layout; data of a newer one is refused. */
export const VERSION = 1;

/** The most keys that are locked one by one. */
const MANY = 64;

/** A name as SQL wants it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The statements that make everything in `schema`, in one go; they do nothing where it is there. */
export function setup(schema: string): string {
  const s = quoted(schema);
  const literal = `'${schema.replaceAll("'", "''")}'`;
  const lz4 = `'ALTER TABLE ${s}.records ALTER COLUMN value SET COMPRESSION lz4'`;
  return `
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT pg_advisory_xact_lock(hashtext('threadkeep'), hashtext(${literal}));
-- Who may not make schemas is refused even where "IF NOT EXISTS" would make none: an owner may have made it.
DO $schema$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = ${literal}) THEN
    CREATE SCHEMA ${s};
  END IF;
END $schema$;
CREATE TABLE IF NOT EXISTS ${s}.records (
  key text COLLATE "C" PRIMARY KEY,
  value bytea NOT NULL
) WITH (fillfactor = 85);
-- Pages are compressed by the server; lz4, where it has that (14 or newer), takes a fraction of the time that its own way does.
DO $lz4$ BEGIN
  EXECUTE ${lz4};
EXCEPTION WHEN feature_not_supported OR syntax_error THEN NULL;
END $lz4$;
CREATE TABLE IF NOT EXISTS ${s}.commits (
  token uuid PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS ${s}.layout (version integer NOT NULL);
INSERT INTO ${s}.layout SELECT ${VERSION} WHERE NOT EXISTS (SELECT FROM ${s}.layout);

CREATE OR REPLACE FUNCTION ${s}.commit(
  token_ uuid, retried boolean, strict_ boolean, absent text[], present text[], deletes text[],
  starts text[], ends text[], put_keys text[], put_lengths integer[], put_bytes bytea
) RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
DECLARE
  place CONSTANT integer := hashtext(${literal});
  touched CONSTANT text[] := absent || present || deletes || put_keys;
  broken text;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE 'threadkeep needs the isolation level read committed, this connection has %', current_setting('transaction_isolation')
      USING ERRCODE = 'invalid_transaction_state';
  END IF;
  IF NOT strict_ THEN
    PERFORM set_config('synchronous_commit', 'off', true);
  ELSIF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  -- Numbers below zero are keys, zero is the whole place, the others are tokens.
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
  IF retried AND EXISTS (SELECT FROM ${s}.commits WHERE token = token_) THEN
    RETURN NULL;
  END IF;
  IF cardinality(absent) > 0 THEN
    SELECT key INTO broken FROM ${s}.records WHERE key = ANY (absent) LIMIT 1;
    IF FOUND THEN
      RETURN broken;
    END IF;
  END IF;
  IF cardinality(present) > 0 THEN
    SELECT wanted INTO broken FROM unnest(present) AS wanted
      WHERE NOT EXISTS (SELECT FROM ${s}.records WHERE key = wanted COLLATE "C") LIMIT 1;
    IF FOUND THEN
      RETURN broken;
    END IF;
  END IF;
  IF cardinality(deletes) > 0 THEN
    DELETE FROM ${s}.records WHERE key = ANY (deletes);
  END IF;
  FOR i IN 1 .. cardinality(starts) LOOP
    DELETE FROM ${s}.records WHERE key >= starts[i] COLLATE "C" AND key < ends[i] COLLATE "C";
  END LOOP;
  IF cardinality(put_keys) > 0 THEN
    INSERT INTO ${s}.records (key, value)
      SELECT key, substring(put_bytes FROM first FOR length) FROM (
        SELECT key, length, (1 + sum(length) OVER (ORDER BY position) - length)::integer AS first
          FROM unnest(put_keys, put_lengths) WITH ORDINALITY AS given (key, length, position)
      ) AS puts
      ON CONFLICT (key) DO UPDATE SET value = excluded.value;
  END IF;
  INSERT INTO ${s}.commits (token) VALUES (token_);
  RETURN NULL;
END
$body$;

-- For people: the messages of all transcripts, in the order in which they were written.
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
       said.value AS message
FROM (
  SELECT key, ('x' || right(key, 16))::bit(64)::bigint AS seq, convert_from(value, 'UTF8') AS lines
    FROM ${s}.records WHERE key >= 'p/' AND key < 'p0' AND key ~ '/[0-9a-f]{16}$'
) AS pages
CROSS JOIN LATERAL unnest(string_to_array(rtrim(pages.lines, E'\\n'), E'\\n')) WITH ORDINALITY AS entries (line, position)
-- PostgreSQL's text cannot hold the character U+0000: one whose backslash is not itself escaped becomes U+FFFD.
CROSS JOIN LATERAL (SELECT regexp_replace(entries.line, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', '\\1\\\\ufffd', 'g')::json AS value) AS entry
CROSS JOIN LATERAL (SELECT coalesce(entry.value -> 'node', entry.value -> 'extend') AS value) AS node
CROSS JOIN LATERAL json_array_elements(CASE json_typeof(node.value -> 'messages') WHEN 'array' THEN node.value -> 'messages' ELSE '[]' END)
  WITH ORDINALITY AS said (value, position);
COMMIT;
`;
}

/** The statements that a store runs, by their names. */
export function statements(schema: string) {
  const s = quoted(schema);
  // The client takes columns as text. Base64 is read almost twice as fast as the hex digits that bytea is by itself.
  const range = `SELECT key, encode(value, 'base64') FROM ${s}.records WHERE key >= $1 AND key < $2 ORDER BY key`;
  return {
    layout: `SELECT version FROM ${s}.layout`,
    get: `SELECT encode(value, 'base64') FROM ${s}.records WHERE key = $1`,
    up: `${range} LIMIT $3`,
    down: `${range} DESC LIMIT $3`,
    commit: `SELECT ${s}.commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    prune: `DELETE FROM ${s}.commits WHERE at < now() - interval '1 hour'`,
  };
}
