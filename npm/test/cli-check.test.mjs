// `threadkeep check`: the prompts of case files against the approved ones, run as a user runs it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { Threadkeep } from "threadkeep";
import { installed } from "./support/installed.mjs";

const all = mkdtempSync(join(tmpdir(), "threadkeep-check-"));
after(() => rmSync(all, { recursive: true, force: true }));
let folders = 0;

/** A folder with these files, and the program in it. */
function project(files) {
  const folder = join(all, String(++folders));
  const put = (name, text) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) put(name, text);
  const run = (...words) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(installed, "dist/cli/bin.js"), "check", ...words], { cwd: folder, encoding: "utf8" });
    return { status, stdout, stderr };
  };
  return {
    run,
    put,
    read: (name) => readFileSync(join(folder, name), "utf8"),
    has: (name) => existsSync(join(folder, name)),
    remove: (name) => unlinkSync(join(folder, name)),
  };
}

/** The case files of two requests of one conversation, as a test of the user's would write them. */
async function cases({ systemPrompt = "You look after boilers.", provider = "anthropic" } = {}) {
  const keep = await Threadkeep.open({ storage: "memory", encoding: "estimate" });
  const thread = keep.thread("c");
  const files = {};
  for (const [at, name] of ["first", "second"].entries()) {
    await thread.append([
      { role: "user", content: `What of boiler ${at}?` },
      { role: "assistant", content: `Boiler ${at} is warm.` },
      { role: "user", content: "Thanks." },
    ]);
    const { request } = await thread.context({ provider, systemPrompt, budget: { maxTokens: 4_000 }, record: true });
    files[`cases/${name}.case.json`] = await keep.requests.caseFile(request);
    await thread.append([{ role: "assistant", content: "You are welcome." }]);
  }
  await keep.close();
  return files;
}

test("what is new fails until it is approved, and then the same prompts pass", { timeout: 60_000 }, async () => {
  const { run, read, put } = project({ ...(await cases()), "node_modules/x/y.case.json": "{}" });
  const before = run();
  assert.equal(before.status, 1);
  assert.match(before.stdout, /^cases\/first\.case\.json is new\ncases\/second\.case\.json is new\n$/);
  assert.match(before.stderr, /2 of 2 cases failed\. threadkeep check --update approves/);
  assert.deepEqual(run("--update"), { status: 0, stdout: "2 prompts, approved.\n", stderr: "" });
  const lock = JSON.parse(read("threadkeep.lock"));
  assert.deepEqual(Object.keys(lock.cases), ["cases/first.case.json", "cases/second.case.json"]);
  const { begins, ledger, limit, tokens } = lock.cases["cases/second.case.json"];
  assert.equal(begins.as, "cases/first.case.json");
  assert.equal(begins.messages, 3);
  assert.ok(ledger.length >= 8 && limit === 4_000 && tokens > 0);
  assert.deepEqual(run(), { status: 0, stdout: "2 prompts, all as approved.\n", stderr: "" });
  // Made anew, with other ids and times, they are the same prompts.
  for (const [name, text] of Object.entries(await cases())) put(name, text);
  assert.equal(run().status, 0);
  assert.deepEqual(JSON.parse(run("--json", "cases/first.case.json").stdout), {
    cases: [{ path: "cases/first.case.json", tokens: lock.cases["cases/first.case.json"].tokens, limit: 4_000, faults: [] }],
  });
});

for (const provider of ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"])
  test(`another system prompt is another prompt, with the lines that differ, for ${provider}`, { timeout: 60_000 }, async () => {
    const { run, put } = project(await cases({ provider }));
    assert.equal(run("--update").status, 0);
    for (const [name, text] of Object.entries(await cases({ provider, systemPrompt: "You look after boilers and their pipes." }))) put(name, text);
    const { status, stdout } = run();
    assert.equal(status, 1);
    assert.match(stdout, /cases\/first\.case\.json makes another prompt: \d+ tokens, \d+ before\n {2}- 0: \S+ \S+ \d+ \d+\n {2}\+ 0: \S+ \S+ \d+ \d+\n/);
    assert.equal(run("--update").status, 0);
    assert.equal(run().status, 0);
  });

test("a prompt over its budget cannot be approved", { timeout: 60_000 }, async () => {
  const files = Object.entries(await cases()).map(([name, text]) => [name, text.replace('"maxTokens":4000', '"maxTokens":5')]);
  const { run, has } = project(Object.fromEntries(files));
  for (const words of [["--update"], []]) {
    const { status, stdout } = run(...words);
    assert.equal(status, 1);
    assert.match(stdout, /cases\/second\.case\.json has \d+ tokens, \d+ tokens? over its budget/);
  }
  assert.ok(has("threadkeep.lock"));
});

test("a beginning that is no longer shared is said", { timeout: 60_000 }, async () => {
  const { run, put } = project(await cases());
  assert.equal(run("--update").status, 0);
  // The system prompt has the time in it, say: each request begins anew.
  const [first] = Object.entries(await cases());
  const [, second] = Object.entries(await cases({ systemPrompt: "You look after boilers. It is 10:42." }));
  put(first[0], first[1]);
  put(second[0], second[1].replaceAll(JSON.parse(second[1]).transcript, JSON.parse(first[1]).transcript));
  const { stdout } = run();
  assert.match(stdout, /cases\/second\.case\.json begins like cases\/first\.case\.json for 0 messages, 3 before: less comes from a cache/);
});

test("a file that makes another prompt says where, and is mended by an approval", { timeout: 60_000 }, async () => {
  const files = await cases();
  const { run, put, read, remove } = project(files);
  assert.equal(run("--update").status, 0);
  const name = "cases/first.case.json";
  const last = files[name].lastIndexOf("Thanks.");
  put(name, `${files[name].slice(0, last)}Tanks..${files[name].slice(last + 7)}`);
  const { status, stdout } = run();
  assert.equal(status, 1);
  assert.match(stdout, /makes another prompt than it has, first at context\.payload\.messages\[\d+\]\.content.*Tanks\.\..* in the file, .*Thanks\..* now/);
  run("--update");
  assert.equal(read(name), files[name]);
  assert.equal(run().status, 0);
  remove(name);
  assert.match(run().stdout, /cases\/first\.case\.json is not there any more/);
  assert.equal(run("--update").status, 0);
  assert.equal(run().status, 0);
});

test("no cases, a file that is none, and a broken lock are errors in words", { timeout: 60_000 }, async () => {
  const nothing = project({}).run();
  assert.deepEqual([nothing.status, nothing.stdout], [1, ""]);
  assert.match(nothing.stderr, /there is no file \*\.case\.json here: keep\.requests\.caseFile\(id\)/);
  assert.match(project({ "x.case.json": "[]" }).run().stderr, /x\.case\.json: .*file/);
  assert.match(project({}).run("nowhere").stderr, /no file or folder nowhere/);
  const broken = project({ ...(await cases()), "threadkeep.lock": "{" }).run();
  assert.match(broken.stderr, /threadkeep\.lock is no lock of this version/);
});
