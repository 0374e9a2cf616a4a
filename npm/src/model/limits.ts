// How large a model's answer may become, and how long it may take. The engine has the same figures for connections.

import * as check from "../check.js";
import { badArgument } from "../errors.js";
import type { AnswerLimits } from "../generated/provider.js";

const DEFAULTS: Required<AnswerLimits> = { bytes: 32 << 20, argumentBytes: 4 << 20, calls: 256, millis: 30 * 60_000 };

const above0 = (value: unknown, argument: string, max: number): number => {
  const number = check.count(value, argument, max);
  if (number === 0) throw badArgument(argument, "must be a whole number from 1 on");
  return number;
};
const size = (value: unknown, argument: string): number => above0(value, argument, Number.MAX_SAFE_INTEGER);

/** The fields of an answer's limits. */
export const LIMITS = { bytes: size, argumentBytes: size, calls: size, millis: (value: unknown, argument: string) => above0(value, argument, check.MAX_WAIT) };

/** The limits of a model's answers, with the defaults. */
export function limited(limits: unknown): Required<AnswerLimits> {
  return { ...DEFAULTS, ...check.options(limits, "model.limits", LIMITS) };
}
