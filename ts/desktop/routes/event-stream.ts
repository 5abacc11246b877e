/** Streams of server-sent events for pages. */
import type { FastifyReply } from 'fastify';
import { beginEvents, toFrames } from '../../http/sse.js';

const COMMENT_EVERY_MS = 15_000;

/** A slow reader is disconnected above this backlog; it reconnects and gets the current state. */
const MAX_UNREAD_BYTES = 2 ** 20;

/** Begins a stream. Returns a function that sends an event. */
export function openStream(reply: FastifyReply): (event: { name: string; data: unknown }) => void {
  beginEvents(reply);
  const { raw } = reply;
  const send = (text: string) => {
    if (raw.destroyed || raw.writableEnded) return;
    const isBehind = raw.writableLength > MAX_UNREAD_BYTES;
    if (isBehind) raw.destroy();
    else raw.write(text);
  };
  const comments = setInterval(() => send(': still there\n\n'), COMMENT_EVERY_MS);
  comments.unref();
  raw.once('close', () => clearInterval(comments));
  return ({ name, data }) => send(toFrames([{ name, data: JSON.stringify(data) }]));
}
