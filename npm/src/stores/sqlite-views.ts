// A view for people and their tools: the messages of each thread, in order, in SQL. It reads the pages as they are, so nothing is stored twice.

import type { SqliteDatabase } from "./sqlite-database.js";
import { only } from "./sqlite-layout.js";

/** Makes the view `<table>_threads`, or replaces that of another version. */
export function createViews(database: SqliteDatabase, table: string): void {
  const name = `${table}_threads`;
  const wanted = threads(table, name);
  const find = database.prepare("SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = ?");
  const found = find.get(name);
  if (found !== undefined && found !== null && only(found) === wanted) return;
  database.exec(`DROP VIEW IF EXISTS "${name}"; ${wanted}`);
}

/** What is equal in two rows of one thread. */
const thread = (a: string, b: string): string => ["scope", "transcript", "context"].map((column) => `${a}.${column} = ${b}.${column}`).join(" AND ");
/** What is equal in two rows of one node. */
const node = (a: string, b: string): string => ["scope", "transcript", "id"].map((column) => `${a}.${column} = ${b}.${column}`).join(" AND ");

/** The view. An entry's number in it orders the entries and says nothing else. */
function threads(table: string, name: string): string {
  return `CREATE VIEW "${name}" AS
WITH RECURSIVE records AS (
  SELECT CASE WHEN key < 'A' THEN substr(key, 2, instr(key, '/') - 2) ELSE '' END AS scope,
         CASE WHEN key < 'A' THEN substr(key, instr(key, '/') + 1) ELSE key END AS record,
         -- SQLite's text ends at U+0000, which becomes U+FFFD. An escaped backslash before the letters u0000 is no U+0000.
         replace(replace(replace(rtrim(CAST(value AS TEXT), char(10)), '\\\\', char(1)), '\\u0000', '\\ufffd'), char(1), '\\\\') AS lines
  FROM "${table}"
),
entries AS MATERIALIZED (
  SELECT scope, substr(record, 3, instr(substr(record, 3), '/') - 1) AS transcript,
         row_number() OVER (ORDER BY scope, record, line.key) AS seq, line.value AS entry
  FROM records, json_each('[' || replace(lines, char(10), ',') || ']') AS line
  WHERE record GLOB 'p/*/*/[0-9a-f]*'
),
nodes AS MATERIALIZED (
  SELECT scope, transcript, max(seq) AS seq, json_extract(made, '$.id') AS id, json_extract(made, '$.parent') AS parent
  FROM (SELECT scope, transcript, seq, coalesce(json_extract(entry, '$.restored'), json_extract(entry, '$.node')) AS made FROM entries)
  WHERE made IS NOT NULL GROUP BY scope, transcript, id
),
said AS MATERIALIZED (
  SELECT nodes.scope, nodes.transcript, nodes.id, grown.seq, part.key AS place, part.value AS message
  FROM (
    SELECT scope, transcript, seq, coalesce(json_extract(entry, '$.extend.node'), json_extract(entry, '$.restored.id'), json_extract(entry, '$.node.id')) AS id,
           coalesce(json_extract(entry, '$.extend.messages'), json_extract(entry, '$.restored.messages'), json_extract(entry, '$.node.messages'), '[]') AS messages
    FROM entries
  ) AS grown
  JOIN nodes ON ${node("nodes", "grown")} AND grown.seq >= nodes.seq
  JOIN json_each(grown.messages) AS part
),
heads AS (
  SELECT scope, transcript, max(seq) AS seq, json_extract(entry, '$.head.context') AS context, json_extract(entry, '$.head.node') AS node
  FROM entries WHERE json_type(entry, '$.head') = 'object' GROUP BY scope, transcript, context
),
pins AS (
  SELECT scope, transcript, max(seq) AS seq, coalesce(json_extract(entry, '$.pin'), json_extract(entry, '$.unpin')) AS id, json_type(entry, '$.pin') IS NOT NULL AS pinned
  FROM entries WHERE json_type(entry, '$.pin') = 'text' OR json_type(entry, '$.unpin') = 'text' GROUP BY scope, transcript, id
),
climb AS (
  SELECT scope, transcript, context, node AS id, 0 AS up FROM heads WHERE node IS NOT NULL
  UNION ALL
  SELECT climb.scope, climb.transcript, climb.context, nodes.parent, up + 1
  FROM climb JOIN nodes ON ${node("nodes", "climb")} WHERE nodes.parent IS NOT NULL
),
chains AS MATERIALIZED (
  SELECT *, max(up) OVER (PARTITION BY scope, transcript, context) - up AS level FROM climb
),
-- Of the checkpoints on a chain, the one that covers most nodes; the newest, where several do.
laid AS MATERIALIZED (
  SELECT scope, transcript, context, covered FROM (
    SELECT *, row_number() OVER (PARTITION BY scope, transcript, context ORDER BY covered DESC, seq DESC) AS rank
    FROM (
      SELECT chains.scope, chains.transcript, chains.context, made.seq, min(chains.level + 1, coalesce(made.most, chains.level + 1)) AS covered
      FROM (
        SELECT scope, transcript, seq, json_extract(entry, '$.checkpoint.anchor') AS id,
               CASE WHEN json_array_length(entry, '$.checkpoint.cleared') > 0 THEN json_extract(entry, '$.checkpoint.covers.nodes') END AS most
        FROM entries WHERE json_type(entry, '$.checkpoint') = 'object'
      ) AS made
      JOIN chains ON ${node("chains", "made")}
    )
  ) WHERE rank = 1
),
placed AS (
  SELECT chains.scope, chains.transcript, chains.context, chains.id, message,
         row_number() OVER thread - 1 AS place, chains.level < coalesce(laid.covered, 0) AS inside,
         json_extract(message, '$.role') AS role,
         CASE json_type(message, '$.content')
           WHEN 'text' THEN json_extract(message, '$.content')
           WHEN 'array' THEN (SELECT coalesce(group_concat(json_extract(value, '$.text'), char(10)), '') FROM json_each(message, '$.content'))
           ELSE '' END AS text,
         coalesce(json_extract(message, '$.pinned'), 0) IS 1 OR coalesce(pins.pinned, 0) AS pinned
  FROM chains
  JOIN said ON ${node("said", "chains")}
  LEFT JOIN laid ON ${thread("laid", "chains")}
  LEFT JOIN pins ON ${node("pins", "chains")}
  WINDOW thread AS (PARTITION BY chains.scope, chains.transcript, chains.context ORDER BY chains.level, said.seq, said.place)
),
counted AS (
  SELECT *,
         sum(inside) OVER thread AS covered,
         max(CASE WHEN inside AND opens THEN place END) OVER thread AS question,
         sum(opens AND NOT inside) OVER thread > 0 AS goes_on,
         sum(NOT inside) OVER thread = 0 AS ends
  FROM (SELECT *, role = 'user' AND json_extract(message, '$.kind') IS NULL AND trim(text) <> '' AS opens FROM placed)
  WINDOW thread AS (PARTITION BY scope, transcript, context)
),
judged AS (
  SELECT *, inside AND NOT pinned AND role NOT IN ('system', 'developer')
         AND coalesce(json_extract(message, '$.include_in_context'), 1) <> 0 AND coalesce(json_extract(message, '$.includeInContext'), 1) <> 0
         AND NOT (NOT goes_on AND question IS NOT NULL AND (place = question OR (ends AND place > question))) AS compacted
  FROM counted
)
SELECT context, place AS "index", id, role, text,
       (length(text) + 3) / 4 + 4 + coalesce((SELECT sum((length(value) + 3) / 4) FROM json_each(message, '$.tool_calls')), 0) AS tokens,
       compacted, CASE WHEN compacted THEN json_object('start', 0, 'end', covered) END AS range, transcript, scope
FROM judged`;
}
