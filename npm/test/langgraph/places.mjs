// Where the keeps of the suite lie.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const places = {
  async memory() {
    return { fresh: async () => ({ storage: "memory", remove: async () => {} }) };
  },
  async file() {
    const { fileStore } = await import("threadkeep/file");
    return {
      async fresh() {
        const folder = await mkdtemp(join(tmpdir(), "threadkeep-langgraph-"));
        return { storage: fileStore({ folder }), remove: () => rm(folder, { recursive: true, force: true }) };
      },
    };
  },
};
