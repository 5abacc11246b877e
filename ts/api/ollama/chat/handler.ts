/** Handles Ollama's completion requests: converts each to a chat body or a text completion body. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TokenStream } from '../../../engine/engine.js';
import { CONVERSATION_ERRORS } from '../../../http/openapi/failures.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { MAX_IGNORED_PARTS, nameIgnoredParts } from '../../../http/read-fields.js';
import { beginEvents, jsonLines } from '../../../http/sse.js';
import type { AppContext } from '../../context.js';
import type { ChatTranslation } from '../../shared/chat/field-origins.js';
import { renderChat } from '../../shared/chat/render-chat.js';
import { startCompletion } from '../../shared/chat/to-job.js';
import { streamCompletion } from '../../shared/completion/stream-reply.js';
import { aboutPrompt, submitCompletions } from '../../shared/text/submit-completions.js';
import { keepMsOf, type Leased, withModel } from '../../shared/with-model.js';
import { OLLAMA, ollamaFailure, ollamaRoute } from '../ollama-settings.js';
import {
  type OllamaChatRequest,
  type OllamaGenerateRequest,
  ollamaChatReplySchema,
  ollamaChatSchema,
  ollamaGenerateReplySchema,
  ollamaGenerateSchema,
} from '../schema.js';
import { chatToChat, generateToChat, isText, refuseUnsupported } from './ollama-to-chat.js';
import { CompletionLines } from './stream.js';
import { generateToText } from './to-text.js';

const CHAT_URL = '/api/chat';
const GENERATE_URL = '/api/generate';

type OllamaRequest = OllamaChatRequest | OllamaGenerateRequest;

interface Exchange<Body extends OllamaRequest = OllamaRequest> extends Leased {
  context: AppContext;
  request: FastifyRequest;
  body: Body;
  reply: FastifyReply;
  isChat: boolean;
  loadedAt: number;
}

export function ollamaCompletionRoutes(app: FastifyInstance, context: AppContext): void {
  const streaming = { fail: ollamaFailure, framing: jsonLines, unlessSaid: true };
  const common = { bodyLimit: context.options.bodyLimit };

  const chat = withModel<OllamaChatRequest>(
    context,
    (request, reply, leased) => {
      const { body } = request;
      const exchange = { ...leased, context, request, body, reply, isChat: true, loadedAt: Date.now() };
      return (body.messages ?? []).length === 0 ? confirmLoad(exchange) : completeChat(exchange, chatToChat(body));
    },
    streaming,
  );
  app.post<{ Body: OllamaChatRequest }>(
    CHAT_URL,
    { ...ollamaRoute(context, ollamaChatSchema, chatOperation), ...common, config: configOf(chatOperation) },
    chat,
  );

  const generate = withModel<OllamaGenerateRequest>(
    context,
    async (request, reply, leased) => {
      const { body } = request;
      const exchange = { ...leased, context, request, body, reply, isChat: false, loadedAt: Date.now() };
      refuseUnsupported(body);
      if (!body.prompt && !body.suffix && !body.images?.length) return confirmLoad(exchange);
      return isText(body) ? completeText(exchange) : completeChat(exchange, generateToChat(body));
    },
    streaming,
  );
  app.post<{ Body: OllamaGenerateRequest }>(
    GENERATE_URL,
    {
      ...ollamaRoute(context, ollamaGenerateSchema, generateOperation),
      ...common,
      config: configOf(generateOperation),
    },
    generate,
  );
}

function configOf(operation: Operation) {
  return { operation, imageLists: ['images'] };
}

async function completeChat(exchange: Exchange, { body: chat, origins }: ChatTranslation): Promise<unknown> {
  const { context, request, reply, engine, signal } = exchange;
  const { imageHosts } = context.options;
  return origins.guard(chat, async () => {
    const how = { hosts: imageHosts, signal, maxParts: MAX_IGNORED_PARTS };
    const { rendered, ignored } = await renderChat(engine, { body: chat, origins }, how);
    nameIgnoredParts(reply, ignored);
    const streams = startCompletion(engine, context.profile, chat, rendered, { signal, whole: !chat.stream });
    request.record.follow(engine.model.id, streams, { prompt: rendered.prompt });
    const translate = (thrown: unknown) => origins.translate(thrown, chat);
    return replyWithLines(exchange, streams, { parsed: rendered.format !== null, translate });
  });
}

async function completeText(exchange: Exchange<OllamaGenerateRequest>): Promise<unknown> {
  const { context, request, engine, signal } = exchange;
  const { body, origins } = generateToText(exchange.body);
  const translate = (thrown: unknown) => origins.translate(aboutPrompt(thrown), { messages: [] });
  try {
    const { streams } = await submitCompletions(engine, body, context.profile, signal);
    request.record.follow(engine.model.id, streams, { prompt: exchange.body.prompt ?? null });
    return await replyWithLines(exchange, streams, { parsed: false, translate });
  } catch (thrown) {
    throw translate(thrown);
  }
}

async function replyWithLines(
  { context, request, body, reply, signal, isChat, loadedAt }: Exchange,
  streams: readonly TokenStream[],
  { parsed, translate }: { parsed: boolean; translate(thrown: unknown): unknown },
): Promise<unknown> {
  const times = { arrivedAt: request.record.arrivedAt, loadedAt };
  const encoder = new CompletionLines({ model: body.model, isChat, parsed, times });
  if (body.stream === false) return encoder.collect(streams);
  return streamCompletion(request, reply, { streams, encoder, signal, translate, framing: jsonLines }, context.options);
}

/** Replies to a request without a prompt, which only loads the model or changes how long it stays loaded. */
async function confirmLoad({ body, reply, isChat }: Exchange): Promise<unknown> {
  const said = {
    model: body.model,
    created_at: new Date().toISOString(),
    ...(isChat ? { message: { role: 'assistant', content: '' } } : { response: '' }),
    done: true,
    done_reason: keepMsOf(body) === 0 ? 'unload' : 'load',
  };
  if (body.stream === false) return said;
  // It has begun if the load took a while.
  if (!reply.raw.headersSent) beginEvents(reply, jsonLines);
  reply.raw.end(jsonLines.frame([JSON.stringify(said)]));
  return undefined;
}

