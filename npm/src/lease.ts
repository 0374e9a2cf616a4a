// One at a time under a name, among everybody who has the same storage open: other processes, other machines. Browsers have Web
// Locks for it; a database has none, so whoever holds a lease shows that he lives by counting up in a record.

import { ThreadkeepError } from "./errors.js";
import type { Records } from "./records.js";
import { recordKey } from "./record-keys.js";

/** Times in milliseconds. @internal */
export interface LeaseTimes {
  /** How often the holder counts up. */
  beat: number;
  /** How long his count may stand still before another takes over. Measured by the waiting one's clock, so that clocks need not agree. */
  stale: number;
  /** How often one who waits looks. */
  look: number;
}

const TIMES: LeaseTimes = { beat: 1_000, stale: 5_000, look: 200 };

/**
 * The leases of one program. Each has two records while it is held: the claim, whose key is made of the name, so that only one can make
 * it; and the token, whose key is random and whose value counts up. All changes of a lease are conditional on its token, so nobody takes
 * over what somebody else has taken over before, and a released lease leaves nothing.
 *
 * A holder that has died is replaced after a while; one whose process stood still for as long may find that another has begun.
 *
 * @internal
 */
export class Leases {
  readonly #records: Pick<Records, "get" | "commit">;
  readonly #times: LeaseTimes;
  /** The tokens that are held. */
  readonly #held = new Set<string>();
  #count = 0;
  #beating = Promise.resolve();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(records: Pick<Records, "get" | "commit">, times = TIMES) {
    this.#records = records;
    this.#times = times;
  }

  /** Waits until nobody holds the lease of this name, and takes it. Gives what releases it. */
  async hold(name: string): Promise<() => Promise<void>> {
    const claim = recordKey("claim", name);
    const token = recordKey("token", crypto.randomUUID());
    await this.#take(claim, token);
    this.#held.add(token);
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => (this.#beating = this.#beating.then(() => this.#beat())), this.#times.beat);
      // Node would wait for it, though a keep that is open keeps no process alive.
      (this.#timer as { unref?: () => void }).unref?.();
    }
    return async () => {
      this.#drop(token);
      // A lease that somebody took over is not released: its token is gone. One that cannot be released stands still, and is taken over.
      await this.#commit({ present: [token], deletes: [token, claim] }).catch(() => undefined);
    };
  }

  #drop(token: string): void {
    this.#held.delete(token);
    if (this.#held.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #take(claim: string, token: string): Promise<void> {
    const puts: [string, Uint8Array][] = [
      [claim, bytes(token)],
      [token, bytes("0")],
    ];
    let [seen, since] = ["", 0];
    for (;;) {
      const claimed = await this.#records.get(claim);
      if (claimed === undefined) {
        if (await this.#commit({ absent: [claim], puts })) return;
        continue;
      }
      const holder = text(claimed);
      const count = await this.#records.get(holder);
      const [state, now] = [`${holder} ${count === undefined ? "" : text(count)}`, performance.now()];
      if (state === seen && now - since >= this.#times.stale) {
        const dead = count === undefined ? { present: [claim], absent: [holder] } : { present: [holder], deletes: [holder] };
        if (await this.#commit({ ...dead, puts })) return;
        continue;
      }
      if (state !== seen) [seen, since] = [state, now];
      await new Promise((resolve) => setTimeout(resolve, this.#times.look));
    }
  }

  /** Counts up in all tokens at once, or, if one was taken over, in each that is left. One that was taken over is held no longer. */
  async #beat(): Promise<void> {
    const count = bytes(String((this.#count += 1)));
    const beat = (tokens: string[]) => this.#commit({ present: tokens, puts: tokens.map((token) => [token, count]) });
    const tokens = [...this.#held];
    if (tokens.length === 0 || (await beat(tokens).catch(() => true))) return;
    for (const token of tokens) if (!(await beat([token]).catch(() => true))) this.#drop(token);
  }

  /** Commits; gives whether the conditions held. */
  async #commit(changes: Parameters<Records["commit"]>[0]): Promise<boolean> {
    try {
      await this.#records.commit({ ...changes, durability: "relaxed" });
      return true;
    } catch (error) {
      if (!(error instanceof ThreadkeepError && error.code === "conflict")) throw error;
      return false;
    }
  }
}

function bytes(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

function text(value: Uint8Array): string {
  return new TextDecoder().decode(value);
}
