/** How apps and runners are shown: by the API, the command line and the dashboard. */
import { lookAt } from '../runners/ask-runner.js';
import { modelNamesOf } from '../script/manifest.js';
import type { AppRow, AppStore, RevisionRow } from './app-store.js';
import type { LiveApp } from './live-app.js';
import type { LiveRunner } from './live-runner.js';

export interface RevisionView {
  number: number;
  state: string;
  reason: string | null;
  digest: string;
  message: string | null;
  author: string;
  strategy: string;
  /** Milliseconds since 1970. */
  created_at: number;
  activated_at: number | null;
  options: unknown;
}

export interface AppState {
  org: string;
  app: string;
  /** `ready`, `starting`, `asleep`, `deploying`, `failed` or `empty`. */
  state: string;
  /** Why, where that needs saying. */
  reason: string | null;
  /** What a start is at, such as `loading 43 %`; null while requests are taken, or nothing is started. */
  progress: string | null;
  url: string;
  auth: string;
  /** What requests name as `model`; null where nothing was deployed. */
  model: string | null;
  /** All that they can name: each model, and after it its adapters. */
  models: readonly string[];
  /** The active one. */
  revision: number | null;
  /** How many runners take requests. */
  ready: number;
  demand: { running: number; queued: number };
  scale: { min: number; max: number; is_overridden: boolean };
  /** The newest last; older ones only where they are active, on their way or asked for. */
  revisions: RevisionView[];
}

export interface RunnerView {
  id: string;
  org: string;
  app: string;
  revision: number;
  /** `loading`, `warming`, `idle`, `busy` or `draining`. */
  state: string;
  pid: number | null;
  /** `process`, or `podman` for one in a container. */
  isolation: string;
  /** Requests that it computes or lets wait; null where it does not say. */
  running: number | null;
  slots: number;
  memory_bytes: number;
  progress: string | null;
}

const SHOWN_REVISIONS = 20;

/** `asked` is the number of a revision that is to be shown however old it is. */
export function stateOf(app: LiveApp, store: AppStore, url: string, asked: number | null = null): AppState {
  const ready = app.runners().length;
  const models = app.manifest === null ? [] : modelNamesOf(app.manifest);
  const revisions = store.revisions(app.id);
  const firstShown = revisions.at(-SHOWN_REVISIONS)?.number ?? 0;
  const older = [app.revision, app.rollout?.revision, asked];
  return {
    org: app.org,
    app: app.name,
    ...wordOf(app, ready),
    progress: app.progress,
    url,
    auth: app.auth,
    model: models[0] ?? null,
    models,
    revision: app.revision,
    ready,
    demand: app.demand,
    scale: { min: app.scale.min, max: app.scale.max, is_overridden: isOverridden(app.row) },
    revisions: revisions.filter(({ number }) => number >= firstShown || older.includes(number)).map(revisionView),
  };
}

/** Asks a runner that takes requests how many it has. */
export async function runnerView(app: LiveApp, runner: LiveRunner): Promise<RunnerView> {
  const { id, facts, state, process } = runner;
  const isReady = state === 'READY' && process !== null;
  const health = isReady ? await lookAt(process.socketPath).catch(() => null) : null;
  const running = health === null ? null : health.active + health.queued;
  return {
    id,
    org: app.org,
    app: app.name,
    revision: facts.revision,
    state: isReady ? (running ? 'busy' : 'idle') : state.toLowerCase(),
    pid: process?.pid ?? null,
    isolation: process?.isolation ?? 'process',
    running,
    slots: facts.slots,
    memory_bytes: facts.bytes,
    progress: state === 'LOADING' || state === 'WARMING' ? runner.progress : null,
  };
}

function wordOf(app: LiveApp, ready: number): { state: string; reason: string | null } {
  if (app.failure !== null) return { state: 'failed', reason: app.failure.message };
  if (app.rollout !== null) return { state: 'deploying', reason: `revision ${app.rollout.revision}` };
  if (ready > 0) return { state: 'ready', reason: null };
  if (app.row.active === null) return { state: 'empty', reason: 'no revision has been deployed' };
  if (app.runnersById.size > 0 || app.progress !== null) return { state: 'starting', reason: app.progress };
  return { state: 'asleep', reason: null };
}

function isOverridden(row: AppRow): boolean {
  return row.scale_min !== null || row.scale_max !== null;
}

function revisionView(row: RevisionRow): RevisionView {
  const { number, state, reason, digest, message, author, strategy, created_at, activated_at, options } = row;
  return {
    ...{ number, state: state.toLowerCase(), reason, digest, message, author, strategy, created_at, activated_at },
    options: JSON.parse(options),
  };
}
