/** Limits JSON Schemas of tools and response formats. */
import { type ChasquiError, invalidValue, unsupportedParameter } from '../../../errors.js';
import { limitDepth } from './json-depth.js';

/**
 * Limit of all schemas of a request together, in UTF-16 units of JSON. Templates write the schemas of tools into the
 * prompt, even if no tool may be called.
 */
const MAX_SCHEMA_LENGTH = 512 * 1024;
/** Members of one object. The converter searches all members for each of them. */
const MAX_MEMBERS = 5000;

export class SchemaCheck {
  #length = 0;

  check(schema: object, param: string): void {
    limitDepth(schema, param);
    this.#limitLength(schema, param);
    limitMembers(schema, param);
  }

  #limitLength(schema: object, param: string): void {
    const { length } = JSON.stringify(schema);
    this.#length += length;
    if (this.#length <= MAX_SCHEMA_LENGTH) return;
    const what =
      length > MAX_SCHEMA_LENGTH
        ? `\`${param}\` is longer than`
        : `The JSON schemas up to \`${param}\` together are longer than`;
    throw invalidValue(`${what} ${MAX_SCHEMA_LENGTH / 1024} KiB.`, param);
  }
}

function limitMembers(schema: object, param: string): void {
  const todo: unknown[] = [schema];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const values: unknown[] = Object.values(next);
    if (!Array.isArray(next) && values.length > MAX_MEMBERS) {
      throw invalidValue(`An object in \`${param}\` has more than ${MAX_MEMBERS} members.`, param);
    }
    for (const value of values) if (typeof value === 'object') todo.push(value);
  }
}

/** The error for a part of a strict schema. */
export function notEnforced(param: string): ChasquiError {
  return unsupportedParameter(
    `\`${param}\` cannot be enforced, but the schema is strict. Remove it, or set \`strict\` to false.`,
    param,
  );
}
