// The samples of tests/bundlers, built the way their users build them, over the installed package, and run in headless Chromium: a
// keep on IndexedDB in the page, in a worker and in a service worker, before and after a reload.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { serve } from "../../tests/e2e/support/serve.mjs";
import { launch } from "./support/browser.mjs";
import { installed, source } from "./support/installed.mjs";

const samples = join(source, "../tests/bundlers");
const modules = join(samples, "node_modules");
const options = { timeout: 120_000 };
let browser;

before(async () => {
  if (!existsSync(join(modules, "vite"))) throw new Error("tests/bundlers is not installed: run `cargo xtask setup`");
  // With what Vite keeps of the package: it knows a package by its version, and would give out the one before.
  for (const name of ["threadkeep", ".vite"]) rmSync(join(modules, name), { recursive: true, force: true });
  cpSync(installed, join(modules, "threadkeep"), { recursive: true });
  browser = await launch();
});

after(() => browser?.close());

/** Runs a build; what it says. */
function build(folder, script, ...args) {
  for (const made of ["dist", ".next"]) rmSync(join(samples, folder, made), { recursive: true, force: true });
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" };
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { cwd: join(samples, folder), encoding: "utf8", env });
  assert.equal(status, 0, stdout + stderr);
  assert.doesNotMatch(stdout + stderr, /warn/i);
  return stdout + stderr;
}

/** Opens an address twice in one profile; what each place said each time, and what the page complained of. */
async function visit(address, places) {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const complaints = [];
    page.on("console", (message) => {
      const icon = message.location().url.endsWith("/favicon.ico");
      if (["error", "warning"].includes(message.type()) && !icon) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    const look = async () =>
      Object.fromEntries(
        await Promise.all(
          places.map(async (place) => {
            const words = await page
              .locator(`#${place}`)
              .textContent({ timeout: 60_000 })
              .catch((error) => {
                throw new Error(`${place} says nothing (${error.message}); the page: ${complaints.join("\n")}`);
              });
            return [place, JSON.parse(words)];
          }),
        ),
      );
    await page.goto(address);
    const first = await look();
    await page.reload();
    const second = await look();
    return { first, second, complaints };
  } finally {
    await context.close();
  }
}

/** What the sample must say: of a new place (`found` 0), or of one that it has been to. */
function expect(said, found, storage = "indexeddb") {
  assert.equal(said.error, undefined);
  const { prompt, hits, ...others } = said;
  assert.deepEqual(others, { storage, found, messages: 6, mail: 1 });
  // What was appended, and what was imported.
  assert.match(hits, /log of a lighthouse/);
  assert.match(hits, /Two gulls/);
  assert.ok(prompt.tokens > 0 && prompt.tokens <= 60 && !prompt.overBudget, JSON.stringify(prompt));
  assert.ok(prompt.kept < 6 && prompt.roles[0] === "system" && prompt.roles.at(-1) === "user", JSON.stringify(prompt));
}

async function check(address, places) {
  const { first, second, complaints } = await visit(address, places);
  for (const place of places) {
    expect(first[place], 0);
    expect(second[place], 6);
  }
  assert.deepEqual(complaints, []);
}

/** Serves a folder under a policy as strict as a careful site's. */
async function checkFolder(folder, places) {
  const site = await serve({ "/": folder });
  try {
    await check(site.address, places);
  } finally {
    await site.close();
  }
}

const PLACES = ["page", "worker", "service"];

test("Vite, built", options, async () => {
  build("vite", join(modules, "vite/bin/vite.js"), "build");
  await checkFolder(join(samples, "vite/dist"), PLACES);
});

test("Vite's dev server", options, async () => {
  const port = await freePort();
  const server = await start("vite", join(modules, "vite/bin/vite.js"), ["--port", port, "--host", "127.0.0.1", "--strictPort"], /Local:/);
  try {
    await check(`http://127.0.0.1:${port}/`, ["page", "worker"]);
  } finally {
    await server.stop();
  }
});

test("webpack, with a worker and a service worker in the classic way", options, async () => {
  build("webpack", "build.js");
  await checkFolder(join(samples, "webpack/dist"), PLACES);
});

test("esbuild over the slim entry, with a service worker in the classic way", options, async () => {
  build("esbuild", "build.js");
  const folder = join(samples, "esbuild/dist");
  assert.ok(!readdirSync(folder).some((name) => name.startsWith("cl100k")), "only what is named is copied");
  await checkFolder(folder, PLACES);
});

test("Next.js: a client component, and a route under Node", options, async () => {
  build("next", join(modules, "next/dist/bin/next"), "build");
  const port = await freePort();
  const server = await start("next", join(modules, "next/dist/bin/next"), ["start", "--port", port, "--hostname", "127.0.0.1"], /Ready in/);
  try {
    // Twice: the second finds what the first has kept, in a file.
    for (const found of [0, 6]) {
      const answer = await fetch(`http://127.0.0.1:${port}/api/memory`);
      const said = await answer.text();
      assert.equal(answer.status, 200, `${said}\n${server.said()}`);
      expect(JSON.parse(said), found, "file");
    }
    await check(`http://127.0.0.1:${port}/`, ["page"]);
  } finally {
    await server.stop();
  }
});

/** A port that is free now. */
function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(String(port)));
    });
  });
}

/** Starts a server of a sample, and waits until it says that it is ready. */
async function start(folder, script, args, ready) {
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NO_COLOR: "1" };
  delete env.NODE_ENV;
  const child = spawn(process.execPath, [script, ...args], { cwd: join(samples, folder), env });
  let said = "";
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await new Promise((resolve, reject) => {
    const hear = (chunk) => {
      said += chunk;
      if (ready.test(said)) resolve();
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    ended.then((code) => reject(new Error(`it ended with ${code}: ${said}`)));
  });
  return {
    said: () => said,
    stop: () => {
      child.kill();
      return ended;
    },
  };
}
