// Opens the files of a store, whatever a crash or a hand has left: finds the log that counts, reads it (or its index and what was
// written after), cuts off a commit that was not written to its end, and refuses damage with its place.

import { type Entry, Source, overhead } from "./entry.js";
import { FORMAT, seedOf, writeLine, type Beginning, type Change, type Whole } from "./format.js";
import { readIndexes, removeIndex, type Index } from "./index.js";
import { Keys } from "./keys.js";
import { readMark, removeMark, type Mark } from "./mark.js";
import { storeError, type LogFile, type LogFolder } from "./folder.js";
import { Reader, putsOf, type Broken, type Found } from "./reader.js";

/** A store as it was found. */
export interface State {
  source: Source;
  store: string;
  seed: number;
  keys: Keys<Entry>;
  /** The number of the last commit. */
  n: number;
  /** Where the next one goes. */
  end: number;
  /** About how many bytes of the file count. */
  live: number;
  /** Up to where an index is on the disk. */
  indexed: number;
  /** The numbers of the index files that are there, the newer one last. */
  indexes: number[];
  beginning: "existing" | "created";
  /** What was left out because it is damaged, where that was asked for. */
  skipped: Skipped[];
}

/** Damage that was passed over on request. */
export interface Skipped {
  file: string;
  /** From this byte on. */
  from: number;
  /** Up to this one. */
  to: number;
  /** Which commits are missing, in words; none where only a value is. */
  which: string;
  why: string;
}

const LOG = /^log-(\d{6,15})$/;

/** The name of a log file. */
export function logName(number: number): string {
  return `log-${String(number).padStart(6, "0")}`;
}

/** Reads what is in a folder; an empty one gets a log. With `repair`, damage is passed over and reported instead of refused. */
export async function recover(folder: LogFolder, repair: boolean): Promise<State> {
  const names = await folder.list();
  const numbers = names.flatMap((name) => LOG.exec(name)?.[1] ?? []).map(Number);
  numbers.sort((a, b) => b - a);
  const [indexes, mark] = [await readIndexes(folder, names), await readMark(folder, names)];
  const newest = Math.max(indexes.at(-1)?.log ?? 0, mark?.log ?? 0);
  const missing: Skipped[] = [];
  if (newest > (numbers[0] ?? 0)) {
    const file = logName(newest);
    const why = `${file} is missing in ${folder.words}, where the conversations were: restore it from a copy, or open the folder with repair: true to go on without it`;
    if (!repair) throw storeError("corrupt", why, { ...folder.details, file });
    missing.push({ file, from: 0, to: 0, which: "", why: "the file is missing" });
    for (const { number } of indexes.splice(0)) await removeIndex(folder, number);
    await removeMark(folder);
  }
  for (const number of numbers) {
    const file = await open(folder, logName(number));
    try {
      const state = await read(folder, file, number, {
        indexes,
        mark: missing.length === 0 && mark?.log === number ? mark : undefined,
        repair,
        alone: number === numbers.at(-1),
      });
      if (state !== undefined) {
        state.skipped.unshift(...missing);
        // What a compaction or a crash has left.
        for (const other of numbers) if (other < number) await folder.remove(logName(other));
        return state;
      }
      await file.close();
      // A compaction that did not come to its end; what it copied is in the file before.
      await folder.remove(logName(number));
    } catch (error) {
      await file.close();
      throw error;
    }
  }
  const state = await create(folder);
  state.skipped.push(...missing);
  return state;
}

/** An empty store. */
async function create(folder: LogFolder): Promise<State> {
  const random = crypto.getRandomValues(new Uint8Array(16));
  const store = Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const file = await open(folder, logName(1));
  try {
    const first = writeLine(folder, { threadkeep: FORMAT, store, log: 1, n: 0 } satisfies Beginning, 0);
    await file.truncate(0);
    await file.write(0, first);
    await file.sync();
    await folder.sync();
    const source = new Source(file, 1);
    return {
      source,
      store,
      seed: seedOf(folder, store),
      keys: new Keys(),
      n: 0,
      end: first.length,
      live: 0,
      indexed: 0,
      indexes: [],
      beginning: "created",
      skipped: [],
    };
  } catch (error) {
    await file.close();
    throw folder.failure(error, `writing to ${logName(1)}`);
  }
}

async function open(folder: LogFolder, name: string): Promise<LogFile> {
  try {
    return await folder.open(name);
  } catch (error) {
    throw folder.failure(error, `opening ${name}`);
  }
}

