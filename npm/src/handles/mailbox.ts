// The mailbox of one party: its numbered messages, sent and received.

import * as check from "../check.js";
import type { ChangeListener } from "../events.js";
import type { Link, Method, Params } from "../link.js";
import * as mail from "../mail.js";
import type { Mail, MailFilter } from "../generated/mail.js";
import type { FollowOptions, MailText, OutgoingMail } from "../mail.js";

/** A request that needs the part of the module for mailboxes. @internal */
export async function askMail<T, M extends Method = Method>(link: Link, method: M, ...params: Params<M>): Promise<T> {
  return mail.read(await link.callWith<T, M>("agent", method, ...params));
}

/**
 * The numbered messages that a user or an agent sent and received. Whoever sent or got a message has a mailbox.
 *
 * @example
 * ```ts
 * await keep.mailbox("ann").send({ to: "bob", content: "Lunch?" });
 * const [asked] = await keep.mailbox("bob").messages();
 * await keep.mailbox("bob").reply(asked.number, "At one?");
 * ```
 */
export class Mailbox {
  /** Whose it is. */
  readonly party: string;
  readonly #link: Link;

  /** @internal */
  constructor(link: Link, party: string) {
    this.party = party;
    this.#link = link;
  }

  /**
   * Sends a message: it is in the mailboxes of both, under a number of each one's own, or in none. Gives it as the sender has it.
   *
   * @throws ThreadkeepError `bad-request`; the storage's codes
   *
   * @example
   * ```ts
   * const asked = await keep.mailbox("ann").send({ to: "lal", content: "What colour is the sky?" });
   * ```
   */
  async send(message: OutgoingMail): Promise<Mail> {
    return askMail(this.#link, "send", { from: this.party, ...mail.outgoing(message) });
  }

  /**
   * Answers the message of this number: to its sender (or, if it is one's own, to its recipient), with `replyTo` set to it.
   *
   * @throws ThreadkeepError `missing-mail`, `bad-request`; the storage's codes
   *
   * @example
   * ```ts
   * const [first] = await keep.mailbox("ann").messages();
   * await keep.mailbox("ann").reply(first.number, "And at night?");
   * ```
   */
  async reply(number: number, text: string | MailText): Promise<Mail> {
    return askMail(this.#link, "reply", { ...this.#numbered(number), ...mail.spoken(text, "text") });
  }

  /** The messages, sent and received, oldest first; without the dismissed ones, unless they are asked for. */
  async messages(filter?: MailFilter): Promise<Mail[]> {
    return askMail(this.#link, "listMessages", { party: this.party, ...check.options(filter, "filter", mail.FILTER) });
  }

  /** One message; `null` if there is none of that number. */
  async message(number: number): Promise<Mail | null> {
    return askMail(this.#link, "mail", this.#numbered(number));
  }

  /**
   * Marks a message as done with. It stays, and {@link MailFilter.dismissed} shows it. A message that was dismissed before it was
   * answered needs no answer.
   *
   * @throws ThreadkeepError `missing-mail`
   */
  async dismiss(number: number): Promise<Mail> {
    return askMail(this.#link, "dismiss", this.#numbered(number));
  }

  /**
   * The messages, one's own and dismissed ones too: those that are there, then each as it comes, also from
   * other tabs and workers; each once, in the order of their numbers. It ends with its signal, and when the keep is closed.
   *
   * @throws ThreadkeepError `bad-request`; the storage's codes, from the iterator
   *
   * @example
   * ```ts
   * for await (const mail of keep.mailbox("ann").follow({ after: seen })) console.log(mail.from, mailText(mail));
   * ```
   */
  follow(options?: FollowOptions): AsyncIterableIterator<Mail> {
    const link = this.#link;
    const { after = 0, signal, poll } = check.options(options, "options", mail.FOLLOW) as FollowOptions;
    void link.engine;
    const source = {
      list: (after: number) => this.messages({ after, dismissed: true }),
      hear: (ring: (cleared?: boolean) => void) => {
        const changed: ChangeListener = (event) => {
          if (event.type === "cleared" || (event.type === "mail" && event.party === this.party)) ring(event.type === "cleared");
        };
        const ends = [link.events.add(changed), link.events.atEnd(() => ring())];
        return () => ends.forEach((end) => end());
      },
      closed: () => link.closed,
    };
    return mail.follow(source, after, signal, poll);
  }

  /**
   * Deletes, for good, the branches that came about through this mailbox and of which all its messages are dismissed. A transcript of
   * which nothing is left goes whole. A branch stays if a thread's name points into it, if it has a pin or anything else in it
   * (an import, say), if a turn in it has not ended, or if a message refers to it that this party or an agent has not dismissed.
   *
   * @returns how many branches and transcripts were deleted
   */
  async collectDismissed(): Promise<number> {
    return askMail(this.#link, "collectDismissed", { party: this.party });
  }

  #numbered(number: number): { party: string; number: number } {
    return { party: this.party, number: check.count(number, "number") };
  }
}
