/**
 * Rollouts: fetch the weights of a revision, start a runner, warm it up, then make the revision active. A rollback is a
 * rollout of an earlier revision.
 */
import { totalmem } from 'node:os';
import { ChasquiError, type ErrorCode } from '../../errors.js';
import { formatMemory } from '../../hub/format-bytes.js';
import type { ImageHosts } from '../../images/public-address.js';
import { type Manifest, storedManifest } from '../script/manifest.js';
import type { AppStore, RevisionRow, RevisionState, Strategy } from './app-store.js';
import { backOff, CRASH_MEMORY_MS, type LiveApp, type Retry, type Rollout, type Startable } from './live-app.js';
import { PERMANENT } from './live-runner.js';
import { isFullDisk } from './old-weights.js';
import type { AppNeeds } from './quotas.js';
import { estimateRunner, refuseTooLittleMemory, refuseTooSmallFit } from './runner-memory.js';
import type { FetchWatcher, FileMarks, WeightStore } from './weights.js';

export interface RolloutParts {
  readonly store: AppStore;
  readonly weights: WeightStore;
  secrets(org: string, names: readonly string[]): Readonly<Record<string, string>>;
  /** Called when the disk is full. Returns the number of bytes it freed. */
  freeDisk(): number;
  /** Hosts that remote deployments may fetch models from; default: public addresses. */
  readonly modelHosts?: ImageHosts;
  checkQuota(app: LiveApp, needs: AppNeeds): void;
  /** Receives a log line for each change. */
  onEvent?(line: string): void;
}

/** After this many crashes within `CRASH_MEMORY_MS` the app returns to the previous revision. */
const MAX_CRASHES = 3;
/** The secret with the app's own hub token, for gated models. */
const HUB_TOKEN = 'HF_TOKEN';
const UNREADABLE = 'was deployed by an incompatible version of chasqui. Deploy it again';
/** Errors of a hub that may reply later. */
const OUTAGES: readonly ErrorCode[] = ['hub_unreachable', 'hub_failed', 'hub_rate_limited'];
const RESUMED = 'the control plane restarted';
const UNFINISHED: readonly RevisionState[] = ['CREATED', 'FETCHING', 'STARTING', 'READY'];

export class Rollouts {
  constructor(
    private readonly parts: RolloutParts,
    private readonly onChange: () => void,
  ) {}

  /** Replaces a rollout in progress. `restoring`: the active revision has failed and is not started meanwhile. */
  begin(app: LiveApp, number: number, strategy: Strategy, reason: string, restoring = false): void {
    const manifest = this.readable(app, number);
    if (app.rollout !== null && app.rollout.revision !== number) {
      this.#set(app, app.rollout.revision, 'RETIRED', `superseded by revision ${number}`);
    }
    if (app.rollout?.restoring) app.backOffUntil = 0;
    const start = { startable: null, progress: 'starting', failure: null, retry: null };
    const rollout: Rollout = { revision: number, manifest, strategy, reason, restoring, ...start };
    app.rollout = rollout;
    this.#refresh(app);
    this.#startPreparing(app, rollout);
  }

  /**
   * After a restart of the control plane: resumes the newest unfinished rollout and finds the weights of the active
   * revision.
   */
  resume(app: LiveApp): void {
    const { store } = this.parts;
    const { active } = app.row;
    if (active !== null) {
      app.activeManifest = this.manifestOf(app, active);
      if (app.activeManifest === null) this.#setFailure(app, `Revision ${active} ${UNREADABLE}.`);
      app.recallCrashes(store.crashAges(app.id, active, CRASH_MEMORY_MS), performance.now());
      this.#startPreparingActive(app, active);
    }
    if (app.row.deleted !== 0) return;
    const open = store.revisions(app.id).filter(({ state }) => UNFINISHED.includes(state));
    const newest = open.pop();
    const last = store.revisions(app.id).at(-1);
    if (active === null && last !== undefined) app.activeManifest = this.manifestOf(app, last.number);
    for (const { number } of open) this.#set(app, number, 'RETIRED', 'superseded by another revision');
    const canRead = newest !== undefined && this.manifestOf(app, newest.number) !== null;
    if (newest !== undefined && !canRead) this.#set(app, newest.number, 'FAILED', UNREADABLE);
    if (newest === undefined || !canRead) {
      this.#retireDrained(app);
      return;
    }
    const restoring = active !== null && newest.number < active && store.revision(app.id, active)?.state === 'FAILED';
    this.begin(app, newest.number, newest.strategy, RESUMED, restoring);
  }

