/** Converts a field with text or tokens, one or many, to a list of inputs with names. */
import { checkTokens } from '../../../engine/check-tokens.js';
import type { AbortOptions, Engine, TextInput } from '../../../engine/engine.js';
import { ChasquiError, invalidValue } from '../../../errors.js';
import type { MixedInputs, TextInputs, TextPart } from './text-schema.js';

/** Each is tokenized by itself. */
const MAX_MIXED_TEXTS = 1024;

export interface NamedInputs {
  inputs: TextInput[];
  /** The field of an input in the request: `input`, or `input[3]`. */
  nameOf(index: number): string;
}

/** Throws `invalid_type` if single tokens are mixed with texts or lists of tokens, `invalid_value` if there are too many. */
export function toInputs(field: TextInputs, name: string, max: number): NamedInputs {
  if (typeof field === 'string') return { inputs: [field], nameOf: () => name };
  const areTokens = isToken(field[0]);
  const odd = field.findIndex((item) => isToken(item) !== areTokens);
  if (odd > 0) {
    const wanted = areTokens ? 'a token' : 'a string or an array of tokens';
    throw new ChasquiError(
      'invalid_type',
      `\`${name}[${odd}]\` must be ${wanted} like those before it.`,
      `${name}[${odd}]`,
    );
  }
  if (areTokens) return { inputs: [field as number[]], nameOf: () => name };
  if (field.length > max) {
    throw invalidValue(`\`${name}\` must have at most ${max} items, but got ${field.length}.`, name);
  }
  return { inputs: field as TextInput[], nameOf: (index) => `${name}[${index}]` };
}

/** Tokenizes lists that mix tokens and texts, as llama-server does. A flat list of both is one input. */
export async function tokenizeMixed(
  engine: Engine,
  field: MixedInputs,
  name: string,
  on: AbortOptions,
): Promise<TextInputs> {
  if (typeof field === 'string') return field;
  const isOne = field.some(isToken) && field.every((item) => !Array.isArray(item));
  const lists = isOne ? [field] : field.filter((item) => Array.isArray(item));
  const texts = lists.reduce((sum, list) => sum + list.filter((part) => typeof part === 'string').length, 0);
  if (texts > MAX_MIXED_TEXTS) {
    throw invalidValue(`\`${name}\` must have at most ${MAX_MIXED_TEXTS} texts among tokens, but got ${texts}.`, name);
  }
  if (isOne) return tokenizeParts(engine, field as TextPart[], name, on);
  return Promise.all(
    field.map(async (item, index) =>
      Array.isArray(item) ? await tokenizeParts(engine, item, `${name}[${index}]`, on) : item,
    ),
  ) as Promise<TextInputs>;
}

async function tokenizeParts(engine: Engine, parts: TextPart[], name: string, on: AbortOptions): Promise<number[]> {
  const numbers = parts.map((part) => (typeof part === 'number' ? part : 0));
  checkTokens(numbers, name, engine.model.vocabularySize);
  if (parts.every(isToken)) return numbers;
  const tokens: number[][] = [];
  for (const [at, part] of parts.entries()) {
    const options = { addSpecial: at === 0, parseSpecial: true, ...on };
    tokens.push(typeof part === 'number' ? [part] : Array.from(await engine.tokenize(part, options)));
  }
  return tokens.flat();
}

function isToken(item: unknown): boolean {
  return typeof item === 'number';
}
