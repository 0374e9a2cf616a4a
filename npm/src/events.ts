// Change events: from the engine to the listeners here, and between instances that share their data.

import { reportUncaught } from "./errors.js";
import type { Change } from "./generated/events.js";

/** Fields of every event. */
export interface Heard {
  /** Whether another tab, worker or instance made the change. */
  remote: boolean;
}

/** What changed, and who changed it. Sent after the change is durable. */
export type ChangeEvent = Heard & Change;

/** Somebody who wants to hear. */
export type ChangeListener = (event: ChangeEvent) => void;

/** The channel of those who have the data of this name open. */
function channelOf(shared: string | undefined): BroadcastChannel | undefined {
  return shared === undefined || typeof BroadcastChannel !== "function" ? undefined : new BroadcastChannel(`threadkeep:${shared}`);
}

/** Tells all who have the data of this name open of a change that no keep made. */
export function announce(shared: string | undefined, change: Change): void {
  const channel = channelOf(shared);
  channel?.postMessage(change);
  channel?.close();
}

/** The listeners of one instance, and its line to other instances of the same name. */
export class Events {
  readonly #listeners = new Set<{ listener: ChangeListener }>();
  readonly #endings = new Set<() => void>();
  readonly #channel: BroadcastChannel | undefined;

  /** What asks the engine for its events, until it was called: an event that nobody wants need not be written down. */
  #ask: ((take: (json: string) => void) => void) | undefined;

  /** `shared` names the data that other tabs, workers and instances may have open too; `ask` asks the engine for its events. */
  constructor(shared: string | undefined, ask: (take: (json: string) => void) => void) {
    this.#ask = ask;
    this.#channel = channelOf(shared);
    if (this.#channel === undefined) return;
    this.#listen();
    this.#channel.onmessage = ({ data }: MessageEvent) => this.#tell(data as ChangeEvent, true);
    // Node's channels keep the process alive; nobody should wait for a change that nobody makes.
    (this.#channel as { unref?: () => void }).unref?.();
  }

  #listen(): void {
    this.#ask?.(this.#take);
    this.#ask = undefined;
  }

  /** Takes an event of this instance's engine, as JSON text. Does not throw. */
  readonly #take = (json: string): void => {
    if (this.#channel === undefined && this.#listeners.size === 0) return;
    const event = JSON.parse(json) as ChangeEvent;
    this.#channel?.postMessage(event);
    this.#tell(event, false);
  };

  /** Adds a listener; the same function twice is told twice. */
  add(listener: ChangeListener): () => void {
    this.#listen();
    const entry = { listener };
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** Calls `ended` when this is closed. */
  atEnd(ended: () => void): () => void {
    this.#endings.add(ended);
    return () => void this.#endings.delete(ended);
  }

  /** Lets go of the line and the listeners. */
  close(): void {
    this.#ask = undefined;
    this.#channel?.close();
    this.#listeners.clear();
    for (const ended of this.#endings) ended();
    this.#endings.clear();
  }

  #tell(event: ChangeEvent, remote: boolean): void {
    for (const { listener } of [...this.#listeners]) {
      try {
        // Each gets its own copy, so that one cannot spoil it for the next.
        listener(structuredClone({ ...event, remote }));
      } catch (error) {
        reportUncaught(error);
      }
    }
  }
}
