// Places that keep files, made remotes of: folders, WebDAV servers, buckets, records of a store.

import * as check from "../check.js";
import { ThreadkeepError } from "../errors.js";
import type { Records } from "../records.js";
import { nodeModule } from "../platform.js";
import type { SyncRemote } from "./remote.js";

/**
 * A folder under Node, Deno and Bun: on a USB stick, or one that Dropbox, Syncthing or a network drive brings to other machines. It is made
 * where there is none.
 *
 * @throws ThreadkeepError `bad-request`
 *
 * @example
 * ```ts
 * await sync(keep, folderRemote("/media/stick/threads"), { passphrase });
 * ```
 */
export function folderRemote(folder: string): SyncRemote {
  const at = check.exact(folder, "folder");
  const modules = async () => ({
    fs: await nodeModule<typeof import("node:fs/promises")>("node:fs/promises"),
    path: await nodeModule<typeof import("node:path")>("node:path"),
  });
  const missing = (error: unknown): undefined => {
    if ((error as { code?: unknown }).code !== "ENOENT") throw error;
  };
  return {
    id: `folder ${at}`,
    async list() {
      const { fs } = await modules();
      return (await fs.readdir(at).catch(missing)) ?? [];
    },
    async read(name) {
      const { fs, path } = await modules();
      return fs.readFile(path.join(at, name)).catch(missing);
    },
    async write(name, bytes) {
      const { fs, path } = await modules();
      await fs.mkdir(at, { recursive: true });
      // Whoever reads meanwhile gets the old file or the new one.
      const half = path.join(at, `${name}.part`);
      await fs.writeFile(half, bytes);
      await fs.rename(half, path.join(at, name));
    },
    async remove(name) {
      const { fs, path } = await modules();
      await fs.rm(path.join(at, name), { force: true });
    },
  };
}

/** What is needed of a `FileSystemDirectoryHandle`. */
export interface SyncDirectory {
  /** Its name. */
  readonly name: string;
  /** The names in it. */
  keys(): AsyncIterable<string>;
  /** A file in it. */
  getFileHandle(name: string, options?: { create?: boolean }): Promise<SyncFile>;
  /** Removes a file. */
  removeEntry(name: string): Promise<void>;
}

/** What is needed of a `FileSystemFileHandle`. */
export interface SyncFile {
  /** What is in it. */
  getFile(): Promise<{ arrayBuffer(): Promise<ArrayBuffer> }>;
  /** Writes it anew: the new file is there when the writer is closed. */
  createWritable(): Promise<{ write(bytes: Uint8Array): Promise<void>; close(): Promise<void> }>;
}

/**
 * A folder that the user chose in the browser (File System Access), or one of the origin private file system.
 *
 * @example
 * ```ts
 * await sync(keep, directoryRemote(await showDirectoryPicker({ mode: "readwrite" })), { passphrase });
 * ```
 */
export function directoryRemote(directory: SyncDirectory): SyncRemote {
  const missing = (error: unknown): undefined => {
    if ((error as { name?: unknown }).name !== "NotFoundError") throw error;
  };
  return {
    id: `directory ${directory.name}`,
    async list() {
      const names: string[] = [];
      for await (const name of directory.keys()) names.push(name);
      return names;
    },
    async read(name) {
      const handle = await directory.getFileHandle(name).catch(missing);
      return handle === undefined ? undefined : new Uint8Array(await (await handle.getFile()).arrayBuffer());
    },
    async write(name, bytes) {
      const writer = await (await directory.getFileHandle(name, { create: true })).createWritable();
      await writer.write(bytes);
      await writer.close();
    },
    async remove(name) {
      await directory.removeEntry(name).catch(missing);
    },
  };
}

/** How to ask a server. */
export interface HttpRemoteOptions {
  /** Headers of each request, such as `Authorization`. */
  headers?: Record<string, string>;
  /** Asks instead of the global `fetch`: it can sign requests, for example. */
  fetch?: (url: string, init: { method: string; headers: Record<string, string>; body?: Uint8Array<ArrayBuffer> }) => Promise<Response>;
}

/**
 * A collection on a WebDAV server ([RFC 4918](https://www.rfc-editor.org/rfc/rfc4918)), such as Nextcloud's. It is made where there is none.
 *
 * @throws ThreadkeepError `bad-request` for what is no address; from its methods `remote-failed`
 *
 * @example
 * ```ts
 * const remote = webdavRemote("https://cloud.example.org/remote.php/dav/files/ann/threads/", { headers: { authorization } });
 * await sync(keep, remote, { passphrase });
 * ```
 */
