/** Facts about a model, formatted for lists of models. */
import type { ModelInfo } from '../engine/engine.js';

/** llama.cpp's description of a model begins with the architecture. */
export function architectureOf({ description }: Pick<ModelInfo, 'description'>): string {
  return description.split(' ', 1)[0] ?? '';
}

/** `Q4_K_M` for what llama.cpp calls `Q4_K - Medium`. */
export function quantisationOf({ quantization }: Pick<ModelInfo, 'quantization'>): string {
  const said = quantization.replace(/^\([a-z]+\) /, '').replace(/^all /, '');
  const [, kind, size] = /^(\S+) - (Small|Medium|Large)$/.exec(said) ?? [];
  return kind === undefined ? (said.split(' ', 1)[0] ?? '') : `${kind}_${size?.[0]}`;
}

const UNITS = [
  [1e12, 'T'],
  [1e9, 'B'],
  [1e6, 'M'],
  [1e3, 'K'],
] as const;

/** `7.2B` */
export function parametersOf({ parameterCount }: Pick<ModelInfo, 'parameterCount'>): string {
  const [unit, letter] = UNITS.find(([each]) => parameterCount >= each) ?? [1, ''];
  return `${Number((parameterCount / unit).toFixed(1))}${letter}`;
}

/** Models that do not generate have only the context of one text to embed. */
export function contextLengthOf(model: ModelInfo): number {
  return model.generates ? model.contextLength : model.embeddingContextLength;
}
