// What the outside hears of changes.

import type { Damage } from "./node.js";

/** Fields of every event. */
export interface Heard {
  /** Whether another tab, worker or instance made the change. */
  remote: boolean;
}

/** What changed. Sent after the change is durable. */
export type ChangeEvent =
  /** A transcript was made or gained something, or its title or chosen leaf changed. `nodes` are new or grew. */
  | (Heard & { type: "changed"; transcript: string; nodes: string[] })
  /** Nodes of a transcript were deleted, or (with an empty list) all of it. */
  | (Heard & { type: "deleted"; transcript: string; nodes: string[] })
  /** The head of a thread was made, moved or removed (`node` is `null` then). */
  | (Heard & { type: "head"; name: string; node: string | null })
  /** Episodes or facts were made, changed or deleted. */
  | (Heard & { type: "memory"; episodes: string[]; facts: string[] })
  /** A message came into the mailbox of `party`, or one in it was dismissed. */
  | (Heard & { type: "mail"; party: string; number: number })
  /** Everything was deleted. */
  | (Heard & { type: "cleared" })
  /** Something that is stored cannot be read, and was passed over. Sent once for each. */
  | (Heard & { type: "damage"; damage: Damage });
