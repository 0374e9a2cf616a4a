// The memory files: the documented answers, word by word; the SDK's own implementation on a file system, held beside ours; paths that lead
// elsewhere; sizes; and edits that meet.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, rmdirSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { BetaLocalFilesystemMemoryTool } from "@anthropic-ai/sdk/tools/memory/node";
import { mapAdapter } from "./support/adapters.mjs";
import { Threadkeep, memory } from "./support/expect.mjs";
import { memoryFiles, memoryTool } from "./support/tools.mjs";

const HEADER = (path) => `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items and node_modules:`;

/** Commands on a keep's memory: `says` expects an answer, `refuses` an error. */
async function desk(options, keep = undefined) {
  const open = keep ?? (await memory());
  const tool = memoryTool(open, options);
  const answer = async (command, fields, failed) => {
    const { content, is_error } = await tool.answer({ command, ...fields });
    assert.equal(is_error, failed, content);
    return content;
  };
  return { keep: open, tool, says: (command, fields) => answer(command, fields, false), refuses: (command, fields) => answer(command, fields, true) };
}

test("the answers are the documented ones", async () => {
  const { keep, says, refuses } = await desk();
  assert.equal(await says("view", { path: "/memories" }), `${HEADER("/memories")}\n0B\t/memories`);
  assert.equal(
    await says("create", { path: "/memories/notes.txt", file_text: "Hello World\nThis is line two\nred\nred\n" }),
    "File created successfully at: /memories/notes.txt",
  );
  assert.equal(await refuses("create", { path: "/memories/notes.txt", file_text: "x" }), "Error: File /memories/notes.txt already exists");
  assert.equal(
    await says("view", { path: "/memories/notes.txt" }),
    "Here's the content of /memories/notes.txt with line numbers:\n     1\tHello World\n     2\tThis is line two\n     3\tred\n     4\tred\n     5\t",
  );
  assert.equal(
    await says("view", { path: "/memories/notes.txt", view_range: [2, 3] }),
    "Here's the content of /memories/notes.txt with line numbers:\n     2\tThis is line two\n     3\tred",
  );
  assert.equal(
    await says("view", { path: "/memories/notes.txt", view_range: [4, -1] }),
    "Here's the content of /memories/notes.txt with line numbers:\n     4\tred\n     5\t",
  );
  assert.equal(await refuses("view", { path: "/memories/nothing" }), "The path /memories/nothing does not exist. Please provide a valid path.");
  assert.equal(
    await says("str_replace", { path: "/memories/notes.txt", old_str: "line two", new_str: "line 2\nand more" }),
    "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tHello World\n     2\tThis is line 2\n     3\tand more\n     4\tred\n     5\tred",
  );
  assert.equal(
    await refuses("str_replace", { path: "/memories/no.txt", old_str: "a", new_str: "b" }),
    "Error: The path /memories/no.txt does not exist. Please provide a valid path.",
  );
  assert.equal(
    await refuses("str_replace", { path: "/memories/notes.txt", old_str: "blue", new_str: "b" }),
    "No replacement was performed, old_str `blue` did not appear verbatim in /memories/notes.txt.",
  );
  assert.equal(
    await refuses("str_replace", { path: "/memories/notes.txt", old_str: "red", new_str: "b" }),
    "No replacement was performed. Multiple occurrences of old_str `red` in lines: 4, 5. Please ensure it is unique",
  );
  assert.equal(
    await says("insert", { path: "/memories/notes.txt", insert_line: 1, insert_text: "between\n" }),
    "The file /memories/notes.txt has been edited.",
  );
  assert.equal(await refuses("insert", { path: "/memories/no.txt", insert_line: 0, insert_text: "" }), "Error: The path /memories/no.txt does not exist");
  assert.equal(
    await refuses("insert", { path: "/memories/notes.txt", insert_line: 99, insert_text: "x" }),
    "Error: Invalid `insert_line` parameter: 99. It should be within the range of lines of the file: [0, 7]",
  );
  assert.equal(await memoryFiles(keep).read("/memories/notes.txt"), "Hello World\nbetween\nThis is line 2\nand more\nred\nred\n");
  assert.equal(
    await says("rename", { old_path: "/memories/notes.txt", new_path: "/memories/deep/er/final.txt" }),
    "Successfully renamed /memories/notes.txt to /memories/deep/er/final.txt",
  );
  assert.equal(await refuses("rename", { old_path: "/memories/notes.txt", new_path: "/memories/b" }), "Error: The path /memories/notes.txt does not exist");
  await says("create", { path: "/memories/b", file_text: "" });
  assert.equal(await refuses("rename", { old_path: "/memories/b", new_path: "/memories/deep" }), "Error: The destination /memories/deep already exists");
  assert.equal(
    await refuses("str_replace", { path: "/memories/deep", old_str: "a", new_str: "b" }),
    "Error: The path /memories/deep does not exist. Please provide a valid path.",
  );
  assert.equal(await refuses("insert", { path: "/memories/deep", insert_line: 0, insert_text: "b" }), "Error: The path /memories/deep does not exist");
  assert.equal(await says("delete", { path: "/memories/deep" }), "Successfully deleted /memories/deep");
  assert.equal(await refuses("delete", { path: "/memories/deep" }), "Error: The path /memories/deep does not exist");
  assert.deepEqual(
    (await memoryFiles(keep).list()).map(({ path }) => path),
    ["/memories/b"],
  );
  await keep.close();
});

