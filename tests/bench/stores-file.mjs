// The file store beside a plain file, in one run: `cargo xtask bench stores-file`, or `node stores-file.mjs` with THREADKEEP_TARBALL
// naming the packed package. Prints medians with the targets, and a `BENCH` line a row for xtask.
//
// Of the store alone: a commit of a page with that many messages and its transcript's record, as the engine makes them, beside
// the same bytes (the very ones that the store writes) appended to a plain file with fdatasync. Of the whole keep: `keep.append` of the messages, with all
// that the engine does for them, beside the messages as JSON lines appended to a plain file with fdatasync. Contenders take turns in
// each round. MESSAGES is the size of the large keep (0 leaves it out), ROUNDS the number of rounds, THREADKEEP_BENCH_PROFILE where the
// files are to be.

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const MESSAGES = Number(process.env.MESSAGES ?? 1_000_000);
const ROUNDS = Number(process.env.ROUNDS ?? 15);
const here = dirname(fileURLToPath(import.meta.url));

const rows = [];
const say = (words) => process.stderr.write(`${words}\n`);
const thousands = (figure) => Math.round(figure).toLocaleString("en-US");
const row = (measure, value, target = "", holds = undefined) => rows.push([measure, value, target, holds === undefined ? "" : holds ? "pass" : "missed"]);
function median(figures) {
  const sorted = [...figures].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The package, unpacked. */
function unpack(folder) {
  const packed = resolve(here, "../../target/npm");
  const found = existsSync(packed) ? readdirSync(packed).filter((name) => name.endsWith(".tgz")) : [];
  const tarball = process.env.THREADKEEP_TARBALL ?? (found.length === 1 ? join(packed, found[0]) : undefined);
  if (tarball === undefined) throw new Error("THREADKEEP_TARBALL must name the packed package");
  execFileSync("tar", ["-xzf", resolve(tarball), "-C", folder]);
  return join(folder, "package/dist");
}

const WORDS = "the agent reads a list of files, decides what to change and says why: parsing of numbers, dates and names went wrong in größeren Fällen".split(
  " ",
);
let made = 0;
const message = () => {
  made += 1;
  return {
    role: made % 2 ? "user" : "assistant",
    content: `${made} ${Array.from({ length: 40 }, (_, at) => WORDS[(made * 7 + at * 11) % WORDS.length]).join(" ")}`,
  };
};
const batch = (count) => Array.from({ length: count }, message);
const encoder = new TextEncoder();
const lines = (messages) => encoder.encode(messages.map((one) => `${JSON.stringify(one)}\n`).join(""));

/** A plain file, appended to and brought to the disk each time. */
async function plain(path) {
  const file = await open(path, "a");
  return {
    append: async (bytes) => {
      await file.appendFile(bytes);
      await file.datasync();
    },
    close: () => file.close(),
  };
}

/** Times `times` runs of each contender in each round, in turns; medians of the rounds, in milliseconds a run. */
async function compare(contenders, times) {
  const taken = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]));
  const names = Object.keys(contenders);
  for (let round = -1; round < ROUNDS; round += 1) {
    const order = round % 2 === 0 ? names : [...names].reverse();
    for (const name of order) {
      const prepared = Array.from({ length: times }, () => contenders[name].prepare());
      const started = performance.now();
      for (const one of prepared) await contenders[name].run(one);
      // The first round is for warming up.
      if (round >= 0) taken[name].push((performance.now() - started) / times);
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(taken[name])]));
}

async function appends(library, root) {
  const { fileStore, Threadkeep } = library;
  for (const [count, times, words] of [
    [1, 60, "single"],
    [100, 12, "100/batch"],
  ]) {
    say(`appending ${words} …`);
    const folder = join(root, `store-${count}`);
    const store = fileStore({ folder });
    await store.open();
    const [same, raw] = [await plain(join(root, `same-${count}`)), await plain(join(root, `raw-${count}`))];
    const keep = await Threadkeep.open({ storage: fileStore({ folder: join(root, `keep-${count}`) }), encoding: "estimate" });
    const memory = await Threadkeep.open({ storage: "memory", encoding: "estimate" });
    let page = 0;
    const commit = (messages) => {
      page += 1;
      const record = encoder.encode(
        JSON.stringify({
          title: "A conversation",
          nodes: page,
          messages: page * count,
          updatedAt: 1_790_000_000_000 + page,
          leaf: String(page).padStart(64, "0"),
        }),
      );
      return {
        absent: [`p/x/${String(page).padStart(16, "0")}`],
        present: ["p/x/z"],
        deletes: [],
        deleteRanges: [],
        puts: [
          [`p/x/${String(page).padStart(16, "0")}`, lines(messages)],
          ["t/x", record],
        ],
        durability: "strict",
      };
    };
    await store.commit({ ...commit(batch(1)), present: [], puts: [["p/x/z", new Uint8Array(0)]] });
    // How many bytes a commit makes in the log.
    const logSize = () =>
      statSync(
        join(
          folder,
          readdirSync(folder).find((name) => name.startsWith("log-")),
        ),
      ).size;
    const before = logSize();
    await store.commit(commit(batch(count)));
    const size = logSize() - before;
    const figures = await compare(
      {
        store: { prepare: () => commit(batch(count)), run: (one) => store.commit(one) },
        same: { prepare: () => lines(batch(count + 1)).subarray(0, size), run: (one) => same.append(one) },
        keep: { prepare: () => batch(count), run: (one) => keep.thread(`c${page % 50}`).append(one) },
        memory: { prepare: () => batch(count), run: (one) => memory.thread(`c${page % 50}`).append(one) },
        raw: { prepare: () => lines(batch(count)), run: (one) => raw.append(one) },
      },
      times,
    );
    const rate = (name) => `${thousands((count * 1000) / figures[name])}/s`;
    const ratio = (ours, theirs) => figures[theirs] / figures[ours];
    row(`file append ${words}`, `${rate("store")}, ${ratio("store", "same").toFixed(2)} × a plain file, same bytes`, "≥ 0.5 ×", ratio("store", "same") >= 0.5);
    row(`… plain file and fdatasync, same bytes`, rate("same"));
    row(
      `file append ${words}, whole keep`,
      `${rate("keep")}, ${ratio("keep", "memory").toFixed(2)} × a keep in memory, ${ratio("keep", "raw").toFixed(2)} × JSON lines in a plain file`,
    );
    row(`… keep in memory`, rate("memory"));
    row(`… JSON lines in a plain file and fdatasync`, rate("raw"));
    await Promise.all([store.close(), keep.close(), memory.close(), same.close(), raw.close()]);
  }
}

