// Whether a value is what a filter asks for, as LangGraph's own stores have it, with one addition: objects and lists are equal when what they hold is.

import { same } from "../shared/json.js";

const OPERATORS: Readonly<Record<string, (value: unknown, asked: unknown) => boolean>> = {
  $eq: same,
  $ne: (value, asked) => !same(value, asked),
  $gt: (value, asked) => Number(value) > Number(asked),
  $gte: (value, asked) => Number(value) >= Number(asked),
  $lt: (value, asked) => Number(value) < Number(asked),
  $lte: (value, asked) => Number(value) <= Number(asked),
  $in: (value, asked) => Array.isArray(asked) && asked.some((one) => same(value, one)),
  $nin: (value, asked) => !Array.isArray(asked) || !asked.some((one) => same(value, one)),
};

/** Whether a value is as a filter asks: same to it, or, where the filter is an object of operators, all that they say. */
export function fulfils(value: unknown, filter: unknown): boolean {
  if (typeof filter !== "object" || filter === null || Array.isArray(filter)) return same(value, filter);
  const names = Object.keys(filter);
  if (!names.every((name) => Object.hasOwn(OPERATORS, name))) return same(value, filter);
  return names.every((name) => OPERATORS[name]?.(value, (filter as Record<string, unknown>)[name]));
}
