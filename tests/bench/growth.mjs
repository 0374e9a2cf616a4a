// What grows faster than its input, through the npm package: `cargo xtask bench growth-npm`, or `node growth.mjs [NAME]` with
// THREADKEEP_TARBALL naming the packed package. Each row does a piece of work with n, 2n and 4n things and prints by how much the time
// grew for each doubling: work that is linear doubles. The engine's own rows are in `crates/keep/examples/growth`; these add what
// JavaScript and the way through wasm cost.
//
// SCALE makes every row smaller or larger (1), ROUNDS is how often each size is measured; the quickest counts.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const SCALE = Number(process.env.SCALE ?? 1);
const ROUNDS = Number(process.env.ROUNDS ?? 3);
/** Twice, and three quarters for noise, for caches and for what sorting costs. Quadratic work takes four times as long. */
const TARGET = 2.75;
const wanted = process.argv[2] ?? "";

const folder = mkdtempSync(join(tmpdir(), "threadkeep-growth-"));
try {
  execFileSync("tar", ["xzf", process.env.THREADKEEP_TARBALL, "-C", folder]);
  const load = (name) => import(pathToFileURL(join(folder, "package/dist", name)).href);
  const { Threadkeep, render, trimMessages } = await load("index.js");
  const user = (content) => ({ role: "user", content });
  const memory = () => Threadkeep.open({ storage: "memory", encoding: "estimate" });
  const many = (n, make) => Array.from({ length: n }, (_, at) => make(at));
  const call = (id) => [
    { role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name: "read", arguments: "{}" } }] },
    { role: "tool", tool_call_id: id, content: "done" },
  ];
  const each = async (n, work) => {
    for (let at = 0; at < n; at += 1) await work(at);
  };

  /** Of each row: its name, n, what makes the input, and the work. */
  const rows = [
    [
      "facts that are remembered",
      100,
      memory,
      (keep, n) => each(n, (at) => keep.memory.remember({ fact: `The port of service ${at} in the old house is ${at}.` })),
    ],
    [
      "messages that extend one node",
      100,
      async () => {
        const keep = await memory();
        return { keep, node: await keep.receive({ content: "go" }), close: () => keep.close() };
      },
      ({ keep, node }, n) => each(n, (at) => keep.extend(node.id, [{ role: "assistant", content: `step ${at}` }])),
    ],
    [
      "messages at a head, appended and read",
      500,
      memory,
      async (keep, n) => {
        await keep.thread("main").append(many(n, (at) => user(`line ${at}`)));
        if ((await keep.thread("main").messages()).length !== n) throw new Error("messages are missing");
      },
    ],
    [
      "a phrase repeated in a query",
      200,
      async () => {
        const keep = await memory();
        await keep.thread("main").append(many(200, (at) => user(`The lost luggage of ${at} is in Oslo.`)));
        await keep.search("warm");
        return keep;
      },
      (keep, n) => keep.search('"lost luggage" '.repeat(n)),
    ],
    [
      "messages that are trimmed",
      2000,
      (n) => many(n, (at) => user(`line ${at}`)),
      (list) => trimMessages(list, { budget: { maxTokens: 500 }, encoding: "estimate" }),
    ],
    ["render with repeated call ids", 200, () => [], (_, n) => render([user("go"), ...many(n, () => call("call_1")).flat()], "anthropic")],
    [
      "context of a chain with tool calls",
      200,
      async (n) => {
        const keep = await memory();
        await keep.thread("main").append([user("go"), ...many(n, (at) => call(`call_${at}`)).flat()]);
        return keep;
      },
      (keep) => keep.thread("main").context({ encoding: "estimate" }),
    ],
    [
      "mails of one party, sent and listed",
      100,
      memory,
      async (keep, n) => {
        await each(n, (at) => keep.mailbox("ann").send({ to: "bob", content: `message ${at}` }));
        if ((await keep.mailbox("bob").messages()).length !== n) throw new Error("messages are missing");
      },
    ],
  ];

  for (const [name, size, make, work] of rows.filter(([name]) => name.includes(wanted))) {
    const base = Math.max(2, Math.round(size * SCALE));
    const best = [Infinity, Infinity, Infinity];
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [at, times] of [1, 2, 4].entries()) {
        const input = await make(base * times);
        // What the process had of the processor: others on the machine make long work wait more often than short work.
        const before = process.cpuUsage();
        await work(input, base * times);
        const { user: own, system } = process.cpuUsage(before);
        best[at] = Math.min(best[at], (own + system) / 1000);
        await input.close?.();
      }
    const growth = Math.sqrt(best[2] / best[0]);
    const judged = SCALE >= 1 ? [`≤ ${TARGET} ×`, growth <= TARGET ? "pass" : "missed"] : ["", ""];
    const sizes = [1, 2, 4].map((times) => base * times).join(", ");
    console.log(
      ["BENCH", `${name}: ${sizes}`, `${best.map((time) => time.toFixed(1)).join(", ")} ms: ${growth.toFixed(2)} × a doubling`, ...judged].join("\t"),
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
