// Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-<time>-<session>.jsonl`, items of OpenAI's Responses API. Events beside them are for
// its own display.

import type { Piece, Step, Written } from "./turns.js";

const words = (pieces: readonly Piece[]): string => pieces.map((piece) => ("text" in piece ? piece.text : "[image]")).join("\n");

const given = (piece: Piece): object =>
  "text" in piece ? { type: "input_text", text: piece.text } : { type: "input_image", image_url: `data:${piece.media};base64,${piece.data}` };

function items(step: Step): [type: "response_item" | "event_msg", payload: object][] {
  switch (step.who) {
    case "user":
      return [
        ["response_item", { type: "message", role: "user", content: step.pieces.map(given) }],
        ["event_msg", { type: "user_message", message: words(step.pieces), images: [] }],
      ];
    case "model":
      return [
        ...(step.text === ""
          ? []
          : ([
              ["response_item", { type: "message", role: "assistant", content: [{ type: "output_text", text: step.text }] }],
              ["event_msg", { type: "agent_message", message: step.text }],
            ] as [type: "response_item" | "event_msg", payload: object][])),
        ...step.calls.map(({ id, name, written }): ["response_item", object] => [
          "response_item",
          { type: "function_call", name, arguments: written, call_id: id },
        ]),
      ];
    case "tool":
      return [["response_item", { type: "function_call_output", call_id: step.call.id, output: words(step.pieces) }]];
  }
}

/** Writes a rollout of Codex. */
export function codex(steps: readonly Step[], cwd: string): Written {
  const id = crypto.randomUUID();
  const began = (steps[0]?.at ?? new Date()).toISOString();
  const meta = { id, timestamp: began, cwd, originator: "codex_cli_rs", cli_version: "0.106.0", source: "cli", model_provider: "openai" };
  const lines = steps.flatMap((step) => items(step).map(([type, payload]) => ({ timestamp: step.at.toISOString(), type, payload })));
  const [day = "", time = ""] = began.split("T");
  return {
    lines: [{ timestamp: began, type: "session_meta", payload: meta }, ...lines],
    file: `${day.replaceAll("-", "/")}/rollout-${day}T${time.slice(0, 8).replaceAll(":", "-")}-${id}.jsonl`,
    resume: `codex resume ${id}`,
  };
}
