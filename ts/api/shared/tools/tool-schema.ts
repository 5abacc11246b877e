/** The tools that a request offers to the model, and which of them it must use. */
import * as s from '../../../http/schema/json-schema.js';
import { functionName, jsonSchema, variantsBy } from '../../../http/schema/variants.js';
import { mcpToolSchema } from '../mcp/mcp-tool-schema.js';

export const functionSchema = s.objectOf(
  { name: functionName },
  {
    description: s.orNull(s.string),
    /** A JSON Schema; without it the function takes no arguments. */
    parameters: s.orNull(jsonSchema),
    /** Requires that the whole schema is enforced. A part that cannot be enforced is an error. */
    strict: s.orNull(s.boolean),
  },
);

export const functionToolSchema = s.objectOf({ type: s.oneOf('function'), function: functionSchema });

const grammar = { syntax: s.oneOf('lark', 'regex'), definition: s.string };

export const customFormat = s.objectOf(
  { type: s.oneOf('text', 'grammar') },
  {
    /** The form of responses, which chats also accept. */
    ...grammar,
    /** The form of chats, which responses also accept. */
    grammar: s.objectOf(grammar),
  },
);

/** A tool that takes free text. */
const customToolSchema = s.objectOf({
  type: s.exactly('custom'),
  custom: s.objectOf({ name: functionName }, { description: s.orNull(s.string), format: s.orNull(customFormat) }),
});

export const toolSchema = variantsBy('type', [functionToolSchema, customToolSchema, mcpToolSchema]);

export type CustomFormat = s.Static<typeof customFormat>;
export type SentTool = s.Static<typeof toolSchema>;
export type CustomTool = s.Static<typeof customToolSchema>;
/** A function. Custom tools become functions while a body is read. */
export type Tool = s.Static<typeof functionToolSchema>;

const CHOICES = ['none', 'auto', 'required'] as const;

/** A word that selects among all tools, or an object that names some. */
export function toolChoiceOf<T, Word extends string = (typeof CHOICES)[number]>(
  named: s.Schema<T>,
  words: readonly string[] = CHOICES,
): s.Schema<Word | T> {
  const { type: _type, ...object } = named as s.JsonSchema;
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  return s.typed({ type: ['string', 'object'], if: { type: 'string' }, then: { enum: words }, else: object });
}

/** `function_call`, the old form of `tool_choice`. */
export const functionChoice = toolChoiceOf<{ name: string }, 'none' | 'auto'>(s.objectOf({ name: s.string }), [
  'none',
  'auto',
]);

const namedFunction = s.objectOf({ type: s.exactly('function'), function: s.objectOf({ name: s.string }) });
const namedCustom = s.objectOf({ type: s.exactly('custom'), custom: s.objectOf({ name: s.string }) });

/** Selects some of the tools. Only these appear in the prompt. */
const allowedTools = s.objectOf({
  type: s.exactly('allowed_tools'),
  allowed_tools: s.objectOf({
    mode: s.oneOf('auto', 'required'),
    tools: s.limited(s.arrayOf(variantsBy('type', [namedFunction, namedCustom])), { minItems: 1 }),
  }),
});

export const toolChoiceSchema = toolChoiceOf(variantsBy('type', [namedFunction, namedCustom, allowedTools]));

export type SentToolChoice = s.Static<typeof toolChoiceSchema>;
export type NamedFunction = s.Static<typeof namedFunction>;
export type NamedTool = NamedFunction | s.Static<typeof namedCustom>;

/** The same, if all tools are functions. */
export type ToolChoice =
  | Extract<SentToolChoice, string>
  | NamedFunction
  | { type: 'allowed_tools'; allowed_tools: { mode: 'auto' | 'required'; tools: NamedFunction[] } };
