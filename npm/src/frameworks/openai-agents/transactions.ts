// What the SDK asks of a history beyond adding and taking: transactions, and mutations of calls.

import type { AgentInputItem, SessionHistoryMutation, SessionHistoryTransaction } from "@openai/agents-core";
import { isObject } from "../../check.js";
import { badArgument } from "../../errors.js";
import { decode, encode } from "./codec.js";

/** A transaction, checked. */
export function transactionOf(args: unknown): { operationId: string; transaction: SessionHistoryTransaction } {
  if (!isObject(args)) throw badArgument("args", "must be an object");
  const { operationId, transaction } = args;
  if (typeof operationId !== "string" || operationId.trim() === "") throw badArgument("operationId", "must be a text that is not empty");
  if (!isObject(transaction)) throw badArgument("transaction", "must be an object");
  const lists = transaction["type"] === "append_items" ? ["items"] : ["expectedSuffix", "replacement"];
  if (lists.length > 1 && transaction["type"] !== "replace_suffix") throw badArgument("transaction.type", 'must be "append_items" or "replace_suffix"');
  const unknown = Object.keys(transaction).find((name) => name !== "type" && !lists.includes(name));
  if (unknown !== undefined) throw badArgument(`transaction.${unknown}`, "is not known here");
  for (const name of lists) checkItems(transaction[name], `transaction.${name}`);
  return { operationId, transaction: decode(encode(transaction, "transaction")) as SessionHistoryTransaction };
}

/** Throws `bad-request` for what is no list of items. */
export function checkItems(items: unknown, argument: string): void {
  if (!Array.isArray(items)) throw badArgument(argument, "must be a list of items");
  for (const [index, item] of items.entries()) if (!isObject(item)) throw badArgument(`${argument}[${index}]`, "must be an item");
}

/** The items after a mutation: the replacement stands where the call stood first. */
export function replaced(items: AgentInputItem[], mutation: SessionHistoryMutation): AgentInputItem[] {
  if (mutation.type !== "replace_function_call") return items;
  const isIt = (item: AgentInputItem): boolean => item.type === "function_call" && item.callId === mutation.callId;
  const first = items.findIndex(isIt);
  return items.flatMap((item, index) => (!isIt(item) ? [item] : index === first ? [mutation.replacement] : []));
}
