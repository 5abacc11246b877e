/** One runner and its states: loading, warming, ready, draining, gone. Each change is told to the app it belongs to. */
import type { ErrorCode } from '../../errors.js';
import { isOutOfFiles } from '../../process/open-files.js';
import { lookAt, warmUp } from '../runners/ask-runner.js';
import type { RunnerStatus } from '../runners/protocol.js';
import type { RunnerListener, RunnerProcess } from '../runners/runner-process.js';
import type { RunnerState } from './app-store.js';

export interface RunnerFacts {
  readonly id: string;
  readonly revision: number;
  readonly slots: number;
  readonly bytes: number;
  readonly startMs: number;
  readonly drainMs: number;
}

/** How a runner ended. */
export interface RunnerEnd {
  readonly state: 'STOPPED' | 'CRASHED';
  readonly reason: string;
  /** The runner itself said why it cannot start; another start would end in the same way. */
  readonly isPermanent: boolean;
}

export interface RunnerHooks {
  /** The state, or what is known of its progress, changed. */
  onChange(runner: LiveRunner, state: RunnerState, reason: string): void;
  onProgress(runner: LiveRunner): void;
  onEnd(runner: LiveRunner, end: RunnerEnd): void;
  /** What it wrote last. */
  lastWords(runner: LiveRunner): string;
}

/** What would be no other at the next start. */
const PERMANENT: readonly ErrorCode[] = [
  'model_file_missing',
  'model_file_invalid',
  'model_load_failed',
  'invalid_options',
  'backend_unavailable',
  'addon_missing',
];

const LOOK_EVERY_MS = 15_000;
const MAX_MISSES = 3;
/** Those who were sent to it a moment ago still arrive before it stops to take requests. */
const LAST_ARRIVALS_MS = 500;
/** To free the model and end, after the last request. */
const END_MS = 20_000;

export class LiveRunner {
  state: RunnerState;
  status: RunnerStatus | null = null;
  process: RunnerProcess | null = null;
  #timers = new Set<NodeJS.Timeout>();
  #misses = 0;
  #endsBecause: string | null = null;

  constructor(
    readonly facts: RunnerFacts,
    private readonly hooks: RunnerHooks,
    /** What the database has, of a runner that an earlier control plane started. */
    private readonly foundAs: RunnerState | null = null,
  ) {
    this.state = foundAs === 'DRAINING' ? 'DRAINING' : 'LOADING';
    this.#later(facts.startMs, () => {
      if (this.state !== 'LOADING' && this.state !== 'WARMING') return;
      this.#end(`it did not start within ${facts.startMs / 1000} seconds`);
    });
  }

  get id(): string {
    return this.facts.id;
  }

  get listener(): RunnerListener {
    return { onStatus: (status) => this.#onStatus(status), onEnd: (how) => this.#onEnd(how) };
  }

  /** Such as `loading 43 %`. */
  get progress(): string {
    if (this.state === 'WARMING') return 'warming';
    return `loading ${Math.floor((this.status?.fraction ?? 0) * 100)} %`;
  }

  /** Takes no more requests, and ends when the last one is over. */
  drain(reason: string): void {
    if (this.state === 'DRAINING') return;
    const wasReady = this.state === 'READY';
    this.#become('DRAINING', reason);
    this.#later(wasReady ? LAST_ARRIVALS_MS : 0, () => this.process?.stop());
    this.#later(this.facts.drainMs + END_MS, () => this.process?.kill());
  }

  /** Ends at once; that counts as a crash. */
  #end(reason: string): void {
    this.#endsBecause = reason;
    this.process?.kill();
  }

  /** Looks whether it still replies. */
  async look(): Promise<void> {
    if (this.state !== 'READY' || this.process === null) return;
    try {
      const health = await lookAt(this.process.socketPath);
      this.#misses = health === null ? this.#misses + 1 : 0;
      if (this.#misses >= MAX_MISSES) this.#end('it does not reply any more');
    } catch (error) {
      if (!isOutOfFiles(error)) this.#end((error as Error).message);
    }
  }

  /** Stops to watch it, and leaves it running. */
  forget(): void {
    this.#clear();
    this.process?.forget();
  }

  #onStatus(status: RunnerStatus): void {
    const isFirst = this.status === null;
    this.status = status;
    if (this.state === 'DRAINING') {
      // It was told to stop when the one who told it was killed, or just before.
      if (isFirst && status.state !== 'draining') this.process?.stop();
      return;
    }
    if (status.state === 'ready' && this.state === 'LOADING') this.#onLoaded(status);
    else if (status.state === 'draining') this.#become('DRAINING', 'it was told to stop');
    else this.hooks.onProgress(this);
  }

  #onLoaded({ models }: RunnerStatus): void {
    if (this.foundAs === 'READY') {
      this.#beReady('was found again');
      return;
    }
    this.#become('WARMING', models.length > 1 ? 'the models are loaded' : 'the model is loaded');
    const path = this.process?.socketPath;
    if (path === undefined) return;
    warmUp(path, models).then(
      () => this.state === 'WARMING' && this.#beReady('answered a warm-up'),
      (error: Error) => this.#end(`it did not answer a warm-up: ${error.message}`),
    );
  }

  #beReady(reason: string): void {
    this.#become('READY', reason);
    const timer = setInterval(() => void this.look(), LOOK_EVERY_MS);
    this.#timers.add(timer);
  }

  #become(state: RunnerState, reason: string): void {
    this.state = state;
    this.hooks.onChange(this, state, reason);
  }

  #onEnd(how: string): void {
    this.#clear();
    this.hooks.onEnd(this, this.#describeEnd(how));
  }

  #describeEnd(how: string): RunnerEnd {
    if (this.state === 'DRAINING') return { state: 'STOPPED', reason: how, isPermanent: false };
    if (this.foundAs !== null && this.status === null) {
      return { state: 'STOPPED', reason: 'it was gone when the control plane came back', isPermanent: false };
    }
    const failure = this.status?.failure ?? null;
    const isPermanent = failure !== null && PERMANENT.includes(failure.code);
    const reason = failure?.message ?? this.#endsBecause ?? withWords(how, this.hooks.lastWords(this));
    // The runner's own words are shown in terminals, which they must not control.
    return { state: 'CRASHED', reason: reason.replaceAll(/\p{Cc}+/gu, ' '), isPermanent };
  }

  #later(ms: number, action: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, ms);
    this.#timers.add(timer);
  }

  #clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}

function withWords(how: string, words: string): string {
  return words === '' ? how : `${how} (${words})`;
}
