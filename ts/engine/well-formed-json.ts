/**
 * JSON for native code, which reads UTF-8. UTF-8 cannot encode a lone surrogate, but JavaScript strings may contain one, most
 * often because a text was cut inside an emoji.
 */

const SURROGATE = /\\u[dD][89a-fA-F]/;
/** A pair, a lone surrogate, or any other escape; the last so that an escaped backslash begins no surrogate. */
const ESCAPES = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\[\s\S]/g;
const ESCAPE_LENGTH = '\\ud800'.length;
const REPLACEMENT = '\\ufffd';

/** `JSON.stringify` with U+FFFD for each lone surrogate, as in `String.prototype.toWellFormed`. */
export function toWellFormedJson(value: object): string {
  return replaceLoneSurrogates(JSON.stringify(value));
}

/** Replaces escaped lone surrogates in JSON. */
export function replaceLoneSurrogates(json: string): string {
  if (!SURROGATE.test(json)) return json;
  return json.replace(ESCAPES, (each) => (each.length === ESCAPE_LENGTH ? REPLACEMENT : each));
}
