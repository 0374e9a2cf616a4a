// Schemas of other libraries for the arguments of tools: Standard Schema, which Zod, Valibot, ArkType and others implement.

import { badArgument, wordsOf } from "../errors.js";

/** A schema that follows Standard Schema (standardschema.dev), such as one of Zod, Valibot or ArkType. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Gives JSON Schema, in libraries that can. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: "draft-07" }) => Record<string, unknown> } | undefined;
  };
}

/** What a {@link StandardSchema} says of a value. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined }[] };

/** Whether a value is a schema of this kind. @internal */
export function isStandard(value: unknown): value is StandardSchema {
  const inner = value === null || value === undefined ? undefined : (value as Partial<StandardSchema>)["~standard"];
  return typeof inner?.validate === "function";
}

/** The JSON Schema of a tool's arguments: `parameters` if they are given, else what the schema says of itself. @internal */
export function parametersOf(schema: StandardSchema | undefined, parameters: object | undefined, argument: string): object | undefined {
  if (schema === undefined || parameters !== undefined) return parameters;
  const convert = schema["~standard"].jsonSchema;
  if (convert === undefined)
    throw badArgument(`${argument}.parameters`, `is missing: the schema of ${schema["~standard"].vendor} gives no JSON Schema: give one beside it`);
  try {
    const { $schema: _, ...made } = convert.input({ target: "draft-07" });
    return made;
  } catch (error) {
    throw badArgument(`${argument}.schema`, `gives no JSON Schema (${wordsOf(error)}): give \`parameters\` beside it`);
  }
}

/** The arguments as the schema makes them; what is wrong with them is thrown, in words for the model. @internal */
export async function validated(schema: StandardSchema, args: unknown): Promise<unknown> {
  const result = await schema["~standard"].validate(args);
  if (result.issues === undefined) return result.value;
  const said = result.issues.map(({ message, path }) => {
    const keys = (path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
    return keys.length === 0 ? message : `${keys.join(".")}: ${message}`;
  });
  throw new Error(`the arguments do not fit: ${said.join("; ")}`);
}
