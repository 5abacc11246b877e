/** What happens in the app, as server-sent events. */
import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { beginEvents, toFrames } from '../../http/sse.js';
import type { AppEvent } from '../event-bus.js';
import type { DesktopApp } from './context.js';

const COMMENT_EVERY_MS = 15_000;

/** A page that reads so slowly is cut off; it comes again and asks for the state as it is then. */
const MAX_UNREAD_BYTES = 2 ** 20;

/** Tabs and commands that watch at the same time; the first makes way for another. */
const MAX_STREAMS = 32;

export function eventsRoute(app: FastifyInstance, desktop: DesktopApp): void {
  const streams = new Set<ServerResponse>();
  const schema = { summary: 'What happens, as server-sent events', produces: { 200: ['text/event-stream'] } };
  // Of a reply without a body a client would never see the beginning, because the events have no end.
  app.get('/api/v1/events', { schema, exposeHeadRoute: false }, (_request, reply) => {
    beginEvents(reply);
    const { raw } = reply;
    makeRoom(streams);
    streams.add(raw);
    const send = (text: string) => {
      if (raw.destroyed) return;
      raw.write(text);
      if (raw.writableLength > MAX_UNREAD_BYTES) raw.destroy();
    };
    const stop = desktop.events.subscribe((event) => send(toFrame(event)));
    const comments = setInterval(() => send(': still there\n\n'), COMMENT_EVERY_MS);
    comments.unref();
    raw.once('close', () => {
      stop();
      clearInterval(comments);
      streams.delete(raw);
    });
    // Whoever comes again has missed what changed meanwhile.
    send(toFrame({ name: 'server', data: desktop.server.state }));
    send(toFrame({ name: 'models', data: desktop.instances.list() }));
  });
}

function makeRoom(streams: Set<ServerResponse>): void {
  const [first] = streams;
  if (first !== undefined && streams.size >= MAX_STREAMS) first.destroy();
}

function toFrame({ name, data }: AppEvent): string {
  return toFrames([{ name, data: JSON.stringify(data) }]);
}
