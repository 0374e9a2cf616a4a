// The examples and the pages of the docs, run as they stand.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { inChild, installed, project, source } from "./support/installed.mjs";

/** Runs an example of the package in the user's project. */
function run(name, args) {
  const folder = join(project, "examples-langgraph");
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(installed, "examples", name), join(folder, name));
  const child = spawnSync(process.execPath, [join(folder, name), ...args], { cwd: folder, encoding: "utf8", timeout: 60_000 });
  assert.equal(child.status, 0, child.stdout + child.stderr);
  return child.stdout;
}

test("the example of a graph asks, ends, and goes on", { timeout: 120_000 }, () => {
  const folder = join(project, "examples-langgraph", `graph-${process.pid}`);
  assert.equal(run("langgraph.mjs", [folder]), "asked: Book a train to Bergen?\n");
  assert.equal(
    run("langgraph.mjs", [folder]),
    "still asking: Book a train to Bergen?\nanswer: Done (booked: Bergen).\nremembered: { to: 'Bergen' }\nconversation: user, assistant, tool, assistant\n",
  );
  rmSync(folder, { recursive: true, force: true });
});

test("the example of a history goes on", { timeout: 120_000 }, () => {
  const folder = join(project, "examples-langgraph", `history-${process.pid}`);
  assert.equal(run("langchain.mjs", ["I am Ann.", folder]), "I see.\nhuman: I am Ann.\nai: I see.\n");
  assert.equal(run("langchain.mjs", ["Who am I?", folder]), "I see.\nhuman: I am Ann.\nai: I see.\nhuman: Who am I?\nai: I see.\n");
  rmSync(folder, { recursive: true, force: true });
});

for (const page of ["langgraph", "langchain"])
  test(`the page about ${page} prints what it says`, { timeout: 120_000 }, () => {
    const text = readFileSync(join(source, `../docs/frameworks/${page}.md`), "utf8");
    const code = [...text.matchAll(/```js\n(.*?)```/gs)].map(([, block]) => block).join("\n");
    const promised = [...code.matchAll(/^console\.log\(.*\/\/ (.*)$/gm)].map(([, words]) => words.replace(/:.*/, ""));
    assert.ok(promised.length >= 3);
    assert.deepEqual(inChild(code).trim().split("\n"), promised);
  });
