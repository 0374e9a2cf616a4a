// `threadkeep/webmcp`: a keep's tools for the browser's agent, where the browser has WebMCP. Its draft has changed its shape more than
// once; the ones that browsers shipped are known here, the newest first. Nothing happens where there is none of them.

import * as check from "../check.js";
import { ThreadkeepError } from "../errors.js";
import type { Threadkeep } from "../threadkeep.js";
import type { MemoryTool } from "./tool.js";
import { memoryTools, TOOLS_OPTIONS, type MemoryToolsOptions } from "./tools.js";

/** Which tools are registered, and for how long. */
export interface RegisterToolsOptions extends MemoryToolsOptions {
  /** Takes the tools away when it is aborted. */
  signal?: AbortSignal;
  /** Origins of frames in this page that may see the tools, too. Where the browser cannot, they do not. */
  exposedTo?: readonly string[];
}

/** A tool as the draft describes it. */
interface DraftTool {
  name: string;
  title: string;
  description: string;
  inputSchema: object;
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; consequentialHint: boolean; untrustedContentHint: boolean };
  execute(input: unknown, context?: unknown): Promise<unknown>;
}

interface ModelContext {
  registerTool?(tool: DraftTool, options?: { signal?: AbortSignal; exposedTo?: readonly string[] }): unknown;
  unregisterTool?(name: string): unknown;
  provideContext?(context: { tools: DraftTool[] }): unknown;
  clearContext?(): unknown;
}

const OPTIONS = {
  ...TOOLS_OPTIONS,
  signal: check.signal,
  exposedTo: (value: unknown, argument: string) => {
    if (!Array.isArray(value)) throw new ThreadkeepError("bad-request", `${argument} must be a list of origins`, { argument });
    return value.map((origin, index) => check.text(origin, `${argument}[${index}]`));
  },
} as const;

/**
 * Whether this page has WebMCP: `document.modelContext`, or its older place at `navigator`.
 *
 * @example
 * ```ts
 * button.hidden = !hasWebMcp();
 * ```
 */
export function hasWebMcp(): boolean {
  return modelContext() !== undefined;
}

/**
 * Registers a keep's tools with the browser's agent. Without `readOnly: false` only those that change nothing: the agent works for
 * whoever sits at the browser, and what it is told may come from elsewhere. All tools say that what they give is untrusted.
 *
 * @returns a function that takes the tools away; `false` where the browser has no WebMCP
 * @throws ThreadkeepError `bad-request` for an option that is not known, or a name that the page has registered already;
 * `unavailable` where the page may not register tools (`details.reason`); `cancelled` by its signal. None of the tools is registered then.
 *
 * @example
 * ```ts
 * const unregister = await registerTools(keep, { prefix: "notes_" });
 * if (unregister === false) console.log("this browser has no WebMCP");
 * ```
 */
export async function registerTools(keep: Threadkeep, options?: RegisterToolsOptions): Promise<(() => void) | false> {
  const { signal, exposedTo, ...rest } = check.options(options, "options", OPTIONS) as RegisterToolsOptions;
  const tools = memoryTools(keep, { readOnly: true, ...rest }).map(drafted);
  const context = modelContext();
  if (context === undefined) return false;
  ended(signal);
  const ending = new AbortController();
  const undo: (() => void)[] = [];
  const unregister = (): void => {
    ending.abort();
    for (const step of undo.splice(0)) step();
    signal?.removeEventListener("abort", unregister);
  };
  try {
    if (context.registerTool !== undefined) {
      const how = { signal: ending.signal, ...(exposedTo === undefined ? {} : { exposedTo }) };
      // All at once: a page that is just opening has them before anybody looks.
      const given = tools.map((tool) => attempt(() => context.registerTool?.(tool, how), tool.name, context, undo));
      const failed = (await Promise.allSettled(given)).find((one) => one.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    } else {
      await context.provideContext?.({ tools });
      undo.push(() => void (context.clearContext === undefined ? context.provideContext?.({ tools: [] }) : context.clearContext()));
    }
    ended(signal);
  } catch (error) {
    unregister();
    throw refused(error);
  }
  signal?.addEventListener("abort", unregister, { once: true });
  return unregister;
}

async function attempt(register: () => unknown, name: string, context: ModelContext, undo: (() => void)[]): Promise<void> {
  const given = await register();
  // The older shape: a handle, or a method that takes the tool's name. Where the signal did it, there is neither.
  const handle = given as { unregister?: () => void } | undefined;
  if (typeof handle?.unregister === "function") undo.push(() => handle.unregister?.());
  else if (context.unregisterTool !== undefined) undo.push(() => void context.unregisterTool?.(name));
}

function ended(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new ThreadkeepError("cancelled", "registering tools was cancelled");
}

function modelContext(): ModelContext | undefined {
  const { document, navigator } = globalThis as { document?: { modelContext?: unknown }; navigator?: { modelContext?: unknown } };
  for (const place of [document, navigator]) {
    const found = place?.modelContext;
    if (typeof found !== "object" || found === null) continue;
    const context = found as ModelContext;
    if (typeof context.registerTool === "function" || typeof context.provideContext === "function") return context;
  }
  return undefined;
}

function drafted({ name, title, description, inputSchema, readOnly, destructive, answer }: MemoryTool): DraftTool {
  return {
    name,
    title,
    description,
    inputSchema,
    annotations: { readOnlyHint: readOnly, destructiveHint: destructive, consequentialHint: destructive, untrustedContentHint: true },
    async execute(input, context) {
      const signal = (context as { signal?: unknown } | undefined)?.signal;
      const { text, isError } = await answer(input, signal instanceof AbortSignal ? { signal } : {});
      return { content: [{ type: "text", text }], ...(isError ? { isError } : {}) };
    },
  };
}

function refused(error: unknown): ThreadkeepError {
  if (error instanceof ThreadkeepError) return error;
  const { name = "Error", message = String(error) } = (error ?? {}) as { name?: string; message?: string };
  const words = `the browser did not take the tools: ${message}`;
  // InvalidStateError: a name that is taken. What is left is the page's right to register tools at all.
  return new ThreadkeepError(name === "InvalidStateError" ? "bad-request" : "unavailable", words, { reason: name }, error);
}
