/** The names under which the model calls tools of MCP servers: those of llama-server. */

/** Function names have 64 characters at most in most clients and templates. */
const MAX_LENGTH = 64;
/** Longer than the number that `toFunctionName` may add. */
const MAX_SUFFIX_LENGTH = 8;

/** Returns `label_tool` with other characters replaced, and a number if `taken` has the name. Adds the result to `taken`. */
export function toFunctionName(label: string, tool: string, taken: Set<string> = new Set()): string {
  const whole = toName(`${label}_${tool}`);
  let name = whole;
  for (let number = 2; taken.has(name); number += 1) {
    const suffix = `_${number}`;
    name = whole.slice(0, MAX_LENGTH - suffix.length) + suffix;
  }
  taken.add(name);
  return name;
}

/** False if no tool of the server `label` can have this name. */
export function mayBeginName(label: string, name: string): boolean {
  return name.startsWith(toName(`${label}_`).slice(0, MAX_LENGTH - MAX_SUFFIX_LENGTH));
}

function toName(text: string): string {
  return text.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, MAX_LENGTH);
}
