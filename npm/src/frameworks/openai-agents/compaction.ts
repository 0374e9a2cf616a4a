// Compaction of a session: our summariser where the SDK expects OpenAI's endpoint, and a session that compacts itself. What is
// summarised stays on the branch that is left.

// Whoever imports nothing else of this package needs the module, too.
import "../../places.js";
import type { AgentInputItem, OpenAIResponsesCompactionAwareSession, OpenAIResponsesCompactionResult, Session } from "@openai/agents-core";
import * as check from "../../check.js";
import { badArgument } from "../../errors.js";
import { countTokens } from "../../prompts.js";
import { Threadkeep } from "../../threadkeep.js";
import type { CompactOptions } from "../../compaction.js";
import type { Compaction } from "../../generated/compaction.js";
import { itemsByMessage, toMessages } from "./messages.js";
import { ThreadkeepSession, type ThreadkeepSessionOptions } from "./session.js";

/** How the old part of a session is summarised: as `thread.compact` takes it. */
export type SessionCompactOptions = Omit<CompactOptions, "preview" | "pins">;

/** Options of {@link compactionClient}. */
export interface CompactionClientOptions extends SessionCompactOptions {
  /** The session whose history is compacted: the `underlyingSession`. */
  session: Session;
}

/** What the SDK's compaction session needs of an OpenAI client. */
export interface CompactionClient {
  responses: {
    /** Compacts the session's history, whatever the request brings: gives the summary and what follows it. */
    compact(request?: unknown): Promise<CompactedResponse>;
  };
}

/** What compacting gives, as OpenAI's endpoint says it. */
export interface CompactedResponse {
  id: string;
  object: "response.compaction";
  created_at: number;
  output: AgentInputItem[];
  usage: { input_tokens: number; output_tokens: number; total_tokens: number };
}

/** A history after a compaction: what stands for its beginning, what follows, and what it took. */
interface Compacted {
  /** The items that are replaced. */
  beginning: AgentInputItem[];
  /** Instructions among them, and the summary. */
  replacement: AgentInputItem[];
  rest: AgentInputItem[];
  cost: Compaction["cost"];
}

/**
 * A client for the SDK's `OpenAIResponsesCompactionSession` that needs no OpenAI: our compaction with a model of yours, or with
 * the built-in summariser. The last turns stay as they are, and so do instructions.
 *
 * @throws ThreadkeepError `bad-request`
 *
 * @example
 * ```ts
 * const session = new OpenAIResponsesCompactionSession({
 *   underlyingSession,
 *   client: compactionClient({ session: underlyingSession, keepTurns: 2 }) as any,
 *   compactionMode: "input",
 *   shouldTriggerCompaction: compactAbove(60_000),
 * });
 * ```
 */
export function compactionClient(options: CompactionClientOptions): CompactionClient {
  const { session, ...how } = { ...(options as Partial<CompactionClientOptions>) };
  if (typeof session?.getItems !== "function") throw badArgument("options.session", "must be a session");
  return {
    responses: {
      async compact() {
        const inside = session instanceof ThreadkeepSession;
        const { replacement, rest, cost } = inside ? await inKeep(session, how) : await aside(await session.getItems(), how);
        const { inputTokens, outputTokens } = cost;
        return {
          id: `cmp_${crypto.randomUUID()}`,
          object: "response.compaction",
          created_at: Math.floor(Date.now() / 1000),
          output: [...replacement, ...rest].map(forWrapper),
          usage: { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: inputTokens + outputTokens },
        };
      },
    },
  };
}

/**
 * For `shouldTriggerCompaction`: whether the session's history has more tokens than this.
 *
 * @throws ThreadkeepError `bad-request` for what is no whole number from 0 on
 */
export function compactAbove(tokens: number): (context: { sessionItems: AgentInputItem[] }) => Promise<boolean> {
  const limit = check.count(tokens, "tokens");
  return async ({ sessionItems }) => (await countTokens(toMessages(sessionItems))) > limit;
}

