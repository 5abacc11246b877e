/** Downloads and deletes models (Ollama), on servers that allow it. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError } from '../../../errors.js';
import { toChasquiError, toErrorBody } from '../../../http/error-handler.js';
import { HUB_ERRORS } from '../../../http/openapi/failures.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute } from '../../../http/read-fields.js';
import { beginEvents, jsonLines } from '../../../http/sse.js';
import type { AppContext } from '../../context.js';
import type { ModelLibrary } from '../../shared/model-library.js';
import { OLLAMA, ollamaErrors, ollamaFailure } from '../ollama-settings.js';
import {
  type OllamaDeleteRequest,
  type OllamaPullReply,
  type OllamaPullRequest,
  ollamaDeleteSchema,
  ollamaPullReplySchema,
  ollamaPullSchema,
} from '../schema.js';
import { PullLines } from './stream.js';

export function ollamaLibraryRoutes(app: FastifyInstance, context: AppContext, library: ModelLibrary): void {
  const errors = ollamaErrors(context);
  const pull = { ...bodyRoute(context, ollamaPullSchema, pullOperation), ...errors };
  app.post<{ Body: OllamaPullRequest }>('/api/pull', pull, async (request, reply) => {
    const { body } = request;
    const name = nameOf(body);
    const { running } = context;
    // A pull would delay the stop for as long as it takes.
    const signal = AbortSignal.any([running.signalFor(reply.raw), running.stopping]);
    if (body.stream !== false) return streamPull({ context, library, request, reply }, name, signal);
    await library.pull(name, { signal });
    return { status: 'success' } satisfies OllamaPullReply;
  });

  const remove = { ...bodyRoute(context, ollamaDeleteSchema, deleteOperation), ...errors };
  app.delete<{ Body: OllamaDeleteRequest }>('/api/delete', remove, async ({ body }, reply) => {
    await library.remove(nameOf(body));
    return reply.send();
  });
}

function nameOf({ name, model = name }: { model?: string; name?: string }): string {
  if (model !== undefined) return model;
  throw new ChasquiError('missing_required_parameter', 'Missing required parameter: `model`.', 'model');
}

interface Exchange {
  context: AppContext;
  library: ModelLibrary;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** A pull that fails before its first line gets an ordinary error reply. Later failures are reported in the last line. */
async function streamPull({ context, library, request, reply }: Exchange, name: string, signal: AbortSignal) {
  const { options } = context;
  const { raw } = reply;
  const lines = new PullLines();
  const send = (values: readonly OllamaPullReply[]) => {
    if (values.length > 0) raw.write(jsonLines.frame(values.map((value) => JSON.stringify(value))));
  };
  const keepAlive = setInterval(() => raw.headersSent && raw.write(jsonLines.keepAlive), options.keepAliveMs);
  const onProgress: Parameters<ModelLibrary['pull']>[1]['onProgress'] = (progress) => {
    if (!raw.headersSent) {
      beginEvents(reply, jsonLines);
      send(lines.begin());
    }
    // A slow client skips this report and gets the next one.
    if (!raw.writableNeedDrain) send(lines.next(progress));
  };
  try {
    await library.pull(name, { signal, onProgress });
    send(lines.end());
  } catch (thrown) {
    if (!raw.headersSent) throw thrown;
    raw.write(jsonLines.frame(ollamaFailure(toErrorBody(toChasquiError(thrown, request, options)))));
  } finally {
    clearInterval(keepAlive);
    if (raw.headersSent) raw.end();
  }
  return undefined;
}

const MODEL = 'hf.co/user/repo:Q4_K_M';

const pullOperation: Operation = {
  ...OLLAMA,
  id: 'ollamaPull',
  summary: 'Downloads a model from the hub (Ollama).',
  description:
    'Streams by default; `"stream": false` disables it. Each line of a stream is a JSON text with the current step and the ' +
    'progress of each file. If the client disconnects, the download pauses. The same request resumes it.',
  errors: [...HUB_ERRORS, 'request_cancelled'],
  reply: {
    json: { name: 'OllamaPull', schema: ollamaPullReplySchema },
    line: { name: 'OllamaPull', schema: ollamaPullReplySchema },
  },
  examples: () => ({
    pull: {
      summary: 'Without its progress',
      request: { model: MODEL, stream: false },
      reply: { status: 'success' },
    },
  }),
};

const deleteOperation: Operation = {
  ...OLLAMA,
  id: 'ollamaDelete',
  summary: 'Deletes the files of a model (Ollama).',
  errors: ['model_not_found', 'not_deletable', 'local_model_not_found'],
  reply: {},
  examples: () => ({ delete: { summary: 'By its name', request: { model: MODEL } } }),
};
