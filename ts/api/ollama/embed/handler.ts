/** Ollama's endpoints for embeddings. */
import type { FastifyInstance } from 'fastify';
import type { Engine } from '../../../engine/engine.js';
import { jsonInSlices } from '../../../http/json-in-slices.js';
import { MODEL_ERRORS } from '../../../http/openapi/failures.js';
import type { Operation } from '../../../http/openapi/operation.js';
import type { AppContext } from '../../context.js';
import { shortenTexts } from '../../shared/text/shorten-texts.js';
import { toEmbeddings } from '../../shared/text/to-embeddings.js';
import { withModel } from '../../shared/with-model.js';
import { OLLAMA, ollamaRoute, toNanoseconds } from '../ollama-settings.js';
import {
  type OllamaEmbeddingsRequest,
  type OllamaEmbedRequest,
  ollamaEmbeddingsReplySchema,
  ollamaEmbeddingsSchema,
  ollamaEmbedReplySchema,
  ollamaEmbedSchema,
} from '../schema.js';

const EMBED_URL = '/api/embed';
const EMBEDDINGS_URL = '/api/embeddings';

/** Embeddings have no settings of a sampler: every option is named as ignored. */
const NO_OPTIONS: readonly string[] = [];

export function ollamaEmbeddingRoutes(app: FastifyInstance, context: AppContext): void {
  const embed = withModel<OllamaEmbedRequest>(context, async ({ body, record }, reply, { engine, signal }) => {
    const loadedAt = Date.now();
    const { vectors, promptTokens } = await embedTexts(engine, body, 'input', signal);
    record.readTexts(engine.model.id, promptTokens);
    const rest = {
      model: body.model,
      total_duration: toNanoseconds(Date.now() - record.arrivedAt),
      load_duration: toNanoseconds(loadedAt - record.arrivedAt),
      prompt_eval_count: promptTokens,
    };
    return reply.type(JSON_TYPE).send(await jsonInSlices(rest, 'embeddings', vectors));
  });
  const settings = ollamaRoute(context, ollamaEmbedSchema, embedOperation, NO_OPTIONS);
  app.post<{ Body: OllamaEmbedRequest }>(EMBED_URL, settings, embed);

  const embedOne = withModel<OllamaEmbeddingsRequest>(context, async ({ body, record }, _reply, { engine, signal }) => {
    const { vectors, promptTokens } = await embedTexts(engine, { ...body, input: body.prompt ?? '' }, 'prompt', signal);
    record.readTexts(engine.model.id, promptTokens);
    return { embedding: vectors[0] ?? [] };
  });
  const settingsOfOne = ollamaRoute(context, ollamaEmbeddingsSchema, embeddingsOperation, NO_OPTIONS);
  app.post<{ Body: OllamaEmbeddingsRequest }>(EMBEDDINGS_URL, settingsOfOne, embedOne);
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** Without any text it only loads the model, as in Ollama. `field`: where the text came from, for errors. */
async function embedTexts(
  engine: Engine,
  { input, truncate = true, dimensions }: OllamaEmbedRequest,
  field: string,
  signal: AbortSignal,
): Promise<{ vectors: number[][]; promptTokens: number }> {
  const texts = input === undefined || input === '' ? [] : [input].flat();
  if (texts.length === 0) return { vectors: [], promptTokens: 0 };
  const inputs = truncate ? await shortenTexts(engine, texts, { signal }) : texts;
  // Errors about a text that came alone name the field, not its place in a list.
  const alone = typeof input === 'string' ? inputs[0] : undefined;
  const asked = { model: engine.model.id, input: alone ?? inputs, ...(dimensions !== undefined && { dimensions }) };
  const { data, usage } = await toEmbeddings(engine, asked, signal, field);
  return { vectors: Array.from(data, ({ embedding }) => embedding as number[]), promptTokens: usage.prompt_tokens };
}

const embedOperation: Operation = {
  ...OLLAMA,
  id: 'ollamaEmbed',
  summary: 'Embeddings of texts (Ollama).',
  errors: MODEL_ERRORS,
  reply: { json: { name: 'OllamaEmbeddings', schema: ollamaEmbedReplySchema } },
  examples: (model) => ({
    two: {
      summary: 'Two texts',
      request: { model, input: ['Hello!', 'Good morning'] },
      reply: {
        model,
        total_duration: 12_000_000,
        load_duration: 1_000_000,
        prompt_eval_count: 7,
        embeddings: [
          [1, 0],
          [0, 1],
        ],
      },
    },
  }),
};

const embeddingsOperation: Operation = {
  ...OLLAMA,
  id: 'ollamaEmbedOne',
  summary: 'Embedding of one text (older versions of Ollama).',
  errors: MODEL_ERRORS,
  reply: { json: { name: 'OllamaEmbedding', schema: ollamaEmbeddingsReplySchema } },
  examples: (model) => ({
    one: { summary: 'A greeting', request: { model, prompt: 'Hello!' }, reply: { embedding: [1, 0] } },
  }),
};
