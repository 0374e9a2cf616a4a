// What a keep knows of a remote: who it is there, what it last published and took in. It lies in the keep's own records, so that it is
// there exactly as long as the data it speaks of.

import { unique } from "../digest.js";
import { recordKey } from "../record-keys.js";
import type { SyncKeep } from "./keep.js";
import type { Piece } from "./packs.js";
import { type Apart, Registers, type Register } from "./registers.js";

/** A transcript as a device last published it. */
export interface Published {
  /** The pieces of its log. */
  log: Piece[];
  /** The pieces of its requests. */
  beside: Piece[];
}

/** The same with what this device knows of its own. */
export interface OwnTranscript extends Published {
  /** What its listing said then; another one tells of a change. */
  mark: string;
  /** The digests of both texts. */
  digests: [log: string, beside: string];
  /** See `Said.registers`. */
  registers: [string, string][];
}

/** What was taken in of another device. */
export interface Taken {
  /** Its list of then, if all of it was taken in. */
  index: string;
  /** What each transcript was made of then. */
  transcripts: Record<string, string>;
}

/** What is stored, without the nodes. */
interface Stored {
  device: string;
  registers: [string, Register][];
  here: [string, string][];
  removed: [string, number][];
  transcripts: [string, OwnTranscript][];
  packs: [string, number][];
  indexes: string[];
  proof?: [string, string];
  taken: [string, Taken][];
  isSettled: boolean;
  apart: Apart[];
}

/** What a keep knows of a remote. */
export class Known {
  /** This device's id on the remote: 16 hex digits. */
  device = newDevice();
  /** Whether it was there before. */
  isNew = true;
  registers = new Registers();
  /** What registers had here when they were last looked at. */
  here = new Map<string, string>();
  /** The transcripts that were here then, and by which entry nodes of each were deleted last. */
  removed = new Map<string, number>();
  /** What was published. */
  transcripts = new Map<string, OwnTranscript>();
  /** This device's packs, and how many characters each has. */
  packs = new Map<string, number>();
  /** The files with the list of what this device has: the last one first. */
  indexes: string[] = [];
  /** The salt that this device seals with, and what tells whether a passphrase is the same as before. */
  proof: [salt: string, proof: string] | undefined;
  /** By device. */
  taken = new Map<string, Taken>();
  /** Whether all that came in was applied. */
  isSettled = true;
  /** Heads that moved apart and have no name for the other branch yet. */
  apart: Apart[] = [];
  readonly #records: SyncKeep["records"];
  readonly #remote: string;
  readonly #nodes = new Map<string, readonly string[] | undefined>();

  private constructor(records: SyncKeep["records"], remote: string) {
    this.#records = records;
    this.#remote = remote;
  }

  static async read(records: SyncKeep["records"], remote: string): Promise<Known> {
    const known = new Known(records, remote);
    const stored = parse<Stored>(await records.get(recordKey(remote, "known")));
    if (stored === undefined) return known;
    known.isNew = false;
    known.device = stored.device;
    known.registers = new Registers(stored.registers);
    known.here = new Map(stored.here);
    known.removed = new Map(stored.removed);
    known.transcripts = new Map(stored.transcripts);
    known.packs = new Map(stored.packs);
    known.indexes = stored.indexes;
    known.proof = stored.proof;
    known.taken = new Map(stored.taken);
    known.isSettled = stored.isSettled;
    known.apart = stored.apart;
    return known;
  }

  /** The nodes that a transcript had here then. */
  async nodes(transcript: string): Promise<readonly string[]> {
    const fresh = this.#nodes.get(transcript);
    return fresh ?? parse<string[]>(await this.#records.get(recordKey(this.#remote, "nodes", transcript))) ?? [];
  }

  /** Notes the nodes that a transcript has, which {@link write} stores. */
  setNodes(transcript: string, removed: number, nodes: readonly string[]): void {
    this.removed.set(transcript, removed);
    this.#nodes.set(transcript, nodes);
  }

  /** Notes that a transcript is no more. */
  dropNodes(transcript: string): void {
    this.removed.delete(transcript);
    this.#nodes.set(transcript, undefined);
  }

  async write(): Promise<void> {
    const stored: Stored = {
      device: this.device,
      registers: [...this.registers.all],
      here: [...this.here],
      removed: [...this.removed],
      transcripts: [...this.transcripts],
      packs: [...this.packs],
      indexes: this.indexes,
      ...(this.proof && { proof: this.proof }),
      taken: [...this.taken],
      isSettled: this.isSettled,
      apart: this.apart,
    };
    const puts: [string, Uint8Array<ArrayBuffer>][] = [[recordKey(this.#remote, "known"), bytes(stored)]];
    const deletes: string[] = [];
    for (const [transcript, nodes] of this.#nodes) {
      const key = recordKey(this.#remote, "nodes", transcript);
      if (nodes === undefined) deletes.push(key);
      else puts.push([key, bytes(nodes)]);
    }
    await this.#records.commit({ puts, deletes });
    this.#nodes.clear();
    this.isNew = false;
  }

  /** Becomes another device, which has sent nothing yet. */
  becomeAnother(): void {
    this.device = newDevice();
    this.packs.clear();
    this.indexes = [];
  }
}

function newDevice(): string {
  return unique().slice(0, 16);
}

function parse<T>(bytes: Uint8Array | undefined): T | undefined {
  return bytes === undefined ? undefined : (JSON.parse(new TextDecoder().decode(bytes)) as T);
}

function bytes(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}
