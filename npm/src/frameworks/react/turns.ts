// The turns of an agent that are under way, filled with what is heard of them.

import type { ChangeEvent } from "../../events.js";
import type { AgentEvent } from "../../generated/agent.js";
import type { Threadkeep } from "../../threadkeep.js";
import { current } from "./live.js";
import { THREAD } from "./thread.js";

/** A tool call of an answer under way. */
export interface LiveCall {
  /** The tool's name, as far as it is known. */
  readonly name: string;
  /** The arguments' JSON text, as far as it is known. */
  readonly arguments: string;
}

/** A turn under way: what was said in it and is not in the thread yet. */
export interface LiveTurn {
  /** Tells it from others. */
  readonly key: number;
  /** Its node; `undefined` until it begins. */
  readonly node: string | undefined;
  /** The conversation that it was sent to, if one was named. */
  readonly conversation: string | undefined;
  /** What the model said. */
  readonly text: string;
  /** What it thought. */
  readonly reasoning: string;
  /** The tools that it calls. */
  readonly calls: readonly LiveCall[];
}

/** One answer of a turn. */
interface Answer {
  /** Which of the turn's answers it is, from 1. */
  number: number;
  text: string;
  reasoning: string;
  calls: LiveCall[];
  /** Whether it is whole. */
  said: boolean;
}

interface Entry {
  conversation: string | undefined;
  node?: string;
  /** How many answers the node had before; it is read. */
  before?: number;
  /** How many answers the model was asked for. */
  asked: number;
  /** Those that no thread shows yet. */
  answers: Answer[];
}

const nothing = () => ({ text: "", reasoning: "", calls: [], said: false });

/** How many answers a node has. */
async function answersIn(keep: Threadkeep, node: string): Promise<number> {
  const info = await keep.node(node).catch(() => null);
  return info?.messages.filter(({ role }) => role === "assistant").length ?? 0;
}

/**
 * The turns under way, as a store for `useSyncExternalStore`. What is read of the keep is such a store too: so an answer goes from here in the frame
 * in which the thread has it.
 */
export class Turns {
  #keys = 0;
  readonly #turns = new Map<number, Entry>();
  readonly #listeners = new Set<() => void>();
  #list: readonly LiveTurn[] = [];
  #frame: ReturnType<typeof setTimeout> | undefined;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** What a component shows. */
  readonly get = (): readonly LiveTurn[] => this.#list;

  add(conversation: string | undefined): number {
    this.#turns.set(++this.#keys, { conversation, asked: 0, answers: [] });
    this.#changed();
    return this.#keys;
  }

  remove(key: number): void {
    this.#turns.delete(key);
    this.#changed();
  }

  /** Takes an event of a turn. */
  take(key: number, event: AgentEvent, keep: Threadkeep): void {
    const turn = this.#turns.get(key);
    if (turn === undefined) return;
    const last = turn.answers.at(-1);
    if (event.type === "began") {
      turn.node = event.node;
      void answersIn(keep, event.node).then((count) => (turn.before = count));
    } else if (event.type === "asked") {
      // What was refused is asked for again.
      if (last?.said === false) Object.assign(last, nothing());
      else turn.answers.push({ number: ++turn.asked, ...nothing() });
    } else if (event.type === "said" && last !== undefined) {
      last.said = true;
      void this.#drop(turn, last.number, keep);
    }
    if (event.type === "delta") this.#hear(last, event);
    else this.#changed();
  }

  /** Takes a change of the keep: an answer is stored some time before the turn says so. */
  async change(key: number, event: ChangeEvent, keep: Threadkeep): Promise<void> {
    const turn = this.#turns.get(key);
    if (turn?.node === undefined || event.type !== "changed" || !event.nodes.includes(turn.node)) return;
    const count = await answersIn(keep, turn.node);
    if (turn.before !== undefined) await this.#drop(turn, count - turn.before, keep);
  }

  /** Drops answers up to a number, once the threads that are shown have them. */
  async #drop(turn: Entry, number: number, keep: Threadkeep): Promise<void> {
    if (!turn.answers.some((answer) => answer.number <= number)) return;
    await current(keep, THREAD);
    turn.answers = turn.answers.filter((answer) => answer.number > number);
    this.#changed();
  }

  #hear(answer: Answer | undefined, event: AgentEvent & { type: "delta" }): void {
    if (answer === undefined) return;
    if ("text" in event) answer.text += event.text;
    else if ("reasoning" in event) answer.reasoning += event.reasoning;
    else if ("call" in event) {
      const known = answer.calls[event.call];
      answer.calls[event.call] = { name: event.name, arguments: (known?.arguments ?? "") + event.arguments };
    } else if ("wasReasoning" in event) [answer.reasoning, answer.text] = [answer.reasoning + answer.text, ""];
    // What was said before the model is asked once more is said again.
    else if ("retry" in event) Object.assign(answer, nothing());
    // Models say hundreds of pieces a second: they are shown with the next frame.
    this.#frame ??= setTimeout(() => {
      this.#frame = undefined;
      this.#changed();
    }, 16);
  }

  #changed(): void {
    this.#list = [...this.#turns].map(([key, { node, conversation, answers }]) => ({
      key,
      node,
      conversation,
      text: answers.map(({ text }) => text).join("\n\n"),
      reasoning: answers.map(({ reasoning }) => reasoning).join("\n\n"),
      // A call may be heard of before the one before it.
      calls: answers.flatMap(({ calls }) => Object.values(calls)),
    }));
    for (const listener of [...this.#listeners]) listener();
  }
}
