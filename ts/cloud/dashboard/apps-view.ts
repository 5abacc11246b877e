/** What the dashboard shows of apps and does to them. The control plane implements it. */
import type { Actor } from '../accounts/audit.js';

/**
 * Changes throw `ChasquiError` where they cannot be made; its message is shown on the page. What makes a change also
 * writes the row of the audit.
 */
export interface AppsView {
  /** Sorted by organisation and name. */
  list(): readonly AppSummary[];
  find(org: string, name: string): AppDetail | null;
  /** Begins a rollout of an older revision. */
  rollBack(org: string, name: string, revision: number, actor: Actor): Promise<void>;
  /** Overrides what the script says; null goes back to it. */
  scale(org: string, name: string, scale: { min: number; max: number } | null, actor: Actor): Promise<void>;
  /** Replaces the runners by new ones of the same revision. */
  restart(org: string, name: string, actor: Actor): Promise<void>;
  /** The last lines, the oldest first. */
  logs(org: string, name: string, lines: number): readonly LogLine[];
  /** Calls back with each new line until the function that it returns is called. */
  onLog(org: string, name: string, listener: (line: LogLine) => void): () => void;
  /** Calls back when anything that `list` or `find` shows has changed. */
  onChange(listener: () => void): () => void;
}

/** How an app, a revision or a runner fares; it decides the colour of its state. */
export type Health = 'good' | 'busy' | 'asleep' | 'bad';

export interface AppSummary {
  readonly org: string;
  readonly name: string;
  readonly auth: 'private' | 'public';
  /** In a word or two, such as `ready`, `asleep` or `fetching weights 43 %`. */
  readonly state: string;
  readonly health: Health;
  /** Why, where that needs saying. */
  readonly reason: string | null;
  /** The base URL of clients, without `/v1`. */
  readonly url: string;
  /** What requests name as `model`. */
  readonly model: string | null;
  /** The number of the active revision. */
  readonly revision: number | null;
  /** How many runners take requests, and how many requests they compute or let wait. */
  readonly ready: number;
  readonly running: number;
  readonly queued: number;
}

export interface AppDetail extends AppSummary {
  readonly scale: { readonly min: number; readonly max: number; readonly isOverridden: boolean };
  /** The newest first. */
  readonly revisions: readonly RevisionSummary[];
  readonly runners: readonly RunnerSummary[];
  /** The newest first. */
  readonly events: readonly EventSummary[];
}

export interface RevisionSummary {
  readonly number: number;
  readonly state: string;
  readonly health: Health;
  readonly reason: string | null;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly author: string;
  readonly message: string | null;
  readonly digest: string;
  readonly canRollBack: boolean;
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
