/** The bytes of streams that continue without their client. A client that reconnects reads them from any offset. */

import { ChasquiError, invalidValue } from '../../../errors.js';
import { Followers } from '../../shared/followers.js';

/** The oldest bytes of a longer stream are dropped. */
const MAX_BYTES = 4 * 2 ** 20;
const MAX_SESSIONS = 32;
const MAX_AGE_MS = 5 * 60 * 1000;

export interface StreamState {
  conversation_id: string;
  is_done: boolean;
  total_bytes: number;
  /** Unix seconds. */
  started_at: number;
  /** 0 until the stream has ended. */
  completed_at: number;
}

export class StreamSession {
  readonly #chunks: Buffer[] = [];
  /** Offset of the first byte that is kept. */
  #first = 0;
  #total = 0;
  readonly #followers = new Followers();
  readonly #startedAt: number;
  #endedAt: number | null = null;
  readonly #cancelled = new AbortController();
  /** Aborted when the stream is cancelled: ends the request that computes it. */
  readonly signal: AbortSignal = this.#cancelled.signal;

  constructor(
    readonly owner: string,
    readonly id: string,
    private readonly now: () => number,
  ) {
    this.#startedAt = now();
  }

  get endedAt(): number | null {
    return this.#endedAt;
  }

  get state(): StreamState {
    return {
      conversation_id: this.id,
      is_done: this.#endedAt !== null,
      total_bytes: this.#total,
      started_at: Math.floor(this.#startedAt / 1000),
      completed_at: Math.floor((this.#endedAt ?? 0) / 1000),
    };
  }

  append(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#total += chunk.length;
    while (this.#total - this.#first > MAX_BYTES) this.#first += this.#chunks.shift()?.length ?? 0;
    this.#followers.wake();
  }

  end(): void {
    this.#endedAt ??= this.now();
    this.#followers.wake();
  }

  cancel(): void {
    this.#cancelled.abort();
    this.end();
  }

  /** Throws `invalid_value` if bytes from this offset on were dropped. */
  check(offset: number): void {
    if (offset >= this.#first) return;
    throw invalidValue(`The stream is stored only from byte ${this.#first} on.`, 'from');
  }

  /** Yields the bytes from `offset` on until the stream ends or the signal is aborted. Throws as `check` does. */
  async *from(offset: number, signal: AbortSignal): AsyncGenerator<Buffer> {
    for (let next = offset; !signal.aborted; ) {
      this.check(next);
      const chunk = this.#chunkAt(next);
      if (chunk !== null) {
        next += chunk.length;
        yield chunk;
      } else if (this.#endedAt !== null) return;
      else await this.#followers.wait(signal);
    }
  }

  /** The rest of the chunk with the byte at `offset`. */
  #chunkAt(offset: number): Buffer | null {
    let begin = this.#first;
    for (const chunk of this.#chunks) {
      if (offset < begin + chunk.length) return chunk.subarray(offset - begin);
      begin += chunk.length;
    }
    return null;
  }
}

export class StreamSessions {
  readonly #sessions = new Map<string, StreamSession>();

  constructor(private readonly now: () => number = Date.now) {}

  /** Cancels an earlier stream with this id. Throws `queue_full`. */
  open(owner: string, id: string): StreamSession {
    this.cancel(owner, id);
    this.#forgetOld();
    if (this.#sessions.size >= MAX_SESSIONS) {
      const ended = [...this.#sessions].find(([, { endedAt }]) => endedAt !== null);
      if (ended === undefined) throw tooMany();
      this.#sessions.delete(ended[0]);
    }
    const session = new StreamSession(owner, id, this.now);
    this.#sessions.set(keyOf(owner, id), session);
    return session;
  }

  get(owner: string, id: string): StreamSession | null {
    this.#forgetOld();
    return this.#sessions.get(keyOf(owner, id)) ?? null;
  }

  /** Ignores suffixes of the stored ids after `::`. Clients of llama-server put the model there. */
  find(owner: string, ids: readonly string[]): StreamSession[] {
    this.#forgetOld();
    const wanted = new Set(ids);
    return [...this.#sessions.values()].filter(
      (session) => session.owner === owner && prefixesOf(session.id).some((prefix) => wanted.has(prefix)),
    );
  }

  cancel(owner: string, id: string): void {
    const session = this.#sessions.get(keyOf(owner, id));
    session?.cancel();
    this.#sessions.delete(keyOf(owner, id));
  }

  /** Keeps a later stream with the same id. */
  remove(session: StreamSession): void {
    const key = keyOf(session.owner, session.id);
    if (this.#sessions.get(key) === session) this.#sessions.delete(key);
    session.end();
  }

  #forgetOld(): void {
    for (const [key, { endedAt }] of this.#sessions) {
      if (endedAt !== null && endedAt + MAX_AGE_MS <= this.now()) this.#sessions.delete(key);
    }
  }
}

/** An id, and its beginnings before each `::`. */
function prefixesOf(id: string): string[] {
  return [...id.matchAll(/::/g)].map(({ index }) => id.slice(0, index)).concat(id);
}

function keyOf(owner: string, id: string): string {
  return `${owner} ${id}`;
}

function tooMany(): ChasquiError {
  const message = `${MAX_SESSIONS} resumable streams are running. Wait for one of them, or omit X-Conversation-Id.`;
  return new ChasquiError('queue_full', message);
}
