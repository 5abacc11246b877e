/** An answer with every kind of part, as the deltas that make it, and its ends. */

import type { CompletionDelta } from '../../ts/api/shared/completion/completion-reader.js';
import type { SseEvent } from '../../ts/http/sse.js';

export const FULL_COMPLETION: readonly CompletionDelta[] = [
  { reasoning_content: 'They want ' },
  { reasoning_content: 'the weather.', content: 'Let me ' },
  { content: 'look.' },
  { tool_calls: [{ index: 0, id: 'call_a', type: 'function', function: { name: 'weather', arguments: '' } }] },
  { tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] },
  { tool_calls: [{ index: 0, function: { arguments: '"Cuzco"}' } }] },
  { tool_calls: [{ index: 1, id: 'call_b', type: 'function', function: { name: 'clock', arguments: '{}' } }] },
];

/** Parses an event. Its name must equal the type of its data. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into events of every kind
export function dataOf(event: SseEvent): any {
  if (typeof event === 'string') throw new Error(`An event without a name: ${event}`);
  if (/[\r\n]/.test(event.data)) throw new Error(`A line break in an event: ${event.data}`);
  const data = JSON.parse(event.data);
  if (data.type !== event.name) throw new Error(`The event ${event.name} has the type ${data.type}`);
  return data;
}

/** Events as the clients' own stream readers take them. */
export function toReadable(events: readonly SseEvent[]): ReadableStream {
  const lines = events.map((event) => `${JSON.stringify(dataOf(event))}\n`);
  return new Blob(lines).stream();
}
