/** What native code is asked to open: the options of `loadModel`, checked and complete, in its own words. */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { ChasquiError } from '../errors.js';
import type { OpenPreparerRequest, OpenRequest } from '../native/open-request.js';
import { readAdapterFiles } from './adapter-file.js';
import { findProjector } from './find-projector.js';
import { DRAFT_MAX, DRAFT_MAX_WITH_MODEL, DRAFT_MAX_WITH_MTP } from './load-option-table.js';
import { type CompleteLoadOptions, completeLoadOptions, type LoadOptions } from './load-options.js';
import { toNativeOffload } from './offload.js';
import { reasoningLimits } from './reasoning-option-table.js';
import { templateOf, templateVariables } from './template-option-table.js';

const MIB = 2 ** 20;

/** Without it drafts come from the text alone, and only where nothing can be lost by them. */
export function asksForDrafts({ draftMax, draftModel, specType }: LoadOptions): boolean {
  return draftMax !== undefined || draftModel !== undefined || specType === 'draft-mtp';
}

/** @throws {ChasquiError} `invalid_options` */
export function toOpenRequest(path: string, given: LoadOptions): Omit<OpenRequest, 'modules'> {
  const options = completeLoadOptions(given);
  const { draftModel, pooling } = options;
  // They are no matter of native code, but what is wrong with them is said before the model is loaded.
  templateVariables(given);
  reasoningLimits(given);
  return {
    verbose: options.verbose,
    path,
    prepareTimeoutMs: options.prepareTimeoutMs,
    options: {
      offload: toNativeOffload(options),
      contextLength: options.contextSize ?? 0,
      embeddingContextLength: options.contextSize ?? 0,
      parallel: options.parallel,
      threads: options.threads ?? 0,
      batchSize: options.batchSize,
      ubatchSize: Math.min(options.batchSize, options.ubatchSize),
      threadsBatch: options.threadsBatch ?? 0,
      cacheTypeK: options.cacheTypeK,
      cacheTypeV: options.cacheTypeV,
      draftCacheTypeK: options.draftCacheTypeK,
      draftCacheTypeV: options.draftCacheTypeV,
      flashAttention: options.flashAttention,
      rope: toNativeRope(options),
      numa: options.numa ?? '',
      targetStepMs: options.targetStepMs,
      deterministic: options.deterministic,
      draftMax: options.draftMax ?? usualDraft(options),
      draftsOnGpus: asksForDrafts(given),
      draftMin: options.draftMin,
      draftPMin: options.draftPMin,
      draftModelPath: draftModel === undefined ? '' : resolve(draftModel),
      draftMtp: options.specType === 'draft-mtp',
      ...(pooling !== undefined && { pooling }),
      chatTemplate: templateOf(given),
      adapters: readAdapterFiles(options.lora).map((file) => file.path),
      cacheRamBytes: Math.floor(options.cacheRamMiB * MIB),
      kvBudgetBytes: Math.floor((options.kvBudgetMiB ?? 0) * MIB),
      cacheDiskBytes: Math.floor(options.cacheDiskMiB * MIB),
      cacheFolder: resolve(options.cacheFolder ?? join(homedir(), '.chasqui', 'cache')),
      mmprojPath: projectorPath(path, options.mmproj),
      imageCacheBytes: options.imageCacheMiB * MIB,
    },
  };
}

/** @throws {ChasquiError} `invalid_options` */
export function toPreparerRequest(path: string, given: LoadOptions): Omit<OpenPreparerRequest, 'stuckExitCode'> {
  const options = completeLoadOptions(given);
  const { metadata } = toNativeOffload(options);
  return { path, prepareTimeoutMs: options.prepareTimeoutMs, metadata, chatTemplate: templateOf(given) };
}

function usualDraft({ draftModel, specType }: CompleteLoadOptions): number {
  if (draftModel !== undefined) return DRAFT_MAX_WITH_MODEL;
  return specType === 'draft-mtp' ? DRAFT_MAX_WITH_MTP : DRAFT_MAX;
}

function toNativeRope(options: CompleteLoadOptions): OpenRequest['options']['rope'] {
  const { ropeScale, ropeFreqScale } = options;
  if (ropeScale !== undefined && ropeFreqScale !== undefined) {
    throw new ChasquiError('invalid_options', '`ropeScale` and `ropeFreqScale` say the same: leave out one of them.');
  }
  return {
    scaling: options.ropeScaling ?? '',
    frequencyBase: options.ropeFreqBase ?? 0,
    frequencyScale: ropeScale === undefined ? (ropeFreqScale ?? 0) : 1 / ropeScale,
    yarnOriginalContext: options.yarnOrigCtx ?? 0,
    yarnExtrapolation: options.yarnExtFactor ?? -1,
    yarnAttention: options.yarnAttnFactor ?? -1,
    yarnBetaSlow: options.yarnBetaSlow ?? -1,
    yarnBetaFast: options.yarnBetaFast ?? -1,
  };
}

function projectorPath(modelPath: string, mmproj: string | null | undefined): string {
  if (mmproj === undefined) return findProjector(modelPath) ?? '';
  return mmproj === null ? '' : resolve(mmproj);
}
