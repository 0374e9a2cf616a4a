// One request to a model's function: what it may answer, read piece by piece.

import { isObject } from "../check.js";
import type { AgentModel, ModelCompletion, ModelPiece, ModelRequest } from "../types/agent.js";
import { AiSdk } from "./aisdk.js";
import { Anthropic } from "./anthropic.js";
import { Assembly, type Hear } from "./assembly.js";
import { failure, ModelError, reported } from "./failure.js";
import { openai } from "./openai.js";
import { valuesOf } from "./sse.js";

/** Asks a model; gives the answer as the engine takes it, and rejects with the JSON text of its failure. */
export async function ask(model: AgentModel, request: Omit<ModelRequest, "onDelta">, hear: Hear): Promise<string> {
  let begun = false;
  const heard: Hear = (piece) => {
    begun ||= !("retry" in piece || "warning" in piece);
    hear(piece);
  };
  let told = false;
  const answer = new Assembly((piece) => told || heard(piece));
  try {
    const onDelta = (piece: string | ModelPiece): void => {
      // From now on the function tells what is to be heard itself.
      told = true;
      new Assembly(heard).piece(typeof piece === "string" ? { text: piece } : piece);
    };
    await read(await model({ ...request, onDelta }), answer);
    return answer.json();
  } catch (error) {
    throw failure(error, begun || answer.open);
  }
}

async function read(given: unknown, answer: Assembly): Promise<void> {
  if (typeof given === "string") {
    // Clients hand on what they were sent, and at a wrong address that is a web page.
    if (/^\s*<(!doctype|html)\b/i.test(given)) throw new ModelError("bad-answer", "what came is a web page: is the address right?");
    answer.say(given);
  } else if (typeof Response === "function" && given instanceof Response) await stream(valuesOf(given), answer);
  else if (isObject(given) && isIterable(given["fullStream"])) await stream(given["fullStream"], answer);
  else if (isIterable(given)) await stream(given, answer);
  else await stream([given], answer);
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return isObject(value) && typeof (value as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === "function";
}

/** The order decides nothing: the forms have nothing in common by which one is taken for another. */
async function stream(items: AsyncIterable<unknown> | Iterable<unknown>, answer: Assembly): Promise<void> {
  const [anthropic, sdk] = [new Anthropic(), new AiSdk()];
  for await (const item of items) {
    if (typeof item === "string") answer.say(item);
    else if (!isObject(item)) throw new ModelError("bad-answer", `the model's function answered ${item === undefined ? "nothing" : String(item)}`);
    else if (!openai(item, answer) && !anthropic.read(item, answer) && !own(item, answer) && !sdk.read(item, answer))
      throw isObject(item["error"]) ? reported(item) : new ModelError("bad-answer", `the model's function answered something unknown, with ${Object.keys(item).join(", ") || "no fields"}`);
  }
}

/** Our own forms. */
function own(item: Record<string, unknown>, answer: Assembly): boolean {
  if (item["type"] !== undefined) return false;
  if (item["role"] !== undefined) answer.message(item);
  else if (isObject(item["message"]) || isObject(item["usage"]) || typeof item["finish"] === "string") answer.complete(item as ModelCompletion);
  else if (typeof item["text"] === "string" || typeof item["reasoning"] === "string" || typeof item["index"] === "number" || item["wasReasoning"] === true || typeof item["retry"] === "string" || typeof item["warning"] === "string")
    answer.piece(item as ModelPiece);
  else return false;
  return true;
}
