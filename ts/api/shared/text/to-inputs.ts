/** A field that may be text or tokens, one or many → a list of inputs, and how to name them. */
import type { TextInput } from '../../../engine/engine.js';
import { ChasquiError } from '../../../errors.js';
import type { TextInputs } from './text-schema.js';

export interface NamedInputs {
  inputs: TextInput[];
  /** The request field that an input came in: `input`, or `input[3]`. */
  nameOf(index: number): string;
}

/** Throws `invalid_type` when texts, tokens and lists of tokens are mixed, `invalid_value` when there are too many. */
export function toInputs(field: TextInputs, name: string, max: number): NamedInputs {
  if (typeof field === 'string') return { inputs: [field], nameOf: () => name };
  const kind = kindOf(field[0]);
  const odd = field.findIndex((item) => kindOf(item) !== kind);
  if (odd > 0) {
    throw new ChasquiError(
      'invalid_type',
      `\`${name}[${odd}]\` must be ${kind} like those before it, but it is ${kindOf(field[odd])}.`,
      `${name}[${odd}]`,
    );
  }
  if (kind === 'a token') return { inputs: [field as number[]], nameOf: () => name };
  if (field.length > max) {
    throw new ChasquiError(
      'invalid_value',
      `\`${name}\` must have at most ${max} items, but got ${field.length}.`,
      name,
    );
  }
  return { inputs: field as string[] | number[][], nameOf: (index) => `${name}[${index}]` };
}

function kindOf(item: unknown): string {
  if (typeof item === 'string') return 'a string';
  return typeof item === 'number' ? 'a token' : 'an array of tokens';
}
