// Texts in packs: files of up to about 4 MB that are never changed. A text is a list of pieces, each a stretch of a pack.

import { ThreadkeepError } from "../errors.js";
import { putRecent } from "./recent.js";
import type { SyncRemote } from "./remote.js";
import type { Sealer } from "./seal.js";

/** A stretch of a pack, in characters. */
export type Piece = [pack: string, from: number, length: number];

/** How many characters a pack has, about. */
const FULL = 4_000_000;
/** How many packs are kept in memory while they are read. */
const KEPT = 4;

/** What went over the wire. */
export interface Traffic {
  files: number;
  bytes: number;
}

/** Files of a remote, sealed. */
export class Files {
  readonly sent: Traffic = { files: 0, bytes: 0 };
  readonly received: Traffic = { files: 0, bytes: 0 };
  readonly #remote: SyncRemote;
  readonly #sealer: Sealer;

  constructor(remote: SyncRemote, sealer: Sealer) {
    this.#remote = remote;
    this.#sealer = sealer;
  }

  /** See {@link Sealer.proof}. */
  proof(): Promise<[salt: string, proof: string]> {
    return this.#sealer.proof();
  }

  list(): Promise<string[]> {
    return asked("be listed", this.#remote.list());
  }

  /** A file's text; `undefined` where there is no such file. */
  async read(file: string): Promise<string | undefined> {
    const bytes = await asked(`give ${file}`, this.#remote.read(file));
    if (bytes === undefined) return undefined;
    count(this.received, bytes);
    return this.#sealer.open(bytes, file);
  }

  async write(file: string, text: string): Promise<void> {
    const bytes = await this.#sealer.seal(text, file);
    await asked(`take ${file}`, this.#remote.write(file, bytes));
    count(this.sent, bytes);
  }

  remove(file: string): Promise<void> {
    return asked(`remove ${file}`, this.#remote.remove(file));
  }

  /** The name of a pack with this text. */
  async nameOf(device: string, text: string): Promise<string> {
    return `${device}-${await this.#sealer.nameOf(text)}.pack`;
  }
}

/** Writes texts into packs of one device. */
export class PackWriter {
  /** The packs that were written, and how many characters they have. */
  readonly packs = new Map<string, number>();
  readonly #files: Files;
  readonly #device: string;
  #texts: string[] = [];
  #length = 0;
  /** Pieces of the pack that is not written yet, whose name is known then. */
  #waiting: Piece[] = [];

  constructor(files: Files, device: string) {
    this.#files = files;
    this.#device = device;
  }

  /** Adds a text; the piece is complete after the next {@link flush}. */
  async add(text: string): Promise<Piece> {
    const piece: Piece = ["", this.#length, text.length];
    this.#waiting.push(piece);
    this.#texts.push(text);
    this.#length += text.length;
    if (this.#length >= FULL) await this.flush();
    return piece;
  }

  async flush(): Promise<void> {
    if (this.#length === 0) return;
    const text = this.#texts.join("");
    const name = await this.#files.nameOf(this.#device, text);
    await this.#files.write(name, text);
    this.packs.set(name, text.length);
    for (const piece of this.#waiting) piece[0] = name;
    [this.#texts, this.#length, this.#waiting] = [[], 0, []];
  }
}

/** Reads texts out of packs. */
export class PackReader {
  readonly #files: Files;
  readonly #packs = new Map<string, string>();

  constructor(files: Files) {
    this.#files = files;
  }

  /**
   * The text of these pieces.
   *
   * @throws ThreadkeepError `remote-damaged` for a pack that is not there or is another one
   */
  async text(pieces: readonly Piece[]): Promise<string> {
    const texts: string[] = [];
    for (const [pack, from, length] of pieces) {
      const text = (await this.#pack(pack)).slice(from, from + length);
      if (text.length !== length) throw new ThreadkeepError("remote-damaged", `the file ${pack} is shorter than its list says`, { file: pack });
      texts.push(text);
    }
    return texts.join("");
  }

  async #pack(name: string): Promise<string> {
    let text = this.#packs.get(name);
    if (text === undefined) {
      text = await this.#files.read(name);
      if (text === undefined) throw isMissing(name);
      putRecent(this.#packs, name, text, KEPT);
    }
    return text;
  }
}

/** The error of a file that a list names and that is not there. */
export function isMissing(file: string): ThreadkeepError {
  return new ThreadkeepError("remote-damaged", `the file ${file} is not there: its device has not finished, or somebody deleted it`, { file });
}

function count(traffic: Traffic, bytes: Uint8Array): void {
  traffic.files += 1;
  traffic.bytes += bytes.length;
}

async function asked<T>(what: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (cause instanceof ThreadkeepError) throw cause;
    throw new ThreadkeepError("remote-failed", `the remote did not ${what}: ${cause instanceof Error ? cause.message : String(cause)}`, {}, cause);
  }
}
