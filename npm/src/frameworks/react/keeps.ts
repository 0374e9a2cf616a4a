// The keeps that providers opened: one for the same options, however many ask, closed some time after the last has gone. React mounts
// twice under StrictMode, and a hot reload mounts anew: neither opens a second keep.

import type { OpenOptions } from "../../options.js";
import { Threadkeep } from "../../index.js";

/** How long a keep stays open that nobody uses, in milliseconds. */
const LINGER = 1_000;

/** A keep that several may use. */
interface Shared {
  opening: Promise<Threadkeep>;
  users: number;
  timer?: ReturnType<typeof setTimeout>;
}

/** A share in a keep. */
export interface Lease {
  /** The keep; rejects if it cannot be opened. */
  keep: Promise<Threadkeep>;
  /** Takes another share. */
  again(): Lease;
  /** Gives the share back. Once more is no error. */
  end(): void;
}

const open = new Map<string, Shared>();
const closing = new Map<string, Promise<void>>();
const numbers = new WeakMap<object, number>();
let numbered = 0;

/** Options as text: equal for the same values, functions and objects of a class. */
function nameOf(options: OpenOptions): string {
  return JSON.stringify(options, (_, value: unknown) => {
    const isPlain =
      typeof value !== "function" &&
      (typeof value !== "object" || value === null || [Object.prototype, Array.prototype].includes(Object.getPrototypeOf(value)));
    // A store may be a plain object, whose fields change while it is used.
    const isStore = typeof value === "object" && value !== null && "commit" in value;
    if (isPlain && !isStore) return value;
    const number = numbers.get(value as object) ?? ++numbered;
    numbers.set(value as object, number);
    return `object ${number}`;
  });
}

/** A share in the keep of these options, which is opened if nobody has it open. */
export function lease(options: OpenOptions): Lease {
  const name = nameOf(options);
  let shared = open.get(name);
  if (shared === undefined) {
    shared = { opening: (closing.get(name) ?? Promise.resolve()).then(() => Threadkeep.open(options)), users: 0 };
    open.set(name, shared);
    const failed = shared;
    // Whoever asks next tries again.
    shared.opening.catch(() => open.get(name) === failed && open.delete(name));
  }
  const taken = shared;
  clearTimeout(taken.timer);
  taken.users += 1;
  let ended = false;
  return {
    keep: taken.opening,
    again: () => lease(options),
    end() {
      if (ended) return;
      ended = true;
      taken.users -= 1;
      if (taken.users === 0) taken.timer = setTimeout(() => close(name, taken), LINGER);
    },
  };
}

function close(name: string, shared: Shared): void {
  if (open.get(name) === shared) open.delete(name);
  const closed = shared.opening.then((keep) => keep.close()).catch(() => {});
  closing.set(name, closed);
  void closed.then(() => closing.get(name) === closed && closing.delete(name));
}

/** A share in a keep that is somebody else's to close. */
export function lent(keep: Threadkeep): Lease {
  const share: Lease = { keep: Promise.resolve(keep), again: () => share, end() {} };
  return share;
}
