/** The models that are served. Ids may hold slashes (`org/name`), plain or percent-encoded. */
import type { FastifyInstance } from 'fastify';
import type { ModelInfo } from '../../engine/engine.js';
import { type ModelEntry, modelNotFound } from '../../models/pool.js';
import type { ListedModel, ModelList } from '../../schemas/models.js';
import type { AppContext } from '../context.js';

export function modelsRoutes(app: FastifyInstance, { pool }: AppContext): void {
  app.get('/v1/models', async (): Promise<ModelList> => ({ object: 'list', data: pool.list().map(toListedModel) }));

  app.get<{ Params: { '*': string } }>('/v1/models/*', async (request): Promise<ListedModel> => {
    const id = request.params['*'];
    const entries = pool.list();
    const entry = entries.find((each) => each.id === id);
    if (entry === undefined) throw modelNotFound(id, entries, null);
    return toListedModel(entry);
  });
}

function toListedModel({ id, created, status, progress, sizeBytes, reason, engine }: ModelEntry): ListedModel {
  return {
    id,
    object: 'model',
    created,
    owned_by: 'chasqui',
    status: { value: status, ...(progress !== null && { progress }), ...(reason !== null && { reason }) },
    ...(sizeBytes !== null && { size: sizeBytes }),
    ...(engine !== null && toDetails(engine.model)),
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
