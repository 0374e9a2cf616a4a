// What a hybrid remembers in its keep, under the name of its service: the conversations that are to be sent (`c`), what of each
// transcript was sent (`t`, `s`, `a`), and what the service is still to forget (`x`).

import type { Records } from "../../records.js";
import { recordKey, recordRange } from "../../record-keys.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { StoreRecord } from "../../stores/adapter.js";
import type { MemoryScope } from "../types.js";
import { remember } from "../recent.js";
import { keyPart, read, Sent, write } from "./sent.js";

/** What a conversation's own record holds. */
export interface Registered {
  thread: string;
  /** The session and the transcript, once something was sent. */
  session?: string;
  transcript?: string;
  /** The head's node when everything was sent. */
  node?: string;
}

/** Of so many conversations it is remembered what their records say; those of all others are read again. */
const MOST = 500;

/** The notes of one service in one keep. */
export class Notes {
  readonly #keep: Threadkeep;
  readonly #service: string;
  readonly #records: Records;
  readonly #registered = new Map<string, Promise<void>>();
  readonly #sent = new Map<string, Sent>();

  constructor(keep: Threadkeep, service: string) {
    this.#keep = keep;
    this.#service = service;
    this.#records = keep.records("hybrid");
  }

  /** Notes that a conversation is to be sent. Once for each; where it fails, the next call tries again. */
  register(thread: string): Promise<void> {
    let noted = this.#registered.get(thread);
    if (noted === undefined) {
      noted = this.#register(thread).catch((error: unknown) => {
        this.#registered.delete(thread);
        throw error;
      });
    }
    remember(this.#registered, thread, noted, MOST);
    return noted;
  }

  async #register(thread: string): Promise<void> {
    const key = await this.#contextKey(thread);
    if ((await this.#records.get(key)) !== undefined) return;
    const registered: Registered = { thread };
    await this.#records.commit({ puts: [[key, write(registered)]] });
  }

  /** A conversation's record, to be stored with something else. */
  async registered(registered: Registered): Promise<StoreRecord> {
    return [await this.#contextKey(registered.thread), write(registered)];
  }

  /** Forgets that a conversation is to be sent. */
  async unregister(thread: string): Promise<void> {
    await this.#records.commit({ deletes: [await this.#contextKey(thread)] });
    this.#registered.delete(thread);
  }

  /** The conversations that were ever registered. */
  async contexts(): Promise<Registered[]> {
    return (await this.#records.scan(recordRange(this.#service, "c"))).map(([, value]) => read(value) as Registered);
  }

  /** Conversations that have more than was sent, or may have. */
  async unfinished(): Promise<string[]> {
    const registered = await this.contexts();
    const heads = new Map((await this.#keep.threads()).map(({ name, node }) => [name, node]));
    return registered.filter(({ thread, node }) => heads.has(thread) && heads.get(thread) !== node).map(({ thread }) => thread);
  }

  /** What was sent of a transcript, as it is now. */
  async sent(transcript: string): Promise<Sent> {
    let sent = this.#sent.get(transcript);
    if (sent === undefined) {
      const part = await keyPart(transcript);
      sent = this.#sent.get(transcript) ?? new Sent(this.#records, this.#service, part);
    }
    remember(this.#sent, transcript, sent, MOST);
    await sent.refresh();
    return sent;
  }

  /** Forgets what was sent of a transcript, if it is gone. */
  async forgetIfGone(transcript: string): Promise<void> {
    if ((await this.#keep.node(transcript)) !== null) return;
    await (await this.sent(transcript)).forget();
    this.#sent.delete(transcript);
  }

  /** Notes that the service is to forget what is gone of a conversation. */
  async toRemove(scope: MemoryScope): Promise<string> {
    const key = recordKey(this.#service, "x", await keyPart(scope.thread));
    await this.#records.commit({ puts: [[key, write(scope)]] });
    return key;
  }

  /** What the service is still to forget, by the keys of the notes. */
  async removals(): Promise<[string, MemoryScope][]> {
    return (await this.#records.scan(recordRange(this.#service, "x"))).map(([key, value]) => [key, read(value) as MemoryScope]);
  }

  /** The service has forgotten it. */
  async removed(key: string): Promise<void> {
    await this.#records.commit({ deletes: [key] });
  }

  /** Everything was deleted, these notes included. */
  cleared(): void {
    this.#sent.clear();
    this.#registered.clear();
  }

  #contextKey(thread: string): Promise<string> {
    return keyPart(thread).then((part) => recordKey(this.#service, "c", part));
  }
}
