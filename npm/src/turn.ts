// A turn as whoever began it holds it: its events, and what it came to.

import { reportUncaught } from "./errors.js";
import type { Mail } from "./generated/mail.js";
import type { AgentEvent, Outcome } from "./generated/agent.js";
import type { ModelUsage } from "./generated/provider.js";

/** What a turn came to. */
export interface TurnResult {
  /** Its node; `null` only where the message was dismissed before it was answered. */
  node: string | null;
  /** How it ended; `null` likewise, and where the turn was interrupted and something follows it. */
  outcome: Outcome | null;
  /**
   * Why it ended. An answer is `stop`, or `length` if it was cut off. Else it is `cancelled`, `limit`, `spending-limit`, `over-budget`,
   * `bad-answer`, or the code of the model's failure, such as `rate-limited`. `null` as `outcome` is.
   */
  code: string | null;
  /** The reason in words, if it was not answered. */
  reason?: string;
  /** What the provider counted, summed over the turn's requests; left out if it said nothing, or if the turn was carried out elsewhere. */
  usage?: ModelUsage;
  /** What was replied last to the message that it answers, in the agent's mailbox; `null` where nothing was. */
  reply: Mail | null;
  /** Set where `replyTo` named a message that nobody knew: the message began a transcript of its own. */
  unknownReply?: true;
  /** The reply's text without its `[depth:N] `, or else what the model said last; empty where there is neither. */
  text: string;
}

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
