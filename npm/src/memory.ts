// The arguments of what is asked of memory: names and types; ranges and words are checked by the engine.
import * as check from "./check.js";

const any = (value: unknown): unknown => value;

const FILTER = { transcript: check.id, source: check.id, tag: check.text };

/** Options of `episodes()`. */
export const EPISODES = { ...FILTER, limit: check.count };
/** Options of `facts()`. */
export const FACTS = { ...EPISODES, superseded: check.flag };
/** Options of `retrieve()`. */
export const RETRIEVE = { ...FILTER, query: check.text, episodes: check.count, facts: check.count };
/** Fields of an edited fact. */
export const FACT_EDIT = { fact: check.text, kind: check.text, tags: any, confidence: any, salience: any };
/** Fields of a new fact. */
export const NEW_FACT = { ...FACT_EDIT, transcript: check.id, sources: any, pinned: check.flag };
/** Fields of an edited episode. */
export const EPISODE_EDIT = { summary: check.text, tags: any, salience: any };
/** Options of `rawTraces()`. */
export const TRACES = { turns: any, tail: check.count, exclude: check.text };
/** Options of `buildSnapshot()`. */
export const SNAPSHOT = {
  systemPrompt: check.text,
  bundle: (value: unknown, argument: string) => check.options(value, argument, { episodes: any, facts: any }),
  tailTurns: check.count,
  excludeTurnId: check.text,
  maxTokens: check.count,
  encoding: check.text,
};
