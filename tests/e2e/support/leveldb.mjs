// What Chromium's LevelDB leaves in a profile, looked at from outside: its log, whether a kill has torn the log's last
// record, and a way to tear it by hand. The log is made of blocks of 32 KiB; a record in it has a header of 7 bytes
// (checksum, length, kind), and one that crosses a block's end is cut into pieces, each with a header of its own.
import { appendFileSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const BLOCK = 32 * 1024;
const HEADER = 7;
const [FULL, FIRST, , LAST] = [1, 2, 3, 4];

/** The logs of the profile's databases with their paths, oldest first. */
export function logs(profile) {
  const folder = join(profile, "Default", "IndexedDB");
  let names;
  try {
    names = readdirSync(folder, { recursive: true });
  } catch {
    return [];
  }
  return names
    .filter((name) => /\.leveldb[\\/]\d+\.log$/.test(name))
    .sort()
    .map((name) => join(folder, name));
}

/** How the newest log ends: `whole`, in a `half record`, between the `pieces` of one, or `nothing` if there is none. */
export function end(profile) {
  const path = logs(profile).at(-1);
  if (path === undefined) return "nothing";
  const bytes = readFileSync(path);
  let pieces = false;
  for (let at = 0; at < bytes.length; ) {
    const left = BLOCK - (at % BLOCK);
    if (left < HEADER) {
      at += left;
      continue;
    }
    if (at + HEADER > bytes.length) return "half record";
    const [length, kind] = [bytes.readUInt16LE(at + 4), bytes[at + 6]];
    at += HEADER + length;
    if (at > bytes.length) return "half record";
    pieces = kind !== FULL && kind !== LAST;
  }
  return pieces ? "pieces" : "whole";
}

/**
 * Waits until the browser has begun a new log since `before` (the newest one then) and put what was older into tables. It
 * does that in a task of its lowest priority, which a busy machine leaves waiting for seconds.
 */
export async function moved(profile, before) {
  for (let tries = 0; ; tries += 1) {
    const now = logs(profile);
    if (now.length === 1 && now[0] !== before) return;
    if (tries === 2_400) throw new Error(`no new log within 60 s: ${now.length === 0 ? "there is none" : now.join(", ")}`);
    await sleep(25);
  }
}

/**
 * Writes what a kill leaves between two of LevelDB's writes behind the newest log: the header of a record with the first
 * `written` bytes of its `length`. With `pieces`, a whole first piece whose successor is missing instead. Nobody may have
 * the profile open.
 */
export function tear(profile, { length = 600, written = 3, pieces = false } = {}) {
  const path = logs(profile).at(-1);
  if (path === undefined) throw new Error("the profile has no log to tear");
  const { size } = statSync(path);
  const left = BLOCK - (size % BLOCK);
  // A header does not lie in a block's last bytes, and a record that does not fit is written in pieces: fill the block up.
  const padding = left < HEADER ? Buffer.alloc(left) : Buffer.alloc(0);
  const room = (left < HEADER ? BLOCK : left) - HEADER;
  const payload = pieces ? room : Math.min(length, room);
  const torn = Buffer.alloc(HEADER + (pieces ? payload : Math.min(written, payload)), 0x5a);
  torn.writeUInt16LE(payload, 4);
  torn[6] = pieces ? FIRST : FULL;
  if (pieces) torn.writeUInt32LE(masked(crc32c(torn.subarray(6))), 0);
  appendFileSync(path, Buffer.concat([padding, torn]));
}

function crc32c(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc >>> 0;
}

/** LevelDB stores its checksums turned by 15 bits and moved by a constant. */
function masked(crc) {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
