// assistant-ui: the history of its threads, with all branches, and the list of threads.

export { ThreadHistory, threadHistory, type ThreadHistoryOptions, type ThreadRef } from "./assistant-ui/history.js";
export { threadList, type ThreadListOptions } from "./assistant-ui/threads.js";
