/**
 * JSON text for native code, which reads UTF-8. There is no such thing as half a surrogate pair in it, but JavaScript's strings
 * may have one, most often because a text was cut off in the middle of an emoji.
 */

const HALF = /\\u[dD][89a-fA-F]/;
/** A whole pair, a half, and any other escape, so that a backslash that is escaped itself begins none. */
const ESCAPES = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\[\s\S]/g;
const ESCAPED_HALF_LENGTH = '\\ud800'.length;
const REPLACEMENT = '\\ufffd';

/** `JSON.stringify`, with the replacement character for each half of a pair that is alone, as where text becomes UTF-8. */
export function toWellFormedJson(value: object): string {
  return withoutHalfPairs(JSON.stringify(value));
}

/** The same for JSON text of somebody else's. What is no escape in it stays as it is. */
export function withoutHalfPairs(json: string): string {
  if (!HALF.test(json)) return json;
  return json.replace(ESCAPES, (each) => (each.length === ESCAPED_HALF_LENGTH ? REPLACEMENT : each));
}
