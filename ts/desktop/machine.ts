/** What this computer has for models. */
import os from 'node:os';
import { freeBytes } from '../server/open-pool.js';
import type { Machine } from './api-types.js';

export async function readMachine(): Promise<Machine> {
  return { memoryBytes: os.totalmem(), freeBytes: freeBytes(), cores: os.availableParallelism(), gpus: [] };
}
