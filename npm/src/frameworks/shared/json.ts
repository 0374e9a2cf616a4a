// Plain data: what JSON can carry, compared and copied as JSON would see it. Messages of frameworks come from live objects with
// fields that are `undefined`; what comes back from the storage has been JSON.

import { isObject, wellFormed } from "../../check.js";

/** A copy as JSON carries it: without what is `undefined`, dates as text. Throws a `TypeError` for what JSON cannot carry. */
export function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (_, item: unknown) => (typeof item === "string" ? wellFormed(item) : item)) as T;
}

/** Whether two values are the same as JSON. */
export function same(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left === "string" && typeof right === "string") return wellFormed(left) === wellFormed(right);
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) {
    return typeof left === "number" && typeof right === "number" && Number.isNaN(left) && Number.isNaN(right);
  }
  if (isJsonable(left) || isJsonable(right)) return JSON.stringify(left) === JSON.stringify(right);
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
    return left.every((item, at) => same(item ?? null, right[at] ?? null));
  }
  const [one, other] = [left as Record<string, unknown>, right as Record<string, unknown>];
  for (const name of Object.keys(one)) if (one[name] !== undefined && !same(one[name], other[name])) return false;
  return Object.keys(other).every((name) => other[name] === undefined || one[name] !== undefined);
}

/** What changes an object's fields into another's. */
export function changes(from: Record<string, unknown>, to: Record<string, unknown>): { set?: Record<string, unknown>; unset?: string[] } {
  const set: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(to)) if (value !== undefined && !same(from[name], value)) set[name] = value;
  const unset = Object.keys(from).filter((name) => from[name] !== undefined && to[name] === undefined);
  return { ...(Object.keys(set).length === 0 ? {} : { set }), ...(unset.length === 0 ? {} : { unset }) };
}

function isJsonable(value: object): boolean {
  return !Array.isArray(value) && isObject(value) && typeof value["toJSON"] === "function";
}
