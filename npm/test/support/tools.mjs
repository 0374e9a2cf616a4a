// The tools of a keep, and the other faces of them, from the installed package.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { memory } from "./expect.mjs";
import { installed } from "./installed.mjs";

const face = (name) => import(pathToFileURL(join(installed, `dist/tools/${name}.js`)).href);

export const { memoryFiles, memoryTools } = await face("tools");
export const { memoryHandlers, memoryTool } = await face("anthropic-memory");
export const { mcpServer } = await face("mcp");
export const { memoryFolder } = await face("memory-folder");
export const { hasWebMcp, registerTools } = await face("webmcp");

/** A keep in memory with its tools: `call` gives what a tool answers, read; `fails` the words of an error. */
export async function toolbox(options = {}, keep = undefined) {
  const open = keep ?? (await memory({ encoding: "estimate" }));
  const tools = memoryTools(open, options);
  const named = new Map(tools.map((tool) => [tool.name, tool]));
  const call = async (name, input, how) => {
    const { text, data, isError } = await named.get(name).answer(input, how);
    if (isError) throw new Error(`${name} failed: ${text}`);
    return data ?? text;
  };
  const fails = async (name, input, how) => {
    const { text, isError } = await named.get(name).answer(input, how);
    if (!isError) throw new Error(`${name} did not fail: ${text}`);
    return named.get(name).outputSchema === undefined ? text : JSON.parse(text).error;
  };
  return { keep: open, tools, named, call, fails };
}

/** What the tests remember: three conversations, one of them with branches. */
export async function remembering(keep) {
  await keep.thread("trip").append([
    { role: "system", content: "Be brief." },
    { role: "user", content: "I lost my luggage in Oslo." },
    { role: "assistant", content: null, tool_calls: [{ id: "c1", type: "function", function: { name: "airline", arguments: '{"tag":"SK42"}' } }] },
    { role: "tool", tool_call_id: "c1", content: "found in Bergen" },
    { role: "assistant", content: "Your luggage is in Bergen.", reasoning: "They said Bergen." },
    { role: "user", content: "Have it sent to the Hotel Bristol." },
  ]);
  await keep.thread("trip").fork("trip-2", { atIndex: 5 });
  await keep.thread("trip-2").append([{ role: "user", content: "I will fetch the luggage myself." }]);
  await keep.thread("recipes").append([
    { role: "user", content: "How do I make aquafaba meringue?" },
    { role: "assistant", content: "Whip it with sugar." },
  ]);
}