  /**
   * Activates the candidate once one of its runners has passed the warm-up. Also repeats a failure that could not be
   * stored before, and a failed search for the weights of the active revision.
   */
  settle(app: LiveApp, now: number): void {
    const { rollout, retry } = app;
    if (retry !== null && now >= retry.at && app.row.active !== null) {
      retry.at = Number.POSITIVE_INFINITY;
      this.#startPreparingActive(app, app.row.active);
    }
    if (rollout !== null && rollout.failure !== null) {
      this.fail(app, rollout.failure);
      return;
    }
    if (rollout?.retry != null && now >= rollout.retry.at) this.#startPreparing(app, rollout);
    if (rollout?.startable == null) return;
    const { revision } = rollout;
    const isReady = [...app.runnersById.values()].some((r) => r.state === 'READY' && r.facts.revision === revision);
    if (!isReady) return;
    this.#set(app, revision, 'READY', 'a runner passed the warm-up');
    this.parts.store.activate(app.row, revision, rollout.reason);
    app.rollout = null;
    app.active = rollout.startable;
    app.retry = null;
    app.activeManifest = rollout.manifest;
    app.forgetCrashes();
    this.#refresh(app);
    this.#retireDrained(app);
  }

  /**
   * Ends the rollout. The active revision keeps serving; if it has failed as well, the app returns to the previous one.
   */
  fail(app: LiveApp, reason: string): void {
    const { rollout } = app;
    if (rollout === null) return;
    // If the write below fails, `settle` repeats it.
    rollout.failure = reason;
    this.#set(app, rollout.revision, 'FAILED', reason);
    if (app.row.active === null) app.activeManifest = rollout.manifest;
    if (app.row.active === null) this.#setFailure(app, `Revision ${rollout.revision} failed: ${reason}`);
    app.rollout = null;
    app.forgetCrashes();
    this.#refresh(app);
    const active = app.row.active === null ? undefined : this.parts.store.revision(app.id, app.row.active);
    const previous = active?.state === 'FAILED' ? this.previousOf(app) : null;
    if (active !== undefined && previous !== null) this.#restore(app, active.number, previous, active.reason ?? reason);
  }

  /** Fails a candidate that has waited for memory longer than its start timeout. */
  checkTime(app: LiveApp, now: number): void {
    const since = app.rollout?.startable?.since;
    if (app.rollout === null || since === undefined || now - since < app.rollout.manifest.timeouts.startMs) return;
    const isStarting = [...app.runnersById.values()].some(({ facts }) => facts.revision === app.rollout?.revision);
    if (isStarting) return;
    const advice = app.runnersById.size > 0 ? '. The strategy `recreate` stops the old runners first' : '';
    this.fail(app, `${app.waitsFor ?? 'no runner could be started in time'}${advice}`);
  }

  onRunnerEnd(app: LiveApp, revision: number, crash: { reason: string; isPermanent: boolean } | null): void {
    this.#retireDrained(app);
    if (crash === null || app.row.deleted !== 0) return;
    if (app.rollout?.revision === revision) this.fail(app, crash.reason);
    else if (app.row.active === revision) this.#onActiveCrash(app, revision, crash);
  }

  /** @throws {ChasquiError} `deployment_refused` */
  readable(app: LiveApp, number: number): Manifest {
    const manifest = this.manifestOf(app, number);
    if (manifest === null) throw new ChasquiError('deployment_refused', `Revision ${number} ${UNREADABLE}.`);
    return manifest;
  }