async function loads(library, root) {
  const { fileStore, Threadkeep } = library;
  say("loading 1,000 messages …");
  const folder = join(root, "load");
  const messages = batch(1_000);
  writeFileSync(join(root, "load.jsonl"), lines(messages));
  let keep = await Threadkeep.open({ storage: fileStore({ folder }) });
  for (let at = 0; at < messages.length; at += 20) await keep.thread("c").append(messages.slice(at, at + 20));
  await keep.close();
  const [ours, raw] = [[], []];
  for (let round = -1; round < ROUNDS; round += 1) {
    keep = await Threadkeep.open({ storage: fileStore({ folder }) });
    let started = performance.now();
    const all = await keep.thread("c").messages();
    const took = performance.now() - started;
    await keep.close();
    started = performance.now();
    const read = (await readFile(join(root, "load.jsonl"), "utf8"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const theirs = performance.now() - started;
    if (all.length !== 1_000 || read.length !== 1_000 || all[999].content !== read[999].content) throw new Error("what was loaded is not what was stored");
    if (round >= 0) [ours, raw].forEach((list, at) => list.push([took, theirs][at]));
  }
  row("file load 1,000", `${median(ours).toFixed(1)} ms`);
  row("… JSON lines from a plain file", `${median(raw).toFixed(1)} ms`);
}

async function large(library, dist, root) {
  const { fileStore, Threadkeep } = library;
  const transcripts = Math.round(MESSAGES / 100);
  say(`writing ${thousands(MESSAGES)} messages …`);
  const folder = join(root, "large");
  const keep = await Threadkeep.open({ storage: fileStore({ folder }), encoding: "estimate", cacheBytes: 1_000_000 });
  const started = performance.now();
  for (let at = 0; at < transcripts; at += 20)
    await Promise.all(Array.from({ length: Math.min(20, transcripts - at) }, (_, index) => keep.thread(`c${at + index}`).append(batch(100))));
  const took = performance.now() - started;
  await keep.close();
  const size = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  say("opening them in new processes …");
  const code = `
    const { Threadkeep, init } = await import(${JSON.stringify(pathToFileURL(join(dist, "index.js")).href)});
    const { fileStore } = await import(${JSON.stringify(pathToFileURL(join(dist, "stores/file.js")).href)});
    await init();
    const started = performance.now();
    const keep = await Threadkeep.open({ storage: fileStore({ folder: ${JSON.stringify(folder)} }) });
    const opened = performance.now() - started;
    const { transcripts, messages } = await keep.stats();
    const listed = performance.now() - started;
    console.log(JSON.stringify({ opened, listed, transcripts, messages, memory: process.memoryUsage().rss }));
    await keep.close();`;
  const openings = Array.from({ length: 5 }, () => {
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], { encoding: "utf8" });
    if (stdout === "") throw new Error(stderr);
    return JSON.parse(stdout);
  });
  const { transcripts: there, messages } = openings[0];
  if (there !== transcripts || messages !== MESSAGES) throw new Error(`the large keep has ${there} transcripts with ${messages} messages`);
  const of = (name) => median(openings.map((one) => one[name]));
  row(`file open ${thousands(MESSAGES)} messages`, `${Math.round(of("opened"))} ms`, "< 1,000 ms", of("opened") < 1000);
  row("… to the count of all", `${Math.round(of("listed"))} ms`);
  row("… the process's memory then", `${Math.round(of("memory") / 2 ** 20)} MB of ${Math.round(size / 2 ** 20)} MB on the disk`);
  row("… written before, strict, 20 × 100 at once", `${thousands((MESSAGES * 1000) / took)}/s`);
}

const root = mkdtempSync(join(process.env.THREADKEEP_BENCH_PROFILE ?? tmpdir(), "threadkeep-bench-file-"));
try {
  const dist = unpack(root);
  const load = (path) => import(pathToFileURL(join(dist, path)).href);
  const library = { ...(await load("index.js")), ...(await load("stores/file.js")) };
  await appends(library, root);
  await loads(library, root);
  if (MESSAGES > 0) await large(library, dist, root);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((cells) => cells[column].length)));
  console.log(
    rows
      .map((cells) =>
        cells
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd(),
      )
      .join("\n"),
  );
  for (const cells of rows) console.log(["BENCH", ...cells].join("\t"));
} finally {
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
}
