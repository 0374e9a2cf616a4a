// Messages in the OpenAI chat form, with Threadkeep's extensions. Fields that are not listed here are kept and come back
// as they were; the types name what is usual.

/** A piece of text in a content list. */
export interface TextPart {
  type: "text";
  text: string;
}

/** A picture in a content list. */
export interface ImagePart {
  type: "image_url";
  image_url: { url: string; detail?: "auto" | "low" | "high" };
}

/** Sound in a content list. */
export interface AudioPart {
  type: "input_audio";
  input_audio: { data: string; format: string };
}

/** A file in a content list. */
export interface FilePart {
  type: "file";
  file: { file_data?: string; file_id?: string; filename?: string };
}

/** What a model says when it refuses. */
export interface RefusalPart {
  type: "refusal";
  refusal: string;
}

/** One part of a content list. At run time other types can occur too (archives bring their own); they keep all fields. */
export type ContentPart = TextPart | ImagePart | AudioPart | FilePart | RefusalPart;

/** A call of a function; `arguments` is the JSON text that the model wrote. */
export interface FunctionToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** A call of a tool that takes free text. */
export interface CustomToolCall {
  id: string;
  type: "custom";
  custom: { name: string; input: string };
}

/** A call of a tool. */
export type ToolCall = FunctionToolCall | CustomToolCall;

/** What sort of event a message records, beside its role. A message without one is plain. */
export type MessageKind =
  /** The model failed here; the content is what it had written until then. */
  | { type: "error"; code: string; reason: string }
  /** A summary that stands for earlier messages, which are kept. */
  | { type: "summary"; from?: string; to?: string }
  /** A program that was run. */
  | ({ type: "code_turn" } & CodeTurn);

/** A program that was run, with what it defined, what it printed and how it ended. */
export interface CodeTurn {
  /** The program's text; without it, the fenced Lisp blocks of the message's content are the program. */
  program?: string | null;
  /** What it defined; without it, definitions are read from the program. */
  definitions?: CodeDefinition[] | null;
  /** What it printed: one text a `println`, or one text whose lines count as one each. */
  output?: string[] | string | null;
  /** How it ended. */
  status?: "ok" | "error" | null;
}

/** A name that a program defined. */
export interface CodeDefinition {
  name: string;
  /** `data` unless it says otherwise. */
  kind?: "function" | "data" | null;
  docstring?: string | null;
  /** The value, of which a summary shows the type and a short sample. */
  value?: unknown;
  /** The type word to show, instead of the value's. */
  type?: string | null;
  /** The sample to show, instead of the value's. */
  sample?: string | null;
}

/** Threadkeep's own fields, all optional, on any message. */
export interface MessageExtensions {
  /** What the model thought before it spoke. */
  reasoning?: string;
  /** Whether prompts may contain it; without it they may. */
  include_in_context?: boolean;
  /** Whether trimming must keep it. */
  pinned?: boolean;
  /** How important it is, from 0 to 1; 0.5 without it. A budget drops the least important messages first. */
  importance?: number;
  /** What sort of event it is. */
  kind?: MessageKind;
  /** Words to filter by. */
  tags?: string[];
}

/** Instructions above the conversation. */
export interface SystemMessage extends MessageExtensions {
  role: "system" | "developer";
  content: string | ContentPart[];
  name?: string | null;
}

/** What the person, or whatever speaks to the agent, says. */
export interface UserMessage extends MessageExtensions {
  role: "user";
  content: string | ContentPart[];
  name?: string | null;
}

/** What the model says and calls. */
export interface AssistantMessage extends MessageExtensions {
  role: "assistant";
  content?: string | ContentPart[] | null;
  name?: string | null;
  tool_calls?: ToolCall[] | null;
}

/** The result of a tool call. */
export interface ToolMessage extends MessageExtensions {
  role: "tool";
  content: string | ContentPart[];
  tool_call_id: string;
  name?: string | null;
  /** Whether it reports a failure. */
  is_error?: boolean;
  /** How long the tool ran, in milliseconds. Agents store it, and imports of sessions that tell it; no prompt has it. */
  duration?: number;
}

/**
 * One message, told apart by `role`. It comes back as it was given, unknown fields included; at run time roles other than
 * these can occur, where somebody stored them.
 */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** Any object with a `role`, such as a message of a provider's client. */
export type MessageLike = { role: string } & { [field in keyof MessageExtensions | "content" | "name"]?: unknown };

/** What is accepted as a message: a {@link Message}, or any object with a `role` and fields of your own. */
export type MessageInput = Message | MessageLike | (MessageLike & { [field: string]: unknown });

/** What is accepted as the content of an inbound message. */
export type ContentInput = string | readonly (ContentPart | { type: string; [field: string]: unknown } | { type: string })[];
