/** Handles a chat request, from the valid body to the reply. */
import type { FastifyInstance } from 'fastify';
import type { Engine, Finish, ModelInfo, RenderedPrompt } from '../../../engine/engine.js';
import { readablePrompt } from '../../../engine/readable-prompt.js';
import { unsupportedParameter } from '../../../errors.js';
import { CONVERSATION_ERRORS } from '../../../http/openapi/failures.js';
import { completionExamples, type Operation } from '../../../http/openapi/operation.js';
import { MAX_IGNORED_PARTS, nameIgnoredParts, readFields, readParts } from '../../../http/read-fields.js';
import type { Profile } from '../../../profiles/profile.js';
import type { AppContext } from '../../context.js';
import {
  type ChatCompletionRequest,
  chatCompletionSchema,
  parametersOf,
  type SentChatCompletion,
} from '../../shared/chat/chat-schema.js';
import { refusePassedOver, renderChat } from '../../shared/chat/render-chat.js';
import { startCompletion, toJob } from '../../shared/chat/to-job.js';
import { chatCompletionReplySchema, type VerboseReport } from '../../shared/completion/chat-reply-schema.js';
import type { ExtendedEndpoint } from '../../shared/completion/completion-extension.js';
import { toEnding, toGenerationSettings } from '../../shared/completion/generation-settings.js';
import { toPromptLogprobs } from '../../shared/completion/logprobs.js';
import { newCompletionHead, PromptProgress, runningUsage } from '../../shared/completion/reply-fields.js';
import { dataFailure, streamCompletion } from '../../shared/completion/stream-reply.js';
import { OwnFiles } from '../../shared/own-files.js';
import { ownerOf } from '../../shared/owner.js';
import { limitLogprobs } from '../../shared/text/prompt-tokens.js';
import { functionsFor } from '../../shared/tools/functions-for.js';
import { withModel } from '../../shared/with-model.js';
import { completeWithServers } from './mcp/stream-chat.js';
import { toCompletion } from './reply.js';
import { chatChunkSchema } from './schema.js';
import { ChunkEncoder } from './stream.js';

const URL = '/v1/chat/completions';

/** `extended`: settings of another endpoint that completes chats and adds fields to the replies. */
export function chatCompletionsRoute(app: FastifyInstance, context: AppContext, extended?: ExtendedEndpoint): void {
  const { profile, options } = context;
  const { bodyLimit, imageHosts, strict } = options;
  const schema = { body: chatCompletionSchema(parametersOf(profile)) };
  const preValidation = readFields(profile, strict, parametersOf(profile), profile.unsupportedParameters);
  const preHandler = readParts(schema.body, profile, strict);

  const complete = withModel<SentChatCompletion>(
    context,
    async (request, reply, leased) => {
      const { engine, signal } = leased;
      // LM Studio's replies have other fields.
      if (context.mcp !== null && extended === undefined && request.body.tools?.some(({ type }) => type === 'mcp')) {
        return completeWithServers(request, reply, leased, context);
      }
      const chat = functionsFor(request.body);
      const { body, origins, customTools, hasOldForm } = chat;
      if (strict) refusePassedOver(chat.passedOver);
      const translate = (thrown: unknown) => origins.translate(thrown, body);
      try {
        const contentOf = (id: string) => new OwnFiles(request, context).content(id);
        const how = { contentOf, hosts: imageHosts, signal, strict, maxParts: MAX_IGNORED_PARTS };
        const { rendered, ignored } = await renderChat(engine, chat, how);
        nameIgnoredParts(reply, ignored);
        const reportsPrompt = typeof body.prompt_logprobs === 'number';
        if (reportsPrompt) await checkPromptLogprobs(engine, body, rendered, signal);
        const streams = startCompletion(engine, profile, body, rendered, { signal, whole: !body.stream });
        request.record.follow(engine.model.id, streams, { prompt: rendered.prompt });
        const extension = extended?.extension(engine.model, streams);
        const head = newCompletionHead(engine.model.id);
        const parsed = rendered.format !== null;
        const { stream = false } = body;
        const verbose = (body.verbose ?? context.verbose) ? reportOn(engine.model, profile, body, rendered) : undefined;
        const { logprobs, timings, timings_per_token: timingsPerToken, return_progress: returnsProgress } = body;
        if (!stream) {
          const reported = { parsed, logprobs, timings: timings || timingsPerToken, verbose, customTools, hasOldForm };
          const reply = await toCompletion(head, streams, reported);
          const completion = {
            ...reply,
            ...(reportsPrompt && { prompt_logprobs: toPromptLogprobs(streams[0]?.promptLogprobs ?? []) }),
          };
          return extension?.extend(completion) ?? completion;
        }
        const chunks = new ChunkEncoder(head, {
          includeUsage: body.stream_options?.include_usage ?? false,
          choices: streams.length,
          parsed,
          timings,
          verbose,
          timed: timingsPerToken ? streams : [],
          progress: returnsProgress && streams[0] ? new PromptProgress(streams[0]) : undefined,
          customTools,
          hasOldForm,
          usage: body.stream_options?.continuous_usage_stats
            ? runningUsage(body.stream_options, streams.slice(0, 1))
            : undefined,
        });
        const encoder = extension?.extendChunks(chunks) ?? chunks;
        const reading = streamCompletion(request, reply, { streams, encoder, signal, translate }, options);
        if (!body.reasoning_control) return await reading;
        const owner = ownerOf(request, context.isBehindGateway);
        return await reading.finally(context.chats.add(head.id, { owner, streams }));
      } catch (thrown) {
        throw translate(thrown);
      }
    },
    { fail: dataFailure },
  );
  const settings = {
    schema,
    config: { operation: extended?.operation ?? chatCompletionsOperation },
    preValidation,
    preHandler,
    bodyLimit,
  };
  app.post<{ Body: SentChatCompletion }>(extended?.url ?? URL, settings, complete);
}