export function webdavRemote(url: string, options: HttpRemoteOptions = {}): SyncRemote {
  const base = folderOf(url);
  const ask = asker(options);
  return {
    id: `webdav ${base}`,
    async list() {
      const answer = await ask("PROPFIND", base, [207, 404], { headers: { depth: "1" } });
      if (answer.status === 404) return [];
      const hrefs = [...(await answer.text()).matchAll(/<(?:\w+:)?href>\s*([^<]+?)\s*<\/(?:\w+:)?href>/gi)].map(([, href = ""]) => href);
      return hrefs.map((href) => decodeURIComponent(href.split("/").at(-1) ?? "")).filter((name) => name !== "");
    },
    async read(name) {
      const answer = await ask("GET", base + name, [200, 404]);
      return answer.status === 404 ? undefined : new Uint8Array(await answer.arrayBuffer());
    },
    async write(name, bytes) {
      const put = () => ask("PUT", base + name, [200, 201, 204, 404, 409], { body: bytes });
      if (![404, 409].includes((await put()).status)) return;
      await ask("MKCOL", base, [201, 405]);
      const { status } = await put();
      if (status === 404 || status === 409) throw failed("PUT", base + name, status);
    },
    async remove(name) {
      await ask("DELETE", base + name, [200, 204, 404]);
    },
  };
}

/**
 * A bucket of S3 or what speaks like it, or a folder in one. Requests must be signed: hand in a `fetch` that does it, such as that of
 * [`aws4fetch`](https://github.com/mhart/aws4fetch).
 *
 * @param url the bucket's address, and the folder in it
 * @throws ThreadkeepError `bad-request` for what is no address; from its methods `remote-failed`
 *
 * @example
 * ```ts
 * const aws = new AwsClient({ accessKeyId, secretAccessKey });
 * const remote = s3Remote("https://s3.eu-central-1.amazonaws.com/bucket/threads/", { fetch: (url, init) => aws.fetch(url, init) });
 * await sync(keep, remote, { passphrase });
 * ```
 */
export function s3Remote(url: string, options: HttpRemoteOptions = {}): SyncRemote {
  const base = folderOf(url);
  const { origin, pathname } = new URL(base);
  const [, bucket = "", prefix = ""] = /^\/([^/]+)\/(.*)$/.exec(pathname) ?? [];
  const ask = asker(options);
  return {
    id: `s3 ${base}`,
    async list() {
      const names: string[] = [];
      let more = "";
      do {
        const query = `list-type=2&prefix=${encodeURIComponent(decodeURIComponent(prefix))}${more}`;
        const text = await (await ask("GET", `${origin}/${bucket}?${query}`, [200])).text();
        names.push(...[...text.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key = ""]) => key.slice(decodeURIComponent(prefix).length)));
        const next = /<NextContinuationToken>([^<]+)</.exec(text)?.[1];
        more = next === undefined ? "" : `&continuation-token=${encodeURIComponent(next)}`;
      } while (more !== "");
      return names;
    },
    async read(name) {
      const answer = await ask("GET", base + name, [200, 404]);
      return answer.status === 404 ? undefined : new Uint8Array(await answer.arrayBuffer());
    },
    async write(name, bytes) {
      await ask("PUT", base + name, [200, 201, 204], { body: bytes });
    },
    async remove(name) {
      await ask("DELETE", base + name, [200, 204, 404]);
    },
  };
}

/**
 * Records of a keep, and so any storage that a keep can have: another one's Redis or PostgreSQL, say.
 *
 * @param id tells this place from others
 *
 * @example
 * ```ts
 * const shared = await Threadkeep.open({ storage: await redisStore({ url }) });
 * await sync(keep, recordsRemote(shared.records("sync"), "redis"), { passphrase });
 * ```
 */
export function recordsRemote(records: Records, id: string): SyncRemote {
  return {
    id: `records ${check.exact(id, "id")}`,
    list: async () => (await records.scan()).map(([key]) => key),
    read: (name) => records.get(name),
    write: (name, bytes) => records.commit({ puts: [[name, bytes]] }),
    remove: (name) => records.commit({ deletes: [name] }),
  };
}

function folderOf(url: string): string {
  const { href } = check.reading("url", () => new URL(check.text(url, "url")));
  return href.endsWith("/") ? href : `${href}/`;
}

type Ask = (method: string, url: string, fine: readonly number[], more?: { headers?: Record<string, string>; body?: Uint8Array }) => Promise<Response>;

function asker({ headers = {}, fetch = globalThis.fetch }: HttpRemoteOptions): Ask {
  return async (method, url, fine, more = {}) => {
    const answer = await fetch(url, { method, headers: { ...headers, ...more.headers }, ...(more.body && { body: more.body as Uint8Array<ArrayBuffer> }) });
    if (!fine.includes(answer.status)) throw failed(method, url, answer.status);
    return answer;
  };
}

function failed(method: string, url: string, status: number): ThreadkeepError {
  return new ThreadkeepError("remote-failed", `${method} ${url} was answered with ${status}`, { status, url });
}
