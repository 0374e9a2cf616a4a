// The arguments of a tool call, held against the tool's JSON Schema: what is wrong is said in words that a model can act on. It
// knows the part of JSON Schema that our tools use, and makes no code at run time, which careful pages forbid.

import { wellFormed } from "../check.js";

/** A JSON Schema, as far as our tools use it. (A type and no interface: those are not taken where any field is allowed.) */
export type JsonSchema = {
  readonly type: "object" | "array" | "string" | "integer" | "number" | "boolean";
  readonly description?: string;
  readonly properties?: Record<string, JsonSchema>;
  readonly required?: string[];
  readonly additionalProperties?: boolean;
  readonly items?: JsonSchema;
  readonly enum?: string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
};

/** The schema of a tool's arguments, or of what it answers. */
export type ObjectSchema = JsonSchema & { readonly type: "object" };

/** What a model did wrong, in words for it. */
export class ToolFailure extends Error {}

const SHOWN = 80;

/** A value of the model's for an error text: one line, short, without control characters. */
export function shown(value: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(value) ?? String(value);
  } catch {
    text = typeof value;
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\p{Surrogate}]/gu, "\ufffd");
  const characters = [...line.slice(0, 4 * SHOWN)];
  return characters.length > SHOWN ? `${characters.slice(0, SHOWN).join("")}…` : line;
}

/**
 * The arguments of a call as its schema wants them: JSON text is read, empty values of what may be left out are left out, and numbers
 * may come as text, since models write all of these.
 *
 * @throws ToolFailure with what to do about it
 */
export function readArguments(given: unknown, schema: JsonSchema): Record<string, unknown> {
  let value = given ?? {};
  if (typeof value === "string") {
    try {
      value = value.trim() === "" ? {} : JSON.parse(value);
    } catch {
      throw new ToolFailure("The arguments are not valid JSON. Send them as one JSON object.");
    }
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ToolFailure(`The arguments must be one JSON object, they are ${shown(value)}.`);
  return object(value as Record<string, unknown>, schema, "");
}

function object(value: Record<string, unknown>, schema: JsonSchema, path: string): Record<string, unknown> {
  const properties = schema.properties ?? {};
  const required = schema.required ?? [];
  const checked: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const inner = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (inner === undefined) throw new ToolFailure(`There is no argument ${shown(path + name)}. There are: ${Object.keys(properties).join(", ") || "none"}.`);
    const item = value[name];
    if ((item === null || item === undefined || item === "") && !required.includes(name)) continue;
    checked[name] = one(item, inner, path + name);
  }
  for (const name of required)
    if (!Object.hasOwn(checked, name)) throw new ToolFailure(`The argument ${path}${name} is missing: ${properties[name]?.description ?? ""}`.trim());
  return checked;
}

function one(value: unknown, schema: JsonSchema, name: string): unknown {
  const wrong = (what: string): ToolFailure => new ToolFailure(`${name} must be ${what}, it is ${shown(value)}.`);
  switch (schema.type) {
    case "string":
      if (typeof value !== "string") throw wrong("a string");
      if (schema.enum !== undefined && !schema.enum.includes(value)) throw wrong(`one of ${schema.enum.join(", ")}`);
      if (value.length < (schema.minLength ?? 0)) throw wrong("a text that is not empty");
      if (value.length > (schema.maxLength ?? Infinity))
        throw new ToolFailure(`${name} has ${value.length} characters, at most ${schema.maxLength} are allowed.`);
      return wellFormed(value);
    case "integer":
    case "number": {
      const number = typeof value === "string" && /^\s*-?\d{1,15}(\.\d{1,15})?\s*$/.test(value) ? Number(value) : value;
      const { minimum = -Infinity, maximum = Infinity } = schema;
      const whole = schema.type === "integer";
      if (typeof number !== "number" || !Number.isFinite(number) || (whole && !Number.isInteger(number)) || number < minimum || number > maximum)
        throw wrong(`a ${whole ? "whole " : ""}number${range(minimum, maximum)}`);
      return number;
    }
    case "boolean":
      if (value === true || value === "true") return true;
      if (value === false || value === "false") return false;
      throw wrong("true or false");
    case "array": {
      if (!Array.isArray(value)) throw wrong("a list");
      const { minItems = 0, maxItems = Infinity, items } = schema;
      if (value.length < minItems || value.length > maxItems) throw wrong(`a list of ${minItems === maxItems ? minItems : `${minItems} to ${maxItems}`} items`);
      return items === undefined ? [...value] : value.map((item, index) => one(item, items, `${name}[${index}]`));
    }
    case "object":
      if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong("an object");
      return object(value as Record<string, unknown>, schema, `${name}.`);
  }
}

function range(minimum: number, maximum: number): string {
  if (minimum === -Infinity && maximum === Infinity) return "";
  if (maximum === Infinity) return ` from ${minimum} on`;
  return minimum === -Infinity ? ` up to ${maximum}` : ` from ${minimum} to ${maximum}`;
}
