/** The apps page of the dashboard: summaries, details, logs and actions. */
import { statSync } from 'node:fs';
import type { Actor } from '../accounts/audit.js';
import {
  type AppDetail,
  type AppsView,
  type EventSummary,
  healthOf,
  type LogLine,
  type RunnerSummary,
} from '../dashboard/apps-view.js';
import type { AppStore, EventRow } from './app-store.js';
import type { AppControl, LogCursor } from './control.js';
import type { LiveApp } from './live-app.js';
import type { LiveRunner } from './live-runner.js';
import { logFileOf } from './logs.js';
import type { Supervisor } from './supervisor.js';
import type { AppSummary } from './views.js';

const POLL_MS = 500;
const SHOWN_EVENTS = 100;

export interface LiveAppsParts {
  readonly supervisor: Supervisor;
  readonly store: AppStore;
  readonly control: AppControl;
  readonly logFolder: string;
  readonly runningAt: (app: string, runner: string) => number;
}

export class LiveApps implements AppsView {
  readonly #listeners = new Set<() => void>();
  #stopPolling: (() => void) | null = null;

  constructor(private readonly parts: LiveAppsParts) {}

  list(): AppSummary[] {
    return this.parts.control.summaries();
  }

  find(org: string, name: string): AppDetail | null {
    const app = this.parts.supervisor.find(org, name);
    if (app === null) return null;
    return {
      ...this.parts.control.status(org, name),
      runners: [...app.runnersById.values()].map((runner) => this.#runner(app, runner)),
      events: toEvents(this.parts.store.events(org, name, 0, SHOWN_EVENTS)).reverse(),
    };
  }

  async rollBack(org: string, name: string, revision: number, actor: Actor): Promise<void> {
    this.parts.control.rollBack(org, name, revision, actor);
  }

  async scale(org: string, name: string, scale: { min: number; max: number } | null, actor: Actor): Promise<void> {
    this.parts.control.scale(org, name, scale, actor);
  }

  async restart(org: string, name: string, actor: Actor): Promise<void> {
    this.parts.control.restart(org, name, actor);
  }

  logs(org: string, name: string, lines: number): LogLine[] {
    const app = this.parts.supervisor.find(org, name);
    if (app === null) return [];
    const read = this.parts.control.logs(org, name, null).lines.slice(-lines);
    return read.map(({ runner, text }) => ({ at: this.#writtenAt(app, runner), runner, text }));
  }

  onLog(org: string, name: string, listener: (line: LogLine) => void): () => void {
    let cursor: LogCursor | null = null;
    return poll(() => {
      if (this.parts.supervisor.find(org, name) === null) return;
      const read = this.parts.control.logs(org, name, cursor);
      // `logs` has returned the earlier lines.
      if (cursor !== null) for (const line of read.lines) listener({ at: Date.now(), ...line });
      cursor = read.cursor;
    });
  }

  onChange(listener: () => void): () => void {
    // The same function may be given twice.
    const call = () => listener();
    this.#listeners.add(call);
    this.#stopPolling ??= this.#pollChanges();
    return () => {
      this.#listeners.delete(call);
      if (this.#listeners.size > 0) return;
      this.#stopPolling?.();
      this.#stopPolling = null;
    };
  }

  /** One poll for all listeners. */
  #pollChanges(): () => void {
    // Revisions, runners and scale changes are events. Progress and demand are in the list.
    const snapshot = () => `${this.parts.store.lastEvent()} ${JSON.stringify(this.list())}`;
    let before: string | null = null;
    return poll(() => {
      const now = snapshot();
      const isChange = before !== null && now !== before;
      before = now;
      if (isChange) for (const call of this.#listeners) call();
    });
  }

  #runner(app: LiveApp, { id, facts, state, process, progress }: LiveRunner): RunnerSummary {
    const running = this.parts.runningAt(app.id, id);
    const word = state === 'READY' ? (running > 0 ? 'busy' : 'idle') : state.toLowerCase();
    const isStarting = state === 'LOADING' || state === 'WARMING';
    const row = this.parts.store.runners(app.id).find((each) => each.id === id);
    return {
      id,
      state: isStarting ? progress : word,
      health: healthOf(word),
      reason: row?.reason ?? null,
      revision: facts.revision,
      pid: process?.pid ?? null,
      running,
      slots: facts.slots,
      startedAt: toSeconds(row?.created_at ?? Date.now()),
    };
  }

  #writtenAt(app: LiveApp, runner: string): number {
    const file = logFileOf(this.parts.logFolder, app.id, runner);
    return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
  }
}

/** Calls `look` now and every `POLL_MS`. Returns a function that stops it. */
function poll(look: () => void): () => void {
  const attempt = (): void => {
    try {
      look();
    } catch {
      // The database or a log cannot be read now: retry at the next poll.
    }
  };
  attempt();
  const timer = setInterval(attempt, POLL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Adds to each event the previous state of its subject. */
function toEvents(rows: readonly EventRow[]): EventSummary[] {
  const before = new Map<string, string>();
  return rows.map(({ at, runner, revision, state, reason }) => {
    const subject = runner !== null ? `runner ${runner}` : revision === null ? 'app' : `revision ${revision}`;
    const from = before.get(subject);
    const to = state.toLowerCase();
    before.set(subject, to);
    return { at: toSeconds(at), subject, change: from === undefined ? to : `${from} → ${to}`, reason };
  });
}

function toSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
