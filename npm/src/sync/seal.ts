// What goes to a remote is sealed: gzipped, filled up to whole 4 KiB and encrypted, so that names and sizes say little.
//
// A file is `tksync01`, 16 bytes of salt, 12 bytes of nonce, and what AES-256-GCM makes of the rest, with the file's name as additional
// data: a file under another name does not open. The key is PBKDF2-HMAC-SHA-256 of the passphrase, 600,000 rounds (OWASP, 2023).

import { hex } from "../digest.js";
import { ThreadkeepError } from "../errors.js";
import { putRecent } from "./recent.js";

const MAGIC = new TextEncoder().encode("tksync01");
const SALT = 16;
const NONCE = 12;
const HEAD = MAGIC.length + SALT + NONCE;
const ROUNDS = 600_000;
const GRAIN = 4096;

type Bytes = Uint8Array<ArrayBuffer>;

interface Keys {
  encrypt: CryptoKey;
  name: CryptoKey;
}

/** The keys of the last syncs: each takes a processor a fifth of a second. */
const derived = new Map<string, Promise<Keys>>();
const KEPT = 16;

/** Seals and opens files under one passphrase. */
export class Sealer {
  readonly #passphrase: string;
  /** The salt of what is sealed here: that of before, or of the first file that was opened, so that one derivation does for all devices. */
  #salt: Bytes | undefined;

  constructor(passphrase: string, salt?: string) {
    this.#passphrase = passphrase;
    if (salt !== undefined) this.#salt = Uint8Array.from(salt.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
  }

  /** The salt as hex digits, and what tells whether another passphrase is the same one. */
  async proof(): Promise<[salt: string, proof: string]> {
    return [hex(this.#ownSalt()), await this.nameOf("")];
  }

  /** A name for a text that says nothing of it: 32 hex digits, the same for the same text. */
  async nameOf(text: string): Promise<string> {
    const { name } = await this.#keysOf(this.#ownSalt());
    const mac = await crypto.subtle.sign("HMAC", name, new TextEncoder().encode(text));
    return hex(new Uint8Array(mac).subarray(0, 16));
  }

  /** The bytes of a file with this text. */
  async seal(text: string, file: string): Promise<Bytes> {
    const salt = this.#ownSalt();
    const { encrypt } = await this.#keysOf(salt);
    const squeezed = await through(new TextEncoder().encode(text), new CompressionStream("gzip"));
    const plain = new Uint8Array(Math.ceil((4 + squeezed.length) / GRAIN) * GRAIN);
    new DataView(plain.buffer).setUint32(0, squeezed.length);
    plain.set(squeezed, 4);
    const nonce = crypto.getRandomValues(new Uint8Array(NONCE));
    const sealed = await crypto.subtle.encrypt(algorithm(nonce, file), encrypt, plain);
    const bytes = new Uint8Array(HEAD + sealed.byteLength);
    bytes.set(MAGIC);
    bytes.set(salt, MAGIC.length);
    bytes.set(nonce, MAGIC.length + SALT);
    bytes.set(new Uint8Array(sealed), HEAD);
    return bytes;
  }

  /**
   * The text of a file.
   *
   * @throws ThreadkeepError `remote-newer`; `remote-damaged`, which another passphrase looks like, too
   */
  async open(bytes: Uint8Array, file: string): Promise<string> {
    const starts = (begin: Uint8Array) => begin.every((byte, at) => bytes[at] === byte);
    if (!starts(MAGIC)) {
      if (starts(MAGIC.subarray(0, 6)))
        throw new ThreadkeepError("remote-newer", `the file ${file} was written by a newer version of Threadkeep: update here`, { file });
      throw new ThreadkeepError("remote-damaged", `the file ${file} is none of a sync, or its beginning is damaged`, { file });
    }
    const salt = bytes.slice(MAGIC.length, MAGIC.length + SALT);
    const { encrypt } = await this.#keysOf(salt);
    let plain: Bytes;
    try {
      plain = new Uint8Array(await crypto.subtle.decrypt(algorithm(bytes.slice(MAGIC.length + SALT, HEAD), file), encrypt, bytes.slice(HEAD)));
    } catch (cause) {
      throw new ThreadkeepError("remote-damaged", `the file ${file} does not open: it is damaged, or sealed with another passphrase`, { file }, cause);
    }
    this.#salt ??= salt;
    const length = new DataView(plain.buffer).getUint32(0);
    return new TextDecoder().decode(await through(plain.subarray(4, 4 + length), new DecompressionStream("gzip")));
  }

  #ownSalt(): Bytes {
    this.#salt ??= crypto.getRandomValues(new Uint8Array(SALT));
    return this.#salt;
  }

  #keysOf(salt: Bytes): Promise<Keys> {
    const name = `${hex(salt)} ${this.#passphrase}`;
    let keys = derived.get(name);
    if (keys === undefined) {
      keys = derive(this.#passphrase, salt);
      putRecent(derived, name, keys, KEPT);
    }
    return keys;
  }
}

async function derive(passphrase: string, salt: Bytes): Promise<Keys> {
  // One passphrase, however a keyboard composes its letters.
  const secret = await crypto.subtle.importKey("raw", new TextEncoder().encode(passphrase.normalize("NFC")), "PBKDF2", false, ["deriveBits"]);
  const bits = await crypto.subtle.deriveBits({ name: "PBKDF2", hash: "SHA-256", salt, iterations: ROUNDS }, secret, 512);
  const [encrypt, name] = await Promise.all([
    crypto.subtle.importKey("raw", bits.slice(0, 32), "AES-GCM", false, ["encrypt", "decrypt"]),
    crypto.subtle.importKey("raw", bits.slice(32), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]),
  ]);
  return { encrypt, name };
}

function algorithm(iv: Bytes, file: string): AesGcmParams {
  return { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(file) };
}

async function through(bytes: Bytes, stream: CompressionStream | DecompressionStream): Promise<Bytes> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}
