// A small static server on loopback for the tests' own pages and for the unpacked npm package, with a content policy as
// strict as a careful site's.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize, sep } from "node:path";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".json": "application/json",
  ".wasm": "application/wasm",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
};

// The policy of the page's worker is the header's: it alone may reach models, wherever the reader has them. The page itself says in its
// own policy that it reaches nobody but its server.
const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; " +
  "manifest-src 'self'; connect-src 'self' https: http:; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Serves `mounts` (address prefix → folder) on a free port; gives the address, with a slash at its end, and `close`. `policy: null`
 * sends no content policy, as a plain static host does.
 */
export async function serve(mounts, { policy = POLICY } = {}) {
  const server = createServer(async (request, response) => {
    const headers = { "cache-control": "no-cache", "x-content-type-options": "nosniff" };
    if (policy !== null) headers["content-security-policy"] = policy;
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    const prefix = Object.keys(mounts).find((start) => path.startsWith(start));
    try {
      if (prefix === undefined) throw new Error("no such folder");
      const inside = normalize(path.slice(prefix.length) || "index.html");
      if (inside.split(sep).includes("..")) throw new Error("outside");
      const body = await readFile(join(mounts[prefix], inside));
      response.writeHead(200, { ...headers, "content-type": TYPES[extname(inside)] ?? "application/octet-stream" });
      response.end(body);
    } catch {
      response.writeHead(404, { ...headers, "content-type": "text/plain" });
      response.end("not found");
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `http://127.0.0.1:${server.address().port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}
