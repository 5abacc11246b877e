/**
 * Brings what runs in line with what was deployed: looks at all apps, has `decide` say what to do, and does it. What
 * happens to runners is told back to it, and leads to the next look.
 */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Container } from '../runners/container.js';
import { limitsOf } from '../runners/container-arguments.js';
import type { RunnerModelFile } from '../runners/protocol.js';
import { type Isolation, RunnerProcess } from '../runners/runner-process.js';
import { type Manifest, slotsOf } from '../script/manifest.js';
import type { AppRow, RunnerRow, RunnerState } from './app-store.js';
import { type Action, decide } from './decide.js';
import { LiveApp, type Startable } from './live-app.js';
import { LiveRunner, type RunnerEnd, type RunnerHooks } from './live-runner.js';
import { boundLog, lastLineOf, logFileOf, pruneLogs } from './logs.js';
import { Rollouts } from './rollouts.js';
import { runnerModels } from './runner-models.js';
import type { SupervisorParts } from './supervisor-parts.js';

const TICK_MS = 1000;
const BOUND_LOGS_MS = 5000;
/** A runner that no control plane asks for is not kept for ever. */
const ORPHAN_MS = 15 * 60_000;

export class Supervisor {
  readonly apps = new Map<string, LiveApp>();
  readonly rollouts: Rollouts;
  #timer: NodeJS.Timeout | undefined;
  #logTimer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;
  #stopped = false;

  constructor(readonly parts: SupervisorParts) {
    fs.mkdirSync(parts.runFolder, { recursive: true, mode: 0o700 });
    this.rollouts = new Rollouts(parts, () => this.lookSoon());
  }

  /** Takes over what an earlier control plane left. */
  start(): void {
    for (const row of this.parts.store.apps()) this.#takeOver(row);
    this.#timer = setInterval(() => this.#look(), TICK_MS);
    this.#logTimer = setInterval(() => this.#boundLogs(), BOUND_LOGS_MS);
    this.lookSoon();
  }

  find(org: string, name: string): LiveApp | null {
    for (const app of this.apps.values()) {
      if (app.name === name && app.org === org && app.row.deleted === 0) return app;
    }
    return null;
  }

  /** Finds the app, or makes one without a revision. */
  findOrAdd(org: string, name: string): LiveApp {
    return this.find(org, name) ?? this.#add(this.parts.store.addApp(org, name));
  }

  /** Reads what the database has of the app now. */
  refresh(app: LiveApp): void {
    app.row = this.parts.store.app(app.id) ?? app.row;
    app.changed();
    this.lookSoon();
  }

