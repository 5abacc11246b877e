/** Batches that wait or run. At most one of each owner runs at a time. */
import type { FastifyInstance } from 'fastify';
import { ChasquiError, invalidValue } from '../../../errors.js';
import { InjectedRequests } from '../../../http/injected-requests.js';
import type { AppContext } from '../../context.js';
import type { BatchError, BatchObject } from '../../shared/batch-schema.js';
import { OwnFiles } from '../../shared/own-files.js';
import type { Caller } from '../../shared/owner.js';
import { BatchResults } from './batch-results.js';
import { type BatchLine, checkLines, isBlank, readLine, splitLines, toBatchError } from './read-lines.js';
import { notRun, refusal, runLines, sendThrough } from './run-lines.js';

/** Limit for all owners together. */
const MAX_RUNNING = 4;
const MAX_QUEUED = 256;
/** Interval between two stores of the results. A crash loses the results since the last one; their lines run again. */
const SAVE_EVERY_MS = 1000;

export interface BatchOwner {
  id: string;
  store: NonNullable<AppContext['responses']>;
  /** Headers of the requests, with the API key. */
  caller: Caller;
}

interface Job {
  owner: BatchOwner;
  batch: BatchObject;
  parts: number;
  /** The reason of its signal becomes the final status. */
  controller: AbortController;
  running: Promise<void> | null;
}

type End = 'completed' | 'cancelled' | 'expired';

export class BatchQueue {
  /** In the order of arrival. */
  readonly #jobs = new Map<string, Job>();
  readonly #requests: InjectedRequests;

  constructor(
    private readonly app: FastifyInstance,
    private readonly context: AppContext,
  ) {
    this.#requests = new InjectedRequests(app);
  }

  /** The current state of a waiting or running batch. */
  get(id: string): BatchObject | null {
    return this.#jobs.get(id)?.batch ?? null;
  }

  /** Starts a new batch, or continues one of an earlier process. Throws `queue_full` and `store_failed`. */
  add(owner: BatchOwner, batch: BatchObject, parts = 0): void {
    if (this.#jobs.size >= MAX_QUEUED) {
      throw new ChasquiError(
        'queue_full',
        `${this.#jobs.size} batches are waiting. Retry after one of them has ended.`,
      );
    }
    owner.store.put(owner.id, { batch, parts });
    const job: Job = { owner, batch, parts, controller: new AbortController(), running: null };
    if (batch.status === 'cancelling') job.controller.abort('cancelled');
    this.#jobs.set(batch.id, job);
    this.#startNext();
  }

  cancel(id: string): void {
    const job = this.#jobs.get(id);
    if (job === undefined || job.controller.signal.aborted) return;
    this.#change(job, { status: 'cancelling', cancelling_at: now() });
    job.controller.abort('cancelled');
    this.#startNext();
  }

  /** Resolves when no batch runs. */
  async close(): Promise<void> {
    await Promise.all([...this.#jobs.values()].map(({ running }) => running));
  }

  #startNext(): void {
    if (this.context.running.stopping.aborted) return;
    for (const job of this.#jobs.values()) {
      if (job.running !== null) continue;
      const running = [...this.#jobs.values()].filter((each) => each.running !== null);
      const mustWait = running.length >= MAX_RUNNING || running.some(({ owner }) => owner.id === job.owner.id);
      if (mustWait && !job.controller.signal.aborted) continue;
      job.running = this.#run(job).finally(() => {
        this.#jobs.delete(job.batch.id);
        this.#startNext();
      });
    }
  }

