/** The list of models. Ids may contain slashes (`org/name`), plain or percent-encoded. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ModelInfo } from '../../../engine/engine.js';
import { ChasquiError } from '../../../errors.js';
import { errorBodySchema } from '../../../http/error-body.js';
import { isFromThisMachine } from '../../../http/guards/guard-requests.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute } from '../../../http/read-fields.js';
import { anyOf } from '../../../http/schema/json-schema.js';
import { contextLengthOf } from '../../../models/model-facts.js';
import { findEntry, type ModelEntry, modelNotFound } from '../../../models/pool.js';
import type { AppContext } from '../../context.js';
import { anthropicErrorSchema } from '../../shared/anthropic-error-schema.js';
import { anthropicRoute } from '../../shared/anthropic-errors.js';
import type { RunningDownload } from '../../shared/client-downloads.js';
import { type ModelActionReply, modelActionReplySchema } from '../../shared/model-action-schema.js';
import { type PageQuery, toAnthropicList, toAnthropicModel } from './anthropic-list.js';
import {
  type AnthropicModel,
  type AnthropicModelList,
  anthropicModelListSchema,
  anthropicModelSchema,
  type ListedModel,
  listedModelSchema,
  type ModelList,
  type ModelLoad,
  type ModelUnload,
  modelListSchema,
  modelLoadSchema,
  modelUnloadSchema,
  type NativeModel,
} from './schema.js';

export function modelsRoutes(app: FastifyInstance, context: AppContext): void {
  const { pool, profile, downloads } = context;
  const common = anthropicRoute(context.options, isAnthropics);
  const listing = { ...common, config: { operation: listModels } };
  app.get<{ Querystring: PageQuery }>(
    '/v1/models',
    listing,
    async (request): Promise<ModelList | AnthropicModelList> => {
      if (isAnthropics(request)) return toAnthropicList(pool.list(), request.query);
      const entries = pool.list();
      const models = profile.hasLocalEndpoints && { models: entries.flatMap(toNativeModel) };
      const downloading = (downloads?.list() ?? []).filter(({ model }) => findEntry(entries, model) === undefined);
      return { object: 'list', data: [...entries.map(toListedModel), ...downloading.map(toDownloading)], ...models };
    },
  );

  const one = { ...common, config: { operation: retrieveModel } };
  app.get<{ Params: { '*': string } }>('/v1/models/*', one, async (request): Promise<ListedModel | AnthropicModel> => {
    const id = request.params['*'];
    const entries = pool.list();
    const entry = findEntry(entries, id);
    if (entry === undefined) throw modelNotFound(id, entries, null);
    return isAnthropics(request) ? toAnthropicModel(entry) : toListedModel(entry);
  });

  const load = bodyRoute(context, modelLoadSchema, loadModel);
  app.post<{ Body: ModelLoad }>('/models/load', load, async ({ body }): Promise<ModelActionReply> => {
    pool.load(body.model, { pin: body.pin });
    return { success: true };
  });
  const unload = bodyRoute(context, modelUnloadSchema, unloadModel);
  app.post<{ Body: ModelUnload }>('/models/unload', unload, async (request): Promise<ModelActionReply> => {
    const { model, force } = request.body;
    if (downloads?.pause(model)) return { success: true };
    if (force && !context.asksForKeys && !isFromThisMachine(request)) throw mayNotForce();
    pool.unload(model, { force });
    return { success: true };
  });
}

/** `force` ends the requests of other clients, so it needs a key or a request from the same machine. */
function mayNotForce(): ChasquiError {
  return new ChasquiError(
    'permission_denied',
    '`force` ends the requests of other clients. This server has no API keys, so it accepts `force` only from the same ' +
      'machine, not through a proxy. Send the request there, or omit `force`.',
    'force',
  );
}

/** Anthropic's clients send this header with every request. OpenAI's list has the same path. */
function isAnthropics({ headers }: FastifyRequest): boolean {
  return headers['anthropic-version'] !== undefined;
}

function toListedModel(entry: ModelEntry): ListedModel {
  const { id, aliases, tags, parent, created, sizeBytes, engine } = entry;
  return {
    id,
    object: 'model',
    created,
    owned_by: 'chasqui',
    // As in llama-server, with the id.
    ...(aliases.length > 0 && { aliases: [id, ...aliases] }),
    ...(tags !== undefined && { tags }),
    ...(parent !== null && { parent }),
    status: toStatus(entry),
    ...(sizeBytes !== null && { size: sizeBytes }),
    ...(engine !== null && toDetails(engine.model)),
  };
}

function toDownloading({ model, progress, created }: RunningDownload): ListedModel {
  return { id: model, object: 'model', created, owned_by: 'chasqui', status: { value: 'downloading', progress } };
}

