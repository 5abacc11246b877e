/** Estimates the memory that a model will take, from its file. */
import { readAdapterFiles } from '../engine/adapter-file.js';
import { readGgufSizes } from '../engine/gguf-header.js';
import type { LoadOptions } from '../engine/load-options.js';
import { sizeOfModel } from '../engine/model-files.js';
import type { CELL_TYPES } from '../options/context-option-table.js';
import { LOAD_OPTIONS } from '../options/load-option-table.js';

/** The worker process: Node and the code of llama.cpp. */
const PROCESS_BYTES = 85 * 2 ** 20;
/** The preparation process: Node and a vocabulary. */
const PREPARATION_BYTES = 60 * 2 ** 20;

export const MODEL_PROCESSES_BYTES = PROCESS_BYTES + PREPARATION_BYTES;

const DEFAULT_TYPES = { cacheTypeK: LOAD_OPTIONS.cacheTypeK.default, cacheTypeV: LOAD_OPTIONS.cacheTypeV.default };

/** `fileBytes`: the size of the model's files. Unreadable files count as empty; loading them reports the error. */
export function estimateMemory(path: string, fileBytes: number, options: LoadOptions): number {
  const adapterBytes = readAdapterFiles(options.lora).reduce(
    (sum, { path: file }) => sum + (sizeOfModel(file) ?? 0),
    0,
  );
  const { kvBudgetMiB, parallel = LOAD_OPTIONS.parallel.default } = options;
  const cellsBytes = kvBudgetMiB === undefined ? conversationBytes(path, options) * parallel : kvBudgetMiB * 2 ** 20;
  return MODEL_PROCESSES_BYTES + fileBytes + adapterBytes + cellsBytes;
}

/** KV cells of one conversation that fills the context. */
export function conversationBytes(path: string, options: LoadOptions): number {
  const sizes = readGgufSizes(path);
  const size = (name: string, otherwise: number) => sizes.get(name) ?? otherwise;
  const heads = size('attention.head_count', 0);
  const headLength = size('attention.key_length', heads > 0 ? size('embedding_length', 0) / heads : 0);
  const perToken = size('block_count', 0) * size('attention.head_count_kv', heads);
  const valueLength = size('attention.value_length', headLength);
  const { fitCtx = LOAD_OPTIONS.fitCtx.default } = options;
  const context = options.contextSize ?? Math.min(size('context_length', fitCtx), fitCtx);
  const { cacheTypeK, cacheTypeV } = { ...DEFAULT_TYPES, ...options };
  const bytesPerHead = headLength * cellBytes(cacheTypeK) + valueLength * cellBytes(cacheTypeV);
  return perToken * bytesPerHead * context;
}

/** Bytes of 32 numbers in a KV cell: quantised types share their scales. */
const BLOCK_BYTES: Readonly<Record<(typeof CELL_TYPES)[number], number>> = {
  f32: 128,
  f16: 64,
  bf16: 64,
  q8_0: 34,
  q5_1: 24,
  q5_0: 22,
  q4_1: 20,
  q4_0: 18,
  iq4_nl: 18,
};

function cellBytes(type: keyof typeof BLOCK_BYTES): number {
  return BLOCK_BYTES[type] / 32;
}