  lookSoon(): void {
    if (this.#stopped) return;
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.#look();
    });
  }

  drainRunner(app: LiveApp, runner: LiveRunner, reason: string): void {
    runner.drain(reason);
    app.changed();
    this.lookSoon();
  }

  /** With `keepRunners` they go on, for the next control plane to find; else all have ended when it resolves. */
  async stop({ keepRunners, graceMs }: { keepRunners: boolean; graceMs: number }): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    clearInterval(this.#logTimer);
    const all = [...this.apps.values()].flatMap((app) => [...app.runnersById.values()]);
    if (keepRunners) {
      for (const runner of all) runner.forget();
      return;
    }
    for (const runner of all) runner.drain('the cloud was stopped');
    const deadline = performance.now() + graceMs;
    const left = () => [...this.apps.values()].some((app) => app.runnersById.size > 0);
    while (left() && performance.now() < deadline) await wait(20);
    for (const runner of all) runner.process?.kill();
    while (left() && performance.now() < deadline + KILL_MS) await wait(20);
  }

  #look(): void {
    if (this.#stopped) return;
    const now = performance.now();
    const waiting = new Set<string>();
    const attempt = (app: LiveApp, what: () => void): void => {
      const problem = this.#attempt(app, what);
      if (problem !== null) this.#wait(app, problem, waiting);
    };
    for (const app of this.apps.values()) attempt(app, () => this.rollouts.settle(app));
    const state = {
      apps: [...this.apps.values()].map((app) => app.planned(now)),
      budgetBytes: this.parts.budgetBytes,
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
  }

  /**
   * What goes wrong for one app, such as a secret that cannot be read or a database that cannot be written, ends nothing
   * else: the next look tries it again. Returns what it was.
   */
  #attempt(app: LiveApp, what: () => void): string | null {
    try {
      what();
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

  /** A candidate that cannot be started has failed; a revision that has worked is tried again. */
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
    // What may throw comes first, so that no runner is known that has no process.
    const withSecrets = { ...command, secrets: secrets(app.org, manifest.secrets) };
    pruneLogs(logFolder, app.id);
    store.addRunner(app.row, { id, revision, boot_id: bootId, bytes, isolation }, 'was started');
    const runner = new LiveRunner(
      { id, revision, slots: slotsOf(manifest), bytes, startMs, drainMs },
      this.#hooks(app),
    );
    app.runnersById.set(id, runner);
    app.starts += 1;
    const [first, ...others] = runnerModels(manifest, weights) as [RunnerModelFile, ...RunnerModelFile[]];
    runner.process = RunnerProcess.start(
      runFolder,
      {
        ...{ ...first, others, id, bootId, drainMs, endsWithParent, orphanMs: ORPHAN_MS },
        responsesFolder: responses,
      },
      withSecrets,
      logFileOf(logFolder, app.id, id),
      runner.listener,
      isolation === 'podman' ? this.#isolate(id, manifest, { bytes, responses }) : null,
    );
    store.setPid(id, runner.process.pid);
    this.#say(app, `runner ${id} of revision ${revision} starts`);
    app.changed();
  }

  #isolate(id: string, manifest: Manifest, { bytes, responses }: { bytes: number; responses: string }): Isolation {
    const container = new Container(this.parts.podman, this.parts.runFolder, id);
    return { container, limits: limitsOf(manifest, bytes), writable: [responses] };
  }

  #hooks(app: LiveApp): RunnerHooks {
    return {
      onProgress: () => app.changed(),
      lastWords: ({ id }) => lastLineOf(logFileOf(this.parts.logFolder, app.id, id)),
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
    this.lookSoon();
  }

  #onRunnerEnd(app: LiveApp, runner: LiveRunner, { state, reason, isPermanent }: RunnerEnd): void {
    const { id, facts } = runner;
    app.runnersById.delete(id);
    if (state === 'CRASHED') app.crashes += 1;
    this.parts.store.setRunner(app.row, id, facts.revision, state, reason);
    this.#say(app, `runner ${id}: ${state.toLowerCase()}, ${reason}`);
    this.rollouts.onRunnerEnd(app, facts.revision, state === 'CRASHED' ? { reason, isPermanent } : null);
    app.changed();
    this.lookSoon();
  }

  #add(row: AppRow): LiveApp {
    const app = new LiveApp(row, () => this.lookSoon());
    this.apps.set(app.id, app);
    return app;
  }

  #takeOver(row: AppRow): void {
    const app = this.#add(row);
    for (const runner of this.parts.store.runners(row.id)) this.#adopt(app, runner);
    this.rollouts.resume(app);
  }

  #adopt(app: LiveApp, { id, revision, bytes, state, boot_id: bootId, pid, isolation }: RunnerRow): void {
    const manifest = this.rollouts.manifestOf(app, revision);
    if (manifest === null) {
      // It ends by itself when no control plane has asked for it for a while.
      this.parts.store.setRunner(app.row, id, revision, 'STOPPED', 'its revision cannot be read any more');
      return;
    }
    const { startMs, drainMs } = manifest.timeouts;
    const facts = { id, revision, bytes, slots: slotsOf(manifest), startMs, drainMs };
    const runner = new LiveRunner(facts, this.#hooks(app), state);
    app.runnersById.set(id, runner);
    const { podman, runFolder } = this.parts;
    const container = isolation === 'podman' ? new Container(podman, runFolder, id) : null;
    runner.process = RunnerProcess.adopt(runFolder, { id, bootId, pid }, runner.listener, container);
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

const KILL_MS = 5000;

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
