/** An app as it is now: its active revision, its runners, what is asked of it. The gateway sees it as a `DeployedApp`. */
import type { AppFailure, AppLimits, Demand, DeployedApp, RunnerAddress } from '../gateway/directory.js';
import { type Manifest, slotsOf } from '../script/manifest.js';
import type { AppRow } from './app-store.js';
import { activeRunners, type Candidate, desiredRunners, type PlannedApp, type PlannedRunner } from './decide.js';
import type { LiveRunner } from './live-runner.js';
import type { Weights } from './weights.js';

/** Everything that a runner of a revision is started with. */
export interface Startable {
  readonly revision: number;
  readonly manifest: Manifest;
  readonly weights: Weights;
  readonly bytes: number;
}

/** A revision on its way to become the active one. */
export interface Rollout {
  readonly revision: number;
  readonly manifest: Manifest;
  readonly strategy: Candidate['strategy'];
  readonly reason: string;
  /** Null while its weights are being fetched. */
  startable: (Startable & { since: number }) | null;
  progress: string;
  /** Why it has failed, until that is written. */
  failure: string | null;
}

/** Requests that may wait beside those that the runners of an app could compute at once. */
const QUEUE_RESERVE = 64;
/** Crashes further back do not count. */
export const CRASH_MEMORY_MS = 600_000;
const FIRST_REST_MS = 1000;
const MAX_REST_MS = 60_000;

export class LiveApp implements DeployedApp {
  readonly runnersById = new Map<string, LiveRunner>();
  rollout: Rollout | null = null;
  /** What the active revision's script says. */
  activeManifest: Manifest | null = null;
  /** What runners of the active revision are started with; null also while its weights are not there. */
  active: Startable | null = null;
  demand: Demand = { running: 0, queued: 0 };
  usedAt = performance.now();
  restsUntil = 0;
  /** Why a runner that is wanted is not started. */
  waitsFor: string | null = null;
  /** Runners that were started, and that crashed, since this process began. */
  starts = 0;
  crashes = 0;
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
    return this.manifest?.auth ?? 'private';
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
    const rest = Math.ceil((this.restsUntil - performance.now()) / 1000);
    if (rest > 0 && Number.isFinite(rest)) return `the last runner crashed; another is started in ${rest} s`;
    return this.waitsFor ?? this.rollout?.progress ?? null;
  }

  get limits(): AppLimits {
    const { startMs, requestMs } = this.manifest?.timeouts ?? { startMs: 0, requestMs: 0 };
    return { startMs, requestMs, queue: this.#slots * this.scale.max + QUEUE_RESERVE };
  }

  /** With what `apps scale` said. */
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
      return [{ id, socketPath: process.socketPath, slots: facts.slots, reportFailure: () => void runner.look() }];
    });
  }

  setDemand(demand: Demand): void {
    const before = this.demand;
    this.demand = demand;
    this.usedAt = performance.now();
    if (demand.running + demand.queued > before.running + before.queued) this.onDemand();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Another runner is started later the more of them crashed lately. Returns how many did. */
  noteCrash(now: number): number {
    this.#crashedAt = [...this.#crashedAt.filter((at) => now - at < CRASH_MEMORY_MS), now];
    this.#rest();
    return this.#crashedAt.length;
  }

  /** Those that an earlier control plane saw, the oldest first. Another one has not made them forgotten. */
  recallCrashes(agesMs: readonly number[], now: number): void {
    this.#crashedAt = agesMs.map((age) => now - age);
    this.#rest();
  }

  forgetCrashes(): void {
    this.#crashedAt = [];
    this.restsUntil = 0;
  }

  #rest(): void {
    const last = this.#crashedAt.at(-1);
    if (last === undefined) return;
    const rest = Math.min(MAX_REST_MS, FIRST_REST_MS * 2 ** (this.#crashedAt.length - 1));
    // A rest without end is for an app that goes back, and another crash does not end it.
    this.restsUntil = Math.max(this.restsUntil, last + rest * (1 + Math.random() / 4));
  }

  /** For `decide`. */
  planned(now: number): PlannedApp {
    const isOff = this.row.deleted !== 0 || this.failure !== null;
    const runners = [...this.runnersById.values()].map(toPlanned);
    const app = {
      id: this.id,
      name: `${this.org}/${this.name}`,
      active: isOff || this.row.active === null ? null : this.#plannedActive(this.row.active),
      candidate: this.#candidate(runners),
      slots: this.#slots,
      scale: this.scale,
      demand: this.demand,
      usedAt: this.usedAt,
      restsUntil: this.restsUntil,
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
    return bytes === undefined ? null : { revision, bytes };
  }

  /** One that an earlier control plane started is the candidate's while its weights are looked for again. */
  #candidate(runners: readonly PlannedRunner[]): Candidate | null {
    if (this.rollout === null || this.row.deleted !== 0) return null;
    const { revision, strategy, startable, failure } = this.rollout;
    if (failure !== null) return null;
    if (startable !== null) return { revision, strategy, bytes: startable.bytes, since: startable.since };
    const found = runners.find((runner) => runner.revision === revision);
    return found === undefined ? null : { revision, strategy, bytes: found.bytes, since: 0 };
  }

  #ready(): LiveRunner[] {
    if (this.row.deleted !== 0) return [];
    return [...this.runnersById.values()].filter(
      ({ state, facts }) => state === 'READY' && facts.revision === this.row.active,
    );
  }
}

function toPlanned({ id, facts, state }: LiveRunner): PlannedRunner {
  const planned = state === 'READY' ? 'ready' : state === 'DRAINING' ? 'leaving' : 'starting';
  return { id, revision: facts.revision, bytes: facts.bytes, state: planned };
}
