// A turn as whoever began it holds it: its events, and what it came to.

import { reportUncaught } from "./errors.js";
import type { Mail } from "./generated/mail.js";

/** How a turn ended: with an answer, with a failure, stopped by somebody, or by a limit. */
export type Outcome = "answered" | "failed" | "cancelled" | "limited";

/** What a turn came to. */
export interface TurnResult {
  /** Its node; `null` only where the message was dismissed before it was answered. */
  node: string | null;
  /** How it ended; `null` likewise, and where the turn was interrupted and something follows it. */
  outcome: Outcome | null;
  /** Why, in words, where it was not answered. */
  reason?: string;
  /** What was replied last to the message that it answers, in the agent's mailbox; `null` where nothing was. */
  reply: Mail | null;
  /** Set where `replyTo` named a message that nobody knew: the message began a transcript of its own. */
  unknownReply?: true;
  /** The reply's text without its `[depth:N] `, or else what the model said last; empty where there is neither. */
  text: string;
}

/** What happens in a turn. All but `delta` and `calling` come when it is stored. `node` is the turn's. */
export type AgentEvent =
  /** A turn begins, or (`resumed`) goes on that a crash or a closed tab has interrupted. */
  | { type: "began"; node: string; resumed: boolean }
  /** The model is asked; `tokens` is the prompt, as we count it. */
  | { type: "asked"; node: string; tokens: number }
  /** More text of the answer that is under way. */
  | { type: "delta"; node: string; text: string }
  /** More of what the model thinks. */
  | { type: "delta"; node: string; reasoning: string }
  /** More of its tool call number `call`, from 0. */
  | { type: "delta"; node: string; call: number; name: string; arguments: string }
  /** The request is sent again after `wait` milliseconds; `attempt` is which try comes next, from 2. */
  | { type: "delta"; node: string; retry: string; attempt: number; wait: number }
  /** All text heard so far was reasoning. */
  | { type: "delta"; node: string; wasReasoning: true }
  /** Something is wrong with the answer that does not end it. */
  | { type: "delta"; node: string; warning: string }
  /** The answer is stored, with its tool calls; the figures are the provider's, where it gave some. */
  | { type: "said"; node: string; promptTokens?: number; completionTokens?: number; cachedTokens?: number }
  /** A tool is called; `arguments` as the model wrote them. */
  | { type: "calling"; node: string; call: string; name: string; arguments: string }
  /** Its result is stored. */
  | { type: "called"; node: string; call: string; name: string; result: string; isError: boolean }
  /** The history is being compacted. */
  | { type: "compacting"; node: string }
  /** It was, or (without a checkpoint) nothing was to be compacted, or it failed (`error`). Tokens of the history before and after. */
  | { type: "compacted"; node: string; checkpoint: string | null; tokensBefore: number; tokensAfter: number; error?: string }
  /** A message was sent; `mail` as the agent has it. */
  | { type: "sent"; mail: Mail }
  /** The turn is over. */
  | { type: "ended"; node: string; outcome: Outcome; reason?: string };

/** What carries a turn out. @internal */
export type Work = (tell: (event: AgentEvent) => void) => Promise<TurnResult>;

/**
 * A turn under way. Iterated over, it gives its events, from the first on, and ends when it is over; awaited, it gives what it came
 * to. It goes on whether anybody looks or not: {@link Turn.stop} ends it.
 *
 * @example
 * ```ts
 * const turn = agent.send("What is the weather in Oslo?");
 * for await (const event of turn) if (event.type === "delta" && "text" in event) write(event.text);
 * const { text, outcome } = await turn;
 * ```
 */
export class Turn implements AsyncIterable<AgentEvent>, Promise<TurnResult> {
  readonly [Symbol.toStringTag] = "Turn";
  readonly #events: AgentEvent[] = [];
  readonly #result: Promise<TurnResult>;
  readonly #stop: () => void;
  #waiting: (() => void)[] = [];
  #over = false;
  #watched = false;

  /** @internal */
  constructor(work: Work, stop: () => void) {
    this.#stop = stop;
    this.#result = work((event) => {
      this.#events.push(event);
      this.#wake();
    });
    const over = (): void => {
      this.#over = true;
      this.#wake();
    };
    this.#result.then(over, (error: unknown) => {
      over();
      // After whoever wants to see it had the time to begin.
      setTimeout(() => this.#watched || reportUncaught(error));
    });
  }

  /** Ends the turn, as soon as it has begun: what was said stays, marked as cut off, and the transcript is valid. */
  stop(): void {
    this.#stop();
  }

  /** What the turn came to. */
  // biome-ignore lint/suspicious/noThenProperty: a turn can be awaited
  then<A = TurnResult, B = never>(
    done?: ((result: TurnResult) => A | PromiseLike<A>) | null,
    failed?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#watched = true;
    return this.#result.then(done, failed);
  }

  /** What `failed` makes of a turn that could not be carried out. */
  catch<B = never>(failed?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<TurnResult | B> {
    return this.then(null, failed);
  }

  /** Calls `done` when the turn is over, however it ended. */
  finally(done?: (() => void) | null): Promise<TurnResult> {
    this.#watched = true;
    return this.#result.finally(done);
  }

  /** The events of the turn. Whoever begins later gets the earlier ones too. */
  async *[Symbol.asyncIterator](): AsyncGenerator<AgentEvent, void, undefined> {
    this.#watched = true;
    for (let at = 0; ; ) {
      const event = this.#events[at];
      if (event !== undefined) {
        at += 1;
        yield event;
      } else if (this.#over) {
        await this.#result;
        return;
      } else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}
