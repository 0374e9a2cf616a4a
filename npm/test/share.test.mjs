// Exports for others: without secrets, in every format, by the package and by its command line.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { memory, rejects } from "./support/expect.mjs";
import { installed } from "./support/installed.mjs";

const { maskSecrets, sharePage } = await import(pathToFileURL(join(installed, "dist/share.js")));

const KEY = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
const FORMATS = ["threadkeep", "markdown", "openai-messages", "sharegpt"];

async function told() {
  const keep = await memory();
  const thread = keep.thread("chat");
  const call = { id: "c", type: "function", function: { name: "sh", arguments: JSON.stringify({ run: `git\nghp_${KEY}` }) } };
  const nodes = await thread.append([
    { role: "user", content: `My key is ghp_${KEY}, and </script><script>alert(1)</script> is text. Ask ann@example.com.` },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "c", content: `postgres://ann:${KEY}@db/app` },
    { role: "assistant", content: "Done." },
  ]);
  await keep.memory.remember({ fact: `The key is ghp_${KEY}.` });
  return { keep, transcript: nodes[0].transcript };
}

test("an export for others has no secret, in any format", async () => {
  const { keep, transcript } = await told();
  for (const format of FORMATS)
    for (const one of [{ transcript }, {}]) {
      const shared = keep.export({ ...one, format, redact: true });
      const text = await shared.text();
      assert.ok(!text.includes(KEY) && text.includes("ghp_xxxx"), format);
      const found = await shared.secrets();
      assert.deepEqual(
        found.map(({ kind }) => kind),
        ["GitHub token", "GitHub token", "password in a URL"],
        format,
      );
      assert.ok(found.every((one) => one.replaced && one.transcript === transcript && !one.preview.includes(KEY)));
    }
  assert.equal((await keep.export({ transcript }).text()).split(KEY).length, 4, "the thread itself is as it was");
  assert.deepEqual(await keep.export({ transcript }).secrets(), []);
  await keep.close();
});

test("what is left out and what stays is the caller's to say", async () => {
  const { keep, transcript } = await told();
  const text = await keep.export({ transcript, redact: { also: ["emails"], leave: [0] } }).text();
  assert.equal(text.split(KEY).length, 2);
  assert.ok(text.includes("xxx@xxxxxxx.xxx"));
  await rejects(keep.export({ redact: { also: ["names"] } }).text(), "bad-request", /options\.redact\.also\[0\] must be one of/);
  await rejects(keep.export({ redact: { hide: true } }).text(), "bad-request", /options\.redact\.hide is not known/);
  await rejects(keep.export({ redact: 1 }).text(), "bad-request", /options\.redact must be an object, it is a number/);
  await rejects(keep.export({ format: "memory", redact: true }).files(), "bad-request", /redact has no meaning for the format memory/);
  await keep.close();
});

test("a page of threads is one file, whose policy lets nothing in but its own script and style", async () => {
  const { keep, transcript } = await told();
  const html = await sharePage(keep, { transcript });
  assert.ok(!html.includes(KEY) && html.includes("ghp_xxxx"));
  assert.equal((await sharePage(keep, { leave: [0] })).split(KEY).length, 2, "the caller says what stays");
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)[1];
  assert.match(policy, /^default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'; img-src data:; base-uri 'none'; form-action 'none'$/);
  const { createHash } = await import("node:crypto");
  for (const [element, directive] of [
    ["script", "script-src"],
    ["style", "style-src"],
  ]) {
    const body = new RegExp(`<${element}>([^]*?)</${element}>`).exec(html)[1];
    assert.ok(policy.includes(`${directive} 'sha256-${createHash("sha256").update(body).digest("base64")}'`), element);
  }
  assert.equal(html.split(/<script/).length, 3, "the lines and the viewer, nothing that a message says");
  const lines = /id="threads">([^]*?)<\/script>/.exec(html)[1];
  const other = await memory();
  const report = await other.import({ name: "thread.threadkeep.jsonl", data: lines });
  assert.deepEqual([report.added, report.messages, report.skippedCount], [1, 4, 0], "the lines are an export");
  await Promise.all([keep.close(), other.close()]);
});

test("threadkeep export --redact says what it masked, and --format html needs no such word", async () => {
  const { keep } = await told();
  const at = mkdtempSync(join(tmpdir(), "threadkeep-share-"));
  writeFileSync(join(at, "chat.threadkeep.jsonl"), await keep.export().text());
  await keep.close();
  const run = (...args) =>
    spawnSync(process.execPath, [join(installed, "dist/cli/bin.js"), ...args], {
      cwd: at,
      encoding: "utf8",
      env: { ...process.env, THREADKEEP_HOME: join(at, "keep") },
    });
  assert.equal(run("import", "chat.threadkeep.jsonl").status, 0);
  const shown = run("export", "--redact", "--format", "markdown");
  assert.ok(shown.stdout.includes("ghp_xxxx") && !shown.stdout.includes(KEY), shown.stdout);
  assert.match(shown.stderr, /GitHub token: My key is ghp_x+… \(thread .*, message .*\)/);
  assert.match(shown.stderr, /3 secrets masked\. Pictures are not searched\./);
  assert.match(run("export", "page.html", "--format", "html").stderr, /Written: page\.html/);
  assert.ok(!readFileSync(join(at, "page.html"), "utf8").includes(KEY));
  assert.ok(run("export").stdout.includes(KEY), "a backup is whole");
});

test("maskSecrets takes a text and gives it back without secrets", () => {
  const json = JSON.stringify({ run: `git\nghp_${KEY}`, more: "nothing" });
  assert.deepEqual(JSON.parse(maskSecrets(json)), { run: `git\nghp_${"x".repeat(KEY.length)}`, more: "nothing" });
  assert.equal(maskSecrets("task-1234 is done"), "task-1234 is done");
  assert.throws(() => maskSecrets(7), /text must be a string/);
});
