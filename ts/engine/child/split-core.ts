/** An `EngineCore` of two processes: one computes, and one prepares requests for it. */
import type {
  NativeConstraint,
  NativeGrammar,
  NativeImage,
  NativePrompt,
  NativeRenderedPrompt,
  NativeStats,
  NativeTokenLists,
} from '../../native/addon.js';
import type { CoreJob, EngineCore, PreparationCore } from '../core.js';
import type { ModelInfo } from '../engine.js';

export class SplitCore implements EngineCore {
  readonly #engine: EngineCore;
  readonly #preparation: PreparationCore;
  readonly #info: Pick<ModelInfo, 'contextLength' | 'generates'>;

  constructor(engine: EngineCore, preparation: PreparationCore, info: Pick<ModelInfo, 'contextLength' | 'generates'>) {
    this.#engine = engine;
    this.#preparation = preparation;
    this.#info = info;
  }

  render(requestJson: string, owner: number): Promise<NativeRenderedPrompt> {
    return this.#preparation.render(requestJson, owner);
  }

  tokenize(text: string, addSpecial: boolean, parseSpecial: boolean, owner: number): Promise<Int32Array> {
    return this.#preparation.tokenize(text, addSpecial, parseSpecial, owner);
  }

  /**
   * Only the engine's process has a projector, which says how many tokens an image takes, so there a prompt with images is
   * tokenized once more when its text has shown itself harmless.
   */
  async tokenizePrompt(prompt: string, images: readonly NativeImage[], owner: number): Promise<NativePrompt> {
    const { contextLength, generates } = this.#info;
    // Its error is the engine's.
    if (!generates) return this.#engine.tokenizePrompt(prompt, images, owner);
    const tokens = await this.#preparation.tokenizeTextPrompt(prompt, contextLength, owner);
    return images.length === 0 ? { tokens, media: null } : this.#engine.tokenizePrompt(prompt, images, owner);
  }

  tokenizeInfill(prefix: string, suffix: string, owner: number): Promise<Int32Array> {
    return this.#preparation.tokenizeInfill(prefix, suffix, owner);
  }

  tokenizeInputs(texts: readonly string[], most: number, owner: number): Promise<NativeTokenLists> {
    return this.#preparation.tokenizeInputs(texts, most, owner);
  }

  tokenizePairs(query: string, documents: readonly string[], most: number, owner: number): Promise<NativeTokenLists> {
    return this.#preparation.tokenizePairs(query, documents, most, owner);
  }

  pieces(tokens: Int32Array, owner: number): Promise<{ bytes: Uint8Array; ends: Int32Array }> {
    return this.#preparation.pieces(tokens, owner);
  }

  /** A compiled grammar cannot leave its process. So the engine compiles what could be compiled in the other process before. */
  async compileGrammar(grammar: NativeGrammar, copies: number, owner: number): Promise<NativeConstraint[]> {
    await this.#preparation.compileGrammar(grammar, copies, owner);
    return this.#engine.compileGrammar(grammar, copies, owner);
  }

  cancelPreparation(owner: number): void {
    this.#preparation.cancelPreparation(owner);
    this.#engine.cancelPreparation(owner);
  }

  embed(id: number, tokens: Int32Array, lengths: Int32Array): Promise<Float32Array> {
    return this.#engine.embed(id, tokens, lengths);
  }

  cancelEmbed(id: number): void {
    this.#engine.cancelEmbed(id);
  }

  submit(job: CoreJob, constraint: NativeConstraint | null): void {
    this.#engine.submit(job, constraint);
  }

  pause(jobId: number, paused: boolean): void {
    this.#engine.pause(jobId, paused);
  }

  cancel(jobId: number): void {
    this.#engine.cancel(jobId);
  }

  stats(): Promise<NativeStats> {
    return this.#engine.stats();
  }

  /** Closes the engine alone: what prepares requests outlives it. */
  close(): Promise<void> {
    return this.#engine.close();
  }
}
