/** Prompts with images, tokenized once for all completions of a request and for the count of its tokens. */
import type { NativePrompt } from '../native/addon.js';
import type { ImageInput } from './job.js';

/** Frozen lists with immutable images. */
const sharedLists = new WeakSet<readonly ImageInput[]>();

/** Prompts with this very list are tokenized once for each engine. */
export function shareImages(images: ImageInput[]): readonly ImageInput[] {
  if (images.length > 0) sharedLists.add(images);
  return Object.freeze(images);
}

export class PreparedPrompts {
  readonly #prompts = new WeakMap<readonly ImageInput[], Map<string, Promise<NativePrompt>>>();

  /** Returns the tokenized prompt, from `tokenize` unless it is known. A failure is not kept. */
  get(prompt: string, images: readonly ImageInput[], tokenize: () => Promise<NativePrompt>): Promise<NativePrompt> {
    if (!sharedLists.has(images)) return tokenize();
    const prompts = this.#prompts.get(images) ?? new Map<string, Promise<NativePrompt>>();
    this.#prompts.set(images, prompts);
    const known = prompts.get(prompt);
    if (known) return known;
    const prepared = tokenize();
    prompts.set(prompt, prepared);
    prepared.catch(() => prompts.delete(prompt));
    return prepared;
  }
}
