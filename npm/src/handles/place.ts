// A node and the chain that ends at it: `keep.at(nodeId)`.

import * as check from "../check.js";
import type { Link } from "../link.js";
import type { NodeInfo } from "../lost.js";
import { Chain } from "./chain.js";

/**
 * A node by its id or an alias, and the chain that ends there. Nothing is read before a method is called, so a node that does not
 * exist rejects with `missing-node` then.
 *
 * @example
 * ```ts
 * const hits = await keep.search("lost luggage");
 * const { messages } = await keep.at(hits[0].leaf).context({ budget: { maxTokens: 4_000 } });
 * ```
 */
export class Place extends Chain {
  /** The id or the alias. */
  readonly id: string;
  readonly #link: Link;

  /** @internal */
  constructor(link: Link, id: string) {
    super(link, id);
    this.id = id;
    this.#link = link;
  }

  /** @internal */
  protected override async end(): Promise<string> {
    return this.id;
  }

  /**
   * The node's children, oldest first: more than one is a fork.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async children(): Promise<NodeInfo[]> {
    return this.#link.call("children", { id: this.id });
  }

  /**
   * Completes the node: it will not grow again. Sealing twice is no error.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async seal(): Promise<NodeInfo> {
    return this.#link.call("seal", { node: this.id });
  }

  /**
   * Lets the outbound message `outboundId` stand for the node, so that replies to it find the chain. An alias is a pointer: it works
   * wherever a node's id does.
   *
   * @throws ThreadkeepError `missing-node`, `id-taken`
   *
   * @example
   * ```ts
   * await keep.at(node.id).alias("sent-1");
   * await keep.receive({ replyTo: "sent-1", content: "Thanks!" }); // a child of `node`
   * ```
   */
  async alias(outboundId: string): Promise<NodeInfo> {
    return this.#link.call("alias", { id: check.id(outboundId, "outboundId"), node: this.id });
  }

  /**
   * How many user and assistant messages there are in the chain.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async depth(): Promise<number> {
    return this.#link.call("depth", { id: this.id });
  }

  /**
   * Pins the node: prompts keep its messages whatever the budget, and compactions leave them as they are. The pin is stored with the
   * transcript, so forks, exports and other tabs have it.
   *
   * @throws ThreadkeepError `missing-node`
   *
   * @example
   * ```ts
   * const [first] = await keep.chain(leaf);
   * await keep.at(first.id).pin();
   * ```
   */
  async pin(): Promise<void> {
    await this.#link.callWith("prompts", "pinNode", { node: this.id, pinned: true });
  }

  /**
   * Removes the pin of the node, if there is one.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async unpin(): Promise<void> {
    await this.#link.callWith("prompts", "pinNode", { node: this.id, pinned: false });
  }

  /**
   * Makes this the end of the chosen branch of its transcript: what {@link Transcript.outline} shows.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async choose(): Promise<void> {
    await this.#link.call("choose", { leaf: this.id });
  }

  /**
   * Mends the chain that ends here, in a branch of its own: what {@link Threadkeep.lint} finds is put right there, but for system messages
   * inside the conversation. A call without a result is given one that says so, a result without a call is left out of prompts, and so on. The
   * originals stay where they are, and the threads that end here move to the new branch.
   *
   * @returns the branch's end, or null where nothing is to be mended
   * @throws ThreadkeepError `missing-node`, `bad-request` when the turn at the end is not complete
   *
   * @example
   * ```ts
   * if ((await keep.lint(leaf)).length > 0) await keep.at(leaf).mend();
   * ```
   */
  async mend(): Promise<NodeInfo | null> {
    return this.#link.manage("mend", { leaf: this.id });
  }

  /**
   * The versions of an edited message, oldest first: this node and those that took its place in other branches, with their times. A message
   * that was not edited has one.
   *
   * @throws ThreadkeepError `missing-node`
   *
   * @example
   * ```ts
   * const versions = await keep.at(node.id).history();
   * for (const { createdAt, messages } of versions) console.log(createdAt, messages[0]?.content);
   * ```
   */
  async history(): Promise<NodeInfo[]> {
    return this.#link.manage("history", { id: this.id });
  }

  /**
   * Deletes the node and all that follows it, for good.
   *
   * @returns how many messages were removed
   * @throws ThreadkeepError `missing-node`
   */
  async deleteBranch(): Promise<number> {
    return this.#link.manage("deleteBranch", { node: this.id });
  }
}