test("a listing shows two levels with sizes people read, and nothing hidden", async () => {
  const { keep, says } = await desk({ maxFileBytes: 3 << 20 });
  for (const [path, bytes] of [
    ["a.md", 5],
    ["big", 1536],
    ["dir/one", 2048],
    ["dir/sub/two", 3],
    ["dir/sub/deeper/three", 1],
    [".secret", 7],
    ["node_modules/x", 9],
    ["dir/.git/y", 1],
    ["huge", 1_258_291],
  ])
    await says("create", { path: `/memories/${path}`, file_text: "x".repeat(bytes) });
  const lines = (await says("view", { path: "/memories/" })).split("\n");
  assert.equal(lines[0], HEADER("/memories"));
  assert.match(lines[1], /^1\.2M\t\/memories$/);
  assert.deepEqual(lines.slice(2), [
    "5B\t/memories/a.md",
    "1.5K\t/memories/big",
    "2.0K\t/memories/dir/",
    "2K\t/memories/dir/one",
    "4B\t/memories/dir/sub/",
    "1.2M\t/memories/huge",
  ]);
  assert.deepEqual((await says("view", { path: "/memories/dir/sub" })).split("\n").slice(1), [
    "4B\t/memories/dir/sub",
    "1B\t/memories/dir/sub/deeper/",
    "1B\t/memories/dir/sub/deeper/three",
    "3B\t/memories/dir/sub/two",
  ]);
  assert.match(await says("view", { path: "/memories/.secret" }), /xxxxxxx$/);
  await keep.close();
});

test("paths that lead elsewhere are refused, and others are what they say", async () => {
  const { keep, says, refuses } = await desk();
  const wrong = [
    "/memories/../x",
    "/memories/a/../../x",
    "/memories/./x",
    "../memories",
    "/etc/passwd",
    "/memoriesx",
    "/memoriesx/a",
    "memories/a",
    "",
    "/",
    "/memories\\..\\x",
    "/memories/%2e%2e/x",
    "/memories/%2E%2E%2Fx",
    "/memories/a\0b",
    "/memories/a\nb",
    "/memories/a\u202eb",
    "/memories/a\u200bb",
    "/memories/\ud800",
    "/memories/ a",
    `/memories/${"x".repeat(300)}`,
    "file:///memories/x",
    "C:\\memories",
    5,
    null,
    undefined,
    ["/memories/a"],
    {},
  ];
  for (const path of wrong) {
    for (const command of ["view", "create", "str_replace", "insert", "delete"])
      assert.match(
        await refuses(command, { path, file_text: "x", old_str: "x", new_str: "", insert_line: 0, insert_text: "x" }),
        /^Error: (The path .* is not allowed: |path must be a path)/,
        `${command} ${String(path)}`,
      );
    assert.match(await refuses("rename", { old_path: path, new_path: "/memories/x" }), /^Error: /);
    assert.match(await refuses("rename", { old_path: "/memories/x", new_path: path }), /^Error: /);
  }
  assert.deepEqual(await memoryFiles(keep).list(), []);
  for (const path of ["/memories/ünï cödé/日本語.md", "/memories/a.b.c", "/memories/..a", "/memories/100%", '/memories/a!b~c"d', "/memories/👩‍👧"]) {
    await says("create", { path, file_text: path });
    assert.equal(await memoryFiles(keep).read(path.normalize("NFC")), path);
    assert.match(await says("view", { path }), /with line numbers/);
  }
  // One name, however it is composed, and however many slashes.
  await says("create", { path: "/memories/caf\u00e9", file_text: "" });
  assert.match(await refuses("create", { path: "/memories//cafe\u0301/", file_text: "" }), /already exists/);
  assert.equal(await refuses("delete", { path: "/memories" }), "Error: Cannot delete the /memories directory itself");
  assert.equal(await refuses("rename", { old_path: "/memories/", new_path: "/memories/x" }), "Error: Cannot rename the /memories directory itself");
  assert.match(await refuses("create", { path: "/memories/100%/below", file_text: "" }), /100% is a file/);
  assert.match(await refuses("rename", { old_path: "/memories/ünï cödé", new_path: "/memories/ünï cödé/inner" }), /cannot be moved into itself/);
  await keep.close();
});

