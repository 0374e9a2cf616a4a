// What the store promises, tried on a real browser: nothing acknowledged is lost and nothing is torn when the browser is
// killed (SIGKILL of its process group) or the page crashes in the middle of writing; two tabs that append at once leave one
// sequence; a full disk, cleared site data and a damaged database are said. In one trial the log is torn by hand after each
// kill, as a kill does it that falls between two of LevelDB's writes (about one in a hundred does). Counts come from the
// environment: KILLS, CRASHES (20 each), APPENDS (5,000 a tab). Run by `cargo xtask bench durability`, or `node durability.mjs`
// after `npm ci`. Exits with 1 when a promise is broken.

import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

import { end, tear } from "../e2e/support/leveldb.mjs";
import { ARGUMENTS, findChromium, profile } from "./lib/browser.mjs";
import { module } from "./lib/module.mjs";
import { serve } from "./lib/serve.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const count = (name, otherwise) => Number(process.env[name] ?? otherwise);
const KILLS = count("KILLS", 20);
const CRASHES = count("CRASHES", 20);
const APPENDS = count("APPENDS", 5000);

// A browser in a process group of its own, so that all of it can be killed at once, spoken to over its debugging port.
async function launch(folder) {
  const port = join(folder, "DevToolsActivePort");
  rmSync(port, { force: true });
  const child = spawn(findChromium(), [...ARGUMENTS, "--headless=new", "--remote-debugging-port=0", `--user-data-dir=${folder}`, "about:blank"], {
    detached: true,
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  for (let wait = 0; !existsSync(port) || !readFileSync(port, "utf8").includes("\n"); wait += 1) {
    if (wait > 300) throw new Error("the browser does not open its debugging port");
    await pause(50);
  }
  const browser = await chromium.connectOverCDP(`http://127.0.0.1:${readFileSync(port, "utf8").split("\n")[0]}`);
  return {
    context: browser.contexts()[0],
    async kill() {
      process.kill(-child.pid, "SIGKILL");
      await ended;
      await browser.close().catch(() => {});
    },
  };
}

async function open(context, address) {
  const page = await context.newPage();
  await page.goto(address);
  await page.waitForFunction("globalThis.bench !== undefined", undefined, { timeout: 30_000 });
  return page;
}

const run = (page, name, ...args) => page.evaluate(([name, args]) => globalThis.bench[name](...args), [name, args]);

function expect(holds, words) {
  if (!holds) throw new Error(words);
}

// Lets a page write until it has been heard of `wait` entries, then does away with it. Each round starts with the entry
// after the last one that is there. Returns how many are there at the end.
async function rounds(folder, address, times, what, doAway) {
  let browser = await launch(folder);
  let there = 0;
  for (let round = 0; round < times; round += 1) {
    const page = await open(browser.context, address);
    let heard = there - 1;
    await page.exposeFunction("acknowledged", (index) => {
      heard = Math.max(heard, index);
    });
    const writing = run(page, "write", 1, there, 1_000_000).catch(() => {});
    // Not always at the same place: a few entries, or many.
    const wanted = there + 5 + ((round * 37) % 90);
    while (heard < wanted) await pause(1);
    browser = await doAway(browser, page);
    await writing;
    const acknowledged = heard + 1;
    const reader = await open(browser.context, address);
    const { beginning, there: found } = await run(reader, "begin");
    there = found;
    expect(beginning === "existing", `${what} ${round}: ${acknowledged} entries were acknowledged, and the database is ${beginning}`);
    expect(there >= acknowledged, `${what} ${round}: ${acknowledged} entries were acknowledged, ${there} are there`);
    await reader.close();
  }
  await browser.kill();
  return there;
}

const promises = {
  async "nothing acknowledged is lost or torn when the browser is killed"(folder, address) {
    let torn = 0;
    const there = await rounds(folder, address, KILLS, "kill", async (browser) => {
      await browser.kill();
      if (end(folder) !== "whole") torn += 1;
      return launch(folder);
    });
    return `${KILLS} kills (${torn} tore the log), ${there} entries`;
  },

  async "nothing acknowledged is lost or torn when kills tear the log"(folder, address) {
    let kills = 0;
    const there = await rounds(folder, address, KILLS, "torn kill", async (browser) => {
      await browser.kill();
      kills += 1;
      if (end(folder) === "whole") {
        // As much is missing as of a commit here; very little; or the rest of a record that crosses a block.
        tear(folder, [{ length: 1400 }, { length: 20 }, { pieces: true }][kills % 3]);
      }
      return launch(folder);
    });
    return `${KILLS} kills, ${there} entries`;
  },

  async "nothing acknowledged is lost or torn when the page crashes"(folder, address) {
    const there = await rounds(folder, address, CRASHES, "crash", async (browser, page) => {
      const session = await browser.context.newCDPSession(page);
      const crashed = page.waitForEvent("crash");
      session.send("Page.crash").catch(() => {});
      await crashed;
      await page.close().catch(() => {});
      return browser;
    });
    return `${CRASHES} crashes, ${there} entries`;
  },

  async "two tabs that append at once leave one sequence"(folder, address) {
    const browser = await launch(folder);
    const [one, two] = [await open(browser.context, address), await open(browser.context, address)];
    await Promise.all([run(one, "write", 1, 0, APPENDS), run(two, "write", 2, 0, APPENDS)]);
    const there = await run(one, "check");
    await browser.kill();
    expect(there === 2 * APPENDS, `${2 * APPENDS} entries were acknowledged, ${there} are there`);
    return `2 × ${APPENDS} appends, ${there} entries`;
  },

  async "a full disk is said, and what was there stays"(folder, address) {
    const browser = await launch(folder);
    const page = await open(browser.context, address);
    const session = await browser.context.newCDPSession(page);
    const { origin } = new URL(address);
    // Before the first write, since the browser remembers for a while how much room there was.
    await session.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: 8 * 1024 * 1024 });
    await run(page, "write", 1, 0, 50);
    const { said, before, after } = await run(page, "exhaust", 1024 * 1024, 40);
    expect(said.startsWith("quota:"), `the store said ${said}`);
    expect(before === 50 && after === 50, `${before} entries before, ${after} after`);
    await session.send("Storage.overrideQuotaForOrigin", { origin });
    expect((await run(page, "relieve")) === 50, "entries are missing after making room");
    await run(page, "write", 1, 50, 5);
    expect((await run(page, "check")) === 55, "writing does not go on after making room");
    await browser.kill();
    return "answered with the code quota";
  },

  async "cleared site data is said, and the next opening starts afresh"(folder, address) {
    const browser = await launch(folder);
    const page = await open(browser.context, address);
    await run(page, "write", 1, 0, 20);
    expect((await run(page, "hold")) === 20, "the entries are not there");
    const session = await browser.context.newCDPSession(page);
    await session.send("Storage.clearDataForOrigin", { origin: new URL(address).origin, storageTypes: "all" });
    const { said, again, fresh } = await run(page, "after");
    await browser.kill();
    expect(said.startsWith("storage-gone:"), `the store said ${said}`);
    expect(again.startsWith("storage-gone:"), `then the store said ${again}`);
    expect(fresh === 0, `${fresh} entries are in the new database`);
    return "answered with the code storage-gone";
  },

  async "a damaged database is noticed"(folder, address) {
    let browser = await launch(folder);
    await run(await open(browser.context, address), "write", 1, 0, 500);
    await browser.kill();
    const databases = join(folder, "Default", "IndexedDB");
    const files = readdirSync(databases, { recursive: true }).filter((name) => name.endsWith(".log"));
    expect(files.length > 0, "the browser keeps its data in files that this does not know");
    for (const file of files.map((name) => join(databases, name))) {
      const bytes = readFileSync(file);
      bytes[bytes.length >> 1] ^= 0xff;
      writeFileSync(file, bytes);
    }
    browser = await launch(folder);
    const page = await open(browser.context, address);
    const { beginning, there } = await run(page, "begin");
    // Chromium throws everything away for one damaged byte. Should it once keep what is whole, that is well too.
    expect(beginning.startsWith("wiped") || there > 0, `the store begins with "${beginning}" and ${there} entries`);
    await run(page, "write", 2, 0, 5);
    await browser.kill();
    return beginning.split(":")[0];
  },
};

const root = join(here, "..", "..");
const server = await serve({ "/module/": module(root), "/page/": join(here, "page") });
let broken = 0;
for (const [name, promise] of Object.entries(promises)) {
  const { folder, remove } = profile();
  const start = performance.now();
  try {
    const found = await promise(folder, `${server.origin}/page/durability.html`);
    console.log(["BENCH", name, found, "", "pass"].join("\t"));
    process.stderr.write(`kept: ${name}: ${found} (${((performance.now() - start) / 1000).toFixed(1)} s)\n`);
  } catch (error) {
    broken += 1;
    console.log(["BENCH", name, error.message, "", "missed"].join("\t"));
    process.stderr.write(`BROKEN: ${name}: ${error.message}\n`);
  } finally {
    remove();
  }
}
await server.close();
process.exit(broken === 0 ? 0 : 1);
