// The link between the handles and the engine: one object for each keep. It sends a request, loads the parts of the module that the
// request needs, and knows whether the keep is still open. It knows no method of the engine; the compiler knows them from generated types.

import type { Engine } from "../wasm/threadkeep.js";
import * as check from "./check.js";
import { ThreadkeepError } from "./errors.js";
import type { Events } from "./events.js";
import type { OpenOptions } from "./options.js";
import type { Methods } from "./generated/methods.js";
import { isThere, need, run } from "./runtime.js";
import type { CompactionPolicy } from "./generated/compaction.js";
import type { Encoding } from "./generated/context.js";

const UTF8 = new TextEncoder();
/** For UTF-8 that the module copies at once. An array for each request would keep the garbage collector busy. */
let buffer: Uint8Array | undefined;

/** The bytes of a request, until the next one. */
function utf8(json: string): Uint8Array {
  buffer ??= new Uint8Array(256 * 1024);
  // A UTF-16 unit takes three bytes at most.
  return json.length * 3 > buffer.length ? UTF8.encode(json) : buffer.subarray(0, UTF8.encodeInto(json, buffer).written);
}

/** What an answer holds. Messages come in pieces, each the JSON of some of them. */
function answerOf<T>(answer: string | string[]): T {
  if (typeof answer === "string") return (JSON.parse(answer) as { data: T }).data;
  return ([] as unknown[]).concat(...answer.map((piece) => JSON.parse(piece) as unknown[])) as T;
}

/** A part of the module that some requests need. */
type Part = Parameters<typeof need>[0];

/** The name of a method of the engine. @internal */
export type Method = keyof Methods;
/** The parameters of a method; they may be left out if none is needed. @internal */
export type Params<M extends Method> = object extends Methods[M] ? [params?: Methods[M]] : [params: Methods[M]];

/** The open engine of a keep, and what the keep was opened with. @internal */
export class Link {
  /** How tokens are counted if a call does not say. */
  readonly encoding: Encoding;
  /** When histories are compacted if a call does not say. */
  readonly policy: CompactionPolicy;
  /** Who makes vectors, if somebody does. */
  readonly embedding: Pick<OpenOptions, "embed" | "embedModel" | "embedTimeoutMs" | "onEmbedError">;
  /** The changes of this keep, and of others that share its data. */
  readonly events: Events;
  /** The name under which others may have the same data open; `undefined` if nobody can. */
  readonly shared: string | undefined;
  #engine: Engine | undefined;
  #closing: Promise<void> | undefined;
  /** The part for {@link manage}, while it is loaded. */
  #loading: Promise<void> | undefined;

  constructor(engine: Engine, events: Events, shared: string | undefined, options: OpenOptions) {
    this.#engine = engine;
    this.events = events;
    this.shared = shared;
    this.encoding = options.encoding ?? "o200k_base";
    this.policy = options.compaction ?? {};
    this.embedding = options;
  }

  /**
   * Options of a prompt as JSON, which count tokens as the keep does unless they say how, and how. The vocabulary for that may have to be
   * loaded. Wrong options are left to the engine.
   */
  counted(options: unknown): { json: string; encoding: Encoding | undefined } {
    void this.engine;
    const { encoding: usual } = this;
    const how: unknown = check.reading("options", () =>
      check.isObject(options) ? { ...options, encoding: options["encoding"] ?? usual } : (options ?? { encoding: usual }),
    );
    return { json: check.optionsJson(how), encoding: (how as { encoding?: Encoding }).encoding };
  }

  /** The engine; throws `closed` after {@link close}. */
  get engine(): Engine {
    if (this.#engine === undefined) throw new ThreadkeepError("closed", "this keep is closed: open it again");
    return this.#engine;
  }

  /** Whether the keep was closed. */
  get closed(): boolean {
    return this.#engine === undefined;
  }

  /** Sends a request. Its JSON is written at once, so that later changes to the caller's objects have no effect. */
  async call<T, M extends Method = Method>(method: M, ...params: Params<M>): Promise<T> {
    return this.answer(method, check.toJson(params[0]));
  }

  /** As {@link call}, for a request that needs a part of the module, which is loaded first. */
  async callWith<T, M extends Method = Method>(part: Part, method: M, ...params: Params<M>): Promise<T> {
    // A closed keep loads nothing.
    void this.engine;
    const json = check.toJson(params[0]);
    await need(part);
    return this.answer(method, json);
  }

  /** As {@link call}, for a request that deletes. */
  async manage<T, M extends Method = Method>(method: M, ...params: Params<M>): Promise<T> {
    const json = check.toJson(params[0]);
    return answerOf(await this.managing((engine) => engine.call(method, utf8(json)) as Promise<string>));
  }

  /**
   * Asks what needs the part for {@link manage}. While it is loaded, all other questions wait: what was asked after a deletion must
   * not come before it.
   */
  managing<T>(question: (engine: Engine) => Promise<T>): Promise<T> {
    // A closed keep loads nothing.
    void this.engine;
    if (!isThere("manage")) {
      const done = () => {
        this.#loading = undefined;
      };
      this.#loading ??= need("manage").then(done, done);
    }
    // Where it failed to load, the second try says why.
    return this.#ask(async (engine) => {
      if (!isThere("manage")) await need("manage");
      return question(engine);
    });
  }

  /** Sends a request that is JSON already. */
  async answer<T>(method: Method, json: string): Promise<T> {
    return answerOf(await this.ask(json, (engine, bytes) => engine.call(method, bytes) as Promise<string | string[]>));
  }

  /** Hands a request's bytes to the engine, which copies them at once. */
  ask<T>(json: string, question: (engine: Engine, bytes: Uint8Array) => Promise<T>): Promise<T> {
    return this.#ask((engine) => question(engine, utf8(json)));
  }

  async #ask<T>(question: (engine: Engine) => Promise<T>): Promise<T> {
    if (this.#loading !== undefined) await this.#loading;
    // The keep may have been closed while the caller waited.
    const { engine } = this;
    return run(() => question(engine));
  }

  /** Closes the engine after the calls that are under way. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { engine } = this;
    // What was asked before is asked of the engine first: it waited for the same, and longer.
    if (this.#loading !== undefined) await this.#loading;
    this.#engine = undefined;
    try {
      await run(() => engine.close() as Promise<void>);
    } finally {
      this.events.close();
    }
    engine.free();
  }
}
