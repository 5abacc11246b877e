/** How many bytes llama.cpp takes for a number in a KV cell. */
import type { CELL_TYPES } from './context-option-table.js';

/** Of 32 numbers, which share scales where they are quantised. */
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

export function cellBytes(type: keyof typeof BLOCK_BYTES): number {
  return BLOCK_BYTES[type] / 32;
}
