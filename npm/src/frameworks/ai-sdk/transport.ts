// A transport that remembers: around any transport of the AI SDK, it stores what is sent before it is sent and what is answered as
// it comes.

import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import * as check from "../../check.js";
import { badArgument, reportUncaught, type ThreadkeepError } from "../../errors.js";
import type { Threadkeep } from "../../threadkeep.js";
import { Recorder, type Recording } from "./record.js";
import type { Ui } from "../shared/ui/types.js";
import { ChatStore } from "./store.js";

type Send<M extends UIMessage> = Parameters<ChatTransport<M>["sendMessages"]>[0];
type Reconnect<M extends UIMessage> = Parameters<ChatTransport<M>["reconnectToStream"]>[0];

/** Options of {@link branchingTransport}. */
export interface BranchingTransportOptions {
  /**
   * Called with what could not be stored, and the chat goes on. Without it a question that cannot be stored is not sent, and an
   * answer's error is reported as uncaught.
   */
  onError?: (error: ThreadkeepError | Error) => void;
}

/** A transport of the AI SDK that keeps every branch. */
export class BranchingTransport<M extends UIMessage = UIMessage> implements ChatTransport<M> {
  /** Where the chats are kept. */
  readonly chats: ChatStore<M>;
  readonly #transport: ChatTransport<M>;
  readonly #onError: BranchingTransportOptions["onError"];
  readonly #work = new Map<string, Promise<void>>();

  /** @internal */
  constructor(transport: ChatTransport<M>, chats: ChatStore<M>, options: BranchingTransportOptions) {
    this.#transport = transport;
    this.chats = chats;
    this.#onError = options.onError;
  }

  /** As the transport says that it is wrapped around. */
  get resumeStreamIsReplay(): boolean {
    return this.#transport.resumeStreamIsReplay === true;
  }

