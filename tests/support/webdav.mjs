// A small WebDAV server that gives each answer another ETag, and a bucket beside it. It keeps its files in memory and what it was asked.
import { createServer } from "node:http";

const ALLOW = { "access-control-allow-origin": "*", "access-control-allow-headers": "*", "access-control-allow-methods": "GET, PUT, DELETE, PROPFIND, MKCOL" };

/**
 * Starts one: collections under `/dav/`, which must be made, and a bucket at `/bucket`, which lists two keys at a time. With
 * `authorization` it wants that header.
 */
export async function serveWebdav({ authorization } = {}) {
  const files = new Map();
  const collections = new Set(["/dav/"]);
  const requests = [];
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request;
    const path = decodeURIComponent(url.split("?")[0]);
    const parts = [];
    for await (const part of request) parts.push(part);
    const answer = (status, body = "") => response.writeHead(status, { ...ALLOW, etag: `"${Math.random()}"` }).end(body);
    if (method === "OPTIONS") return answer(204);
    requests.push(`${method} ${path} ${headers.authorization ?? ""}`);
    if (authorization !== undefined && headers.authorization !== authorization) return answer(401);
    if (path.startsWith("/bucket")) return bucket(method, url, path, parts, answer);
    const parent = path.replace(/[^/]*\/?$/, "");
    switch (method) {
      case "PROPFIND": {
        if (!collections.has(path)) return answer(404);
        const hrefs = [path, ...[...files.keys()].filter((file) => file.startsWith(path))];
        const found = hrefs.map((href) => `<d:response><d:href>${encodeURI(href)}</d:href></d:response>`).join("");
        return answer(207, `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">${found}</d:multistatus>`);
      }
      case "MKCOL":
        return answer(collections.has(path) ? 405 : 201, void collections.add(path));
      case "PUT":
        return collections.has(parent) ? answer(201, void files.set(path, Buffer.concat(parts))) : answer(409);
      default:
        return plain(method, path, answer);
    }
  });
  const plain = (method, path, answer) => {
    if (method === "GET") return files.has(path) ? answer(200, files.get(path)) : answer(404);
    if (method === "DELETE") return answer(files.delete(path) ? 204 : 404);
    return answer(405);
  };
  const bucket = (method, url, path, parts, answer) => {
    if (method === "PUT") return answer(200, void files.set(path, Buffer.concat(parts)));
    if (method !== "GET" || path !== "/bucket") return plain(method, path, answer);
    const query = new URL(url, "http://x").searchParams;
    const all = [...files.keys()].filter((file) => file.startsWith("/bucket/")).map((file) => file.slice("/bucket/".length));
    const keys = all.filter((key) => key.startsWith(query.get("prefix"))).sort();
    const from = Number(query.get("continuation-token") ?? 0);
    const more = from + 2 < keys.length ? `<NextContinuationToken>${from + 2}</NextContinuationToken>` : "";
    const found = keys.slice(from, from + 2).map((key) => `<Contents><Key>${key}</Key></Contents>`).join("");
    return answer(200, `<ListBucketResult>${found}${more}</ListBucketResult>`);
  };
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}`, files, requests, close: () => new Promise((resolve) => server.close(resolve)) };
}
