// A sync of many messages through the npm package, in a folder: `cargo xtask bench sync`, or `node sync.mjs` with THREADKEEP_TARBALL
// naming the packed package. Beside it stands what people do today: a whole backup, gzipped and written anew each time. Prints a `BENCH` line
// a row for xtask. MESSAGES is how many messages there are, in threads of a hundred.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const MESSAGES = Number(process.env.MESSAGES ?? 100_000);
const THREAD = 100;

const WORDS = (
  "the tool returns a list of files and the agent reads each one before it decides what to change in the module " +
  "because tests fail where parsing of numbers, dates or names goes wrong; const value = parse(input, { strict: true });"
).split(" ");

let seed = 12345;
const random = (below) => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return (seed >>> 8) % below;
};
const text = () => Array.from({ length: 10 + random(80) }, () => `${WORDS[random(WORDS.length)]}${random(4) === 0 ? random(1000) : ""}`).join(" ");
const talk = (count) => Array.from({ length: count }, (_, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content: text() }));

const folder = mkdtempSync(join(tmpdir(), "threadkeep-bench-sync-"));
const row = (what, value) => console.log(["BENCH", what, value, "", ""].join("\t"));
const size = (bytes) => (bytes < 100_000 ? `${(bytes / 1000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(2)} MB`);
const timed = async (work) => {
  const start = performance.now();
  const answer = await work();
  return [answer, (performance.now() - start) / 1000];
};

try {
  execFileSync("tar", ["xzf", process.env.THREADKEEP_TARBALL, "-C", folder]);
  const load = (name) => import(pathToFileURL(join(folder, "package/dist", name)).href);
  const [{ Threadkeep }, { fileStore }, { folderRemote, sync }] = await Promise.all([load("index.js"), load("stores/file.js"), load("sync.js")]);
  const open = (name) => Threadkeep.open({ storage: fileStore({ folder: join(folder, name) }), encoding: "estimate" });
  const remote = folderRemote(join(folder, "remote"));
  const go = (keep, device) => timed(() => sync(keep, remote, { passphrase: "six words", device }));
  const backup = (keep) =>
    timed(async () => {
      const bytes = gzipSync(await keep.export().text());
      writeFileSync(join(folder, "backup.gz"), bytes);
      return bytes.length;
    });

  const [laptop, phone] = [await open("laptop"), await open("phone")];
  for (let at = 0; at < MESSAGES / THREAD; at += 1) await laptop.thread(`thread ${at}`).append(talk(THREAD));
  const what = `${MESSAGES.toLocaleString("en")} messages`;
  const [bytes, whole] = await backup(laptop);
  row(`${what}: a whole backup, gzipped`, `${whole.toFixed(2)} s, ${size(bytes)}`);
  const [first, sent] = await go(laptop, "laptop");
  row(`${what}: the first sync`, `${sent.toFixed(2)} s, ${size(first.sent.bytes)} in ${first.sent.files} files`);
  const [taken, came] = await go(phone, "phone");
  if (taken.messages !== MESSAGES) throw new Error(`${taken.messages} messages came in`);
  row(`${what}: another device takes them in and sends its own`, `${came.toFixed(2)} s`);
  await go(laptop, "laptop");
  const [none, idle] = await go(laptop, "laptop");
  row("nothing new", `${(1000 * idle).toFixed(0)} ms, ${size(none.received.bytes)} read, ${size(none.sent.bytes)} written`);
  await laptop.thread("thread 7").append(talk(10));
  const [ten, more] = await go(laptop, "laptop");
  row("ten new messages", `${(1000 * more).toFixed(0)} ms, ${size(ten.sent.bytes)} written`);
  const [again] = await backup(laptop);
  row("ten new messages: times less written than a whole backup", `${(again / ten.sent.bytes).toFixed(0)} ×`);
  const [got, took] = await go(phone, "phone");
  if (got.messages !== 10) throw new Error(`${got.messages} messages came in`);
  row("ten new messages: another device takes them in", `${(1000 * took).toFixed(0)} ms, ${size(got.received.bytes)} read`);
  await laptop.close();
  await phone.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
