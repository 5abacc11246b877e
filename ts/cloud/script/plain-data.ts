/** Whether what a script says can be sent as data. */
import type { Json } from './canonical-json.js';

const MAX_DEPTH = 8;
const MAX_VALUES = 10_000;
const MAX_TEXT = 1_000_000;

/** Says which value cannot be sent, and why. */
export class NotData extends Error {}

/** A copy of a value that `at` names. Members that are undefined are left out. */
export function toPlainData(value: unknown, at: string): Json {
  let values = 0;
  const copy = (each: unknown, path: string, depth: number): Json => {
    values += 1;
    if (values > MAX_VALUES || depth > MAX_DEPTH) throw new NotData(`\`${at}\` has more values than an app can have`);
    if (typeof each === 'string' && each.length > MAX_TEXT) throw new NotData(`\`${path}\` is longer than ${MAX_TEXT}`);
    if (each === null || typeof each === 'string' || typeof each === 'boolean') return each;
    if (typeof each === 'number' && Number.isFinite(each)) return each;
    if (Array.isArray(each)) return each.map((item, index) => copy(item, `${path}[${index}]`, depth + 1));
    if (!isPlainObject(each)) throw new NotData(`\`${path}\` is ${nameOf(each)}, but must be data that JSON can hold`);
    const members = Object.entries(each).filter(([, member]) => member !== undefined);
    return Object.fromEntries(members.map(([name, member]) => [name, copy(member, `${path}.${name}`, depth + 1)]));
  };
  return copy(value, at, 0);
}

/** Objects of other modules' realms count as well, so the prototype is not compared with ours. */
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
