/** The live table of requests to this computer's models. */
import type { FastifyRequest } from 'fastify';
import { ChasquiError } from '../errors.js';
import type { RequestObserver } from '../http/context.js';
import type { RequestRecord } from '../metrics/request-record.js';
import type { RequestRow } from './api-types.js';
import type { EventBus } from './event-bus.js';
import type { RequestHistory } from './store/request-history.js';

interface Live {
  record: RequestRecord;
  /** Its body arrives later. */
  request: FastifyRequest;
  client: string;
  cancel(): void;
  /** Time of the first token, as `performance.now()`. */
  firstTokenAt: number | null;
  told: string;
  /** Whether no other request ran at the same time. */
  isAlone: boolean;
}

const MAX_CLIENT_LENGTH = 100;
const MAX_NAME_LENGTH = 200;
/** Minimum interval between updates of a row. */
const TELL_EVERY_MS = 200;
/** Window of the percentiles of time to first token. */
const RECENT_MS = 60_000;
const MAX_RECENT = 2000;

/** Model requests are `POST`s outside the management API. */
const NOT_ASKING = /^\/(api|models)\//;

export class RequestTable {
  readonly #live = new Map<string, Live>();
  readonly #firstTokens: { at: number; ms: number }[] = [];
  #endedTokens = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `onAlone` is called for completed requests that ran alone. */
  constructor(
    private readonly history: RequestHistory,
    private readonly events: EventBus,
    private readonly onAlone: (row: RequestRow) => void = () => {},
  ) {}

  /** `app`: requests of the app's own chat. */
  observer({ app }: { app: boolean }): RequestObserver {
    return {
      began: (record, request, cancel) => {
        const { method, endpoint, id } = record.arrival;
        if (method !== 'POST' || endpoint === null || NOT_ASKING.test(endpoint)) return;
        // Pages have the cookie, commands a token.
        const client = app && request.headers.authorization === undefined ? 'app' : nameOf(request);
        const isAlone = this.#live.size === 0;
        const live: Live = { record, request, client, cancel, firstTokenAt: null, told: '', isAlone };
        for (const other of this.#live.values()) other.isAlone = false;
        this.#live.set(id, live);
        this.#tell(live);
        this.#watch();
      },
      ended: (record) => this.#end(record),
    };
  }

  /** Number of running requests. */
  get size(): number {
    return this.#live.size;
  }

  /** Completion tokens since the start of the app. */
  get generatedTokens(): number {
    let sum = this.#endedTokens;
    for (const { record } of this.#live.values()) sum += record.generatedTokens;
    return sum;
  }

  /** Times to first token of the last minute in milliseconds, sorted. */
  recentFirstTokens(now = Date.now()): number[] {
    const recent = this.#firstTokens;
    while (recent[0] !== undefined && recent[0].at < now - RECENT_MS) recent.shift();
    return recent.map(({ ms }) => ms).sort((one, other) => one - other);
  }

  /** Running requests first, then newest first. */
  list(limit: number): RequestRow[] {
    const live = [...this.#live.values()].reverse().map(toRow);
    return [...live, ...this.history.list(limit)].slice(0, limit);
  }

  /** Aborts a request with an error. @throws {ChasquiError} `not_found` if it is not running. */
  cancel(id: string): void {
    const live = this.#live.get(id);
    if (live === undefined) throw new ChasquiError('not_found', 'No request with this id is running.', 'id');
    live.cancel();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #end(record: RequestRecord): void {
    const live = this.#live.get(record.arrival.id);
    if (live === undefined) return;
    this.#live.delete(record.arrival.id);
    this.#endedTokens += record.generatedTokens;
    if (record.firstTokenMs !== null) {
      this.#firstTokens.push({ at: Date.now(), ms: record.firstTokenMs });
      if (this.#firstTokens.length > MAX_RECENT) this.#firstTokens.shift();
    }
    const row = this.#tell(live);
    this.history.add(row);
    if (row.state === 'done' && live.isAlone) this.onAlone(row);
  }

  /** Updates rows while requests run. */
  #watch(): void {
    this.#timer ??= setInterval(() => {
      for (const live of this.#live.values()) {
        if (live.record.firstTokenMs !== null) live.firstTokenAt ??= performance.now();
        if (this.events.isWatched) this.#tell(live);
      }
      if (this.#live.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    }, TELL_EVERY_MS);
  }

  #tell(live: Live): RequestRow {
    const row = toRow(live);
    const { durationMs: _duration, ...changing } = row;
    const text = JSON.stringify(changing);
    if (text !== live.told) this.events.publish('request', row);
    live.told = text;
    return row;
  }
}

function toRow({ record, request, client, firstTokenAt }: Live): RequestRow {
  const { arrival, model, cachedTokens, generatedTokens, firstTokenMs, durationMs, status } = record;
  const promptTokens = record.promptTokens || (record.prefill?.total ?? 0);
  return {
    id: arrival.id,
    at: record.arrivedAt,
    endpoint: arrival.endpoint ?? arrival.path,
    model,
    requested: namedIn(request),
    state: stateOf(record),
    prefill: prefillOf(record),
    promptTokens,
    cachedTokens,
    completionTokens: generatedTokens,
    tokensPerSecond: speedOf(record, firstTokenAt),
    ttftMs: rounded(firstTokenMs),
    durationMs: rounded(durationMs ?? Date.now() - record.arrivedAt),
    status: durationMs === null ? null : status,
    error: record.errorCode,
    client,
  };
}

/** As whole percents. */
function prefillOf({ prefill, firstTokenMs }: RequestRecord): number {
  if (firstTokenMs !== null) return 1;
  return prefill === null ? 0 : Math.floor((100 * prefill.computed) / prefill.total) / 100;
}

function stateOf(record: RequestRecord): RequestRow['state'] {
  const { durationMs, errorCode, model } = record;
  if (errorCode === 'client_closed_request' || errorCode === 'request_cancelled') return 'cancelled';
  if (errorCode !== null) return 'failed';
  if (durationMs !== null) return 'done';
  if (model === null) return 'waiting';
  return prefillOf(record) < 1 ? 'prefill' : 'decode';
}

/** Prefill produces the first token. */
function speedOf({ timings, generatedTokens }: RequestRecord, firstTokenAt: number | null): number | null {
  if (generatedTokens < 2) return null;
  const ms = timings?.predictedMs ?? (firstTokenAt === null ? 0 : performance.now() - firstTokenAt);
  return ms <= 0 ? null : Math.round(((generatedTokens - 1) * 10_000) / ms) / 10;
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}

function namedIn({ body }: FastifyRequest): string | null {
  const { model } = (body ?? {}) as { model?: unknown };
  return typeof model === 'string' ? model.slice(0, MAX_NAME_LENGTH) : null;
}

function nameOf({ headers }: FastifyRequest): string {
  return (headers['user-agent'] ?? '').slice(0, MAX_CLIENT_LENGTH) || 'unknown';
}
