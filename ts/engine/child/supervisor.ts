/**
 * Keeps one process of an engine running: starts it again when it ends, ends it when it hangs, and repeats requests that had
 * no result yet. A worker and a preparation process differ in their rules only.
 */
import timers from 'node:timers/promises';
import { ChasquiError } from '../../errors.js';
import { untilAborted } from '../calls.js';
import { engineClosed } from '../engine-errors.js';
import type { EngineState } from '../engine-types.js';
import { failedStart, type RestartEvent } from './restart-event.js';
import type { EngineEnd, StartedProcess } from './start-child.js';
import { Attempt, isRestart, Suspects } from './suspects.js';
import { Watchdog } from './watchdog.js';

export interface SupervisedProcess extends StartedProcess {
  /** All work of the process rejects with `reason`. */
  end(reason: ChasquiError): void;
  close(reason: ChasquiError): Promise<void>;
}

export interface NextStart {
  /** `null`: the process is given up. */
  afterMs: number | null;
  /** Whether requests wait for this start; if not, they are refused with `engine_restarting` until it begins. */
  requestsWait: boolean;
}

export interface EndOfProcess {
  end: EngineEnd;
  /** Why it could not be started; `undefined` if it ran. */
  startError?: unknown;
  /** Whether it was given any work. */
  isUsed: boolean;
}

export interface SupervisorRules<P extends SupervisedProcess> {
  process: RestartEvent['process'];
  /** Begins sentences: `The engine`. */
  name: string;
  /** How long a step, or silence, may last before the process is ended; 0: for ever. */
  stepTimeoutMs: number;
  start(signal: AbortSignal | undefined): Promise<P>;
  nextStart(ended: EndOfProcess): NextStart;
  /** After these causes no request is suspected. */
  innocentCauses: readonly EngineEnd['cause'][];
  /** Retries always run one at a time; if false, only those of suspected requests do. */
  retriesInTurn: boolean;
  /** A request that fails with two processes is refused at once if it is suspected, not only when it is sent again. */
  refusesAtOnce: boolean;
  /** A suspected request has passed its trial when the process has shown two signs of life since. */
  signsOfLifeEndTrials: boolean;
  /** A start without a delay is too quick to be called a restart: the state stays `ready`. */
  restartsUnnoticed: boolean;
  /** Silence counts only while the process is busy. */
  isIdle?(process: P): boolean;
  onStarted?(process: P): void;
  onRestart?: ((event: RestartEvent) => void) | undefined;
  /** The state has changed, other than to `closed`. */
  onState?: (() => void) | undefined;
}

const WATCH_MS = 1000;

export class Supervisor<P extends SupervisedProcess> {
  /** Set by this class alone. */
  state: EngineState = 'ready';
  readonly #suspects: Suspects<P>;
  readonly #closing = new AbortController();
  /** The process that runs or will; rejects while there is none to wait for. */
  #current: Promise<P>;
  #pid: number | null = null;
  #isUsed = false;
  /** Why it is not started again. */
  #failure = '';
  #closed: Promise<void> | null = null;
  #closedBy: ChasquiError | null = null;

  private constructor(
    private readonly rules: SupervisorRules<P>,
    first: P,
    private startMs: number,
  ) {
    this.#suspects = new Suspects(rules.name);
    this.#current = Promise.resolve(first);
    this.#watch(first);
  }

  /** Rejects if the first start fails; it is not repeated. `signal` aborts it. */
  static async open<P extends SupervisedProcess>(
    rules: SupervisorRules<P>,
    signal: AbortSignal | undefined,
  ): Promise<Supervisor<P>> {
    const began = performance.now();
    const first = await rules.start(signal);
    return new Supervisor(rules, first, performance.now() - began);
  }

  /** `null` while there is no process. */
  get pid(): number | null {
    return this.#pid;
  }

  get closedBy(): ChasquiError | null {
    return this.#closedBy;
  }

