/** Handles a text completion, from the valid body to the reply. */

import type { FastifyInstance } from 'fastify';
import { MODEL_ERRORS } from '../../../http/openapi/failures.js';
import { completionExamples, type Operation } from '../../../http/openapi/operation.js';
import { bodyRoute, nameIgnoredParts } from '../../../http/read-fields.js';
import type { AppContext } from '../../context.js';
import { parametersOf } from '../../shared/chat/chat-schema.js';
import { FieldOrigins } from '../../shared/chat/field-origins.js';
import { readConstraints } from '../../shared/chat/output-constraints.js';
import type { ExtendedEndpoint } from '../../shared/completion/completion-extension.js';
import { newCompletionHead, PromptProgress, runningUsage } from '../../shared/completion/reply-fields.js';
import { dataFailure, streamCompletion } from '../../shared/completion/stream-reply.js';
import { notEnforced } from '../../shared/json-schema/schema-check.js';
import { readFormat } from '../../shared/text/read-format.js';
import {
  aboutPrompt,
  firstOfEach,
  submitCompletions,
  unenforcedOfSchema,
} from '../../shared/text/submit-completions.js';
import { completionSchema, type SentCompletion } from '../../shared/text/text-schema.js';
import { withModel } from '../../shared/with-model.js';
import { completionChunkSchema, completionReplySchema } from './schema.js';
import { CompletionEncoder, toWholeCompletion } from './stream.js';

const URL = '/v1/completions';

/** `extended`: settings of another endpoint that completes texts and adds fields to the replies. */
export function completionsRoute(app: FastifyInstance, context: AppContext, extended?: ExtendedEndpoint): void {
  const { profile, options } = context;
  const schema = completionSchema(parametersOf(profile));
  const settings = bodyRoute(context, schema, extended?.operation ?? completionsOperation);

  const complete = withModel<SentCompletion>(
    context,
    async (request, reply, { engine, signal }) => {
      const origins = new FieldOrigins();
      const { body, isStrict } = readFormat(readConstraints(request.body, origins), origins);
      const { return_progress: returnsProgress = false } = body;
      const translate = (thrown: unknown) => origins.translate(aboutPrompt(thrown, body), { messages: [] });
      try {
        if (body.json_schema) {
          const parts = await unenforcedOfSchema(engine, body.json_schema, { signal });
          if (isStrict && parts[0] !== undefined) throw notEnforced(parts[0]);
          nameIgnoredParts(
            reply,
            parts.map((part) => origins.nameOf(part)),
          );
        }
        const started = await submitCompletions(engine, body, profile, signal);
        const { choicesPerPrompt, streams } = started;
        const firsts = firstOfEach(streams, choicesPerPrompt);
        const prompt = typeof body.prompt === 'string' ? body.prompt : null;
        request.record.follow(engine.model.id, streams, { choicesPerPrompt, prompt });
        const extension = extended?.extension(engine.model, streams);
        const encoder = new CompletionEncoder(newCompletionHead(engine.model.id, 'cmpl'), started, {
          includeUsage: body.stream_options?.include_usage ?? false,
          withTopLogprobs: (body.logprobs ?? 0) > 0,
          echoesLogprobs: body.logprobs !== undefined && body.echo === true,
          withPromptLogprobs: typeof body.prompt_logprobs === 'number',
          onlyReads: body.max_tokens === 0,
          timings: body.timings ?? false,
          timingsPerToken: body.timings_per_token ?? false,
          usage: runningUsage(body.stream_options, firsts),
          progress: returnsProgress ? firsts.map((each) => new PromptProgress(each)) : [],
        });
        if (!body.stream) {
          const completion = await toWholeCompletion(encoder, started);
          return extension?.extend(completion) ?? completion;
        }
        const events = { streams, encoder: extension?.extendChunks(encoder) ?? encoder, signal, translate };
        return await streamCompletion(request, reply, events, options);
      } catch (thrown) {
        throw translate(thrown);
      }
    },
    { fail: dataFailure },
  );
  app.post<{ Body: SentCompletion }>(extended?.url ?? URL, settings, complete);
}

export const completionsOperation: Operation = {
  id: 'createCompletion',
  tag: 'Text',
  summary: 'Text completion without a chat template; with `suffix`, completion of a gap.',
  requestName: 'CompletionRequest',
  errors: MODEL_ERRORS,
  reply: {
    json: { name: 'Completion', schema: completionReplySchema },
    event: { name: 'CompletionChunk', schema: completionChunkSchema },
  },
  examples: (model) => {
    const id = 'cmpl-4b1f6a52c7e94d0f8f3e6d9a7c5b2e10';
    const head = { ...newCompletionHead(model), id, object: 'text_completion', created: 1_790_000_000 };
    const choice = { index: 0, text: ', there was a model.', logprobs: null, finish_reason: 'length' };
    const tokens = { prompt_tokens: 5, completion_tokens: 8, total_tokens: 13 };
    const usage = { ...tokens, prompt_tokens_details: { cached_tokens: 0 } };
    return completionExamples(
      'Eight tokens more',
      { model, prompt: 'Once upon a time', max_tokens: 8, temperature: 0 },
      { reply: { ...head, choices: [choice], usage }, event: { ...head, choices: [{ ...choice, text: ' a model.' }] } },
    );
  },
};
