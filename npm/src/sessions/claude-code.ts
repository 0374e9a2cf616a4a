// Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, a line a message, each with the id of the one above it.

import type { Piece, Step, Written } from "./turns.js";

const block = (piece: Piece): object =>
  "text" in piece ? { type: "text", text: piece.text } : { type: "image", source: { type: "base64", media_type: piece.media, data: piece.data } };

/** What its readers expect to be there. */
const NO_USAGE = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 };

function message(step: Step): { type: string; message: object } {
  switch (step.who) {
    case "user": {
      const [first] = step.pieces;
      const content = step.pieces.length === 1 && first !== undefined && "text" in first ? first.text : step.pieces.map(block);
      return { type: "user", message: { role: "user", content } };
    }
    case "model": {
      const calls = step.calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input }));
      const content = [...(step.text === "" ? [] : [{ type: "text", text: step.text }]), ...calls];
      const id = `msg_${crypto.randomUUID().replaceAll("-", "")}`;
      const stop_reason = calls.length > 0 ? "tool_use" : "end_turn";
      return {
        type: "assistant",
        message: { id, type: "message", role: "assistant", model: step.model, content, stop_reason, stop_sequence: null, usage: NO_USAGE },
      };
    }
    case "tool": {
      const result = { type: "tool_result", tool_use_id: step.call.id, content: step.pieces.map(block), ...(step.isError && { is_error: true }) };
      return { type: "user", message: { role: "user", content: [result] } };
    }
  }
}

/** Writes a session of Claude Code. */
export function claudeCode(steps: readonly Step[], title: string, cwd: string): Written {
  const sessionId = crypto.randomUUID();
  let parentUuid: string | null = null;
  const lines = steps.map((step) => {
    const uuid = crypto.randomUUID();
    const line = {
      parentUuid,
      isSidechain: false,
      userType: "external",
      cwd,
      sessionId,
      version: "2.0.0",
      gitBranch: "",
      ...message(step),
      uuid,
      timestamp: step.at.toISOString(),
    };
    parentUuid = uuid;
    return line;
  });
  const summary = { type: "summary", summary: title, leafUuid: parentUuid };
  return {
    lines: [summary, ...lines],
    file: `${cwd.replace(/[^A-Za-z0-9]/g, "-")}/${sessionId}.jsonl`,
    resume: `claude --resume ${sessionId}`,
  };
}
