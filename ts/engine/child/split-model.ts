/** A model that is computed in two processes: the worker computes, the preparation process prepares requests for it. */
import { CALLS, type CallArgs, type Caller, type CallName, type CallResult } from '../calls.js';
import type { AbortOptions, ModelInfo } from '../engine-types.js';
import type { LoadHooks, LoadOptions } from '../load-options.js';
import { Model } from '../model.js';
import type { JobStream } from '../token-stream.js';
import { LOAD_TIMEOUT_MS, type StartChild } from './start-child.js';
import type { PreparationProcess } from './supervised-preparation.js';
import type { SupervisedProcess, Supervisor } from './supervisor.js';

export interface StartHooks extends LoadHooks {
  coreDumps?: boolean | undefined;
}

export interface Worker extends SupervisedProcess {
  readonly model: Model;
}

/** Starts the worker. `preparing` may still be starting. Rejects as both do. */
export async function startModel(
  start: StartChild,
  path: string,
  options: LoadOptions,
  { coreDumps, onProgress, signal }: StartHooks,
  preparing: Promise<Supervisor<PreparationProcess>>,
): Promise<Worker> {
  const streams = new Map<number, JobStream>();
  const child = await start(path, options, { streams, onProgress, signal, loadTimeoutMs: LOAD_TIMEOUT_MS, coreDumps });
  const { core, info } = child;
  try {
    const preparation = await preparing;
    const prepare: Caller['call'] = (method, args, on) =>
      preparation.run(args, (process) => process.core.call(method, args, on), on?.signal);
    const model = new Model(core, streams, info, options, new SplitCalls(core, prepare, info));
    const end: Worker['end'] = (reason) => {
      core.end(reason);
      model.end(reason);
    };
    return { ...child, model, end, close: (reason) => model.close(reason) };
  } catch (error) {
    await core.close();
    throw error;
  }
}

/** Runs each call in the process that the table of calls names. */
export class SplitCalls implements Caller {
  constructor(
    private readonly worker: Caller,
    private readonly prepare: Caller['call'],
    private readonly info: Pick<ModelInfo, 'contextLength' | 'generates'>,
  ) {}

  async call<M extends CallName>(method: M, args: CallArgs<M>, on?: AbortOptions): Promise<CallResult<M>> {
    const { runsIn } = CALLS[method];
    if (runsIn === 'preparation') return this.prepare(method, args, on);
    if (method === 'tokenizePrompt') {
      const [prompt, images] = args as unknown as CallArgs<'tokenizePrompt'>;
      // The worker reports that the model generates nothing.
      if (this.info.generates) {
        const tokens = await this.prepare('tokenizeTextPrompt', [prompt, this.info.contextLength], on);
        // Only the worker has a projector, which determines the number of tokens of an image.
        if (images.length === 0) return { tokens, media: null } as CallResult<M>;
      }
    } else if (runsIn === 'both') {
      await this.prepare(method, args, on);
    }
    return this.worker.call(method, args, on);
  }
}
