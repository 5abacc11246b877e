/** Converts the models of a server to LM Studio's lists. */
import type { ModelInfo } from '../../engine/engine.js';
import { usualBits } from '../../hub/quantisation-advice.js';
import { architectureOf, contextLengthOf, parametersOf, quantisationOf } from '../../models/model-facts.js';
import type { ModelEntry } from '../../models/pool.js';
import type { LmStudioKeyedModels, LmStudioModel } from './schema.js';

export function toLmStudioModel({ id, engine }: ModelEntry): LmStudioModel {
  return {
    id,
    object: 'model',
    publisher: publisherOf(id),
    compatibility_type: 'gguf',
    state: engine === null ? 'not-loaded' : 'loaded',
    ...(engine !== null && toDetails(engine.model)),
  };
}

function toDetails(model: ModelInfo): Partial<LmStudioModel> {
  return {
    type: model.generates ? (model.vision ? 'vlm' : 'llm') : 'embeddings',
    arch: architectureOf(model),
    quantization: quantisationOf(model),
    max_context_length: model.trainedContextLength,
    loaded_context_length: contextLengthOf(model),
    capabilities: model.takesTools ? ['tool_use'] : [],
  };
}

export function toKeyedModel({ id, sizeBytes, engine }: ModelEntry): LmStudioKeyedModels['models'][number] {
  const model = engine?.model ?? null;
  return {
    type: model?.generates === false ? 'embedding' : 'llm',
    publisher: publisherOf(id),
    key: id,
    display_name: id.split('/').at(-1) ?? id,
    architecture: model && architectureOf(model),
    quantization: model && toQuantization(model),
    size_bytes: model?.sizeBytes ?? sizeBytes,
    params_string: model && parametersOf(model),
    loaded_instances: model === null ? [] : [{ id, config: { context_length: contextLengthOf(model) } }],
    max_context_length: model?.trainedContextLength ?? null,
    format: 'gguf',
    capabilities: {
      vision: model?.vision ?? false,
      audio: (model?.audioSampleRate ?? 0) > 0,
      trained_for_tool_use: model?.takesTools ?? false,
    },
    description: null,
  };
}

function toQuantization(model: ModelInfo): { name: string; bits_per_weight: number | null } {
  const name = quantisationOf(model);
  return { name, bits_per_weight: usualBits(name) };
}

/** Empty if the id has no publisher. */
function publisherOf(id: string): string {
  return id.includes('/') ? (id.split('/', 1)[0] ?? '') : '';
}