  /** Never rejects. */
  async #run(job: Job): Promise<void> {
    const { controller, batch } = job;
    const { stopping } = this.context.running;
    const expiry = setTimeout(() => controller.abort('expired'), Math.max(0, batch.expires_at * 1000 - Date.now()));
    try {
      await this.#runUntil(job, AbortSignal.any([controller.signal, stopping]));
    } catch (error) {
      if (stopping.aborted) return;
      this.app.log.error({ err: error, batch: batch.id }, 'batch failed');
      const failure = error instanceof ChasquiError ? error : new ChasquiError('internal_error', 'The batch failed.');
      try {
        this.#fail(job, [toBatchError(failure)]);
      } catch {
        // Only the store throws here.
      }
    } finally {
      clearTimeout(expiry);
    }
  }

  async #runUntil(job: Job, signal: AbortSignal): Promise<void> {
    const { owner, batch } = job;
    const content = new OwnFiles(owner.caller, this.context).content(batch.input_file_id);
    if (content === null) return this.#fail(job, [toBatchError(missingFile(batch.input_file_id))]);
    const { errors, count } = await checkLines(splitLines(content), batch.endpoint);
    if (errors.length > 0) return this.#fail(job, errors);
    const results = new BatchResults({ store: owner.store, owner: owner.id, batch: batch.id }, job.parts);
    this.#change(job, { request_counts: { ...batch.request_counts, total: count } });
    if (job.batch.status === 'validating') this.#change(job, { status: 'in_progress', in_progress_at: now() });
    const end = await this.#runLines(job, content, results, signal);
    if (end !== null) this.#finish(job, content, results, end);
  }

  /** Returns null if the server stops. */
  async #runLines(job: Job, content: Buffer, results: BatchResults, signal: AbortSignal): Promise<End | null> {
    const { owner, batch, controller } = job;
    const save = (): void => {
      const parts = results.save();
      if (parts === job.parts) return;
      job.parts = parts;
      const { total } = job.batch.request_counts;
      const { completed, failed } = results;
      this.#change(job, { request_counts: { total, completed, failed } });
    };
    const send = sendThrough(this.#requests, this.context.basePath, keyOf(owner.caller));
    const timer = setInterval(() => {
      try {
        save();
      } catch {
        // The end of the batch reports it.
      }
    }, SAVE_EVERY_MS);
    try {
      await runLines(linesOf(content, batch, results), {
        signal,
        send: (line, on) => (results.isFull ? Promise.resolve(refusal(tooMuch(), 413)) : send(line, on)),
        onOutcome: (outcome) => results.add(outcome),
      });
      return 'completed';
    } catch (error) {
      if (!signal.aborted) throw error;
      return controller.signal.aborted ? (controller.signal.reason as End) : null;
    } finally {
      clearInterval(timer);
      save();
    }
  }

  #finish(job: Job, content: Buffer, results: BatchResults, end: End): void {
    this.#change(job, { status: 'finalizing', finalizing_at: now() });
    if (end === 'expired') {
      for (const { bytes } of splitLines(content)) {
        if (isBlank(bytes)) continue;
        const line = readLine(bytes, job.batch.endpoint);
        if (!results.has(line.custom_id))
          results.add(notRun(line, 'batch_expired', 'The batch expired before it ran.'));
      }
    }
    const { completed, failed, usage } = results;
    const { output, errors } = results.files();
    const files = new OwnFiles(job.owner.caller, this.context);
    const write = (bytes: Buffer, kind: string): string | null =>
      bytes.length === 0 ? null : files.add(`${job.batch.id}_${kind}.jsonl`, 'batch_output', bytes).id;
    const { total } = job.batch.request_counts;
    const output_file_id = write(output, 'output');
    const error_file_id = write(errors, 'error');
    results.clear();
    job.parts = 0;
    const request_counts = { total, completed, failed };
    this.#change(job, { status: end, [`${end}_at`]: now(), output_file_id, error_file_id, request_counts, usage });
  }

  #fail(job: Job, data: BatchError[]): void {
    this.#change(job, { status: 'failed', failed_at: now(), errors: { object: 'list', data } });
  }

  #change(job: Job, changes: Partial<BatchObject>): void {
    job.batch = { ...job.batch, ...changes };
    job.owner.store.put(job.owner.id, { batch: job.batch, parts: job.parts });
  }
}

async function* linesOf(content: Buffer, { endpoint }: BatchObject, results: BatchResults): AsyncGenerator<BatchLine> {
  for (const { bytes } of splitLines(content)) {
    if (isBlank(bytes)) continue;
    const line = readLine(bytes, endpoint);
    if (!results.has(line.custom_id)) yield line;
  }
}

export function now(): number {
  return Math.floor(Date.now() / 1000);
}

function keyOf({ headers, apiKey }: Caller): Record<string, string> {
  if (apiKey !== undefined) return { authorization: `Bearer ${apiKey}` };
  const { authorization, 'x-api-key': key } = headers;
  return { ...(authorization && { authorization }), ...(key && { 'x-api-key': String(key) }) };
}

export function missingFile(id: string): ChasquiError {
  const message = `There is no file \`${id.slice(0, 100)}\`: it was never uploaded, was deleted, or belongs to another key.`;
  return invalidValue(message, 'input_file_id');
}

function tooMuch(): ChasquiError {
  return new ChasquiError('request_too_large', 'The results of the batch exceed 20 MiB: split the file.');
}
