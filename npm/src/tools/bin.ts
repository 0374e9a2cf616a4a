#!/usr/bin/env node
/// <reference types="node" />
// `threadkeep-mcp`: the MCP server of a keep on stdin and stdout, for hosts that start a program. Nothing but the protocol is written to
// stdout; words for people go to stderr. It ends with its input or a signal, after what is under way was answered.

import process from "node:process";
import { parseArgs } from "node:util";
import { PLACE, PLACE_HELP, Trouble, explained, openPlace, type Place } from "../cli/place.js";
import { VERSION } from "../index.js";
import type { McpServerOptions } from "./mcp.js";
import { findPeer } from "./peer.js";

const HELP = `threadkeep-mcp ${VERSION}: conversation memory for any MCP host

  threadkeep-mcp [options]

${PLACE_HELP}
  --read-only          only tools that change nothing
  --tools <names>      only these tools or groups, with commas between them:
                       search, conversations, facts, episodes, files, or names of tools
  --without <names>    all but these
  --prefix <text>      what the names of all tools begin with
  --max-tokens <n>     the most tokens of one answer; 4000 without it
  --help, --version

It needs the package @modelcontextprotocol/sdk, beside threadkeep or in the working folder:
  npx -y -p threadkeep -p @modelcontextprotocol/sdk threadkeep-mcp --folder ~/.threadkeep
`;

/** How long requests that are under way may take when the input ends, in milliseconds. */
const DRAIN = 10_000;
/** How long what was answered may take to be read at the end, in milliseconds. */
const FLUSH = 2_000;

function say(words: string): void {
  process.stderr.write(`threadkeep-mcp: ${words}\n`);
}

/** What was asked for. */
interface Wanted {
  place: Place;
  server: McpServerOptions;
}

function options(): Wanted | string {
  const { values } = parseArgs({
    options: {
      ...PLACE,
      "read-only": { type: "boolean" },
      tools: { type: "string" },
      without: { type: "string" },
      prefix: { type: "string" },
      "max-tokens": { type: "string" },
      help: { type: "boolean" },
      version: { type: "boolean" },
    },
  });
  if (values.help === true) return HELP;
  if (values.version === true) return `${VERSION}\n`;
  const list = (text: string | undefined): NonNullable<McpServerOptions["include"]> | undefined =>
    text === undefined
      ? undefined
      : (text
          .split(",")
          .map((name) => name.trim())
          .filter(Boolean) as NonNullable<McpServerOptions["include"]>);
  const [include, exclude, most] = [list(values.tools), list(values.without), values["max-tokens"]];
  if (most !== undefined && !/^\d{1,9}$/.test(most)) throw new Trouble(`--max-tokens must be a whole number, it is ${most}`);
  return {
    place: values,
    server: {
      ...(values["read-only"] === true ? { readOnly: true } : {}),
      ...(include === undefined ? {} : { include }),
      ...(exclude === undefined ? {} : { exclude }),
      ...(values.prefix === undefined ? {} : { prefix: values.prefix }),
      ...(most === undefined ? {} : { maxTokens: Number(most) }),
    },
  };
}

async function main(): Promise<void> {
  const wanted = options();
  if (typeof wanted === "string") {
    process.stdout.write(wanted);
    return;
  }
  // Whatever a library writes must not come between the protocol's lines.
  for (const name of ["log", "info", "debug"] as const) console[name] = console.error;
  const [{ mcpServer }, { StdioServerTransport }] = await loaded();
  const keep = await openPlace(wanted.place);
  if (keep.storage === "memory" && wanted.place.memory !== true) say("nothing is kept: there is no file store here, so all is in memory");
  const server = mcpServer(keep, wanted.server);
  const transport = new StdioServerTransport();
  const pending = counting(transport);

  let ending: Promise<void> | undefined;
  const end = (drain: boolean): Promise<void> =>
    (ending ??= (async () => {
      if (drain) await Promise.race([pending.none(), new Promise((resolve) => setTimeout(resolve, DRAIN).unref())]);
      await server.close();
      await keep.close();
      // Pipes are written in the background; what was answered is to arrive, if anybody reads it.
      await Promise.race([new Promise((resolve) => process.stdout.write("", resolve)), new Promise((resolve) => setTimeout(resolve, FLUSH))]);
      process.exit(0);
    })().catch(failed));
  process.stdin.once("end", () => void end(true));
  process.stdin.once("close", () => void end(true));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => void end(false));
  // Whoever listened is gone.
  process.stdout.on("error", () => void end(false));
  // Each answer that a slow reader keeps waiting listens for that; many at once are no leak, as Node would say to people.
  process.stdout.setMaxListeners(0);
  server.onerror = (error) =>
    say(`what came in was not understood: ${error.name === "ZodError" ? "it is no message of JSON-RPC" : error.message.split("\n")[0]?.slice(0, 200)}`);
  // The transport lets go of its input when somebody floods it: then there is nobody to serve any more.
  const closed = server.onclose;
  server.onclose = () => {
    closed?.();
    void end(false);
  };
  await server.connect(pending.transport);
  // What came before the listeners were there has ended by now, too.
  if (process.stdin.readableEnded) await end(true);
}

async function loaded(): Promise<[typeof import("./mcp.js"), typeof import("@modelcontextprotocol/sdk/server/stdio.js")]> {
  findPeer("@modelcontextprotocol/sdk", "@modelcontextprotocol/sdk/server/stdio.js");
  return [await import("./mcp.js"), await import("@modelcontextprotocol/sdk/server/stdio.js")];
}

type Transport = InstanceType<Awaited<ReturnType<typeof loaded>>[1]["StdioServerTransport"]>;

/** Counts the requests that are not answered yet: `none` resolves when there are none. */
function counting(transport: Transport): { transport: Transport; none(): Promise<void> } {
  const open = new Set<unknown>();
  let waiting: (() => void)[] = [];
  const settle = (): void => {
    if (open.size > 0) return;
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    await send(message);
    if ("id" in message && !("method" in message)) open.delete(message.id);
    settle();
  };
  let hear: Transport["onmessage"];
  Object.defineProperty(transport, "onmessage", {
    get: () => hear,
    set: (listener: Transport["onmessage"]) => {
      hear = (message) => {
        if ("id" in message && "method" in message) open.add(message.id);
        else if ("method" in message && message.method === "notifications/cancelled") open.delete(message.params?.["requestId"]);
        listener?.(message);
      };
    },
  });
  return { transport, none: () => (open.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))) };
}

const BLOCKED =
  "Perhaps it is this same server, started for another window of the host: start each with --sqlite FILE instead of --folder, and all share that file.";

function failed(error: unknown): void {
  say(explained(error, BLOCKED).words);
  process.exit(1);
}

main().catch(failed);
