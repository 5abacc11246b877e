/**
 * The images of tokenized prompts, which may be submitted several times. Pixels take up to a hundred times the memory of
 * image files, and only some prompts are submitted, so only the latest prompts keep their pixels. The images of others are
 * decoded again when they are needed.
 */
import type { NativeImage, NativeMedia, NativePrompt } from '../../native/addon.js';

/** Prompts that keep their pixels. */
const MAX_READY = 8;

interface Entry {
  args: PromptArgs;
  owner: number;
  media: NativeMedia | null;
}

type PromptArgs = [prompt: string, images: readonly NativeImage[]];
type TokenizePrompt = (args: PromptArgs, owner: number) => Promise<NativePrompt>;

export class MediaTable {
  /** The latest last. */
  readonly #entries = new Map<number, Entry>();
  #last = 0;

  constructor(private readonly tokenizePrompt: TokenizePrompt) {}

  /** Returns the tokens of a prompt, and the number of its images; `null` if it has none. */
  async tokenize(args: PromptArgs, owner: number): Promise<{ tokens: Int32Array; media: number | null }> {
    const { tokens, media } = await this.tokenizePrompt(args, owner);
    if (media === null) return { tokens, media };
    this.#last += 1;
    this.#keep(this.#last, { args, owner, media });
    return { tokens, media: this.#last };
  }

  async get(id: number): Promise<NativeMedia> {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new Error(`There are no images ${id} in this process.`);
    const { args, owner } = entry;
    const media = entry.media ?? (await this.tokenizePrompt(args, owner)).media;
    if (media === null) throw new Error(`The images ${id} are no longer images.`);
    // They may have been released while they were read.
    if (this.#entries.has(id)) this.#keep(id, { args, owner, media });
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
