// The command line, run as a user runs it: the program of the installed package, in a folder of its own.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { installed } from "./support/installed.mjs";

const program = join(installed, "dist/cli/bin.js");
const folder = mkdtempSync(join(tmpdir(), "threadkeep-cli-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A home folder with a session of Claude Code of so many turns; gives the session's file. */
function home(name, turns = 2) {
  const at = join(folder, name);
  const project = join(at, ".claude/projects/-home-ann-garden");
  mkdirSync(project, { recursive: true });
  const file = join(project, "5e551000-0000-4000-8000-000000000001.jsonl");
  writeFileSync(file, "");
  for (let turn = 0; turn < turns; turn += 1) say(file, turn, `Where do the ${turn === 0 ? "quinces" : "medlars"} grow?`);
  return { at, file };
}

const uuid = (number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;

/** Appends a question and its answer to a session, as Claude Code writes them. */
function say(file, turn, question) {
  const line = (number, role, message) => ({
    parentUuid: number === 0 ? null : uuid(number - 1),
    isSidechain: false,
    userType: "external",
    cwd: "/home/ann/garden",
    sessionId: "5e551000-0000-4000-8000-000000000001",
    version: "2.0.1",
    type: role,
    message: { role, ...message },
    uuid: uuid(number),
    timestamp: new Date(1_780_000_000_000 + number * 1000).toISOString(),
  });
  const usage = { input_tokens: 1_000, cache_read_input_tokens: 500, cache_creation_input_tokens: 0, output_tokens: 200 };
  const answer = {
    id: `msg_${turn}`,
    model: "claude-sonnet-4-5",
    content: [{ type: "text", text: `By the wall, row ${turn}.` }],
    usage,
    stop_reason: "end_turn",
  };
  const lines = [line(turn * 2, "user", { content: question }), { ...line(turn * 2 + 1, "assistant", answer), requestId: `req_${turn}` }];
  appendFileSync(file, lines.map((one) => `${JSON.stringify(one)}\n`).join(""));
}

function run(words, at, environment = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...words], {
    cwd: at,
    encoding: "utf8",
    env: { ...process.env, THREADKEEP_HOME: join(at, "keep"), HOME: at, USERPROFILE: at, CLAUDE_CONFIG_DIR: "", CODEX_HOME: "", ...environment },
  });
  return { status, stdout, stderr };
}

function json(words, at) {
  const { status, stdout, stderr } = run([...words, "--json"], at);
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

test("sessions are found, come in once, and are listed, found, shown, counted and written", () => {
  const { at, file } = home("acts");
  const first = run(["import"], at);
  assert.equal(first.status, 0, first.stderr);
  assert.match(first.stderr, /Claude Code: .*projects/);
  assert.match(first.stdout, /1 file: 1 thread added, 0 updated, 0 unchanged; 4 messages stored\./);
  assert.equal(run(["import"], at).stdout, "Nothing is new.\n", "nothing is read twice");
  say(file, 2, "And the sloes?");
  const more = json(["import"], at);
  assert.deepEqual([more.added, more.updated, more.messages], [0, 1, 2]);

  const [hit] = json(["search", "sloes"], at);
  assert.match(hit.snippet, /And the sloes\?/);
  assert.match(run(["search", "sloes"], at).stdout, /And the sloes\?/);
  const [thread] = json(["list"], at);
  assert.equal(thread.messages, 6);
  const shown = json(["show", thread.id.slice(0, 20)], at);
  assert.equal(shown.messages.length, 6);
  assert.match(run(["show", "quinces"], at).stdout, /user\nWhere do the quinces grow\?\n\nassistant\nBy the wall, row 0\./);

  const { stats, costs } = json(["stats"], at);
  assert.deepEqual([stats.transcripts, stats.messages, costs.total.requests, costs.total.usage.completionTokens], [1, 6, 3, 600]);
  assert.match(run(["stats"], at).stdout, /by model\n.*\nclaude-sonnet-4-5 +3 /);

  assert.equal(run(["export", "all.jsonl"], at).status, 0);
  const piped = run(["export", "--thread", thread.id], at).stdout;
  assert.equal(readFileSync(join(at, "all.jsonl"), "utf8"), piped);
  assert.match(run(["export", "--format", "markdown"], at).stdout, /Where do the quinces grow/);
  if (process.platform !== "win32") {
    const command = `"${process.execPath}" "${program}" export | head -c 1`;
    const { stdout, stderr } = spawnSync("sh", ["-c", command], { cwd: at, encoding: "utf8", env: { ...process.env, THREADKEEP_HOME: join(at, "keep") } });
    assert.deepEqual([stdout, stderr], ["{", ""], "who reads no further hears no complaint");
  }
  // Another keep takes it in.
  assert.equal(json(["import", "all.jsonl", "--folder", "other"], at).added, 1);
});

test("a line that is written while it watches is stored and found, 50 times of 50", async () => {
  const { at, file } = home("watch");
  const child = spawn(process.execPath, [program, "import", join(at, ".claude"), "--watch", "--json"], {
    cwd: at,
    env: { ...process.env, THREADKEEP_HOME: join(at, "keep") },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const reports = [];
  let wake = () => {};
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    reports.push(...lines.map((line) => JSON.parse(line)));
    wake();
  });
  const stored = () => reports.reduce((sum, { messages }) => sum + messages, 0);
  const until = async (messages) => {
    while (stored() < messages) {
      await new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`${stored()} of ${messages} messages`)), 20_000);
        wake = () => (clearTimeout(timer), resolve());
      });
    }
  };
  try {
    await until(4);
    const times = [];
    for (let turn = 2; turn < 52; turn += 1) {
      const began = performance.now();
      say(file, turn, `Question ${turn}?`);
      await until((turn + 1) * 2);
      times.push(performance.now() - began);
    }
    times.sort((a, b) => a - b);
    console.log(`stored after ${Math.round(times[25])} ms in the middle, ${Math.round(times[49])} ms at most`);
    assert.equal(times.length, 50);
  } finally {
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("exit", resolve));
  }
  assert.equal(child.exitCode, 0, "it ends whole");
  assert.match(json(["search", "Question 51"], at)[0].snippet, /Question 51/);
});

