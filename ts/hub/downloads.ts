/**
 * Downloads of models, a few at a time. Each is one job for all files of a model. It resumes after a stall, a lost
 * connection, a crash or a restart. A file gets its final name only after its digest was verified.
 */
import { randomBytes } from 'node:crypto';
import { ChasquiError } from '../errors.js';
import { contentOf, type DownloadSettings, downloadFile, ofDisk, partFileOf } from './download-file.js';
import { type DownloadFile, type DownloadJob, type Job, SpeedMeter, sum, toFiles, toJob } from './download-job.js';
import { DownloadStore, type StoredDownload } from './download-store.js';
import { removeOrphans } from './find-in-cache.js';
import { HubCache } from './hub-cache.js';
import type { HubClient } from './hub-client.js';
import type { HubFile } from './hub-types.js';
import { PartFile } from './part-file.js';
import { checkSpace, type DownloadPlan, type FreeBytes, freeDiskBytes, planDownload } from './plan-download.js';
import { ProcessLock } from './process-lock.js';

export type { DownloadFile, DownloadJob } from './download-job.js';
export type { DownloadState } from './download-store.js';

export interface DownloadsOptions extends Partial<DownloadSettings> {
  client: HubClient;
  cacheFolder: string;
  /** Folder of the persistent list. Without it the list ends with the process. */
  folder?: string | undefined;
  /** Parallel downloads. */
  maxActive?: number;
  /** Completed and cancelled downloads to keep in the list. */
  maxFinished?: number;
  freeBytes?: FreeBytes;
}

export interface StartOptions {
  signal?: AbortSignal;
  /** Download even if this llama.cpp does not support the architecture. */
  anyArchitecture?: boolean;
}

type Listener = (job: DownloadJob) => void;

const DEFAULTS: DownloadSettings = {
  ranges: 4,
  minRangeBytes: 8 * 2 ** 20,
  stallTimeoutMs: 30_000,
  retryDelayMs: 1000,
  // With half a minute between attempts: enough for a long network outage.
  maxTries: 60,
};
const MAX_ACTIVE = 2;
const MAX_FINISHED = 100;
const PROGRESS_MS = 250;
/** Why a running download is stopped. `queued`: restart it at once, for example with another client. */
type Interruption = 'paused' | 'cancelled' | 'closed' | 'queued';

export class Downloads {
  #client: HubClient;
  readonly #cache: HubCache;
  readonly #settings: DownloadSettings;
  readonly #maxActive: number;
  readonly #maxFinished: number;
  readonly #freeBytes: FreeBytes;
  readonly #jobs: Job[] = [];
  readonly #listeners = new Set<Listener>();
  #closed = false;

  private constructor(
    options: DownloadsOptions,
    private readonly store: DownloadStore | null,
  ) {
    const { client, cacheFolder, folder: _, freeBytes = freeDiskBytes, ...limited } = options;
    const { maxActive = MAX_ACTIVE, maxFinished = MAX_FINISHED, ...settings } = limited;
    this.#client = client;
    this.#cache = new HubCache(cacheFolder);
    this.#settings = { ...DEFAULTS, ...settings };
    this.#maxActive = maxActive;
    this.#maxFinished = maxFinished;
    this.#freeBytes = freeBytes;
  }

  /**
   * Resumes what an earlier process had not finished.
   * @throws {ChasquiError} `download_in_use` if another process has the list open.
   */
  static async open(options: DownloadsOptions): Promise<Downloads> {
    const store = options.folder === undefined ? null : DownloadStore.open(options.folder);
    const downloads = new Downloads(options, store);
    for (const stored of store?.read() ?? []) {
      const interrupted = ['downloading', 'verifying'].includes(stored.state);
      downloads.#add(interrupted ? { ...stored, state: 'queued' } : stored);
    }
    downloads.#startNext();
    return downloads;
  }

