/** Vertex AI's prediction route, as in llama-server: each instance is a request to another endpoint. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidValue } from '../../../errors.js';
import { InjectedRequests } from '../../../http/injected-requests.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute } from '../../../http/read-fields.js';
import * as s from '../../../http/schema/json-schema.js';
import type { AppContext } from '../../context.js';

const URL = '/predict';
const FORMAT = '@requestFormat';
const MAX_INSTANCES = 128;
/** Instances of one request that run at a time. */
const CONCURRENCY = 8;
const NOT_REPEATED = /^(connection|content-.*|transfer-encoding|accept.*|expect|te|trailer)$/;

const FORMATS: ReadonlyMap<unknown, string> = new Map([
  ['chatCompletions', '/v1/chat/completions'],
  ['responses', '/v1/responses'],
  ['messages', '/v1/messages'],
  ['completions', '/v1/completions'],
  ['embeddings', '/v1/embeddings'],
  ['rerank', '/v1/rerank'],
  ['completion', '/completion'],
  ['infill', '/infill'],
  ['tokenize', '/tokenize'],
  ['detokenize', '/detokenize'],
  ['applyTemplate', '/apply-template'],
]);

type Instance = Record<string, unknown>;

const predictSchema = s.objectOf({
  instances: s.field(
    `Bodies of other requests. \`${FORMAT}\` names the endpoint: ${[...FORMATS.keys()].map((name) => `\`${name}\``).join(', ')}.`,
    s.limited(s.arrayOf(s.typed<Instance>({ type: 'object', required: [FORMAT] })), {
      minItems: 1,
      maxItems: MAX_INSTANCES,
    }),
  ),
});

/** In the order of the instances: the reply of each, or its error. */
const predictionsSchema = s.objectOf({ predictions: s.arrayOf(s.anyObject) });

type PredictRequest = FastifyRequest<{ Body: s.Static<typeof predictSchema> }>;

export function predictRoute(app: FastifyInstance, context: AppContext): void {
  const { pool, running, options } = context;
  const requests = new InjectedRequests(app);

  const predict = async (request: PredictRequest, path: string, fields: Instance, signal: AbortSignal) => {
    const { headers, ip, url } = request;
    const own = Object.entries(headers).filter(([name]) => !NOT_REPEATED.test(name));
    const { [FORMAT]: _format, stream: _stream, ...body } = fields;
    const call = {
      method: 'POST' as const,
      url: url.slice(0, url.indexOf(URL)) + path,
      headers: { ...Object.fromEntries(own), 'content-type': 'application/json' },
      payload: JSON.stringify({ model: pool.list()[0]?.id, ...body }),
      remoteAddress: ip,
    };
    return (await requests.send(call, signal)).json() as Record<string, unknown>;
  };

  const settings = { ...bodyRoute(context, predictSchema, operation), bodyLimit: options.bodyLimit };
  app.post<{ Body: s.Static<typeof predictSchema> }>(URL, settings, async (request, reply) => {
    const { instances } = request.body;
    const paths = instances.map(pathOf);
    const signal = running.signalFor(reply.raw);
    const predictions = new Array<Record<string, unknown>>(instances.length);
    const rest = instances.entries();
    const runRest = async () => {
      for (const [index, instance] of rest) {
        signal.throwIfAborted();
        predictions[index] = await predict(request, paths[index] as string, instance, signal);
      }
    };
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, instances.length) }, runRest));
    return { predictions };
  });
}

function pathOf({ [FORMAT]: format }: Instance, index: number): string {
  const path = FORMATS.get(format);
  if (path !== undefined) return path;
  const param = `instances[${index}].${FORMAT}`;
  throw invalidValue(`\`${param}\` must be one of ${[...FORMATS.keys()].join(', ')}.`, param);
}

const operation: Operation = {
  id: 'predict',
  tag: 'llama-server',
  summary: 'Replies to several requests, in the format of Vertex AI (llama-server).',
  description:
    'Streams are not supported. Without `model`, an instance uses the first model. An error is a prediction too.',
  requestName: 'PredictRequest',
  errors: [],
  reply: { json: { name: 'Predictions', schema: predictionsSchema } },
  examples: (model) => ({
    tokens: {
      summary: 'Tokens of a text',
      request: { instances: [{ [FORMAT]: 'tokenize', model, content: 'Hello!' }] },
      reply: { predictions: [{ tokens: [9707, 0] }] },
    },
  }),
};
