/** Prompts with images, tokenized: what the completions of a request, and the count of its tokens, have in common. */
import type { NativePrompt } from '../native/addon.js';
import type { EngineCore } from './core.js';
import type { ImageInput } from './job.js';
import type { Preparation } from './preparation.js';

export class PreparedPrompts {
  readonly #core: Pick<EngineCore, 'tokenizePrompt'>;
  readonly #preparation: Preparation;
  readonly #shared = new WeakMap<readonly ImageInput[], Map<string, Promise<NativePrompt>>>();

  constructor(core: Pick<EngineCore, 'tokenizePrompt'>, preparation: Preparation) {
    this.#core = core;
    this.#preparation = preparation;
  }

  /** From now on a prompt with this very list is prepared once. Neither the list nor its images may change any more. */
  share(images: readonly ImageInput[]): void {
    if (images.length > 0) this.#shared.set(images, new Map());
  }

  prepare(prompt: string, images: readonly ImageInput[], signal?: AbortSignal): Promise<NativePrompt> {
    const shared = this.#shared.get(images);
    const known = shared?.get(prompt);
    if (known) return known;
    const prepared = this.#preparation.run(signal, (owner) => this.#core.tokenizePrompt(prompt, images, owner));
    if (shared) {
      shared.set(prompt, prepared);
      prepared.catch(() => shared.delete(prompt));
    }
    return prepared;
  }
}
