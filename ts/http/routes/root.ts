/** For people who open the server's address in a browser. */
import type { FastifyInstance } from 'fastify';
import type { AppContext } from '../context.js';

export function rootRoute(app: FastifyInstance, { basePath }: AppContext): void {
  app.get(
    '/',
    async () =>
      `chasqui: OpenAI-compatible chat completions. Start at ${basePath}/v1/models. All there is: ${basePath}/docs.\n`,
  );
}
