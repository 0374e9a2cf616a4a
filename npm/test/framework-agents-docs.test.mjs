// The examples and the pages of the docs for the OpenAI Agents SDK and the Claude Agent SDK, run as they stand.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inChild, installed, project, source } from "./support/installed.mjs";

/** Runs an example of the package in the user's project; gives what it printed. */
function example(name, folder) {
  const place = join(project, "examples-agents");
  mkdirSync(place, { recursive: true });
  copyFileSync(join(installed, "examples", name), join(place, name));
  const { status, stdout, stderr } = spawnSync(process.execPath, [name, folder], {
    cwd: place,
    encoding: "utf8",
    timeout: 60_000,
    env: { ...process.env, OPENAI_API_KEY: "" },
  });
  assert.equal(status, 0, stderr);
  return stdout;
}

test("the example for the OpenAI Agents SDK asks, ends, and goes on", { timeout: 120_000 }, () => {
  const folder = join(project, "examples-agents", `openai-${process.pid}`);
  try {
    assert.equal(example("openai-agents.mjs", folder), 'asked: refund {"order":7}\n');
    assert.equal(
      example("openai-agents.mjs", folder),
      "answer: Your money is on its way.\n" +
        "items: user, function_call, function_call_result, assistant\n" +
        "messages: user, assistant, tool, assistant\n" +
        "found: order 7 is refunded\n",
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("the example for the Claude Agent SDK", { timeout: 120_000 }, () => {
  const folder = join(project, "examples-agents", `claude-${process.pid}`);
  try {
    assert.equal(
      example("claude-agent-sdk.mjs", folder),
      "sessions: [ 'Flaky checkout' ]\nmessages: 2\ntitle: Flaky checkout\nfound: It sleeps instead of waiting for the basket.\nprompt: 3 messages, true\nfork: 1 message\n",
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

for (const page of ["openai-agents", "claude-agent-sdk"])
  test(`the page about ${page} prints what its comments say`, { timeout: 120_000 }, () => {
    const text = readFileSync(join(source, "../docs/frameworks", `${page}.md`), "utf8");
    const code = [...text.matchAll(/```js\n(.+?)```/gs)].map(([, block]) => block).join("\n");
    const promised = [...code.matchAll(/console\.log\(.*\); \/\/ (.+)/g)].map(([, words]) => `${words}\n`);
    assert.ok(promised.length >= 3);
    assert.equal(inChild(`${code}\nawait keep.close();`), promised.join(""));
  });
