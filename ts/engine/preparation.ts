/** Preparation by native code, which takes turns by the request that it is for and ends with it. */
import type { EngineCore } from './core.js';
import { untilAborted } from './until-aborted.js';

export class Preparation {
  readonly #core: Pick<EngineCore, 'cancelPreparation'>;
  /** Whatever shares a signal belongs to one request. */
  readonly #owners = new WeakMap<AbortSignal, number>();
  #lastOwner = 0;

  constructor(core: Pick<EngineCore, 'cancelPreparation'>) {
    this.#core = core;
  }

  /** Has `start` ask native code for something. Rejects with the signal's reason as soon as that is aborted. */
  async run<T>(signal: AbortSignal | undefined, start: (owner: number) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    const owner = this.#ownerOf(signal);
    return untilAborted(start(owner), signal, () => this.#core.cancelPreparation(owner));
  }

  #ownerOf(signal: AbortSignal | undefined): number {
    const known = signal && this.#owners.get(signal);
    if (known !== undefined) return known;
    this.#lastOwner = (this.#lastOwner + 1) % 2 ** 32;
    if (signal) this.#owners.set(signal, this.#lastOwner);
    return this.#lastOwner;
  }
}
