// The tables of a keep in PostgreSQL, and how those of an older layout become those of today.
//
// The scope of a record is a column of its own, the first of the primary key: by it the table is partitioned, and may be distributed to other servers.
// Row security is a second lock around a scope. Functions set `threadkeep.scope` for their transaction, and a policy hides the rows of all other scopes
// from every user but the tables' owner.

/** The version of the layout; data of a newer one is refused. */
export const VERSION = 2;

/** A table's name for `to_regclass`. `schema` is a literal. */
function named(schema: string, table: string): string {
  return `format('%I.${table}', ${schema})`;
}

/**
 * From version 1, which had no scopes, to 2. Without partitions the table stays where it is; with them its rows are copied. The column of the values gets
 * another name, so that a program of version 1 that is still running fails instead of reading through all scopes.
 */
export function migration(s: string, literal: string, partitions: number): string {
  const inPlace = `ALTER TABLE ${s}.records DROP CONSTRAINT records_pkey, ADD COLUMN scope text COLLATE "C" NOT NULL DEFAULT '', ADD PRIMARY KEY (scope, key);`;
  const aside = `ALTER TABLE ${s}.records RENAME TO records_of_version_1;
  ALTER INDEX ${s}.records_pkey RENAME TO records_of_version_1_pkey;`;
  return `DO $migration$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_attribute
      WHERE attrelid = to_regclass(${named(literal, "records")}) AND attname = 'value' AND NOT attisdropped) THEN
    RETURN;
  END IF;
  LOCK TABLE ${s}.records, ${s}.commits IN ACCESS EXCLUSIVE MODE;
  DROP VIEW IF EXISTS ${s}.messages;
  DROP FUNCTION IF EXISTS ${s}.commit(uuid, boolean, boolean, text[], text[], text[], text[], text[], text[], integer[], bytea);
  ALTER TABLE ${s}.commits DROP CONSTRAINT commits_pkey, ADD COLUMN scope text COLLATE "C" NOT NULL DEFAULT '', ADD PRIMARY KEY (scope, token);
  ALTER TABLE ${s}.records RENAME COLUMN value TO data;
  ${partitions === 0 ? inPlace : aside}
  UPDATE ${s}.layout SET version = ${VERSION};
END $migration$;`;
}

/**
 * An index of tokens by time, for removing old ones. Some keeps of version 2 lack it. The owner of the table makes it when a store opens. A
 * B-tree, since deleted tokens leave room for new ones: each range of pages would soon hold all times, and a BRIN index would find nothing.
 */
export function tokensByTime(s: string, literal: string): string {
  const table = `to_regclass(${named(literal, "commits")})`;
  return `DO $index$ BEGIN
  IF to_regclass(${named(literal, "commits_at")}) IS NULL
      AND (SELECT pg_catalog.pg_has_role(relowner, 'USAGE') FROM pg_catalog.pg_class WHERE oid = ${table}) THEN
    CREATE INDEX IF NOT EXISTS commits_at ON ${s}.commits (at);
  END IF;
END $index$;`;
}

/** The tables, where they are missing. `literal` is the schema's name as a literal. */
export function tables(s: string, literal: string, partitions: number): string {
  const own = "WITH (fillfactor = 85)";
  const part = `CREATE TABLE %I.%I PARTITION OF ${s}.records FOR VALUES WITH (MODULUS ${partitions}, REMAINDER %s) ${own}`;
  const policy = (table: string) => `ALTER TABLE ${s}.${table} ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS scope ON ${s}.${table};
CREATE POLICY scope ON ${s}.${table} USING (scope = coalesce(current_setting('threadkeep.scope', true), ''));`;
  return `DO $records$
DECLARE
  part regclass;
BEGIN
  IF to_regclass(${named(literal, "records")}) IS NOT NULL THEN
    RETURN;
  END IF;
  CREATE TABLE ${s}.records (
    scope text COLLATE "C" NOT NULL DEFAULT '',
    key text COLLATE "C" NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (scope, key)
  ) ${partitions === 0 ? own : "PARTITION BY HASH (scope)"};
  FOR number IN 0 .. ${partitions - 1} LOOP
    EXECUTE format('${part}', ${literal}, 'records_' || number, number);
  END LOOP;
  -- Pages are compressed by the server; lz4, where it has that (14 or newer), takes a fraction of the time that its own way does.
  FOR part IN SELECT to_regclass(${named(literal, "records")}) UNION ALL
      SELECT inhrelid::regclass FROM pg_catalog.pg_inherits WHERE inhparent = to_regclass(${named(literal, "records")}) LOOP
    BEGIN
      EXECUTE format('ALTER TABLE %s ALTER COLUMN data SET COMPRESSION lz4', part);
    EXCEPTION WHEN feature_not_supported OR syntax_error THEN NULL;
    END;
  END LOOP;
  IF to_regclass(${named(literal, "records_of_version_1")}) IS NOT NULL THEN
    EXECUTE 'INSERT INTO ${s}.records (key, data) SELECT key, data FROM ${s}.records_of_version_1';
    EXECUTE 'DROP TABLE ${s}.records_of_version_1';
  END IF;
END $records$;
CREATE TABLE IF NOT EXISTS ${s}.commits (
  scope text COLLATE "C" NOT NULL DEFAULT '',
  token uuid NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (scope, token)
);
${tokensByTime(s, literal)}
CREATE TABLE IF NOT EXISTS ${s}.layout (version integer NOT NULL);
INSERT INTO ${s}.layout SELECT ${VERSION} WHERE NOT EXISTS (SELECT FROM ${s}.layout);
${policy("records")}
${policy("commits")}`;
}
