// How a session's history changes. Appending goes to the head and counts once the session's record says so; writers who append
// at the same time stand behind each other, in the order in which the keep took them. Whatever takes back or replaces grows as a branch at a
// head of its own, and the session moves there in one step. What was made for a change that lost is deleted.

import { ThreadkeepError } from "../../errors.js";
import type { Thread } from "../../handles/thread.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { NodeInfo } from "../../lost.js";
import type { MessageInput } from "../../message.js";
import { wellFormed } from "../../check.js";
import { begun, FIELD, isOurs } from "./messages.js";
import type { Along, Position, Positions } from "./position.js";

/** The name of an operation, and what it does. */
export type Operation = readonly [id: string, what: string];

/** A branch to go to: messages below a node (`null`: below nothing). */
export interface Branch {
  parent: string | null;
  messages: readonly MessageInput[];
  operation?: Operation | undefined;
  /** Why the history so far is left, where it is. */
  reason?: string | undefined;
  /** Behind which number of its transcript the session goes on, where that is another transcript. */
  seq?: number | undefined;
  /** Whether the names of operations are forgotten. */
  forget?: boolean | undefined;
}

/** So often a change is tried again that others were quicker than. */
const TRIES = 1000;
/** So often a writer looks whether those before it are done, a little longer each time, about two seconds in all. */
const LOOKS = 60;
/** After so many milliseconds nobody needs a head any more that was for one change. */
const ABANDONED = 3_600_000;
/** Where a session begins that has nothing in it. */
const EMPTY: readonly MessageInput[] = [{ role: "system", content: "The session is empty.", include_in_context: false, [FIELD]: { of: 0 } }];

/** What runs at a head in this process, so that sessions in one process need not compete. */
const running = new WeakMap<Threadkeep, Map<string, Promise<unknown>>>();

/** The first and the last node of what was made. */
type Made = readonly [first: string, last: string];

/** Changes the history at one head. */
export class Writer {
  readonly #keep: Threadkeep;
  readonly #thread: Thread;
  readonly #positions: Positions;
  #swept = false;

  constructor(keep: Threadkeep, context: string, positions: Positions) {
    this.#keep = keep;
    this.#thread = keep.thread(context);
    this.#positions = positions;
  }

  /** Appends messages behind all that is there; an operation only if it was not carried out before (`due` says so, or throws). */
  async append(messages: readonly MessageInput[], operation?: Operation, due: () => Promise<boolean> = async () => true): Promise<void> {
    await this.#try(async (lost) => {
      if (!(await due())) return true;
      // At first behind whoever is at it; where that led nowhere, behind what counts.
      if (lost.length > 0) await this.#positions.settle();
      const made = await this.#thread.append(this.#beginning(await this.#positions.read(), messages));
      const [first, last] = [made[0], made.at(-1)];
      // What another writer deletes is gone here too.
      const whole = made.length === messages.length && first !== undefined && last !== undefined;
      if (whole && (await this.#joins(first, last, operation))) return true;
      if (first !== undefined && last !== undefined) lost.push([first.id, last.id]);
      return false;
    });
  }

