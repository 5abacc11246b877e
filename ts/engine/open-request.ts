/** What native code is asked to open: the options of `loadModel`, checked and complete, in its own words. */
import { resolve } from 'node:path';
import type { OpenRequest } from '../native/addon.js';
import { readAdapterFiles } from './adapter-file.js';
import { findProjector } from './find-projector.js';
import { DRAFT_MAX_WITH_MODEL } from './load-option-table.js';
import { completeLoadOptions, type LoadOptions } from './load-options.js';
import { toNativeOffload } from './offload.js';

const MIB = 2 ** 20;

/** @throws {ChasquiError} `invalid_options` */
export function toOpenRequest(path: string, given: LoadOptions): Omit<OpenRequest, 'modules'> {
  const options = completeLoadOptions(given);
  const { draftModel, pooling } = options;
  return {
    verbose: options.verbose,
    path,
    prepareTimeoutMs: options.prepareTimeoutMs,
    options: {
      offload: toNativeOffload(options),
      contextLength: options.contextSize ?? 0,
      parallel: options.parallel,
      threads: options.threads ?? 0,
      batchSize: options.batchSize,
      ubatchSize: Math.min(options.batchSize, 512),
      targetStepMs: options.targetStepMs,
      deterministic: options.deterministic,
      draftMax: options.draftMax ?? (draftModel === undefined ? 0 : DRAFT_MAX_WITH_MODEL),
      draftMin: options.draftMin,
      draftPMin: options.draftPMin,
      draftModelPath: draftModel === undefined ? '' : resolve(draftModel),
      ...(pooling !== undefined && { pooling }),
      chatTemplate: options.chatTemplate ?? '',
      adapters: readAdapterFiles(options.lora).map((file) => file.path),
      cacheRamBytes: Math.floor(options.cacheRamMiB * MIB),
      mmprojPath: projectorPath(path, options.mmproj),
      imageCacheBytes: options.imageCacheMiB * MIB,
    },
  };
}

function projectorPath(modelPath: string, mmproj: string | null | undefined): string {
  if (mmproj === undefined) return findProjector(modelPath) ?? '';
  return mmproj === null ? '' : resolve(mmproj);
}
