// What is picked of the service's answers: events of a branch, the newest messages, records of a namespace.

import type { Event, MemoryRecordSummary } from "@aws-sdk/client-bedrock-agentcore";
import type { Message } from "../../message.js";
import { estimatedMessage } from "../text.js";
import type { MemoryItem } from "../types.js";
import { MAX_PAYLOAD } from "./wire.js";

/** Those events of a session that make one branch, with what lies before it. @internal */
export function onBranch(events: readonly Event[], branch: string | undefined): Event[] {
  const isMain = ({ branch }: Event): boolean => branch === undefined || branch.name === undefined || branch.name === "main";
  const mine = events.filter((event) => (branch === undefined || branch === "main" ? isMain(event) : event.branch?.name === branch));
  if (branch === undefined || branch === "main") return mine;
  const root = mine.find(({ branch }) => branch?.rootEventId !== undefined)?.branch?.rootEventId;
  const rootEvent = events.find(({ eventId }) => eventId === root);
  if (rootEvent === undefined) return mine;
  const before = onBranch(events, isMain(rootEvent) ? undefined : rootEvent.branch?.name);
  return [...before.slice(0, before.findIndex(({ eventId }) => eventId === root) + 1), ...mine];
}

/** As many of the newest as the limits allow, and no result without its call at their beginning. @internal */
export function cut(messages: readonly Message[], maxMessages: number, maxTokens: number): Message[] {
  let from = messages.length;
  let tokens = 0;
  while (from > 0 && messages.length - from < maxMessages) {
    tokens += estimatedMessage(messages[from - 1] as Message);
    if (tokens > maxTokens) break;
    from -= 1;
  }
  while (messages[from]?.role === "tool") from += 1;
  return messages.slice(from);
}

/** Whether a record lies in a namespace or below it: as text, `/actors/ann` would begin `/actors/anna` too. @internal */
export function isUnder({ namespaces }: MemoryRecordSummary, namespace: string): boolean {
  const bare = namespace.replace(/\/+$/, "");
  return (namespaces ?? []).some((one) => one === bare || one.startsWith(`${bare}/`));
}

/** A record as a memory. @internal */
export function item(record: MemoryRecordSummary): MemoryItem {
  const { memoryRecordId, content, score, createdAt, namespaces, memoryStrategyId } = record;
  return {
    id: String(memoryRecordId),
    text: content?.text ?? "",
    ...(score === undefined ? {} : { score }),
    ...(createdAt === undefined ? {} : { createdAt: createdAt.toISOString() }),
    metadata: { namespaces: namespaces ?? [], memoryStrategyId },
  };
}

/** Messages in groups that one event holds: so many messages, and no more items of a payload than it may have. @internal */
export function inEvents<T>(messages: readonly T[], size: number, payload: (message: T) => readonly unknown[]): T[][] {
  const found: T[][] = [];
  let held = 0;
  for (const message of messages) {
    const items = payload(message).length;
    const group = found.at(-1);
    held += items;
    if (group !== undefined && group.length < size && held <= MAX_PAYLOAD) group.push(message);
    else {
      found.push([message]);
      held = items;
    }
  }
  return found;
}

/** Items in groups of a size, in order. @internal */
export function groups<T>(items: readonly T[], size: number): T[][] {
  const found: T[][] = [];
  for (let at = 0; at < items.length; at += size) found.push(items.slice(at, at + size));
  return found;
}
