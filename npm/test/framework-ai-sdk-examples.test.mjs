// The example of the AI SDK as it stands, and the code of the pages about it and assistant-ui.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inChild, installed, project, source } from "./support/installed.mjs";

test("the example goes on where it ended", { timeout: 60_000 }, () => {
  const folder = join(project, "ai-sdk-example");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(installed, "examples/ai-sdk-chat.mjs"), join(folder, "ai-sdk-chat.mjs"));
  const run = () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ["ai-sdk-chat.mjs", join(folder, "data")], {
      cwd: folder,
      encoding: "utf8",
      timeout: 30_000,
    });
    assert.equal(status, 0, stdout + stderr);
    return stdout.trim().split("\n");
  };
  const first = run();
  assert.equal(first[0], "0 messages are known");
  assert.match(first[1], /^It is clear in /);
  assert.match(first[2], /^answer 2 of 2: It is clear in /);
  assert.match(first[3], /^4 messages of a prompt, \d+ tokens$/);
  const second = run();
  assert.equal(second[0], "2 messages are known");
  assert.match(second[3], /^8 messages of a prompt, \d+ tokens$/);
});

for (const name of ["ai-sdk", "assistant-ui"])
  test(`the code of docs/frameworks/${name}.md prints what it says`, { timeout: 60_000 }, () => {
    const page = readFileSync(join(source, `../docs/frameworks/${name}.md`), "utf8");
    const code = [...page.matchAll(/```js\n(.+?)```/gs)].map(([, block]) => block).join("\n");
    const promised = [...code.matchAll(/console\.log\(.*\); \/\/ (.+)/g)].map(([, words]) => words);
    assert.ok(promised.length >= 3);
    assert.deepEqual(inChild(code).trim().split("\n"), promised);
  });
