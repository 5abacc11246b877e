/** Converts the checked options of `loadModel` to those of native code. */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { invalidOptions } from '../errors.js';
import type { OpenPreparerRequest, OpenRequest } from '../native/native-options.js';
import { DRAFT_MAX, DRAFT_MAX_WITH_MODEL, DRAFT_MAX_WITH_MTP } from '../options/context-option-table.js';
import { readAdapterFiles } from './adapter-file.js';
import { renderDefaults, templateOf } from './chat-template.js';
import { findProjector } from './find-projector.js';
import { reasoningLimits } from './job.js';
import { type CompleteLoadOptions, completeLoadOptions, type LoadOptions } from './load-options.js';
import { toNativeOffload } from './offload.js';

/** False if drafts may only come from the text, and only where they cost nothing. */
export function asksForDrafts({ draftMax, draftModel, specType }: LoadOptions): boolean {
  return draftMax !== undefined || draftModel !== undefined || specType === 'draft-mtp';
}

/** @throws {ChasquiError} `invalid_options` */
export function toOpenRequest(path: string, given: LoadOptions): Omit<OpenRequest, 'modules'> {
  const options = completeLoadOptions(given);
  const { contextSize = 0, kvBudgetMiB = 0, ropeScale, draftModel } = options;
  if (ropeScale !== undefined && options.ropeFreqScale !== undefined) {
    throw invalidOptions('`ropeScale` and `ropeFreqScale` exclude each other: set only one of them.');
  }
  checkDraftSource(options);
  // Native code does not need these, but errors in them must be reported before the model is loaded.
  renderDefaults(given);
  reasoningLimits(given);
  return {
    verbose: options.verbose,
    path,
    prepareTimeoutMs: options.prepareTimeoutMs,
    options: {
      ...options,
      offload: toNativeOffload(options),
      contextLength: contextSize,
      embeddingContextLength: contextSize,
      ubatchSize: Math.min(options.batchSize, options.ubatchSize),
      ropeFreqScale: ropeScale === undefined ? options.ropeFreqScale : 1 / ropeScale,
      draftMax: options.draftMax ?? defaultDraftMax(options),
      draftsOnGpus: asksForDrafts(given),
      draftModel: draftModel && resolve(draftModel),
      chatTemplate: templateOf(given),
      adapters: readAdapterFiles(options.lora).map((file) => file.path),
      kvBudgetBytes: Math.floor(kvBudgetMiB * 2 ** 20),
      cacheFolder: resolve(options.cacheFolder ?? join(homedir(), '.chasqui', 'cache')),
      mmprojPath: projectorPath(path, options.mmproj),
    },
  };
}

/** @throws {ChasquiError} `invalid_options` */
export function toPreparerRequest(path: string, given: LoadOptions): Omit<OpenPreparerRequest, 'stuckExitCode'> {
  const { prepareTimeoutMs, overrideKv: metadata = [] } = completeLoadOptions(given);
  return { path, prepareTimeoutMs, metadata, chatTemplate: templateOf(given) };
}

function checkDraftSource({ draftModel, specType }: CompleteLoadOptions): void {
  if (specType === 'draft-mtp' && draftModel !== undefined) {
    throw invalidOptions("`draftModel` replaces the model's own MTP layer: omit `draftModel` or `specType`.");
  }
  if (specType === 'draft-simple' && draftModel === undefined) {
    throw invalidOptions('`specType` is draft-simple, which requires `draftModel`.');
  }
}

function defaultDraftMax({ draftModel, specType }: CompleteLoadOptions): number {
  if (draftModel !== undefined) return DRAFT_MAX_WITH_MODEL;
  return specType === 'draft-mtp' ? DRAFT_MAX_WITH_MTP : DRAFT_MAX;
}

function projectorPath(modelPath: string, mmproj: string | null | undefined): string {
  if (mmproj === undefined) return findProjector(modelPath) ?? '';
  return mmproj === null ? '' : resolve(mmproj);
}
