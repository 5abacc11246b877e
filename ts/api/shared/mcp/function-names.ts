/** The names under which the model calls tools of MCP servers. */

/** Function names have 64 characters at most in most clients and templates. */
const MAX_LENGTH = 64;

/** Returns `label__tool` with other characters replaced, and a number if `taken` has the name. Adds the result to `taken`. */
export function toFunctionName(label: string, tool: string, taken: Set<string> = new Set()): string {
  const whole = `${label}__${tool}`.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, MAX_LENGTH);
  let name = whole;
  for (let number = 2; taken.has(name); number += 1) {
    const suffix = `_${number}`;
    name = whole.slice(0, MAX_LENGTH - suffix.length) + suffix;
  }
  taken.add(name);
  return name;
}
