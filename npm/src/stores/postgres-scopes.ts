// The scopes of a keep in PostgreSQL: a column of the table, by which it is partitioned.

import * as check from "../check.js";
import type { StoreAdapter, StoreScopes } from "./adapter.js";
import { PostgresKeep } from "./postgres-keep.js";
import type { PostgresServer } from "./postgres-server.js";

/** How many names are read at a time. */
const NAMES = 1_000;

/** The scopes of a schema. @internal */
export function postgresScopes(server: PostgresServer): StoreScopes {
  return {
    open(name: string): StoreAdapter {
      return new PostgresKeep(server, column(check.scope(name, "scope")));
    },
    async *list(): AsyncIterable<string> {
      // One partition after another: sought in all of them, each name would cost as many searches as there are partitions.
      for (const [part] of (await server.run("parts", () => [])) as [string][]) yield* listed(server, part);
    },
    async delete(name: string): Promise<void> {
      await server.run("remove", () => [column(check.scope(name, "scope"))]);
    },
  };
}

/** The names in one table, in pieces. */
async function* listed(server: PostgresServer, part: string): AsyncIterable<string> {
  for (let after = ""; ; ) {
    const names = ((await server.run("scopes", () => [part, after, NAMES])) as [string][]).map(([name]) => name);
    for (const name of names) yield name.replace(/%00|%25/g, decodeURIComponent);
    const last = names.at(-1);
    if (last === undefined || names.length < NAMES) return;
    after = last;
  }
}

/** A name as the column has it: PostgreSQL's text cannot hold U+0000. */
function column(name: string): string {
  return name.replace(/[%\0]/g, encodeURIComponent);
}