  /**
   * Resolves when the download is in the list. It is complete at once if all files are cached. An unfinished download
   * of the same model is resumed.
   * @throws {ChasquiError} if a check fails before the first byte.
   */
  async start(name: string, { signal, anyArchitecture }: StartOptions = {}): Promise<DownloadJob> {
    const plan = await planDownload(this.#client, name, { signal, anyArchitecture });
    await checkSpace(this.#cache, this.#missingBytes(plan), this.#freeBytes, plan.model);
    // No await from here on: a concurrent call could add the same model twice.
    const same = this.#jobs.filter(({ stored }) => stored.model === plan.model && stored.commit === plan.commit);
    const underWay = same.find(({ stored }) => ['queued', 'downloading', 'verifying'].includes(stored.state));
    if (underWay !== undefined) return toJob(underWay);
    const halted = same.find(({ stored }) => ['paused', 'failed'].includes(stored.state));
    if (halted !== undefined) return this.resume(halted.stored.id);
    const job = this.#add({
      ...plan,
      id: `dl_${randomBytes(16).toString('hex')}`,
      state: 'queued',
      error: null,
      startedAt: Date.now(),
      finishedAt: null,
      path: null,
    });
    if (plan.files.every((file) => this.#isThere(plan, file))) this.#finish(job);
    else this.#keepFirst(job);
    this.#startNext();
    return toJob(job);
  }

  /** Resolves when its transfer has stopped. */
  async pause(id: string): Promise<DownloadJob> {
    const job = this.#get(id);
    await this.#interrupt(job, 'paused');
    return toJob(job);
  }

  resume(id: string): DownloadJob {
    const job = this.#get(id);
    if (['paused', 'failed', 'cancelled'].includes(job.stored.state)) {
      Object.assign(job.stored, { state: 'queued', error: null, finishedAt: null });
      this.#changed(job);
      this.#startNext();
    }
    return toJob(job);
  }

  /** Deletes the part files. A complete model is kept. */
  async cancel(id: string): Promise<DownloadJob> {
    const job = this.#get(id);
    await this.#interrupt(job, 'cancelled');
    if (job.stored.state === 'cancelled') this.#removeParts(job);
    return toJob(job);
  }

  list(): DownloadJob[] {
    return this.#jobs.map(toJob);
  }

  /** Progress of each file of a download, in download order. */
  filesOf(id: string): DownloadFile[] {
    return toFiles(this.#get(id));
  }

  find(id: string): DownloadJob | undefined {
    const job = this.#jobs.find(({ stored }) => stored.id === id);
    return job && toJob(job);
  }

  /** Resolves when the download is finished or paused. */
  async ended(id: string): Promise<DownloadJob> {
    const isOver = ({ state }: DownloadJob) => ['completed', 'failed', 'cancelled', 'paused'].includes(state);
    const job = toJob(this.#get(id));
    if (isOver(job)) return job;
    return new Promise((resolve) => {
      const stop = this.on((changed) => {
        if (changed.id !== id || !isOver(changed)) return;
        stop();
        resolve(changed);
      });
    });
  }

  /** Reports every change of state, and progress at intervals. Returns a function that unsubscribes. */
  on(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Moves running downloads to a new client. Resolves when none uses the old one. */
  async moveTo(client: HubClient): Promise<void> {
    this.#client = client;
    const running = this.#jobs.filter((job) => job.running !== null);
    await Promise.all(running.map((job) => this.#interrupt(job, 'queued')));
  }

  /** Stops all transfers. The next process that opens the list resumes them. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#jobs.map((job) => this.#interrupt(job, 'closed')));
    this.store?.close();
  }

  #get(id: string): Job {
    const job = this.#jobs.find(({ stored }) => stored.id === id);
    if (job === undefined) throw new ChasquiError('download_not_found', `Download ${id.slice(0, 60)} not found.`, 'id');
    return job;
  }

  #add(stored: StoredDownload): Job {
    const isOver = stored.state === 'completed';
    const fileBytes = stored.files.map((file) => (isOver ? file.sizeBytes : this.#bytesOf(stored, file)));
    const job: Job = { stored, fileBytes, meter: new SpeedMeter(), running: null, toldAt: 0 };
    const finished = this.#jobs.filter((each) => ['completed', 'cancelled'].includes(each.stored.state));
    for (const old of finished.slice(0, -this.#maxFinished)) this.#jobs.splice(this.#jobs.indexOf(old), 1);
    this.#jobs.push(job);
    return job;
  }

  #startNext(): void {
    if (this.#closed) return;
    const active = this.#jobs.filter(({ running }) => running !== null).length;
    const next = this.#jobs.filter(({ stored, running }) => stored.state === 'queued' && running === null);
    for (const job of next.slice(0, Math.max(0, this.#maxActive - active))) {
      const stop = new AbortController();
      job.running = { stop, ended: this.#run(job, stop.signal) };
    }
  }

  async #run(job: Job, signal: AbortSignal): Promise<void> {
    try {
      this.#become(job, 'downloading');
      job.meter.begin(sum(job.fileBytes));
      await checkSpace(this.#cache, this.#missingBytes(job.stored), this.#freeBytes, job.stored.model);
      for (const index of job.stored.files.keys()) await this.#download(job, index, signal);
      this.#finish(job);
    } catch (error) {
      this.#failOrStop(job, error, signal);
    }
    job.running = null;
    this.#startNext();
  }

  async #download(job: Job, index: number, signal: AbortSignal): Promise<void> {
    const { stored, fileBytes, meter } = job;
    const file = stored.files[index] as HubFile;
    if (this.#isThere(stored, file)) {
      fileBytes[index] = file.sizeBytes;
      return;
    }
    this.#become(job, 'downloading');
    const blob = await downloadFile({
      client: this.#client,
      cache: this.#cache,
      repo: stored.repo,
      commit: stored.commit,
      file,
      settings: this.#settings,
      signal,
      onBytes: (bytes) => {
        fileBytes[index] = bytes;
        meter.add(sum(fileBytes));
        this.#become(job, 'downloading', PROGRESS_MS);
      },
      onTrouble: (error) => this.#tellTrouble(job, error),
      onVerify: () => this.#become(job, 'verifying'),
    });
    fileBytes[index] = file.sizeBytes;
    // A file with a digest is found by it later, so link it only when all files are complete.
    if (file.sha256 === null) this.#cache.link(stored.repo, stored.commit, file.path, blob);
  }

  /** Links every file into the snapshot and makes the snapshot the current one. */
  #finish(job: Job): void {
    const { repo, commit, files } = job.stored;
    const missing = files.find((file) => !this.#isThere(job.stored, file));
    if (missing !== undefined) throw deletedMeanwhile(missing);
    const paths = files.map((file) => {
      const blob = this.#cache.findBlob(repo, file);
      return blob === null
        ? this.#cache.snapshotFile(repo, commit, file.path)
        : this.#cache.link(repo, commit, file.path, blob);
    });
    this.#cache.writeRef(repo, commit);
    // A process killed between rename and cleanup leaves the state file of a complete part.
    for (const file of files) PartFile.remove(partFileOf(this.#cache, repo, contentOf({ repo, commit, file })));
    Object.assign(job.stored, { state: 'completed', error: null, finishedAt: Date.now(), path: paths[0] });
    job.fileBytes = files.map(({ sizeBytes }) => sizeBytes);
    job.meter.end();
    this.#changed(job);
  }

  #failOrStop(job: Job, error: unknown, signal: AbortSignal): void {
    job.meter.end();
    const { code, message } =
      error instanceof ChasquiError ? error : { code: 'internal_error', message: String(error) };
    const why = signal.aborted ? (signal.reason as Interruption) : null;
    if (why === 'closed') return;
    if (why === null) Object.assign(job.stored, { state: 'failed', error: { code, message }, finishedAt: Date.now() });
    else Object.assign(job.stored, { state: why, error: null, ...(why === 'cancelled' && { finishedAt: Date.now() }) });
    this.#changed(job);
  }

  async #interrupt(job: Job, why: Interruption): Promise<void> {
    if (job.running !== null) {
      const { stop, ended } = job.running;
      stop.abort(why);
      await ended;
      // Already queued for another client: stop the restarted transfer too.
      if (stop.signal.reason === 'queued' && why !== 'queued') await this.#interrupt(job, why);
    } else if (why !== 'closed' && ['queued', 'paused', 'failed'].includes(job.stored.state)) {
      if (why === 'paused' && job.stored.state !== 'queued') return;
      Object.assign(job.stored, { state: why, ...(why === 'cancelled' && { finishedAt: Date.now() }) });
      this.#changed(job);
    }
  }

  #become(job: Job, state: 'downloading' | 'verifying', atMostEveryMs = 0): void {
    const isNew = job.stored.state !== state;
    job.stored.state = state;
    if (isNew) this.#changed(job);
    else if (Date.now() - job.toldAt >= atMostEveryMs) this.#tell(job);
  }

  #tellTrouble(job: Job, error: ChasquiError | null): void {
    if (error === null && job.stored.error === null) return;
    job.stored.error = error && { code: error.code, message: error.message };
    this.#tell(job);
  }

  /** Refuses a new download if the list cannot be written. */
  #keepFirst(job: Job): void {
    try {
      this.#write();
    } catch (error) {
      this.#jobs.splice(this.#jobs.indexOf(job), 1);
      throw ofDisk(error, 'The list of downloads');
    }
    this.#tell(job);
  }

  /**
   * Persists a change. If the list cannot be written now (disk full, too many open files), the download continues: the
   * next change writes the list, and a process that reads the stale list checks the disk.
   */
  #changed(job: Job): void {
    try {
      this.#write();
    } catch {}
    this.#tell(job);
  }

  #write(): void {
    this.store?.write(this.#jobs.map(({ stored }) => stored));
  }

  #tell(job: Job): void {
    job.toldAt = Date.now();
    for (const listener of this.#listeners) listener(toJob(job));
  }

  #isThere({ repo, commit }: DownloadPlan, file: HubFile): boolean {
    return (this.#cache.findBlob(repo, file) ?? this.#cache.findLinked(repo, commit, file)) !== null;
  }

  #bytesOf(plan: DownloadPlan, file: HubFile): number {
    if (this.#isThere(plan, file)) return file.sizeBytes;
    const content = contentOf({ ...plan, file });
    return PartFile.bytesIn(partFileOf(this.#cache, plan.repo, content), content);
  }

  /** Bytes still to download, for this download and all running ones. */
  #missingBytes(plan: DownloadPlan): number {
    const others = this.#jobs.filter(({ stored, running }) => running !== null && stored.model !== plan.model);
    const plans = [plan, ...others.map(({ stored }) => stored)];
    return sum(plans.flatMap((each) => each.files.map((file) => file.sizeBytes - this.#bytesOf(each, file))));
  }

  /** Keeps complete files, and parts that another download needs, including one of another process. */
  #removeParts(job: Job): void {
    const { stored } = job;
    const { repo } = stored;
    const wanted = this.#jobs
      .filter((other) => other !== job && other.stored.repo === repo && other.stored.state !== 'cancelled')
      .flatMap((other) => other.stored.files.map((file) => contentOf({ ...other.stored, file }).digest));
    const contents = stored.files
      .map((file) => contentOf({ ...stored, file }))
      .filter(({ digest }) => !wanted.includes(digest));
    const locks = contents.map(({ digest }) => ProcessLock.tryTake(this.#cache.lock(repo, digest)));
    for (const [index, content] of contents.entries()) {
      if (locks[index] !== null) PartFile.remove(partFileOf(this.#cache, repo, content));
    }
    // Another process downloading one file of the model needs the others, too.
    if (!locks.includes(null)) removeOrphans(this.#cache, repo, new Set(contents.map(({ digest }) => digest)));
    for (const lock of locks) lock?.release();
    job.fileBytes = stored.files.map((file) => this.#bytesOf(stored, file));
  }
}

function deletedMeanwhile({ path: name }: HubFile): ChasquiError {
  return new ChasquiError(
    'download_failed',
    `${name} was deleted during the download. Try again: only this file is fetched.`,
  );
}
