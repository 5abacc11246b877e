/** Background responses. They are cancelled when the server stops. */

import { ChasquiError } from '../../../errors.js';
import type { SseEvent } from '../../../http/sse.js';
import { type EventLog, EventLogs } from './event-log.js';
import type { ResponseObject } from './object-schema.js';

export interface BackgroundWork {
  current(): ResponseObject;
  /** Length of the request as JSON, including all earlier items, in UTF-16 units. */
  length: number;
  /**
   * Called when there is capacity. Returns the first events. If it throws, `start` throws the same error and nothing is
   * computed.
   */
  begin(): readonly SseEvent[];
  /**
   * Must not reject. Its signal is aborted when the response is cancelled. `log` receives its events, if they are kept.
   */
  compute(signal: AbortSignal, log: EventLog | null): Promise<void>;
  /** Whether its events are kept; default false. */
  keepsEvents?: boolean;
}

interface Running {
  controller: AbortController;
  current: BackgroundWork['current'];
  length: number;
  /** Resolves when the response has ended for any reason. */
  ended: Promise<void>;
}

const MAX_RUNNING = 256;
/** Each holds its request in memory after its client has the reply. */
const MAX_LENGTH = 64 * 2 ** 20;

export class BackgroundResponses {
  /** By owner and id. */
  readonly #running = new Map<string, Running>();
  readonly #logs = new EventLogs();

  /** Returns its events, if they are kept. Throws `queue_full`. */
  start(owner: string, { current, length, begin, compute, keepsEvents = false }: BackgroundWork): EventLog | null {
    const held = [...this.#running.values()].reduce((sum, running) => sum + running.length, 0);
    if (this.#running.size >= MAX_RUNNING || held + length > MAX_LENGTH) {
      const all = `${this.#running.size} responses of ${held} characters are already running in the background`;
      throw new ChasquiError('queue_full', `${all}: wait for one of them, or leave out \`background\`.`, 'background');
    }
    const announced = begin();
    const key = keyOf(owner, current().id);
    const controller = new AbortController();
    const log = keepsEvents ? this.#logs.open(key) : null;
    log?.add(announced);
    const ended = compute(controller.signal, log).finally(() => {
      this.#running.delete(key);
      this.#logs.end(key);
    });
    this.#running.set(key, { controller, current, length, ended });
    return log;
  }

  /** Returns null if they are not kept, or no longer. */
  events(owner: string, id: string): EventLog | null {
    return this.#logs.get(keyOf(owner, id));
  }

  forgetEvents(owner: string, id: string): void {
    this.#logs.delete(keyOf(owner, id));
  }

  get(owner: string, id: string): ResponseObject | null {
    return this.#running.get(keyOf(owner, id))?.current() ?? null;
  }

  /** Resolves when it has ended, or at once if there is no such response. */
  async cancel(owner: string, id: string, reason: ChasquiError = cancelled()): Promise<void> {
    const running = this.#running.get(keyOf(owner, id));
    running?.controller.abort(reason);
    await running?.ended;
  }

  /** Ends all responses with this reason. */
  async close(reason: ChasquiError): Promise<void> {
    const all = [...this.#running.values()];
    for (const { controller } of all) controller.abort(reason);
    await Promise.all(all.map(({ ended }) => ended));
  }
}

function keyOf(owner: string, id: string): string {
  return `${owner} ${id}`;
}

function cancelled(): ChasquiError {
  return new ChasquiError('request_cancelled', 'The response was cancelled.');
}
