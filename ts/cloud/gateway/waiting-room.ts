/**
 * The requests of one app: those that a runner has, and those that wait for one. Where there are several runners, each
 * request waits for the one that suits it best, because to take whichever is free first means to compute prompts anew
 * that another runner has in its cache (bench/README.md). A runner that has nothing to do takes from the others.
 */
import { ChasquiError } from '../../errors.js';
import type { DeployedApp, RunnerAddress } from './directory.js';

/**
 * A runner is given as many requests again as it computes at once, so that it never waits for the next one. Others wait
 * here, where a runner that has just started can take them.
 */
const REQUESTS_PER_SLOT = 2;

/** A place at a runner. */
export interface Place {
  runner: RunnerAddress;
  /** Milliseconds waited while no runner took requests. */
  coldStartMs: number;
  /** Milliseconds waited while all runners were full. */
  queueMs: number;
  /** To be called once, when the runner no longer has the request. */
  release(): void;
}

export interface Entry {
  /** Aborted when the request gives up its place. */
  signal: AbortSignal;
  /** A runner that has failed this request. */
  avoid?: string | undefined;
  /** Chooses among at least one; `running` has what each runner has and what waits for it. */
  choose?: ((runners: readonly RunnerAddress[], running: (id: string) => number) => RunnerAddress) | undefined;
}

interface Waiter extends Entry {
  since: number;
  /** The runner that it waits for; null while there is none. */
  wants: string | null;
  /** Since when there has been no runner; null while there is one. */
  coldSince: number | null;
  coldMs: number;
  settle(outcome: Place | ChasquiError): void;
}

export class WaitingRoom {
  #app: DeployedApp;
  readonly #onEmpty: () => void;
  readonly #waiters = new Set<Waiter>();
  readonly #running = new Map<string, number>();
  #stopListening: (() => void) | null = null;
  #runningTotal = 0;
  #wakeTimer: NodeJS.Timeout | null = null;
  #told = '0/0';

  /** `onEmpty` is called when there are no requests any more. */
  constructor(app: DeployedApp, onEmpty: () => void) {
    this.#app = app;
    this.#onEmpty = onEmpty;
  }

  get running(): number {
    return this.#runningTotal;
  }

  get queued(): number {
    return this.#waiters.size;
  }

  runningAt(runner: string): number {
    return this.#running.get(runner) ?? 0;
  }

  /** Whether anything waits for a runner, a wake-up call included. */
  get isAwaited(): boolean {
    return this.#waiters.size > 0 || this.#wakeTimer !== null;
  }

  /** To be called after a look at a room that may have been made for it. */
  forgetIfEmpty(): void {
    this.#settled();
  }

