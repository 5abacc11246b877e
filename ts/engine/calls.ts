/**
 * The calls that an engine takes. `native/addon.ts` declares their arguments and results; this table declares the process that
 * runs them. Jobs (`submit`) are not calls.
 */
import type { NativeImage, NativePreparer, NativePrompt, NativeStats } from '../native/addon.js';
import type { AbortOptions, ModelInfo } from './engine-types.js';
import type { ImageInput } from './job.js';

/** Signatures of the native calls. The last argument is the owner, a number for the request (see `NativePreparer`). */
interface NativeCalls extends Omit<NativePreparer, 'cancelPreparation'> {
  /** `Model` decodes audio before. */
  tokenizePrompt(prompt: string, images: readonly (ImageInput | NativeImage)[], owner: number): Promise<NativePrompt>;
  /** The vectors of all inputs, one after another; `tokens` holds the inputs likewise, `lengths` the length of each. */
  embed(tokens: Int32Array, lengths: Int32Array, owner: number): Promise<Float32Array>;
  /** Embeds a prompt with images unless it has more than `maxTokens`. */
  embedPrompt(
    prompt: string,
    images: readonly ImageInput[],
    maxTokens: number,
    owner: number,
  ): Promise<{ promptTokens: number; vector: Float32Array | null }>;
  stats(owner: number): Promise<NativeStats>;
}

export type CallName = keyof NativeCalls;
export type CallArgs<M extends CallName> = Parameters<NativeCalls[M]> extends [...infer A, number] ? A : never;
export type CallResult<M extends CallName> = Awaited<ReturnType<NativeCalls[M]>>;

interface CallRule {
  /**
   * `preparation`: needs the vocabulary only. `worker`: needs the model. `both`: runs in the preparation process first,
   * where a crash or a hang costs no completions, and then in the worker, because its result cannot leave that process.
   * Preparation repeats a call when its process ends; the worker's supervisor repeats the others.
   */
  runsIn: 'preparation' | 'worker' | 'both';
  /** Native objects in the result: they stay in the worker and cross the pipe as numbers. */
  handles?: 'media' | 'constraints';
  /** Counts against the limit of requests that the engine computes or queues. */
  limited?: boolean;
  /** Fails at once, instead of waiting, while the engine restarts. */
  failsFast?: boolean;
}

export const CALLS: Readonly<Record<CallName, CallRule>> = {
  render: { runsIn: 'preparation' },
  tokenize: { runsIn: 'preparation' },
  tokenizeTextPrompt: { runsIn: 'preparation' },
  tokenizeInfill: { runsIn: 'preparation' },
  unenforcedParts: { runsIn: 'preparation' },
  tokenizeInputs: { runsIn: 'preparation' },
  tokenizePairs: { runsIn: 'preparation' },
  pieces: { runsIn: 'preparation' },
  decodeAudio: { runsIn: 'preparation' },
  tokenizePrompt: { runsIn: 'both', handles: 'media' },
  compileGrammar: { runsIn: 'both', handles: 'constraints' },
  embed: { runsIn: 'worker', limited: true },
  embedPrompt: { runsIn: 'worker', limited: true },
  stats: { runsIn: 'worker', failsFast: true },
};

/** Arguments, or a function that makes them from the model of the process that will run the call. */
export type CallInput<M extends CallName> = CallArgs<M> | ((model: ModelInfo) => CallArgs<M>);

/** Runs calls, wherever that is. Rejects with the signal's reason as soon as it is aborted. */
export interface Caller {
  call<M extends CallName>(method: M, args: CallArgs<M>, on?: AbortOptions): Promise<CallResult<M>>;
}

/** Runs calls in one process. Native code takes turns between owners, and cancels all work of one owner together. */
export interface CallTarget {
  run<M extends CallName>(method: M, args: CallArgs<M>, owner: number): Promise<CallResult<M>>;
  cancelOwner(owner: number): void;
}

/** A target that also tracks the owners of its calls. */
export abstract class OwnedCalls implements Caller, CallTarget {
  abstract run<M extends CallName>(method: M, args: CallArgs<M>, owner: number): Promise<CallResult<M>>;
  abstract cancelOwner(owner: number): void;

  async call<M extends CallName>(method: M, args: CallArgs<M>, { signal }: AbortOptions = {}): Promise<CallResult<M>> {
    signal?.throwIfAborted();
    const owner = ownerOf(signal);
    return untilAborted(this.run(method, args, owner), signal, () => this.cancelOwner(owner));
  }
}

/** Calls that share a signal belong to one request. */
const owners = new WeakMap<AbortSignal, number>();
let lastOwner = 0;

function ownerOf(signal: AbortSignal | undefined): number {
  const known = signal && owners.get(signal);
  if (known !== undefined) return known;
  lastOwner = (lastOwner + 1) % 2 ** 32;
  if (signal) owners.set(signal, lastOwner);
  return lastOwner;
}

/** Rejects with the signal's reason as soon as it is aborted, whether or not `work` ever settles. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined, onAbort?: () => void): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      onAbort?.();
      reject(signal.reason);
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
