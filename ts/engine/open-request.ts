/** What the native code is asked to open, from the options of `loadModel`: their defaults are here. */
import { resolve } from 'node:path';
import { ChasquiError } from '../errors.js';
import type { OpenRequest } from '../native/addon.js';
import { findProjector } from './find-projector.js';
import type { LoadOptions } from './load-options.js';
import { readOffload } from './offload.js';

/** @throws {ChasquiError} `invalid_options` */
export function toOpenRequest(path: string, options: LoadOptions): Omit<OpenRequest, 'modules'> {
  return {
    verbose: options.verbose ?? false,
    path,
    prepareTimeoutMs: prepareTimeout(options.prepareTimeoutMs),
    options: {
      offload: readOffload(options),
      contextLength: options.contextSize ?? 0,
      parallel: options.parallel ?? 4,
      threads: options.threads ?? 0,
      batchSize: options.batchSize ?? 2048,
      ubatchSize: Math.min(options.batchSize ?? 512, 512),
      targetStepMs: options.targetStepMs ?? 100,
      deterministic: options.deterministic ?? false,
      draftMax: options.draftMax ?? (options.draftModel === undefined ? 0 : 8),
      draftMin: options.draftMin ?? 0,
      draftPMin: options.draftPMin ?? 0,
      draftModelPath: options.draftModel === undefined ? '' : resolve(options.draftModel),
      ...(options.pooling !== undefined && { pooling: options.pooling }),
      chatTemplate: options.chatTemplate ?? '',
      cacheRamBytes: (options.cacheRamMiB ?? 1024) * 2 ** 20,
      mmprojPath: projectorPath(path, options.mmproj),
      imageCacheBytes: (options.imageCacheMiB ?? 256) * 2 ** 20,
    },
  };
}

/** Native code counts milliseconds in 32 bits. */
function prepareTimeout(given = 10_000): number {
  if (Number.isInteger(given) && given >= 1 && given <= 1e9) return given;
  throw new ChasquiError('invalid_options', '`prepareTimeoutMs` must be a whole number from 1 to 10^9.');
}

function projectorPath(modelPath: string, mmproj: string | null | undefined): string {
  if (mmproj === undefined) return findProjector(modelPath) ?? '';
  return mmproj === null ? '' : resolve(mmproj);
}
