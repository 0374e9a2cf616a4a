// The suite with which LangGraph's authors check checkpoint savers, over keeps of any storage.
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { Threadkeep } from "threadkeep";
import { ThreadkeepSaver } from "threadkeep/langgraph";

/** All of it. `fresh` gives the options of a keep that is empty, which says that it is in `kind`, and how to remove it. */
export function validateOn(storage, kind, fresh) {
  const keeps = new Map();
  const initializer = {
    checkpointerName: `threadkeep-${storage}`,
    async createCheckpointer() {
      const { options, remove } = await fresh();
      const keep = await Threadkeep.open(options);
      expect(keep.storage).toBe(kind);
      const saver = new ThreadkeepSaver(keep);
      keeps.set(saver, { keep, remove });
      return saver;
    },
    async destroyCheckpointer(saver) {
      const { keep, remove } = keeps.get(saver);
      keeps.delete(saver);
      await keep.close();
      await remove();
    },
  };
  validate(initializer);
  deltaChannelHistoryTests(initializer);
}
