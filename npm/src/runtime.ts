// The one wasm instance: loading it, turning its task wheel, and what happens when it traps. Every way into wasm leads
// through `run` or `now`, so that a trap becomes an error with words for everybody who waits, and for all later callers.

import * as parts from "../wasm/parts.js";
import initWasm, * as wasm from "../wasm/threadkeep.js";
import * as check from "./check.js";
import { ThreadkeepError, badArgument, fromWasm, wordsOf } from "./errors.js";
import { inNode, nodeModule } from "./platform.js";
import { VERSION } from "./version.js";

/**
 * Where the wasm may come from: its address, its bytes, a response that brings them, or the compiled module (a
 * `WebAssembly.Module`, which is `object` here since Node's types do not know it).
 */
export type InitSource = string | URL | Response | ArrayBuffer | Uint8Array | object;

/** The files that are loaded when they are first needed: the parts of the module, and the vocabularies. */
export type PartFile =
  | "agent.wasm"
  | "archives.wasm"
  | "contract.wasm"
  | "manage.wasm"
  | "prompts.wasm"
  | "search.wasm"
  | "shared.wasm"
  | "o200k_base.gz"
  | "cl100k_base.gz";

/** Options of {@link init}. */
export interface InitOptions {
  /**
   * Where the files that come later are, if not beside this package. `archives.wasm` is loaded by the first
   * `import`, `prompts.wasm` by the first `context`, `getRecent`, `countTokens`, `trimMessages` and the like, `search.wasm` by the
   * first `search`, `agent.wasm` by the first agent or message of a mailbox, `manage.wasm` by the first call that
   * deletes or exports what is kept, `contract.wasm` by `checkStore`; `shared.wasm`, which has what several of them need, by
   * the first of all; a vocabulary (`o200k_base.gz`, `cl100k_base.gz`) when something is first counted by it. `undefined` for a
   * file: the place beside this package, which `threadkeep/slim` does not know.
   */
  part?: (file: PartFile) => InitSource | Promise<InitSource> | undefined;
}

/** A file of this package. */
type OwnFile = PartFile | "threadkeep.wasm";

/** Where the package's own files lie, as far as an entry said; `threadkeep/slim` says nothing. */
const places: Partial<Record<OwnFile, () => URL>> = {};
/** What `init` was told of the files that come later. */
let partOf: InitOptions["part"];

/** Says where files of the package lie. @internal */
export function placed(more: typeof places): void {
  Object.assign(places, more);
}

let loading: Promise<void> | undefined;
let ready = false;
let lastWords: string | undefined;
let broken: ThreadkeepError | undefined;
const waiting = new Set<(reason: ThreadkeepError) => void>();

/**
 * Loads the WebAssembly module. `Threadkeep.open` does it too, so it is needed only before the pure functions or to say
 * where the module lies. Calling it again does nothing more; after a failure it tries again.
 *
 * In the browser the module is fetched from beside this package (bundlers see `new URL(…, import.meta.url)`); Node reads
 * the file.
 *
 * @param source where the module comes from, if not from there
 * @param options where its parts come from, if not from there
 * @throws ThreadkeepError `bad-request`; `init-failed` when it cannot be had, is another version's, or is not WebAssembly
 *
 * @example
 * ```ts
 * await init();
 * console.log(readDepth("[depth:2] hello").depth); // 2
 * ```
 */
