/** Requests that the server sends to itself. They pass through the same guards and limits as others. */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';

/** Names the request to the hook, by a random id. */
const HEADER = 'x-chasqui-injected';

export class InjectedRequests {
  readonly #waiting = new Map<string, (reply: ServerResponse) => void>();

  /** For requests to the routes of `app`. */
  constructor(private readonly app: FastifyInstance) {
    app.addHook('onRequest', async ({ headers }, { raw }) => {
      if (this.#waiting.size > 0) this.#waiting.get(String(headers[HEADER]))?.(raw);
    });
  }

  /** The signal ends the request and its reply, also before the headers. Fastify's `inject` has no such signal. */
  async send({ headers, ...options }: InjectOptions, signal: AbortSignal): Promise<LightMyRequestResponse> {
    const id = randomUUID();
    this.#waiting.set(id, (reply) => {
      const end = (): void => void reply.destroy();
      signal.addEventListener('abort', end);
      reply.once('close', () => signal.removeEventListener('abort', end));
      if (signal.aborted) end();
    });
    try {
      return await this.app.inject({ ...options, headers: { ...headers, [HEADER]: id } });
    } finally {
      this.#waiting.delete(id);
    }
  }
}
