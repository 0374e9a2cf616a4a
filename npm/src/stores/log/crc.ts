// CRC-32 as in zip and PNG files, for platforms that have none of their own. In goes a piece of bytes and the sum of what came
// before it; out comes the sum.

const TABLES = makeTables();

/** Eight tables, so that eight bytes are taken at a time. */
function makeTables(): Uint32Array[] {
  const first = new Uint32Array(256);
  for (let byte = 0; byte < 256; byte += 1) {
    let sum = byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
    first[byte] = sum >>> 0;
  }
  const tables = [first];
  for (let at = 1; at < 8; at += 1) {
    const last = tables[at - 1]!;
    tables.push(Uint32Array.from(last, (sum) => (sum >>> 8) ^ first[sum & 255]!));
  }
  return tables;
}

/** The CRC-32 of `bytes`; with `before`, of what gave that sum and then `bytes`. From 0 to 2^32 - 1. */
export function crc32(bytes: Uint8Array, before = 0): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES as [Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array];
  let sum = ~before;
  let at = 0;
  for (const end = bytes.length - 7; at < end; at += 8) {
    const low = sum ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24));
    sum =
      t7[low & 255]! ^
      t6[(low >>> 8) & 255]! ^
      t5[(low >>> 16) & 255]! ^
      t4[low >>> 24]! ^
      t3[bytes[at + 4]!]! ^
      t2[bytes[at + 5]!]! ^
      t1[bytes[at + 6]!]! ^
      t0[bytes[at + 7]!]!;
  }
  for (; at < bytes.length; at += 1) sum = (sum >>> 8) ^ t0[(sum ^ bytes[at]!) & 255]!;
  return ~sum >>> 0;
}

/** The platform's own, where it has one: Node from version 20.15 on. */
export async function fastestCrc32(): Promise<typeof crc32> {
  try {
    // A name that no bundler shall look for.
    const zlib = "node:zlib";
    const { crc32: own } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ zlib)) as { crc32?: typeof crc32 };
    // Of nothing it gives 0, whatever came before.
    return own === undefined ? crc32 : (bytes, before = 0) => (bytes.length === 0 ? before : own(bytes, before));
  } catch {
    return crc32;
  }
}

/** A sum as eight hex digits. */
export function hex(sum: number): string {
  return sum.toString(16).padStart(8, "0");
}
