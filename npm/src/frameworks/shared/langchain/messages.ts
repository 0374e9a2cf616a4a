// LangChain's messages in Threadkeep's form and back. What can be told from our form is told from it; the rest of LangChain's fields rides along
// in a field of its own, `langchain`, so that what comes back is what went in. Where our form was changed meanwhile, as prompts do, it decides.

import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
  type BaseMessage,
} from "@langchain/core/messages";
import { isObject } from "../../../check.js";
import { badArgument } from "../../../errors.js";
import type { Message, MessageInput } from "../../../message.js";
import { contentOf } from "./content.js";
import { same } from "../json.js";
import { fromPlain, longTexts, share, toPlain, unshare } from "./codec.js";

type Fields = Record<string, unknown>;
type Ours = Fields & { role: string };

/** What rides along with a message that came from LangChain. */
interface Along {
  /** The class, where the role does not tell it. */
  class?: string;
  /** Fields that our form does not tell, or tells otherwise. */
  fields?: Fields;
  /** Fields that our form tells and the message does not have. */
  without?: string[];
}

const CLASSES = {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} as unknown as Readonly<Record<string, new (fields: Fields) => BaseMessage>>;

/** The class for a type of LangChain's. */
const BY_TYPE: Readonly<Record<string, string>> = {
  ai: "AIMessage",
  human: "HumanMessage",
  system: "SystemMessage",
  developer: "SystemMessage",
  tool: "ToolMessage",
  function: "FunctionMessage",
  generic: "ChatMessage",
  remove: "RemoveMessage",
};

/** The class for a role of ours; all others are chat messages of that role. */
const BY_ROLE: Readonly<Record<string, string>> = {
  assistant: "AIMessage",
  user: "HumanMessage",
  system: "SystemMessage",
  developer: "SystemMessage",
  tool: "ToolMessage",
  function: "FunctionMessage",
  remove: "RemoveMessage",
};

/** What a message may hold beside what it was made with. */
const OWN = [
  "id",
  "name",
  "content",
  "additional_kwargs",
  "response_metadata",
  "tool_calls",
  "invalid_tool_calls",
  "usage_metadata",
  "tool_call_chunks",
  "tool_call_id",
  "status",
  "artifact",
  "metadata",
  "role",
];
/** Fields that say what our form says, too: they go where that was changed, and long texts in them are stored once. */
const SAYS = ["content", "contentBlocks", "tool_calls", "invalid_tool_calls", "tool_call_chunks", "additional_kwargs"];
/** What a class makes of the others, or always is. */
const MADE = new Set(["type", "contentBlocks", "lc_direct_tool_output"]);
const DEVELOPER = "__openai_role__";

/**
 * A LangChain message in Threadkeep's form: counted, trimmed, rendered and searched like any other. {@link toLangChain} gives the same
 * message again.
 *
 * @throws ThreadkeepError `bad-request` for what is no LangChain message, or holds what JSON cannot carry
 *
 * @example
 * ```ts
 * await keep.thread("main").append(messages.map(fromLangChain));
 * ```
 */
export function fromLangChain(message: BaseMessage): MessageInput {
  return messageOf(message, "message");
}

/** Those of a list from a place on, by {@link fromLangChain}; an error says which of them is wrong. */
export function allFromLangChain(messages: readonly BaseMessage[], from = 0): MessageInput[] {
  if (!Array.isArray(messages)) throw badArgument("messages", "must be a list of LangChain messages");
  return messages.slice(from).map((message: BaseMessage, at) => messageOf(message, `messages[${from + at}]`));
}

function messageOf(message: BaseMessage, argument: string): MessageInput {
  const ours = coreOf(message, argument);
  const texts = textsOf(ours);
  const name = classOf(message);
  const told = fieldsOf(ours, name);
  const fields: Fields = {};
  const held = heldBy(message);
  for (const [field, value] of Object.entries(held)) {
    const plain = toPlain(value, `${argument}.${field}`);
    if (plain !== undefined && !same(plain, toPlain(told[field], field))) fields[field] = SAYS.includes(field) ? share(plain, texts) : plain;
  }
  const without = Object.keys(told).filter((field) => told[field] !== undefined && held[field] === undefined);
  const along: Along = {
    ...(name === (BY_ROLE[ours.role] ?? "ChatMessage") ? {} : { class: name }),
    ...(Object.keys(fields).length === 0 ? {} : { fields }),
    ...(without.length === 0 ? {} : { without }),
  };
  return Object.keys(along).length === 0 ? ours : { ...ours, langchain: along };
}