  /** The newest view of the same app. */
  update(app: DeployedApp): void {
    if (this.#app === app) return;
    this.#app = app;
    this.#listen(false);
    this.#listen(this.isAwaited);
  }

  /**
   * Rejects with `queue_full`, `startup_timeout`, the app's own failure, or the signal's reason. Whoever waited longest
   * is served first.
   */
  enter(entry: Entry): Promise<Place> {
    const refusal = this.#refusal(entry);
    if (refusal !== null) {
      this.#settled();
      return Promise.reject(refusal);
    }
    const runner = this.#choose(entry, this.#others(entry));
    if (runner === null || !this.#hasPlace(runner) || this.#waiting(runner.id) > 0) return this.#wait(entry, runner);
    return Promise.resolve(this.#give(runner, 0, 0));
  }

  #refusal(entry: Entry): ChasquiError | null {
    const { failure, limits } = this.#app;
    if (failure !== null) return new ChasquiError(failure.code, failure.message);
    if (entry.signal.aborted) return entry.signal.reason;
    if (this.#waiters.size < limits.queue || this.#others(entry).some((runner) => this.#hasPlace(runner))) return null;
    // A request that had a place and lost it because its runner failed is not sent away.
    return entry.avoid === undefined ? queueFull(limits.queue) : null;
  }

  /** Has a runner started though nobody waits, for as long as a request would wait. */
  wake(): void {
    if (this.#app.runners().length > 0 || this.#wakeTimer !== null) return;
    this.#wakeTimer = setTimeout(() => this.#endWake(), this.#app.limits.startMs);
    this.#wakeTimer.unref();
    this.#listen(true);
    this.#tell();
  }

  #wait(entry: Entry, runner: RunnerAddress | null): Promise<Place> {
    const now = performance.now();
    const isCold = this.#app.runners().length === 0;
    const { startMs } = this.#app.limits;
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
          this.#settled();
        },
      };
      entry.signal.addEventListener('abort', leave, { once: true });
      this.#waiters.add(waiter);
      this.#listen(true);
      this.#tell();
    });
  }

  /** The first runner that comes may have been started for this, and then is not told to stop again. */
  #onChange(): void {
    const { failure } = this.#app;
    if (failure !== null) {
      for (const waiter of [...this.#waiters]) waiter.settle(new ChasquiError(failure.code, failure.message));
    }
    const isCold = this.#app.runners().length === 0;
    if (!isCold || failure !== null) this.#endWake();
    const now = performance.now();
    for (const waiter of this.#waiters) {
      if (isCold) waiter.coldSince ??= now;
      else endCold(waiter, now);
    }
    this.#serve();
  }

  #serve(): void {
    if (this.#waiters.size === 0) return;
    const runners = this.#app.runners();
    for (const waiter of [...this.#waiters]) {
      if (!runners.some(({ id }) => id === waiter.wants)) {
        waiter.wants = this.#choose(waiter, this.#others(waiter))?.id ?? null;
      }
      const runner = runners.find(({ id }) => id === waiter.wants);
      if (runner !== undefined && this.#hasPlace(runner)) this.#settle(waiter, runner);
    }
    for (const runner of runners) this.#giveWork(runner);
  }

  /** Whoever waits longest leaves another runner's line for one that has slots free and no line. */
  #giveWork(runner: RunnerAddress): void {
    for (const waiter of [...this.#waiters]) {
      if (this.runningAt(runner.id) >= runner.slots) return;
      if (waiter.avoid === runner.id) continue;
      this.#settle(waiter, this.#choose(waiter, [runner]) ?? runner);
    }
  }

  #settle(waiter: Waiter, runner: RunnerAddress): void {
    const now = performance.now();
    endCold(waiter, now);
    waiter.settle(this.#give(runner, waiter.coldMs, now - waiter.since - waiter.coldMs));
  }

  #others({ avoid }: Entry): RunnerAddress[] {
    return this.#app.runners().filter(({ id }) => id !== avoid);
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
    this.#tell();
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      this.#change(runner.id, -1);
      this.#serve();
      this.#settled();
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
    this.#settled();
  }

  #settled(): void {
    this.#tell();
    if (this.isAwaited) return;
    this.#listen(false);
    if (this.#runningTotal === 0) this.#onEmpty();
  }

  #listen(wanted: boolean): void {
    if (wanted) {
      this.#stopListening ??= this.#app.onChange(() => this.#onChange());
    } else {
      this.#stopListening?.();
      this.#stopListening = null;
    }
  }

  #tell(): void {
    const demand = { running: this.#runningTotal, queued: this.#waiters.size + (this.#wakeTimer === null ? 0 : 1) };
    const told = `${demand.running}/${demand.queued}`;
    if (told === this.#told) return;
    this.#told = told;
    this.#app.setDemand(demand);
  }

  #timeout(startMs: number): ChasquiError {
    const { org, name, progress } = this.#app;
    const state = progress === null ? '' : ` It is at: ${progress}.`;
    return new ChasquiError(
      'startup_timeout',
      `No runner of ${org}/${name} took the request within ${startMs / 1000} s.${state}`,
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

/** When a place becomes free is not known. Clients that wait longer after every refusal are the ones that help. */
const QUEUE_RETRY_SECONDS = 5;

function queueFull(limit: number): ChasquiError {
  const error = new ChasquiError(
    'queue_full',
    `${limit} requests wait for a runner of this app already; try again later.`,
  );
  error.retryAfterSeconds = QUEUE_RETRY_SECONDS;
  return error;
}