interface How {
  indexes: Index[];
  /** The mark of clean closing, if it is of this log. */
  mark: Mark | undefined;
  repair: boolean;
  /** There is no older log that could stand in for this one. */
  alone: boolean;
}

/** Reads one log; `undefined` where it does not count, since its making did not come to its end. */
async function read(folder: LogFolder, file: LogFile, number: number, how: How): Promise<State | undefined> {
  const size = await file.size();
  const reader = new Reader(folder, file, size, how.repair);
  const first = (await reader.beginning()) ?? (how.repair ? await guess(reader, number, how) : undefined);
  if (first === undefined) {
    // A crash while the very first line was written leaves a beginning of it, and no end.
    const made = (await file.read(0, Math.min(size, 4096))).indexOf(10) < 0 && size < 4096;
    if (made && (!how.alone || (number === 1 && how.indexes.length === 0 && how.mark === undefined))) return undefined;
    throw damaged(folder, file.name, 0, { why: "its first line is not that of a log" }, "");
  }
  const { line, next } = first;
  if (line.threadkeep > FORMAT)
    throw storeError(
      "newer-version",
      `${file.name} in ${folder.words} has version ${line.threadkeep}, this build reads up to ${FORMAT}: update Threadkeep; nothing was changed`,
      { ...folder.details, found: line.threadkeep, supported: FORMAT },
    );
  reader.seed = seedOf(folder, line.store);
  const source = new Source(file, number);
  const fresh = (): State => ({
    source,
    store: line.store,
    seed: reader.seed,
    keys: new Keys(),
    n: line.n,
    end: next,
    live: 0,
    indexed: 0,
    indexes: how.indexes.map(({ number }) => number),
    beginning: "existing",
    skipped: [],
  });
  const index = how.indexes.filter(({ log, store }) => log === number && store === line.store).at(-1);
  const mark = how.mark?.store === line.store ? how.mark : undefined;
  // The log was on the disk so far.
  const had = Math.max(index?.end ?? 0, mark?.end ?? 0);
  const short: Skipped[] = [];
  if (had > size) {
    const why = `its end is missing: it had ${had} bytes and has ${size}`;
    short.push({ file: file.name, from: size, to: had, which: "", why });
  }
  const known = index !== undefined && index.end <= size ? index : undefined;
  let state = fresh();
  let whole: boolean;
  if (how.repair) {
    const salvaged = await salvage(reader, state, had);
    whole = salvaged.whole || line.replaces === undefined;
    // What the damage hides of the log, an index may still tell.
    if (known !== undefined && state.skipped.length > 0) [state, whole] = [await complete(reader, state, salvaged.commits, fresh(), known), true];
    state.skipped.unshift(...short);
  } else {
    const loaded = known !== undefined && byIndex(state, known);
    if (!loaded) state = fresh();
    whole = await follow(reader, state, loaded || line.replaces === undefined, had, how);
    for (const { why } of short) throw damaged(folder, file.name, size, { why }, "");
  }
  if (whole) {
    if (state.skipped.length > 0) await keepAside(folder, file, size);
    return state;
  }
  if (!how.alone) return undefined;
  const why = "the end of what a compaction copied is missing, and so is the log before it";
  if (!how.repair) throw damaged(folder, file.name, state.end, { why }, "");
  state.skipped.push({ file: file.name, from: state.end, to: size, which: "", why });
  await keepAside(folder, file, size);
  return state;
}

/** What a damaged first line must have said: whose log it is the mark and the index know, or what is left of the line itself. */
async function guess(reader: Reader, number: number, { mark, indexes }: How): Promise<{ line: Beginning; next: number } | undefined> {
  const text = String.fromCharCode(...(await reader.file.read(0, Math.min(reader.size, 256))));
  const known = [mark, ...indexes.filter(({ log }) => log === number)].flatMap((one) => one?.store ?? []);
  for (const store of [...known, ...(/"store":"([0-9a-f]{32})"/.exec(text)?.slice(1) ?? [])]) {
    reader.seed = seedOf(reader.folder, store);
    const found = await reader.next(-1, -1);
    if (found === undefined) continue;
    const copied = "part" in found.line || "whole" in found.line;
    // What is before that line is damage, and is passed over as such.
    return { line: { threadkeep: FORMAT, store, log: number, n: 0, ...(copied ? { replaces: number - 1 } : {}) }, next: 0 };
  }
  return undefined;
}

/** Takes the keys from an index; says whether it was right. */
function byIndex(state: State, index: Index): boolean {
  if (!index.load(state.source, state.keys)) return false;
  Object.assign(state, { n: index.n, end: index.end, live: index.live, indexed: index.end });
  return true;
}

