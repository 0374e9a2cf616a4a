// What can be one thing or another: where a head is, what a thread is called, whether a node is pinned or deleted. Each is a register that was
// last written by one device at one time, and of two writings the later one counts on every device (a last-writer-wins map, as in
// Shapiro et al., "A comprehensive study of convergent and commutative replicated data types", 2011, 3.2).

/** A register: its value as JSON text, when it was written (milliseconds, and after all that the device had seen), by which device; of a head also what each device had written. */
export type Register = [value: string, time: number, device: string, seen?: Record<string, number>];

/** The value of a register for what is not there. */
export const NOTHING = "null";

/** Where a head is. */
export interface End {
  node: string;
  transcript: string;
}

/** A head that two devices moved without knowing of each other, and where the one that lost had it. */
export interface Apart {
  head: string;
  node: string;
  device: string;
}

/** The kinds of registers, and what is after the colon of their names. */
export type Kind =
  /** A head's name → where it is ({@link End}). */
  | "head"
  /** A head's name → the strategy by which its chain is compacted. */
  | "strategy"
  /** A transcript → its title. */
  | "title"
  /** A node → `true` while it is pinned. */
  | "pin"
  /** A node → `true` while it is deleted. */
  | "gone"
  /** A transcript → `true` while it is deleted. */
  | "deleted"
  /** Nothing → the settings of the whole keep. */
  | "settings"
  /** A record of the memory → what it says. */
  | "memory";

/** A register's name. */
export function keyOf(kind: Kind, of: string): string {
  return `${kind}:${of}`;
}

/** What a register's name is made of. */
export function partsOf(key: string): [kind: Kind, of: string] {
  const colon = key.indexOf(":");
  return [key.slice(0, colon) as Kind, key.slice(colon + 1)];
}

/** Whether a register says of something whether it is deleted. */
export function isDeletion(key: string): boolean {
  return ["gone", "deleted"].includes(partsOf(key)[0]);
}

/** JSON text that is the same for equal values, whatever the order of their fields. */
export function canonical(value: unknown): string {
  return JSON.stringify(value ?? null, (_, item: unknown) =>
    typeof item === "object" && item !== null && !Array.isArray(item) ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))) : item,
  );
}

/** All registers of a device. */
export class Registers {
  /** When the last of them was written. */
  clock: number;
  readonly all: Map<string, Register>;

  constructor(all: Iterable<[string, Register]> = []) {
    this.all = new Map(all);
    this.clock = 0;
    for (const [, time] of this.all.values()) this.clock = Math.max(this.clock, time);
  }

  /** A register's value. */
  value(key: string): string {
    return this.all.get(key)?.[0] ?? NOTHING;
  }

  /** Writes a register here. `first` is for what a device had before it ever synced: anything that others wrote counts more. */
  write(key: string, value: string, device: string, first: boolean): void {
    const time = first ? 0 : Math.max(Date.now(), this.clock + 1);
    this.clock = Math.max(this.clock, time);
    const isHead = partsOf(key)[0] === "head";
    this.all.set(key, isHead ? [value, time, device, { ...this.all.get(key)?.[3], [device]: time }] : [value, time, device]);
  }

  /** Whether a register says `true`. */
  isTrue(kind: "gone" | "deleted", of: string): boolean {
    return this.value(keyOf(kind, of)) === "true";
  }

  /** Takes in what another device wrote; gives the names that have another value now, and heads that moved apart. */
  merge(theirs: Iterable<[string, Register]>): { changed: string[]; apart: Apart[] } {
    const [changed, apart]: [string[], Apart[]] = [[], []];
    for (const [key, their] of theirs) {
      this.clock = Math.max(this.clock, their[1]);
      const ours = this.all.get(key);
      const [winner, loser] = ours === undefined || isLater(their, ours) ? [their, ours] : [ours, their];
      const [kind, of] = partsOf(key);
      if (kind === "head" && ours !== undefined && loser !== undefined && winner[0] !== loser[0] && loser[0] !== NOTHING && areApart(ours, their))
        apart.push({ head: of, node: (JSON.parse(loser[0]) as End).node, device: loser[2] });
      if (winner[0] !== (ours?.[0] ?? NOTHING)) changed.push(key);
      this.all.set(key, kind === "head" ? [winner[0], winner[1], winner[2], joined(ours?.[3], their[3])] : winner);
    }
    return { changed, apart };
  }
}

function isLater(a: Register, b: Register): boolean {
  if (a[1] !== b[1]) return a[1] > b[1];
  // Two devices at the same time: either answer will do, as long as all give the same.
  return a[2] === b[2] ? a[0] > b[0] : a[2] > b[2];
}

/** Whether neither writer knew of the other's writing. */
function areApart(a: Register, b: Register): boolean {
  const knew = (one: Register, other: Register) => (one[3]?.[other[2]] ?? -1) >= other[1];
  return !knew(a, b) && !knew(b, a);
}

function joined(a: Record<string, number> = {}, b: Record<string, number> = {}): Record<string, number> {
  const all = { ...a };
  for (const [device, time] of Object.entries(b)) all[device] = Math.max(all[device] ?? 0, time);
  return all;
}
