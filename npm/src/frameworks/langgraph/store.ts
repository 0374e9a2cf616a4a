// LangGraph's long-term store on a keep: items under namespaces and keys, each one record, so that what lies under a prefix is one range.

import {
  BaseStore,
  InvalidNamespaceError,
  JsonPlusSerializer,
  type GetOperation,
  type IndexConfig,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { options as checkOptions, isObject } from "../../check.js";
import { badArgument } from "../../errors.js";
import type { Records } from "../../records.js";
import { recordKey, recordParts, recordRange } from "../../record-keys.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { StoreRecord } from "../../stores/adapter.js";
import { fulfils } from "./filter.js";
import { frame, unframe } from "./frame.js";
import { allTexts, textsAt } from "./texts.js";
import { rank, wordsOf } from "./words.js";

/** Options of {@link ThreadkeepStore}. */
export interface StoreOptions {
  /** What makes vectors of texts, as LangGraph's own stores take it; without it, searches rank by words. */
  index?: IndexConfig;
  /** What turns values into bytes and back; LangGraph's own `JsonPlusSerializer` without it. */
  serde?: SerializerProtocol;
  /** The name under which the records lie in the keep; `langgraph` without it. */
  namespace?: string;
}

/** What an item's record says beside its value; times in milliseconds since 1970 (UTC). */
interface Header {
  type: string;
  created: number;
  updated: number;
  /** Orders items that were made in the same millisecond. */
  order: number;
  /** What of it is found by a search. */
  index?: false | string[];
  /** How many numbers each of its vectors has. */
  dims?: number;
}

/** An item as it was read. */
interface Stored {
  item: Item;
  order: number;
  index: false | string[] | undefined;
  vectors: Float32Array[];
}

/**
 * A LangGraph store on a keep: what agents remember across threads, in whatever the keep is stored in.
 *
 * A `put` is durable when it resolves, and a `batch` happens as a whole; it reads before it writes. Searches read what lies under
 * their prefix; with a `query` they rank by words, or, with an `index`, by vectors. What does not match comes after what does, without a score.
 *
 * @example
 * ```ts
 * const store = new ThreadkeepStore(keep);
 * await store.put(["users", "ann"], "food", { likes: "brown cheese" });
 * const [best] = await store.search(["users"], { query: "which cheese?", limit: 1 });
 * ```
 */
export class ThreadkeepStore extends BaseStore {
  readonly #records: Records;
  readonly #serde: SerializerProtocol;
  readonly #index: IndexConfig | undefined;
  #order = 0;

  /**
   * @param keep an open keep; closing it is the caller's
   * @throws ThreadkeepError `bad-request` for an option that is not known
   */
  constructor(keep: Threadkeep, options?: StoreOptions) {
    super();
    const asIs = (value: unknown) => value;
    const { index, serde, namespace = "langgraph" } = checkOptions(options, "options", { index: asIs, serde: asIs, namespace: asIs }) as StoreOptions;
    this.#records = keep.records(namespace);
    this.#serde = serde ?? new JsonPlusSerializer();
    this.#index = index;
  }

  /**
   * Carries out operations, in one piece. What reads sees the state before what writes; of several writes to one item, the last counts.
   *
   * @throws InvalidNamespaceError for an empty namespace, or a label that is no text or empty
   * @throws ThreadkeepError `corrupt`; the storage's codes
   */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    for (const operation of operations) if ("namespace" in operation) checkNamespace(operation.namespace);
    const puts = new Map<string, PutOperation>();
    const reads = operations.map(async (operation): Promise<unknown> => {
      if ("namespacePrefix" in operation) return this.#search(operation);
      if ("value" in operation) {
        puts.set(keyOf(operation.namespace, operation.key), operation);
        return null;
      }
      if ("namespace" in operation) return this.#get(operation);
      return this.#namespaces(operation as ListNamespacesOperation);
    });
    const results = await Promise.all(reads);
    if (puts.size > 0) await this.#put(puts);
    return results as OperationResults<Op>;
  }

  async #get({ namespace, key }: GetOperation): Promise<Item | null> {
    const at = keyOf(namespace, key);
    const bytes = await this.#records.get(at);
    return bytes === undefined ? null : (await this.#read([at, bytes])).item;
  }

  async #put(operations: ReadonlyMap<string, PutOperation>): Promise<void> {
    const vectors = await this.#vectors([...operations.values()]);
    const values = new Map<string, [type: string, bytes: Uint8Array]>();
    for (const [key, { value }] of operations) if (value !== null) values.set(key, await this.#serde.dumpsTyped(value));
    // When an item was made is kept; where somebody else made or deleted it meanwhile, that is looked up again.
    for (;;) {
      const before = new Map(await Promise.all([...values.keys()].map(async (key) => [key, await this.#records.get(key)] as const)));
      const now = Date.now();
      const puts: StoreRecord[] = [];
      for (const [key, [type, bytes]] of values) {
        const known = before.get(key);
        const old = known && unframe<Header>(key, known).header;
        const index = operations.get(key)?.index;
        const found = vectors.get(key) ?? [];
        const header: Header = {
          type,
          created: old?.created ?? now,
          updated: now,
          order: old?.order ?? (this.#order += 1),
          ...(index === undefined ? {} : { index }),
          ...(found[0] === undefined ? {} : { dims: found[0].length }),
        };
        puts.push([key, frame(header, [bytes, ...found.map((vector) => new Uint8Array(Float32Array.from(vector).buffer))])]);
      }
      const absent = [...values.keys()].filter((key) => before.get(key) === undefined);
      const present = [...values.keys()].filter((key) => before.get(key) !== undefined);
      const deletes = [...operations.keys()].filter((key) => !values.has(key));
      try {
        await this.#records.commit({ absent, present, deletes, puts });
        return;
      } catch (error) {
        if (!isObject(error) || error["code"] !== "conflict") throw error;
      }
    }
  }

  /** Vectors of what is put, by key. */
  async #vectors(operations: readonly PutOperation[]): Promise<Map<string, number[][]>> {
    const made = new Map<string, number[][]>();
    if (this.#index === undefined) return made;
    const texts: string[] = [];
    const owners: string[] = [];
    for (const { namespace, key, value, index } of operations) {
      if (value === null || index === false) continue;
      for (const path of index ?? this.#index.fields ?? ["$"]) {
        for (const text of textsAt(value, path)) {
          texts.push(text);
          owners.push(keyOf(namespace, key));
        }
      }
    }
    if (texts.length === 0) return made;
    const vectors = await this.#index.embeddings.embedDocuments(texts);
    if (vectors.length !== texts.length) throw badArgument("options.index.embeddings", `made ${vectors.length} vectors of ${texts.length} texts`);
    for (const [at, owner] of owners.entries()) made.set(owner, [...(made.get(owner) ?? []), vectors[at] as number[]]);
    return made;
  }

  async #search({ namespacePrefix, filter, limit = 10, offset = 0, query }: SearchOperation): Promise<SearchItem[]> {
    const range = namespacePrefix.length === 0 ? recordRange("i") : recordRange("i", ...namespacePrefix);
    const all = await Promise.all((await this.#records.scan(range)).map((record) => this.#read(record)));
    const found = all
      .filter(({ item }) => filter === undefined || Object.entries(filter).every(([name, asked]) => fulfils(item.value[name], asked)))
      .sort((a, b) => a.item.createdAt.getTime() - b.item.createdAt.getTime() || a.order - b.order);
    const scores = query === undefined || query === "" ? undefined : await this.#scores(query, found);
    if (scores === undefined) return found.slice(offset, offset + limit).map(({ item }) => item);
    const ranked = found.map(({ item }, at) => ({ item, score: scores[at] }));
    const scored = ranked.filter(({ score }) => score !== undefined).sort((a, b) => (b.score as number) - (a.score as number));
    const others = ranked.filter(({ score }) => score === undefined);
    return [...scored, ...others].slice(offset, offset + limit).map(({ item, score }) => (score === undefined ? item : { ...item, score }));
  }

  /** How well items fit a query; `undefined` for those that do not, or are not to be found. */
  async #scores(query: string, found: readonly Stored[]): Promise<(number | undefined)[]> {
    if (this.#index !== undefined) {
      const wanted = await this.#index.embeddings.embedQuery(query);
      return found.map(({ vectors }) => (vectors.length === 0 ? undefined : Math.max(...vectors.map((vector) => cosine(wanted, vector)))));
    }
    const texts = found.map(({ item, index }) => {
      if (index === false) return [];
      return (index === undefined ? allTexts(item.value) : index.flatMap((path) => textsAt(item.value, path))).flatMap(wordsOf);
    });
    return rank(query, texts).map((score) => (score > 0 ? score : undefined));
  }

  async #namespaces({ matchConditions, maxDepth, limit = 100, offset = 0 }: ListNamespacesOperation): Promise<string[][]> {
    const found = new Map<string, string[]>();
    // From one namespace to the next: one record is read of each.
    const range = recordRange("i");
    for (let start = range.start; ; ) {
      const [first] = await this.#records.scan({ start, end: range.end, limit: 1 });
      if (first === undefined) break;
      const namespace = recordParts(first[0]).slice(1, -2);
      start = recordRange("i", ...namespace, "").end;
      if (matchConditions?.every((condition) => matches(condition, namespace)) === false) continue;
      const shown = namespace.slice(0, maxDepth);
      found.set(recordKey(...shown), shown);
    }
    const order = [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, namespace]) => namespace);
    return order.slice(offset, offset + limit);
  }

  async #read([key, bytes]: StoreRecord): Promise<Stored> {
    const { header, parts } = unframe<Header>(key, bytes);
    const names = recordParts(key);
    const item: Item = {
      value: (await this.#serde.loadsTyped(header.type, parts[0] as Uint8Array)) as Record<string, unknown>,
      key: names.at(-1) as string,
      namespace: names.slice(1, -2),
      createdAt: new Date(header.created),
      updatedAt: new Date(header.updated),
    };
    const vectors = parts.slice(1).map((part) => new Float32Array(part.slice().buffer));
    return { item, order: header.order, index: header.index, vectors };
  }
}

/** An item's key: its namespace, an empty label (which no namespace has), its own key. */
function keyOf(namespace: readonly string[], key: string): string {
  return recordKey("i", ...namespace, "", key);
}

function checkNamespace(namespace: unknown): void {
  if (!Array.isArray(namespace) || namespace.length === 0) throw new InvalidNamespaceError("Namespace cannot be empty.");
  for (const label of namespace as unknown[])
    if (typeof label !== "string" || label === "") throw new InvalidNamespaceError("Namespace labels must be non-empty strings.");
}

function matches({ matchType, path }: MatchCondition, namespace: readonly string[]): boolean {
  if (path.length > namespace.length) return false;
  const start = matchType === "suffix" ? namespace.length - path.length : 0;
  return path.every((label, at) => label === "*" || label === namespace[start + at]);
}

function cosine(a: readonly number[], b: Float32Array): number {
  let product = 0;
  let sizeA = 0;
  let sizeB = 0;
  for (const [at, value] of b.entries()) {
    const other = a[at] ?? 0;
    product += value * other;
    sizeA += other * other;
    sizeB += value * value;
  }
  return sizeA === 0 || sizeB === 0 ? 0 : product / Math.sqrt(sizeA * sizeB);
}
