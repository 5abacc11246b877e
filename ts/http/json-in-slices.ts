/** Serialises large replies without blocking the event loop for seconds. */
import { setImmediate } from 'node:timers/promises';

/** Yields to other requests after this many characters, which take some milliseconds. */
const SLICE = 2 ** 19;

/** Returns the JSON of `reply` with `items` as its field `name`. */
export async function jsonInSlices(reply: object, name: string, items: Iterable<unknown>): Promise<string> {
  const fields = JSON.stringify(reply).slice(0, -1);
  return `${fields}${fields === '{' ? '' : ','}${JSON.stringify(name)}:${await arrayInSlices(items)}}`;
}

export async function arrayInSlices(items: Iterable<unknown>): Promise<string> {
  const slices: string[] = [];
  let slice = '[';
  let separator = '';
  for (const item of items) {
    slice += separator + JSON.stringify(item);
    separator = ',';
    if (slice.length < SLICE) continue;
    slices.push(slice);
    slice = '';
    await setImmediate();
  }
  return `${slices.join('')}${slice}]`;
}
