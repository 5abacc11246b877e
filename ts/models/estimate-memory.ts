/** What a model will take in memory, from its file, before it is loaded. */
import { statSync } from 'node:fs';
import { readAdapterFiles } from '../engine/adapter-file.js';
import { cellBytes } from '../engine/cell-bytes.js';
import { readGgufSizes } from '../engine/gguf-sizes.js';
import { LOAD_OPTIONS } from '../engine/load-option-table.js';
import type { LoadOptions } from '../engine/load-options.js';

/** The process itself, with Node and the code of llama.cpp. */
const PROCESS_BYTES = 100 * 2 ** 20;
/** The one that prepares requests: Node, and a vocabulary of up to a hundred MiB. */
const PREPARATION_BYTES = 80 * 2 ** 20;

const DEFAULT_TYPES = { cacheTypeK: LOAD_OPTIONS.cacheTypeK.default, cacheTypeV: LOAD_OPTIONS.cacheTypeV.default };

/** `fileBytes` is the size of the file. A file that cannot be read is left to its load, which says what is wrong. */
export function estimateMemory(path: string, fileBytes: number, options: LoadOptions): number {
  const sizes = readGgufSizes(path);
  const adapterBytes = readAdapterFiles(options.lora).reduce((sum, { path: file }) => sum + sizeOf(file), 0);
  const size = (name: string, otherwise: number) => sizes.get(name) ?? otherwise;
  const heads = size('attention.head_count', 0);
  const headLength = size('attention.key_length', heads > 0 ? size('embedding_length', 0) / heads : 0);
  const perToken = size('block_count', 0) * size('attention.head_count_kv', heads);
  const valueLength = size('attention.value_length', headLength);
  const { fitCtx = LOAD_OPTIONS.fitCtx.default } = options;
  const context = options.contextSize ?? Math.min(size('context_length', fitCtx), fitCtx);
  const cells = context * (options.parallel ?? LOAD_OPTIONS.parallel.default);
  const { cacheTypeK, cacheTypeV } = { ...DEFAULT_TYPES, ...options };
  const bytesPerHead = headLength * cellBytes(cacheTypeK) + valueLength * cellBytes(cacheTypeV);
  return PROCESS_BYTES + PREPARATION_BYTES + fileBytes + adapterBytes + perToken * bytesPerHead * cells;
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
