/** The engine of this process: the addon's, and parsers for what its jobs write. */
import type {
  NativeConstraint,
  NativeEngine,
  NativeGrammar,
  NativeImage,
  NativePrompt,
  NativeRenderedPrompt,
  NativeStats,
  NativeTokenLists,
} from '../../native/addon.js';
import type { CoreJob, EngineCore } from '../core.js';
import type { ReplyParsers } from './reply-parsers.js';

export class LocalCore implements EngineCore {
  readonly #native: NativeEngine;
  readonly #parsers: ReplyParsers;

  constructor(native: NativeEngine, parsers: ReplyParsers) {
    this.#native = native;
    this.#parsers = parsers;
  }

  submit({ format, ...job }: CoreJob, constraint: NativeConstraint | null): void {
    if (format !== null) this.#parsers.add(job.id, format);
    try {
      this.#native.submit(job, constraint);
    } catch (error) {
      this.#parsers.remove(job.id);
      throw error;
    }
  }

  cancel(jobId: number): void {
    this.#parsers.remove(jobId);
    this.#native.cancel(jobId);
  }

  pause(jobId: number, paused: boolean): void {
    this.#native.pause(jobId, paused);
  }

  render(requestJson: string, owner: number): Promise<NativeRenderedPrompt> {
    return this.#native.preparer.render(requestJson, owner);
  }

  tokenize(text: string, addSpecial: boolean, parseSpecial: boolean, owner: number): Promise<Int32Array> {
    return this.#native.preparer.tokenize(text, addSpecial, parseSpecial, owner);
  }

  tokenizePrompt(prompt: string, images: readonly NativeImage[], owner: number): Promise<NativePrompt> {
    return this.#native.tokenizePrompt(prompt, images, owner);
  }

  tokenizeInfill(prefix: string, suffix: string, owner: number): Promise<Int32Array> {
    return this.#native.preparer.tokenizeInfill(prefix, suffix, owner);
  }

  tokenizeInputs(texts: readonly string[], most: number, owner: number): Promise<NativeTokenLists> {
    return this.#native.preparer.tokenizeInputs(texts, most, owner);
  }

  tokenizePairs(query: string, documents: readonly string[], most: number, owner: number): Promise<NativeTokenLists> {
    return this.#native.preparer.tokenizePairs(query, documents, most, owner);
  }

  pieces(tokens: Int32Array, owner: number): Promise<{ bytes: Uint8Array; ends: Int32Array }> {
    return this.#native.preparer.pieces(tokens, owner);
  }

  embed(id: number, tokens: Int32Array, lengths: Int32Array): Promise<Float32Array> {
    return this.#native.embed(id, tokens, lengths);
  }

  cancelEmbed(id: number): void {
    this.#native.cancelEmbed(id);
  }

  compileGrammar(grammar: NativeGrammar, copies: number, owner: number): Promise<NativeConstraint[]> {
    return this.#native.preparer.compileGrammar(grammar, copies, owner);
  }

  cancelPreparation(owner: number): void {
    this.#native.preparer.cancelPreparation(owner);
  }

  async stats(): Promise<NativeStats> {
    return this.#native.stats();
  }

  close(): Promise<void> {
    return this.#native.close();
  }
}