export function init(source?: InitSource | Promise<InitSource>, options?: InitOptions): Promise<void> {
  // What is not waited for must not end a program when it fails.
  if (loading !== undefined) void Promise.resolve(source).catch(() => {});
  loading ??= load(source, options).catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function load(source: InitSource | Promise<InitSource> | undefined, options: InitOptions | undefined): Promise<void> {
  const { part } = check.options(options, "options", { part: check.callback }) as InitOptions;
  try {
    const module = await compile((await source) ?? ownFile("threadkeep.wasm"));
    // Looked at before the bindings take it, since they keep the first instance that they get.
    if (!WebAssembly.Module.exports(module).some(({ name }) => name === "runTasks")) throw initFailed("this is another WebAssembly module");
    // The one asks for `Response`, which takes Node longer to make than all the rest here; the other is refused by browsers.
    if (inNode()) wasm.initSync({ module });
    else await initWasm({ module_or_path: module });
    partOf = part;
    parts.readWith((file) => partModule(file as PartFile));
    const built = wasm.version();
    if (built !== VERSION) throw initFailed(`the module has version ${built}, this package is ${VERSION}`);
    wasm.start(
      () => queueMicrotask(turn),
      (words: string) => (lastWords = words),
    );
  } catch (error) {
    if (error instanceof ThreadkeepError) throw error;
    throw initFailed(wordsOf(error), error);
  }
  ready = true;
}

type Part = "agent" | "archives" | "contract" | "manage" | "prompts" | "search";

const present = new Map<Part, Promise<void>>();
const there = new Set<Part>();

/** Whether a part is loaded. @internal */
export function isThere(part: Part): boolean {
  return there.has(part);
}

/** Loads the module and a part of it, unless they are there. @internal */
export function need(part: Part): Promise<void> {
  let promise = present.get(part);
  if (promise === undefined) {
    promise = loadPart(part).catch((error: unknown) => {
      present.delete(part);
      throw error;
    });
    present.set(part, promise);
  }
  return promise;
}

async function loadPart(part: Part): Promise<void> {
  await init();
  try {
    // biome-ignore lint/performance/noDynamicNamespaceImportAccess: the parts are data, not a library to be shaken
    await parts[part]();
  } catch (error) {
    if (error instanceof ThreadkeepError) throw error;
    throw initFailed(`its part ${part}: ${wordsOf(error)}`, error);
  }
  // Now that it is there, the functions that answer at once find it.
  if (part === "prompts") await run((module) => module.loadPrompts() as Promise<void>);
  if (part === "manage") await run((module) => module.loadManage() as Promise<void>);
  there.add(part);
}

/** The bytes of a file that comes later. What fails to be read is thrown as it is. @internal */
export async function partBytes(file: PartFile): Promise<Uint8Array<ArrayBuffer>> {
  return asset((await partOf?.(file)) ?? ownFile(file));
}

/** A part of the module: its bytes, or compiled, where nothing may be compiled at run time. */
async function partModule(file: PartFile): Promise<Uint8Array<ArrayBuffer> | WebAssembly.Module> {
  const source = (await partOf?.(file)) ?? ownFile(file);
  return source instanceof WebAssembly.Module ? source : asset(source);
}

function ownFile(file: OwnFile): URL {
  const place = places[file];
  if (place !== undefined) return place();
  throw new ThreadkeepError("init-failed", `Cannot locate ${file}. With threadkeep/slim, call init(source, { part }) first.`, { file });
}

async function compile(source: InitSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  if (check.isBuffer(source) || ArrayBuffer.isView(source)) return WebAssembly.compile(source as BufferSource);
  if (!isAddress(source)) {
    if (typeof Response === "function" && source instanceof Response) return compileResponse(source);
    throw badArgument("source", "must be a URL, bytes, a Response or a WebAssembly.Module");
  }
  const file = await read(source);
  return check.isBytes(file) ? WebAssembly.compile(file) : compileResponse(file);
}

/** The bytes of something beside the module. What fails to be read is thrown as it is. @internal */
export async function asset(source: InitSource): Promise<Uint8Array<ArrayBuffer>> {
  if (check.isBuffer(source)) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer as ArrayBuffer, source.byteOffset, source.byteLength);
  if (!isAddress(source) && !(typeof Response === "function" && source instanceof Response)) throw badArgument("source", "must be a URL, bytes or a Response");
  const file = isAddress(source) ? await read(source) : (source as Response);
  if (check.isBytes(file)) return file;
  if (!file.ok) throw new Error(answerOf(file));
  return new Uint8Array(await file.arrayBuffer());
}

