/** Responses that are computed while nobody waits for a reply. They end with the server that computes them. */
import { ChasquiError } from '../errors.js';
import type { ResponseObject } from '../schemas/response-object.js';

interface Running {
  controller: AbortController;
  /** As far as it has come. */
  current(): ResponseObject;
  /** Resolves when it has ended, however it did. */
  ended: Promise<void>;
}

/** Each holds its request in memory. */
const MAX_RUNNING = 256;

export class BackgroundResponses {
  /** By owner and id. */
  readonly #running = new Map<string, Running>();

  /** Throws `queue_full`. `work` must not reject; its signal is aborted when the response is cancelled. */
  start(owner: string, current: () => ResponseObject, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#running.size >= MAX_RUNNING) {
      throw new ChasquiError('queue_full', `${MAX_RUNNING} responses are computed in the background already.`);
    }
    const key = keyOf(owner, current().id);
    const controller = new AbortController();
    const ended = work(controller.signal).finally(() => this.#running.delete(key));
    this.#running.set(key, { controller, current, ended });
  }

  get(owner: string, id: string): ResponseObject | null {
    return this.#running.get(keyOf(owner, id))?.current() ?? null;
  }

  /** Resolves when it has ended; does nothing where there is no such response. */
  async cancel(owner: string, id: string, reason: ChasquiError = cancelled()): Promise<void> {
    const running = this.#running.get(keyOf(owner, id));
    running?.controller.abort(reason);
    await running?.ended;
  }

  /** Ends all of them with this reason. */
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
