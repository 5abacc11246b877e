/**
 * Custom tools take free text. For the template they are functions with a single argument, `input`. This file converts between
 * the argument and the text.
 */
import type { CustomFormat } from './tool-schema.js';

/** The name of the argument. */
const INPUT = 'input';

/** The arguments of a past call, as JSON text. */
export function toArguments(input: string): string {
  return JSON.stringify({ [INPUT]: input });
}

/** The schema of the arguments. */
export function parametersOf(pattern: string | null): object {
  const input = { type: 'string', ...(pattern !== null && { pattern }) };
  return { type: 'object', properties: { [INPUT]: input }, required: [INPUT], additionalProperties: false };
}

/** Text to append to the tool's own description. */
export function describeFormat(format: CustomFormat | null): string {
  const text = `\`${INPUT}\` is the complete input of the tool, as plain text.`;
  const { syntax, definition } = format?.grammar ?? format ?? {};
  return definition === undefined ? text : `${text} It must follow this ${syntax ?? 'lark'} grammar:\n${definition}`;
}

/** Reads the text from the arguments of a call, piece by piece. */
export class InputReader {
  /** Unread JSON: an incomplete escape, or the beginning of the object. */
  #pending = '';
  #state: 'before' | 'within' | 'after' = 'before';

  /** Returns the text that the next piece of JSON adds. */
  push(json: string): string {
    if (this.#state === 'after') return '';
    this.#pending += json;
    if (this.#state === 'before') this.#skipToText();
    return this.#state === 'within' ? this.#readText() : '';
  }

  /** Call it after the last piece. Returns the text of malformed arguments, as `whole` does. */
  rest(): string {
    const json = this.#state === 'before' ? this.#pending : '';
    this.#pending = '';
    return json === '' ? '' : InputReader.whole(json);
  }

  /** Returns the whole text of complete arguments. Malformed arguments are returned unchanged. */
  static whole(json: string): string {
    try {
      const value: unknown = JSON.parse(json);
      const input = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[INPUT] : undefined;
      return typeof input === 'string' ? input : json;
    } catch {
      // The arguments are incomplete.
      return /^\s*\{/.test(json) ? new InputReader().push(json) : json;
    }
  }

  #skipToText(): void {
    const [head] = /^\s*\{\s*"input"\s*:\s*"/.exec(this.#pending) ?? [];
    if (head === undefined) return;
    this.#pending = this.#pending.slice(head.length);
    this.#state = 'within';
  }

  #readText(): string {
    // Reads up to the closing quote or an incomplete escape. Keeps surrogate pairs together.
    const [read = ''] =
      /^(?:[^"\\]|\\u[dD][89abAB][\da-fA-F]{2}\\u[\da-fA-F]{4}|\\u(?![dD][89abAB])[\da-fA-F]{4}|\\[^u])*/.exec(
        this.#pending,
      ) ?? [];
    this.#pending = this.#pending.slice(read.length);
    if (this.#pending.startsWith('"')) this.#state = 'after';
    return read === '' ? '' : unescaped(read);
  }
}

/**
 * The grammar of the arguments allows only valid escapes. Models without a grammar may write others, and line breaks.
 */
function unescaped(json: string): string {
  try {
    return JSON.parse(`"${json}"`) as string;
  } catch {
    return json;
  }
}
