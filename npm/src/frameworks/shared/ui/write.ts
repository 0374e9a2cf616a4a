// From UI messages to ours: what is new in them becomes messages, what is only said anew becomes steps that ride along.

import type { MessageInput } from "../../../message.js";
import { isCalled, isDone, isTool } from "./follow.js";
import { changes, same } from "../json.js";
import { FIELD, type Op, type Part, type Ride, type Ui } from "./types.js";

/** A message that is made, with what rides along. */
interface Made {
  role: string;
  [field: string]: unknown;
  [FIELD]: Ride;
}

/** How an answer ended that is not complete. */
export interface Ended {
  code: "cancelled" | "failed" | "cut-off";
  reason: string;
}

/** Makes the messages of one save. */
export class Writer {
  readonly #made: Made[] = [];
  /** Steps that no message carries yet. */
  #ops: Op[] = [];
  /** What becomes the next message of the model. */
  #texts: string[] = [];
  #reasoning: { text: string; op: Op; field: "take" | "add" }[] = [];
  #calls: object[] = [];
  #results: Made[] = [];
  /** A provider's own tool has answered within the step: what is said next comes after it. */
  #answered = false;

  /** Adds a new message, or what is new of the one at `to`, of which `last` is known. `next` must be plain. */
  add(next: Ui, to: number, last?: Ui): void {
    const before = this.#made.length;
    const { parts, ...head } = next;
    if (last === undefined) this.#ops.push({ new: head });
    else {
      const { parts: _, ...known } = last;
      if (!same(known, head)) this.#ops.push({ to, head });
    }
    if (next.role === "assistant") parts.forEach((part, at) => this.#part(part, at, to, last?.parts[at]));
    else if (last === undefined) this.#said(next);
    this.#flush();
    if (last === undefined && this.#made.length === before) this.#carry(next.role);
  }

  /** All that was made; what nothing carries gets a note of its own, which no prompt shows. */
  end(ended?: Ended): MessageInput[] {
    if (ended !== undefined) {
      const last = this.#made.at(-1);
      if (last?.role === "assistant" && last["content"] !== "") last["kind"] = { type: "error", code: ended.code, reason: ended.reason };
    }
    if (this.#ops.length > 0 || (ended !== undefined && this.#made.length === 0)) {
      const last = this.#made.at(-1);
      if (last === undefined) this.#carry("note");
      else last[FIELD].ops.push(...this.#ops.splice(0));
    }
    const last = this.#made.at(-1);
    if (ended !== undefined && last !== undefined) last[FIELD].ended = ended.code;
    return this.#made;
  }

  #carry(role: string): void {
    this.#made.push({ role, content: "", include_in_context: false, [FIELD]: this.#ride() });
  }

  #ride(): Ride {
    return { ops: this.#ops.splice(0) };
  }

  /** What a user, or the instructions, say. */
  #said({ role, parts }: Ui): void {
    const content: object[] = [];
    const texts = parts.filter(({ type }) => type === "text").length;
    let [text, file] = [0, 0];
    parts.forEach((part, at) => {
      const heard = said(part, role);
      if (heard === undefined) {
        this.#ops.push({ at, set: part });
        return;
      }
      content.push(heard);
      if (part.type === "text") {
        const { text: _, ...set } = part;
        this.#ops.push({ at, set, take: { text: ["text", text] } });
        text += 1;
      } else {
        const { url: _, ...set } = part;
        this.#ops.push({ at, set, take: { url: ["url", file] } });
        file += 1;
      }
    });
    if (content.length === 0) return;
    const plain = content.length === 1 && texts === 1 ? (content[0] as { text: string }).text : content;
    this.#made.push({ role, content: plain, [FIELD]: this.#ride() });
  }

  #part(part: Part, at: number, to: number, last: Part | undefined): void {
    if (last !== undefined && same(last, part)) return;
    if (part.type === "text" || part.type === "reasoning") this.#text(part, at, to, last);
    else if (isTool(part)) this.#tool(part, at, to, last);
    else if (part.type === "steering-message" && last === undefined) {
      // What a user said meanwhile is a message of theirs, between what the model said before and after it.
      this.#flush();
      this.#ops.push({ to, at, set: part });
      const content = ((part["parts"] ?? []) as Part[]).flatMap((each) => said(each, "user") ?? []);
      if (content.length > 0) this.#made.push({ role: "user", content, [FIELD]: this.#ride() });
    } else {
      // A new step of the model is a new message of its.
      if (part.type === "step-start") this.#flush();
      this.#ops.push(last === undefined ? { to, at, set: part } : { to, at, ...changes(last, part) });
    }
  }

