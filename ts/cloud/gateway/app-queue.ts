/**
 * The request queue of one app. With several runners, each request waits for the one that suits it best: taking the
 * first free runner would recompute prompts that another one has cached (bench/README.md). An idle runner takes
 * requests from the queues of others.
 */
import { ChasquiError } from '../../errors.js';
import type { DeployedApp, RunnerAddress } from './directory.js';

/**
 * A runner gets twice as many requests as it has slots, so it never idles between two. The rest waits here, where a new
 * runner can take it.
 */
const REQUESTS_PER_SLOT = 2;

/** A request's admission to a runner. */
export interface Place {
  runner: RunnerAddress;
  /** Milliseconds waited while no runner was ready. */
  coldStartMs: number;
  queueMs: number;
  /** Call at the end of the request. */
  release(): void;
}

export interface Entry {
  signal: AbortSignal;
  /** A runner that has failed this request. */
  avoid?: string | undefined;
  /** Gets at least one runner; `running` counts requests at a runner and those waiting for it. */
  choose?: ((runners: readonly RunnerAddress[], running: (id: string) => number) => RunnerAddress) | undefined;
}

interface Waiter extends Entry {
  since: number;
  /** The preferred runner; null while there is none. */
  wants: string | null;
  /** Since when no runner has been ready; null while one is. */
  coldSince: number | null;
  coldMs: number;
  settle(outcome: Place | ChasquiError): void;
}

export class AppQueue {
  readonly #waiters = new Set<Waiter>();
  readonly #running = new Map<string, number>();
  #stopListening: (() => void) | null = null;
  #runningTotal = 0;
  #wakeTimer: NodeJS.Timeout | null = null;
  #reported = '0/0';

  /** `onEmpty`: called when the last request has ended. */
  constructor(
    private app: DeployedApp,
    private readonly onEmpty: () => void,
  ) {}

  get running(): number {
    return this.#runningTotal;
  }

  get queued(): number {
    return this.#waiters.size;
  }

  runningAt(runner: string): number {
    return this.#running.get(runner) ?? 0;
  }

  /** Whether a request or a wake-up waits for a runner. */
  get isAwaited(): boolean {
    return this.#waiters.size > 0 || this.#wakeTimer !== null;
  }

  /** Discards the queue if it is empty. */
  forgetIfEmpty(): void {
    this.#updateState();
  }

  /** Replaces the app object by a newer one of the same app. */
  update(app: DeployedApp): void {
    if (this.app === app) return;
    this.app = app;
    this.#listen(false);
    this.#listen(this.isAwaited);
  }

