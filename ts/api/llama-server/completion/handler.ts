/** llama-server's own completions: of texts, and of gaps in them. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Job } from '../../../engine/job.js';
import { errorHandler } from '../../../http/error-handler.js';
import { MODEL_ERRORS } from '../../../http/openapi/failures.js';
import { completionExamples, type Operation } from '../../../http/openapi/operation.js';
import { bodyRoute, nameIgnoredParts } from '../../../http/read-fields.js';
import type { AppContext } from '../../context.js';
import { toGenerationSettings } from '../../shared/completion/generation-settings.js';
import { PromptProgress } from '../../shared/completion/reply-fields.js';
import { streamCompletion } from '../../shared/completion/stream-reply.js';
import {
  aboutPrompt,
  firstOfEach,
  submitCompletions,
  unenforcedOfSchema,
} from '../../shared/text/submit-completions.js';
import { spell } from '../../shared/text/to-tokens.js';
import { type Leased, withModel } from '../../shared/with-model.js';
import { nativeErrorSchema, nativeFailure, toNativeError } from '../native-errors.js';
import {
  type InfillRequest,
  infillSchema,
  MEDIA_MARKER,
  type NativeCompletionRequest,
  type NativeSettings,
  nativeCompletionSchema,
  nativePieceSchema,
  nativeReplySchema,
} from '../schema.js';
import { infillPrompt } from './infill-prompt.js';
import { limitRepeatedSettings } from './repeat-limit.js';
import { NativeCompletions } from './stream.js';
import { onlyReads, toCompletionRequest } from './to-completion.js';
import { type Prompts, toPrompts } from './to-prompts.js';

const COMPLETION_URL = '/completion';
const INFILL_URL = '/infill';

/** A request on its way. */
interface Exchange extends Leased {
  context: AppContext;
  request: FastifyRequest;
  reply: FastifyReply;
}

export function nativeCompletionRoutes(app: FastifyInstance, context: AppContext): void {
  const complete = withModel<NativeCompletionRequest>(
    context,
    async (request, reply, leased) => {
      const { prompt, ...settings } = request.body;
      const prompts = await toPrompts(leased.engine, prompt, leased);
      return completeTexts({ ...leased, context, request, reply }, settings, prompts);
    },
    { fail: nativeFailure },
  );
  const errors = { errorHandler: errorHandler(context.options, toNativeError) };
  const completion = { ...bodyRoute(context, nativeCompletionSchema, completionOperation), ...errors };
  app.post<{ Body: NativeCompletionRequest }>(COMPLETION_URL, completion, complete);

  const fill = withModel<InfillRequest>(
    context,
    async (request, reply, leased) => {
      const {
        input_prefix: _prefix,
        input_suffix: _suffix,
        input_extra: _extra,
        prompt: _prompt,
        ...settings
      } = request.body;
      const prompt = await infillPrompt(leased.engine, request.body, leased);
      return completeTexts({ ...leased, context, request, reply }, settings, { prompts: [prompt], images: [] });
    },
    { fail: nativeFailure },
  );
  app.post<{ Body: InfillRequest }>(
    INFILL_URL,
    { ...bodyRoute(context, infillSchema, infillOperation), ...errors },
    fill,
  );
}

async function completeTexts(
  { context, request, reply, engine, signal }: Exchange,
  settings: NativeSettings,
  { prompts, images }: Prompts,
): Promise<unknown> {
  const { stream = false, json_schema: schema, return_progress: returnsProgress = false } = settings;
  const translate = (thrown: unknown) => aboutPrompt(thrown, settings);
  try {
    if (schema) nameIgnoredParts(reply, await unenforcedOfSchema(engine, schema, { signal }));
    const body = await toCompletionRequest(engine, settings, prompts, { signal });
    const known = await Promise.all(
      prompts.map(async (prompt, index) => {
        if (typeof prompt !== 'string') {
          return { text: await spell(engine, prompt, 'prompt', { signal }), tokens: prompt.length };
        }
        // Only a stream says how long the prompt is before its end.
        const tokens = stream ? await engine.countTokens({ prompt, images: images[index] ?? [] }, { signal }) : 0;
        const hasImages = (images[index]?.length ?? 0) > 0;
        return { text: hasImages ? prompt.replaceAll(engine.model.imageMarker ?? '', MEDIA_MARKER) : prompt, tokens };
      }),
    );
    const choicesPerPrompt = body.n ?? 1;
    const ofChoices = known.flatMap((each) => Array<(typeof known)[0]>(choicesPerPrompt).fill(each));
    const beforeSubmit = (job: Job): void =>
      limitRepeatedSettings({
        generationSettings: toGenerationSettings(job, engine.model, { stream }),
        prompts: ofChoices.map(({ text }) => text),
        responseFields: stream ? [] : (settings.response_fields ?? []),
        param: choicesPerPrompt > 1 ? 'n' : 'prompt',
      });
    const logprobsAfter = settings.post_sampling_probs ?? false;
    const own = { logprobsAfter, images, beforeSubmit };
    const started = await submitCompletions(engine, body, context.profile, signal, own);
    const prompt = known.length === 1 ? (known[0]?.text ?? null) : null;
    const { streams } = started;
    request.record.follow(engine.model.id, streams, { choicesPerPrompt, prompt });
    const encoder = new NativeCompletions({
      model: engine.model.id,
      contextLength: engine.model.contextLength,
      generationSettings: toGenerationSettings(started.job, engine.model, { stream }),
      prompts: ofChoices,
      streams,
      onlyReads: onlyReads(settings),
      returnTokens: settings.return_tokens ?? false,
      responseFields: settings.response_fields ?? [],
      timingsPerToken: settings.timings_per_token ?? false,
      progress: returnsProgress ? firstOfEach(streams, choicesPerPrompt).map((each) => new PromptProgress(each)) : [],
      choicesPerPrompt,
    });
    if (!stream) return await encoder.collect(streams);
    const events = { streams, encoder, signal, translate };
    return await streamCompletion(request, reply, events, context.options);
  } catch (thrown) {
    throw translate(thrown);
  }
}

