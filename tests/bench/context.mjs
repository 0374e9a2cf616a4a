// Prompts of long chains through the npm package: `cargo xtask bench context`, or `node context.mjs` after `npm ci` with
// THREADKEEP_TARBALL naming the packed package. Prints a `BENCH` line a row for xtask.
//
// A keep in memory holds a chain of 1,000, 5,000 and 20,000 messages. Its prompt for 8,000 tokens is asked for when the chain is warm, and after
// each turn of a growing chain (a question and an answer, whose append is not timed), with both policies. The sizes take turns, so that
// what else the machine does falls on all of them. Times are the processor's, medians count.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const SIZES = [1_000, 5_000, 20_000];
const ROUNDS = Number(process.env.ROUNDS ?? 60);
const TARGET = 3;
const words = (n) => `Message ${n} says a few things about the plan, the weather and the ${n % 97} apples in the cellar.`;
const message = (n) => ({ role: n % 2 === 0 ? "user" : "assistant", content: words(n) });
const now = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const median = (figures) => [...figures].sort((a, b) => a - b)[Math.floor(figures.length / 2)];

const home = mkdtempSync(join(tmpdir(), "threadkeep-bench-"));
try {
  execFileSync("npm", ["install", "--silent", "--no-audit", "--no-fund", "--prefix", home, process.env.THREADKEEP_TARBALL], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const { Threadkeep } = await import(pathToFileURL(join(home, "node_modules/threadkeep/dist/index.js")).href);
  for (const policy of ["newest", "stable"]) {
    const cases = [];
    for (const size of SIZES) {
      const keep = await Threadkeep.open({ storage: "memory", cacheBytes: 1 << 30 });
      for (let from = 0; from < size; from += 1_000) {
        await keep.thread("main").append(Array.from({ length: 1_000 }, (_, n) => message(from + n)));
      }
      cases.push({ size, keep, next: size, warm: [], turn: [], ledger: [] });
    }
    const options = { policy, budget: { maxTokens: 8_000 } };
    const ask = async ({ keep }) => {
      const start = now();
      const context = await keep.thread("main").context(options);
      return [now() - start, context];
    };
    for (let round = -5; round < ROUNDS; round += 1) {
      for (const one of cases) {
        await ask(one);
        const [warm, context] = await ask(one);
        const start = now();
        const lines = context.ledger.length;
        const ledger = now() - start;
        if (lines < one.next) throw new Error(`a ledger of ${lines} lines`);
        await one.keep.thread("main").append([message(one.next), message(one.next + 1)]);
        one.next += 2;
        const [turn] = await ask(one);
        if (round >= 0) [one.warm, one.turn, one.ledger].forEach((list, at) => list.push([warm, turn, ledger][at]));
      }
    }
    for (const { size, keep, warm, turn, ledger } of cases) {
      const row = (what, figures, target) => {
        const value = median(figures);
        const verdict = target === undefined ? "" : value <= target ? "ok" : "missed";
        console.log(
          ["BENCH", `${what}, ${policy}, ${size} messages`, `${value.toFixed(2)} ms`, target === undefined ? "" : `${target} ms`, verdict].join("\t"),
        );
      };
      row("warm prompt", warm, TARGET);
      row("prompt after a turn", turn, TARGET);
      row("reading the ledger", ledger);
      await keep.close();
    }
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
