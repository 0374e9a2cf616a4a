// An MCP server of your own over a keep, and a host that talks to it, here in one process. For a host that starts a program there is
// `threadkeep-mcp`; this is for servers with a transport of their own (HTTP, say) or with tools of their own beside these.
//
//   npm install threadkeep @modelcontextprotocol/sdk
//   node mcp-server.mjs
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Threadkeep } from "threadkeep";
import { mcpServer } from "threadkeep/mcp";

const keep = await Threadkeep.open({ storage: "memory" });
await keep.thread("trip").append([
  { role: "user", content: "I lost my luggage in Oslo." },
  { role: "assistant", content: "It was found in Bergen, and is on its way to your hotel." },
]);

const [atHost, atServer] = InMemoryTransport.createLinkedPair();
const server = mcpServer(keep, { readOnly: true });
const host = new Client({ name: "host", version: "1.0.0" });
await Promise.all([server.connect(atServer), host.connect(atHost)]);

const { tools } = await host.listTools();
console.log(tools.map(({ name }) => name).join(", "));

const found = await host.callTool({ name: "search_memory", arguments: { query: "luggage" } });
console.log(found.structuredContent.hits.map(({ role, text }) => `${role}: ${text}`).join("\n"));

const { resources } = await host.listResources();
const { contents } = await host.readResource({ uri: resources[0].uri });
console.log(contents[0].text);

await host.close();
await keep.close();
