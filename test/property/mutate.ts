/** Makes a body wrong, or odd, in one place. */
import { anyValue, below, pick, type Random } from './random-values.js';

type Container = Record<string, unknown> | unknown[];

/** Changes `body` itself. */
export function mutate(random: Random, body: Container): void {
  const container = pick(random, containersIn(body));
  const keys = Object.keys(container);
  const key = pick(random, keys);
  if (key === undefined || random() < 0.15) {
    add(random, container);
    return;
  }
  const values = container as Record<string, unknown>;
  switch (below(random, 5)) {
    case 0:
      remove(container, key);
      return;
    case 1:
      values[key] = [values[key]];
      return;
    case 2:
      values[key] = { value: values[key] };
      return;
    case 3:
      values[key] = nested(values[key], below(random, 300));
      return;
    default:
      values[key] = anyValue(random);
  }
}

function containersIn(root: Container): Container[] {
  const found: Container[] = [root];
  for (const container of found) {
    for (const value of Object.values(container))
      if (typeof value === 'object' && value !== null) found.push(value as Container);
  }
  return found;
}

function add(random: Random, container: Container): void {
  if (Array.isArray(container)) container.push(anyValue(random));
  else container[pick(random, ['temprature', 'x', 'constructor', 'toString', ''])] = anyValue(random);
}

function remove(container: Container, key: string): void {
  if (Array.isArray(container)) container.splice(Number(key), 1);
  else delete container[key];
}

function nested(value: unknown, levels: number): unknown {
  let result = value;
  for (let level = 0; level < levels; level++) result = [result];
  return result;
}

/** The same for its text, which is then seldom JSON. */
export function mutateText(random: Random, text: string): string {
  const at = below(random, text.length + 1);
  const end = text.slice(at + below(random, 3));
  return text.slice(0, at) + pick(random, ['', '"', '}', ',', '\\', '\u0000', '\ufeff']) + end;
}
