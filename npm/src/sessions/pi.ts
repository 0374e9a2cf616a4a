// pi: `~/.pi/agent/sessions/--<folder>--/<time>_<session>.jsonl`, version 3: a tree of entries by `id` and `parentId`.

import type { Piece, Step, Written } from "./turns.js";

const block = (piece: Piece): object => ("text" in piece ? { type: "text", text: piece.text } : { type: "image", data: piece.data, mimeType: piece.media });

const NO_COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const NO_USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: NO_COST };

function message(step: Step): object {
  const timestamp = step.at.getTime();
  switch (step.who) {
    case "user":
      return { role: "user", content: step.pieces.map(block), timestamp };
    case "model": {
      const calls = step.calls.map(({ id, name, input }) => ({ type: "toolCall", id, name, arguments: input }));
      const content = [...(step.text === "" ? [] : [{ type: "text", text: step.text }]), ...calls];
      const stopReason = calls.length > 0 ? "toolUse" : "stop";
      return { role: "assistant", content, api: "threadkeep", provider: "threadkeep", model: step.model, usage: NO_USAGE, stopReason, timestamp };
    }
    case "tool":
      return { role: "toolResult", toolCallId: step.call.id, toolName: step.call.name, content: step.pieces.map(block), isError: step.isError, timestamp };
  }
}

/** Writes a session of pi. */
export function pi(steps: readonly Step[], title: string, cwd: string): Written {
  const session = crypto.randomUUID();
  const began = (steps[0]?.at ?? new Date()).toISOString();
  let parentId: string | null = null;
  const entry = (type: string, timestamp: string, fields: object): object => {
    const id = crypto.randomUUID().slice(0, 8);
    const made = { type, id, parentId, timestamp, ...fields };
    parentId = id;
    return made;
  };
  const lines = steps.map((step) => entry("message", step.at.toISOString(), { message: message(step) }));
  const file = `--${cwd.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-")}--/${began.replace(/[:.]/g, "-")}_${session}.jsonl`;
  return {
    lines: [{ type: "session", version: 3, id: session, timestamp: began, cwd }, ...lines, entry("session_info", began, { name: title })],
    file,
    resume: `pi --session ${session}`,
  };
}