const example = {
  index: 0,
  content: ', there was a model.',
  tokens: [],
  id_slot: -1,
  stop: true,
  model: 'chasqui-demo',
  tokens_predicted: 8,
  tokens_evaluated: 5,
  generation_settings: {
    seed: 4294967295,
    temperature: 0,
    top_k: 50,
    top_p: 1,
    min_p: 0,
    repeat_penalty: 1,
    repeat_last_n: 64,
    presence_penalty: 0,
    frequency_penalty: 0,
    typical_p: 1,
    top_n_sigma: -1,
    xtc_probability: 0,
    xtc_threshold: 0.1,
    dynatemp_range: 0,
    dynatemp_exponent: 1,
    mirostat: 0,
    mirostat_tau: 5,
    mirostat_eta: 0.1,
    adaptive_target: -1,
    adaptive_decay: 0.9,
    dry_multiplier: 0,
    dry_base: 1.75,
    dry_allowed_length: 2,
    dry_penalty_last_n: 64,
    dry_sequence_breakers: ['\n', ':', '"', '*'],
    samplers: [],
    logit_bias: [],
    stop: [],
    max_tokens: 8,
    n_predict: 8,
    ignore_eos: false,
    stream: false,
    n_probs: 0,
    grammar: '',
    post_sampling_probs: false,
    lora: [],
  },
  prompt: 'Once upon a time',
  has_new_line: false,
  truncated: false,
  stop_type: 'limit',
  stopping_word: '',
  tokens_cached: 0,
  timings: {
    queued_ms: 0.1,
    cache_n: 0,
    prompt_n: 5,
    prompt_ms: 12.5,
    prompt_per_second: 400,
    predicted_n: 8,
    predicted_ms: 35,
    predicted_per_second: 200,
    prompt_per_token_ms: 2.5,
    predicted_per_token_ms: 4.4,
  },
};

const event = {
  index: 0,
  content: ' a',
  tokens: [257],
  stop: false,
  id_slot: -1,
  tokens_predicted: 3,
  tokens_evaluated: 5,
};

const reply: Operation['reply'] = {
  json: { name: 'NativeCompletion', schema: nativeReplySchema },
  event: { name: 'NativeCompletionEvent', schema: nativePieceSchema },
};

const base = { tag: 'llama-server', errorBody: nativeErrorSchema, errors: MODEL_ERRORS, reply } as const;

const completionOperation: Operation = {
  ...base,
  id: 'nativeCompletion',
  summary: 'Text completion (llama-server).',
  description: 'An event of a stream has the text of a token; the last has `stop`, and all that a whole reply has.',
  examples: (model) =>
    completionExamples(
      'Eight tokens more',
      { prompt: 'Once upon a time', n_predict: 8, temperature: 0 },
      { reply: { ...example, model }, event },
    ),
};

const infillOperation: Operation = {
  ...base,
  id: 'infill',
  summary: 'Completion of the gap between two texts, if the model supports infill (llama-server).',
  examples: (model) => ({
    gap: {
      summary: 'The body of a function',
      request: { input_prefix: 'int twice(int n) {\n', input_suffix: '\n}\n', n_predict: 8, temperature: 0 },
      reply: { ...example, model, content: '    return 2 * n;' },
    },
  }),
};
