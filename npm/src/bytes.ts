// Bytes as base64, and back: by Node's own code where there is some, which is quicker.

interface NodeBuffer {
  from(text: string, encoding: "base64"): Uint8Array;
  from(bytes: ArrayBufferLike, at: number, length: number): { toString(encoding: "base64"): string };
}

const buffer = (globalThis as { Buffer?: NodeBuffer }).Buffer;

/** Bytes as base64. @internal */
export function base64(bytes: Uint8Array): string {
  if (buffer !== undefined) return buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** The bytes of base64. @internal */
export function bytesOf(text: string): Uint8Array {
  if (buffer !== undefined) return Uint8Array.from(buffer.from(text, "base64"));
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