test("the page is served on this machine alone, compressed, with its policy", async () => {
  const child = spawn(process.execPath, [program, "serve", "--port", "0", "--json"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const { address } = JSON.parse(await new Promise((resolve) => child.stdout.once("data", String).once("data", resolve)));
    const ask = (path, headers = {}, method = "GET") =>
      new Promise((resolve, reject) => {
        const sent = request(new URL(address), { path, headers, method }, async (answer) => {
          const body = Buffer.concat(await answer.toArray());
          resolve({ status: answer.statusCode, headers: answer.headers, body });
        });
        sent.on("error", reject).end();
      });
    const packed = await ask("/", { "accept-encoding": "gzip, br" });
    assert.equal(packed.headers["content-encoding"], "gzip");
    assert.match(packed.headers["content-security-policy"], /^default-src 'none'/);
    const plain = await ask("/index.html");
    assert.equal(plain.headers["content-encoding"], undefined);
    assert.deepEqual(plain.body, gunzipSync(packed.body));
    assert.match(plain.body.toString(), /<title>Threadkeep<\/title>/);
    assert.equal((await ask("/app_bg.wasm", { "accept-encoding": "gzip" })).headers["content-type"], "application/wasm");
    const vocabulary = await ask("/vocabulary/o200k_base.gz", { "accept-encoding": "gzip" });
    assert.deepEqual([vocabulary.status, vocabulary.headers["content-encoding"], vocabulary.body[0]], [200, undefined, 0x1f]);
    for (const path of ["/../package.json", "/%2e%2e/package.json", "/..%2fpackage.json", "/vocabulary/../../package.json", "/none.js", "/%00"])
      assert.equal((await ask(path)).status, 404, path);
    assert.equal((await ask("/", {}, "POST")).status, 405);
    assert.equal((await ask("/", {}, "HEAD")).body.length, 0);
  } finally {
    child.kill("SIGINT");
    await new Promise((resolve) => child.once("exit", resolve));
  }
  assert.equal(child.exitCode, 0);
});

test("what is wrong is said in words, with its exit code", () => {
  const at = join(folder, "wrong");
  mkdirSync(at);
  const wrong = (words, status, expected) => {
    const got = run(words, at);
    assert.equal(got.status, status, `${words.join(" ")}: ${got.stderr}`);
    assert.match(got.stderr, expected);
    assert.equal(got.stdout, "");
  };
  wrong(["fly"], 2, /there is no command fly\nTry --help/);
  wrong(["list", "--wings"], 2, /wings.*Try --help/s);
  wrong(["list", "--limit", "many"], 2, /--limit must be a whole number up to 1000, it is many/);
  wrong(["import"], 1, /no sessions of Claude Code, Codex, Gemini CLI or pi were found/);
  wrong(["import", "nowhere"], 1, /there is no file or folder nowhere/);
  wrong(["search"], 1, /what shall be searched for/);
  wrong(["show", "nothing"], 1, /no thread has an id that begins with nothing/);
  wrong(["list", "--memory", "--folder", "x"], 1, /--folder and --memory cannot be used together/);
  wrong(["export", "--format", "fax"], 1, /--format must be one of threadkeep, /);
  wrong(["completion", "tcsh"], 2, /completion is for bash, zsh, fish/);
  assert.match(run(["--help"], at).stdout, /threadkeep import \[PATH…\] \[--watch\] .*all sessions that this machine has/);
  assert.match(run([], at).stdout, /threadkeep serve/);
  const { stdout } = run(["completion", "bash"], at);
  assert.match(stdout, /^complete -W "serve import search list show stats export sync continue check doctor --folder .*--version" -o default threadkeep\n$/);
  assert.equal(spawnSync("bash", ["-n"], { input: stdout }).status, 0);
});

/** Changes a byte of a home's log, in the question about medlars; gives the folder. */
function damage(at) {
  const keep = join(at, "keep/threadkeep");
  const log = readdirSync(keep).find((name) => name.startsWith("log"));
  const bytes = readFileSync(join(keep, log));
  const place = bytes.indexOf("medlars");
  assert.ok(place > 0, `${log} has the question`);
  bytes[place] ^= 1;
  writeFileSync(join(keep, log), bytes);
  return keep;
}

test("the doctor finds what is damaged in a folder, goes on without it, and keeps the file as it was", () => {
  const { at, file } = home("doctor");
  const other = join(at, "chat.jsonl");
  writeFileSync(other, `${JSON.stringify({ messages: [{ role: "user", content: "Is this one whole?" }] })}\n`);
  run(["import", file, other], at);
  const sound = run(["doctor"], at);
  assert.deepEqual([sound.status, sound.stdout], [0, "2 threads, 5 messages read.\nSound.\n"], sound.stderr);
  const keep = damage(at);
  const shut = run(["doctor"], at);
  assert.equal(shut.status, 1, shut.stdout);
  assert.match(shut.stderr, /doctor --repair leaves out what is damaged/);
  const aside = () => readdirSync(keep).filter((name) => name.startsWith("damaged-"));
  assert.deepEqual(aside(), [], "looking changes nothing");
  const repaired = run(["doctor", "--repair"], at);
  assert.match(repaired.stdout, /^lost {2}log-/);
  assert.match(repaired.stderr, /its name begins with damaged-/);
  assert.equal(aside().length, 1);
  const after = run(["doctor"], at);
  assert.equal(after.status, 1);
  assert.match(after.stdout, /^damaged {2}claude-code\//);
  assert.match(after.stderr, /1 record cannot be read\. threadkeep export FILE writes what is whole/);
  // What is whole goes to another place.
  const written = join(at, "whole.jsonl");
  assert.equal(run(["export", written], at).status, 0);
  const elsewhere = { THREADKEEP_HOME: join(at, "elsewhere") };
  run(["import", written], at, elsewhere);
  assert.match(run(["search", "whole"], at, elsewhere).stdout, /Is this one whole\?/);
  assert.equal(run(["doctor"], at, elsewhere).status, 0);
  const sqlite = run(["doctor", "--repair", "--sqlite", join(at, "keep.db")], at);
  assert.equal(sqlite.status, 1);
  assert.match(sqlite.stderr, /not repaired where it is/);
});
