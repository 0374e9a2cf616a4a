// The suite with which LangGraph's authors check checkpoint savers, over a keep in the storage that THREADKEEP_STORAGE names.
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { Threadkeep } from "threadkeep";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { places } from "./places.mjs";

const keeps = new Map();
const place = await places[process.env.THREADKEEP_STORAGE]();

const initializer = {
  checkpointerName: `threadkeep-${process.env.THREADKEEP_STORAGE}`,
  async createCheckpointer() {
    const { storage, remove } = await place.fresh();
    const keep = await Threadkeep.open({ storage });
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
