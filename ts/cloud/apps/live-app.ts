/**
 * The current state of an app: active revision, rollout, runners and demand. The gateway sees it as a `DeployedApp`.
 */
import type { AppFailure, AppLimits, Demand, DeployedApp, RunnerAddress } from '../gateway/directory.js';
import { type Manifest, maxQueueOf, slotsOf } from '../script/manifest.js';
import type { AppRow } from './app-store.js';
import { activeRunners, type Candidate, desiredRunners, type PlannedApp, type PlannedRunner } from './decide.js';
import type { LiveRunner } from './live-runner.js';
import type { Weights } from './weights.js';

export interface Startable {
  readonly revision: number;
  readonly manifest: Manifest;
  readonly weights: Weights;
  readonly bytes: number;
}

/** A revision that is to become active. */
export interface Rollout {
  readonly revision: number;
  readonly manifest: Manifest;
  readonly strategy: Candidate['strategy'];
  readonly reason: string;
  /** It replaces an active revision that has failed and is not started any more. */
  readonly restoring: boolean;
  /** Null while its weights are fetched. */
  startable: (Startable & { since: number }) | null;
  progress: string;
  /** Set until the failure is stored. */
  failure: string | null;
  /** Only of a resumed rollout. */
  retry: Retry | null;
}

/** The next attempt to find weights, and why the last one failed. */
export interface Retry {
  at: number;
  attempts: number;
  reason: string;
}

/** Older crashes do not count. */
export const CRASH_MEMORY_MS = 600_000;
/** Clients that have just received a reply will probably send the next request soon. */
const CLIENT_MEMORY_MS = 5000;
const MIN_BACK_OFF_MS = 1000;
const MAX_BACK_OFF_MS = 60_000;

export class LiveApp implements DeployedApp {
  readonly runnersById = new Map<string, LiveRunner>();
  rollout: Rollout | null = null;
  activeManifest: Manifest | null = null;
  /** Null without an active revision, and while its weights are not available. */
  active: Startable | null = null;
  /** For the active revision; a rollout has its own. */
  retry: Retry | null = null;
  demand: Demand = { running: 0, queued: 0 };
  usedAt = performance.now();
  #servedAt = Number.NEGATIVE_INFINITY;
  backOffUntil = 0;
  /** Why a wanted runner is not started. */
  waitsFor: string | null = null;
  /** Counted since this process started. */
  starts = 0;
  crashes = 0;
  #runningAt: (runner: string) => number = () => 0;
  #crashedAt: number[] = [];
  #tooFewSince: number | null = null;
  #tooManySince: number | null = null;
  readonly #listeners = new Set<() => void>();

  constructor(
    public row: AppRow,
    private readonly onDemand: () => void,
  ) {}

  get id(): string {
    return this.row.id;
  }

  get org(): string {
    return this.row.org;
  }

  get name(): string {
    return this.row.name;
  }

  get manifest(): Manifest | null {
    return this.activeManifest ?? this.rollout?.manifest ?? null;
  }

  get auth(): 'private' | 'public' {
    return this.row.auth;
  }

  get bearer(): boolean {
    return this.manifest?.bearer ?? false;
  }

  get revision(): number | null {
    return this.row.active;
  }

  get failure(): AppFailure | null {
    const { failure_code: code, failure_message: message } = this.row;
    if (this.row.deleted !== 0) return { code: 'app_not_found', message: `${this.org}/${this.name} was deleted.` };
    return code === null || this.rollout !== null ? null : { code, message: message ?? '' };
  }

  get progress(): string | null {
    if (this.#ready().length > 0) return null;
    const starting = [...this.runnersById.values()].find(({ state }) => state === 'LOADING' || state === 'WARMING');
    if (starting !== undefined) return starting.progress;
    const seconds = this.rollout?.restoring ? 0 : Math.ceil((this.backOffUntil - performance.now()) / 1000);
    if (seconds > 0) return `the last runner crashed; the next one starts in ${seconds} s`;
    return this.waitsFor ?? this.rollout?.progress ?? this.retry?.reason ?? null;
  }

  get limits(): AppLimits {
    const { startMs, requestMs } = this.manifest?.timeouts ?? { startMs: 0, requestMs: 0 };
    return { startMs, requestMs, requests: this.#slots * this.scale.max + this.maxQueue };
  }

  /** Requests that may wait while all runners are busy. */
  get maxQueue(): number {
    return this.manifest === null ? 0 : maxQueueOf(this.manifest);
  }

  /** `apps scale` overrides the manifest. */
  get scale(): PlannedApp['scale'] {
    const { scale_min: scaleMin, scale_max: scaleMax } = this.row;
    const scripted = this.manifest?.scale ?? { min: 0, max: 1, keepAliveMs: 0, buffer: 0, delayMs: 0 };
    const min = scaleMin ?? scripted.min;
    return { ...scripted, min, max: Math.max(min, scaleMax ?? scripted.max) };
  }

  runners(): readonly RunnerAddress[] {
    return this.#ready().flatMap((runner) => {
      const { id, process, facts } = runner;
      if (process === null) return [];
      return [
        { id, socketPath: process.socketPath, slots: facts.slots, reportFailure: () => void runner.checkHealth() },
      ];
    });
  }

