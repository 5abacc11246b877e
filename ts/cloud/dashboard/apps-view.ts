/** The dashboard's interface to apps, implemented by the control plane. */
import type { Actor } from '../accounts/audit.js';
import type { AppState, AppSummary } from '../apps/views.js';

/** Changes throw `ChasquiError` with a displayable message, and write their own audit entries. */
export interface AppsView {
  /** Sorted by organisation and name. */
  list(): readonly AppSummary[];
  find(org: string, name: string): AppDetail | null;
  /** Starts a rollout of an older revision. */
  rollBack(org: string, name: string, revision: number, actor: Actor): Promise<void>;
  /** Overrides the script's scale; null removes the override. */
  scale(org: string, name: string, scale: { min: number; max: number } | null, actor: Actor): Promise<void>;
  /** Replaces the runners by new ones of the same revision. */
  restart(org: string, name: string, actor: Actor): Promise<void>;
  /** The last lines, oldest first. */
  logs(org: string, name: string, lines: number): readonly LogLine[];
  /** Calls back with each new line. Returns a function that unsubscribes. */
  onLog(org: string, name: string, listener: (line: LogLine) => void): () => void;
  /** Calls back after any change of `list` or `find`. Returns a function that unsubscribes. */
  onChange(listener: () => void): () => void;
}

/** Health of an app, revision or runner; determines the colour of its state. */
export type Health = 'good' | 'busy' | 'asleep' | 'bad';

const HEALTH: Readonly<Record<string, Health>> = {
  ready: 'good',
  active: 'good',
  idle: 'good',
  failed: 'bad',
  crashed: 'bad',
  asleep: 'asleep',
  empty: 'asleep',
  retired: 'asleep',
  stopped: 'asleep',
};

/** States without a row are transitions. */
export function healthOf(state: string): Health {
  return HEALTH[state] ?? 'busy';
}

export interface AppDetail extends AppState {
  readonly runners: readonly RunnerSummary[];
  /** Newest first. */
  readonly events: readonly EventSummary[];
}

export interface RunnerSummary {
  readonly id: string;
  readonly state: string;
  readonly health: Health;
  readonly reason: string | null;
  readonly revision: number;
  readonly pid: number | null;
  readonly running: number;
  readonly slots: number;
  /** Unix seconds. */
  readonly startedAt: number;
}

export interface EventSummary {
  /** Unix seconds. */
  readonly at: number;
  /** Such as `revision 4` or `runner 1f3a`. */
  readonly subject: string;
  /** Such as `loading → warming`. */
  readonly change: string;
  readonly reason: string | null;
}

export interface LogLine {
  /** Unix milliseconds. */
  readonly at: number;
  readonly runner: string;
  readonly text: string;
}