/** The entry of a loaded model in the form of llama-server. */
function toNativeModel({ id, engine }: ModelEntry): NativeModel[] {
  if (engine === null) return [];
  const { inputModalities, quantization } = engine.model;
  const capabilities = [...capabilitiesOf(engine.model), ...(inputModalities.length > 1 ? ['multimodal'] : [])];
  const details = { format: 'gguf' as const, quantization_level: quantization };
  return [{ name: id, model: id, type: 'model', capabilities, details }];
}

function toStatus(entry: ModelEntry): ListedModel['status'] {
  const { status, progress, reason, pid, preparationPid, memoryBytes, running, waiting, expiresAt, pinned } = entry;
  return {
    value: status,
    ...(progress !== null && { progress }),
    ...(reason !== null && { reason }),
    ...(pid !== null && { pid }),
    ...(preparationPid !== null && { preparation_pid: preparationPid }),
    ...(memoryBytes !== null && { memory: Math.round(memoryBytes) }),
    ...(running > 0 && { running }),
    ...(waiting > 0 && { queued: waiting }),
    ...(expiresAt !== null && { expires_at: expiresAt }),
    ...(pinned && { pinned }),
  };
}

function toDetails(model: ModelInfo): Partial<ListedModel> {
  return {
    context_length: contextLengthOf(model),
    input_modalities: model.inputModalities,
    output_modalities: [outputOf(model)],
    capabilities: capabilitiesOf(model),
    quantization: model.quantization,
    size: model.sizeBytes,
    meta: {
      vocab_type: model.vocabularyType,
      n_vocab: model.vocabularySize,
      n_ctx: contextLengthOf(model),
      n_ctx_train: model.trainedContextLength,
      n_embd: model.vectorLength,
      n_params: model.parameterCount,
      size: model.sizeBytes,
      ftype: model.quantization,
      pooling: model.pooling,
    },
  };
}

function outputOf(model: ModelInfo): string {
  if (model.generates) return 'text';
  return model.pooling === 'rank' ? 'scores' : 'embeddings';
}

function capabilitiesOf(model: ModelInfo): string[] {
  const generating = ['completion', 'chat', ...(model.infills ? ['infill'] : [])];
  return [...(model.generates ? generating : []), model.pooling === 'rank' ? 'rerank' : 'embeddings'];
}

const exampleModel = (id: string): ListedModel => ({
  id,
  object: 'model',
  created: 1_790_000_000,
  owned_by: 'chasqui',
  status: { value: 'loaded', pid: 4711, preparation_pid: 4710, memory: 120_000_000 },
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

const errorBody: Operation['errorBody'] = (types, codes) =>
  anyOf(errorBodySchema(types, codes), anthropicErrorSchema(types, codes));

const listModels: Operation = {
  id: 'listModels',
  tag: 'Models',
  summary: 'List of models: status, context length, quantisation, modalities, size, capabilities.',
  description:
    "With the header `anthropic-version`: pages in Anthropic's form, selected by `limit`, `after_id` and `before_id`.",
  errors: ['invalid_value'],
  errorBody,
  reply: { json: { name: 'ModelList', schema: anyOf(modelListSchema, anthropicModelListSchema) } },
  examples: (model) => {
    const details = { format: 'gguf', quantization_level: 'Q8_0' };
    const capabilities = ['completion', 'chat', 'embeddings'];
    const models = [{ name: model, model, type: 'model', capabilities, details }];
    return { list: { summary: 'One model', reply: { object: 'list', data: [exampleModel(model)], models } } };
  },
};

const retrieveModel: Operation = {
  id: 'retrieveModel',
  tag: 'Models',
  summary: 'One model.',
  parameters: { id: 'The id; its slashes may be percent-encoded or not.' },
  errors: ['model_not_found'],
  errorBody,
  reply: { json: { name: 'Model', schema: anyOf(listedModelSchema, anthropicModelSchema) } },
  examples: (model) => ({ model: { summary: 'The model', reply: exampleModel(model) } }),
};

const actionExamples: Operation['examples'] = (model) => ({
  model: { summary: 'By its id', request: { model }, reply: { success: true } },
});

const loadModel: Operation = {
  id: 'loadModel',
  tag: 'Models',
  summary: 'Loads a model as soon as memory permits. The list of models shows the progress.',
  requestName: 'LoadRequest',
  errors: ['model_not_found', 'model_loading'],
  reply: { json: { name: 'LoadReply', schema: modelActionReplySchema } },
  examples: actionExamples,
};

const unloadModel: Operation = {
  id: 'unloadModel',
  tag: 'Models',
  summary: 'Unloads a model once no request uses it, or immediately with `"force": true`.',
  requestName: 'UnloadRequest',
  errors: ['model_not_found', 'model_loading', 'permission_denied', 'unsupported_parameter'],
  reply: { json: { name: 'UnloadReply', schema: modelActionReplySchema } },
  examples: actionExamples,
};
