// PostgreSQL with a standby that confirms commits: the primary ends in mid-write, and the standby takes over.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "node:test";
import pg from "pg";
import { startProxy } from "./support/proxy.mjs";
import { startPostgres, startStandby } from "./support/servers.mjs";
import { bytes, change, postgresStore } from "./support/stores.mjs";
import { until } from "./support/until.mjs";

/** How many commits each scope makes while the primary ends. */
const COMMITS = Number(process.env.THREADKEEP_FAILOVER_COMMITS ?? 60);
const SCOPES = 12;

async function ask(server, text) {
  const client = new pg.Client({ connectionString: server.connectionString });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

test("a primary that ends in mid-write: each acknowledged commit of each scope is at the standby", { timeout: 180_000 }, async (context) => {
  const primary = await startPostgres();
  let standby;
  let proxy;
  try {
    standby = await startStandby(primary);
    const counts = async (rows) => (await ask(primary, `SELECT 1 FROM pg_stat_replication WHERE ${rows}`)).length === 1;
    await until(() => counts("state = 'streaming'"), "that the standby follows", 60_000);
    const warnings = [];
    const onWarning = ({ code, message }) => warnings.push([code, message]);
    const unconfirmed = await postgresStore({ connectionString: primary.connectionString, onWarning });
    assert.equal(unconfirmed.durability, "disk");
    assert.deepEqual(
      warnings.map(([code]) => code),
      ["failover"],
    );
    assert.match(warnings[0][1], /synchronous_standby_names/);
    await unconfirmed.close();
    await ask(primary, "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    await ask(primary, "SELECT pg_reload_conf()");
    await until(() => counts("sync_state = 'sync'"), "that the standby confirms", 60_000);

    // As a program has it whose connections lead to the primary, whichever that is.
    proxy = await startProxy(primary.port);
    const connectionString = primary.connectionString.replace(`:${primary.port}/`, `:${proxy.port}/`);
    const store = await postgresStore({ connectionString, retryTimeout: 60_000 });
    assert.equal(store.durability, "replicated");
    const names = Array.from({ length: SCOPES }, (_, index) => `user-${index}`);
    const acknowledged = new Map(names.map((name) => [name, []]));
    const total = () => [...acknowledged.values()].reduce((sum, values) => sum + values.length, 0);
    let slowest = 0;
    const write = async (name) => {
      const scope = store.scopes.open(name);
      for (let number = 0; number < COMMITS; number += 1) {
        const key = `k/${String(number).padStart(6, "0")}`;
        const start = performance.now();
        await scope.commit(change({ absent: [key], puts: [[key, bytes(`${name} ${number}`)]] }));
        slowest = Math.max(slowest, performance.now() - start);
        acknowledged.get(name).push(`${name} ${number}`);
      }
    };
    let atEnd;
    const failover = (async () => {
      while (total() < (SCOPES * COMMITS) / 3) await sleep(1);
      await primary.crash();
      atEnd = new Map([...acknowledged].map(([name, values]) => [name, [...values]]));
      // What had been acknowledged when the primary ended is at the standby before anything else is written.
      await ask(standby, "SELECT pg_promote()");
      for (const [name, values] of atEnd) {
        const rows = await ask(standby, `SELECT convert_from(data, 'UTF8') AS value FROM threadkeep.records WHERE scope = '${name}'`);
        const there = new Set(rows.map(({ value }) => value));
        assert.deepEqual(
          values.filter((value) => !there.has(value)),
          [],
          "acknowledged and lost",
        );
      }
      proxy.lead(standby.port);
      proxy.cut();
    })();
    await Promise.all([failover, ...names.map(write)]);
    for (const name of names) {
      const found = await store.scopes.open(name).scan({ start: "", end: "~", reverse: false });
      assert.deepEqual(
        found.map(([, value]) => String(Buffer.from(value))),
        Array.from({ length: COMMITS }, (_, number) => `${name} ${number}`),
      );
    }
    const before = [...atEnd.values()].reduce((sum, values) => sum + values.length, 0);
    context.diagnostic(`${before} of ${SCOPES * COMMITS} commits acknowledged before the primary ended, none lost; the longest wait ${Math.round(slowest)} ms`);
    await store.close();
  } finally {
    await proxy?.close();
    await Promise.all([primary.close(), standby?.close()]);
  }
});
