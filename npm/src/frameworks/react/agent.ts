// An agent that answers in a page, and what it says while it does.

import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { createAgent, type Agent } from "../../agent.js";
import type { AgentOptions, SendOptions } from "../../agent/options.js";
import { ThreadkeepError } from "../../errors.js";
import type { Provider } from "../../generated/provider.js";
import type { Turn, TurnResult } from "../../turn.js";
import { current } from "./live.js";
import { useProvided } from "./provider.js";
import { THREAD } from "./thread.js";
import { Turns, type LiveTurn } from "./turns.js";

/** Options of a turn below a node: the thread that goes on from there, and what stops it. */
export type TurnOptions = Pick<SendOptions, "conversation" | "signal">;

/** An agent, and its turns that were begun here. */
export interface AgentState {
  /** The agent; `undefined` until the keep is open. */
  readonly agent: Agent | undefined;
  /** The turns under way, in the order in which they were begun. */
  readonly turns: readonly LiveTurn[];
  /** Why the last turn could not be carried out, or ended without an answer; `undefined` after the next one began. A turn that was stopped is no error. */
  readonly error: Error | undefined;
  /** Sends a message and has it answered, as {@link Agent.send}. Rejects with `closed` until the keep is open. */
  send(content: string, options?: SendOptions): Promise<TurnResult>;
  /** Answers once more what a node answered, as {@link Agent.again}. */
  again(nodeId: string, options?: TurnOptions): Promise<TurnResult>;
  /** Lets the model go on below a node, as {@link Agent.goOn}. */
  goOn(nodeId: string, options?: TurnOptions): Promise<TurnResult>;
  /** Carries an interrupted turn to its end, as {@link Agent.resume}. */
  resume(nodeId: string): Promise<TurnResult>;
  /** Ends all turns under way: what was said stays. */
  stop(): void;
}

/** Options of {@link useAgent}: those of `createAgent`, without the keep. */
export type UseAgentOptions<P extends Provider = Provider> = Omit<AgentOptions<P>, "keep">;

/**
 * An agent on the keep of the {@link KeepProvider} above, for as long as the component is there. Turns under way go on when it is gone. The
 * options of the first rendering hold: give the component another `key` for others.
 *
 * @param options those of `createAgent`, without the keep
 *
 * @example
 * ```jsx
 * const { send, stop, turns } = useAgent({ model: connect({ provider: "openai-chat", baseUrl: "http://localhost:11434/v1", model: "llama3.2" }) });
 * const ask = () => send("What colour is the sky?", { conversation: "ann-42" });
 * return turns.length > 0 ? <button onClick={stop}>Stop</button> : <button onClick={ask}>Ask</button>;
 * ```
 */
export function useAgent<P extends Provider = Provider>(options: UseAgentOptions<P>): AgentState {
  const { keep, share } = useProvided();
  const [given] = useState(options);
  const [agent, setAgent] = useState<Agent>();
  const [error, setError] = useState<Error>();
  const [under] = useState(() => new Turns());
  const turns = useSyncExternalStore(under.subscribe, under.get, under.get);
  const here = useRef<Agent>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the share belongs to the keep
  useEffect(() => {
    if (keep === undefined) return;
    // The keep stays open for what the agent has begun.
    const held = share();
    let made: Agent | undefined;
    try {
      made = createAgent({ ...given, keep } as AgentOptions<P>);
    } catch (error) {
      setError(error as Error);
    }
    here.current = made;
    setAgent(made);
    return () => {
      here.current = undefined;
      setAgent(undefined);
      void made?.close().finally(() => held?.end());
      if (made === undefined) held?.end();
    };
  }, [keep, given]);
  const follow = useCallback(
    async (begin: (agent: Agent) => Turn, conversation?: string): Promise<TurnResult> => {
      const agent = here.current;
      if (agent === undefined || keep === undefined) throw new ThreadkeepError("closed", "the keep is not open yet: wait until useAgent() gives an agent");
      setError(undefined);
      const turn = begin(agent);
      const key = under.add(conversation);
      const unwatch = keep.on("change", (event) => void under.change(key, event, keep));
      try {
        for await (const event of turn) under.take(key, event, keep);
        const result = await turn;
        if (result.outcome !== "answered" && result.outcome !== "cancelled" && result.reason !== undefined) setError(new Error(result.reason));
        return result;
      } catch (error) {
        setError(error as Error);
        throw error;
      } finally {
        unwatch();
        await current(keep, THREAD);
        under.remove(key);
      }
    },
    [keep, under],
  );
  const acts = useMemo(
    () => ({
      send: (content: string, how?: SendOptions) => follow((agent) => agent.send(content, how), how?.conversation),
      again: (nodeId: string, how?: TurnOptions) => follow((agent) => agent.again(nodeId, how), how?.conversation),
      goOn: (nodeId: string, how?: TurnOptions) => follow((agent) => agent.goOn(nodeId, how), how?.conversation),
      resume: (nodeId: string) => follow((agent) => agent.resume(nodeId)),
      stop: () => here.current?.stop(),
    }),
    [follow],
  );
  return { agent, turns, error, ...acts };
}
