// A transcript: one tree of nodes, with its title and its chosen branch.

import * as check from "../check.js";
import type { Link } from "../link.js";
import type { Outline, TreeNode } from "../generated/node.js";

/**
 * One tree of nodes, by its id, which is its root's. {@link Threadkeep.transcripts} lists them all.
 *
 * @example
 * ```ts
 * const [newest] = await keep.transcripts();
 * const { rows } = await keep.transcript(newest.id).outline();
 * ```
 */
export class Transcript {
  /** Its id. */
  readonly id: string;
  readonly #link: Link;

  /** @internal */
  constructor(link: Link, id: string) {
    this.id = id;
    this.#link = link;
  }

  /**
   * One branch as a list of rows without texts: what a page needs to lay it out.
   *
   * @param leafId the end of the branch; a node in the middle is followed to its newest leaf; the chosen branch without it
   * @throws ThreadkeepError `missing-transcript`, `missing-node`
   */
  async outline(leafId?: string): Promise<Outline> {
    return this.#link.call("outline", { transcript: this.id, ...(leafId === undefined ? {} : { leaf: check.id(leafId, "leafId") }) });
  }

  /**
   * The whole tree; parents come before their children.
   *
   * @throws ThreadkeepError `missing-transcript`
   */
  async tree(): Promise<TreeNode[]> {
    // The engine names a parent by its position in the list.
    const nodes = await this.#link.manage<(Omit<TreeNode, "parent"> & { parent: number | null })[]>("tree", { transcript: this.id });
    return nodes.map((node) => ({ ...node, parent: node.parent === null ? null : nodes[node.parent]!.id }));
  }

  /**
   * Gives it another title; an empty one brings back its first words.
   *
   * @throws ThreadkeepError `missing-transcript`
   */
  async rename(title: string): Promise<void> {
    await this.#link.call("rename", { transcript: this.id, title: check.text(title, "title") });
  }

  /**
   * Deletes it, for good.
   *
   * @returns how many messages were removed
   * @throws ThreadkeepError `missing-transcript`
   */
  async delete(): Promise<number> {
    return this.#link.manage("deleteTranscript", { transcript: this.id });
  }
}