  #text(part: Part, at: number, to: number, last: Part | undefined): void {
    if (this.#answered) this.#flush();
    const { text, ...rest } = part;
    const said = String(text).slice(last === undefined ? 0 : String(last["text"]).length);
    const { text: _, ...known } = (last ?? {}) as Record<string, unknown>;
    const op: Op = { to, at, ...(last === undefined ? { set: rest } : changes(known, rest)) };
    this.#ops.push(op);
    if (last !== undefined && said === "") return;
    if (part.type === "reasoning") this.#reasoning.push({ text: said, op, field: last === undefined ? "take" : "add" });
    else if (last === undefined) op.take = { text: ["text", this.#texts.push(said) - 1] };
    else op.add = ["text", this.#texts.push(said) - 1];
  }

  #tool(part: Part, at: number, to: number, last: Part | undefined): void {
    const wasCalled = last !== undefined && isCalled(last);
    const wasDone = last !== undefined && isDone(last);
    const [called, done] = [isCalled(part), isDone(part)];
    const { output, errorText, ...rest } = part;
    const name = part.type === "dynamic-tool" ? String(part["toolName"]) : part.type.slice("tool-".length);
    if (called && !wasCalled) {
      const { input, ...set } = done ? rest : part;
      const call = { id: part["toolCallId"], type: "function", function: { name, arguments: JSON.stringify(input ?? part["rawInput"] ?? {}) } };
      const place = this.#calls.push(call) - 1;
      const gone = Object.keys(last ?? {}).filter((field) => part[field] === undefined);
      const op: Op = { to, at, set, ...(gone.length === 0 ? {} : { unset: gone }) };
      if (input !== undefined) op.take = { input: ["input", place] };
      this.#ops.push(op);
    } else if (!done || wasDone) {
      this.#ops.push({ to, at, ...(last === undefined ? { set: part } : changes(last, part)) });
      return;
    }
    if (!done || wasDone) return;
    // What is new of it besides its output rides with the output.
    const { output: _, errorText: __, ...known } = wasCalled ? (last as Part) : rest;
    const op: Op = { to, at, ...changes(known, rest) };
    const result: Made = { role: "tool", tool_call_id: part["toolCallId"], name, content: "", [FIELD]: { ops: [op] } };
    if (part["state"] === "output-available" && output !== undefined) {
      result["content"] = typeof output === "string" ? output : JSON.stringify(output);
      op.take = { output: [typeof output === "string" ? "result" : "json"] };
    } else if (part["state"] === "output-error") {
      result["is_error"] = true;
      result["content"] = String(errorText);
      op.take = { errorText: ["result"] };
    } else if (part["state"] === "output-denied") {
      const reason = (part["approval"] as { reason?: string } | undefined)?.reason;
      result["is_error"] = true;
      result["content"] = reason === undefined ? "Tool execution denied." : `Tool execution denied: ${reason}`;
    }
    const stale = Object.keys(last ?? {}).filter((field) => (field === "output" || field === "errorText") && part[field] === undefined);
    if (stale.length > 0) op.unset = [...(op.unset ?? []), ...stale];
    this.#results.push(result);
    this.#answered ||= part["providerExecuted"] === true;
    // A call that is stored already gets its result at once, before anything that the model says then.
    if (wasCalled) this.#flush();
  }

  #emitResults(): void {
    for (const result of this.#results.splice(0)) {
      result[FIELD].ops.unshift(...this.#ops.splice(0));
      this.#made.push(result);
    }
  }

  #flush(): void {
    const [texts, reasoning, calls] = [this.#texts.splice(0), this.#reasoning.splice(0), this.#calls.splice(0)];
    if (texts.length + reasoning.length + calls.length > 0) {
      // One piece of reasoning is the message's; of several only their steps know where each ends.
      const alone = reasoning.length === 1;
      for (const { text, op, field } of reasoning) {
        if (field === "add") op.add = alone ? ["reasoning"] : text;
        else if (alone) op.take = { text: ["reasoning"] };
        else op.set = { ...op.set, text };
      }
      const content = texts.length > 1 ? texts.map((text) => ({ type: "text", text })) : (texts[0] ?? (calls.length > 0 ? null : ""));
      this.#made.push({
        role: "assistant",
        content,
        ...(reasoning.length === 0 ? {} : { reasoning: reasoning.map(({ text }) => text).join("\n\n") }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
        [FIELD]: this.#ride(),
      });
    }
    this.#emitResults();
    this.#answered = false;
  }
}

/** A part of what a user says, or the instructions, as ours; `undefined` for what no prompt has a form for. */
function said(part: Part, role: string): object | undefined {
  if (part.type === "text") return { type: "text", text: part["text"] };
  if (part.type !== "file" || typeof part["url"] !== "string" || role !== "user") return undefined;
  const { url, mediaType, filename } = part as unknown as { url: string; mediaType?: string; filename?: string };
  if (/^image(\/|$)/.test(mediaType ?? "")) return { type: "image_url", image_url: { url } };
  return { type: "file", file: { file_data: url, ...(filename === undefined ? {} : { filename }) } };
}