  /**
   * Waits for a runner, in FIFO order. Rejects with `queue_full`, `startup_timeout`, the failure of the app or the
   * signal's reason.
   */
  enter(entry: Entry): Promise<Place> {
    const refusal = this.#refusal(entry);
    if (refusal !== null) {
      this.#updateState();
      return Promise.reject(refusal);
    }
    const runner = this.#choose(entry, this.#candidates(entry));
    if (runner === null || !this.#hasPlace(runner) || this.#waiting(runner.id) > 0) return this.#wait(entry, runner);
    return Promise.resolve(this.#give(runner, 0, 0));
  }

  #refusal(entry: Entry): ChasquiError | null {
    const { failure, limits } = this.app;
    if (failure !== null) return new ChasquiError(failure.code, failure.message);
    if (entry.signal.aborted) return entry.signal.reason;
    const hasFreeSlot = this.#candidates(entry).some(({ id, slots }) => this.runningAt(id) < slots);
    if (hasFreeSlot || this.#runningTotal + this.#waiters.size < limits.requests) return null;
    // A request that lost its runner is not refused.
    return entry.avoid === undefined ? queueFull(limits.requests) : null;
  }

  /** Starts a runner without a request, for as long as a request would wait. */
  wake(): void {
    if (this.app.runners().length > 0 || this.#wakeTimer !== null) return;
    this.#wakeTimer = setTimeout(() => this.#endWake(), this.app.limits.startMs);
    this.#wakeTimer.unref();
    this.#listen(true);
    this.#reportDemand();
  }

  #wait(entry: Entry, runner: RunnerAddress | null): Promise<Place> {
    const now = performance.now();
    const isCold = this.app.runners().length === 0;
    const { startMs } = this.app.limits;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => waiter.settle(this.#timeout(startMs)), startMs);
      const leave = (): void => waiter.settle(entry.signal.reason);
      const waiter: Waiter = {
        ...entry,
        since: now,
        wants: runner?.id ?? null,
        coldSince: isCold ? now : null,
        coldMs: 0,
        settle: (outcome) => {
          clearTimeout(late);
          entry.signal.removeEventListener('abort', leave);
          this.#waiters.delete(waiter);
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
          this.#updateState();
        },
      };
      entry.signal.addEventListener('abort', leave, { once: true });
      this.#waiters.add(waiter);
      this.#listen(true);
      this.#reportDemand();
    });
  }

  /** The first ready runner ends a wake-up. */
  #onChange(): void {
    const { failure } = this.app;
    if (failure !== null) {
      for (const waiter of [...this.#waiters]) waiter.settle(new ChasquiError(failure.code, failure.message));
    }
    const isCold = this.app.runners().length === 0;
    if (!isCold || failure !== null) this.#endWake();
    const now = performance.now();
    for (const waiter of this.#waiters) {
      if (isCold) waiter.coldSince ??= now;
      else endCold(waiter, now);
    }
    this.#serve(now);
  }

  /** `now`: the time until which requests have waited. */
  #serve(now = performance.now()): void {
    if (this.#waiters.size === 0) return;
    const runners = this.app.runners();
    for (const waiter of [...this.#waiters]) {
      if (!runners.some(({ id }) => id === waiter.wants)) {
        waiter.wants = this.#choose(waiter, this.#candidates(waiter))?.id ?? null;
      }
      const runner = runners.find(({ id }) => id === waiter.wants);
      if (runner !== undefined && this.#hasPlace(runner)) this.#settle(waiter, runner, now);
    }
    for (const runner of runners) this.#fillSlots(runner, now);
  }

  /** Gives the oldest waiting requests to a runner with free slots, even if they preferred another one. */
  #fillSlots(runner: RunnerAddress, now: number): void {
    for (const waiter of [...this.#waiters]) {
      if (this.runningAt(runner.id) >= runner.slots) return;
      if (waiter.avoid === runner.id) continue;
      this.#settle(waiter, this.#choose(waiter, [runner]) ?? runner, now);
    }
  }

  #settle(waiter: Waiter, runner: RunnerAddress, now: number): void {
    endCold(waiter, now);
    waiter.settle(this.#give(runner, waiter.coldMs, now - waiter.since - waiter.coldMs));
  }

  #candidates({ avoid }: Entry): RunnerAddress[] {
    return this.app.runners().filter(({ id }) => id !== avoid);
  }

  #choose({ choose = leastActive }: Entry, runners: readonly RunnerAddress[]): RunnerAddress | null {
    if (runners.length === 0) return null;
    return choose(runners, (id) => this.runningAt(id) + this.#waiting(id));
  }

  #hasPlace({ id, slots }: RunnerAddress): boolean {
    return this.runningAt(id) < REQUESTS_PER_SLOT * slots;
  }

  #waiting(id: string): number {
    let count = 0;
    for (const { wants } of this.#waiters) if (wants === id) count += 1;
    return count;
  }

  #give(runner: RunnerAddress, coldStartMs: number, queueMs: number): Place {
    this.#change(runner.id, 1);
    this.#reportDemand();
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      this.#change(runner.id, -1);
      this.#serve();
      this.#updateState();
    };
    return { runner, coldStartMs: Math.round(coldStartMs), queueMs: Math.round(queueMs), release };
  }

  #change(id: string, change: number): void {
    const count = this.runningAt(id) + change;
    if (count === 0) this.#running.delete(id);
    else this.#running.set(id, count);
    this.#runningTotal += change;
  }

  #endWake(): void {
    if (this.#wakeTimer === null) return;
    clearTimeout(this.#wakeTimer);
    this.#wakeTimer = null;
    this.#updateState();
  }

  #updateState(): void {
    this.#reportDemand();
    if (this.isAwaited) return;
    this.#listen(false);
    if (this.#runningTotal === 0) this.onEmpty();
  }

  #listen(wanted: boolean): void {
    if (wanted) {
      this.#stopListening ??= this.app.onChange(() => this.#onChange());
    } else {
      this.#stopListening?.();
      this.#stopListening = null;
    }
  }

  #reportDemand(): void {
    const demand = { running: this.#runningTotal, queued: this.#waiters.size + (this.#wakeTimer === null ? 0 : 1) };
    const reported = `${demand.running}/${demand.queued}`;
    if (reported === this.#reported) return;
    this.#reported = reported;
    this.app.setDemand(demand, (runner) => this.runningAt(runner));
  }

  #timeout(startMs: number): ChasquiError {
    const { org, name, progress } = this.app;
    const state = progress === null ? '' : ` Progress: ${progress}.`;
    return new ChasquiError(
      'startup_timeout',
      `No runner of ${org}/${name} was ready within ${startMs / 1000} s.${state}`,
    );
  }
}

function endCold(waiter: Waiter, now: number): void {
  if (waiter.coldSince === null) return;
  waiter.coldMs += now - waiter.coldSince;
  waiter.coldSince = null;
}

export function leastActive(runners: readonly RunnerAddress[], running: (id: string) => number): RunnerAddress {
  let best = runners[0] as RunnerAddress;
  for (const runner of runners) if (running(runner.id) / runner.slots < running(best.id) / best.slots) best = runner;
  return best;
}

/** The wait is unknown. Clients should back off further after each refusal. */
const QUEUE_RETRY_SECONDS = 5;

function queueFull(limit: number): ChasquiError {
  const error = new ChasquiError(
    'queue_full',
    `This app accepts at most ${limit} requests at a time. Try again later.`,
  );
  error.retryAfterSeconds = QUEUE_RETRY_SECONDS;
  return error;
}
