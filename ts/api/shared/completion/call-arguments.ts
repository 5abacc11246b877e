/** The arguments of a tool call at the end of its completion, which may be incomplete. */
import { isTextTooDeep } from '../json-schema/json-depth.js';

export function isComplete(json: string): boolean {
  return toObject(json) !== null;
}

/** Null if the arguments are incomplete, or too deeply nested to be serialised again. */
export function parseArguments(json: string): Record<string, unknown> | null {
  return isTextTooDeep(json) ? null : toObject(json);
}

/** Replaces such a call in protocols with parsed arguments. */
export function toCallText(name: string, json: string): string {
  return `${name}(${json}`;
}

function toObject(json: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}
