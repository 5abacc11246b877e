/**
 * Reconciles the runners with the deployed apps: passes the state of all apps to `decide` and carries out its actions.
 * Runs every second and after each event of a runner.
 */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Container } from '../runners/container.js';
import { limitsOf } from '../runners/container-arguments.js';
import { assignGpus, type Gpus } from '../runners/gpus.js';
import type { Podman } from '../runners/podman.js';
import type { RunnerModelFile } from '../runners/protocol.js';
import { type Isolation, type IsolationName, type RunnerCommand, RunnerProcess } from '../runners/runner-process.js';
import { type Manifest, slotsOf } from '../script/manifest.js';
import type { AppRow, RunnerRow, RunnerState } from './app-store.js';
import { type Action, decide } from './decide.js';
import { LiveApp, type Startable } from './live-app.js';
import { LiveRunner, type RunnerEnd, type RunnerHooks } from './live-runner.js';
import { boundLog, lastLineOf, logFileOf, pruneLogs } from './logs.js';
import { type AppNeeds, type Quotas, refuseBeyondQuota } from './quotas.js';
import { type RolloutParts, Rollouts } from './rollouts.js';
import { runnerModels } from './runner-memory.js';

export interface SupervisorParts extends Omit<RolloutParts, 'checkQuota'> {
  readonly command: RunnerCommand;
  /** For new runners. Runners of an earlier control plane keep theirs. */
  readonly isolation: IsolationName;
  readonly podman: Podman;
  /** Folder of the runners' sockets. Must be short: the system limits the length of socket paths. */
  readonly runFolder: string;
  readonly logFolder: string;
  /** Stored responses, in a folder per app. */
  readonly responsesFolder: string;
  readonly budgetBytes: number;
  /** Null: unknown. Then runners choose among all. */
  readonly gpus: Gpus | null;
  readonly quotas: Quotas;
  /** Whether runners exit with this process, even if it is killed. */
  readonly endsWithParent: boolean;
}

const TICK_MS = 1000;
const BOUND_LOGS_MS = 5000;
/** A runner exits after this time without a control plane. */
const ORPHAN_MS = 15 * 60_000;
const KILL_MS = 5000;

export class Supervisor {
  readonly apps = new Map<string, LiveApp>();
  readonly rollouts: Rollouts;
  #timer: NodeJS.Timeout | undefined;
  #logTimer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;
  #stopped = false;

  constructor(readonly parts: SupervisorParts) {
    fs.mkdirSync(parts.runFolder, { recursive: true, mode: 0o700 });
    const checkQuota = (app: LiveApp, needs: AppNeeds) => this.refuseBeyondQuota(app.org, app.name, needs);
    this.rollouts = new Rollouts({ ...parts, checkQuota }, () => this.reconcileSoon());
  }

  /** Takes over the runners and rollouts of an earlier control plane. */
  start(): void {
    for (const row of this.parts.store.apps()) this.#takeOver(row);
    this.#timer = setInterval(() => this.#reconcile(), TICK_MS);
    this.#logTimer = setInterval(() => this.#boundLogs(), BOUND_LOGS_MS);
    this.reconcileSoon();
  }

  find(org: string, name: string): LiveApp | null {
    for (const app of this.apps.values()) {
      if (app.name === name && app.org === org && app.row.deleted === 0) return app;
    }
    return null;
  }

  /** Returns the app, new and without a revision if it does not exist. */
  findOrAdd(org: string, name: string): LiveApp {
    return this.find(org, name) ?? this.#add(this.parts.store.addApp(org, name));
  }

  /** @throws {ChasquiError} `deployment_refused` if the app with these needs exceeds the quota of its organisation. */
  refuseBeyondQuota(org: string, name: string, needs: AppNeeds): void {
    const others = [...this.apps.values()].filter((app) => {
      return app.org === org && app.name !== name && app.row.deleted === 0;
    });
    const kept = others.map(({ scale, active }) => ({ runners: scale.min, bytes: active?.bytes ?? 0 }));
    refuseBeyondQuota(org, this.parts.quotas(org), [...kept, needs]);
  }

