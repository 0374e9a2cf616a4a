// What the tests share of saying what must be.
import assert from "node:assert/strict";
import { load } from "./installed.mjs";

export const {
  Threadkeep,
  ThreadkeepError,
  VERSION,
  chromeModel,
  chromeSummarizer,
  compressHistory,
  connect,
  countTokens,
  createAgent,
  forAiSdk,
  init,
  loadVocabulary,
  mailText,
  readDepth,
  recordKey,
  recordParts,
  recordRange,
  render,
  searchTool,
  tool,
  trimMessages,
  validate,
  writeDepth,
} = await load();

/** An open keep in memory. */
export function memory(options = {}) {
  return Threadkeep.open({ storage: "memory", ...options });
}

/** Waits for a rejection with a `ThreadkeepError` of this code; gives the error. */
export async function rejects(promise, code, words = /./) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    assert.ok(error instanceof ThreadkeepError, `a ThreadkeepError, not ${error?.stack ?? error}`);
    assert.equal(error.name, "ThreadkeepError");
    assert.equal(error.code, code, error.message);
    assert.match(error.message, words);
    assert.equal(typeof error.details, "object");
    return error;
  }
  assert.fail(`expected ${code}, it resolved with ${JSON.stringify(value)}`);
}

/** The texts of messages. */
export function texts(messages) {
  return messages.map((message) => message.content);
}

export function user(content) {
  return { role: "user", content };
}

export function assistant(content) {
  return { role: "assistant", content };
}

/** `count` user messages, m0 and on. */
export function many(count) {
  return Array.from({ length: count }, (_, index) => user(`m${index}`));
}