  /** Goes to the branch that `plan` makes of the position where the session is; `undefined` for staying. */
  async branch(plan: (position: Position) => Branch | undefined | Promise<Branch | undefined>): Promise<void> {
    let aside: Aside | undefined;
    await this.#try(
      async (lost) => {
        const position = await this.#positions.read();
        const planned = await plan(position);
        if (planned === undefined) return true;
        const { parent, operation, reason, forget } = planned;
        await this.#sweep();
        // Where there is no head, the session is empty. So there must be one before it is not.
        const above = parent ?? (position.head === null ? await this.#begin(position) : await this.#positions.emptyRoot());
        if (position.head === null && parent !== null) await this.#thread.moveTo(parent);
        const messages = above === null && planned.messages.length === 0 && position.leaf !== null ? EMPTY : planned.messages;
        let made: NodeInfo[] = [];
        if (messages.length > 0) {
          aside ??= { name: `${this.#asidePrefix()}${Date.now()} ${crypto.randomUUID()}`, transcript: undefined };
          if (above !== null) await this.#keep.thread(aside.name).moveTo(above);
          else if (aside.transcript !== undefined) await this.#dropHead(aside);
          made = await this.#keep.thread(aside.name).append(this.#beginning(position, messages));
          aside.transcript = made[0]?.transcript;
        }
        const [first, last] = [made[0], made.at(-1)];
        const along: Along = { operation, forget };
        if (reason !== undefined && position.leaf !== null) along.left = { leaf: position.leaf, reason, at: Date.now() };
        const seen = planned.seq ?? (above === null ? 0 : position.seq);
        const next = { leaf: last?.id ?? above, seq: Math.max(seen, last?.seq ?? 0) };
        if (made.length === messages.length && (await this.#positions.move(position, next, along))) return true;
        if (first !== undefined && last !== undefined) lost.push([first.id, last.id]);
        return false;
      },
      async () => {
        if (aside !== undefined) await this.#dropHead(aside);
      },
    );
  }

  /** Runs one thing after the other at this head. */
  alone<T>(run: () => Promise<T>): Promise<T> {
    const all = running.get(this.#keep) ?? new Map<string, Promise<unknown>>();
    running.set(this.#keep, all);
    const turn = (all.get(this.#thread.name) ?? Promise.resolve()).then(run, run);
    const done = turn.then(
      () => undefined,
      () => undefined,
    );
    all.set(this.#thread.name, done);
    void done.then(() => all.get(this.#thread.name) === done && all.delete(this.#thread.name));
    return turn;
  }

  /** Tries until it is done, and tidies up: what lost, and what `after` says. */
  async #try(once: (lost: Made[]) => Promise<boolean>, after: () => Promise<void> = async () => undefined): Promise<void> {
    await this.alone(async () => {
      const lost: Made[] = [];
      try {
        for (let tried = 0; tried < TRIES; tried += 1) {
          if (tried > 0) await pause(Math.min(50, 2 ** tried));
          if (await once(lost)) return await this.#positions.settle();
        }
        throw new ThreadkeepError("conflict", "others changed the session again and again", { thread: this.#thread.name });
      } finally {
        for (const made of lost) await this.#discard(made);
        await after();
      }
    });
  }

  /**
   * Makes what was appended count. Those who appended right before count first: it waits for them, as long as they can still be at it.
   */
  async #joins(first: NodeInfo, last: NodeInfo, operation: Operation | undefined): Promise<boolean> {
    let joined = false;
    // Behind a change that lost, it is deleted with that.
    await ignoring("missing-node", async () => {
      joined = await this.#waits(first, last, operation);
    });
    return joined;
  }

  async #waits(first: NodeInfo, last: NodeInfo, operation: Operation | undefined): Promise<boolean> {
    for (let look = 0; look < LOOKS; look += 1) {
      const position = await this.#positions.read(first.parent);
      if (first.parent === (position.leaf ?? first.transcript)) {
        const next = { leaf: last.id, seq: Math.max(position.seq, last.seq) };
        if (await this.#positions.move(position, next, { operation })) return true;
        if (operation !== undefined && (await this.#positions.operation(operation[0])) !== undefined) return false;
      } else if (await this.#stands(first, position)) await pause(Math.min(50, 2 + look));
      else return false;
    }
    return false;
  }

  /** Whether what was appended is behind the position where the session is. */
  async #stands(first: NodeInfo, { leaf }: Position): Promise<boolean> {
    if (leaf === null) return true;
    let stands = false;
    await ignoring("missing-node", async () => {
      stands = (await this.#keep.chain(first.id)).some(({ id }) => id === leaf);
    });
    return stands;
  }

  /** Messages as they are written; the first ones of a session say that they are. */
  #beginning({ leaf, version }: Position, messages: readonly MessageInput[]): readonly MessageInput[] {
    return leaf !== null && version > 0 ? messages : messages.map((message, index) => (index === 0 ? begun(message, this.#thread.name, version) : message));
  }

  /** Makes the head, in a transcript with nothing in it, unless somebody else just did; gives its root, whose id the transcript has. */
  async #begin({ version }: Position): Promise<string | null> {
    const [made] = await this.#thread.append(EMPTY.map((message) => begun(message, this.#thread.name, version)));
    if (made === undefined) return null;
    await this.#discard([made.id, made.id]);
    return made.transcript;
  }

  /** Deletes what was made for a change that lost, unless somebody who knows of no sessions has appended to it since. */
  async #discard([first, last]: Made): Promise<void> {
    await ignoring("missing-node", async () => {
      const below = await this.#keep.at(last).children();
      if (below.every(({ messages }) => isOurs(messages[0]))) await this.#keep.at(first).deleteBranch();
    });
  }

  /** Removes a head that was only needed for a while, and nothing with it: at the root there is always more below. */
  async #dropHead({ name, transcript }: Aside): Promise<void> {
    if (transcript !== undefined) await ignoring("missing-node", () => this.#keep.thread(name).moveTo(transcript));
    await this.#keep.thread(name).clear();
  }

  /** Removes such heads of processes that ended in between; none that may still be needed. */
  async #sweep(): Promise<void> {
    if (this.#swept) return;
    this.#swept = true;
    const prefix = this.#asidePrefix();
    for (const { name, transcript } of await this.#keep.threads()) {
      const since = name.startsWith(prefix) ? Number(name.slice(prefix.length).split(" ", 1)[0]) : Infinity;
      if (Date.now() - since > ABANDONED) await this.#dropHead({ name, transcript });
    }
  }

  /** How the names of heads begin that are only needed for a while. */
  #asidePrefix(): string {
    return `openai-agents ${wellFormed(this.#thread.name.slice(0, 100))} `;
  }
}

/** A head of one's own for a while, and where it is. */
interface Aside {
  name: string;
  transcript: string | undefined;
}

function pause(most: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * most));
}

async function ignoring(code: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof ThreadkeepError && error.code === code)) throw error;
  }
}