test("what is no command, and what its fields must not be, is answered", async () => {
  const { keep, tool, refuses } = await desk();
  await tool.answer({ command: "create", path: "/memories/a", file_text: "aaa\nb\n" });
  for (const input of [undefined, null, 5, "x", "{", [], {}, { command: "run" }, { command: "__proto__" }, { command: ["view"] }]) {
    const { content, is_error } = await tool.answer(input);
    assert.equal(is_error, true);
    assert.match(content, /input|command/i);
    assert.ok(content.length < 500);
  }
  assert.match(await refuses("create", { path: "/memories/x" }), /file_text must be a string/);
  // A text that is cut inside a character is stored with U+FFFD.
  assert.equal((await tool.answer({ command: "create", path: "/memories/x", file_text: "half \udc00" })).is_error, false);
  assert.equal(await memoryFiles(keep).read("/memories/x"), "half \ufffd");
  assert.match(await refuses("str_replace", { path: "/memories/a", old_str: "", new_str: "x" }), /must not be empty/);
  // Places that overlap are several.
  assert.match(await refuses("str_replace", { path: "/memories/a", old_str: "aa", new_str: "x" }), /Multiple occurrences/);
  for (const insert_line of [-1, 0.5, "0", NaN, null, undefined, [0], 4])
    assert.match(await refuses("insert", { path: "/memories/a", insert_line, insert_text: "x" }), /Invalid `insert_line`/);
  for (const view_range of [[1], [1, 2, 3], "1-2", [0.5, 1], [9, 10], [2, 1], [1, -2], { 0: 1 }])
    assert.match(await refuses("view", { path: "/memories/a", view_range }), /Invalid `view_range`/);
  const long = await refuses("str_replace", { path: "/memories/a", old_str: "y".repeat(100_000), new_str: "" });
  assert.ok(long.length < 1000, `${long.length} characters`);
  assert.equal(await memoryFiles(keep).read("/memories/a"), "aaa\nb\n");
  // What looks like a pattern is text.
  assert.equal((await tool.answer({ command: "str_replace", path: "/memories/a", old_str: "b", new_str: "$& $1 $$ $`" })).is_error, false);
  assert.equal(await memoryFiles(keep).read("/memories/a"), "aaa\n$& $1 $$ $`\n");
  await keep.close();
});

test("a memory has bounds, and what is there can always be made smaller", async () => {
  const { keep, says, refuses } = await desk({ maxFileBytes: 1000, maxFiles: 3, maxTotalBytes: 2500 });
  assert.match(await refuses("create", { path: "/memories/a", file_text: "é".repeat(501) }), /would have 1002 bytes, at most 1000 are allowed/);
  await says("create", { path: "/memories/a", file_text: "a".repeat(1000) });
  assert.match(await refuses("insert", { path: "/memories/a", insert_line: 0, insert_text: "x" }), /at most 1000/);
  await says("create", { path: "/memories/b", file_text: "b".repeat(1000) });
  assert.match(await refuses("create", { path: "/memories/c", file_text: "c".repeat(1000) }), /The memory would have 3000 bytes, at most 2500/);
  await says("create", { path: "/memories/c", file_text: "c" });
  assert.match(await refuses("create", { path: "/memories/d", file_text: "" }), /holds 3 files/);
  const tight = await desk({ maxFileBytes: 10, maxTotalBytes: 10, maxFiles: 1 }, keep);
  await tight.says("str_replace", { path: "/memories/a", old_str: "a".repeat(1000), new_str: "a".repeat(900) });
  await tight.says("rename", { old_path: "/memories/a", new_path: "/memories/z" });
  await tight.says("delete", { path: "/memories/z" });
  await keep.close();
});

