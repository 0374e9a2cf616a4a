// The contenders beside ours: Dexie as one would use it, and IndexedDB by hand with our layout.

import { Dexie } from "/dexie/dexie.mjs";

const characters = (entries) => entries.reduce((sum, entry) => sum + entry.message.content.length, 0);

// One object a message under a compound primary key, which is the quickest layout that Dexie has for this: no
// secondary index.
export class DexieStore {
  static async open(name, entries, durability) {
    const store = new DexieStore();
    store.entries = entries;
    store.database = new Dexie(name, durability ? { chromeTransactionDurability: durability } : {});
    store.database.version(1).stores({ messages: "[conversation+seq]" });
    await store.database.open();
    return store;
  }
  async append(conversation, first, count) {
    const from = first % this.entries.length;
    const rows = this.entries.slice(from, from + count).map((entry, index) => ({ ...entry, conversation, seq: first + index }));
    await this.database.messages.bulkAdd(rows);
  }
  async load(conversation) {
    const rows = await this.database.messages.where("[conversation+seq]").between([conversation, Dexie.minKey], [conversation, Dexie.maxKey]).toArray();
    return [rows.length, characters(rows)];
  }
  async close() {
    this.database.close();
  }
}

// The same with an automatic key and a secondary index on the conversation: how most write it.
export class IndexedDexieStore {
  static async open(name, entries) {
    const store = new IndexedDexieStore();
    store.entries = entries;
    store.database = new Dexie(name);
    store.database.version(1).stores({ messages: "++key, conversation" });
    await store.database.open();
    return store;
  }
  async append(conversation, first, count) {
    const from = first % this.entries.length;
    const rows = this.entries.slice(from, from + count).map((entry, index) => ({ ...entry, conversation, seq: first + index }));
    await this.database.messages.bulkAdd(rows);
  }
  async load(conversation) {
    const rows = await this.database.messages.where("conversation").equals(conversation).toArray();
    return [rows.length, characters(rows)];
  }
  async close() {
    this.database.close();
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const bytes = (value) => encoder.encode(JSON.stringify(value));
const parse = (value) => JSON.parse(decoder.decode(value));

// The same keys, records and durability as ours, with no abstraction between. Without `guarded` it writes over whatever
// another tab may have written; with it, it keeps the conditions that ours keeps.
export class RawStore {
  static open(name, entries, durability, guarded) {
    return new Promise((resolve, reject) => {
      const request = indexedDB.open(name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore("records");
      request.onerror = () => reject(request.error);
      request.onsuccess = () => resolve(Object.assign(new RawStore(), { database: request.result, entries, durability, guarded }));
    });
  }
  append(conversation, first, count) {
    const from = first % this.entries.length;
    const entries = this.entries.slice(from, from + count);
    const firstPage = `p/${conversation}/1/${"0".repeat(16)}`;
    const page = bytes(entries);
    const info = bytes({
      id: conversation,
      title: `A conversation by the name of ${conversation}`,
      messages: first + count,
      updated_at: entries.at(-1).created_at,
      generation: 1,
      first_page: firstPage,
    });
    return new Promise((resolve, reject) => {
      const transaction = this.database.transaction("records", "readwrite", { durability: this.durability });
      const store = transaction.objectStore("records");
      const key = `p/${conversation}/1/${first.toString(16).padStart(16, "0")}`;
      if (this.guarded && first > 0) {
        store.getKey(firstPage).onsuccess = ({ target }) => target.result === undefined && transaction.abort();
      }
      if (this.guarded) store.add(page, key);
      else store.put(page, key);
      store.put(info, `t/${conversation}`);
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
    });
  }
  load(conversation) {
    return new Promise((resolve, reject) => {
      const store = this.database.transaction("records").objectStore("records");
      const request = store.getAll(IDBKeyRange.bound(`p/${conversation}/1/`, `p/${conversation}/1/\u007f`, false, true));
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const entries = request.result.flatMap(parse);
        resolve([entries.length, characters(entries)]);
      };
    });
  }
  async close() {
    this.database.close();
  }
}
