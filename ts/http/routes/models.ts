/** The models that are served. Ids may hold slashes (`org/name`), plain or percent-encoded. */
import type { FastifyInstance } from 'fastify';
import type { ModelInfo } from '../../engine/engine.js';
import { type ModelEntry, modelNotFound } from '../../models/pool.js';
import {
  type ListedModel,
  type ModelAction,
  type ModelActionReply,
  type ModelList,
  type ModelLoad,
  modelActionSchema,
  modelLoadSchema,
} from '../../schemas/models.js';
import type { AppContext } from '../context.js';
import { readFields } from '../read-fields.js';

export function modelsRoutes(app: FastifyInstance, { pool, profile, options }: AppContext): void {
  const list = async (): Promise<ModelList> => ({ object: 'list', data: pool.list().map(toListedModel) });
  app.get('/v1/models', list);
  // llama-server's address of the same list.
  app.get('/models', list);

  app.get<{ Params: { '*': string } }>('/v1/models/*', async (request): Promise<ListedModel> => {
    const id = request.params['*'];
    const entries = pool.list();
    const entry = entries.find((each) => each.id === id);
    if (entry === undefined) throw modelNotFound(id, entries, null);
    return toListedModel(entry);
  });

  const settingsFor = (schema: typeof modelActionSchema) => ({
    schema: { body: schema },
    preValidation: readFields(profile, options.strict, Object.keys(schema.properties ?? {})),
  });
  const loading = settingsFor(modelLoadSchema);
  app.post<{ Body: ModelLoad }>('/models/load', loading, async ({ body }): Promise<ModelActionReply> => {
    pool.load(body.model, { pin: body.pin });
    return { success: true };
  });
  const unloading = settingsFor(modelActionSchema);
  app.post<{ Body: ModelAction }>('/models/unload', unloading, async ({ body }): Promise<ModelActionReply> => {
    pool.unload(body.model);
    return { success: true };
  });
}

function toListedModel(entry: ModelEntry): ListedModel {
  const { id, parent, created, sizeBytes, engine } = entry;
  return {
    id,
    object: 'model',
    created,
    owned_by: 'chasqui',
    ...(parent !== null && { parent }),
    status: toStatus(entry),
    ...(sizeBytes !== null && { size: sizeBytes }),
    ...(engine !== null && toDetails(engine.model)),
  };
}

function toStatus(entry: ModelEntry): ListedModel['status'] {
  const { status, progress, reason, pid, memoryBytes, running, waiting, expiresAt, pinned } = entry;
  return {
    value: status,
    ...(progress !== null && { progress }),
    ...(reason !== null && { reason }),
    ...(pid !== null && { pid }),
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

/** The only context of a model that does not generate is that of one text to embed. */
function contextLengthOf(model: ModelInfo): number {
  return model.generates ? model.contextLength : model.embeddingContextLength;
}

function outputOf(model: ModelInfo): string {
  if (model.generates) return 'text';
  return model.pooling === 'rank' ? 'scores' : 'embeddings';
}

function capabilitiesOf(model: ModelInfo): string[] {
  const generating = ['completion', 'chat', ...(model.infills ? ['infill'] : [])];
  return [...(model.generates ? generating : []), model.pooling === 'rank' ? 'rerank' : 'embeddings'];
}