/** Options of {@link CompactingSession}. */
export interface CompactingSessionOptions extends ThreadkeepSessionOptions {
  /** From how many tokens on the history is compacted after a run. */
  above: number;
  /** How; with the built-in summariser without it. */
  compact?: SessionCompactOptions;
}

/**
 * A session that compacts itself: after a run that left it with more than `above` tokens, a summary stands for the old turns. It is
 * one step, also where others add to the session meanwhile; what was before is one of the {@link ThreadkeepSession.past}.
 *
 * @example
 * ```ts
 * const session = new CompactingSession(keep, { sessionId: "ann", above: 60_000, compact: { summarize: myModel } });
 * await run(agent, "Good morning!", { session });
 * ```
 */
export class CompactingSession extends ThreadkeepSession implements OpenAIResponsesCompactionAwareSession {
  readonly #due: (context: { sessionItems: AgentInputItem[] }) => Promise<boolean>;
  readonly #how: SessionCompactOptions;

  /** @throws ThreadkeepError `bad-request` */
  constructor(keep: Threadkeep, options: CompactingSessionOptions) {
    const { above, compact = {}, ...rest } = { ...(options as CompactingSessionOptions | undefined) };
    super(keep, rest);
    this.#due = compactAbove(check.count(above, "options.above"));
    this.#how = compact;
  }

  /** Called by the runner after a turn was stored; with `force`, compacts whatever there is. Gives what it took, or `null` where nothing was to be done. */
  async runCompaction(args?: { force?: boolean }): Promise<OpenAIResponsesCompactionResult | null> {
    if (args?.force !== true && !(await this.#due({ sessionItems: await this.getItems() }))) return null;
    const { beginning, replacement, cost } = await inKeep(this, this.#how);
    if (beginning.length === 0) return null;
    await this.replaceBeginning(beginning, replacement);
    return { usage: usageOf(cost.inputTokens, cost.outputTokens) };
  }
}

/**
 * An item as the SDK's wrapper takes it: it reads a user's messages as OpenAI's endpoint writes them, in parts, with pictures and files of
 * another form than items have. Those it leaves alone when they do not say that they are messages, which items need not.
 */
function forWrapper(item: AgentInputItem): AgentInputItem {
  if (!("role" in item) || item.role !== "user") return item;
  if (typeof item.content === "string") return { ...item, type: "message", content: [{ type: "input_text", text: item.content }] };
  if (item.content.every(({ type }) => type === "input_text")) return item;
  const { type: _, ...rest } = item;
  return rest;
}

function usageOf(inputTokens: number, outputTokens: number): OpenAIResponsesCompactionResult["usage"] {
  const usage = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, inputTokensDetails: {}, outputTokensDetails: {} };
  return usage as OpenAIResponsesCompactionResult["usage"];
}

/** Compacts where the session lies, so that the checkpoint, its episodes and facts are in the keep. */
async function inKeep(session: ThreadkeepSession, how: SessionCompactOptions): Promise<Compacted> {
  const compaction = await session.keep.thread(session.thread).compact(how);
  const messages = await session.keep.thread(session.thread).messages();
  return after(compaction, itemsByMessage(messages), messages);
}

/** Compacts a copy. */
async function aside(items: AgentInputItem[], how: SessionCompactOptions): Promise<Compacted> {
  const keep = await Threadkeep.open({ storage: "memory" });
  try {
    if (items.length > 0) await keep.thread("items").append(toMessages(items));
    const compaction = await keep.thread("items").compact(how);
    const messages = await keep.thread("items").messages();
    return after(compaction, itemsByMessage(messages), messages);
  } finally {
    await keep.close();
  }
}

function after(compaction: Compaction, items: AgentInputItem[][], messages: readonly { role: string }[]): Compacted {
  const { checkpoint, summaryMessages, cost } = compaction;
  const end = checkpoint?.covers.messages ?? 0;
  const instructions = items.slice(0, end).filter((_, index) => messages[index]?.role === "system");
  const summary = checkpoint === null ? [] : itemsByMessage(summaryMessages);
  return { beginning: items.slice(0, end).flat(), replacement: [...instructions, ...summary].flat(), rest: items.slice(end).flat(), cost };
}
