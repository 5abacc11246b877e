/**
 * How a revision becomes the one that takes an app's requests: its weights are fetched, a runner of it is started and has
 * to answer a warm-up, and only then the app's address leads to it. Going back is the same with an earlier revision.
 */
import { totalmem } from 'node:os';
import { ChasquiError } from '../../errors.js';
import type { Manifest } from '../script/manifest.js';
import type { RevisionRow, RevisionState, Strategy } from './app-store.js';
import { refuseTooLittleMemory } from './check-memory.js';
import { gib } from './decide.js';
import { CRASH_MEMORY_MS, type LiveApp, type Rollout, type Startable } from './live-app.js';
import { isFullDisk } from './old-weights.js';
import { estimateRunner } from './runner-models.js';
import { storedManifest } from './stored-manifest.js';
import type { SupervisorParts } from './supervisor-parts.js';
import type { FetchWatcher, FileMarks } from './weights.js';

type Parts = Pick<SupervisorParts, 'store' | 'weights' | 'secrets' | 'makeRoom' | 'modelHosts' | 'onEvent'>;

/** So many crashes of a new revision, within the time that crashes are remembered, and the app goes back. */
const MAX_CRASHES = 3;
/** A secret of this name lets an app have models of a hub that are not for everybody. */
const HUB_TOKEN = 'HF_TOKEN';
const UNREADABLE = 'was deployed by another version of chasqui, and this one cannot read it: deploy again';
const ON_ITS_WAY: readonly RevisionState[] = ['CREATED', 'FETCHING', 'STARTING', 'READY'];

export class Rollouts {
  constructor(
    private readonly parts: Parts,
    private readonly onChange: () => void,
  ) {}

  /** One that is under way makes place. */
  begin(app: LiveApp, number: number, strategy: Strategy, reason: string): void {
    const manifest = this.readable(app, number);
    if (app.rollout !== null && app.rollout.revision !== number) {
      this.#set(app, app.rollout.revision, 'RETIRED', `revision ${number} was deployed before it was ready`);
    }
    const start = { startable: null, progress: 'starting', failure: null };
    const rollout: Rollout = { revision: number, manifest, strategy, reason, ...start };
    app.rollout = rollout;
    // Going back may have kept the active revision from being started.
    if (app.restsUntil === Number.POSITIVE_INFINITY) app.restsUntil = 0;
    this.#refresh(app);
    this.#prepare(app, rollout).catch((error: Error) => this.#say(app, error.message));
  }

  /** After a restart of the control plane: goes on with what was under way, and finds the active revision's weights. */
  resume(app: LiveApp): void {
    const { store } = this.parts;
    const { active } = app.row;
    if (active !== null) {
      app.activeManifest = this.manifestOf(app, active);
      if (app.activeManifest === null) this.#setFailure(app, `Revision ${active} ${UNREADABLE}.`);
      app.recallCrashes(store.crashAges(app.id, active, CRASH_MEMORY_MS), performance.now());
      this.#prepareActive(app, active).catch((error: Error) => this.#say(app, error.message));
    }
    if (app.row.deleted !== 0) return;
    const open = store.revisions(app.id).filter(({ state }) => ON_ITS_WAY.includes(state));
    const newest = open.pop();
    const last = store.revisions(app.id).at(-1);
    if (active === null && last !== undefined) app.activeManifest = this.manifestOf(app, last.number);
    for (const { number } of open) this.#set(app, number, 'RETIRED', 'another revision was deployed');
    const canRead = newest !== undefined && this.manifestOf(app, newest.number) !== null;
    if (newest !== undefined && !canRead) this.#set(app, newest.number, 'FAILED', UNREADABLE);
    if (newest === undefined || !canRead) {
      this.#retireDrained(app);
      return;
    }
    this.begin(app, newest.number, newest.strategy, 'the control plane came back');
    const isFailed = active !== null && store.revision(app.id, active)?.state === 'FAILED';
    if (isFailed && newest.number < active) this.#keepDown(app);
  }

  /**
   * Makes the candidate the active revision, once a runner of it has answered its warm-up. One that has failed, which could
   * not be written, fails now.
   */
  settle(app: LiveApp): void {
    const { rollout } = app;
    if (rollout !== null && rollout.failure !== null) {
      this.fail(app, rollout.failure);
      return;
    }
    if (rollout?.startable == null) return;
    const { revision } = rollout;
    const isReady = [...app.runnersById.values()].some((r) => r.state === 'READY' && r.facts.revision === revision);
    if (!isReady) return;
    this.#set(app, revision, 'READY', 'a runner answered a warm-up');
    this.parts.store.activate(app.row, revision, rollout.reason);
    app.rollout = null;
    app.active = rollout.startable;
    app.activeManifest = rollout.manifest;
    app.forgetCrashes();
    this.#refresh(app);
    this.#retireDrained(app);
  }