/** What was salvaged of a log, with what an index tells of the time before it: which keys there were, and where their values are. */
async function complete(reader: Reader, salvaged: State, commits: readonly Found[], empty: State, index: Index): Promise<State> {
  if (!byIndex(empty, index)) return salvaged;
  const all: [string, Entry][] = [];
  empty.keys.each((entry, key) => void all.push([key, entry]));
  all.sort(([, a], [, b]) => a.at - b.at);
  for (const [key, entry] of all) {
    if (entry.lost === true || (await reader.holds(entry))) continue;
    const other = salvaged.keys.get(key);
    // Bytes that are missing or too many have moved it.
    if (other !== undefined && other.lost !== true && other.crc === entry.crc && other.length === entry.length) Object.assign(entry, other);
    else {
      entry.lost = true;
      empty.skipped.push(lost(reader.file.name, key, entry.at, entry.length));
    }
  }
  // And what came after it.
  for (const found of commits) if ((found.line as Change).n > index.n) apply(empty, found);
  return { ...empty, n: Math.max(empty.n, salvaged.n), end: salvaged.end, skipped: unique([...salvaged.skipped, ...empty.skipped]) };
}

function lost(file: string, key: string, from: number, length: number): Skipped {
  return { file, from, to: from + length, which: "", why: `the value of ${JSON.stringify(key)} does not have its sum` };
}

/** Damage, without what was found twice. */
function unique(all: readonly Skipped[]): Skipped[] {
  const known = new Map(all.map((one) => [`${one.from} ${one.to} ${one.why}`, one]));
  return [...known.values()].sort((a, b) => a.from - b.from);
}

/** Reads on from `state.end`; says whether what a compaction copied is all there. The log had `had` bytes or more. */
async function follow(reader: Reader, state: State, whole: boolean, had: number, { alone }: How): Promise<boolean> {
  const { folder, file, size } = reader;
  let parts = 0;
  while (state.end < size) {
    const found = await reader.line(state.end);
    const wrong = "line" in found ? misplaced(found, state.n, parts, whole) : found;
    if ("line" in found && wrong === undefined) {
      apply(state, found);
      if ("part" in found.line) parts += 1;
      if ("whole" in found.line) whole = true;
      state.end = found.next;
      continue;
    }
    // A copy that did not come to its end does not count, whatever is in it, while the original is there.
    if (!whole && !alone && !(await hasWhole(reader, state.end))) return false;
    const behind = "line" in found ? found : await reader.next(state.end, state.n);
    if (behind === undefined && state.end >= had) {
      // Nothing whole comes after it: the last commit, which a crash has cut off.
      if (whole) await cut(folder, file, state.end);
      break;
    }
    // Its end is missing, as the caller says.
    if (behind === undefined && had > size) break;
    const n = behind !== undefined && "n" in behind.line ? behind.line.n : state.n;
    const last = Math.max(state.n + 1, behind !== undefined && "whole" in behind.line ? n : n - 1);
    throw damaged(folder, file.name, state.end, wrong ?? { why: "" }, ` (${missing(state.n + 1, last)})`);
  }
  return whole;
}

/**
 * Reads all of a log, wherever its lines are: each says which commit it is, so that those that are whole can be put in their order. Says
 * whether what a compaction copied has its end.
 */
async function salvage(reader: Reader, state: State, had: number): Promise<{ whole: boolean; commits: Found[] }> {
  const { file, size } = reader;
  const [parts, commits] = [new Map<number, Found>(), new Map<number, Found>()];
  const first = state.n;
  let whole: Whole | undefined;
  let ordered = true;
  let at = state.end;
  let [lastPart, last] = [0, first];
  while (at < size) {
    const found = await reader.line(at);
    if (!("line" in found)) {
      const behind = await reader.next(at, -1);
      if (behind === undefined && at >= had) break;
      state.skipped.push({ file: file.name, from: at, to: behind?.at ?? size, which: "", why: found.why });
      at = behind?.at ?? size;
      continue;
    }
    const { line } = found;
    if ("whole" in line) whole = line;
    else {
      const [all, number] = "part" in line ? [parts, line.part] : [commits, line.n];
      if ("part" in line) [ordered, lastPart] = [ordered && number === lastPart + 1, number];
      else [ordered, last] = [ordered && number === last + 1, number];
      if (all.get(number)?.lost !== undefined || !all.has(number)) all.set(number, found);
    }
    at = found.next;
  }
  state.end = at;
  const inOrder = (all: Map<number, Found>): Found[] => [...all].sort(([a], [b]) => a - b).map(([, found]) => found);
  const lacking: string[] = [];
  for (let part = 1; part <= Math.max(whole?.whole ?? 0, ...parts.keys()); part += 1)
    if (!parts.has(part)) lacking.push(`part ${part} of what a compaction copied`);
  for (const found of inOrder(parts)) apply(state, found);
  for (const found of inOrder(commits)) {
    const { n } = found.line as Change;
    if (n <= first) continue;
    if (n > state.n + 1) lacking.push(missing(state.n + 1, n - 1));
    apply(state, found);
  }
  const [region] = state.skipped;
  if (region !== undefined) region.which = lacking.join(", ");
  else if (lacking.length > 0 || !ordered)
    state.skipped.push({ file: file.name, from: 0, to: 0, which: lacking.join(", "), why: "lines are missing, doubled or moved" });
  // What a crash has cut off; where there is damage, the log is written anew.
  if (state.skipped.length === 0 && at < size) await cut(reader.folder, file, at);
  return { whole: whole !== undefined, commits: inOrder(commits) };
}

