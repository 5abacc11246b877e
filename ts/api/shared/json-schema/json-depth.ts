/**
 * Limits the nesting of JSON for templates and grammars. Both are recursive. Schemas and arguments in practice are far
 * below the limit.
 */
import { type ChasquiError, invalidValue } from '../../../errors.js';

const MAX_DEPTH = 64;

/** Throws for a deeper value. The error names the field `param`. */
export function limitDepth(value: unknown, param: string): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw tooDeep(param);
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
}

/** The same for JSON as text, whether or not it is valid. */
export function limitTextDepth(json: string, param: string): void {
  if (isTextTooDeep(json)) throw tooDeep(param);
}

/** Reads every character once, because arguments may have megabytes of quotes and backslashes. */
export function isTextTooDeep(json: string): boolean {
  let depth = 0;
  let withinString = false;
  for (let at = 0; at < json.length; at++) {
    const character = json[at];
    if (character === '\\' && withinString) at += 1;
    else if (character === '"') withinString = !withinString;
    else if (withinString) continue;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

function tooDeep(param: string): ChasquiError {
  return invalidValue(`\`${param}\` is nested deeper than ${MAX_DEPTH} levels.`, param);
}
