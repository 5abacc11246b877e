/** What a server may call in the process of an engine: an `EngineCore`, with numbers for its handles. */
import type { NativeGrammar, NativeImage, NativePrompt } from '../../native/addon.js';
import type { CoreJob, EngineCore } from '../core.js';
import { MediaTable } from './media-table.js';

export type WireJob = Omit<CoreJob, 'media'> & { media: number | null };

/** A prompt as it crosses the pipe. */
export type WirePrompt = Omit<NativePrompt, 'media'> & { media: number | null };

// biome-ignore lint/suspicious/noExplicitAny: each method has its own arguments, which the server's side types
export type CoreMethods = Record<string, (...args: any[]) => unknown>;

/** `fail` tells what is wrong with a job, and ends it. */
export function coreMethods(core: EngineCore, fail: (jobId: number, thrown: unknown) => void): CoreMethods {
  const media = new MediaTable(core);
  const constraints = new HandleTable<Awaited<ReturnType<EngineCore['compileGrammar']>>[number]>();
  /** Jobs whose images are still being read; one that is cancelled meanwhile is not submitted. */
  const waiting = new Set<number>();
  const submit = async ({ media: id, ...job }: WireJob, constraintId: number | null) => {
    const constraint = constraintId === null ? null : constraints.take(constraintId);
    // Without images nothing is awaited, so that calls about the job stay behind it.
    if (id === null) return core.submit({ ...job, media: null }, constraint);
    waiting.add(job.id);
    try {
      const images = await media.get(id);
      if (waiting.has(job.id)) core.submit({ ...job, media: images }, constraint);
    } finally {
      waiting.delete(job.id);
    }
  };
  return {
    render: core.render.bind(core),
    tokenize: core.tokenize.bind(core),
    tokenizeInfill: core.tokenizeInfill.bind(core),
    tokenizeInputs: core.tokenizeInputs.bind(core),
    tokenizePairs: core.tokenizePairs.bind(core),
    pieces: core.pieces.bind(core),
    embed: core.embed.bind(core),
    cancelEmbed: core.cancelEmbed.bind(core),
    cancelPreparation: core.cancelPreparation.bind(core),
    pause: core.pause.bind(core),
    stats: core.stats.bind(core),
    async tokenizePrompt(prompt: string, images: readonly NativeImage[], owner: number): Promise<WirePrompt> {
      const { tokens, id } = await media.tokenize(prompt, images, owner);
      return { tokens, media: id };
    },
    async compileGrammar(grammar: NativeGrammar, copies: number, owner: number): Promise<number[]> {
      const compiled = await core.compileGrammar(grammar, copies, owner);
      return compiled.map((constraint) => constraints.add(constraint));
    },
    cancel(jobId: number): void {
      if (!waiting.delete(jobId)) core.cancel(jobId);
    },
    submit: (job: WireJob, constraint: number | null) =>
      submit(job, constraint).catch((thrown) => fail(job.id, thrown)),
    releaseMedia: (id: number) => media.release(id),
    releaseConstraint: (id: number) => constraints.release(id),
  };
}

/** Native objects by number, for the other process. */
class HandleTable<T> {
  readonly #values = new Map<number, T>();
  #last = 0;

  add(value: T): number {
    this.#last += 1;
    this.#values.set(this.#last, value);
    return this.#last;
  }

  /** Whoever takes one releases it. */
  take(id: number): T {
    const value = this.#values.get(id);
    if (value === undefined) throw new Error(`There is no object ${id} in this process.`);
    this.#values.delete(id);
    return value;
  }

  release(id: number): void {
    this.#values.delete(id);
  }
}