  /** Returns null if there is no such revision or an incompatible version of chasqui stored it. */
  manifestOf(app: LiveApp, number: number): Manifest | null {
    const row = this.parts.store.revision(app.id, number);
    return row === undefined ? null : storedManifest(row.options, app.name);
  }

  /** Returns the last revision that was active before the current one and has not failed. */
  previousOf(app: LiveApp): RevisionRow | null {
    const earlier = this.parts.store
      .revisions(app.id)
      .filter(({ number, state, activated_at: at }) => number !== app.row.active && at !== null && state !== 'FAILED')
      .sort((one, other) => (other.activated_at ?? 0) - (one.activated_at ?? 0));
    return earlier.find(({ number }) => this.manifestOf(app, number) !== null) ?? null;
  }

  #onActiveCrash(
    app: LiveApp,
    revision: number,
    { reason, isPermanent }: { reason: string; isPermanent: boolean },
  ): void {
    const crashes = app.noteCrash(performance.now());
    if (!isPermanent && crashes < MAX_CRASHES) return;
    const previous = this.previousOf(app);
    if (previous === null && !isPermanent) return;
    const cause = isPermanent ? reason : `${crashes} crashes within ten minutes, the last one: ${reason}`;
    this.#set(app, revision, 'FAILED', cause);
    if (previous === null) this.#setFailure(app, `Revision ${revision} failed: ${cause}`);
    // A rollout in progress may be the fix. If it fails, `fail` restores the previous revision.
    else if (app.rollout === null) this.#restore(app, revision, previous, cause);
  }

  #restore(app: LiveApp, from: number, { number }: RevisionRow, cause: string): void {
    this.parts.store.note(app.row, 'ROLLBACK', `from revision ${from} to ${number}: ${cause}`);
    this.begin(app, number, 'rolling', `rolled back from revision ${from}: ${cause}`, true);
  }

  #startPreparing(app: LiveApp, rollout: Rollout): void {
    if (rollout.retry !== null) rollout.retry.at = Number.POSITIVE_INFINITY;
    this.#prepare(app, rollout).catch((error: Error) => this.#say(app, error.message));
  }

  async #prepare(app: LiveApp, rollout: Rollout): Promise<void> {
    const { revision } = rollout;
    try {
      this.#set(app, revision, 'FETCHING', rollout.reason);
      const startable = await this.#startableOf(app, revision, rollout.manifest, (progress) => {
        rollout.progress = progress;
        app.changed();
      });
      if (app.rollout !== rollout) return;
      rollout.startable = { ...startable, since: performance.now() };
      rollout.progress = 'starting';
      this.#set(app, revision, 'STARTING', 'the weights are available');
      this.onChange();
    } catch (error) {
      if (app.rollout === rollout) this.#retryOrFailRollout(app, rollout, error as Error);
    }
  }

  /** A new deployment fails at once, for its author to see. A resumed one waits until the hub is reachable. */
  #retryOrFailRollout(app: LiveApp, rollout: Rollout, error: Error): void {
    if (rollout.reason !== RESUMED || !isOutage(error)) {
      this.fail(app, error.message);
      return;
    }
    rollout.retry = this.#laterAfter(app, rollout.retry, error);
    rollout.progress = error.message;
    app.changed();
  }

  #startPreparingActive(app: LiveApp, revision: number): void {
    this.#prepareActive(app, revision).catch((error: Error) => this.#say(app, error.message));
  }

  async #prepareActive(app: LiveApp, revision: number): Promise<void> {
    const manifest = app.activeManifest;
    if (manifest === null) return;
    try {
      const startable = await this.#startableOf(app, revision, manifest, () => {});
      if (app.row.active !== revision) return;
      app.active = startable;
      app.retry = null;
      this.onChange();
    } catch (error) {
      if (app.row.active === revision) this.#retryOrFail(app, error as Error);
    }
  }

  /** A hub that is down does not make a healthy app fail. */
  #retryOrFail(app: LiveApp, error: Error): void {
    if (isPermanent(error)) {
      app.retry = null;
      this.#setFailure(app, error.message);
      return;
    }
    app.retry = this.#laterAfter(app, app.retry, error);
    app.changed();
  }

  #laterAfter(app: LiveApp, previous: Retry | null, { message }: Error): Retry {
    const attempts = (previous?.attempts ?? 0) + 1;
    const afterMs = backOff(attempts);
    this.#say(app, `retrying in ${Math.ceil(afterMs / 1000)} s: ${message}`);
    return { at: performance.now() + afterMs, attempts, reason: message };
  }

  async #startableOf(
    app: LiveApp,
    revision: number,
    manifest: Manifest,
    onProgress: (text: string) => void,
  ): Promise<Startable> {
    const row = this.parts.store.revision(app.id, revision);
    const marks = JSON.parse(row?.files ?? '{}') as FileMarks;
    const isToken = manifest.secrets.includes(HUB_TOKEN);
    const token = (isToken ? this.parts.secrets(app.org, [HUB_TOKEN])[HUB_TOKEN] : undefined) ?? null;
    // A revision that was active before has fitted into memory.
    const isNew = row?.activated_at == null;
    const watcher: FetchWatcher = {
      onProgress: (what, fraction) => onProgress(`${what} ${Math.floor(fraction * 100)} %`),
      ...(isNew && { checkSize: (bytes: number) => refuseTooLittleMemory(manifest, bytes, app.name) }),
    };
    const hosts = row?.is_local === 1 ? 'any' : (this.parts.modelHosts ?? 'public');
    const fetch = () => this.parts.weights.fetch(manifest, marks, token, watcher, hosts);
    const weights = await fetch().catch((error: unknown) => {
      const freed = isFullDisk(error) ? this.parts.freeDisk() : 0;
      if (freed === 0) throw error;
      this.parts.onEvent?.(`the disk was full: removed ${formatMemory(freed)} of weights of earlier revisions`);
      return fetch();
    });
    const estimate = estimateRunner(manifest, weights);
    if (isNew) refuseTooSmallFit(manifest, estimate, app.name);
    const bytes = manifest.memoryBytes ?? estimate;
    if (isNew) this.parts.checkQuota(app, { runners: Math.max(1, app.row.scale_min ?? manifest.scale.min), bytes });
    if (bytes > totalmem()) {
      const message = `A runner needs ${formatMemory(bytes)}, but this machine has only ${formatMemory(totalmem())}.`;
      throw new ChasquiError('deployment_refused', message);
    }
    return { revision, manifest, weights, bytes };
  }

  #retireDrained(app: LiveApp): void {
    const running = new Set([...app.runnersById.values()].map(({ facts }) => facts.revision));
    for (const { number, state } of this.parts.store.usedRevisions(app.id)) {
      if (state === 'DRAINING' && !running.has(number)) this.#set(app, number, 'RETIRED', 'its last runner has ended');
    }
  }

  #setFailure(app: LiveApp, message: string): void {
    this.parts.store.set(app.id, { failure_code: 'app_failed', failure_message: message });
    this.#refresh(app);
  }

  #set(app: LiveApp, revision: number, state: RevisionState, reason: string): void {
    this.parts.store.setRevision(app.row, revision, state, reason);
    this.#say(app, `revision ${revision}: ${state.toLowerCase()}, ${reason}`);
  }

  #say(app: LiveApp, line: string): void {
    this.parts.onEvent?.(`${app.org}/${app.name}: ${line}`);
  }

  #refresh(app: LiveApp): void {
    app.row = this.parts.store.app(app.id) ?? app.row;
    app.changed();
    this.onChange();
  }
}

function isOutage(error: Error): boolean {
  return error instanceof ChasquiError && OUTAGES.includes(error.code);
}

function isPermanent(error: Error): boolean {
  return error instanceof ChasquiError && [...PERMANENT, 'deployment_refused'].includes(error.code);
}
