/** A hint for browsers that open the server's address. */
import type { FastifyInstance } from 'fastify';
import type { Operation } from '../../../http/openapi/operation.js';
import type { AppContext } from '../../context.js';

export function rootRoute(app: FastifyInstance, { basePath }: AppContext): void {
  app.get(
    '/',
    { config: { operation } },
    async () =>
      `chasqui: OpenAI-compatible chat completions. Start at ${basePath}/v1/models. All endpoints: ${basePath}/docs.\n`,
  );
}

const operation: Operation = {
  id: 'showStart',
  tag: 'Server',
  summary: 'A line of text with the first addresses to try.',
  reply: { text: 'text/plain' },
};
