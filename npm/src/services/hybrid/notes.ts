// What a hybrid remembers in its keep, under the name of its service: the conversations that are to be sent (`c`), what of each
// transcript was sent (`t`, `s`, `a`), and what the service is still to forget (`x`).

import { recordKey, recordRange } from "../../records.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { Records } from "../../types/records.js";
import type { StoreRecord } from "../../types/store.js";
import type { MemoryScope } from "../types.js";
import { remember } from "../recent.js";
import { keyPart, read, Sent, write } from "./sent.js";

/** What a conversation's own record holds. */
export interface Registered {
  contextId: string;
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
  register(contextId: string): Promise<void> {
    let noted = this.#registered.get(contextId);
    if (noted === undefined) {
      noted = this.#register(contextId).catch((error: unknown) => {
        this.#registered.delete(contextId);
        throw error;
      });
    }
    remember(this.#registered, contextId, noted, MOST);
    return noted;
  }

  async #register(contextId: string): Promise<void> {
    const key = await this.#contextKey(contextId);
    if ((await this.#records.get(key)) !== undefined) return;
    const registered: Registered = { contextId };
    await this.#records.commit({ puts: [[key, write(registered)]] });
  }

  /** A conversation's record, to be stored with something else. */
  async registered(registered: Registered): Promise<StoreRecord> {
    return [await this.#contextKey(registered.contextId), write(registered)];
  }

  /** Forgets that a conversation is to be sent. */
  async unregister(contextId: string): Promise<void> {
    await this.#records.commit({ deletes: [await this.#contextKey(contextId)] });
    this.#registered.delete(contextId);
  }

  /** The conversations that were ever registered. */
  async contexts(): Promise<Registered[]> {
    return (await this.#records.scan(recordRange(this.#service, "c"))).map(([, value]) => read(value) as Registered);
  }

  /** Conversations that have more than was sent, or may have. */
  async unfinished(): Promise<string[]> {
    const registered = await this.contexts();
    const heads = new Map((await this.#keep.heads()).map(({ context, node }) => [context, node]));
    return registered.filter(({ contextId, node }) => heads.has(contextId) && heads.get(contextId) !== node).map(({ contextId }) => contextId);
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
    const key = recordKey(this.#service, "x", await keyPart(scope.contextId));
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

  #contextKey(contextId: string): Promise<string> {
    return keyPart(contextId).then((part) => recordKey(this.#service, "c", part));
  }
}