test("a long file is shown in part, with how to see the rest", async () => {
  const { keep, says } = await desk({ maxTokens: 300, maxFileBytes: 4 << 20 });
  await says("create", { path: "/memories/long", file_text: Array.from({ length: 2000 }, (_, at) => `line ${at + 1}`).join("\n") });
  const lines = [];
  let view_range = [1, -1];
  for (;;) {
    const text = await says("view", { path: "/memories/long", view_range });
    assert.ok(Buffer.byteLength(text) / 4 < 340, `${text.length} characters`);
    lines.push(
      ...text
        .split("\n")
        .slice(1)
        .filter((line) => line.includes("\t"))
        .map((line) => line.split("\t")[1]),
    );
    const next = /\[Lines (\d+) to 2000 are not shown\. View them with view_range \[(\d+), 2000\]\.\]$/.exec(text);
    if (next === null) break;
    view_range = [Number(next[2]), 2000];
  }
  assert.deepEqual(
    lines,
    Array.from({ length: 2000 }, (_, at) => `line ${at + 1}`),
  );
  await says("create", { path: "/memories/wide", file_text: `${"w".repeat(50_000)}\nend` });
  const wide = await says("view", { path: "/memories/wide" });
  assert.match(wide, /\[Line 1 has 50000 characters, this is its beginning\. Lines 2 to 2 are not shown/);
  assert.ok(wide.length < 1400);
  for (let at = 0; at < 200; at += 1) await says("create", { path: `/memories/many/file-${at}`, file_text: "" });
  assert.match(await says("view", { path: "/memories" }), /\[\d+ more are not shown\. View a directory/);
  await says("create", { path: "/memories/lines", file_text: "\n".repeat(999_999) });
  assert.deepEqual(
    (await (await desk({}, keep)).tool.answer({ command: "view", path: "/memories/lines" })).content,
    "File /memories/lines exceeds maximum line limit of 999,999 lines.",
  );
  await keep.close();
});

test("the SDK's own memory on a file system says the same to the same commands", { timeout: 120_000 }, async (t) => {
  const seed = Number(process.env.THREADKEEP_SEED ?? Math.floor(Math.random() * 2 ** 31));
  t.diagnostic(`THREADKEEP_SEED=${seed}`);
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-memory-"));
  const { keep, tool } = await desk();
  let state = seed;
  const random = (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const pick = (list) => list[random(list.length)];
  const path = () => `/memories${pick(["/a", "/b.md", "/dir", "/dir/c", "/dir/d", "/dir/sub/e", "/dir/sub", "/.hidden", "/node_modules/f", ""])}`;
  const words = ["one", "two", "three", "four", "five", "six"];
  const text = () => Array.from({ length: random(6) }, () => pick(words)).join("\n") + pick(["", "\n"]);
  const make = {
    view: () => ({
      path: path(),
      ...(random(2) && {
        view_range: pick([
          [1, 2],
          [2, -1],
          [1, 50],
          [0, 1],
        ]),
      }),
    }),
    create: () => ({ path: path(), file_text: text() }),
    str_replace: () => ({ path: path(), old_str: pick(words), new_str: pick([...words, "", "$&"]) }),
    insert: () => ({ path: path(), insert_line: random(9) - 1, insert_text: text() }),
    delete: () => ({ path: path() }),
    rename: () => ({ old_path: path(), new_path: path() }),
  };
  let same = 0;
  try {
    const sdk = await BetaLocalFilesystemMemoryTool.init(folder);
    for (let step = 0; step < 600; step += 1) {
      const command = pick(["view", "view", "create", "create", "create", "str_replace", "insert", "insert", "delete", "rename"]);
      const fields = make[command]();
      const theirs = await sdk[command]({ command, ...fields }).then(
        (text) => [text, false],
        (error) => [error.message, true],
      );
      prune(join(folder, "memories"));
      const { content, is_error } = await tool.answer({ command, ...fields });
      const where = `step ${step}: ${command} ${JSON.stringify(fields)}: ${content} / ${theirs[0]}`;
      // What the documentation says of directories and ranges, and errors of the file system, are not in the SDK's words.
      if (is_error && /view_range/.test(content)) continue;
      assert.equal(is_error, theirs[1], where);
      if (is_error && /is not a file|E[A-Z]{3,}|no longer exists|EINVAL/.test(theirs[0])) continue;
      assert.equal(plain(content), plain(theirs[0]), where);
      same += 1;
    }
    assert.ok(same > 250, `${same} answers were compared`);
    t.diagnostic(`${same} of 600 answers were compared word by word`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await keep.close();
  }

  /** Without what differs by nature: the word before an error, the advice after one (insert has none in the documentation), and sizes of directories. */
  function plain(text) {
    return text
      .replace(/^Error: /, "")
      .replace(/(does not exist)\. Please provide a valid path\.$/, "$1")
      .replace(/^(Here're .*\n)\S+/, "$1size")
      .replace(/^\S+(\t.*\/)$/gm, "size$1");
  }
  /** Directories are there as long as something is in them. */
  function prune(folder, root = true) {
    for (const name of readdirSync(folder)) if (statSync(join(folder, name)).isDirectory()) prune(join(folder, name), false);
    if (!root && readdirSync(folder).length === 0) rmdirSync(folder);
  }
});

test("two keeps on one store that edit one file at once lose nothing", { timeout: 120_000 }, async () => {
  const adapter = mapAdapter({ pause: () => new Promise((resolve) => setImmediate(resolve)) });
  const keeps = await Promise.all([1, 2].map(() => Threadkeep.open({ storage: { ...adapter, close: async () => {} } })));
  const desks = await Promise.all(keeps.map((keep) => desk({}, keep)));
  await desks[0].says("create", { path: "/memories/shared", file_text: `${Array.from({ length: 60 }, (_, at) => `slot ${at}: -`).join("\n")}\nend\n` });
  await Promise.all(
    Array.from({ length: 60 }, (_, at) =>
      desks[at % 2].says("str_replace", { path: "/memories/shared", old_str: `slot ${at}: -`, new_str: `slot ${at}: keep ${at % 2}` }),
    ),
  );
  const text = await memoryFiles(keeps[0]).read("/memories/shared");
  for (let at = 0; at < 60; at += 1) assert.ok(text.includes(`slot ${at}: keep ${at % 2}\n`), `edit ${at}`);
  await Promise.all(
    Array.from({ length: 40 }, (_, at) => desks[at % 2].says("insert", { path: "/memories/shared", insert_line: 0, insert_text: `line ${at}` })),
  );
  const after = (await memoryFiles(keeps[1]).read("/memories/shared")).split("\n");
  assert.deepEqual(after.slice(0, 40).sort(), Array.from({ length: 40 }, (_, at) => `line ${at}`).sort());
  for (const keep of keeps) await keep.close();
});

test("of two that create, rename or delete at once, one wins, and the tree stays a tree", { timeout: 120_000 }, async () => {
  const adapter = mapAdapter({ pause: () => new Promise((resolve) => setImmediate(resolve)) });
  const keeps = await Promise.all([1, 2].map(() => Threadkeep.open({ storage: { ...adapter, close: async () => {} } })));
  const [left, right] = keeps.map((keep) => memoryTool(keep));
  for (let round = 0; round < 25; round += 1) {
    const at = `/memories/r${round}`;
    const both = await Promise.all([
      left.answer({ command: "create", path: at, file_text: "a file" }),
      right.answer({ command: "create", path: `${at}/inner`, file_text: "in a directory" }),
    ]);
    assert.equal(both.filter(({ is_error }) => is_error).length, 1, JSON.stringify(both));
    const path = both[0].is_error ? `${at}/inner` : at;
    const moved = await Promise.all([
      left.answer({ command: "rename", old_path: path, new_path: `/memories/moved-${round}` }),
      right.answer({ command: "insert", path, insert_line: 0, insert_text: "edited" }),
    ]);
    assert.equal(moved[0].is_error, false);
    const text = await memoryFiles(keeps[round % 2]).read(`/memories/moved-${round}`);
    assert.equal(text.startsWith("edited"), !moved[1].is_error, "an edit that was acknowledged moved along");
  }
  const files = await memoryFiles(keeps[0]).list();
  assert.equal(files.length, 25);
  for (const { path } of files) assert.ok(!files.some((other) => other.path.startsWith(`${path}/`)));
  for (const keep of keeps) await keep.close();
});
