// One sync, step by step: what changed here since the last one, what others have, what goes out.

import { ThreadkeepError, badArgument, reportUncaught } from "../errors.js";
import type { Skipped } from "../generated/archive.js";
import { Importer, apply, applyDeletions } from "./apply.js";
import { type Look, Looker, note } from "./here.js";
import type { SyncKeep } from "./keep.js";
import { Known, type Published } from "./known.js";
import { taken } from "./lines.js";
import { Files, PackReader, type Traffic, isMissing } from "./packs.js";
import { publish, worn } from "./publish.js";
import { type End, type Register, isDeletion, keyOf, partsOf } from "./registers.js";
import type { SyncRemote } from "./remote.js";
import { Sealer } from "./seal.js";

/** How many of its lists a device remembers: a remote may give back an old one. */
const REMEMBERED = 16;
/** The version of the lists on a remote. */
const VERSION = 1;

/** How to sync. */
export interface SyncOptions {
  /** What everything is encrypted with: the same on all devices. Nobody can read the remote without it, you neither. */
  passphrase: string;
  /** What people call this device; `device` and the beginning of its id without it. It can change with each sync. */
  device?: string;
  /** Hears how far it is. What it throws is reported as an uncaught error. */
  onProgress?: (progress: SyncProgress) => void;
  /** Ends it between two steps. What came in until then stays, and the next sync goes on. */
  signal?: AbortSignal;
}

/** How far a sync is. */
export interface SyncProgress {
  /** What it does: it reads what changed here, takes in what others have, sends what changed here. */
  step: "reading" | "receiving" | "sending";
  /** How many conversations of this step are done. */
  done: number;
  /** How many there are. */
  total: number;
}

/** A device on a remote. */
export interface SyncDevice {
  /** Its id: 16 hex digits. */
  id: string;
  /** What people call it. */
  name: string;
  /** When it last sent something, in milliseconds since 1970 (UTC). */
  at: number;
}

/** What a sync did. */
export interface SyncReport {
  /** This device's id on the remote. */
  device: string;
  /** The other devices there. */
  others: SyncDevice[];
  /** Conversations that came in or gained something. */
  conversations: number;
  /** Messages that came in. */
  messages: number;
  /** Nodes that were deleted here, since they were deleted on another device. */
  deleted: number;
  /** Threads that went on in two ways on two devices, and the thread that has the other way now. */
  apart: { thread: string; other: string }[];
  /** What was written to the remote. */
  sent: Traffic;
  /** What was read from it. */
  received: Traffic;
  /** What could not be taken in this time, and why. The next sync tries again. */
  skipped: Skipped[];
}

/** What the small file of a device says, which is written last. */
interface Head {
  version: number;
  name: string;
  at: number;
  /** The file with its list. */
  index: string;
}

/** The list of what a device has. */
interface Index {
  registers: [string, Register][];
  transcripts: Record<string, Published>;
  /** Files of other devices that did not open, or are not there: they write them anew. */
  broken: string[];
}

/** Syncs once. */
export async function syncOnce(keep: SyncKeep, remote: SyncRemote, options: SyncOptions): Promise<SyncReport> {
  const known = await Known.read(keep.records, remote.id);
  const sealer = new Sealer(options.passphrase, known.proof?.[0]);
  if (known.proof !== undefined && (await sealer.proof())[1] !== known.proof[1])
    throw badArgument("options.passphrase", "is another one than before: the other devices could not read what this one writes");
  return new Session(keep, new Files(remote, sealer), options).run(known);
}

