// An answer in a provider's own form: its bytes or its events go to the engine's reader, which also reads those of connections.

import type { AnswerReader } from "../../wasm/threadkeep.js";
import { ThreadkeepError } from "../errors.js";
import { need, now, run } from "../runtime.js";
import type { AnswerLimits } from "../generated/provider.js";
import type { ModelFailureCode, ModelPiece } from "./model.js";
import { ModelError, reported } from "./failure.js";

/** The most bytes of an error's body that are read. */
const ERROR_BYTES = 1 << 20;

/** Reads one answer of any provider. */
export class Provided {
  /** Whether anything of the answer was of a provider's form. */
  begun = false;
  readonly #reader: AnswerReader;
  readonly #hear: (piece: string) => void;

  private constructor(reader: AnswerReader, hear: (piece: ModelPiece) => void) {
    this.#reader = reader;
    this.#hear = (piece) => hear(JSON.parse(piece) as ModelPiece);
  }

  /** A reader, for a request with tools of these names. */
  static async begin(tools: readonly string[], limits: AnswerLimits | undefined, hear: (piece: ModelPiece) => void): Promise<Provided> {
    await need("agent");
    const options = JSON.stringify({ tools, limits });
    return new Provided(await run((wasm) => wasm.readAnswer(options) as Promise<AnswerReader>), hear);
  }

  /** Takes an event, a chunk or a whole answer; whether it is of a known form. */
  item(item: object): boolean {
    const known = this.#read((reader, hear) => reader.item(JSON.stringify(item), hear));
    this.begun ||= known;
    return known;
  }

  /** Takes all of a response. */
  async response(response: Response): Promise<void> {
    refuseRedirect(response);
    if (!response.ok) throw await failed(response);
    this.begun = true;
    for await (const bytes of chunks(response)) {
      this.#read((reader, hear) => reader.bytes(bytes, hear));
      if (now(() => this.#reader.isOver)) return;
    }
  }

  /** Whether the answer may end here. */
  get isWhole(): boolean {
    return now(() => this.#reader.isWhole);
  }

  /** The whole, as the engine takes it. */
  json(): string {
    return this.#read((reader, hear) => reader.finish(hear));
  }

  free(): void {
    now(() => this.#reader.free());
  }

  #read<T>(call: (reader: AnswerReader, hear: (piece: string) => void) => T): T {
    try {
      return now(() => call(this.#reader, this.#hear));
    } catch (error) {
      throw error instanceof ThreadkeepError ? new ModelError(error.code as string as ModelFailureCode, error.message, error) : error;
    }
  }
}

/** A server that redirects takes the prompt and the key elsewhere: `authorization` stays behind, `x-api-key` does not. */
function refuseRedirect(response: Response): void {
  const hidden = response.type === "opaqueredirect";
  if (!response.redirected && !hidden && !(response.status >= 300 && response.status < 400)) return;
  const to = shown(response.redirected ? response.url : response.headers.get("location"), response.url);
  const done = response.redirected ? " `fetch` has followed it, maybe with the key." : "";
  throw new ModelError("refused", `The server redirects to ${to}.${done} Call \`fetch\` with \`redirect: "manual"\`, and use the right address.`);
}

/** An address without what may be secret. */
function shown(address: string | null, base: string): string {
  try {
    const { origin, pathname } = new URL(address ?? "", base === "" ? undefined : base);
    return address === null ? "another address" : `${origin}${pathname}`;
  } catch {
    return "another address";
  }
}

async function failed(response: Response): Promise<ModelError> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of chunks(response)) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length >= ERROR_BYTES) break;
  }
  const html = (response.headers.get("content-type") ?? "").includes("html");
  return reported(parsed(text) ?? (html ? response.statusText : text), response.status);
}

async function* chunks(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) yield chunk.value;
  } finally {
    // Whoever stops reading ends the request.
    await reader.cancel().catch(() => undefined);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
