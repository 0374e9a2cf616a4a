// What a tool is, whichever face shows it: a name, words and a schema for the model, and a function that answers whatever the model
// sends. An answer is a text of bounded length; what goes wrong is an answer, too.

import { reportUncaught, ThreadkeepError } from "../errors.js";
import { readArguments, ToolFailure, type ObjectSchema } from "./schema.js";

/** What belongs together, to be chosen together: see {@link MemoryToolsOptions.include}. */
export type ToolGroup = "search" | "conversations" | "facts" | "episodes" | "files";

/** What a call is given beside its arguments. */
export interface ToolCallOptions {
  /** Ends the call: it answers at once that it was cancelled, and nothing more is read. */
  signal?: AbortSignal | undefined;
  /** Called as long work goes on: how much is done of how much, and what is being done. */
  onProgress?: ((done: number, total: number, message: string) => void) | undefined;
}

/** What a tool answers. */
export interface ToolAnswer {
  /** What the model reads: JSON text of `data`, or the words of a file command. */
  text: string;
  /** The same as an object, where the tool has an `outputSchema`. */
  data?: object;
  /** Whether it says what went wrong. */
  isError: boolean;
}

/** A tool for a model. */
export interface MemoryTool {
  /** Its name, with the prefix that was asked for. */
  readonly name: string;
  /** Its name for people. */
  readonly title: string;
  /** What it does and when to use it, for the model. */
  readonly description: string;
  /** The JSON Schema of its arguments. */
  readonly inputSchema: ObjectSchema;
  /** The JSON Schema of `data` of its answers; none where it answers in words alone. */
  readonly outputSchema?: ObjectSchema;
  /** What it belongs to. */
  readonly group: ToolGroup;
  /** Whether it changes nothing. */
  readonly readOnly: boolean;
  /** Whether it deletes or overwrites something. */
  readonly destructive: boolean;
  /** Whether calling it twice does no more than calling it once. */
  readonly idempotent: boolean;
  /**
   * Answers a call with the text for the model. It never rejects: wrong arguments, missing things, a keep that is closed and
   * a cancelled call are answers that say so.
   *
   * @param input the arguments as the model wrote them, JSON text or already read
   */
  execute(input: unknown, options?: ToolCallOptions): Promise<string>;
  /** The same, with whether it went wrong, and as an object. It never rejects. */
  answer(input: unknown, options?: ToolCallOptions): Promise<ToolAnswer>;
}

/** How a tool is written down here. @internal */
export interface ToolSpec {
  name: string;
  title: string;
  description: string;
  group: ToolGroup;
  inputSchema: ObjectSchema;
  outputSchema?: ObjectSchema;
  readOnly: boolean;
  destructive?: boolean;
  idempotent?: boolean;
  /** Gives an object for `data`, or words; throws {@link ToolFailure} with words for the model. */
  run(input: Record<string, unknown>, options: ToolCallOptions): Promise<object | string>;
}

/** Makes the tool. @internal */
export function tool(spec: ToolSpec, prefix: string): MemoryTool {
  const answer = (input: unknown, options: ToolCallOptions = {}): Promise<ToolAnswer> => answered(spec, input, options);
  return {
    name: prefix + spec.name,
    title: spec.title,
    description: spec.description,
    inputSchema: structuredClone(spec.inputSchema),
    ...(spec.outputSchema === undefined ? {} : { outputSchema: structuredClone(spec.outputSchema) }),
    group: spec.group,
    readOnly: spec.readOnly,
    destructive: spec.destructive ?? false,
    idempotent: spec.idempotent ?? spec.readOnly,
    answer,
    execute: async (input, options) => (await answer(input, options)).text,
  };
}

async function answered(spec: ToolSpec, input: unknown, options: ToolCallOptions): Promise<ToolAnswer> {
  try {
    const given = readArguments(input, spec.inputSchema);
    const said = await ending(spec.run(given, told(options)), options.signal);
    if (typeof said === "string") return { text: said, isError: false };
    return { text: JSON.stringify(said), data: said, isError: false };
  } catch (error) {
    const words = failure(error);
    return { text: spec.outputSchema === undefined ? withError(words) : JSON.stringify({ error: words }), isError: true };
  }
}

/** The options with a progress that disturbs nobody, whatever it throws. */
function told({ signal, onProgress }: ToolCallOptions): ToolCallOptions {
  if (onProgress === undefined) return { signal };
  return {
    signal,
    onProgress: (done, total, message) => {
      try {
        onProgress(done, total, message);
      } catch (error) {
        reportUncaught(error);
      }
    },
  };
}

/** The promise, or a failure as soon as the signal says so. */
async function ending<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  work.catch(() => {});
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(new ToolFailure("The call was cancelled."));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (stop !== undefined) signal.removeEventListener("abort", stop);
  }
}

/** Throws where the call was cancelled: between the steps of long work. @internal */
export function goesOn(options: ToolCallOptions): void {
  if (options.signal?.aborted === true) throw new ToolFailure("The call was cancelled.");
}

/** What went wrong, in words for a model. @internal */
export function failure(error: unknown): string {
  if (error instanceof ToolFailure) return error.message;
  if (!(error instanceof ThreadkeepError)) return `The memory failed: ${error instanceof Error ? error.message : String(error)}`;
  switch (error.code) {
    case "bad-request":
    case "missing-node":
    case "missing-transcript":
    case "missing-thread":
    case "missing-memory":
      return sentence(error.message);
    case "closed":
      return "The memory is closed. Go on without it.";
    case "conflict":
    case "transient":
    case "blocked":
      return `The memory is busy: ${sentence(error.message)} Try again.`;
    case "quota":
      return "The memory is full: nothing was stored.";
    default:
      return `The memory failed (${error.code}): ${sentence(error.message)}`;
  }
}

function sentence(words: string): string {
  return /[.!?]$/.test(words) ? words : `${words}.`;
}

/** Words that a file command answers are as they are documented; all others say that they are an error. */
function withError(words: string): string {
  return /^(Error: |The path |No replacement was performed|File )/.test(words) ? words : `Error: ${words}`;
}
