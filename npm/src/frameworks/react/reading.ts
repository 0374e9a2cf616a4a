// What a model would be sent of a thread, and what a search finds.

import { useDeferredValue } from "react";
import type { Context, ContextOptions } from "../../generated/context.js";
import type { Provider } from "../../generated/provider.js";
import type { SearchOptions } from "../../options.js";
import type { SearchHits } from "../../search.js";
import { useKept, useLive, type Loaded } from "./live.js";
import { useKeep } from "./provider.js";
import { concernsAll } from "./thread.js";

/**
 * The prompt that a thread's next request would have, with the ledger that says of each message whether it is in it and why. It follows
 * the thread, its settings and the memory. While other options are read, the value is that of the earlier ones. A thread that nobody has
 * begun has no value. An agent's system prompt and tools are in it where `options` have them; `agent.nextRequest()` gives an agent's request
 * itself.
 *
 * @param name the thread's name, or a node's id
 * @param options those of `thread.context()`; plain data
 *
 * @example
 * ```jsx
 * const { value: context } = useContextLedger("ann-42", { budget: { maxTokens } });
 * return context && <progress max={maxTokens} value={context.tokens} />;
 * ```
 */
export function useContextLedger<P extends Provider = "openai-chat">(name: string, options?: ContextOptions<P>): Loaded<Context<P> | undefined> {
  const { keep } = useKeep();
  return useKept(
    useLive<Context<P> | undefined>(keep, {
      key: `context ${name} ${JSON.stringify(options)}`,
      async read(keep) {
        if ((await keep.thread(name).head()) === null && (await keep.node(name)) === null) return undefined;
        const context = (await keep.at(name).context(options)) as Context<P>;
        // It is read from the engine's memory when it is first looked at, which a component may never do.
        void context.ledger;
        return context;
      },
      concerns: (event) => concernsAll(event) || event.type === "settings" || event.type === "memory",
    }),
  );
}

/**
 * What a search finds, while one types: the hits of the words before stay until there are newer ones. A blank query finds nothing.
 *
 * @param query words, `"phrases"`, `prefix*`, `-without`
 * @param options those of `keep.search()`; plain data
 *
 * @example
 * ```jsx
 * const { value: hits = [] } = useSearch(words, { limit: 20 });
 * ```
 */
export function useSearch(query: string, options?: SearchOptions): Loaded<SearchHits> {
  const { keep } = useKeep();
  const words = useDeferredValue(query.trim());
  return useKept(
    useLive<SearchHits>(keep, {
      key: `search ${JSON.stringify([words, options])}`,
      read: async (keep) => keep.search(words, options),
      concerns: concernsAll,
    }),
  );
}
