/** How streams of events end: as their protocol has it, or with a failure, as the clients of that protocol read it. */

import { messageFailure } from '../../api/anthropic/messages/stream.js';
import { responseFailure } from '../../api/openai/responses/response-events.js';
import { toAnthropicError } from '../../api/shared/anthropic-error-body.js';
import { dataFailure } from '../../api/shared/completion/event-stream.js';
import type { ErrorBody } from '../../http/error-body.js';
import { toFrames } from '../../http/framing.js';
import { unframed } from './chunks.js';

/** Whether those who call a path are Anthropic's clients. */
export function isAnthropics(path: string): boolean {
  return /^\/v1\/messages(\/|$)/.test(path);
}

/** The body that tells of a failure before a reply has begun. */
export function toFailureBody(path: string, body: ErrorBody): object {
  return isAnthropics(path) ? toAnthropicError(body) : body;
}

/** The frames that tell of a failure in the middle of a stream. */
export function toFailureFrames(path: string, body: ErrorBody): string {
  if (isAnthropics(path)) return toFrames(messageFailure(body));
  return toFrames(path.startsWith('/v1/responses') ? responseFailure(body) : dataFailure(body));
}

/** What the last event of a stream begins with: the end proper, or a failure. */
const LAST_EVENTS: readonly { path: RegExp; begins: RegExp }[] = [
  { path: /^\/v1\/(chat\/)?completions\/?$/, begins: /^data: (\[DONE\]|\{"error":)/ },
  { path: /^\/v1\/messages\/?$/, begins: /^event: (message_stop|error)\n/ },
  { path: /^\/v1\/responses\/?$/, begins: /^event: (response\.(completed|incomplete|failed)|error)\n/ },
];

/** Streams of other paths may end with any event. */
export function isLastEvent(path: string, event: string): boolean {
  return LAST_EVENTS.every((row) => !row.path.test(path) || row.begins.test(event));
}

/** How many events with data begin in a part of a stream, the one without JSON that ends it included. */
export function countEvents(part: string): number {
  let count = part.startsWith('data:') ? 1 : 0;
  // Line ends in data are written as \n, so that only events have them.
  for (let at = part.indexOf('\ndata:'); at >= 0; at = part.indexOf('\ndata:', at + 1)) count += 1;
  return count;
}

/**
 * Finds the last event of a stream. A piece of the stream has whole events, or the beginning of one that is very large, or
 * what follows such a beginning. There is a piece for every token, so it is only kept here: looking comes at the end.
 */
export class LastEvent {
  /** From where an event begins. */
  #recent = '';
  /** The last character; empty between two events. */
  #within = '';
  /** The chunks that came last, where nothing else came after them; else empty. */
  #chunks = '';

  /** Whether all that came are whole events. */
  get isBetween(): boolean {
    return this.#within === '';
  }

  /** Chunks with their lengths, of whole events, where all before them are whole. */
  addChunks(framed: string): void {
    this.#chunks = framed;
  }

  /** An event that comes in several pieces may end between the two line ends. */
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
