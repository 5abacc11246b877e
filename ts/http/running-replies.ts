/** The answers being computed: each has a signal, aborted when its client goes away or the server stops. */
import { setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { ChasquiError } from '../errors.js';

/** How long replies that were cut short may take to say so. */
const FAREWELL_MS = 1000;

export class RunningReplies {
  readonly #running = new Set<AbortController>();
  #draining = false;
  #stopped = false;
  #onIdle: (() => void) | null = null;

  /** From when the server began to stop. */
  get draining(): boolean {
    return this.#draining;
  }

  /**
   * The response, not the request, tells that a client went away: a request closes as soon as its body is read. And
   * `writableEnded`, not `writableFinished`: the latter is still false when an injected reply closes in good order.
   */
  signalFor(response: ServerResponse): AbortSignal {
    const controller = new AbortController();
    // Each of a request's answers listens, as many as `n` says.
    setMaxListeners(0, controller.signal);
    const close = (): void => {
      this.#remove(controller);
      if (!response.writableEnded) {
        controller.abort(new ChasquiError('client_closed_request', 'The client closed the connection.'));
      }
    };
    if (response.destroyed) {
      close();
    } else {
      this.#running.add(controller);
      response.once('close', close);
      if (this.#stopped) controller.abort(shuttingDown());
    }
    return controller.signal;
  }

  /** Lets what runs finish for up to `patienceMs`, then aborts it. Resolves when all of it is over. */
  async drain(patienceMs: number): Promise<void> {
    this.#draining = true;
    await this.#idle(patienceMs);
    this.#stopped = true;
    for (const controller of this.#running) controller.abort(shuttingDown());
    await this.#idle(FAREWELL_MS);
  }

  #idle(patienceMs: number): Promise<void> {
    if (this.#running.size === 0 || patienceMs <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, patienceMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #remove(controller: AbortController): void {
    this.#running.delete(controller);
    if (this.#running.size === 0) this.#onIdle?.();
  }
}

export function shuttingDown(): ChasquiError {
  return new ChasquiError('engine_closed', 'The server is shutting down; try again later.');
}
