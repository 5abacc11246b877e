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

  /** `onReply` gets the reply before its headers, which Fastify's `inject` does not return. Destroy it to end the request. */
  async send(
    { headers, ...options }: InjectOptions,
    onReply: (reply: ServerResponse) => void,
  ): Promise<LightMyRequestResponse> {
    const id = randomUUID();
    this.#waiting.set(id, onReply);
    try {
      return await this.app.inject({ ...options, headers: { ...headers, [HEADER]: id } });
    } finally {
      this.#waiting.delete(id);
    }
  }
}
