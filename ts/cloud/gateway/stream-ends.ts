/** How event streams of each protocol end: normally, or with a failure. */
import { messageFailure } from '../../api/anthropic/messages/stream.js';
import { responseFailure } from '../../api/openai/responses/response-events.js';
import { toAnthropicError } from '../../api/shared/anthropic-errors.js';
import { dataFailure } from '../../api/shared/completion/stream-reply.js';
import type { ErrorBody } from '../../http/error-body.js';
import { toFrames } from '../../http/sse.js';
import { unframed } from './chunks.js';

export function isAnthropics(path: string): boolean {
  return /^\/v1\/messages(\/|$)/.test(path);
}

export function toFailureBody(path: string, body: ErrorBody, requestId: string | null): object {
  return isAnthropics(path) ? toAnthropicError(body, requestId) : body;
}

export function toFailureFrames(path: string, body: ErrorBody): string {
  if (isAnthropics(path)) return toFrames(messageFailure(body));
  return toFrames(path.startsWith('/v1/responses') ? responseFailure(body) : dataFailure(body));
}

/** Prefixes of final events: the normal end or a failure. */
const LAST_EVENTS: readonly { path: RegExp; begins: RegExp }[] = [
  { path: /^\/v1\/(chat\/)?completions\/?$/, begins: /^data: (\[DONE\]|\{"error":)/ },
  { path: /^\/v1\/messages\/?$/, begins: /^event: (message_stop|error)\n/ },
  {
    path: /^\/v1\/responses\/?$/,
    begins: /^(data: \[DONE\]|event: (response\.(completed|incomplete|failed)|error)\n)/,
  },
];

/** Streams of other paths may end with any event. */
export function isLastEvent(path: string, event: string): boolean {
  return LAST_EVENTS.every((row) => !row.path.test(path) || row.begins.test(event));
}

/** Counts the `data:` events that begin in a part of a stream, including `[DONE]`. */
export function countEvents(part: string): number {
  let count = part.startsWith('data:') ? 1 : 0;
  // JSON escapes line feeds, so only event boundaries contain them.
  for (let at = part.indexOf('\ndata:'); at >= 0; at = part.indexOf('\ndata:', at + 1)) count += 1;
  return count;
}

/**
 * Tracks the last event of a stream. Pieces contain whole events, or parts of one very large event. `add` runs once per
 * token, so it only stores; `text` searches.
 */
export class LastEvent {
  /** Starts at an event boundary. */
  #recent = '';
  /** The last character within an event; empty between events. */
  #within = '';
  /** The last chunks if nothing followed them; otherwise empty. */
  #chunks = '';

  /** Whether the last event is complete. */
  get isBetween(): boolean {
    return this.#within === '';
  }

  /** `framed`: chunks of whole events. Requires `isBetween`. */
  addChunks(framed: string): void {
    this.#chunks = framed;
  }

  /** A piece boundary may be between the two line feeds that end an event. */
  add(piece: string): void {
    const text = this.#within + piece;
    this.#chunks = '';
    if (this.#within === '') {
      this.#recent = piece;
    } else if (text.length > 2) {
      const end = text.lastIndexOf('\n\n', text.length - 3);
      if (end >= 0) this.#recent = text.slice(end + 2);
    }
    this.#within = text.endsWith('\n\n') ? '' : text.slice(-1);
  }

  /** Empty when there was none. */
  get text(): string {
    const events = (this.#chunks === '' ? this.#recent : unframed(this.#chunks)).trimEnd();
    return events.slice(events.lastIndexOf('\n\n') + 1).trimStart();
  }
}
