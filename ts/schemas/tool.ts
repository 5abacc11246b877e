/** The tools that a request offers to the model, and which of them it must use. */
import {
  boolean,
  type JsonSchema,
  objectOf,
  oneOf,
  orNull,
  type Schema,
  type Static,
  string,
  typed,
} from './json-schema.js';
import { functionName, jsonSchema } from './variants.js';

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

export const toolChoiceSchema = toolChoiceOf(
  objectOf({ type: oneOf('function'), function: objectOf({ name: string }) }),
);

export type ToolChoice = Static<typeof toolChoiceSchema>;
