// An export on its way: nothing is read before somebody asks for text.

import type { ThreadkeepError } from "./errors.js";
import type { FoundSecret } from "./generated/archive.js";

/** Takes a piece of text, and the file that it belongs to where there are several. */
type Sink = (piece: string, name?: string) => void;

/**
 * What {@link Threadkeep.export} gives: take it as a whole with `text()` or `blob()`, as a byte stream with `stream()`,
 * or piece by piece with `for await`. Each of these reads the store anew. What is wrong comes out there, as a
 * `ThreadkeepError`.
 *
 * @example
 * ```ts
 * const blob = await keep.export().blob();
 * for await (const piece of keep.export({ transcript })) process.stdout.write(piece);
 * ```
 */
export class Export implements AsyncIterable<string> {
  readonly #name: string;
  readonly #type: string;
  readonly #start: (sink: Sink) => Promise<FoundSecret[]>;

  /** @internal */
  constructor(name: string, type: string, start: (sink: Sink) => Promise<FoundSecret[]>) {
    this.#name = name;
    this.#type = type;
    this.#start = start;
  }

  /** All of it as one string. */
  async text(): Promise<string> {
    const pieces: string[] = [];
    await this.#start((piece) => pieces.push(piece));
    return pieces.join("");
  }

  /**
   * All of it as files, text by name: of the format `memory` those of each agent's folder
   * (`memory/agents/<transcript>/raw_traces.jsonl`, …), of any other the one file that it is.
   */
  async files(): Promise<Record<string, string>> {
    const files = new Map<string, string[]>();
    await this.#start((piece, name = this.#name) => {
      const pieces = files.get(name);
      if (pieces === undefined) files.set(name, [piece]);
      else pieces.push(piece);
    });
    return Object.fromEntries([...files].map(([name, pieces]) => [name, pieces.join("")]));
  }

  /** All of it as a Blob, to save with a link or hand to `fetch`. */
  async blob(): Promise<Blob> {
    const pieces: string[] = [];
    await this.#start((piece) => pieces.push(piece));
    return new Blob(pieces, { type: this.#type });
  }

  /**
   * What looks like a secret in an export with `redact`, in order: look through it before you hand the export on. Keys of known makers, private
   * keys, passwords in addresses and settings are found by their form; pictures are not searched. Empty without `redact`.
   *
   * @example
   * ```ts
   * const found = await keep.export({ transcript, redact: true }).secrets();
   * for (const { kind, preview } of found) console.log(kind, preview);
   * // The third is none.
   * const text = await keep.export({ transcript, format: "markdown", redact: { leave: [2] } }).text();
   * ```
   */
  async secrets(): Promise<FoundSecret[]> {
    return this.#start(() => {});
  }

  /** It as a stream of UTF-8 bytes, for a file handle, a `Response` or a compressor. */
  stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const pieces = this[Symbol.asyncIterator]();
    const encoder = new TextEncoder();
    return new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        const next = await pieces.next();
        if (next.done === true) controller.close();
        else controller.enqueue(encoder.encode(next.value));
      },
      async cancel() {
        await pieces.return?.();
      },
    });
  }

  /** Piece after piece of text, as they are read. */
  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, undefined> {
    let pieces: string[] = [];
    let stopped = false;
    let wake: () => void = () => {};
    let end: { error?: ThreadkeepError } | undefined;
    const finish = (outcome: { error?: ThreadkeepError }): void => {
      end = outcome;
      wake();
    };
    this.#start((piece) => {
      if (stopped) return;
      pieces.push(piece);
      wake();
    }).then(
      () => finish({}),
      (error: ThreadkeepError) => finish({ error }),
    );
    try {
      while (true) {
        const taken = pieces;
        pieces = [];
        yield* taken;
        if (pieces.length > 0) continue;
        if (end !== undefined) break;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      stopped = true;
    }
    if (end.error !== undefined) throw end.error;
  }
}
