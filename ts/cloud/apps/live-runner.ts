/** A runner and its states: loading, warming, ready, draining, ended. Reports each change to its app. */
import type { ErrorCode } from '../../errors.js';
import { withoutControls } from '../../process/fork-script.js';
import { isOutOfFiles } from '../../process/open-files.js';
import { fetchHealth, warmUp } from '../runners/ask-runner.js';
import type { RunnerStatus } from '../runners/protocol.js';
import type { RunnerListener, RunnerProcess } from '../runners/runner-process.js';
import type { RunnerState } from './app-store.js';

export interface RunnerFacts {
  readonly id: string;
  readonly revision: number;
  readonly slots: number;
  readonly bytes: number;
  /** GPUs that no other runner uses. */
  readonly gpus: readonly string[];
  readonly startMs: number;
  readonly drainMs: number;
}

export interface RunnerEnd {
  readonly state: 'STOPPED' | 'CRASHED';
  readonly reason: string;
  /** The runner reported why it cannot start, and a retry would fail in the same way. */
  readonly isPermanent: boolean;
}

export interface RunnerHooks {
  onChange(runner: LiveRunner, state: RunnerState, reason: string): void;
  onProgress(runner: LiveRunner): void;
  onEnd(runner: LiveRunner, end: RunnerEnd): void;
  lastLogLine(runner: LiveRunner): string;
}

/** Errors that a retry would repeat. */
export const PERMANENT: readonly ErrorCode[] = [
  'model_file_missing',
  'model_file_invalid',
  'model_load_failed',
  'invalid_options',
  'backend_unavailable',
  'addon_missing',
];

const HEALTH_CHECK_MS = 15_000;
const MAX_MISSED_CHECKS = 3;
/** Requests that are already on their way arrive before the runner stops accepting. */
const ARRIVAL_GRACE_MS = 500;
/** Time to free the model and exit after the last request. */
const EXIT_GRACE_MS = 20_000;

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
    /** The stored state of a runner that an earlier control plane started. */
    private readonly foundAs: RunnerState | null = null,
  ) {
    this.state = foundAs === 'DRAINING' ? 'DRAINING' : 'LOADING';
    this.#later(facts.startMs, () => {
      if (this.state !== 'LOADING' && this.state !== 'WARMING') return;
      this.#fail(`it did not start within ${facts.startMs / 1000} seconds`);
    });
  }

  get id(): string {
    return this.facts.id;
  }

  get listener(): RunnerListener {
    return { onStatus: (status) => this.#onStatus(status), onEnd: (...end) => this.#onEnd(...end) };
  }

  /** For example `loading 43 %`. */
  get progress(): string {
    if (this.state === 'WARMING') return 'warming';
    return `loading ${Math.floor((this.status?.fraction ?? 0) * 100)} %`;
  }

  /** Stops accepting requests and exits after the last one. */
  drain(reason: string): void {
    if (this.state === 'DRAINING') return;
    const wasReady = this.state === 'READY';
    this.#become('DRAINING', reason);
    this.#later(wasReady ? ARRIVAL_GRACE_MS : 0, () => this.process?.stop());
    this.#later(this.facts.drainMs + EXIT_GRACE_MS, () => this.process?.kill());
  }

  /** Kills the process, which counts as a crash. */
  #fail(reason: string): void {
    this.#endsBecause = reason;
    this.process?.kill();
  }

  /** Health check; kills the runner after `MAX_MISSED_CHECKS` without a reply. */
  async checkHealth(): Promise<void> {
    if (this.state !== 'READY' || this.process === null) return;
    try {
      const health = await fetchHealth(this.process.socketPath);
      this.#misses = health === null ? this.#misses + 1 : 0;
      if (this.#misses >= MAX_MISSED_CHECKS) this.#fail('it stopped replying');
    } catch (error) {
      if (!isOutOfFiles(error)) this.#fail((error as Error).message);
    }
  }

  /** Stops supervising the runner, which keeps running. */
  release(): void {
    this.#clear();
    this.process?.release();
  }

  #onStatus(status: RunnerStatus): void {
    const isFirst = this.status === null;
    this.status = status;
    if (this.state === 'DRAINING') {
      // The earlier control plane may have been killed before it sent the stop message.
      if (isFirst && status.state !== 'draining') this.process?.stop();
      return;
    }
    if (status.state === 'ready' && this.state === 'LOADING') this.#onLoaded(status);
    else if (status.state === 'draining') this.#become('DRAINING', 'it received a stop message');
    else this.hooks.onProgress(this);
  }

  #onLoaded({ models }: RunnerStatus): void {
    if (this.foundAs === 'READY') {
      this.#beReady('found after a restart of the control plane');
      return;
    }
    this.#become('WARMING', models.length > 1 ? 'the models are loaded' : 'the model is loaded');
    const path = this.process?.socketPath;
    if (path === undefined) return;
    warmUp(path, models).then(
      () => this.state === 'WARMING' && this.#beReady('passed the warm-up'),
      (error: Error) => this.#fail(`the warm-up failed: ${error.message}`),
    );
  }

  #beReady(reason: string): void {
    this.#become('READY', reason);
    const timer = setInterval(() => void this.checkHealth(), HEALTH_CHECK_MS);
    this.#timers.add(timer);
  }

  #become(state: RunnerState, reason: string): void {
    this.state = state;
    this.hooks.onChange(this, state, reason);
  }

  #onEnd(how: string, hasRunOut: boolean): void {
    this.#clear();
    this.hooks.onEnd(this, this.#describeEnd(how, hasRunOut));
  }

  #describeEnd(how: string, hasRunOut: boolean): RunnerEnd {
    if (this.state === 'DRAINING') return { state: 'STOPPED', reason: how, isPermanent: false };
    if (this.foundAs !== null && this.status === null) {
      return { state: 'STOPPED', reason: 'it had exited when the control plane restarted', isPermanent: false };
    }
    // The runner may have reported the end of its engine, or failed the warm-up, before it was killed as well.
    if (hasRunOut) return { state: 'CRASHED', reason: how, isPermanent: false };
    const failure = this.status?.failure ?? null;
    const isPermanent = failure !== null && PERMANENT.includes(failure.code);
    const reason = failure?.message ?? this.#endsBecause ?? withLogLine(how, this.hooks.lastLogLine(this));
    return { state: 'CRASHED', reason: withoutControls(reason), isPermanent };
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

function withLogLine(how: string, line: string): string {
  return line === '' ? how : `${how} (${line})`;
}
