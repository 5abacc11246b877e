/** Completions of chats, which continue when their page is closed. */
import { limited, objectOf, string } from '../../http/schema/json-schema.js';
import { completionBody } from '../schemas/chats.js';
import type { DesktopApp, DesktopRoutes } from './context.js';
import { openStream } from './event-stream.js';

const PATH = '/api/v1/chats/:id/completion';
const params = objectOf({ id: limited(string, { maxLength: 64 }) });

export function completionsRoutes(app: DesktopRoutes, { completions }: DesktopApp): void {
  const start = { summary: 'Complete a message of a chat', params, body: completionBody, produces: { 204: [] } };
  app.post(PATH, { schema: start }, async ({ params: { id }, body }, reply) => {
    completions.start(id, body);
    return reply.code(204).send();
  });

  const follow = {
    summary: 'Follow the completion of a chat, as server-sent events',
    params,
    produces: { 200: ['text/event-stream'], 204: [] },
  };
  // A HEAD reply would never start: the events have no end.
  app.get(PATH, { schema: follow, exposeHeadRoute: false }, (request, reply) => {
    const { id } = request.params;
    if (!completions.has(id)) return reply.code(204).send();
    const send = openStream(reply);
    const leave = completions.follow(id, (event) => {
      send(event);
      if (event.name === 'end') reply.raw.end();
    });
    reply.raw.once('close', () => leave());
  });

  const stop = { summary: 'Stop the completion of a chat', params, produces: { 204: [] } };
  app.delete(PATH, { schema: stop }, async ({ params: { id } }, reply) => {
    await completions.stop(id);
    return reply.code(204).send();
  });
}
