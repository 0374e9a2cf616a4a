// A session of Claude Code as its lines are: made up, in the real shapes.
export const PROJECT = "-projects-shop";
export const SESSION = "5f1c0a52-7a3e-4d0b-9a41-3f6d2c8e7b10";

const base = { sessionId: SESSION, cwd: "/projects/shop", version: "2.1.0", gitBranch: "main", userType: "external", isSidechain: false };
const at = (second) => new Date(Date.UTC(2026, 2, 1, 9, 0, second)).toISOString();
const id = (name) => `00000000-0000-4000-8000-${name.padStart(12, "0")}`;

export const uuidOf = id;

export function user(name, parent, content, second, more = {}) {
  return { ...base, type: "user", uuid: id(name), parentUuid: parent && id(parent), timestamp: at(second), message: { role: "user", content }, ...more };
}

export function assistant(name, parent, content, second, more = {}) {
  const message = {
    id: `msg_${name}`,
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content,
    stop_reason: null,
    usage: { input_tokens: 9, output_tokens: 3 },
  };
  return { ...base, type: "assistant", uuid: id(name), parentUuid: parent && id(parent), timestamp: at(second), requestId: `req_${name}`, message, ...more };
}

/** The main conversation: a question, a call with its result, an answer, a title. */
export const MAIN = [
  { type: "summary", summary: "The flaky checkout test", leafUuid: id("a2") },
  user("01", null, "Why is the checkout test flaky?", 0),
  assistant(
    "a1",
    "01",
    [
      { type: "thinking", thinking: "Look at the test first.", signature: "c2ln" },
      { type: "tool_use", id: "toolu_1", name: "Read", input: { file_path: "/projects/shop/checkout.test.js" } },
    ],
    2,
  ),
  user("02", "a1", [{ type: "tool_result", tool_use_id: "toolu_1", content: "await sleep(100)" }], 3, {
    toolUseResult: { type: "text", file: { numLines: 1 } },
  }),
  assistant("a2", "02", [{ type: "text", text: "It sleeps for 100 ms instead of waiting for the basket." }], 5),
  { type: "custom-title", customTitle: "Flaky checkout", sessionId: SESSION },
];

export const MORE = [
  user("03", "a2", "Then wait for the basket.", 60),
  assistant("a3", "03", [{ type: "text", text: "Done: it waits for the basket now." }], 65),
];

const side = { isSidechain: true, agentId: "a1b2" };
export const AGENT = [
  user("51", null, "Look for other sleeps.", 10, side),
  assistant("52", "51", [{ type: "text", text: "There are two more sleeps, in payment.test.js." }], 12, side),
];
