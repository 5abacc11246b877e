import {
  listedModelSchema,
  modelActionReplySchema,
  modelEventSchema,
  modelListSchema,
} from '../../../schemas/models.js';
import type { Operation } from '../operation.js';

const entry = (model: string) => ({
  id: model,
  object: 'model',
  created: 1_790_000_000,
  owned_by: 'chasqui',
  status: { value: 'loaded', pid: 4711, memory: 120_000_000 },
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

export const listModelsToo: Operation = {
  ...listModels,
  id: 'listModelsToo',
  summary: "The same at llama-server's address.",
};

export const modelEvents: Operation = {
  id: 'modelEvents',
  tag: 'Models',
  summary: 'What becomes of the models, as a stream of events: the state of each, then each change of one.',
  description: 'The stream ends with the server. A client that does not read is cut off.',
  reply: { event: { name: 'ModelEvent', schema: modelEventSchema } },
  examples: (model) => ({
    loaded: { summary: 'A model is there', reply: { model, event: 'model_status', data: { status: 'loaded' } } },
  }),
};

export const retrieveModel: Operation = {
  id: 'retrieveModel',
  tag: 'Models',
  summary: 'The same by its id.',
  idDescription: 'The id; its slashes may be percent-encoded or not.',
  reply: { json: { name: 'Model', schema: listedModelSchema } },
  examples: (model) => ({ model: { summary: 'The model', reply: entry(model) } }),
};

const action = (model: string) => ({ model: { summary: 'By its id', request: { model }, reply: { success: true } } });

export const loadModel: Operation = {
  id: 'loadModel',
  tag: 'Models',
  summary: 'Have a model loaded, as soon as there is room for it; the list of models says how that goes on.',
  requestName: 'LoadRequest',
  fields: {
    model: 'The id of the model.',
    pin: 'Whether it stays from now on, however long nobody uses it and whoever else needs room.',
  },
  reply: { json: { name: 'LoadReply', schema: modelActionReplySchema } },
  examples: action,
};

export const unloadModel: Operation = {
  id: 'unloadModel',
  tag: 'Models',
  summary: 'Have a model unloaded, as soon as no request uses it.',
  requestName: 'UnloadRequest',
  fields: { model: 'The id of the model.' },
  reply: { json: { name: 'UnloadReply', schema: modelActionReplySchema } },
  examples: action,
};
