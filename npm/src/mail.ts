// The mailbox: what is checked of its arguments, and following it.

import * as check from "./check.js";
import { badArgument } from "./errors.js";
import type { Mail } from "./generated/mail.js";
import type { Methods } from "./generated/methods.js";

/** What a message says, when it is sent: one text, or several with names for things between them. */
export type MailText =
  | {
      /** The text. */
      content: string;
    }
  | {
      /** The texts; between each two of them stands the name of something that goes along. */
      strings: readonly string[];
      /** What the texts call these things: one name between each two texts. */
      edgeNames?: readonly string[];
      /** What the sender calls them, as many as `edgeNames`. */
      petNames?: readonly string[];
    };

/** A message to be sent. */
export type OutgoingMail = MailText & {
  /** To whom: the name of a user or an agent, at most 512 bytes. */
  to: string;
  /** The `messageId` of the message that it answers. */
  replyTo?: string;
  /** Its id, at most 512 bytes; one is minted without it. A message that was sent before is not sent again. */
  messageId?: string;
};

/** How a mailbox is followed. */
export interface FollowOptions {
  /** Begins after this number; with the first message without it. */
  after?: number;
  /** Ends it. */
  signal?: AbortSignal;
  /**
   * Looks every so many milliseconds for messages of which nobody told, from 1 on. It is only needed for a store of your own
   * that others write to; without it nothing is looked for.
   */
  poll?: number;
}

const texts = (value: unknown, argument: string): string[] => {
  if (!Array.isArray(value)) throw badArgument(argument, "must be a list of strings");
  return value.map((text, at) => check.text(text, `${argument}[${at}]`));
};
const TEXT = { content: check.text, strings: texts, edgeNames: texts, petNames: texts };
const OUTGOING = { ...TEXT, to: check.id, replyTo: check.id, messageId: check.id };
/** Which messages are listed. @internal */
export const FILTER = { after: check.count, limit: check.count, dismissed: check.flag };
/** How a mailbox is followed. @internal */
export const FOLLOW = {
  after: check.count,
  signal: check.signal,
  poll: (value: unknown, argument: string) => {
    if (value === 0) throw badArgument(argument, "must be at least 1");
    return check.millis(value, argument);
  },
};

/** What the engine answers, without what it keeps for itself: a message's number in the other mailbox. @internal */
export function read<T>(answer: T): T {
  if (Array.isArray(answer)) answer.forEach(read);
  else if (check.isObject(answer)) delete answer["twin"];
  return answer;
}

/** A message to be sent, as the engine takes it. @internal */
export function outgoing(value: unknown): Omit<Methods["send"], "from"> {
  const mail = check.options(value, "mail", OUTGOING);
  if (mail.to === undefined) throw badArgument("mail.to", "is missing");
  return said(mail, "mail") as Omit<Methods["send"], "from">;
}

/** The texts of a message, and what else the engine takes with them. */
type Spoken = Pick<Methods["send"], "strings" | "edgeNames" | "petNames" | "replyTo" | "messageId">;

/** What a message says, as the engine takes it. @internal */
export function spoken(value: string | MailText, argument: string): Spoken {
  return said(typeof value === "string" ? { content: check.text(value, argument) } : check.options(value, argument, TEXT), argument);
}

function said({ content, ...mail }: Spoken & { content?: string }, argument: string): Spoken {
  if ((content === undefined) === (mail.strings === undefined))
    throw badArgument(
      content === undefined ? `${argument}.content` : `${argument}.strings`,
      content === undefined ? "is missing" : "cannot be given beside content",
    );
  return content === undefined ? mail : { ...mail, strings: [content] };
}

/**
 * The whole of a message as one text; names stand in it as `@name`.
 *
 * @example
 * ```ts
 * mailText({ strings: ["See ", " for more."], edgeNames: ["report"] }); // "See @report for more."
 * ```
 */
export function mailText({ strings, edgeNames }: Pick<Mail, "strings" | "edgeNames">): string {
  const names = edgeNames.map((name) => `@${name}`);
  const most = Math.max(strings.length, names.length);
  return Array.from({ length: most }, (_, at) => (strings[at] ?? "") + (names[at] ?? "")).join("");
}

/** Where followed messages come from. @internal */
export interface Source {
  /** The messages above a number, dismissed ones too. */
  list(after: number): Promise<Mail[]>;
  /** Rings whenever there may be new ones, everything was deleted (`cleared`), or the keep is closed. Gives a function that ends it. */
  hear(ring: (cleared?: boolean) => void): () => void;
  /** Whether the keep is closed. */
  closed(): boolean;
}

/** The messages of a mailbox: those that are there, then each as it comes. @internal */
export function follow(source: Source, after: number, signal?: AbortSignal, poll?: number): AsyncIterableIterator<Mail> {
  let listed: Mail[] = [];
  /** The last message that was given. */
  let given: Mail | undefined;
  let [begun, ended, rung, cleared] = [false, false, 0, false];
  let wake = (): void => {};
  let unhear = (): void => {};
  let timer: ReturnType<typeof setInterval> | undefined;
  const ring = (everything = false): void => {
    rung += 1;
    if (everything) listed = [];
    cleared ||= everything;
    wake();
  };
  const begin = (): void => {
    begun = true;
    unhear = source.hear(ring);
    signal?.addEventListener("abort", end);
    if (poll !== undefined) timer = setInterval(() => ring(), poll);
    if (signal?.aborted === true) end();
  };
  const end = (): void => {
    ended = true;
    unhear();
    signal?.removeEventListener("abort", end);
    clearInterval(timer);
    ring();
  };
  const step = async (): Promise<IteratorResult<Mail, undefined>> => {
    if (!begun) begin();
    for (;;) {
      if (!ended && source.closed()) end();
      if (ended) return { done: true, value: undefined };
      const mail = listed.shift();
      if (mail !== undefined) {
        given = mail;
        return { done: false, value: mail };
      }
      const heard = rung;
      let found: Mail[];
      try {
        // After a scope was deleted, its mailboxes count from 1 again.
        found = await source.list(cleared ? 0 : after);
      } catch (error) {
        const closed = ended || source.closed();
        end();
        if (!closed) throw error;
        continue;
      }
      // Meanwhile everything may have been deleted.
      if (found.length > 0 && rung !== heard) continue;
      if (cleared && rung === heard) {
        cleared = false;
        // News of a deletion can come after messages that were sent after it.
        const { number, messageId } = given ?? {};
        found = found.slice(found.findIndex((mail) => mail.number === number && mail.messageId === messageId) + 1);
        after = 0;
      }
      listed = found;
      after = listed.at(-1)?.number ?? after;
      if (listed.length === 0 && rung === heard && !ended) await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  // Whoever asks twice at once gets two messages, in order.
  let last: Promise<unknown> = Promise.resolve();
  const next = (): Promise<IteratorResult<Mail, undefined>> => {
    const mine = last.then(step, step);
    last = mine;
    return mine;
  };
  return {
    next,
    async return() {
      end();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