  setDemand(demand: Demand, runningAt: (runner: string) => number): void {
    this.#runningAt = runningAt;
    const before = this.demand;
    this.demand = demand;
    this.usedAt = performance.now();
    this.#servedAt = this.usedAt;
    if (demand.running + demand.queued > before.running + before.queued) this.onDemand();
  }

  hasClients(now: number): boolean {
    return this.demand.running + this.demand.queued > 0 || now - this.#servedAt < CLIENT_MEMORY_MS;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Delays the next start with exponential back-off. Returns the number of recent crashes. */
  noteCrash(now: number): number {
    this.#crashedAt = [...this.#crashedAt.filter((at) => now - at < CRASH_MEMORY_MS), now];
    this.#backOff();
    return this.#crashedAt.length;
  }

  /** Restores the crashes that an earlier control plane recorded, the oldest first. */
  recallCrashes(agesMs: readonly number[], now: number): void {
    this.#crashedAt = agesMs.map((age) => now - age);
    this.#backOff();
  }

  forgetCrashes(): void {
    this.#crashedAt = [];
    this.backOffUntil = 0;
  }

  #backOff(): void {
    const last = this.#crashedAt.at(-1);
    if (last === undefined) return;
    this.backOffUntil = Math.max(this.backOffUntil, last + backOff(this.#crashedAt.length));
  }

  planned(now: number): PlannedApp {
    const isOff = this.row.deleted !== 0 || this.failure !== null;
    const runners = [...this.runnersById.values()].map((runner) => toPlanned(runner, this.#runningAt(runner.id)));
    const app = {
      id: this.id,
      org: this.org,
      name: `${this.org}/${this.name}`,
      active: isOff || this.row.active === null ? null : this.#plannedActive(this.row.active),
      candidate: this.#candidate(runners),
      slots: this.#slots,
      scale: this.scale,
      demand: this.demand,
      usedAt: this.usedAt,
      backOffUntil: this.backOffUntil,
      restoring: this.rollout?.restoring ?? false,
      runners,
    };
    const surplus = activeRunners(app).length - desiredRunners(app);
    this.#tooFewSince = surplus < 0 ? (this.#tooFewSince ?? now) : null;
    this.#tooManySince = surplus > 0 ? (this.#tooManySince ?? now) : null;
    return { ...app, tooFewSince: this.#tooFewSince, tooManySince: this.#tooManySince };
  }

  get #slots(): number {
    return this.manifest === null ? 1 : slotsOf(this.manifest);
  }

  #plannedActive(revision: number): PlannedApp['active'] {
    const running = [...this.runnersById.values()].find(({ facts }) => facts.revision === revision);
    const bytes = this.active?.bytes ?? running?.facts.bytes;
    const gpus = this.active?.manifest.gpus ?? running?.facts.gpus.length ?? 0;
    return bytes === undefined ? null : { revision, bytes, gpus };
  }

  /** While weights are looked up again after a restart, a runner of the earlier control plane gives the memory size. */
  #candidate(runners: readonly PlannedRunner[]): Candidate | null {
    if (this.rollout === null || this.row.deleted !== 0) return null;
    const { revision, strategy, startable, failure } = this.rollout;
    if (failure !== null) return null;
    const gpus = this.rollout.manifest.gpus ?? 0;
    if (startable !== null) return { revision, strategy, bytes: startable.bytes, gpus, since: startable.since };
    const found = runners.find((runner) => runner.revision === revision);
    return found === undefined ? null : { revision, strategy, bytes: found.bytes, gpus, since: 0 };
  }

  #ready(): LiveRunner[] {
    if (this.row.deleted !== 0) return [];
    return [...this.runnersById.values()].filter(
      ({ state, facts }) => state === 'READY' && facts.revision === this.row.active,
    );
  }
}

/** With jitter. */
export function backOff(attempts: number): number {
  return Math.min(MAX_BACK_OFF_MS, MIN_BACK_OFF_MS * 2 ** (attempts - 1)) * (1 + Math.random() / 4);
}

function toPlanned({ id, facts, state }: LiveRunner, running: number): PlannedRunner {
  const planned = state === 'READY' ? 'ready' : state === 'DRAINING' ? 'leaving' : 'starting';
  return { id, revision: facts.revision, bytes: facts.bytes, gpus: facts.gpus.length, state: planned, running };
}
