/**
 * The replies that are being computed. Each has a signal, which aborts when its client disconnects or the server stops.
 */
import { setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { ChasquiError } from '../errors.js';

/** Aborted replies get this long to send their error event. */
const ABORT_GRACE_MS = 1000;

export class RunningReplies {
  readonly #running = new Map<AbortController, ServerResponse>();
  /** Replies that last until the server stops. */
  readonly #endless = new Set<ServerResponse>();
  readonly #stop = new AbortController();
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal = this.#stop.signal;
  #stopped = false;
  #onIdle: (() => void) | null = null;

  /**
   * Watches the response, because a request closes once its body is read, even while its client is connected. Checks
   * `writableEnded`, because `writableFinished` is still false when an injected reply closes normally.
   */
  signalFor(response: ServerResponse): AbortSignal {
    const controller = new AbortController();
    // Each of a request's `n` choices adds a listener.
    setMaxListeners(0, controller.signal);
    const close = (): void => {
      this.#running.delete(controller);
      if (this.isIdle) this.#onIdle?.();
      if (!response.writableEnded) {
        controller.abort(new ChasquiError('client_closed_request', 'The client closed the connection.'));
      }
    };
    if (response.destroyed) {
      close();
    } else {
      this.#running.set(controller, response);
      response.once('close', close);
      if (this.stopping.aborted) endConnectionAfter(response);
      if (this.#stopped) controller.abort(shuttingDown());
    }
    return controller.signal;
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** Ends this endless reply when the server begins to stop. */
  endAtDrain(response: ServerResponse): void {
    if (this.stopping.aborted) response.end();
    else this.#endless.add(response);
    response.once('close', () => this.#endless.delete(response));
  }

  /** Ends a running reply with an error; ignores others. */
  cancel(response: ServerResponse): void {
    const error = new ChasquiError('request_cancelled', 'The request was cancelled by the operator of this server.');
    for (const [controller, each] of this.#running) if (each === response) controller.abort(error);
  }

  /** Waits up to `timeoutMs` for running replies, then aborts them. Resolves when all have ended. */
  async drain(timeoutMs: number): Promise<void> {
    this.#stop.abort(shuttingDown());
    for (const response of this.#endless) response.end();
    for (const response of this.#running.values()) endConnectionAfter(response);
    await this.#idle(timeoutMs);
    this.#stopped = true;
    for (const controller of this.#running.keys()) controller.abort(shuttingDown());
    await this.#idle(ABORT_GRACE_MS);
  }

  #idle(timeoutMs: number): Promise<void> {
    if (this.isIdle || timeoutMs <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Tells the client to send its next request elsewhere. Headers that were sent cannot be changed. */
function endConnectionAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}

export function shuttingDown(): ChasquiError {
  return new ChasquiError('engine_closed', 'The server is shutting down; try again later.');
}
