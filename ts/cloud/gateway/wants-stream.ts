/** Whether a request wants a stream, by its body. */
import { parseJsonBody } from '../../http/body/json-body.js';

/** Parsing a larger body would block the streams of all apps. */
export const MAX_PARSED_BYTES = 256 * 1024;

/** Returns false for invalid bodies, whose errors the runner reports. */
export function wantsStream(body: Buffer): boolean {
  if (body.length > MAX_PARSED_BYTES) return findsStream(body);
  try {
    return (parseJsonBody(body) as { stream?: unknown } | null)?.stream === true;
  } catch {
    return false;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACKET = 0x5b;
const END_BRACKET = 0x5d;
const BRACE = 0x7b;
const END_BRACE = 0x7d;
const KEY = 'stream';

/** Finds the last member `stream` of the outer object. Skips strings, which make up most of a large body. */
function findsStream(body: Buffer): boolean {
  let depth = 0;
  let found = false;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === QUOTE) {
      const end = endOfString(body, at);
      if (end < 0) return false;
      if (depth === 1 && isKey(body, at + 1, end)) found = isTrueMember(body, end + 1) ?? found;
      at = end;
    } else if (byte === BRACE || byte === BRACKET) depth += 1;
    else if (byte === END_BRACE || byte === END_BRACKET) depth -= 1;
  }
  return found;
}

function isKey(body: Buffer, start: number, end: number): boolean {
  return end - start === KEY.length && body.toString('latin1', start, end) === KEY;
}

/** The index of the closing quote; negative if there is none. */
function endOfString(body: Buffer, start: number): number {
  for (let end = body.indexOf(QUOTE, start + 1); end >= 0; end = body.indexOf(QUOTE, end + 1)) {
    let first = end;
    while (body[first - 1] === BACKSLASH) first -= 1;
    if ((end - first) % 2 === 0) return end;
  }
  return -1;
}

/** Undefined if no value follows: the string is no key. */
function isTrueMember(body: Buffer, at: number): boolean | undefined {
  const [, value] = /^\s*:\s*(\w+|.)/.exec(body.toString('latin1', at, at + 100)) ?? [];
  return value === undefined ? undefined : value === 'true';
}
