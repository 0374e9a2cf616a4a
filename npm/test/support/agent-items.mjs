// Items of the Agents SDK, of every kind that its protocol has, for the tests of our sessions.

export function say(content) {
  return { type: "message", role: "user", content };
}

export function answer(text) {
  return { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] };
}

export function thought(text) {
  return { type: "reasoning", content: [{ type: "input_text", text }] };
}

export function call(callId, name, args = "{}") {
  return { type: "function_call", callId, name, arguments: args, status: "completed" };
}

export function result(callId, name, text) {
  return { type: "function_call_result", callId, name, status: "completed", output: { type: "text", text } };
}

export const ITEMS = [
  say("hello"),
  { role: "user", content: "no type" },
  {
    type: "message",
    role: "user",
    id: "u1",
    content: [
      { type: "input_text", text: "look:" },
      { type: "input_image", image: "data:image/png;base64,AAAA", detail: "low" },
      { type: "input_file", file: { id: "file_1" }, filename: "a.pdf" },
      { type: "audio", audio: "AAAA", format: "wav", transcript: "la" },
    ],
    providerData: { deep: { er: [1, 2.5, null, true] } },
  },
  { type: "message", role: "system", content: "Be kind." },
  answer("hello you"),
  { ...answer("signed"), id: "msg_1", phase: "commentary", providerData: { logprobs: [-0.5] } },
  {
    type: "message",
    role: "assistant",
    status: "incomplete",
    content: [
      { type: "output_text", text: "I can" },
      { type: "refusal", refusal: "not" },
    ],
  },
  {
    type: "message",
    role: "assistant",
    status: "completed",
    content: [
      { type: "audio", audio: { id: "audio_1" }, transcript: "spoken" },
      { type: "image", image: "AAAA" },
    ],
  },
  thought("hm"),
  { type: "reasoning", id: "rs_1", content: [], rawContent: [{ type: "reasoning_text", text: "raw" }], providerData: { encryptedContent: "xyz" } },
  call("call_1", "weather", '{"town":"Oslo"}'),
  { ...call("call_2", "time", "not JSON"), id: "fc_2", namespace: "clock", caller: { type: "direct" } },
  result("call_2", "time", "noon"),
  { ...result("call_1", "weather", "x"), output: "sun, as a plain string" },
  call("call_3", "draw"),
  {
    ...result("call_3", "draw", ""),
    output: [
      { type: "input_text", text: "here" },
      { type: "input_image", image: { id: "file_2" } },
      { type: "input_file", file: { url: "https://example.org/a.txt" } },
    ],
  },
  call("call_4", "bytes"),
  { ...result("call_4", "bytes", ""), output: { type: "image", image: { data: new Uint8Array([0, 255, 128]), mediaType: "image/png" } } },
  { type: "hosted_tool_call", id: "ws_1", name: "web_search_call", status: "completed", providerData: { type: "web_search_call", action: { query: "oslo" } } },
  { type: "hosted_tool_call", name: "file_search_call", arguments: '{"q":1}', status: "completed", output: "found" },
  { type: "computer_call", callId: "cc_1", status: "completed", action: { type: "click", x: 3, y: 4, button: "left" } },
  { type: "computer_call_result", callId: "cc_1", output: { type: "computer_screenshot", data: "data:image/png;base64,AAAA" } },
  { type: "computer_call", callId: "cc_2", status: "completed", actions: [{ type: "screenshot" }, { type: "keypress", keys: ["Enter"] }] },
  { type: "computer_call_result", callId: "cc_2", output: { type: "computer_screenshot", data: "https://example.org/shot.png" } },
  { type: "shell_call", callId: "sh_1", status: "completed", action: { commands: ["ls", "pwd"], timeoutMs: 5 } },
  {
    type: "shell_call_output",
    callId: "sh_1",
    output: [
      { stdout: "a\n", stderr: "", outcome: { type: "exit", exitCode: 0 } },
      { stdout: "", stderr: "late", outcome: { type: "timeout" } },
    ],
  },
  { type: "apply_patch_call", callId: "ap_1", status: "completed", operation: { type: "update_file", path: "a.txt", diff: "+ b" } },
  { type: "apply_patch_call_output", callId: "ap_1", status: "completed" },
  { type: "tool_search_call", call_id: null, arguments: { query: "maps" }, execution: "server", status: "completed" },
  { type: "tool_search_output", call_id: null, execution: "server", status: "completed", tools: [{ type: "tool_reference", functionName: "map" }] },
  { type: "program", callId: "pr_1", code: "1 + 1", fingerprint: "f" },
  { type: "program_output", callId: "pr_1", output: "2", status: "completed" },
  { type: "unknown", providerData: { type: "novel", with: { a: undefined, $threadkeep: ["x"], n: Number.NaN, z: -0 } } },
  say("half a pair: \ud83d"),
];
