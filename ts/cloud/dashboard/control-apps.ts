/** The apps of the control plane, as the dashboard shows them. */
import type { Actor } from '../accounts/audit.js';
import type { EventRow } from '../apps/app-store.js';
import type { AppControl, LogCursor } from '../apps/control.js';
import type { AppState, RevisionView, RunnerView } from '../apps/views.js';
import type {
  AppDetail,
  AppSummary,
  AppsView,
  EventSummary,
  Health,
  LogLine,
  RevisionSummary,
  RunnerSummary,
} from './apps-view.js';

/** How soon a page that is open shows what has changed. Nothing is looked at while none is. */
const LOOK_MS = 1000;
const EVENTS = 50;

export class ControlApps implements AppsView {
  readonly #control: AppControl;

  constructor(control: AppControl) {
    this.#control = control;
  }

  list(): readonly AppSummary[] {
    return this.#control.list().map(summaryOf);
  }

  async find(org: string, name: string): Promise<AppDetail | null> {
    const state = this.#control.list().find((app) => app.org === org && app.app === name);
    if (!state) return null;
    const runners = await this.#control.runnersOf(org, name);
    const { min, max, is_overridden: isOverridden } = state.scale;
    return {
      ...summaryOf(state),
      scale: { min, max, isOverridden },
      revisions: state.revisions.map((revision) => revisionOf(revision, state.revision)).reverse(),
      runners: runners.map(runnerOf),
      events: this.#control.events(org, name, 0, EVENTS).map(eventOf).reverse(),
    };
  }

  async rollBack(org: string, name: string, revision: number, actor: Actor): Promise<void> {
    this.#control.rollBack(org, name, revision, actor);
  }

  async scale(org: string, name: string, scale: { min: number; max: number } | null, actor: Actor): Promise<void> {
    this.#control.scale(org, name, scale, actor);
  }

  async restart(org: string, name: string, actor: Actor): Promise<void> {
    this.#control.restart(org, name, actor);
  }

  logs(org: string, name: string, lines: number): readonly LogLine[] {
    return this.#control.logs(org, name, null).lines.slice(-lines);
  }

  onLog(org: string, name: string, listener: (line: LogLine) => void): () => void {
    let cursor: LogCursor = this.#control.logs(org, name, null).cursor;
    return repeat(() => {
      const { lines, cursor: next } = this.#control.logs(org, name, cursor);
      cursor = next;
      for (const line of lines) listener(line);
    });
  }

  onChange(listener: () => void): () => void {
    let seen = this.#fingerprint();
    return repeat(() => {
      const now = this.#fingerprint();
      if (now !== seen) listener();
      seen = now;
    });
  }

  #fingerprint(): string {
    return JSON.stringify(this.#control.list());
  }
}

/** An app may be deleted while its page is open; then there is nothing to tell of any more. */
function repeat(look: () => void): () => void {
  const timer = setInterval(() => {
    try {
      look();
    } catch {
      clearInterval(timer);
    }
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function summaryOf(app: AppState): AppSummary {
  const { org, app: name, auth, state, reason, progress, url, model, revision, ready, demand } = app;
  return {
    ...{ org, name, url, model, revision, ready, running: demand.running, queued: demand.queued },
    auth: auth === 'public' ? 'public' : 'private',
    state: progress === null || state === 'failed' ? state : progress,
    health: healthOf(state),
    reason: reason === progress ? null : reason,
  };
}

const HEALTH: Readonly<Record<string, Health>> = {
  ...{ ready: 'good', active: 'good', idle: 'good', busy: 'good' },
  ...{ asleep: 'asleep', empty: 'asleep', retired: 'asleep', stopped: 'asleep', draining: 'asleep' },
  ...{ failed: 'bad', crashed: 'bad' },
};

/** Whatever else there is, is on its way to something. */
function healthOf(state: string): Health {
  return HEALTH[state] ?? 'busy';
}

function revisionOf(revision: RevisionView, active: number | null): RevisionSummary {
  const { number, state, reason, digest, message, author, created_at: createdAt } = revision;
  return {
    ...{ number, state, reason, digest, message, author, health: healthOf(state) },
    createdAt: createdAt / 1000,
    canRollBack: number !== active && state === 'retired',
  };
}

function runnerOf({
  id,
  state,
  revision,
  pid,
  running,
  slots,
  memory_bytes: memoryBytes,
  progress,
}: RunnerView): RunnerSummary {
  return { id, state, health: healthOf(state), reason: progress, revision, pid, running, slots, memoryBytes };
}

function eventOf({ at, revision, runner, state, reason }: EventRow): EventSummary {
  const of = revision === null ? 'App' : `Revision ${revision}`;
  const subject = runner === null ? of : `Runner ${runner}`;
  return { at: at / 1000, subject, state: state.toLowerCase(), reason: reason === '' ? null : reason };
}
