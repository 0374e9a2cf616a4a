// What the engine calls of an agent's user: the model, the tools, whoever listens.

import * as check from "../check.js";
import { read } from "../mail.js";
import { ask } from "../model/ask.js";
import { words } from "../model/failure.js";
import { now } from "../runtime.js";
import { answered } from "../compaction.js";
import { validated } from "./schema.js";
import type { AgentTool } from "./options.js";
import type { Summarize, SummaryRequest } from "../compaction.js";
import type { AgentModel, ModelRequest } from "../model/model.js";
import type { AgentEvent } from "../generated/agent.js";

/** What a host calls. @internal */
export interface HostFunctions {
  model: AgentModel;
  tools: Iterable<readonly [string, AgentTool]>;
  /** Hears all events. */
  heard: (event: AgentEvent) => void;
  /** Waits for the claim on a turn, and gives what gives it back. */
  hold: (node: string) => Promise<() => void>;
  /** What a memory service remembers. */
  recall: (conversation: string, query: string) => Promise<string>;
  /** Summarises, if a function of the user's does. */
  summarize: Summarize | undefined;
}

/** The functions of a user's, as the engine calls them. @internal */
export class Host {
  readonly #model: AgentModel;
  readonly #tools: ReadonlyMap<string, AgentTool>;
  readonly #heard: (event: AgentEvent) => void;
  /** Waits for the claim on a turn; see {@link claim}. */
  readonly hold: (node: string) => Promise<() => void>;
  /** What a memory service remembers; empty if there is none. */
  readonly recall: (conversation: string, query: string) => Promise<string>;
  readonly #summarize: Summarize | undefined;
  /** The calls that are waited for. */
  readonly #calls = new Map<number, AbortController>();

  constructor(user: HostFunctions) {
    this.#model = user.model;
    this.#tools = new Map(user.tools);
    this.#heard = user.heard;
    this.hold = user.hold;
    this.recall = user.recall;
    this.#summarize = user.summarize;
  }

  /** Asks the model; gives the answer as JSON text, or rejects with that of a failure. */
  ask(json: string, call: number, hear: (json: string) => void): Promise<string> {
    const request = JSON.parse(json) as Omit<ModelRequest, "signal" | "onDelta">;
    request.tools = request.tools.map(({ name, description, parameters }) => {
      return {
        name,
        ...(typeof description === "string" ? { description } : {}),
        parameters: check.isObject(parameters) ? parameters : { type: "object", properties: {} },
      };
    });
    return this.#call(call, (signal) => {
      return ask(this.#model, { ...request, signal }, (piece) => {
        // Functions that go on after they were ended speak to nobody.
        if (this.#calls.get(call)?.signal === signal && !signal.aborted) now(() => hear(JSON.stringify(piece)));
      });
    });
  }

  /** Calls a tool; gives the result as JSON text, or rejects with words. */
  use(json: string, call: number): Promise<string> {
    const { id, name, arguments: args, node } = JSON.parse(json) as { id: string; name: string; arguments: unknown; node: string };
    return this.#call(call, async (signal) => {
      try {
        const tool = this.#tools.get(name);
        if (tool === undefined) throw new Error(`there is no tool ${name}`);
        const given = tool.schema === undefined ? args : await validated(tool.schema, args);
        const result = (await tool.execute(given, { id, name, node, signal })) ?? null;
        const json = check.json(result, "the result");
        if (json.includes("\ufffd") && json !== JSON.stringify(result))
          this.#heard({ type: "delta", node, warning: `The result of the tool ${name} was cut inside a character: U+FFFD stands for the half` });
        return json;
      } catch (error) {
        throw words(error) || "the tool failed without a word";
      }
    });
  }

  /** Asks the function that summarises; gives a message as JSON text, or rejects with words. */
  summarise(json: string, call: number): Promise<string> {
    return this.#call(call, async (signal) => {
      try {
        if (this.#summarize === undefined) throw new Error("there is no function that summarises");
        return answered(await this.#summarize({ ...(JSON.parse(json) as Omit<SummaryRequest, "signal">), signal }));
      } catch (error) {
        throw words(error) || "the summariser failed";
      }
    });
  }

  /** A call is no longer waited for. */
  end(call: number): void {
    this.#calls.get(call)?.abort(new DOMException("nobody waits for it any more", "AbortError"));
  }

  /** Something happened. */
  tell(json: string): void {
    const event = JSON.parse(json) as AgentEvent;
    if (event.type === "sent") read(event.mail);
    this.#heard(event);
  }

  async #call(call: number, work: (signal: AbortSignal) => Promise<string>): Promise<string> {
    const controller = new AbortController();
    this.#calls.set(call, controller);
    try {
      return await work(controller.signal);
    } finally {
      this.#calls.delete(call);
    }
  }
}