/**
 * A message of Threadkeep's as LangChain has it: the very message that {@link fromLangChain} was given, or, for one that came from
 * elsewhere, the one that says the same.
 *
 * @example
 * ```ts
 * const messages = (await keep.thread("main").messages()).map(toLangChain);
 * ```
 */
export function toLangChain(message: Message | MessageInput): BaseMessage {
  const { langchain, ...ours } = message as Ours & { langchain?: Along };
  const along: Along = isObject(langchain) ? langchain : {};
  const wanted = along.class !== undefined && Object.hasOwn(CLASSES, along.class) ? along.class : (BY_ROLE[ours.role] ?? "ChatMessage");
  const fields = fieldsOf(ours, wanted);
  if (along.fields === undefined && along.without === undefined) return make(wanted, fields);
  for (const field of along.without ?? []) delete fields[field];
  const stored = unshare(along.fields ?? {}, textsOf(ours));
  const whole = make(wanted, { ...fields, ...(fromPlain(stored) as Fields) });
  const again = coreOf(whole);
  const changed = ["content", "tool_calls"].filter((field) => !same(again[field] ?? null, ours[field] ?? null));
  if (changed.length === 0) return whole;
  // What our form says was changed since: it decides, and the provider's raw form of it goes.
  const rest = fromPlain(stored) as Fields;
  for (const field of SAYS) delete rest[field];
  const metadata = rest["response_metadata"];
  if (isObject(metadata))
    rest["response_metadata"] = Object.fromEntries(Object.entries(metadata).filter(([field]) => field !== "output_version" && field !== "output"));
  return make(wanted === "AIMessageChunk" ? "AIMessage" : wanted, { ...fieldsOf(ours, wanted), ...rest });
}

function make(name: string, fields: Fields): BaseMessage {
  const Class = CLASSES[name] as new (fields: Fields) => BaseMessage;
  return new Class(fields);
}

function classOf(message: BaseMessage): string {
  const named = (message.constructor as { lc_name?: () => string }).lc_name?.() ?? "";
  return Object.hasOwn(CLASSES, named) ? named : (BY_TYPE[message.getType()] ?? "ChatMessage");
}

/** The fields of a message: what it was made with, and what it holds now. */
function heldBy(message: BaseMessage): Fields {
  const made = message.lc_kwargs as Fields;
  const held: Fields = {};
  for (const field of new Set([...Object.keys(made), ...OWN])) {
    if (MADE.has(field)) continue;
    const value = field in message ? (message as unknown as Fields)[field] : made[field];
    if (value !== undefined) held[field] = value;
  }
  // Made of blocks: LangChain's own forms of it have no content beside them.
  if (made["contentBlocks"] !== undefined && !("content" in made)) {
    held["contentBlocks"] = held["content"];
    delete held["content"];
  }
  return held;
}

/** The long texts that need not be stored twice. */
function textsOf(ours: Ours): string[] {
  return longTexts([ours["content"], ours["reasoning"], ours["tool_calls"]]);
}