function isAddress(source: InitSource): source is string | URL {
  return typeof source === "string" || source instanceof URL;
}

/** Reads a file under Node; asks for it elsewhere. */
async function read(source: string | URL): Promise<Uint8Array<ArrayBuffer> | Response> {
  const url = typeof source === "string" ? absolute(source) : source;
  if (inNode() && url.protocol === "file:") {
    const { readFile } = await nodeModule<{ readFile(path: URL): Promise<Uint8Array<ArrayBuffer>> }>("node:fs/promises");
    return readFile(url);
  }
  return fetch(url);
}

async function compileResponse(response: Response): Promise<WebAssembly.Module> {
  if (!response.ok) throw initFailed(answerOf(response));
  // Streaming insists on the type, which not every server gets right.
  const streams = response.headers.get("content-type") === "application/wasm";
  return streams ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

/** An address as pages write it; where there is no page, a name counts from the working directory, as with all of Node. */
function absolute(address: string): URL {
  const { location, process } = globalThis as { location?: { href?: string }; process?: { cwd?(): string } };
  return new URL(address, location?.href ?? (process?.cwd === undefined ? undefined : folderUrl(process.cwd())));
}

/** The URL of a folder, with everything in its name that means something else in a URL written out. */
function folderUrl(path: string): string {
  const windows = /^[a-z]:\\|^\\\\/i.test(path);
  const name = (windows ? path.replaceAll("\\", "/") : path).replace(/[%?#\\\n\r\t]/g, encodeURIComponent);
  return `${name.startsWith("//") ? "file:" : name.startsWith("/") ? "file://" : "file:///"}${name}/`;
}

function initFailed(why: string, cause?: unknown): ThreadkeepError {
  return new ThreadkeepError("init-failed", `the WebAssembly module cannot be loaded: ${why}`, {}, cause);
}

/** Gives the engine's tasks their turn. */
function turn(): void {
  if (broken !== undefined) return;
  try {
    wasm.runTasks();
  } catch (error) {
    breakDown(error);
  }
}

/** After a trap the instance's memory cannot be trusted: everybody who waits is told, and nobody gets in again. */
function breakDown(error: unknown): ThreadkeepError {
  if (broken === undefined) {
    const words = lastWords ?? wordsOf(error);
    broken = new ThreadkeepError(
      "panicked",
      `Threadkeep stopped at a bug of its own (${words}). Acknowledged writes are safe. Load it anew.`,
      { panic: words },
      error,
    );
    for (const reject of waiting) reject(broken);
    waiting.clear();
  }
  return broken;
}

/** Starts something asynchronous in wasm. @internal */
export function run<T>(start: (module: typeof wasm) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    if (broken !== undefined) throw broken;
    waiting.add(reject);
    let begun: Promise<T>;
    try {
      begun = start(wasm);
    } catch (error) {
      breakDown(error);
      return;
    }
    begun.then(
      (value) => {
        waiting.delete(reject);
        resolve(value);
      },
      (reason: unknown) => {
        waiting.delete(reject);
        reject(fromWasm(reason));
      },
    );
  });
}

/** Calls something synchronous in wasm. @internal */
export function now<T>(call: (module: typeof wasm) => T): T {
  if (!ready) throw new ThreadkeepError("not-initialised", "the module is not loaded yet: await init() first");
  if (broken !== undefined) throw broken;
  try {
    return call(wasm);
  } catch (error) {
    // What is refused comes as JSON text; anything else is a trap.
    if (typeof error === "string") throw fromWasm(error);
    throw breakDown(error);
  }
}

/** What a server said instead of a file. */
function answerOf({ url, status, statusText }: Response): string {
  return `${url} answers ${status} ${statusText}`.trimEnd();
}
