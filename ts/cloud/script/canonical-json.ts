/** JSON data: its canonical text, and the conversion of script exports. */
import { createHash } from 'node:crypto';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

const MAX_DEPTH = 8;
const MAX_VALUES = 10_000;
const MAX_TEXT = 1_000_000;

/** Names the value that is not JSON data, and the reason. */
export class NotData extends Error {}

/** Equal values have equal texts: without spaces, with sorted member names. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value as { readonly [name: string]: Json }).sort(([one], [other]) =>
    one < other ? -1 : 1,
  );
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${canonicalJson(each)}`).join(',')}}`;
}

export function digestOf(value: Json): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** Copies a value without undefined members. `at`: its name, for messages. */
export function toPlainData(value: unknown, at: string): Json {
  let values = 0;
  const copy = (each: unknown, path: string, depth: number): Json => {
    values += 1;
    if (values > MAX_VALUES || depth > MAX_DEPTH) throw new NotData(`\`${at}\` is too large`);
    if (typeof each === 'string' && each.length > MAX_TEXT) throw new NotData(`\`${path}\` is longer than ${MAX_TEXT}`);
    if (each === null || typeof each === 'string' || typeof each === 'boolean') return each;
    if (typeof each === 'number' && Number.isFinite(each)) return each;
    if (Array.isArray(each)) return each.map((item, index) => copy(item, `${path}[${index}]`, depth + 1));
    if (!isPlainObject(each)) throw new NotData(`\`${path}\` is ${nameOf(each)}, but must be JSON data`);
    const members = Object.entries(each).filter(([, member]) => member !== undefined);
    return Object.fromEntries(members.map(([name, member]) => [name, copy(member, `${path}.${name}`, depth + 1)]));
  };
  return copy(value, at, 0);
}

/** Objects of other realms have another prototype object, so only its shape is checked. */
function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function nameOf(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (value === undefined) return 'undefined';
  return typeof value === 'object' ? 'an object of a class' : `a ${typeof value}`;
}
