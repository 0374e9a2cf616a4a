// The suite in a browser, on IndexedDB: each keep is a database of its own.
import { validateOn } from "./validation.mjs";

let count = 0;

validateOn("indexeddb", "indexeddb", async () => {
  count += 1;
  const name = `langgraph-${count}`;
  return {
    options: { name, storage: "indexeddb" },
    async remove() {
      for (const { name: found } of await indexedDB.databases()) {
        if (!found.includes(name)) continue;
        await new Promise((resolve, reject) => {
          const request = indexedDB.deleteDatabase(found);
          request.onsuccess = resolve;
          request.onerror = () => reject(request.error);
        });
      }
    },
  };
});
