/** A text's way through the server, from valid body to its continuation. */
import type { FastifyInstance } from 'fastify';
import { newCompletionHead } from '../../chat/completion-head.js';
import { type CompletionRequest, completionSchema } from '../../schemas/completion.js';
import { CompletionEncoder, toWholeCompletion } from '../../text/completion-encoder.js';
import { aboutPrompt, submitCompletions } from '../../text/submit-completions.js';
import type { AppContext } from '../context.js';
import { readFields } from '../read-fields.js';
import { replyWithEvents } from '../reply-with-events.js';
import { dataEvents, dataFailure } from '../sse.js';
import { withModel } from '../with-model.js';

const URL = '/v1/completions';

export function completionsRoute(app: FastifyInstance, context: AppContext): void {
  const { profile, options } = context;
  const body = completionSchema(profile.parameters);
  const preValidation = readFields(profile, options.strict, Object.keys(body.properties));

  const complete = withModel<CompletionRequest>(
    context,
    async (request, reply, { engine, signal }) => {
      const { body } = request;
      try {
        const started = await submitCompletions(engine, body, profile, signal);
        const { choicesPerPrompt } = started;
        const prompt = typeof body.prompt === 'string' ? body.prompt : null;
        const streams = request.record.follow(engine.model.id, started.streams, { choicesPerPrompt, prompt });
        const completions = { ...started, streams };
        const encoder = new CompletionEncoder(newCompletionHead(engine.model.id, 'cmpl'), completions, {
          includeUsage: body.stream_options?.include_usage ?? false,
          withTopLogprobs: (body.logprobs ?? 0) > 0,
        });
        if (!body.stream) return await toWholeCompletion(encoder, completions);
        const events = { streams, encoder: dataEvents(encoder), signal, translate: aboutPrompt };
        return await replyWithEvents(request, reply, events, options);
      } catch (thrown) {
        throw aboutPrompt(thrown);
      }
    },
    { fail: dataFailure },
  );
  app.post<{ Body: CompletionRequest }>(URL, { schema: { body }, preValidation }, complete);
}
