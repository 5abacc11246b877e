/** The model that is served. Ids may hold slashes (`org/name`), plain or percent-encoded. */
import type { FastifyInstance } from 'fastify';
import type { ModelInfo } from '../../engine/engine.js';
import type { ModelEntry, ModelList } from '../../schemas/models.js';
import type { AppContext } from '../context.js';
import { unknownModel } from '../model-name.js';

export function modelsRoutes(app: FastifyInstance, { engine }: AppContext): void {
  app.get('/v1/models', async (): Promise<ModelList> => ({ object: 'list', data: [toModelEntry(engine.model)] }));

  app.get<{ Params: { '*': string } }>('/v1/models/*', async (request): Promise<ModelEntry> => {
    const id = request.params['*'];
    if (id !== engine.model.id) throw unknownModel(id, engine.model);
    return toModelEntry(engine.model);
  });
}

function toModelEntry(model: ModelInfo): ModelEntry {
  return {
    id: model.id,
    object: 'model',
    created: model.created,
    owned_by: 'chasqui',
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
