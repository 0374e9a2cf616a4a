// Sessions of both SDKs that several processes write to at once, on one SQLite file, while they are killed and started again: nothing
// that was acknowledged is lost, nothing is there twice, each batch is whole, and each writer's own order holds.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Threadkeep } from "./support/expect.mjs";
import { installed, source } from "./support/installed.mjs";

const module = (name) => import(pathToFileURL(join(installed, "dist", name)).href);
const { sqliteStore } = await module("stores/sqlite.js");
const { ThreadkeepSession } = await module("frameworks/openai-agents.js");
const { sessionStore } = await module("frameworks/claude-agent-sdk.js");

const WRITERS = ["a", "b", "c"];
const STEPS = 24;
/** After so many acknowledged steps a writer is killed in the middle of the next one. */
const KILLS = [3, 8, 13];

/** Lets one writer do all its steps, through its kills; gives how often it was killed. */
async function writer(kind, path, who) {
  let [next, kills] = [0, 0];
  while (next < STEPS) {
    const child = spawn(process.execPath, [join(source, "test/support/agent-writer.mjs"), installed, kind, path, who, String(next), String(STEPS)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal ?? code)));
    const killAt = KILLS[kills];
    for await (const line of createInterface({ input: child.stdout })) {
      next = Number(line) + 1;
      if (next - 1 === killAt) child.kill("SIGKILL");
    }
    const how = await ended;
    if (how === "SIGKILL") kills += 1;
    else assert.equal(how, 0);
  }
  return kills;
}

async function played(kind, check) {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-processes-"));
  try {
    const path = join(folder, "keep.db");
    const kills = await Promise.all(WRITERS.map((who) => writer(kind, path, who)));
    assert.ok(
      kills.every((it) => it >= 1),
      `each was killed: ${kills}`,
    );
    const keep = await Threadkeep.open({ storage: await sqliteStore({ path }) });
    await check(keep);
    await keep.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const names = WRITERS.map((who) => Array.from({ length: STEPS }, (_, step) => `${who}.${step}`));

test("a session of the OpenAI Agents SDK, three processes, killed and started again", { timeout: 300_000 }, () =>
  played("openai", async (keep) => {
    const session = new ThreadkeepSession(keep, { sessionId: "shared" });
    const items = await session.getItems();
    assert.equal(items.length, WRITERS.length * STEPS * 4);
    const said = [];
    for (let at = 0; at < items.length; at += 4) {
      const [question, asked, told, answered] = items.slice(at, at + 4);
      assert.deepEqual([asked.callId, told.callId, answered.content[0].text], Array(3).fill(question.content), "a batch is whole");
      said.push(question.content);
    }
    for (const [index, who] of WRITERS.entries())
      assert.deepEqual(
        said.filter((name) => name.startsWith(`${who}.`)),
        names[index],
      );
    await session.addItems([{ type: "message", role: "user", content: "the end" }]);
    assert.deepEqual(
      (await keep.thread("shared").messages()).filter(({ role }) => role === "user").map(({ content }) => content),
      [...said, "the end"],
    );
    assert.deepEqual(await keep.lint((await keep.thread("shared").head()).id), []);
  }),
);

test("a session of the Claude Agent SDK, three processes, killed and started again", { timeout: 300_000 }, () =>
  played("claude", async (keep) => {
    const entries = await sessionStore(keep, { mirror: "manual" }).load({ projectKey: "p", sessionId: "shared" });
    const uuids = entries.map(({ uuid }) => uuid);
    assert.equal(new Set(uuids).size, uuids.length);
    for (const [index, who] of WRITERS.entries())
      assert.deepEqual(
        uuids.filter((uuid) => uuid.startsWith(`${who}.`)),
        names[index].flatMap((name) => [`${name}.a`, `${name}.b`]),
      );
    for (let at = 0; at < uuids.length; at += 2) assert.equal(uuids[at].slice(0, -2), uuids[at + 1].slice(0, -2), "a batch is whole");
  }),
);
