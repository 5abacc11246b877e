/** Apps and runners as the API, the command line, the dashboard and the metrics show them. */
import type { MeasuredApp, MeasuredCloud } from '../metrics/cloud-metrics.js';
import { fetchHealth } from '../runners/ask-runner.js';
import { modelNamesOf } from '../script/manifest.js';
import type { AppStore, ShownRevision } from './app-store.js';
import type { LiveApp } from './live-app.js';
import type { LiveRunner } from './live-runner.js';
import type { Supervisor } from './supervisor.js';

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
  /** Null if they are large and the revision is neither active nor in progress nor requested. */
  options: unknown;
}

export interface AppSummary {
  org: string;
  app: string;
  /** `ready`, `starting`, `asleep`, `deploying`, `failed` or `empty`. */
  state: string;
  reason: string | null;
  /** Progress of a start, such as `loading 43 %`; null while the app serves requests or nothing starts. */
  progress: string | null;
  url: string;
  auth: string;
  /** The value of `model` in requests; null before the first deployment. */
  model: string | null;
  /** All accepted values of `model`: each model followed by its adapters. */
  models: readonly string[];
  revision: number | null;
  ready: number;
  demand: { running: number; queued: number };
  scale: { min: number; max: number; is_overridden: boolean };
}

export interface AppState extends AppSummary {
  /** The newest last. Only the last 20, the active one, one in progress and the requested one. */
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
  /** `process` or `podman`. */
  isolation: string;
  /** Running and queued requests; null if the runner does not reply. */
  running: number | null;
  slots: number;
  memory_bytes: number;
  progress: string | null;
}

const SHOWN_REVISIONS = 20;

/** `asked`: also include this revision. */
export function stateOf(app: LiveApp, store: AppStore, url: string, asked: number | null = null): AppState {
  const older = [app.revision, app.rollout?.revision ?? null, asked];
  const revisions = store.newestRevisions(app.id, SHOWN_REVISIONS, older).map(revisionView);
  return { ...summaryOf(app, url), revisions };
}

/** Reads no database: the dashboard polls it on the thread that relays tokens. */
export function summaryOf(app: LiveApp, url: string): AppSummary {
  const ready = app.runners().length;
  const models = app.manifest === null ? [] : modelNamesOf(app.manifest);
  return {
    org: app.org,
    app: app.name,
    ...statusOf(app, ready),
    progress: app.progress,
    url,
    auth: app.auth,
    model: models[0] ?? null,
    models,
    revision: app.revision,
    ready,
    demand: app.demand,
    scale: {
      min: app.scale.min,
      max: app.scale.max,
      is_overridden: app.row.scale_min !== null || app.row.scale_max !== null,
    },
  };
}

/** Queries a ready runner for its number of requests. */
export async function runnerView(app: LiveApp, runner: LiveRunner): Promise<RunnerView> {
  const { id, facts, state, process } = runner;
  const isReady = state === 'READY' && process !== null;
  const health = isReady ? await fetchHealth(process.socketPath).catch(() => null) : null;
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

function statusOf(app: LiveApp, ready: number): { state: string; reason: string | null } {
  if (app.failure !== null) return { state: 'failed', reason: app.failure.message };
  if (app.rollout !== null) return { state: 'deploying', reason: `revision ${app.rollout.revision}` };
  if (ready > 0) return { state: 'ready', reason: null };
  if (app.row.active === null) return { state: 'empty', reason: 'no revision has been deployed' };
  if (app.runnersById.size > 0 || app.progress !== null) return { state: 'starting', reason: app.progress };
  return { state: 'asleep', reason: null };
}

function revisionView(row: ShownRevision): RevisionView {
  const { number, state, reason, digest, message, author, strategy, created_at, activated_at, options } = row;
  return {
    number,
    state: state.toLowerCase(),
    reason,
    digest,
    message,
    author,
    strategy,
    created_at,
    activated_at,
    options: options === null ? null : JSON.parse(options),
  };
}

/** The gauges of the metrics. */
export function measure({ apps, parts }: Supervisor): Omit<MeasuredCloud, 'queues'> {
  const existing = [...apps.values()].filter(({ row }) => row.deleted === 0);
  return { apps: existing.map(toMeasured), memoryLimitBytes: parts.budgetBytes };
}

function toMeasured(app: LiveApp): MeasuredApp {
  const runners = { loading: 0, warming: 0, ready: 0, draining: 0 };
  let memoryBytes = 0;
  for (const { state, facts } of app.runnersById.values()) {
    const label = state.toLowerCase();
    if (label in runners) runners[label as keyof typeof runners] += 1;
    memoryBytes += facts.bytes;
  }
  return {
    org: app.org,
    name: app.name,
    running: app.demand.running,
    waiting: app.demand.queued,
    queueLimit: app.maxQueue,
    runners,
    memoryBytes,
    starts: app.starts,
    crashes: app.crashes,
    hasFailed: app.failure !== null,
  };
}
