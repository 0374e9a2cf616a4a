// Two storage adapters as a stranger would write them, from the documentation alone.
import { appendFile, open, readFile } from "node:fs/promises";

function inRange(key, { start, end }) {
  return key >= start && key < end;
}

/** Applies a commit to a Map, or throws the conflict. */
function apply(records, commit) {
  for (const key of commit.absent) if (records.has(key)) throw { code: "conflict", key };
  for (const key of commit.present) if (!records.has(key)) throw { code: "conflict", key };
  for (const key of commit.deletes) records.delete(key);
  for (const [start, end] of commit.deleteRanges) for (const key of [...records.keys()]) if (inRange(key, { start, end })) records.delete(key);
  for (const [key, value] of commit.puts) records.set(key, value);
}

function select(records, range) {
  const keys = [...records.keys()].filter((key) => inRange(key, range)).sort();
  if (range.reverse) keys.reverse();
  return keys.slice(0, range.limit ?? keys.length).map((key) => [key, records.get(key)]);
}

/** A Map. `pause()` comes before each answer, to mix up the order of things. */
export function mapAdapter({ records = new Map(), pause = async () => {} } = {}) {
  return {
    records,
    closed: 0,
    async get(key) {
      await pause();
      return records.get(key);
    },
    async scan(range) {
      await pause();
      return select(records, range);
    },
    async commit(commit) {
      await pause();
      apply(records, commit);
    },
    async close() {
      this.closed += 1;
    },
  };
}

/** A Map that answers at once, without promises, which is allowed. */
export function plainAdapter() {
  const records = new Map();
  return { get: (key) => records.get(key), scan: (range) => select(records, range), commit: (commit) => apply(records, commit), close() {} };
}

/** A log file: one line of JSON a commit, read back at the start; a line that a crash cut off is no commit. */
export async function logAdapter(path) {
  const records = new Map();
  const text = await readFile(path, "utf8").catch(() => "");
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  for (const line of whole.split("\n").filter(Boolean)) {
    const { deletes, deleteRanges, puts } = JSON.parse(line);
    const decoded = puts.map(([key, value]) => [key, new Uint8Array(Buffer.from(value, "base64"))]);
    apply(records, { absent: [], present: [], deletes, deleteRanges, puts: decoded });
  }
  const file = await open(path, "a");
  await file.truncate(Buffer.byteLength(whole));
  let last = Promise.resolve();
  return {
    get: (key) => records.get(key), // without a promise, which is allowed
    scan: (range) => select(records, range),
    commit(commit) {
      const work = async () => {
        const trial = new Map(records);
        apply(trial, commit);
        const puts = commit.puts.map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
        await appendFile(file, `${JSON.stringify({ deletes: commit.deletes, deleteRanges: commit.deleteRanges, puts })}\n`);
        if (commit.durability === "strict") await file.datasync();
        apply(records, { ...commit, absent: [], present: [] });
      };
      // One after the other.
      last = last.then(work, work);
      return last;
    },
    close: () => file.close(),
  };
}
