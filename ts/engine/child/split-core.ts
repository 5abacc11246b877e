/** An `EngineCore` of two processes: the worker computes, the preparation process prepares requests for it. */
import type { NativeConstraint } from '../../native/addon.js';
import { CALLS, type CallArgs, type Caller, type CallName, type CallResult } from '../calls.js';
import type { CoreJob, EngineCore } from '../core.js';
import type { AbortOptions, ModelInfo } from '../engine-types.js';

export class SplitCore implements EngineCore {
  readonly #worker: EngineCore;
  readonly #preparation: Caller;
  readonly #info: Pick<ModelInfo, 'contextLength' | 'generates'>;

  constructor(worker: EngineCore, preparation: Caller, info: Pick<ModelInfo, 'contextLength' | 'generates'>) {
    this.#worker = worker;
    this.#preparation = preparation;
    this.#info = info;
  }

  async call<M extends CallName>(method: M, args: CallArgs<M>, on?: AbortOptions): Promise<CallResult<M>> {
    const { runsIn } = CALLS[method];
    if (runsIn === 'preparation') return this.#preparation.call(method, args, on);
    if (method === 'tokenizePrompt') {
      const [prompt, images] = args as unknown as CallArgs<'tokenizePrompt'>;
      // The worker reports that the model generates nothing.
      if (this.#info.generates) {
        const tokens = await this.#preparation.call('tokenizeTextPrompt', [prompt, this.#info.contextLength], on);
        // Only the worker has a projector, which determines the number of tokens of an image.
        if (images.length === 0) return { tokens, media: null } as CallResult<M>;
      }
    } else if (runsIn === 'both') {
      await this.#preparation.call(method, args, on);
    }
    return this.#worker.call(method, args, on);
  }

  submit(job: CoreJob, constraint: NativeConstraint | null): void {
    this.#worker.submit(job, constraint);
  }

  pause(jobId: number, paused: boolean): void {
    this.#worker.pause(jobId, paused);
  }

  cancel(jobId: number): void {
    this.#worker.cancel(jobId);
  }

  /** Closes the worker alone: the preparation process serves the next one as well. */
  close(): Promise<void> {
    return this.#worker.close();
  }
}
