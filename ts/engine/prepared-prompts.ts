/** Prompts with pictures, tokenized: what the answers of a request, and the count of its tokens, have in common. */
import type { NativeEngine, NativePrompt } from '../native/addon.js';
import type { ImageInput } from './job.js';
import type { Preparation } from './preparation.js';

export class PreparedPrompts {
  readonly #native: Pick<NativeEngine, 'tokenizePrompt'>;
  readonly #preparation: Preparation;
  readonly #shared = new WeakMap<readonly ImageInput[], Map<string, Promise<NativePrompt>>>();

  constructor(native: Pick<NativeEngine, 'tokenizePrompt'>, preparation: Preparation) {
    this.#native = native;
    this.#preparation = preparation;
  }

  /** From now on a prompt with this very list is prepared once. Neither the list nor its pictures may change any more. */
  share(images: readonly ImageInput[]): void {
    if (images.length > 0) this.#shared.set(images, new Map());
  }

  prepare(prompt: string, images: readonly ImageInput[], signal?: AbortSignal): Promise<NativePrompt> {
    const known = this.#shared.get(images);
    const prepared =
      known?.get(prompt) ??
      this.#preparation.run(signal, (owner) => this.#native.tokenizePrompt(prompt, images, owner));
    known?.set(prompt, prepared);
    return prepared;
  }
}
