/** LM Studio's own endpoints: lists of models, and completions with its additional fields. */
import type { FastifyInstance } from 'fastify';
import type { Example, Operation } from '../../http/openapi/operation.js';
import { findEntry, modelNotFound } from '../../models/pool.js';
import type { AppContext } from '../context.js';
import { chatCompletionsOperation, chatCompletionsRoute } from '../openai/chat/handler.js';
import { completionsOperation, completionsRoute } from '../openai/completions/handler.js';
import { embeddingsOperation, embeddingsRoute } from '../openai/embeddings/handler.js';
import type { ExtendedEndpoint } from '../shared/completion/completion-extension.js';
import { CompletionStats } from './completion-stats.js';
import { toKeyedModel, toLmStudioModel } from './reply.js';
import {
  type LmStudioExtras,
  type LmStudioKeyedModels,
  type LmStudioModel,
  type LmStudioModels,
  lmStudioChatSchema,
  lmStudioChunkSchema,
  lmStudioKeyedModelsSchema,
  lmStudioModelSchema,
  lmStudioModelsSchema,
  lmStudioTextChunkSchema,
  lmStudioTextSchema,
} from './schema.js';

const MODELS_URL = '/api/v0/models';

export function lmStudioRoutes(app: FastifyInstance, context: AppContext): void {
  const { pool } = context;
  app.get(MODELS_URL, { config: { operation: listOperation } }, async (): Promise<LmStudioModels> => {
    return { object: 'list', data: pool.list().map(toLmStudioModel) };
  });
  const one = { config: { operation: retrieveOperation } };
  app.get<{ Params: { '*': string } }>(`${MODELS_URL}/*`, one, async ({ params }): Promise<LmStudioModel> => {
    const entries = pool.list();
    const entry = findEntry(entries, params['*']);
    if (entry === undefined) throw modelNotFound(params['*'], entries, null);
    return toLmStudioModel(entry);
  });
  app.get('/api/v1/models', { config: { operation: keyedOperation } }, async (): Promise<LmStudioKeyedModels> => {
    return { models: pool.list().map(toKeyedModel) };
  });
  chatCompletionsRoute(app, context, chatEndpoint);
  completionsRoute(app, context, textEndpoint);
  embeddingsRoute(app, context, '/api/v0/embeddings', embedOperation);
}

const extras: LmStudioExtras = {
  stats: { tokens_per_second: 80.5, time_to_first_token: 0.05, generation_time: 0.12, stop_reason: 'eosFound' },
  model_info: { arch: 'llama', quant: 'Q8_0', format: 'gguf', context_length: 4096 },
  runtime: { name: 'chasqui', version: '1.0.0', supported_formats: ['gguf'] },
};

const WITH_STATS =
  "LM Studio's `stats`, `model_info` and `runtime`; in a stream they are in the last chunk of a choice.";

/** Adds LM Studio's fields to examples that end a choice. */
function withExtras({ examples }: Operation): NonNullable<Operation['examples']> {
  return (model) =>
    Object.fromEntries(
      Object.entries(examples?.(model) ?? {}).map(([key, example]): [string, Example] => {
        const reply = example.reply as { choices: readonly { finish_reason: string | null }[] };
        const ends = reply.choices.some(({ finish_reason: reason }) => reason !== null);
        return [key, ends ? { ...example, reply: { ...reply, ...extras } } : example];
      }),
    );
}

/** An endpoint of OpenAI at another path, with LM Studio's fields in its replies. */
function withStats(url: string, operation: Operation): ExtendedEndpoint {
  const extension: ExtendedEndpoint['extension'] = (model, streams) => new CompletionStats(model, streams);
  return { url, extension, operation: { ...operation, tag: 'LM Studio', examples: withExtras(operation) } };
}

const chatEndpoint = withStats('/api/v0/chat/completions', {
  ...chatCompletionsOperation,
  id: 'lmStudioChat',
  summary: `Chat completion with ${WITH_STATS}`,
  reply: {
    json: { name: 'LmStudioChatCompletion', schema: lmStudioChatSchema },
    event: { name: 'LmStudioChatCompletionChunk', schema: lmStudioChunkSchema },
  },
});

const textEndpoint = withStats('/api/v0/completions', {
  ...completionsOperation,
  id: 'lmStudioCompletion',
  summary: `Text completion with ${WITH_STATS}`,
  reply: {
    json: { name: 'LmStudioCompletion', schema: lmStudioTextSchema },
    event: { name: 'LmStudioCompletionChunk', schema: lmStudioTextChunkSchema },
  },
});

const embedOperation: Operation = {
  ...embeddingsOperation,
  id: 'lmStudioEmbeddings',
  tag: 'LM Studio',
  summary: 'Embeddings of texts, same as `/v1/embeddings`.',
};

const exampleModel = (id: string): LmStudioModel => ({
  id,
  object: 'model',
  publisher: '',
  compatibility_type: 'gguf',
  state: 'loaded',
  type: 'llm',
  arch: 'llama',
  quantization: 'Q8_0',
  max_context_length: 4096,
  loaded_context_length: 4096,
  capabilities: ['tool_use'],
});

const listOperation: Operation = {
  id: 'lmStudioModels',
  tag: 'LM Studio',
  summary: 'List of models (LM Studio).',
  reply: { json: { name: 'LmStudioModels', schema: lmStudioModelsSchema } },
  examples: (model) => ({ list: { summary: 'One model', reply: { object: 'list', data: [exampleModel(model)] } } }),
};

const retrieveOperation: Operation = {
  id: 'lmStudioModel',
  tag: 'LM Studio',
  summary: 'One model (LM Studio).',
  parameters: { id: 'The id; its slashes may be percent-encoded or not.' },
  errors: ['model_not_found'],
  reply: { json: { name: 'LmStudioModel', schema: lmStudioModelSchema } },
  examples: (model) => ({ model: { summary: 'The model', reply: exampleModel(model) } }),
};

const keyedOperation: Operation = {
  id: 'lmStudioKeyedModels',
  tag: 'LM Studio',
  summary: 'List of models (newer API of LM Studio).',
  reply: { json: { name: 'LmStudioKeyedModels', schema: lmStudioKeyedModelsSchema } },
  examples: (model) => ({
    list: {
      summary: 'One model',
      reply: {
        models: [
          {
            type: 'llm',
            publisher: '',
            key: model,
            display_name: model,
            architecture: 'llama',
            quantization: { name: 'Q8_0', bits_per_weight: 8.5 },
            size_bytes: 1_700_000,
            params_string: '1.6M',
            loaded_instances: [{ id: model, config: { context_length: 4096 } }],
            max_context_length: 4096,
            format: 'gguf',
            capabilities: { vision: false, audio: false, trained_for_tool_use: true },
            description: null,
          },
        ],
      },
    },
  }),
};
