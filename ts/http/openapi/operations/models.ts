import { listedModelSchema, modelListSchema } from '../../../schemas/models.js';
import type { Operation } from '../operation.js';

const entry = (model: string) => ({
  id: model,
  object: 'model',
  created: 1_790_000_000,
  owned_by: 'chasqui',
  status: { value: 'loaded' },
  context_length: 4096,
  input_modalities: ['text'],
  output_modalities: ['text'],
  capabilities: ['completion', 'chat', 'embeddings'],
  quantization: 'Q8_0',
  size: 1_700_000,
  meta: {
    vocab_type: 2,
    n_vocab: 1024,
    n_ctx: 4096,
    n_ctx_train: 4096,
    n_embd: 128,
    n_params: 1_600_000,
    size: 1_700_000,
    ftype: 'Q8_0',
    pooling: 'mean',
  },
});

export const listModels: Operation = {
  id: 'listModels',
  tag: 'Models',
  summary: 'The model that is served.',
  reply: { json: { name: 'ModelList', schema: modelListSchema } },
  examples: (model) => ({ list: { summary: 'One model', reply: { object: 'list', data: [entry(model)] } } }),
};

export const retrieveModel: Operation = {
  id: 'retrieveModel',
  tag: 'Models',
  summary: 'The same by its id.',
  idDescription: 'The id; its slashes may be percent-encoded or not.',
  reply: { json: { name: 'Model', schema: listedModelSchema } },
  examples: (model) => ({ model: { summary: 'The model', reply: entry(model) } }),
};
