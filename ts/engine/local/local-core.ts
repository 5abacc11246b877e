/** The engine in this process: the addon's, and parsers for the completions of its jobs. */
import type { NativeConstraint, NativeEngine, NativeImage, NativeMedia } from '../../native/addon.js';
import { type CallArgs, type CallName, type CallResult, OwnedCalls } from '../calls.js';
import type { CoreJob, EngineCore } from '../core.js';
import type { JobControl } from '../engine-types.js';
import type { ReplyParsers } from './reply-parsers.js';

interface Embedding {
  owner: number;
  reject(error: Error): void;
}

export class LocalCore extends OwnedCalls implements EngineCore {
  /** By the id that native code knows them by. */
  readonly #embeddings = new Map<number, Embedding>();
  #lastEmbedding = 0;

  constructor(
    private readonly native: NativeEngine,
    private readonly parsers: ReplyParsers,
  ) {
    super();
    parsers.onRepeatedCall = (jobId) => native.finish(jobId);
  }

  async run<M extends CallName>(method: M, args: CallArgs<M>, owner: number): Promise<CallResult<M>> {
    return (await this.#run(method, args, owner)) as CallResult<M>;
  }

  cancelOwner(owner: number): void {
    this.native.preparer.cancelPreparation(owner);
    for (const [id, embedding] of this.#embeddings) {
      if (embedding.owner !== owner) continue;
      this.native.cancelEmbed(id);
      embedding.reject(new Error('The embedding was cancelled.'));
    }
  }

  submit({ format, ...job }: CoreJob, constraint: NativeConstraint | null): void {
    if (format !== null) this.parsers.add(job.id, format);
    try {
      this.native.submit(job, constraint);
    } catch (error) {
      this.parsers.remove(job.id);
      throw error;
    }
  }

  cancel(jobId: number): void {
    this.parsers.remove(jobId);
    this.native.cancel(jobId);
  }

  control(jobId: number, action: JobControl): void {
    this.native[action](jobId);
  }

  pause(jobId: number, paused: boolean): void {
    this.native.pause(jobId, paused);
  }

  close(): Promise<void> {
    return this.native.close();
  }

  #run(method: CallName, args: readonly unknown[], owner: number): unknown {
    if (method === 'stats') return this.native.stats();
    if (method === 'embed') return this.#embed(owner, ...(args as CallArgs<'embed'>), null);
    if (method === 'embedPrompt') return this.#embedPrompt(owner, ...(args as CallArgs<'embedPrompt'>));
    if (method === 'tokenizePrompt') {
      return this.native.tokenizePrompt(...(args as [string, readonly NativeImage[]]), owner);
    }
    const preparer = this.native.preparer as unknown as Record<string, (...args: unknown[]) => unknown>;
    return preparer[method]?.(...args, owner);
  }

  async #embedPrompt(
    owner: number,
    ...[prompt, images, maxTokens]: CallArgs<'embedPrompt'>
  ): Promise<CallResult<'embedPrompt'>> {
    const { tokens, media } = await this.native.tokenizePrompt(prompt, images as readonly NativeImage[], owner);
    const promptTokens = tokens.length;
    if (promptTokens > maxTokens) return { promptTokens, vector: null };
    return { promptTokens, vector: await this.#embed(owner, tokens, Int32Array.of(promptTokens), media) };
  }

  /** The native promise never settles once it has been cancelled. */
  #embed(owner: number, ...args: [...CallArgs<'embed'>, media: NativeMedia | null]): Promise<Float32Array> {
    this.#lastEmbedding = (this.#lastEmbedding + 1) % 2 ** 31;
    const id = this.#lastEmbedding;
    return new Promise<Float32Array>((resolve, reject) => {
      this.#embeddings.set(id, { owner, reject });
      this.native.embed(id, ...args).then(resolve, reject);
    }).finally(() => this.#embeddings.delete(id));
  }
}
