/** Converts a field with text or tokens, one or many, to a list of inputs with names. */
import type { TextInput } from '../../../engine/engine.js';
import { ChasquiError } from '../../../errors.js';
import type { TextInputs } from './text-schema.js';

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
    throw new ChasquiError(
      'invalid_value',
      `\`${name}\` must have at most ${max} items, but got ${field.length}.`,
      name,
    );
  }
  return { inputs: field as TextInput[], nameOf: (index) => `${name}[${index}]` };
}

function isToken(item: unknown): boolean {
  return typeof item === 'number';
}
