"use client";
// React: a keep, its threads and their versions, the next prompt, search and agents as hooks.

export { KeepProvider, useKeep, type KeepProviderProps, type KeepState } from "./react/provider.js";
export { useThread, useThreads, useBranch, type BranchState, type ThreadState } from "./react/thread.js";
export { useContextLedger, useSearch } from "./react/reading.js";
export { useAgent, type AgentState, type TurnOptions, type UseAgentOptions } from "./react/agent.js";
export type { LiveCall, LiveTurn } from "./react/turns.js";
export type { Loaded } from "./react/live.js";
