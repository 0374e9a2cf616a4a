// Sessions written for coding agents: what is written is read again as equal, and lies where the program looks for it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { memory, rejects } from "./support/expect.mjs";
import { installed, source } from "./support/installed.mjs";

const { SESSION_FORMATS, writeSession } = await import(pathToFileURL(join(installed, "dist/sessions.js")));

const folder = mkdtempSync(join(tmpdir(), "threadkeep-sessions-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const call = (id, name, input) => ({ id, type: "function", function: { name, arguments: JSON.stringify(input) } });
const TALK = [
  { role: "user", content: 'Which files are here?\n\n"Quotes", ünïcode 😀, and </script>.' },
  {
    role: "assistant",
    content: "I look.",
    tool_calls: [call("call_1", "bash", { command: "ls -la", nested: { a: [1, null, "x"] } }), call("call_2", "read", { path: "a b" })],
  },
  { role: "tool", tool_call_id: "call_1", content: "README.md\nsrc" },
  { role: "tool", tool_call_id: "call_2", content: "no such file", is_error: true },
  { role: "assistant", content: "Two: README.md and src." },
  { role: "user", content: "Thanks." },
  { role: "assistant", content: "You are welcome." },
];

/** What a message says, whatever the format adds to it. */
const bare = ({ role, content, tool_calls, tool_call_id, is_error }) => ({
  role,
  content:
    typeof content === "string" || content === null || content === undefined
      ? (content ?? "")
      : content.map(({ type, text, image_url }) => text ?? image_url?.url ?? type).join(""),
  ...(tool_calls?.length && {
    calls: tool_calls.map(({ id, function: f }) => [id, f.name, f.arguments.startsWith("{") ? JSON.parse(f.arguments) : f.arguments]),
  }),
  ...(tool_call_id && { tool_call_id }),
  ...(is_error && { is_error }),
});

/** The messages of the one conversation in a file. */
async function readBack(file, text) {
  const keep = await memory();
  const report = await keep.import({ name: file, data: text });
  assert.equal(report.added, 1, JSON.stringify(report));
  assert.deepEqual(
    report.skipped.filter(({ salvaged, reason }) => !salvaged && !reason.includes("repeat what was said")),
    [],
  );
  const [{ leaf, title, source }] = await keep.transcripts();
  const messages = (await keep.chain(leaf)).flatMap((node) => node.messages).filter(({ role }) => role !== "system");
  return { messages: messages.map(bare), title, source };
}

for (const format of SESSION_FORMATS)
  test(`${format}: a branch is read again as equal`, async () => {
    const keep = await memory();
    const thread = keep.thread("main");
    await thread.append([{ role: "system", content: "Be brief." }, ...TALK]);
    const { file, text, resume, left } = await writeSession(keep, { format, leaf: "main", cwd: "/srv/my project" });
    assert.equal(left, 1);
    const again = await readBack(file, text);
    // Codex says nothing of failures.
    const wanted = TALK.map(bare).map((message) => (format === "codex" ? { ...message, is_error: undefined } : message));
    assert.deepEqual(JSON.parse(JSON.stringify(again.messages)), JSON.parse(JSON.stringify(wanted)));
    assert.equal(again.source, format);
    if (format !== "codex") assert.equal(again.title, (await keep.transcripts())[0].title);
    const id = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(file)[0];
    assert.ok(resume.includes(id) && text.includes(id));
    for (const line of text.trimEnd().split("\n")) JSON.parse(line);
  });

// THREADKEEP_SESSIONS: a folder with more of them.
test("sessions of each program say the same after they were written for every other", { timeout: 300_000 }, async (t) => {
  const here = join(source, "../crates/archive/fixtures");
  const own = ["claude-code.jsonl", "codex.jsonl", "pi.jsonl", "gemini-cli.jsonl"].map((name) => join(here, name));
  const more = process.env.THREADKEEP_SESSIONS;
  /** Who said what; messages of one speaker in a row may be one in another format. */
  const texts = (messages) => {
    const all = [];
    for (const { role, content } of messages) {
      if (!["user", "assistant"].includes(role) || content === "") continue;
      if (all.at(-1)?.[0] === role) all.at(-1)[1] += content;
      else all.push([role, content]);
    }
    return all;
  };
  let compared = 0;
  for (const path of [...own, ...(more ? readdirSync(more).map((name) => join(more, name)) : [])].filter((path) => path.endsWith(".jsonl"))) {
    const keep = await memory();
    await keep.import({ name: path, data: readFileSync(path) });
    for (const { leaf } of await keep.transcripts()) {
      const messages = (await keep.chain(leaf)).flatMap((node) => node.messages);
      const said = texts(messages.map(bare));
      if (said.length < 2 || messages.some(({ content }) => Array.isArray(content) && content.some(({ type }) => type !== "text"))) continue;
      for (const format of SESSION_FORMATS) {
        const { file, text } = await writeSession(keep, { format, leaf, cwd: "/x" });
        assert.deepEqual(texts((await readBack(file, text)).messages), said, `${path} as ${format}`);
        compared += 1;
      }
    }
  }
  assert.ok(compared >= 3, `${compared}`);
  t.diagnostic(`${compared} sessions`);
});

test("pictures come along, calls without a result get one, results without a call are left out, and only the branch is written", async () => {
  const keep = await memory();
  const thread = keep.thread("main");
  await thread.append([
    {
      role: "user",
      content: [
        { type: "text", text: "Look:" },
        { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } },
      ],
    },
  ]);
  await thread.fork("other");
  await thread.append([
    { role: "assistant", content: null, tool_calls: [call("lost", "bash", {})] },
    { role: "user", content: "And?" },
    { role: "tool", tool_call_id: "nobody", content: "x" },
    { role: "assistant", content: "Done." },
  ]);
  await keep.thread("other").append([{ role: "assistant", content: "On the other branch." }]);
  for (const format of SESSION_FORMATS) {
    const { text, left } = await writeSession(keep, { format, leaf: "main", cwd: "/x" });
    assert.equal(left, 1, format);
    assert.ok(text.includes(PIXEL) && text.includes("There is no result of this call.") && !text.includes("On the other branch"), format);
  }
  await rejects(writeSession(keep, { format: "cursor", leaf: "main", cwd: "/x" }), "bad-request");
  await rejects(writeSession(keep, { format: "pi", leaf: "nowhere", cwd: "/x" }), "missing-node");
  await rejects(writeSession(keep, { format: "pi", leaf: "main" }), "bad-request");
});

test("threadkeep continue writes where the program looks, and what it wrote is found by import", () => {
  const home = join(folder, "home");
  const variables = { CLAUDE_CONFIG_DIR: join(home, "claude"), CODEX_HOME: join(home, "codex"), PI_CODING_AGENT_DIR: join(home, "pi") };
  const run = (...args) =>
    spawnSync(process.execPath, [join(installed, "dist/cli/bin.js"), ...args, "--folder", join(folder, "keep")], {
      encoding: "utf8",
      cwd: folder,
      env: { ...process.env, ...variables },
    });
  const file = join(folder, "chat.json");
  writeFileSync(
    file,
    JSON.stringify([
      { role: "user", content: "How do I prune a plum tree?" },
      { role: "assistant", content: "In summer." },
    ]),
  );
  assert.equal(run("import", file).status, 0);
  for (const [format, inside, resume] of [
    ["claude-code", "claude/projects", "claude --resume "],
    ["codex", "codex/sessions", "codex resume "],
    ["pi", "pi/sessions", "pi --session "],
  ]) {
    const { status, stdout, stderr } = run("continue", "plum tree", "--in", format);
    assert.equal(status, 0, stderr);
    assert.ok(stdout.startsWith(resume), stdout);
    const [written] = readdirSync(join(home, inside), { recursive: true }).filter((name) => name.endsWith(".jsonl"));
    assert.match(readFileSync(join(home, inside, written), "utf8"), /prune a plum tree/);
  }
  const imported = JSON.parse(run("import", "--json").stdout);
  assert.equal(imported.added, 3);
  assert.match(run("continue", "plum", "--in", "emacs").stderr, /in which program/);
});