/** Whether the line that ends a copy is anywhere behind `at`. */
async function hasWhole(reader: Reader, at: number): Promise<boolean> {
  for (;;) {
    const found = await reader.next(at, -1);
    if (found === undefined) return false;
    if ("whole" in found.line) return true;
    at = found.at;
  }
}

/** Copies a damaged file as it is, before anything is written. */
async function keepAside(folder: LogFolder, file: LogFile, size: number): Promise<void> {
  const name = `damaged-${file.name}`;
  const copy = await open(folder, name);
  try {
    await copy.truncate(0);
    for (let at = 0; at < size; ) {
      const bytes = await file.read(at, Math.min(4 << 20, size - at));
      if (bytes.length === 0) break;
      await copy.write(at, bytes);
      at += bytes.length;
    }
    await copy.sync();
    await folder.sync();
  } catch (error) {
    throw folder.failure(error, `copying ${file.name} to ${name}`);
  } finally {
    await copy.close();
  }
}

/** What is wrong with a whole line in its place. */
function misplaced({ line }: Found, n: number, parts: number, whole: boolean): Broken | undefined {
  if ("part" in line)
    return !whole && line.part === parts + 1 ? undefined : { why: `part ${line.part} comes after part ${parts}: lines are missing, doubled or moved` };
  if ("whole" in line)
    return !whole && line.whole === parts && line.n === n ? undefined : { why: `${line.whole} parts should be there, there are ${parts}: lines are missing` };
  return line.n === n + 1 ? undefined : { why: `commit ${line.n} comes after commit ${n}: lines are missing, doubled or moved` };
}

/** Carries out a line. */
function apply(state: State, { line, values, lost: gone }: Found): void {
  const { keys, source } = state;
  if ("n" in line && !("whole" in line)) {
    state.n = line.n;
    for (const key of line.delete ?? []) forget(state, key, keys.delete(key));
    for (const [start, end] of line.deleteRange ?? []) keys.deleteRange(start, end, (entry, key) => forget(state, key, entry));
  }
  let at = values;
  for (const [place, [key, length, crc, how]] of putsOf(line).entries()) {
    const damaged = gone?.places.has(place) === true;
    if (damaged) state.skipped.push(lost(source.file.name, key, at, length));
    const entry: Entry = { source, at, length, crc: Number.parseInt(crc, 16), base64: how === "base64" };
    if (damaged || how === "lost") entry.lost = true;
    forget(state, key, keys.set(key, entry));
    state.live += length + overhead(key);
    at += length + 1;
  }
}

function forget(state: { live: number }, key: string, entry: Entry | undefined): void {
  if (entry !== undefined) state.live -= entry.length + overhead(key);
}

async function cut(folder: LogFolder, file: LogFile, at: number): Promise<void> {
  try {
    await file.truncate(at);
    await file.sync();
  } catch (error) {
    throw folder.failure(error, `cutting off what a crash has left at the end of ${file.name}`);
  }
}

function missing(first: number, last: number): string {
  return first === last ? `commit ${first}` : `commits ${first} to ${last}`;
}

function damaged(folder: LogFolder, name: string, at: number, { why, key }: Broken, which: string): Error {
  return storeError(
    "corrupt",
    `${name} in ${folder.words} is damaged at byte ${at}${which}: ${why}. Nothing was changed: restore the file from a copy, or open it with repair: true, which goes on without the damaged part and keeps the file as it is beside it`,
    { ...folder.details, file: name, offset: at, ...(key === undefined ? {} : { key }) },
  );
}