  /** Nothing changes for the app's requests, unless it never had a revision that worked, or the active one has failed. */
  fail(app: LiveApp, reason: string): void {
    const { rollout } = app;
    if (rollout === null) return;
    // Where the database cannot be written, the next look finds it here.
    rollout.failure = reason;
    this.#set(app, rollout.revision, 'FAILED', reason);
    // Whether keys are asked for is what this revision says, while there is no other.
    if (app.row.active === null) app.activeManifest = rollout.manifest;
    if (app.row.active === null) this.#setFailure(app, `Revision ${rollout.revision} failed: ${reason}`);
    app.rollout = null;
    app.forgetCrashes();
    this.#refresh(app);
    const active = app.row.active === null ? undefined : this.parts.store.revision(app.id, app.row.active);
    const previous = active?.state === 'FAILED' ? this.previousOf(app) : null;
    if (active !== undefined && previous !== null) this.#goBack(app, active.number, previous, active.reason ?? reason);
  }

  /** A candidate that cannot be started for want of memory is not waited for longer than a start may take. */
  checkTime(app: LiveApp, now: number): void {
    const since = app.rollout?.startable?.since;
    if (app.rollout === null || since === undefined || now - since < app.rollout.manifest.timeouts.startMs) return;
    const isStarting = [...app.runnersById.values()].some(({ facts }) => facts.revision === app.rollout?.revision);
    if (isStarting) return;
    const advice = app.runnersById.size > 0 ? '; the strategy recreate stops the old runners first' : '';
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

  /** What the script of a revision says; null when there is no such revision, or another version of chasqui wrote it. */
  manifestOf(app: LiveApp, number: number): Manifest | null {
    const row = this.parts.store.revision(app.id, number);
    return row === undefined ? null : storedManifest(row.options, app.name);
  }

  /** The revision to go back to: the one that was active last before, and did not fail. */
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
    const what = isPermanent ? reason : `${crashes} crashes within ten minutes, the last: ${reason}`;
    this.#set(app, revision, 'FAILED', what);
    if (previous === null) this.#setFailure(app, `Revision ${revision} failed: ${what}`);
    // What is under way may be the mend. Where it fails, the app goes back then; until then this one is tried again.
    else if (app.rollout === null) this.#goBack(app, revision, previous, what);
  }

  #goBack(app: LiveApp, from: number, { number }: RevisionRow, what: string): void {
    this.parts.store.note(app.row, 'ROLLBACK', `from revision ${from} to ${number}: ${what}`);
    this.begin(app, number, 'rolling', `went back from revision ${from}: ${what}`);
    this.#keepDown(app);
  }

  /** A revision that the app is going back from is not started again meanwhile. */
  #keepDown(app: LiveApp): void {
    app.restsUntil = Number.POSITIVE_INFINITY;
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
      this.#set(app, revision, 'STARTING', 'the weights are here');
      this.onChange();
    } catch (error) {
      if (app.rollout === rollout) this.fail(app, (error as Error).message);
    }
  }

  async #prepareActive(app: LiveApp, revision: number): Promise<void> {
    const manifest = app.activeManifest;
    if (manifest === null) return;
    try {
      const startable = await this.#startableOf(app, revision, manifest, () => {});
      if (app.row.active !== revision) return;
      app.active = startable;
      this.onChange();
    } catch (error) {
      if (app.row.active === revision) this.#setFailure(app, (error as Error).message);
    }
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
    // One that took requests before has been loaded, whatever its files have.
    const isNew = row?.activated_at == null;
    const watcher: FetchWatcher = {
      onProgress: (what, fraction) => onProgress(`${what} ${Math.floor(fraction * 100)} %`),
      ...(isNew && { checkSize: (bytes: number) => refuseTooLittleMemory(manifest, bytes, app.name) }),
    };
    const hosts = row?.is_local === 1 ? 'any' : (this.parts.modelHosts ?? 'public');
    const fetch = () => this.parts.weights.fetch(manifest, marks, token, watcher, hosts);
    const weights = await fetch().catch((error: unknown) => {
      const freed = isFullDisk(error) ? this.parts.makeRoom() : 0;
      if (freed === 0) throw error;
      this.parts.onEvent?.(`the disk was full: weights of earlier revisions were removed, ${gib(freed)}`);
      return fetch();
    });
    const bytes = manifest.memoryBytes ?? estimateRunner(manifest, weights);
    if (bytes > totalmem()) {
      const message = `A runner needs ${gib(bytes)}, but this machine has ${gib(totalmem())}.`;
      throw new ChasquiError('deployment_refused', message);
    }
    return { revision, manifest, weights, bytes };
  }

  #retireDrained(app: LiveApp): void {
    const running = new Set([...app.runnersById.values()].map(({ facts }) => facts.revision));
    for (const { number, state } of this.parts.store.revisions(app.id)) {
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
