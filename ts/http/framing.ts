/** How the events of a streamed reply are written. */

/** One server-sent event: data alone, or data with a name. Neither contains a line break. */
export type SseEvent = string | { name: string; data: string };

export interface Framing {
  contentType: string;
  frame(events: readonly SseEvent[]): string;
  /** What clients pass over; it is sent in a long silence, so that no proxy takes the connection for dead. */
  keepAlive: string;
  /** What clients pass over while a model is being loaded; `percent` of it is. */
  loading(percent: number): string;
}

export const serverSentEvents: Framing = {
  contentType: 'text/event-stream; charset=utf-8',
  frame: toFrames,
  keepAlive: ': keep-alive\n\n',
  loading: (percent) => `: loading ${percent} %\n\n`,
};

/**
 * One JSON text on each line, as in Ollama's streams. There are no comments in it; a space before the next line changes
 * nothing for those who read it, while an empty line is an error for many.
 */
export const jsonLines: Framing = {
  contentType: 'application/x-ndjson',
  frame: (events) => events.map((event) => `${typeof event === 'string' ? event : event.data}\n`).join(''),
  keepAlive: ' ',
  loading: () => ' ',
};

export function toFrames(events: readonly SseEvent[]): string {
  let frames = '';
  for (const event of events) {
    frames += typeof event === 'string' ? `data: ${event}\n\n` : `event: ${event.name}\ndata: ${event.data}\n\n`;
  }
  return frames;
}
