// The suite under Node, in the storage that THREADKEEP_STORAGE names.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileStore } from "threadkeep/file";
import { validateOn } from "./validation.mjs";

const places = {
  memory: async () => ({ options: { storage: "memory" }, remove: async () => {} }),
  async file() {
    const folder = await mkdtemp(join(tmpdir(), "threadkeep-langgraph-"));
    return { options: { storage: fileStore({ folder }) }, remove: () => rm(folder, { recursive: true, force: true }) };
  },
};

const storage = process.env.THREADKEEP_STORAGE;
validateOn(storage, storage === "memory" ? "memory" : "adapter", places[storage]);
