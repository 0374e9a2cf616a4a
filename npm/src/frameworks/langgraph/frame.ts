// Several byte strings in one record: a header of JSON, then the bytes as they came from the serialiser. What the header says is up to
// whoever writes it; what lies behind it is not looked at.

import { ThreadkeepError } from "../../errors.js";

/** A record that was read: its header, and views of its byte strings. */
export interface Framed<H> {
  header: H;
  parts: Uint8Array[];
}

/** One record of a header and byte strings. */
export function frame(header: object, parts: readonly Uint8Array[]): Uint8Array {
  const head = new TextEncoder().encode(JSON.stringify({ ...header, sizes: parts.map((part) => part.length) }));
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 4 + head.length));
  new DataView(bytes.buffer).setUint32(0, head.length);
  bytes.set(head, 4);
  let at = 4 + head.length;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/**
 * The header and the byte strings of a record.
 *
 * @throws ThreadkeepError `corrupt` for bytes that {@link frame} did not write
 */
export function unframe<H>(key: string, bytes: Uint8Array): Framed<H> {
  try {
    const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0);
    const { sizes, ...header } = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(4, 4 + length))) as { sizes: number[] };
    let at = 4 + length;
    const parts = sizes.map((size) => bytes.subarray(at, (at += size)));
    if (at !== bytes.length) throw new RangeError(`it should end at byte ${at}, and is ${bytes.length} bytes long`);
    return { header: header as H, parts };
  } catch (error) {
    throw new ThreadkeepError("corrupt", `the record ${key} is not what was written: ${(error as Error).message}`, { key }, error);
  }
}
