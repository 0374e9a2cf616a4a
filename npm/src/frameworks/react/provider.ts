// The keep of a tree of components.

import { createContext, createElement, useCallback, useContext, useEffect, useMemo, useState, type ReactElement, type ReactNode } from "react";
import type { OpenOptions } from "../../options.js";
import type { Threadkeep } from "../../threadkeep.js";
import { lease, lent, type Lease } from "./keeps.js";

/** The keep of the components below a {@link KeepProvider}. */
export interface KeepState {
  /** `opening` until it is open; on a server, always. */
  readonly status: "opening" | "open" | "failed";
  /** The keep, once it is open. */
  readonly keep: Threadkeep | undefined;
  /** Why it cannot be opened. */
  readonly error: Error | undefined;
  /** Opens it again after a failure. */
  retry(): void;
}

/** Properties of {@link KeepProvider}: a keep of yours, which you close yourself, or the options of one, which is opened and closed for you. */
export type KeepProviderProps = { children?: ReactNode } & ({ keep: Threadkeep; options?: undefined } | { keep?: undefined; options?: OpenOptions });

interface Provided extends KeepState {
  /** Another share in the keep, for work that outlives the components. */
  share(): Lease | undefined;
}

const Context = createContext<Provided | undefined>(undefined);

/**
 * Gives the components below it a keep. It is opened when the first provider with its options mounts, and closed a second after the last
 * one is gone. So StrictMode and a hot reload keep it open. The options of the first rendering hold: give another `key` for others.
 *
 * @example
 * ```jsx
 * createRoot(root).render(
 *   <KeepProvider options={{ name: "my-app" }}>
 *     <Chat />
 *   </KeepProvider>,
 * );
 * ```
 */
export function KeepProvider({ keep: own, options, children }: KeepProviderProps): ReactElement {
  const [given] = useState(options ?? {});
  const [tries, setTries] = useState(0);
  const [state, setState] = useState<{ keep?: Threadkeep; error?: Error; share?: Lease }>({});
  // biome-ignore lint/correctness/useExhaustiveDependencies: another try takes another lease
  useEffect(() => {
    const share = own === undefined ? lease(given) : lent(own);
    let here = true;
    share.keep.then(
      (keep) => here && setState({ keep, share }),
      (error: Error) => here && setState({ error }),
    );
    return () => {
      here = false;
      share.end();
    };
  }, [own, given, tries]);
  const retry = useCallback(() => {
    setState({});
    setTries((count) => count + 1);
  }, []);
  // One of the user's is there at once, and another one takes its place in the same rendering.
  const owned = useMemo(() => (own === undefined ? undefined : { keep: own, share: lent(own) }), [own]);
  const { keep, error, share }: typeof state = owned ?? state;
  const provided = useMemo<Provided>(
    () => ({
      status: keep !== undefined ? "open" : error !== undefined ? "failed" : "opening",
      keep,
      error,
      retry,
      share: () => share?.again(),
    }),
    [keep, error, retry, share],
  );
  return createElement(Context.Provider, { value: provided }, children);
}

/** What {@link KeepProvider} gives, for our own hooks. */
export function useProvided(): Provided {
  const provided = useContext(Context);
  if (provided === undefined) throw new Error("there is no <KeepProvider> above this component: put one around the components that use Threadkeep");
  return provided;
}

/**
 * The keep of the {@link KeepProvider} above, and how far it is.
 *
 * @throws Error in a component without a provider
 *
 * @example
 * ```jsx
 * const { keep, status, error } = useKeep();
 * if (status === "failed") return <p>{error.message}</p>;
 * ```
 */
export function useKeep(): KeepState {
  return useProvided();
}