  /** Reloads the app from the database. */
  refresh(app: LiveApp): void {
    app.row = this.parts.store.app(app.id) ?? app.row;
    app.changed();
    this.reconcileSoon();
  }

  reconcileSoon(): void {
    if (this.#stopped) return;
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.#reconcile();
    });
  }

  drainRunner(app: LiveApp, runner: LiveRunner, reason: string): void {
    runner.drain(reason);
    app.changed();
    this.reconcileSoon();
  }

  /** With `keepRunners` the runners keep running for the next control plane. Otherwise resolves when all have ended. */
  async stop({ keepRunners, graceMs }: { keepRunners: boolean; graceMs: number }): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    clearInterval(this.#logTimer);
    const all = [...this.apps.values()].flatMap((app) => [...app.runnersById.values()]);
    if (keepRunners) {
      for (const runner of all) runner.release();
      return;
    }
    for (const runner of all) runner.drain('the cloud was stopped');
    const deadline = performance.now() + graceMs;
    const left = () => [...this.apps.values()].some((app) => app.runnersById.size > 0);
    while (left() && performance.now() < deadline) await sleep(20);
    for (const runner of all) runner.process?.kill();
    while (left() && performance.now() < deadline + KILL_MS) await sleep(20);
  }

  #reconcile(): void {
    if (this.#stopped) return;
    const now = performance.now();
    const waiting = new Set<string>();
    const attempt = (app: LiveApp, action: () => void): void => {
      const failure = this.#attempt(app, action);
      if (failure !== null) this.#wait(app, failure, waiting);
    };
    for (const app of this.apps.values()) attempt(app, () => this.rollouts.settle(app, now));
    const state = {
      apps: [...this.apps.values()].map((app) => app.planned(now)),
      budgetBytes: this.parts.budgetBytes,
      gpus: this.parts.gpus?.ids.length ?? Number.POSITIVE_INFINITY,
      quotas: this.parts.quotas,
    };
    for (const action of decide(state, now)) {
      const app = this.apps.get(action.app);
      if (app !== undefined) attempt(app, () => this.#carryOut(app, action, waiting));
    }
    for (const app of this.apps.values()) {
      attempt(app, () => {
        this.rollouts.checkTime(app, now);
        if (app.row.deleted !== 0 && app.runnersById.size === 0 && app.rollout === null) this.#remove(app);
      });
      if (!waiting.has(app.id)) app.waitsFor = null;
    }
    this.#shareCpus(now);
  }

  #shareCpus(now: number): void {
    const apps = [...this.apps.values()];
    const withClients = new Set(apps.filter((app) => app.hasClients(now)).map(({ org }) => org));
    for (const { org, runnersById } of apps) {
      for (const { process } of runnersById.values()) process?.setHasClients(withClients.has(org));
    }
  }

  /**
   * Returns the error message, or null. An error of one app (an unreadable secret, a failed write) affects no other;
   * the next round retries.
   */
  #attempt(app: LiveApp, action: () => void): string | null {
    try {
      action();
      return null;
    } catch (error) {
      const { message } = error as Error;
      if (app.waitsFor !== message) this.#say(app, message);
      return message;
    }
  }

  #wait(app: LiveApp, reason: string, waiting: Set<string>): void {
    waiting.add(app.id);
    if (app.waitsFor === reason) return;
    app.waitsFor = reason;
    app.changed();
  }

  #carryOut(app: LiveApp, action: Action, waiting: Set<string>): void {
    switch (action.kind) {
      case 'start': {
        const startable = this.#startableOf(app, action.revision);
        if (startable !== null) this.#startOrFail(app, startable);
        return;
      }
      case 'stop': {
        const runner = app.runnersById.get(action.runner);
        if (runner !== undefined) this.drainRunner(app, runner, action.reason);
        return;
      }
      case 'wait':
        this.#wait(app, action.reason, waiting);
        return;
      case 'refuse':
        this.rollouts.fail(app, action.reason);
    }
  }

  #boundLogs(): void {
    for (const app of this.apps.values()) {
      this.#attempt(app, () => {
        for (const id of app.runnersById.keys()) boundLog(logFileOf(this.parts.logFolder, app.id, id));
      });
    }
  }

  #startableOf(app: LiveApp, revision: number): Startable | null {
    if (app.rollout?.revision === revision) return app.rollout.startable;
    return app.active?.revision === revision ? app.active : null;
  }

  /** A candidate that cannot start has failed. The active revision is retried. */
  #startOrFail(app: LiveApp, startable: Startable): void {
    try {
      this.#startRunner(app, startable);
    } catch (error) {
      if (app.rollout?.startable !== startable) throw error;
      this.rollouts.fail(app, (error as Error).message);
    }
  }

  #startRunner(app: LiveApp, { revision, manifest, weights, bytes }: Startable): void {
    const { store, command, runFolder, logFolder, responsesFolder, endsWithParent, secrets, isolation } = this.parts;
    const responses = path.join(responsesFolder, app.id);
    const id = `r${randomBytes(6).toString('hex')}`;
    const bootId = RunnerProcess.newBootId();
    const { startMs, drainMs } = manifest.timeouts;
    // Calls that may throw come first, so every known runner has a process.
    const gpus = this.#assignGpus(manifest);
    const environment = isolation === 'process' ? gpus.environment : {};
    const withSecrets = { ...command, secrets: { ...secrets(app.org, manifest.secrets), ...environment } };
    pruneLogs(logFolder, app.id);
    const row = { id, revision, boot_id: bootId, bytes, isolation, gpus: gpus.reserved.join(',') };
    store.addRunner(app.row, row, 'started');
    const runner = new LiveRunner(
      { id, revision, slots: slotsOf(manifest), bytes, gpus: gpus.reserved, startMs, drainMs },
      this.#hooks(app),
    );
    app.runnersById.set(id, runner);
    app.starts += 1;
    const [first, ...others] = runnerModels(manifest, weights) as [RunnerModelFile, ...RunnerModelFile[]];
    runner.process = RunnerProcess.start(
      runFolder,
      {
        ...first,
        others,
        id,
        bootId,
        drainMs,
        endsWithParent,
        orphanMs: ORPHAN_MS,
        responsesFolder: responses,
      },
      withSecrets,
      logFileOf(logFolder, app.id, id),
      runner.listener,
      this.#isolate(app.org, id, manifest, { bytes, responses, gpus: gpus.reserved }),
    );
    store.setPid(id, runner.process.pid);
    this.#say(app, `runner ${id} of revision ${revision} starts`);
    app.changed();
  }

  #assignGpus({ gpus: count }: Manifest): { reserved: readonly string[]; environment: Record<string, string> } {
    const { gpus } = this.parts;
    if (gpus === null) return { reserved: (count ?? 0) > 0 ? ['all'] : [], environment: {} };
    const runners = [...this.apps.values()].flatMap((app) => [...app.runnersById.values()]);
    const reserved = runners.flatMap(({ facts }) => facts.gpus);
    const { variable } = gpus;
    const assigned = assignGpus(gpus, count, reserved);
    // `decide` starts no runner without enough GPUs.
    if (assigned === null) throw new Error('no GPU is free');
    return {
      reserved: assigned.reserved,
      environment: variable === '' ? {} : { [variable]: assigned.visible.join(',') },
    };
  }

  #isolate(
    organisation: string,
    id: string,
    manifest: Manifest,
    { bytes, responses, gpus }: { bytes: number; responses: string; gpus: readonly string[] },
  ): Isolation {
    const { podman, runFolder, isolation } = this.parts;
    const container = isolation === 'podman' ? new Container(podman, runFolder, id) : null;
    return { organisation, container, limits: limitsOf(manifest, bytes, gpus), writable: [responses] };
  }

  #hooks(app: LiveApp): RunnerHooks {
    return {
      onProgress: () => app.changed(),
      lastLogLine: ({ id }) => lastLineOf(logFileOf(this.parts.logFolder, app.id, id)),
      onChange: (runner, state, reason) => this.#attempt(app, () => this.#onRunnerChange(app, runner, state, reason)),
      onEnd: (runner, end) => this.#attempt(app, () => this.#onRunnerEnd(app, runner, end)),
    };
  }

  #onRunnerChange(app: LiveApp, runner: LiveRunner, state: RunnerState, reason: string): void {
    const { id, facts } = runner;
    this.parts.store.setRunner(app.row, id, facts.revision, state, reason);
    if (runner.process !== null) this.parts.store.setPid(id, runner.process.pid);
    this.#say(app, `runner ${id}: ${state.toLowerCase()}, ${reason}`);
    app.changed();
    this.reconcileSoon();
  }

  #onRunnerEnd(app: LiveApp, runner: LiveRunner, { state, reason, isPermanent }: RunnerEnd): void {
    const { id, facts } = runner;
    app.runnersById.delete(id);
    if (state === 'CRASHED') app.crashes += 1;
    this.parts.store.setRunner(app.row, id, facts.revision, state, reason);
    this.#say(app, `runner ${id}: ${state.toLowerCase()}, ${reason}`);
    this.rollouts.onRunnerEnd(app, facts.revision, state === 'CRASHED' ? { reason, isPermanent } : null);
    app.changed();
    this.reconcileSoon();
  }

  #add(row: AppRow): LiveApp {
    const app = new LiveApp(row, () => this.reconcileSoon());
    this.apps.set(app.id, app);
    return app;
  }

  #takeOver(row: AppRow): void {
    const app = this.#add(row);
    for (const runner of this.parts.store.runners(row.id)) this.#adopt(app, runner);
    this.rollouts.resume(app);
  }

  #adopt(app: LiveApp, { id, revision, bytes, state, boot_id: bootId, pid, isolation, gpus: ids }: RunnerRow): void {
    const manifest = this.rollouts.manifestOf(app, revision);
    if (manifest === null) {
      // The runner exits after `ORPHAN_MS`.
      this.parts.store.setRunner(
        app.row,
        id,
        revision,
        'STOPPED',
        'its revision was stored by an incompatible version of chasqui',
      );
      return;
    }
    const { startMs, drainMs } = manifest.timeouts;
    const { memoryBytes } = limitsOf(manifest, bytes);
    const gpus = ids.split(',').filter((each) => each !== '');
    const facts = { id, revision, bytes, gpus, slots: slotsOf(manifest), startMs, drainMs };
    const runner = new LiveRunner(facts, this.#hooks(app), state);
    app.runnersById.set(id, runner);
    const { podman, runFolder } = this.parts;
    const container = isolation === 'podman' ? new Container(podman, runFolder, id) : null;
    runner.process = RunnerProcess.adopt(
      runFolder,
      { id, organisation: app.org, bootId, pid, memoryBytes },
      runner.listener,
      container,
    );
  }

  #remove(app: LiveApp): void {
    this.apps.delete(app.id);
    this.parts.store.note(app.row, 'DELETED', 'its last runner has ended');
    this.parts.store.removeApp(app.row);
    for (const folder of [this.parts.logFolder, this.parts.responsesFolder]) {
      fs.rmSync(path.join(folder, app.id), { recursive: true, force: true });
    }
  }

  #say(app: LiveApp, line: string): void {
    this.parts.onEvent?.(`${app.org}/${app.name}: ${line}`);
  }
}
