/** Model events as server-sent events, in the form of llama-server. */
import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Operation } from '../../../http/openapi/operation.js';
import { beginEvents, toFrames } from '../../../http/sse.js';
import { toModelEvent } from '../../../models/model-events.js';
import type { ModelEvent } from '../../../models/pool.js';
import type { AppContext } from '../../context.js';
import { type ModelRemoveEvent, type ModelStatusEvent, modelEventSchema } from './schema.js';

export const MODEL_EVENTS_URL = '/models/sse';

/** A client with more unread bytes is disconnected. This is some hundred events, more than one load sends. */
const MAX_UNREAD_BYTES = 64 * 1024;

export function modelEventsRoute(app: FastifyInstance, { pool, downloads, running, options }: AppContext): void {
  // No HEAD route: the stream never ends, so its reply would never be sent.
  const route = { config: { operation: modelEvents }, exposeHeadRoute: false };
  app.get(MODEL_EVENTS_URL, route, (_request, reply) => {
    const { raw } = reply;
    beginEvents(reply);
    const send = (text: string) => writeOrCutOff(raw, text);
    // The state of each model comes first, so a new client knows all of them.
    for (const entry of pool.list()) send(toFrame(toModelEvent(entry)));
    const stopListening = [
      pool.onEvent((event) => send(toFrame(event))),
      downloads?.onEvent((event) => send(toFrames([JSON.stringify(event)]))),
    ];
    const keepAlive = setInterval(() => send(': keep-alive\n\n'), options.keepAliveMs);
    raw.once('close', () => {
      clearInterval(keepAlive);
      for (const stop of stopListening) stop?.();
    });
    running.endAtDrain(raw);
  });
}

function writeOrCutOff(raw: ServerResponse, text: string): void {
  if (raw.writableEnded || raw.destroyed) return;
  raw.write(text);
  if (raw.writableLength > MAX_UNREAD_BYTES) raw.destroy();
}

function toFrame({ id, status, progress, reason }: ModelEvent): string {
  if (status === 'removed')
    return toFrames([JSON.stringify({ model: id, event: 'model_remove' } satisfies ModelRemoveEvent)]);
  const event: ModelStatusEvent = {
    model: id,
    event: 'model_status',
    data: {
      status,
      ...(progress !== null && { progress: { stages: ['text_model'], current: 'text_model', value: progress } }),
      ...(reason !== null && { reason }),
    },
  };
  return toFrames([JSON.stringify(event)]);
}

const modelEvents: Operation = {
  id: 'modelEvents',
  tag: 'Models',
  summary: 'Stream of model events in the form of llama-server: the state of each model, then each change.',
  description: 'The stream ends with the server. A client that does not read is cut off.',
  reply: { event: { name: 'ModelEvent', schema: modelEventSchema } },
  examples: (model) => ({
    loaded: { summary: 'A model is there', reply: { model, event: 'model_status', data: { status: 'loaded' } } },
  }),
};
