// An answer as it streams by: put together by the AI SDK's own reader, step by step, and stored after each.

import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import type { Inner } from "./store.js";
import type { Ui } from "../shared/ui/types.js";
import type { Ended } from "../shared/ui/write.js";

type Chunk = UIMessageChunk & Record<string, unknown>;

/**
 * So long (in milliseconds) a step that is complete waits for what is said of the whole answer, which comes right behind the last one;
 * stored apart, it would be a message of its own.
 */
const LINGER = 25;

/** What an answer is recorded for. */
export interface Recording {
  /** The messages that were sent. */
  messages: readonly Ui[];
  /** Which of them the answer goes on with; `undefined` where it is a new message. */
  going?: Ui;
  /** Whether the stream may be one that was recorded before, in part or whole. */
  again?: boolean;
  /** Called when there is something to store. */
  begun(): void;
  /** Stores the messages with the answer as it is now. */
  save(messages: readonly Ui[], inner: Inner): Promise<void>;
}

/** Records one answer. */
export class Recorder {
  readonly #to: Recording;
  #chunks: Chunk[] = [];
  #message: Ui | undefined;
  #id: string | undefined;
  #begun = false;
  #finished = false;
  #failed: Ended | undefined;
  #ended = false;
  #stored = false;
  #lingering: ReturnType<typeof setTimeout> | undefined;
  /** What is to be done, in order; settled when all that came is stored. */
  #work: Promise<void> = Promise.resolve();

  constructor(to: Recording) {
    this.#to = to;
    this.#message = to.going;
    this.#id = to.going?.id;
  }

  /** Settled when all that came is stored; rejects with what prevented it. */
  get work(): Promise<void> {
    return this.#work;
  }

  /** Another piece of the answer. */
  take(given: UIMessageChunk): void {
    if (this.#ended) return;
    let chunk = { ...given } as Chunk;
    if (!this.#begun) this.#begin(chunk);
    if (this.#lingering !== undefined && chunk.type !== "finish" && chunk.type !== "message-metadata") this.#flush();
    switch (chunk.type) {
      case "start": {
        // The reader would take another id for another message; the chat gives the one that it goes on with that id.
        const { messageId, ...rest } = chunk;
        if (typeof messageId === "string") this.#id = messageId;
        chunk = rest as Chunk;
        break;
      }
      case "error":
        this.#failed = { code: "failed", reason: chunk.errorText };
        return;
      case "abort":
        this.#failed = { code: "cancelled", reason: "the answer was stopped" };
        return;
      case "finish":
        this.#finished = true;
        break;
      default:
    }
    const last = this.#chunks.at(-1);
    if (last !== undefined && joins(last, chunk)) {
      const field = chunk.type === "tool-input-delta" ? "inputTextDelta" : "delta";
      Object.assign(last, { [field]: `${String(last[field])}${String(chunk[field])}` });
    } else this.#chunks.push(chunk);
    if (chunk.type === "finish-step") this.#lingering = setTimeout(() => this.#flush(), LINGER);
  }

  /** The stream is at its end. */
  end(how?: Ended): void {
    if (this.#ended) return;
    this.#ended = true;
    const broken: Ended = { code: "cut-off", reason: "the stream ended before the answer did" };
    this.#flush(this.#failed ?? how ?? (this.#finished ? undefined : broken), true);
  }

  /** With its first piece a stream says whether it begins a message or goes on with one. */
  #begin(chunk: Chunk): void {
    this.#begun = true;
    if (this.#to.again !== true) return;
    const last = this.#to.messages.at(-1);
    if (last?.role !== "assistant") return;
    const named = chunk.type === "start" ? chunk.messageId : undefined;
    if (named !== undefined && named !== last.id) return;
    this.#id = last.id;
    if (chunk.type !== "start") this.#message = last;
  }

  #flush(ended?: Ended, last = false): void {
    clearTimeout(this.#lingering);
    this.#lingering = undefined;
    const chunks = this.#chunks;
    this.#chunks = [];
    if (chunks.length === 0 && !last) return;
    const store = async (): Promise<void> => {
      this.#message = (await read(chunks, this.#message)) ?? this.#message;
      const message = this.#message;
      if (message === undefined || (message === this.#to.going && ended === undefined)) return;
      const named = { ...message, id: this.#id ?? message.id };
      const fresh = this.#to.going === undefined && this.#to.again !== true && !this.#stored;
      await this.#to.save(this.#with(named), { fresh, ...(ended === undefined ? {} : { ended }) });
      this.#stored = true;
    };
    this.#work = this.#work.then(store);
    // Whoever waits for it is told; without anybody it is no uncaught rejection.
    this.#work.catch(() => {});
    this.#to.begun();
  }

  /** The messages with the answer where the chat puts it. */
  #with(message: Ui): Ui[] {
    const messages = [...this.#to.messages];
    const { going, again } = this.#to;
    const ids = messages.map(({ id }) => id);
    const known = going === undefined && again !== true ? -1 : ids.lastIndexOf(message.id);
    const earlier = known < 0 && going !== undefined && going !== messages.at(-1) ? messages.indexOf(going) : known;
    if (earlier < 0) messages.push(message);
    else messages[earlier] = message;
    return messages;
  }
}

function joins(last: Chunk, chunk: Chunk): boolean {
  if (last.type !== chunk.type || chunk["providerMetadata"] !== undefined) return false;
  if (chunk.type === "text-delta" || chunk.type === "reasoning-delta") return last["id"] === chunk.id;
  return chunk.type === "tool-input-delta" && last["toolCallId"] === chunk.toolCallId;
}

/** The message after these pieces. */
async function read(chunks: readonly Chunk[], message: Ui | undefined): Promise<Ui | undefined> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let made: Ui | undefined;
  const states = readUIMessageStream({
    stream,
    terminateOnError: true,
    ...(message === undefined ? {} : { message: structuredClone(message) as unknown as UIMessage }),
  });
  for await (const state of states) made = state as unknown as Ui;
  return made;
}