  process(signal?: AbortSignal): Promise<P> {
    return untilAborted(this.#current, signal);
  }

  /** Rejects unless there is a process now. */
  async processNow(): Promise<P> {
    if (this.state !== 'ready') throw this.#unavailable();
    return this.#current;
  }

  /** Runs `work` on the process, and on the next one if that process ends. Equal `request`s count as one suspect. */
  async run<T>(request: unknown, work: (process: P) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const attempt = this.attempt(request, signal);
    let failure: unknown;
    for (;;) {
      try {
        const result = await work(await attempt.start(failure));
        attempt.end(true);
        return result;
      } catch (error) {
        attempt.end(false);
        if (error === failure || !isRestart(error)) throw error;
        failure = error;
      }
    }
  }

  /** For work that `run` does not fit. */
  attempt(request: unknown, signal?: AbortSignal): Attempt<P> {
    const { retriesInTurn, refusesAtOnce } = this.rules;
    const enter = async (attempt: Attempt<P>, isRetry: boolean): Promise<P> => {
      const waitsForTurn = isRetry && (retriesInTurn || this.#suspects.isKnown(attempt));
      // The turn comes first: the request before may have ended the process meanwhile.
      if (waitsForTurn) await untilAborted(this.#suspects.trial(attempt), signal);
      if (this.state === 'failed' || this.state === 'closed') throw this.#unavailable();
      const process = await this.process(signal);
      this.#isUsed = true;
      // Requests that still wait for a process cannot have crashed it.
      if (!attempt.isOver) this.#suspects.running.add(attempt);
      return process;
    };
    return new Attempt(request, this.#suspects, enter, refusesAtOnce);
  }

  close(reason: ChasquiError = engineClosed()): Promise<void> {
    this.#closed ??= this.#close(reason);
    return this.#closed;
  }

  async #close(reason: ChasquiError): Promise<void> {
    this.state = 'closed';
    this.#closedBy = reason;
    this.#closing.abort(reason);
    const process = await this.#current.catch(() => null);
    await process?.close(reason);
  }

  #watch(process: P): void {
    this.#pid = process.pid ?? null;
    const watchdog = new Watchdog(this.rules.stepTimeoutMs);
    let seen = process.beat.at;
    let last = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      const { stats, at } = process.beat;
      if (at !== seen && this.rules.signsOfLifeEndTrials)
        for (const attempt of this.#suspects.running) attempt.signOfLife();
      const hangs = watchdog.check(stats, at !== seen || (this.rules.isIdle?.(process) ?? false), now - last);
      seen = at;
      last = now;
      if (hangs === null) return;
      clearInterval(timer);
      process.abort(hangs);
    }, WATCH_MS);
    timer.unref();
    void process.ended.then((end) => {
      clearInterval(timer);
      this.#ended(process, end);
    });
  }

  #ended(process: P, end: EngineEnd): void {
    this.#pid = null;
    if (this.#closedBy !== null) {
      process.end(this.#closedBy);
      return;
    }
    if (!this.rules.innocentCauses.includes(end.cause)) this.#suspects.ended(end.message);
    this.#startAgain({ end, isUsed: this.#isUsed });
    // Last, so that retries go to the next process.
    process.end(this.#restarting(end.message));
  }

  #startAgain(ended: EndOfProcess): void {
    const { end } = ended;
    const { afterMs, requestsWait } = this.rules.nextStart(ended);
    if (afterMs === null) {
      this.#failure = `${this.rules.name} ended again and again, the last time: ${end.message}. It was given up.`;
    }
    const isUnnoticed = this.rules.restartsUnnoticed && afterMs === 0;
    if (!isUnnoticed) this.#become(afterMs === null ? 'failed' : 'restarting');
    this.rules.onRestart?.({ process: this.rules.process, end, afterMs });
    if (afterMs === null) this.#current = Promise.reject(this.#unavailable());
    else if (requestsWait) this.#current = this.#start(afterMs);
    else {
      this.#current = Promise.reject(this.#restarting(end.message));
      this.#delay(afterMs, false).then(
        () => {
          this.#current = this.#start(0);
          this.#current.catch(() => {});
        },
        () => {},
      );
    }
    this.#current.catch(() => {});
  }

  async #start(afterMs: number): Promise<P> {
    if (afterMs > 0) await this.#delay(afterMs, true);
    this.#isUsed = false;
    const began = performance.now();
    let process: P;
    try {
      process = await this.rules.start(this.#closing.signal);
    } catch (error) {
      if (this.#closedBy !== null) throw error;
      this.#startAgain({ end: failedStart(error), startError: error, isUsed: false });
      return this.#current;
    }
    this.#watch(process);
    // `close` waits for this start and closes the process.
    if (this.#closedBy !== null) return process;
    this.startMs = performance.now() - began;
    this.rules.onStarted?.(process);
    this.#become('ready');
    return process;
  }

  async #delay(ms: number, keepsAlive: boolean): Promise<void> {
    const { signal } = this.#closing;
    await timers.setTimeout(ms, undefined, { signal, ref: keepsAlive }).catch(() => signal.throwIfAborted());
  }

  #become(state: EngineState): void {
    if (state === this.state) return;
    this.state = state;
    this.rules.onState?.();
  }

  #unavailable(): ChasquiError {
    if (this.#closedBy !== null) return this.#closedBy;
    if (this.state === 'failed') return new ChasquiError('engine_failed', this.#failure);
    return this.#restarting('it is being started again');
  }

  #restarting(why: string): ChasquiError {
    const error = new ChasquiError('engine_restarting', `${this.rules.name} ended: ${why}. Try again in a moment.`);
    error.retryAfterSeconds = Math.max(1, Math.ceil(this.startMs / 1000));
    return error;
  }
}