/** The devices on a remote, by name. One whose file is damaged is left out, unless all are. */
export async function devicesOn(remote: SyncRemote, passphrase: string): Promise<SyncDevice[]> {
  const files = new Files(remote, new Sealer(passphrase));
  const found: SyncDevice[] = [];
  let failure: unknown;
  for (const file of headsIn(await files.list())) {
    try {
      const head = await headOf(files, file);
      if (head !== undefined) found.push(deviceOf(file, head));
    } catch (error) {
      if ((error as { code?: unknown }).code !== "remote-damaged") throw error;
      failure ??= error;
    }
  }
  if (found.length === 0 && failure !== undefined) throw failure;
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Removes the files of a device. */
export async function removeFrom(remote: SyncRemote, device: string): Promise<void> {
  for (const file of await remote.list()) if (file.startsWith(device)) await remote.remove(file);
}

/** The files with the heads of devices. */
function headsIn(files: readonly string[]): string[] {
  return files.filter((file) => /^[0-9a-f]{16}\.head$/.test(file)).sort();
}

async function headOf(files: Files, file: string): Promise<Head | undefined> {
  const text = await files.read(file);
  if (text === undefined) return undefined;
  const head = JSON.parse(text) as Head;
  if (head.version > VERSION) throw new ThreadkeepError("remote-newer", `the device of ${file} has a newer version of Threadkeep: update here`, { file });
  return head;
}

function idIn(file: string): string {
  return file.slice(0, 16);
}

function deviceOf(file: string, { name, at }: Head): SyncDevice {
  return { id: idIn(file), name, at };
}

/** One sync. */
class Session {
  readonly #keep: SyncKeep;
  readonly #files: Files;
  readonly #options: SyncOptions;
  readonly #skipped: Skipped[] = [];
  readonly #broken = new Set<string>();

  constructor(keep: SyncKeep, files: Files, options: SyncOptions) {
    this.#keep = keep;
    this.#files = files;
    this.#options = options;
  }

  async run(known: Known): Promise<SyncReport> {
    const keep = this.#keep;
    const listed = await this.#files.list();
    const sent = await this.#sent(known, listed);
    // Whoever removed this device there, or emptied the remote, gets all of it anew.
    const again = sent === undefined ? new Set(known.transcripts.keys()) : worn(known, new Set(listed));
    const looker = new Looker(keep, known, (done, total) => this.#tell("reading", done, total));
    let seen = await looker.look(again);
    note(known, seen, known.isSettled ? undefined : cutOff(known, seen.here));

    const { heads, indexes } = await this.#others(known, headsIn(listed));
    // What others could not read is written anew.
    const wanted = new Set([...indexes.values()].flatMap(([, { broken }]) => broken));
    for (const id of worn(known, { has: (file) => !wanted.has(file) })) again.add(id);
    const importer = new Importer(keep);
    let [deleted, apart]: [number, SyncReport["apart"]] = [0, []];
    if (indexes.size > 0 || !known.isSettled) {
      await this.#takeIn(known, indexes, importer);
      note(known, await looker.look(again));
      // From here on a sync that is cut off goes on where it was.
      known.isSettled = false;
      await known.write();

      await apply(keep, known);
      apart = await this.#nameApart(known, heads);
      seen = await looker.look(again);
      note(known, seen);
      deleted = await applyDeletions(keep, known, seen.marks);
      const lost = new Set<string>();
      if (deleted > 0) {
        const before = seen.here;
        seen = await looker.look(again);
        const untold = differences(before, seen.here);
        for (const key of untold) if (known.registers.value(key) === before.get(key)) lost.add(key);
        note(known, seen, untold);
      }
      moveDeadHeads(known, lost);
      known.isSettled = true;
    }
    if (looker.isDamaged)
      this.#skip("deletions", "damaged", "this keep has damage that may look like deletions (`stats()` tells): what was deleted here is not told to others");

    this.#stop();
    const isAsked = [`${known.device}.head`, known.indexes[0] ?? ""].some((file) => wanted.has(file));
    await this.#send(known, seen, again, listed, isAsked ? undefined : sent);
    const { conversations, messages, skipped } = importer.received;
    return {
      device: known.device,
      others: [...heads].map(([file, head]) => deviceOf(file, head)),
      conversations,
      messages,
      deleted,
      apart,
      sent: this.#files.sent,
      received: this.#files.received,
      // Each device shows the branch that it chose.
      skipped: [...skipped.filter(({ code }) => code !== "branch-differs"), ...this.#skipped],
    };
  }

  /** The list that the remote has of this device; `undefined` where it has none. */
  async #sent(known: Known, listed: readonly string[]): Promise<string | undefined> {
    const file = `${known.device}.head`;
    let head: Head | undefined;
    if (listed.includes(file)) {
      await this.#tried([], async () => {
        head = await headOf(this.#files, file);
      });
    }
    const sent = head?.index;
    if (sent === undefined) known.packs.clear();
    // Another keep goes by the same id: this one or that is a copy.
    else if (!known.indexes.includes(sent)) known.becomeAnother();
    return known.indexes.length === 0 ? undefined : sent;
  }

  /** Reads what other devices have, and takes in their registers. */
  async #others(known: Known, listed: readonly string[]): Promise<{ heads: Map<string, Head>; indexes: Map<string, [file: string, index: Index]> }> {
    const heads = new Map<string, Head>();
    const indexes = new Map<string, [string, Index]>();
    const failures: ThreadkeepError[] = [];
    for (const file of listed.filter((file) => idIn(file) !== known.device)) {
      this.#stop();
      await this.#tried(failures, async () => {
        const head = await headOf(this.#files, file);
        if (head === undefined) return;
        heads.set(file, head);
        if (known.taken.get(idIn(file))?.index === head.index) return;
        const text = await this.#files.read(head.index);
        if (text === undefined) throw isMissing(head.index);
        indexes.set(idIn(file), [head.index, JSON.parse(text) as Index]);
      });
    }
    // A new device with another passphrase does not sync.
    if (heads.size === 0 && known.proof === undefined && failures[0] !== undefined) throw failures[0];
    let isRevived = false;
    for (const [, index] of indexes.values()) {
      const { changed, apart } = known.registers.merge(index.registers);
      known.apart.push(...apart);
      isRevived ||= changed.some((key) => isDeletion(key) && known.registers.value(key) !== "true");
    }
    // What was left out as deleted is wanted now; devices whose lists were not read have it, too.
    if (isRevived) for (const device of known.taken.keys()) known.taken.set(device, { index: "", transcripts: {} });
    return { heads, indexes };
  }

  /** Takes in the transcripts of other devices. */
  async #takeIn(known: Known, indexes: ReadonlyMap<string, [file: string, index: Index]>, importer: Importer): Promise<void> {
    const reader = new PackReader(this.#files);
    const wanted: [device: string, id: string, of: Published][] = [];
    for (const [device, [, { transcripts }]] of indexes) {
      const had = known.taken.get(device)?.transcripts ?? {};
      for (const [id, of] of Object.entries(transcripts)) if (had[id] !== nameOf(of)) wanted.push([device, id, of]);
    }
    const failed = new Set<string>();
    for (const [done, [device, id, of]] of wanted.entries()) {
      this.#stop();
      this.#tell("receiving", done, wanted.length);
      const took = known.taken.get(device) ?? { index: "", transcripts: {} };
      known.taken.set(device, took);
      const note = () => {
        took.transcripts[id] = nameOf(of);
      };
      const failures: ThreadkeepError[] = [];
      let text: string | undefined;
      if (!known.registers.isTrue("deleted", id)) {
        await this.#tried(failures, async () => {
          text = taken(id, await reader.text(of.log), await reader.text(of.beside), (node) => known.registers.isTrue("gone", node));
        });
      }
      if (failures.length > 0) failed.add(device);
      else if (text === undefined) note();
      else await importer.add(text, note);
    }
    await importer.flush();
    for (const [device, [file]] of indexes) {
      const took = known.taken.get(device) ?? { index: "", transcripts: {} };
      if (!failed.has(device)) known.taken.set(device, { ...took, index: file });
    }
  }

  /** Gives the other ways of threads that went on in two ways a name. */
  async #nameApart(known: Known, heads: ReadonlyMap<string, Head>): Promise<SyncReport["apart"]> {
    const named: SyncReport["apart"] = [];
    for (const { head, node, device } of known.apart.splice(0)) {
      const end = await this.#keep.end(head);
      if ((await this.#keep.way(node)) === undefined) continue;
      if (end !== undefined && (await this.#keep.way(end))?.includes(node)) continue;
      const name = device === known.device ? this.#name(known) : (heads.get(`${device}.head`)?.name ?? device.slice(0, 6));
      const other = `${head.slice(0, 100)} (${name.slice(0, 40)} ${node.slice(-6)})`;
      if (known.registers.all.has(keyOf("head", other))) continue;
      await this.#keep.moveTo(other, node);
      named.push({ thread: head, other });
    }
    return named;
  }

  /** Sends what changed here, the list of all, and last the head that names it. */
  async #send(known: Known, seen: Look, again: ReadonlySet<string>, listed: readonly string[], sent: string | undefined): Promise<void> {
    const { device } = known;
    await publish(known, seen, again, this.#files, (done, total) => this.#tell("sending", done, total));
    const transcripts: Record<string, Published> = {};
    for (const [id, { log, beside }] of known.transcripts) transcripts[id] = { log, beside };
    const index = JSON.stringify({ registers: [...known.registers.all], transcripts, broken: [...this.#broken].sort() } satisfies Index);
    const file = await this.#files.nameOf(device, index);
    const isNews = file !== sent;
    if (isNews) {
      await this.#files.write(file, index);
      known.indexes = [file, ...known.indexes].slice(0, REMEMBERED);
    }
    known.proof = await this.#files.proof();
    await known.write();
    if (isNews) {
      const head: Head = { version: VERSION, name: this.#name(known), at: Date.now(), index: file };
      await this.#files.write(`${device}.head`, JSON.stringify(head));
    }
    // Whoever reads the old list meanwhile finds a file gone, and reads again next time.
    const live = new Set([...known.packs.keys(), file, `${device}.head`]);
    if (isNews) for (const file of listed) if (file.startsWith(device) && !live.has(file)) await this.#files.remove(file);
  }

  #name({ device }: Known): string {
    return this.#options.device ?? `device ${device.slice(0, 6)}`;
  }

  async #tried(failures: ThreadkeepError[], work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ThreadkeepError) || !["remote-damaged", "remote-newer"].includes(error.code)) throw error;
      failures.push(error);
      const file = String(error.details["file"]);
      if (error.code === "remote-damaged") this.#broken.add(file);
      this.#skip(file, error.code, error.message);
    }
  }

  #skip(place: string, code: string, reason: string): void {
    this.#skipped.push({ place, code, reason, salvaged: false });
  }

  #tell(step: SyncProgress["step"], done: number, total: number): void {
    try {
      this.#options.onProgress?.({ step, done, total });
    } catch (error) {
      reportUncaught(error);
    }
  }

  #stop(): void {
    if (this.#options.signal?.aborted === true) throw new ThreadkeepError("cancelled", "the sync was cancelled; the next one goes on from here");
  }
}

/** What a transcript is made of, as one text. */
function nameOf({ log, beside }: Published): string {
  return [...log, ...beside].join(" ");
}

/** Heads that are where nodes were deleted: of one that is elsewhere here, all devices take that. */
function moveDeadHeads({ registers, here, device }: Known, lost: ReadonlySet<string>): void {
  const isDead = (end: End | null) => end === null || registers.isTrue("gone", end.node) || registers.isTrue("deleted", end.transcript);
  for (const [key, [value]] of registers.all) {
    const end = here.get(key);
    if (partsOf(key)[0] !== "head" || end === undefined || value === end) continue;
    if (lost.has(key) || isDead(JSON.parse(value) as End | null)) registers.write(key, end, device, false);
  }
}

/** Records of the memory that are not here. The last sync was cut off, perhaps after it had forgotten them to write them anew. */
function cutOff(known: Known, here: ReadonlyMap<string, string>): Set<string> {
  return new Set([...known.here.keys()].filter((key) => partsOf(key)[0] === "memory" && !here.has(key)));
}

/** The registers that two looks give differently, but for deletions. */
function differences(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): Set<string> {
  const keys = [...new Set([...before.keys(), ...now.keys()])];
  return new Set(keys.filter((key) => before.get(key) !== now.get(key) && !isDeletion(key)));
}
