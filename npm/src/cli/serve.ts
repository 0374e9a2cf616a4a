/// <reference types="node" />
// `threadkeep serve`: the page, from the package, on this machine only.

import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { extname, join, normalize, sep } from "node:path";
import { pipeline } from "node:stream";
import { fileURLToPath } from "node:url";
import { createGunzip } from "node:zlib";
import { Trouble } from "./place.js";

const SITE = fileURLToPath(new URL("../../site/", import.meta.url));
const VOCABULARY = fileURLToPath(new URL("../../vocabulary/", import.meta.url));

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".wasm": "application/wasm",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
};

/**
 * Serves the page on 127.0.0.1, compressed for browsers that take it. The port is `port`, or the first free one after it; 0 is any.
 *
 * @throws Trouble where no port is free, or the package has no page
 */
export async function serve(port: number): Promise<{ address: string; close(): Promise<void> }> {
  if ((await look(join(SITE, "index.html"))) === undefined) throw new Trouble("this package was built without the page");
  // As the build gives them; `docs/hosting.md` says why.
  const headers = JSON.parse(await readFile(join(SITE, "headers.json"), "utf8")) as Record<string, string>;
  const server = createServer((request, response) => {
    void look(file(request.url ?? "/")).then((found) => {
      const known = request.method === "GET" || request.method === "HEAD";
      if (found === undefined || !known) return response.writeHead(known ? 404 : 405, headers).end();
      const { path, type, size } = found;
      const asItIs = !found.gzip || /\bgzip\b/.test(String(request.headers["accept-encoding"]));
      response.writeHead(200, {
        ...headers,
        "content-type": type,
        ...(asItIs ? { "content-length": size } : {}),
        ...(found.gzip && asItIs ? { "content-encoding": "gzip" } : {}),
      });
      if (request.method === "HEAD") return response.end();
      // Whoever goes away in the middle needs no more of it.
      const gone = (): void => {};
      return asItIs ? pipeline(createReadStream(path), response, gone) : pipeline(createReadStream(path), createGunzip(), response, gone);
    });
  });
  const last = port === 0 ? 0 : Math.min(65_535, port + 50);
  for (let wanted = port; ; wanted += 1) {
    try {
      await listen(server, wanted);
      break;
    } catch (error) {
      if ((error as { code?: string }).code !== "EADDRINUSE" || wanted >= last) throw new Trouble(`no port from ${port} to ${last} is free`);
    }
  }
  const at = server.address() as { port: number };
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { address: `http://127.0.0.1:${at.port}/`, close };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** The file that an address names; `undefined` for one outside of the page. */
function file(address: string): string | undefined {
  let name: string;
  try {
    name = decodeURIComponent(new URL(address, "http://localhost").pathname).slice(1) || "index.html";
  } catch {
    return undefined;
  }
  const inside = normalize(name);
  if (inside.includes("\0") || inside.split(sep).includes("..")) return undefined;
  // The package has the vocabularies once, for itself and for the page.
  const vocabulary = `vocabulary${sep}`;
  return inside.startsWith(vocabulary) ? join(VOCABULARY, inside.slice(vocabulary.length)) : join(SITE, inside);
}

/** What lies at a path: most files of the page are in the package gzipped only. */
async function look(path: string | undefined): Promise<{ path: string; type: string; size: number; gzip: boolean } | undefined> {
  if (path === undefined) return undefined;
  const type = TYPES[extname(path)] ?? "application/octet-stream";
  for (const [at, gzip] of [
    [`${path}.gz`, true],
    [path, false],
  ] as const) {
    const found = await stat(at).catch(() => undefined);
    if (found?.isFile()) return { path: at, type, size: found.size, gzip };
  }
  return undefined;
}
