/** Server-sent events of the app. */
import type { ServerResponse } from 'node:http';
import type { DesktopApp, DesktopRoutes } from './context.js';
import { openStream } from './event-stream.js';

/** Maximum number of parallel streams; the oldest is closed. */
const MAX_STREAMS = 32;

export function eventsRoute(app: DesktopRoutes, desktop: DesktopApp): void {
  const streams = new Set<ServerResponse>();
  const schema = { summary: 'Changes, as server-sent events', produces: { 200: ['text/event-stream'] } };
  // A HEAD reply would never start: the events have no end.
  app.get('/api/v1/events', { schema, exposeHeadRoute: false }, (_request, reply) => {
    const { raw } = reply;
    makeRoom(streams);
    streams.add(raw);
    const send = openStream(reply);
    const stop = desktop.events.subscribe(send);
    raw.once('close', () => {
      stop();
      streams.delete(raw);
    });
    // Send the current state first: a reconnecting client missed changes.
    send({ name: 'server', data: desktop.server.state });
    send({ name: 'models', data: desktop.instances.list() });
  });
}

function makeRoom(streams: Set<ServerResponse>): void {
  const [first] = streams;
  if (first !== undefined && streams.size >= MAX_STREAMS) first.destroy();
}
