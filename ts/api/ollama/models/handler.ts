/** Ollama's endpoints that list models. */
import type { FastifyInstance } from 'fastify';
import { ChasquiError } from '../../../errors.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute } from '../../../http/read-fields.js';
import { findEntry, modelNotFound, withTag } from '../../../models/pool.js';
import { VERSION } from '../../../version.js';
import type { AppContext } from '../../context.js';
import { OLLAMA, ollamaErrors } from '../ollama-settings.js';
import {
  type OllamaModel,
  type OllamaRunning,
  type OllamaShowRequest,
  type OllamaTags,
  type OllamaVersion,
  ollamaModelSchema,
  ollamaRunningSchema,
  ollamaShowSchema,
  ollamaTagsSchema,
  ollamaVersionSchema,
} from '../schema.js';
import { toModel, toRunning, toTags } from './reply.js';

/** The compatible version of Ollama. Clients query it and refuse old versions. */
const OLLAMA_VERSION = '0.12.11';

export function ollamaModelRoutes(app: FastifyInstance, context: AppContext): void {
  const { pool } = context;
  const errors = ollamaErrors(context);
  const route = (operation: Operation) => ({ ...errors, config: { operation } });
  app.get('/api/tags', route(tagsOperation), async (): Promise<OllamaTags> => toTags(pool.list()));
  app.get('/api/ps', route(runningOperation), async (): Promise<OllamaRunning> => toRunning(pool.list()));
  app.get('/api/version', route(versionOperation), async (): Promise<OllamaVersion> => {
    return { version: OLLAMA_VERSION, chasqui: VERSION };
  });

  const show = { ...bodyRoute(context, ollamaShowSchema, showOperation), ...errors };
  app.post<{ Body: OllamaShowRequest }>('/api/show', show, async ({ body }): Promise<OllamaModel> => {
    const { name, model = name } = body;
    if (model === undefined) {
      throw new ChasquiError('missing_required_parameter', 'Missing required parameter: `model`.', 'model');
    }
    const entries = pool.list();
    const entry = findEntry(entries, model);
    if (entry === undefined) throw modelNotFound(model, entries, 'model');
    return toModel(entry);
  });
}

const details = {
  parent_model: '',
  format: 'gguf',
  family: 'llama',
  families: ['llama'],
  parameter_size: '1.6M',
  quantization_level: 'Q8_0',
};
const modified_at = '2026-09-21T12:00:00.000Z';

const listed = (id: string) => {
  const name = withTag(id);
  const digest = '0f343b0931126a20f133d67c2b018a3b0f343b0931126a20f133d67c2b018a3b';
  return { name, model: name, size: 1_700_000, digest, details };
};

const tagsOperation: Operation = {
  ...OLLAMA,
  id: 'ollamaTags',
  summary: 'List of models (Ollama).',
  reply: { json: { name: 'OllamaTags', schema: ollamaTagsSchema } },
  examples: (model) => ({
    list: { summary: 'One model', reply: { models: [{ ...listed(model), modified_at }] } },
  }),
};

const runningOperation: Operation = {
  ...OLLAMA,
  id: 'ollamaRunning',
  summary: 'List of loaded models (Ollama).',
  reply: { json: { name: 'OllamaRunning', schema: ollamaRunningSchema } },
  examples: (model) => ({
    list: {
      summary: 'One model',
      reply: {
        models: [{ ...listed(model), size_vram: 0, expires_at: '9999-12-31T23:59:59.000Z', context_length: 4096 }],
      },
    },
  }),
};

const versionOperation: Operation = {
  ...OLLAMA,
  id: 'ollamaVersion',
  summary: 'Compatible version of Ollama.',
  reply: { json: { name: 'OllamaVersion', schema: ollamaVersionSchema } },
  examples: () => ({ version: { summary: 'The versions', reply: { version: OLLAMA_VERSION, chasqui: VERSION } } }),
};

const showOperation: Operation = {
  ...OLLAMA,
  id: 'ollamaShow',
  summary: 'Details of a model (Ollama).',
  errors: ['model_not_found'],
  reply: { json: { name: 'OllamaModel', schema: ollamaModelSchema } },
  examples: (model) => ({
    model: {
      summary: 'By its name',
      request: { model },
      reply: {
        details,
        model_info: {
          'general.architecture': 'llama',
          'general.parameter_count': 1_600_000,
          'llama.context_length': 4096,
          'llama.embedding_length': 128,
          'llama.vocab_size': 1024,
        },
        capabilities: ['completion', 'tools'],
        modified_at,
      },
    },
  }),
};
