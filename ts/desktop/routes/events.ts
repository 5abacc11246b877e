/** Server-sent events of the app. */
import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { beginEvents, toFrames } from '../../http/sse.js';
import type { AppEvent } from '../event-bus.js';
import type { DesktopApp } from './context.js';

const COMMENT_EVERY_MS = 15_000;

/** A slow reader is disconnected above this backlog; it reconnects and gets the current state. */
const MAX_UNREAD_BYTES = 2 ** 20;

/** Maximum number of parallel streams; the oldest is closed. */
const MAX_STREAMS = 32;

export function eventsRoute(app: FastifyInstance, desktop: DesktopApp): void {
  const streams = new Set<ServerResponse>();
  const schema = { summary: 'Changes, as server-sent events', produces: { 200: ['text/event-stream'] } };
  // A HEAD reply would never start: the events have no end.
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
    // Send the current state first: a reconnecting client missed changes.
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
