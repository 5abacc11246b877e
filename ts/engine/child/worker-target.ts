/** Runs the calls of a server in the process of an engine; native objects cross the pipe as numbers. */
import type { NativeConstraint, NativeImage, NativePrompt } from '../../native/addon.js';
import { CALLS, type CallArgs, type CallName, type CallTarget } from '../calls.js';
import type { CoreJob } from '../core.js';
import type { JobControl } from '../engine-types.js';
import type { LocalCore } from '../local/local-core.js';
import { MediaTable } from './media-table.js';

export type WireJob = Omit<CoreJob, 'media'> & { media: number | null };

/** A prompt as it crosses the pipe. */
export type WirePrompt = Omit<NativePrompt, 'media'> & { media: number | null };

/** Calls without a result. */
export interface WorkerMessages {
  submit: [job: WireJob, constraint: number | null];
  control: [jobId: number, action: JobControl];
  pause: [jobId: number, paused: boolean];
  cancel: [jobId: number];
  cancelOwner: [owner: number];
  release: [kind: 'media' | 'constraints', id: number];
}

export class WorkerTarget implements CallTarget {
  readonly #media: MediaTable;
  readonly #constraints = new Map<number, NativeConstraint>();
  #lastConstraint = 0;
  /** Jobs waiting for their images to be decoded. A cancelled job leaves the set, and is not submitted. */
  readonly #waiting = new Set<number>();

  /** `fail` reports an error in a job, and ends it. */
  constructor(
    private readonly core: Pick<LocalCore, 'run' | 'cancelOwner' | 'submit' | 'pause' | 'cancel' | 'control'>,
    private readonly fail: (jobId: number, thrown: unknown) => void,
  ) {
    this.#media = new MediaTable((...args) => core.run('tokenizePrompt', ...args));
  }

  /** Results with handles differ from those of `CallTarget`: they hold numbers. */
  async run<M extends CallName>(method: M, args: CallArgs<M>, owner: number): Promise<never> {
    return (await this.#run(method, args as unknown as CallArgs<CallName>, owner)) as never;
  }

  cancelOwner(owner: number): void {
    this.core.cancelOwner(owner);
  }

  async submit(job: WireJob, constraintId: number | null): Promise<void> {
    try {
      const constraint = constraintId === null ? null : this.#takeConstraint(constraintId);
      // Without images nothing is awaited, so that later calls about the job stay behind it.
      if (job.media === null) this.core.submit({ ...job, media: null }, constraint);
      else await this.#submitWithImages(job, job.media, constraint);
    } catch (thrown) {
      this.fail(job.id, thrown);
    }
  }

  control(jobId: number, action: JobControl): void {
    this.core.control(jobId, action);
  }

  pause(jobId: number, paused: boolean): void {
    this.core.pause(jobId, paused);
  }

  cancel(jobId: number): void {
    if (!this.#waiting.delete(jobId)) this.core.cancel(jobId);
  }

  release(kind: 'media' | 'constraints', id: number): void {
    if (kind === 'media') this.#media.release(id);
    else this.#constraints.delete(id);
  }

  async #run(method: CallName, args: CallArgs<CallName>, owner: number): Promise<unknown> {
    const { handles } = CALLS[method];
    if (handles === 'media') return this.#media.tokenize(args as [string, readonly NativeImage[]], owner);
    const result = await this.core.run(method, args, owner);
    return handles === 'constraints'
      ? (result as NativeConstraint[]).map((each) => this.#keepConstraint(each))
      : result;
  }

  async #submitWithImages(job: WireJob, mediaId: number, constraint: NativeConstraint | null): Promise<void> {
    this.#waiting.add(job.id);
    try {
      const media = await this.#media.get(mediaId);
      if (this.#waiting.has(job.id)) this.core.submit({ ...job, media }, constraint);
    } finally {
      this.#waiting.delete(job.id);
    }
  }

  #keepConstraint(constraint: NativeConstraint): number {
    this.#lastConstraint += 1;
    this.#constraints.set(this.#lastConstraint, constraint);
    return this.#lastConstraint;
  }

  /** A constraint is used once. */
  #takeConstraint(id: number): NativeConstraint {
    const constraint = this.#constraints.get(id);
    if (constraint === undefined) throw new Error(`There is no constraint ${id} in this process.`);
    this.#constraints.delete(id);
    return constraint;
  }
}
