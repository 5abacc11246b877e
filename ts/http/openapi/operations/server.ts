import type { ErrorCode } from '../../../errors.js';
import { healthSchema, probeSchema } from '../../../schemas/health.js';
import type { Operation } from '../operation.js';

const ENGINE_FAILURES: ErrorCode[] = ['model_loading', 'engine_stalled', 'engine_restarting', 'engine_failed'];

export const showHealth: Operation = {
  id: 'showHealth',
  tag: 'Server',
  summary: 'Whether requests are taken, and what the engine has done.',
  reply: { json: { name: 'Health', schema: healthSchema } },
  failures: ENGINE_FAILURES,
  examples: (model) => ({
    idle: {
      summary: 'A server at rest',
      reply: {
        status: 'ok',
        model,
        active: 0,
        queued: 0,
        kv_cells_used: 0,
        kv_cells_cached: 31,
        kv_cells_total: 16_384,
        jobs_finished: 1,
        jobs_cancelled: 0,
        prompt_tokens: 20,
        completion_tokens: 11,
        drafted_tokens: 0,
        accepted_tokens: 0,
        decode_steps: 12,
        embedded_tokens: 0,
      },
    },
  }),
};

export const showLive: Operation = {
  id: 'showLive',
  tag: 'Server',
  summary: 'Whether the server runs, also while it stops.',
  reply: { json: { name: 'Probe', schema: probeSchema } },
  examples: () => ({ live: { summary: 'A server that runs', reply: { status: 'ok' } } }),
};

export const showReady: Operation = {
  id: 'showReady',
  tag: 'Server',
  summary: 'Whether requests are accepted and computed.',
  reply: { json: { name: 'Probe', schema: probeSchema } },
  failures: ENGINE_FAILURES,
  examples: () => ({ ready: { summary: 'A server that accepts requests', reply: { status: 'ok' } } }),
};

export const showMetrics: Operation = {
  id: 'showMetrics',
  tag: 'Server',
  summary: "What the server measures, in Prometheus' text format.",
  reply: { text: 'text/plain' },
  examples: () => ({}),
};

export const showStart: Operation = {
  id: 'showStart',
  tag: 'Server',
  summary: 'Where to start.',
  reply: { text: 'text/plain' },
  examples: () => ({}),
};

export const showDocument: Operation = {
  id: 'showOpenApi',
  tag: 'Server',
  summary: 'This description, as OpenAPI 3.1.',
  reply: { json: { name: 'OpenApi', schema: { type: 'object' } } },
  examples: () => ({}),
};

export const showDocumentation: Operation = {
  id: 'showDocs',
  tag: 'Server',
  summary: 'The same as a page for people.',
  reply: { text: 'text/html' },
  examples: () => ({}),
};
