/**
 * The events of background responses, for live readers and for clients that reconnect. They are kept for some minutes after
 * the response has ended, and dropped earlier if all logs together exceed a limit.
 */

import { type ChasquiError, invalidValue } from '../../../errors.js';
import type { SseEvent } from '../../../http/sse.js';
import { Followers } from '../../shared/followers.js';

/** Limit of all stored events together, in UTF-16 units. */
const MAX_LENGTH = 64 * 2 ** 20;
/** Limit of one batch: it is serialised into one text that waits for the client. */
const MAX_BATCH_LENGTH = 64 * 2 ** 10;
/** How long events are kept after the end. */
const MAX_AGE_MS = 10 * 60 * 1000;

/** The events of one response. The number of an event is its index, counted from 0. */
export class EventLog {
  #events: SseEvent[] = [];
  /** The number of the first event that is still kept. */
  #first = 0;
  readonly #followers = new Followers();
  #length = 0;
  endedAt: number | null = null;

  constructor(private readonly logs: EventLogs) {}

  get length(): number {
    return this.#length;
  }

  add(events: readonly SseEvent[]): void {
    const length = events.reduce((sum, event) => sum + lengthOf(event), 0);
    this.#events.push(...events);
    this.#length += length;
    this.logs.grow(length);
    this.#followers.wake();
  }

  /** Marks the end of the log. */
  end(now: number): void {
    this.endedAt = now;
    this.#followers.wake();
  }

  dropHalf(): number {
    const dropped = this.#events.splice(0, Math.ceil(this.#events.length / 2));
    const length = dropped.reduce((sum, event) => sum + lengthOf(event), 0);
    this.#first += dropped.length;
    this.#length -= length;
    return length;
  }

  /**
   * Yields all events from this number on, including future ones, until the last event or the abort of the signal.
   * Throws `invalid_value` if an event in this range has been dropped.
   */
  async *from(number: number, signal: AbortSignal): AsyncGenerator<readonly SseEvent[]> {
    for (let next = number; ; ) {
      signal.throwIfAborted();
      if (next < this.#first) throw dropped(this.#first);
      const events = this.#batchFrom(next - this.#first);
      next += events.length;
      if (events.length > 0) yield events;
      else if (this.endedAt !== null) return;
      else await this.#followers.wait(signal);
    }
  }

  /** At least one event, if there is any. */
  #batchFrom(start: number): readonly SseEvent[] {
    let end = start;
    for (let length = 0; end < this.#events.length && length < MAX_BATCH_LENGTH; end += 1) {
      length += lengthOf(this.#events[end] as SseEvent);
    }
    return this.#events.slice(start, end);
  }
}

/** Logs by the keys of their responses. */
export class EventLogs {
  readonly #logs = new Map<string, EventLog>();
  readonly #maxLength: number;
  /** Total length of all logs. */
  #length = 0;

  constructor(
    private readonly now: () => number = Date.now,
    maxLength = MAX_LENGTH,
  ) {
    this.#maxLength = maxLength;
  }

  open(key: string): EventLog {
    this.#forgetOld();
    const log = new EventLog(this);
    this.#logs.set(key, log);
    return log;
  }

  get(key: string): EventLog | null {
    this.#forgetOld();
    return this.#logs.get(key) ?? null;
  }

  end(key: string): void {
    this.#logs.get(key)?.end(this.now());
  }

  delete(key: string): void {
    this.#length -= this.#logs.get(key)?.length ?? 0;
    this.#logs.delete(key);
  }

  /** Called by a log that has grown. First evicts logs of ended responses, then halves the longest logs. */
  grow(by: number): void {
    this.#length += by;
    if (this.#length <= this.#maxLength) return;
    for (const [key, { endedAt }] of this.#logs) {
      if (this.#length <= this.#maxLength) return;
      if (endedAt !== null) this.delete(key);
    }
    while (this.#length > this.#maxLength) {
      const longest = [...this.#logs.values()].reduce((one, other) => (other.length > one.length ? other : one));
      this.#length -= longest.dropHalf();
    }
  }

  #forgetOld(): void {
    for (const [key, { endedAt }] of this.#logs) {
      if (endedAt !== null && endedAt + MAX_AGE_MS <= this.now()) this.delete(key);
    }
  }
}

function lengthOf(event: SseEvent): number {
  return typeof event === 'string' ? event.length : event.name.length + event.data.length;
}

function dropped(first: number): ChasquiError {
  return invalidValue(
    `Events before number ${first} are no longer stored. Request the response without \`stream\`.`,
    'starting_after',
  );
}
