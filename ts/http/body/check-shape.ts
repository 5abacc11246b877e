/**
 * Counts what a JSON text would become once it is parsed, from its bytes alone: two bytes make an object, and deep
 * nesting overflows the stack. Text that is no JSON passes here, within the same bounds, and is refused by the parser.
 */
import { ChasquiError } from '../../errors.js';
import { MAX_BODY_DEPTH, MAX_STRUCTURE, MAX_VALUES } from './limits.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Throws for a text that is nested too deeply or has too many values. Reads every byte once. */
export function checkShape(json: Uint8Array): void {
  let depth = 0;
  let values = 1;
  let structure = 0;
  let strings = 0;
  for (let at = 0; at < json.length; at++) {
    switch (json[at]) {
      case QUOTE:
        at = endOfString(json, at);
        strings += 1;
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        depth += 1;
        values += 1;
        structure += 1;
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
        break;
      case COLON:
        structure += 1;
        break;
      default:
        continue;
    }
    if (depth > MAX_BODY_DEPTH) throw tooDeep();
    // A JSON text has no more strings than values and keys.
    if (values > MAX_VALUES || strings > MAX_VALUES + MAX_STRUCTURE) throw tooMuch(`${MAX_VALUES} values`);
    if (structure > MAX_STRUCTURE) throw tooMuch(`${MAX_STRUCTURE} objects, arrays and keys`);
  }
}

/** From this distance on `indexOf`, which uses the processor's widest registers, is faster than a loop. */
const NEAR = 64;

/** Returns where the string that begins at `start` ends, or the end of the text where no quote ends it. */
function endOfString(json: Uint8Array, start: number): number {
  let at = start + 1;
  for (;;) {
    for (const near = Math.min(at + NEAR, json.length); at < near; at++) {
      if (json[at] === QUOTE) return at;
      if (json[at] === BACKSLASH) at += 1;
    }
    const quote = json.indexOf(QUOTE, at);
    if (quote < 0) return json.length;
    if (!isEscaped(json, quote, at)) return quote;
    at = quote + 1;
  }
}

/** A quote is escaped by an odd number of backslashes before it; none of them stands before `from`. */
function isEscaped(json: Uint8Array, quote: number, from: number): boolean {
  let first = quote;
  while (first > from && json[first - 1] === BACKSLASH) first -= 1;
  return (quote - first) % 2 === 1;
}

function tooDeep(): ChasquiError {
  return new ChasquiError(
    'invalid_value',
    `The request body is nested deeper than this server's limit, ${MAX_BODY_DEPTH} levels.`,
  );
}

function tooMuch(limit: string): ChasquiError {
  return new ChasquiError('request_too_large', `The request body holds more than this server's limit, ${limit}.`);
}