/** What Threadkeep counts and renders of a message, without what rides along. */
export function coreOf(message: BaseMessage, argument = "message"): Ours {
  if (!isObject(message) || typeof (message as { getType?: unknown }).getType !== "function")
    throw badArgument(argument, "must be a LangChain message, such as a HumanMessage");
  const type = message.getType() as string;
  const fields = message as unknown as Fields;
  const kwargs = (isObject(fields["additional_kwargs"]) ? fields["additional_kwargs"] : {}) as Fields;
  const { content, reasoning } = contentOf(fields["content"], type === "ai");
  const name = typeof fields["name"] === "string" ? { name: fields["name"] } : {};
  switch (type) {
    case "human":
      return { role: "user", content, ...name };
    case "system":
      return { role: kwargs[DEVELOPER] === "developer" ? "developer" : "system", content, ...name };
    case "ai": {
      const calls = callsOf(fields);
      const thought =
        reasoning ?? (typeof kwargs["reasoning_content"] === "string" && kwargs["reasoning_content"] !== "" ? kwargs["reasoning_content"] : undefined);
      const legacy = calls.length === 0 && isObject(kwargs["function_call"]) ? { function_call: toPlain(kwargs["function_call"], "message") } : {};
      return {
        role: "assistant",
        content,
        ...name,
        ...(thought === undefined ? {} : { reasoning: thought }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
        ...legacy,
      };
    }
    case "tool":
      return {
        role: "tool",
        content,
        tool_call_id: typeof fields["tool_call_id"] === "string" ? fields["tool_call_id"] : "",
        ...name,
        ...(fields["status"] === "error" ? { is_error: true } : {}),
      };
    case "function":
      return { role: "function", content, ...name };
    case "remove":
      return { role: "remove", content: "", include_in_context: false };
    default:
      return { role: typeof fields["role"] === "string" && fields["role"] !== "" ? fields["role"] : "user", content, ...name };
  }
}

function callsOf(fields: Fields): Fields[] {
  const calls: Fields[] = [];
  const add = (list: unknown, textOf: (args: unknown) => string) => {
    if (!Array.isArray(list)) return;
    for (const call of list as unknown[]) {
      if (!isObject(call)) continue;
      const id = typeof call["id"] === "string" && call["id"] !== "" ? call["id"] : `call_${calls.length}`;
      calls.push({ id, type: "function", function: { name: typeof call["name"] === "string" ? call["name"] : "", arguments: textOf(call["args"]) } });
    }
  };
  add(fields["tool_calls"], (args) => JSON.stringify(toPlain(args ?? {}, "message.tool_calls")));
  // The model's own words: a result may answer them, and the model shall see what it wrote.
  add(fields["invalid_tool_calls"], (args) => (typeof args === "string" ? args : ""));
  return calls;
}

/** The fields of LangChain's that a message of ours tells. */
function fieldsOf(ours: Ours, name: string): Fields {
  const content = ours["content"] === null || ours["content"] === undefined ? "" : ours["content"];
  const fields: Fields = {
    content: name.startsWith("RemoveMessage") ? [] : content,
    additional_kwargs: ours.role === "developer" ? { [DEVELOPER]: "developer" } : {},
    response_metadata: {},
  };
  if (typeof ours["name"] === "string") fields["name"] = ours["name"];
  if (name.startsWith("AIMessage")) {
    const reasoning = ours["reasoning"];
    if (typeof reasoning === "string") fields["additional_kwargs"] = { reasoning_content: reasoning };
    const valid: Fields[] = [];
    const invalid: Fields[] = [];
    for (const call of Array.isArray(ours["tool_calls"]) ? (ours["tool_calls"] as unknown[]) : []) {
      if (!isObject(call)) continue;
      const custom = isObject(call["custom"]) ? call["custom"] : undefined;
      const called = isObject(call["function"]) ? call["function"] : {};
      const args = custom === undefined ? argsOf(called["arguments"]) : { input: custom["input"] };
      const known = { name: (custom ?? called)["name"], id: call["id"] };
      if (args === undefined) invalid.push({ ...known, args: called["arguments"], error: "Malformed args.", type: "invalid_tool_call" });
      else valid.push({ ...known, args, type: "tool_call" });
    }
    fields["tool_calls"] = valid;
    fields["invalid_tool_calls"] = invalid;
    if (isObject(ours["function_call"])) fields["additional_kwargs"] = { ...(fields["additional_kwargs"] as Fields), function_call: ours["function_call"] };
  } else if (name.startsWith("ToolMessage")) {
    fields["tool_call_id"] = ours["tool_call_id"];
    if (ours["is_error"] === true) fields["status"] = "error";
  } else if (name.startsWith("ChatMessage")) fields["role"] = ours.role;
  else if (name.startsWith("FunctionMessage")) fields["name"] ??= "";
  return fields;
}

/** The arguments of a call; `undefined` where they are no JSON object. */
function argsOf(text: unknown): Fields | undefined {
  try {
    const args: unknown = JSON.parse(String(text));
    return isObject(args) ? args : undefined;
  } catch {
    return undefined;
  }
}
