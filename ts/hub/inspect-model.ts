/** Facts of a model file, from its header. */
import { existsSync } from 'node:fs';
import { findProjector } from '../engine/find-projector.js';
import { readGgufFile } from '../engine/gguf-header.js';
import { partsOf, sizeOfModel } from '../engine/model-files.js';
import { ChasquiError } from '../errors.js';
import type { Capability } from './hub-types.js';
import { describeHeader, encodersIn } from './library.js';
import { labelOf } from './quantisations.js';

/** `null`: the file does not say. */
export interface ModelFacts {
  path: string;
  name: string | null;
  architecture: string | null;
  /** `null` for split models too. */
  parameters: number | null;
  quantization: string | null;
  /** Context that the model was trained with, in tokens. */
  contextLength: number | null;
  /** All parts, without the projector. */
  sizeBytes: number;
  capabilities: readonly (Capability | 'audio')[];
  /** The projector beside the file. */
  projector: string | null;
  license: string | null;
  /** Jinja. */
  chatTemplate: string | null;
}

/** llama.cpp's numbers of the usual file types. */
const FILE_TYPES: Readonly<Record<number, string>> = {
  ...{ 0: 'F32', 1: 'F16', 2: 'Q4_0', 3: 'Q4_1', 7: 'Q8_0', 8: 'Q5_0', 9: 'Q5_1', 10: 'Q2_K', 11: 'Q3_K_S' },
  ...{ 12: 'Q3_K_M', 13: 'Q3_K_L', 14: 'Q4_K_S', 15: 'Q4_K_M', 16: 'Q5_K_S', 17: 'Q5_K_M', 18: 'Q6_K', 32: 'BF16' },
};

/**
 * Reads the header only. `given`: the projector, if it is known.
 * @throws {ChasquiError} `model_file_missing`, `model_file_invalid`
 */
export async function inspectModel(file: string, given?: string | null): Promise<ModelFacts> {
  if (!existsSync(file)) throw new ChasquiError('model_file_missing', `The file ${file} does not exist.`);
  const header = await readGgufFile(file);
  const { metadata } = header;
  const text = (key: string) => {
    const value = metadata.get(key);
    return typeof value === 'string' ? value : null;
  };
  const projector = given ?? findProjector(file);
  const encoders = projector === null ? [] : encodersIn(await readGgufFile(projector).catch(() => null));
  const described = describeHeader(header, encoders.includes('vision'), partsOf(file).length > 1);
  return {
    path: file,
    name: text('general.name'),
    architecture: described.architecture,
    parameters: described.parameters,
    quantization: labelOf(file) ?? FILE_TYPES[Number(metadata.get('general.file_type'))] ?? null,
    contextLength: described.contextLength,
    sizeBytes: sizeOfModel(file) ?? 0,
    capabilities: [...described.capabilities, ...(encoders.includes('audio') ? ['audio' as const] : [])],
    projector,
    license: text('general.license'),
    chatTemplate: text('tokenizer.chat_template'),
  };
}
