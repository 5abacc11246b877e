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
} from '../../../http/schema/json-schema.js';
import { functionName, jsonSchema, variantsBy } from '../../../http/schema/variants.js';

export const functionSchema = objectOf(
  { name: functionName },
  {
    description: orNull(string),
    /** A JSON Schema; without it the function takes no arguments. */
    parameters: orNull(jsonSchema),
    /** Demands that the whole schema is enforced; a part that cannot be enforced is an error then. */
    strict: orNull(boolean),
  },
);

export const functionToolSchema = objectOf({ type: oneOf('function'), function: functionSchema });

const grammar = { syntax: oneOf('lark', 'regex'), definition: string };

export const customFormat = objectOf(
  { type: oneOf('text', 'grammar') },
  {
    /** The form of responses, which chats take as well. */
    ...grammar,
    /** The form of chats, which responses take as well. */
    grammar: objectOf(grammar),
  },
);

/** A tool that takes free text. */
const customToolSchema = objectOf({
  type: exactly('custom'),
  custom: objectOf({ name: functionName }, { description: orNull(string), format: orNull(customFormat) }),
});

export const toolSchema = variantsBy('type', [functionToolSchema, customToolSchema]);

export type CustomFormat = Static<typeof customFormat>;
export type CustomTool = Static<typeof customToolSchema>;
/** A function; where a body has been read, custom tools have become functions. */
export type Tool = Static<typeof functionToolSchema>;

const CHOICES = ['none', 'auto', 'required'] as const;

/** One of the words that choose among all tools, or an object that names some. */
export function toolChoiceOf<T, Word extends string = (typeof CHOICES)[number]>(
  named: Schema<T>,
  words: readonly string[] = CHOICES,
): Schema<Word | T> {
  const { type: _type, ...object } = named as JsonSchema;
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  return typed({ type: ['string', 'object'], if: { type: 'string' }, then: { enum: words }, else: object });
}

/** `function_call`, the old form of `tool_choice`. */
export const functionChoice = toolChoiceOf<{ name: string }, 'none' | 'auto'>(objectOf({ name: string }), [
  'none',
  'auto',
]);

const namedFunction = objectOf({ type: exactly('function'), function: objectOf({ name: string }) });
const namedCustom = objectOf({ type: exactly('custom'), custom: objectOf({ name: string }) });

/** Chooses among some of the tools; the model is told of these alone. */
const allowedTools = objectOf({
  type: exactly('allowed_tools'),
  allowed_tools: objectOf({
    mode: oneOf('auto', 'required'),
    tools: limited(arrayOf(variantsBy('type', [namedFunction, namedCustom])), { minItems: 1 }),
  }),
});

export const toolChoiceSchema = toolChoiceOf(variantsBy('type', [namedFunction, namedCustom, allowedTools]));

export type SentToolChoice = Static<typeof toolChoiceSchema>;
export type NamedFunction = Static<typeof namedFunction>;
export type NamedTool = NamedFunction | Static<typeof namedCustom>;

/** The same where all tools are functions. */
export type ToolChoice =
  | Extract<SentToolChoice, string>
  | NamedFunction
  | { type: 'allowed_tools'; allowed_tools: { mode: 'auto' | 'required'; tools: NamedFunction[] } };
