// The view of threads in PostgreSQL, for people and their tools: the messages of each thread, in order. It reads the pages as they are, so nothing is
// stored twice.

/** What is equal in two rows of one thread. */
const thread = (a: string, b: string): string => `${a}.transcript = ${b}.transcript AND ${a}.context = ${b}.context`;
/** What is equal in two rows of one node. */
const node = (a: string, b: string): string => `${a}.transcript = ${b}.transcript AND ${a}.id = ${b}.id`;

/** The statement that makes the view. `index` and `range` are those of `Thread.stored`; an entry's number orders the entries. */
export function threads(s: string): string {
  return `-- For people: the messages of all threads of the scope that SET threadkeep.scope = 'name' chooses; without it, of those outside all scopes.
CREATE OR REPLACE VIEW ${s}.threads AS
WITH RECURSIVE entries AS MATERIALIZED (
  SELECT pages.scope, split_part(pages.key, '/', 2) AS transcript, row_number() OVER (ORDER BY pages.key, lines.position) AS seq,
         -- PostgreSQL's text cannot hold the character U+0000: one whose backslash is not itself escaped becomes U+FFFD.
         regexp_replace(lines.line, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', '\\1\\\\ufffd', 'g')::json AS entry
  FROM ${s}.records AS pages
  CROSS JOIN LATERAL unnest(string_to_array(rtrim(convert_from(pages.data, 'UTF8'), E'\\n'), E'\\n')) WITH ORDINALITY AS lines (line, position)
  WHERE scope = coalesce(current_setting('threadkeep.scope', true), '') AND key >= 'p/' AND key < 'p0' AND key ~ '/[0-9a-f]{16}$'
),
nodes AS MATERIALIZED (
  SELECT DISTINCT ON (transcript, id) transcript, seq, made ->> 'id' AS id, made ->> 'parent' AS parent
  FROM (SELECT transcript, seq, coalesce(entry -> 'restored', entry -> 'node') AS made FROM entries) AS all_made
  WHERE made IS NOT NULL ORDER BY transcript, id, seq DESC
),
said AS MATERIALIZED (
  SELECT nodes.transcript, nodes.id, grown.seq, part.place, part.message
  FROM (
    SELECT transcript, seq, coalesce(entry -> 'extend' ->> 'node', entry -> 'restored' ->> 'id', entry -> 'node' ->> 'id') AS id,
           coalesce(entry -> 'extend', entry -> 'restored', entry -> 'node') -> 'messages' AS messages
    FROM entries
  ) AS grown
  JOIN nodes ON ${node("nodes", "grown")} AND grown.seq >= nodes.seq
  CROSS JOIN LATERAL json_array_elements(CASE json_typeof(messages) WHEN 'array' THEN messages ELSE '[]' END) WITH ORDINALITY AS part (message, place)
),
heads AS (
  SELECT DISTINCT ON (transcript, context) scope, transcript, entry -> 'head' ->> 'context' AS context, entry -> 'head' ->> 'node' AS node
  FROM entries WHERE entry -> 'head' IS NOT NULL ORDER BY transcript, context, seq DESC
),
pins AS (
  SELECT DISTINCT ON (transcript, id) transcript, coalesce(entry ->> 'pin', entry ->> 'unpin') AS id, entry ->> 'pin' IS NOT NULL AS pinned
  FROM entries WHERE entry ->> 'pin' IS NOT NULL OR entry ->> 'unpin' IS NOT NULL ORDER BY transcript, id, seq DESC
),
climb AS (
  SELECT scope, transcript, context, node AS id, 0 AS up FROM heads WHERE node IS NOT NULL
  UNION ALL
  SELECT climb.scope, climb.transcript, climb.context, nodes.parent, climb.up + 1
  FROM climb JOIN nodes ON ${node("nodes", "climb")} WHERE nodes.parent IS NOT NULL
),
chains AS MATERIALIZED (
  SELECT climb.*, max(up) OVER (PARTITION BY transcript, context) - up AS level FROM climb
),
-- Of the checkpoints on a chain, the one that covers most nodes; the newest, where several do.
laid AS MATERIALIZED (
  SELECT DISTINCT ON (transcript, context) chains.transcript, chains.context, least(chains.level + 1, made.most) AS covered
  FROM (
    SELECT transcript, seq, entry -> 'checkpoint' ->> 'anchor' AS id,
           CASE WHEN entry -> 'checkpoint' -> 'cleared' ->> 0 IS NOT NULL THEN (entry -> 'checkpoint' -> 'covers' ->> 'nodes')::bigint END AS most
    FROM entries WHERE entry -> 'checkpoint' IS NOT NULL
  ) AS made
  JOIN chains ON ${node("chains", "made")}
  ORDER BY transcript, context, covered DESC, made.seq DESC
),
placed AS (
  SELECT chains.scope, chains.transcript, chains.context, chains.id, said.message,
         row_number() OVER (PARTITION BY chains.transcript, chains.context ORDER BY chains.level, said.seq, said.place) - 1 AS place,
         chains.level < coalesce(laid.covered, 0) AS inside,
         said.message ->> 'role' AS role,
         CASE json_typeof(said.message -> 'content')
           WHEN 'string' THEN said.message ->> 'content'
           WHEN 'array' THEN (SELECT coalesce(string_agg(part ->> 'text', E'\\n'), '') FROM json_array_elements(said.message -> 'content') AS part)
           ELSE '' END AS text,
         coalesce(said.message ->> 'pinned' = 'true', false) OR coalesce(pins.pinned, false) AS pinned
  FROM chains
  JOIN said ON ${node("said", "chains")}
  LEFT JOIN laid ON ${thread("laid", "chains")}
  LEFT JOIN pins ON ${node("pins", "chains")}
),
counted AS (
  SELECT speaking.*,
         count(*) FILTER (WHERE inside) OVER thread AS covered,
         max(place) FILTER (WHERE inside AND opens) OVER thread AS question,
         count(*) FILTER (WHERE opens AND NOT inside) OVER thread > 0 AS goes_on,
         count(*) FILTER (WHERE NOT inside) OVER thread = 0 AS ends
  FROM (SELECT placed.*, role = 'user' AND message -> 'kind' IS NULL AND btrim(text) <> '' AS opens FROM placed) AS speaking
  WINDOW thread AS (PARTITION BY transcript, context)
),
judged AS (
  SELECT counted.*, inside AND NOT pinned AND role NOT IN ('system', 'developer')
         AND coalesce(message ->> 'include_in_context' <> 'false', true) AND coalesce(message ->> 'includeInContext' <> 'false', true)
         AND NOT (NOT goes_on AND question IS NOT NULL AND (place = question OR (ends AND place > question))) AS compacted
  FROM counted
)
SELECT context, place::integer AS index, id, role, text,
       ((length(text) + 3) / 4 + 4 + coalesce((SELECT sum((length(call::text) + 3) / 4)
         FROM json_array_elements(CASE json_typeof(message -> 'tool_calls') WHEN 'array' THEN message -> 'tool_calls' ELSE '[]' END) AS call), 0))::integer AS tokens,
       compacted, CASE WHEN compacted THEN jsonb_build_object('start', 0, 'end', covered) END AS range, transcript, scope
FROM judged;`;
}