/** Returns the report of `__verbose`: the fields of a `/completion` reply, without the content and its tokens. */
function reportOn(model: ModelInfo, profile: Profile, body: ChatCompletionRequest, rendered: RenderedPrompt) {
  const job = toJob(body, rendered, profile, model);
  const settings = toGenerationSettings(job, model, { stream: body.stream ?? false });
  const beginning = { index: 0, id_slot: -1, stop: true, model: model.id, prompt: readablePrompt(rendered.prompt) };
  return (finish: Finish): VerboseReport => ({
    ...beginning,
    generation_settings: settings,
    ...toEnding(finish, model),
  });
}

/** As in vLLM, whole replies report the log-probabilities of prompts. Those of images have none. */
async function checkPromptLogprobs(
  engine: Engine,
  { prompt_logprobs: alternatives, stream, n = 1 }: ChatCompletionRequest,
  rendered: RenderedPrompt,
  signal: AbortSignal,
): Promise<void> {
  if (stream || rendered.images.length > 0) {
    const message = '`prompt_logprobs` is not available in streams, and not for images or audio.';
    throw unsupportedParameter(message, 'prompt_logprobs');
  }
  const tokens = await engine.countTokens(rendered, { signal });
  limitLogprobs(Math.min(tokens, engine.model.contextLength) * n * (1 + (alternatives ?? 0)), 'messages');
}

export const chatCompletionsOperation: Operation = {
  id: 'createChatCompletion',
  tag: 'Chat',
  summary: 'Chat completion, whole or streamed.',
  description:
    'A stream consists of `data:` lines, each with one chunk, and ends with `data: [DONE]`. ' +
    'Lines that begin with a colon keep the connection alive.',
  requestName: 'ChatCompletionRequest',
  errors: CONVERSATION_ERRORS,
  reply: {
    json: { name: 'ChatCompletion', schema: chatCompletionReplySchema },
    event: { name: 'ChatCompletionChunk', schema: chatChunkSchema },
  },
  examples: (model) => {
    const messages = [{ role: 'user', content: 'Count from 3 to 6' }];
    const message = { role: 'assistant', content: '3, 4, 5, 6', refusal: null };
    const tokens = { prompt_tokens: 20, completion_tokens: 11, total_tokens: 31 };
    const id = 'chatcmpl-4b1f6a52c7e94d0f8f3e6d9a7c5b2e10';
    const head = { ...newCompletionHead(model), id, created: 1_790_000_000 };
    return completionExamples(
      'A short completion',
      { model, messages, temperature: 0, max_tokens: 32 },
      {
        reply: {
          ...head,
          object: 'chat.completion',
          choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
          usage: {
            ...tokens,
            prompt_tokens_details: { cached_tokens: 0 },
            completion_tokens_details: { reasoning_tokens: 0 },
          },
        },
        event: {
          ...head,
          object: 'chat.completion.chunk',
          choices: [{ index: 0, delta: { content: '3' }, logprobs: null, finish_reason: null }],
        },
      },
    );
  },
};
