/** The tools that a request offers to the model, and which of them it must use. */
import {
  arrayOf,
  boolean,
  exactly,
  type JsonSchema,
  limited,
  objectOf,
  oneOf,
  orNull,
  type Schema,
  type Static,
  string,
  typed,
} from './json-schema.js';
import { functionName, jsonSchema, variantsBy } from './variants.js';

export const toolSchema = objectOf({
  type: oneOf('function'),
  function: objectOf(
    { name: functionName },
    {
      description: orNull(string),
      /** A JSON Schema; without it the function takes no arguments. */
      parameters: orNull(jsonSchema),
      /** Demands that the whole schema is enforced; a part that cannot be enforced is an error then. */
      strict: orNull(boolean),
    },
  ),
});

export type Tool = Static<typeof toolSchema>;

const CHOICES = ['none', 'auto', 'required'] as const;

/** One of the words that choose among all tools, or an object that names some. */
export function toolChoiceOf<T>(named: Schema<T>): Schema<(typeof CHOICES)[number] | T> {
  const { type: _type, ...object } = named as JsonSchema;
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  return typed({ type: ['string', 'object'], if: { type: 'string' }, then: { enum: CHOICES }, else: object });
}

const namedFunction = objectOf({ type: exactly('function'), function: objectOf({ name: string }) });

/** Chooses among some of the tools; the model is told of these alone. */
const allowedTools = objectOf({
  type: exactly('allowed_tools'),
  allowed_tools: objectOf({
    mode: oneOf('auto', 'required'),
    tools: limited(arrayOf(namedFunction), { minItems: 1 }),
  }),
});

export const toolChoiceSchema = toolChoiceOf(variantsBy('type', [namedFunction, allowedTools]));

export type ToolChoice = Static<typeof toolChoiceSchema>;
