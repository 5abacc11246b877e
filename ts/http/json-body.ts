/** Text of a request's body → value, with what is wrong with it said in one sentence. */
import { ChasquiError } from '../errors.js';

const BYTE_ORDER_MARK = 0xfeff;

export function parseJsonBody(text: string): unknown {
  if (text === '') throw emptyBody();
  let value: unknown;
  try {
    value = JSON.parse(text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ChasquiError('invalid_json', `The request body is not valid JSON: ${reason}.`);
  }
  refuseForbiddenKeys(value);
  return value;
}

export function emptyBody(): ChasquiError {
  return new ChasquiError('invalid_json', 'The request body is empty; send a JSON object.');
}

/**
 * `__proto__` and `constructor.prototype` reach into every object of a process once careless code copies them, so they
 * are refused at the door. Iterative: a body may be nested deeper than the call stack.
 */
function refuseForbiddenKeys(root: unknown): void {
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) {
      for (const item of value) pending.push(item);
      continue;
    }
    for (const [key, child] of Object.entries(value)) {
      if (key === '__proto__' || (key === 'constructor' && hasOwn(child, 'prototype'))) {
        throw new ChasquiError('invalid_json', `The request body holds the key \`${key}\`, which is not allowed.`);
      }
      pending.push(child);
    }
  }
}

function hasOwn(value: unknown, key: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key);
}
