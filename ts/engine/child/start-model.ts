/** Starts the process of an engine, and puts together the model that computes there. */
import { deliver } from '../events.js';
import type { LoadHooks, LoadOptions } from '../load-options.js';
import { Model } from '../model.js';
import type { JobStream } from '../token-stream.js';
import { SplitCore } from './split-core.js';
import type { StartChild, StartedChild } from './start-child.js';
import type { SupervisedPreparation } from './supervised-preparation.js';

export interface StartHooks extends LoadHooks {
  coreDumps?: boolean | undefined;
}

export interface RunningModel {
  model: Model;
  child: StartedChild;
  loadMs: number;
}

const LOAD_TIMEOUT_MS = 10 * 60_000;

/** `preparing`: what prepares requests for it, which may not have started yet. Rejects as both do. */
export async function startModel(
  start: StartChild,
  path: string,
  options: LoadOptions,
  hooks: StartHooks,
  preparing: SupervisedPreparation | Promise<SupervisedPreparation>,
): Promise<RunningModel> {
  const began = performance.now();
  const streams = new Map<number, JobStream>();
  const child = await start(path, options, {
    onEvents: (records, count, text, extras, parsed) => deliver(streams, records, count, text, extras, parsed),
    onProgress: hooks.onProgress,
    signal: hooks.signal,
    loadTimeoutMs: LOAD_TIMEOUT_MS,
    coreDumps: hooks.coreDumps,
  });
  const loadMs = performance.now() - began;
  try {
    const core = new SplitCore(child.core, await preparing, child.info);
    return { child, model: new Model(core, streams, child.info, options), loadMs };
  } catch (error) {
    await child.core.close();
    throw error;
  }
}
