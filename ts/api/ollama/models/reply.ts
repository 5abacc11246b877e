/** Converts the models of a server to Ollama's lists. */
import { createHash } from 'node:crypto';
import type { ModelInfo } from '../../../engine/engine.js';
import { architectureOf, contextLengthOf, parametersOf, quantisationOf } from '../../../models/model-facts.js';
import { type ModelEntry, withTag } from '../../../models/pool.js';
import type { OllamaDetails, OllamaModel, OllamaRunning, OllamaTags } from '../schema.js';

/** The latest year that replies can express; means "never". */
const NEVER = '9999-12-31T23:59:59.000Z';

export function toTags(entries: readonly ModelEntry[]): OllamaTags {
  return { models: entries.map((entry) => ({ ...toListed(entry), modified_at: toDate(entry.created) })) };
}

/** Those that are loaded. */
export function toRunning(entries: readonly ModelEntry[]): OllamaRunning {
  return {
    models: entries.flatMap((entry) => {
      if (entry.engine === null) return [];
      const { model } = entry.engine;
      const { placement } = model;
      const size = Math.round(entry.memoryBytes ?? model.sizeBytes);
      const share = placement.devices.length === 0 ? 0 : placement.gpuLayers / placement.layers;
      return {
        ...toListed(entry),
        size,
        size_vram: Math.round(size * Math.min(share, 1)),
        expires_at: entry.expiresAt === null ? NEVER : toDate(entry.expiresAt),
        context_length: contextLengthOf(model),
      };
    }),
  };
}

export function toModel({ created, engine }: ModelEntry): OllamaModel {
  return {
    details: toDetails(engine?.model ?? null),
    model_info: engine === null ? {} : toModelInfo(engine.model),
    capabilities: engine === null ? [] : capabilitiesOf(engine.model),
    modified_at: toDate(created),
  };
}

function toListed({ id, sizeBytes, engine }: ModelEntry): Omit<OllamaTags['models'][number], 'modified_at'> {
  const size = engine?.model.sizeBytes ?? sizeBytes ?? 0;
  const name = withTag(id);
  const digest = createHash('sha256')
    .update(`${id}\n${sizeBytes ?? size}`)
    .digest('hex');
  return { name, model: name, size, digest, details: toDetails(engine?.model ?? null) };
}

function toDetails(model: ModelInfo | null): OllamaDetails {
  const family = model === null ? '' : architectureOf(model);
  return {
    parent_model: '',
    format: 'gguf',
    family,
    families: family === '' ? [] : [family],
    parameter_size: model === null ? '' : parametersOf(model),
    quantization_level: model === null ? '' : quantisationOf(model),
  };
}

function toModelInfo(model: ModelInfo): Record<string, unknown> {
  const architecture = architectureOf(model);
  return {
    'general.architecture': architecture,
    'general.parameter_count': model.parameterCount,
    [`${architecture}.context_length`]: model.trainedContextLength,
    [`${architecture}.embedding_length`]: model.vectorLength,
    [`${architecture}.vocab_size`]: model.vocabularySize,
  };
}

function capabilitiesOf(model: ModelInfo): OllamaModel['capabilities'] {
  if (!model.generates) return ['embedding'];
  const { takesTools, infills, vision, audioSampleRate, reasons } = model;
  return [
    'completion',
    ...(takesTools ? (['tools'] as const) : []),
    ...(infills ? (['insert'] as const) : []),
    ...(vision ? (['vision'] as const) : []),
    ...(audioSampleRate > 0 ? (['audio'] as const) : []),
    ...(reasons ? (['thinking'] as const) : []),
  ];
}

function toDate(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString();
}