  /** Stores what is new in the messages, then sends them. The stream is the transport's, piece by piece. */
  readonly sendMessages = async (options: Send<M>): Promise<ReadableStream<UIMessageChunk>> => {
    const { chatId, trigger, messageId, abortSignal } = options;
    await this.settled(chatId);
    // The chat goes on with its own objects.
    const messages = this.chats.take(chatId, options.messages as unknown as Ui[]);
    try {
      await this.chats.record(chatId, messages);
    } catch (error) {
      if (this.#onError === undefined) throw error;
      this.#tell(error);
    }
    const stream = await this.#transport.sendMessages(options);
    const asked = trigger === "submit-message" && messageId !== undefined ? messages.findIndex(({ id }) => id === messageId) : -1;
    const at = asked < 0 ? messages.at(-1) : messages[asked];
    const going = trigger === "submit-message" && at?.role === "assistant" ? at : undefined;
    return this.#recorded(stream, chatId, abortSignal, { messages, ...(going === undefined ? {} : { going }) });
  };

  /** Goes on with an answer that is under way, and records it. */
  readonly reconnectToStream = async (options: Reconnect<M>): Promise<ReadableStream<UIMessageChunk> | null> => {
    const stream = await this.#transport.reconnectToStream(options);
    if (stream === null) return null;
    await this.settled(options.chatId);
    let messages: Ui[];
    try {
      messages = (await this.chats.load(options.chatId)) as unknown as Ui[];
    } catch (error) {
      this.#tell(error);
      return stream;
    }
    return this.#recorded(stream, options.chatId, options.abortSignal, { messages, again: true });
  };

  /** Lets go of the transport's resources. The keep stays open. */
  readonly close = (): void => {
    this.#transport.close?.();
  };

  /** Resolves when all that has come so far (of one chat, or of all) is stored. What fails is told as `onError` says. */
  async settled(chatId?: string): Promise<void> {
    await (chatId === undefined ? Promise.all(this.#work.values()) : this.#work.get(chatId));
  }

  #recorded(
    stream: ReadableStream<UIMessageChunk>,
    chatId: string,
    signal: AbortSignal | undefined,
    what: Omit<Recording, "save" | "begun">,
  ): ReadableStream<UIMessageChunk> {
    const save: Recording["save"] = async (messages, inner) => void (await this.chats.record(chatId, messages, inner));
    const recorder: Recorder = new Recorder({ ...what, save, begun: () => this.#follow(chatId, recorder) });
    const reader = stream.getReader();
    const stopped = (): void => finish(() => recorder.end({ code: "cancelled", reason: "the answer was stopped" }));
    const finish = (end: () => void): void => {
      signal?.removeEventListener("abort", stopped);
      end();
    };
    signal?.addEventListener("abort", stopped);
    if (signal?.aborted === true) stopped();
    return new ReadableStream<UIMessageChunk>(
      {
        pull: async (controller) => {
          try {
            const { done, value } = await reader.read();
            if (done) {
              finish(() => recorder.end());
              controller.close();
            } else {
              controller.enqueue(value);
              recorder.take(value);
            }
          } catch (error) {
            const aborted = (error as { name?: unknown } | null)?.name === "AbortError";
            finish(() => recorder.end(aborted ? { code: "cancelled", reason: "the answer was stopped" } : { code: "cut-off", reason: words(error) }));
            controller.error(error);
          }
        },
        cancel: async (reason) => {
          stopped();
          await reader.cancel(reason);
        },
      },
      // Read when it is read: nothing waits here.
      { highWaterMark: 0 },
    );
  }

  #follow(chatId: string, recorder: Recorder): void {
    const before = this.#work.get(chatId);
    const { work } = recorder;
    const now = Promise.allSettled([before, work]).then(([, done]) => {
      if (done.status === "rejected" && !this.#told.has(recorder)) {
        this.#told.add(recorder);
        this.#tell(done.reason);
      }
      if (this.#work.get(chatId) === now) this.#work.delete(chatId);
    });
    this.#work.set(chatId, now);
  }

  readonly #told = new WeakSet<Recorder>();

  #tell(error: unknown): void {
    try {
      if (this.#onError === undefined) reportUncaught(error);
      else this.#onError(error as Error);
    } catch (thrown) {
      reportUncaught(thrown);
    }
  }
}

/**
 * Wraps a transport of the AI SDK so that a keep remembers the chat: each question is stored before it is sent, each answer step by
 * step as it comes, and what `regenerate` and an edit take out of the chat stays as a branch. Where an answer is stopped or breaks
 * off, what came is stored and marked.
 *
 * @param transport any: `DefaultChatTransport`, `DirectChatTransport`, one of yours
 * @param chats a keep, or a {@link ChatStore}
 * @throws ThreadkeepError `bad-request`
 *
 * @example
 * ```ts
 * const keep = await Threadkeep.open();
 * const transport = branchingTransport(new DefaultChatTransport({ api: "/api/chat" }), keep);
 * const chat = useChat({ id, transport, messages: await transport.chats.load(id) });
 * ```
 */
export function branchingTransport<M extends UIMessage = UIMessage>(
  transport: ChatTransport<M>,
  chats: Threadkeep | ChatStore<M>,
  options?: BranchingTransportOptions,
): BranchingTransport<M> {
  const given = check.options(options, "options", { onError: check.callback }) as BranchingTransportOptions;
  if (typeof transport?.sendMessages !== "function") throw badArgument("transport", "must be a transport of the AI SDK");
  // By what they can do: a package may be there twice, as a module and for `require`.
  if (typeof (chats as ChatStore<M> | undefined)?.branches === "function") return new BranchingTransport<M>(transport, chats as ChatStore<M>, given);
  if (typeof (chats as Threadkeep | undefined)?.thread !== "function") throw badArgument("chats", "must be a keep or a ChatStore");
  return new BranchingTransport<M>(transport, new ChatStore<M>(chats as Threadkeep), given);
}

function words(error: unknown): string {
  return error instanceof Error && error.message !== "" ? error.message : String(error);
}
