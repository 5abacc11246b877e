/**
 * The images of prompts that were tokenized and are to be submitted, perhaps several times. As pixels they take up to a
 * hundred times the room of their files, and nobody knows which prompts will be submitted, so that only the latest are
 * kept as pixels. The others are read once more when they are needed after all.
 */
import type { NativeImage, NativeMedia } from '../../native/addon.js';
import type { EngineCore } from '../core.js';

/** Prompts that are kept with their pixels. */
const MAX_READY = 8;

interface Entry {
  prompt: string;
  images: readonly NativeImage[];
  owner: number;
  media: NativeMedia | null;
}

export class MediaTable {
  readonly #core: Pick<EngineCore, 'tokenizePrompt'>;
  /** The latest last. */
  readonly #entries = new Map<number, Entry>();
  #last = 0;

  constructor(core: Pick<EngineCore, 'tokenizePrompt'>) {
    this.#core = core;
  }

  /** The tokens of a prompt, and the number of its images; `null` when it has none. */
  async tokenize(prompt: string, images: readonly NativeImage[], owner: number) {
    const { tokens, media } = await this.#core.tokenizePrompt(prompt, images, owner);
    if (media === null) return { tokens, id: null };
    this.#last += 1;
    this.#keep(this.#last, { prompt, images, owner, media });
    return { tokens, id: this.#last };
  }

  async get(id: number): Promise<NativeMedia> {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new Error(`There are no images ${id} in this process.`);
    const { prompt, images, owner } = entry;
    const media = entry.media ?? (await this.#core.tokenizePrompt(prompt, images, owner)).media;
    if (media === null) throw new Error(`The images ${id} are no longer images.`);
    // They may have been released while they were read.
    if (this.#entries.has(id)) this.#keep(id, { prompt, images, owner, media });
    return media;
  }

  release(id: number): void {
    this.#entries.delete(id);
  }

  #keep(id: number, entry: Entry): void {
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    const ready = [...this.#entries.values()].filter(({ media }) => media !== null);
    for (const old of ready.slice(0, -MAX_READY)) old.media = null;
  }
}
