// Names: for what is too long to be a name, and such as nobody has had before.

/** The SHA-256 of a text, in hex. @internal */
export async function digest(text: string): Promise<string> {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

/** 128 random bits, in hex. Not `randomUUID`, which insecure pages lack. @internal */
export function unique(): string {
  return hex(crypto.getRandomValues(new Uint8Array(16)));
}

/** Bytes as hex digits. @internal */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
