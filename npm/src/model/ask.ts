// One request to a model's function: what it may answer, read piece by piece.

import { isObject } from "../check.js";
import type { AgentModel, ModelCompletion, ModelPiece, ModelRequest } from "./model.js";
import { AiSdk } from "./aisdk.js";
import { Assembly, type Hear } from "./assembly.js";
import { failure, ModelError } from "./failure.js";
import { limited } from "./limits.js";
import { Provided } from "./provided.js";

/** Asks a model; gives the answer as the engine takes it, and rejects with the JSON text of its failure. */
export async function ask(model: AgentModel, request: Omit<ModelRequest, "onDelta">, hear: Hear): Promise<string> {
  let begun = false;
  const heard: Hear = (piece) => {
    begun ||= !("retry" in piece || "warning" in piece);
    hear(piece);
  };
  let told = false;
  const own: Hear = (piece) => told || heard(piece);
  const limits = limited(model.limits);
  let provided: Provided | undefined;
  try {
    const answer = new Assembly(own, limits);
    const names = request.tools.map(({ name }) => name);
    const of = (provided = await Provided.begin(names, model.limits, own as (piece: ModelPiece) => void));
    const onDelta = (piece: string | ModelPiece): void => {
      // From now on the function tells what is to be heard itself.
      told = true;
      new Assembly(heard, limits).piece(typeof piece === "string" ? { text: piece } : piece);
    };
    await inTime(limits.millis, request.signal, async (signal) => {
      try {
        await read(await model({ ...request, signal, onDelta }), answer, of);
      } catch (error) {
        // What ended before the connection did is whole.
        if (signal.aborted || error instanceof ModelError || !of.begun || !of.isWhole) throw error;
      }
    });
    return of.begun ? of.json() : answer.json();
  } catch (error) {
    throw failure(error, begun || provided?.begun === true);
  } finally {
    provided?.free();
  }
}

/** Does something with a signal that also ends when it takes too long. */
async function inTime(millis: number, outer: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  // A function that goes on after it was stopped must not keep the process alive.
  const end = (): void => {
    clearTimeout(timer);
    controller.abort(outer.reason);
  };
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new ModelError("stalled", `The model did not end its answer within ${Math.ceil(millis / 1000)} s (\`limits.millis\`).`);
      reject(error);
      controller.abort(error);
    }, millis);
    // It alone keeps no Node process alive: whether anything else does is the function's business.
    (timer as { unref?: () => void }).unref?.();
  });
  if (outer.aborted) end();
  outer.addEventListener("abort", end);
  try {
    await Promise.race([work(controller.signal), late]);
  } finally {
    clearTimeout(timer);
    outer.removeEventListener("abort", end);
  }
}

async function read(given: unknown, answer: Assembly, provided: Provided): Promise<void> {
  if (typeof given === "string") {
    // Clients hand on what they were sent, and at a wrong address that is a web page.
    if (/^\s*<(!doctype|html)\b/i.test(given)) throw new ModelError("bad-answer", "what came is a web page: is the address right?");
    answer.say(given);
  } else if (typeof Response === "function" && given instanceof Response) await provided.response(given);
  else if (isObject(given) && isIterable(given["fullStream"])) await stream(given["fullStream"], answer, provided);
  else if (isIterable(given)) await stream(given, answer, provided);
  else await stream([given], answer, provided);
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return isObject(value) && typeof (value as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === "function";
}

async function stream(items: AsyncIterable<unknown> | Iterable<unknown>, answer: Assembly, provided: Provided): Promise<void> {
  const sdk = new AiSdk();
  for await (const item of items) {
    if (typeof item === "string") answer.say(item);
    else if (!isObject(item)) throw new ModelError("bad-answer", `the model's function answered ${item === undefined ? "nothing" : String(item)}`);
    else if (!own(item, answer) && !sdk.read(item, answer) && !provided.item(item) && typeof item["type"] !== "string")
      throw new ModelError("bad-answer", `the model's function answered something unknown, with ${Object.keys(item).join(", ") || "no fields"}`);
  }
}

/** What tells a provider's form from ours. */
const PROVIDERS = ["choices", "candidates", "object", "done", "type", "error"];

/** Our own forms. */
function own(item: Record<string, unknown>, answer: Assembly): boolean {
  if (PROVIDERS.some((name) => item[name] !== undefined)) return false;
  if (item["role"] !== undefined) answer.message(item);
  else if (isObject(item["message"]) || isObject(item["usage"]) || typeof item["finish"] === "string") answer.complete(item as ModelCompletion);
  else if (
    typeof item["text"] === "string" ||
    typeof item["reasoning"] === "string" ||
    typeof item["index"] === "number" ||
    item["wasReasoning"] === true ||
    typeof item["retry"] === "string" ||
    typeof item["warning"] === "string"
  )
    answer.piece(item as ModelPiece);
  else return false;
  return true;
}
