/** Starts the worker of an engine, and puts together the model that computes there. */
import type { LoadHooks, LoadOptions } from '../load-options.js';
import { Model } from '../model.js';
import { deliver, type JobStream } from '../token-stream.js';
import { SplitCore } from './split-core.js';
import { LOAD_TIMEOUT_MS, type StartChild } from './start-child.js';
import type { SupervisedPreparation } from './supervised-preparation.js';
import type { SupervisedProcess } from './supervisor.js';

export interface StartHooks extends LoadHooks {
  coreDumps?: boolean | undefined;
}

export interface Worker extends SupervisedProcess {
  readonly model: Model;
}

/** `preparing` may still be starting. Rejects as both do. */
export async function startModel(
  start: StartChild,
  path: string,
  options: LoadOptions,
  hooks: StartHooks,
  preparing: Promise<SupervisedPreparation>,
): Promise<Worker> {
  const streams = new Map<number, JobStream>();
  const child = await start(path, options, {
    onEvents: (records, count, text, extras, parsed) => deliver(streams, records, count, text, extras, parsed),
    onProgress: hooks.onProgress,
    signal: hooks.signal,
    loadTimeoutMs: LOAD_TIMEOUT_MS,
    coreDumps: hooks.coreDumps,
  });
  try {
    const core = new SplitCore(child.core, await preparing, child.info);
    const model = new Model(core, streams, child.info, options);
    const end: Worker['end'] = (reason) => {
      child.core.end(reason);
      model.end(reason);
    };
    return { ...child, model, end, close: (reason) => model.close(reason) };
  } catch (error) {
    await child.core.close();
    throw error;
  }
}