const head = { created_at: '2026-09-21T12:00:00.000Z' };
const ending = {
  done: true,
  done_reason: 'stop',
  total_duration: 123_000_000,
  load_duration: 1_000_000,
  prompt_eval_count: 20,
  prompt_eval_duration: 40_000_000,
  eval_count: 11,
  eval_duration: 80_000_000,
};

const DESCRIPTION =
  'Streams by default; `"stream": false` disables it. Each line of a stream is a JSON text. The last one has ' +
  '`done`, counts and times in nanoseconds.';

const base = { ...OLLAMA, description: DESCRIPTION, errors: CONVERSATION_ERRORS };

const chatOperation: Operation = {
  ...base,
  id: 'ollamaChat',
  summary: 'Chat completion (Ollama); streams unless `"stream": false`.',
  reply: {
    json: { name: 'OllamaChat', schema: ollamaChatReplySchema },
    line: { name: 'OllamaChat', schema: ollamaChatReplySchema },
  },
  examples: (model) => {
    const request = {
      model,
      messages: [{ role: 'user', content: 'Count from 3 to 6' }],
      options: { temperature: 0, num_predict: 32 },
    };
    const message = { role: 'assistant', content: '3, 4, 5, 6' };
    return {
      completion: {
        summary: 'A short completion',
        request: { ...request, stream: false },
        reply: { model, ...head, message, ...ending },
      },
      stream: {
        summary: 'The same as a stream',
        request: { ...request, stream: true },
        reply: { model, ...head, message: { ...message, content: '3' }, done: false },
      },
    };
  },
};

const generateOperation: Operation = {
  ...base,
  id: 'ollamaGenerate',
  summary: 'Completion of one message, of a text (`raw`) or of a gap (`suffix`) (Ollama).',
  reply: {
    json: { name: 'OllamaCompletion', schema: ollamaGenerateReplySchema },
    line: { name: 'OllamaCompletion', schema: ollamaGenerateReplySchema },
  },
  examples: (model) => {
    const request = { model, prompt: 'Count from 3 to 6', options: { temperature: 0, num_predict: 32 } };
    return {
      completion: {
        summary: 'A short completion',
        request: { ...request, stream: false },
        reply: { model, ...head, response: '3, 4, 5, 6', ...ending },
      },
      stream: {
        summary: 'The same as a stream',
        request: { ...request, stream: true },
        reply: { model, ...head, response: '3', done: false },
      },
    };
  },
};
