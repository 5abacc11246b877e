/**
 * Decides which runners start and stop. A pure function of its arguments: no processes, files or clock.
 *
 * - An app gets as many runners as its requests need, the first one at once.
 * - Surplus runners stop one at a time, after `keepAliveMs`. The least busy one stops first.
 * - If memory is short, idle runners are evicted, those of the least recently used app first.
 * - Runners that wait for memory start in the order of their requests. Nothing behind the first one starts, unless it
 *   waits for memory that it cannot get: memory that other apps always keep, or all of it.
 * - Runners beyond the quota of their organisation wait and block nothing; only idle runners of the same organisation are
 *   evicted for them. A candidate may start beside the runners that it replaces.
 * - Runners that wait for GPUs block nothing either. Idle runners are evicted for them if that frees enough GPUs.
 * - A deployment holds that place for `MAX_RESERVATION_MS`, or longer if evicting idle runners is enough for it.
 */
import { formatMemory } from '../../hub/format-bytes.js';
import { beyondQuota, type Quotas } from './quotas.js';

export interface PlannedRunner {
  readonly id: string;
  readonly revision: number;
  /** `leaving`: takes no new requests, but its memory is not free yet. */
  readonly state: 'starting' | 'ready' | 'leaving';
  readonly bytes: number;
  /** GPUs that no other runner uses. */
  readonly gpus: number;
  /** Requests. */
  readonly running: number;
}

/** A revision that becomes active when one of its runners passes the warm-up. */
export interface Candidate {
  readonly revision: number;
  readonly bytes: number;
  readonly gpus: number;
  /** `recreate`: the other runners stop before it starts. */
  readonly strategy: 'rolling' | 'recreate';
  /** On the clock of `now`. */
  readonly since: number;
}

export interface PlannedApp {
  readonly id: string;
  readonly org: string;
  /** Shown in messages. */
  readonly name: string;
  /** The revision that serves requests. */
  readonly active: { readonly revision: number; readonly bytes: number; readonly gpus: number } | null;
  readonly candidate: Candidate | null;
  /** Concurrent requests per runner. */
  readonly slots: number;
  readonly scale: {
    readonly min: number;
    readonly max: number;
    readonly buffer: number;
    readonly keepAliveMs: number;
    readonly delayMs: number;
  };
  readonly demand: { readonly running: number; readonly queued: number };
  /** Since when it has had too few runners, on the clock of `now`; null: it has enough. */
  readonly tooFewSince: number | null;
  readonly tooManySince: number | null;
  readonly usedAt: number;
  /** No runner starts before this time because the previous ones crashed. */
  readonly backOffUntil: number;
  /** An earlier revision is on its way back, so the active one, which failed, is not started. */
  readonly restoring: boolean;
  readonly runners: readonly PlannedRunner[];
}

export interface ScalingState {
  readonly apps: readonly PlannedApp[];
  /** Memory for all runners. A runner that needs more starts when no other is there. */
  readonly budgetBytes: number;
  /** Infinite if unknown. */
  readonly gpus: number;
  readonly quotas: Quotas;
}

export type Action =
  | { readonly kind: 'start'; readonly app: string; readonly revision: number }
  | { readonly kind: 'stop'; readonly app: string; readonly runner: string; readonly reason: string }
  /** A wanted runner cannot start now. */
  | { readonly kind: 'wait'; readonly app: string; readonly reason: string }
  /** The candidate can never start. */
  | { readonly kind: 'refuse'; readonly app: string; readonly reason: string };

interface WantedRunner {
  app: PlannedApp;
  revision: number;
  bytes: number;
  gpus: number;
  since: number;
  /** False for a spare runner (`buffer`): it evicts nothing and blocks nothing. */
  isNeeded: boolean;
}

/** A deployment that waits for memory blocks later starts for this long. */
const MAX_RESERVATION_MS = 600_000;

export function neededRunners({ demand, slots }: Pick<PlannedApp, 'demand' | 'slots'>): number {
  return Math.ceil((demand.running + demand.queued) / slots);
}

export function desiredRunners(app: Pick<PlannedApp, 'demand' | 'slots' | 'scale' | 'active'>): number {
  if (app.active === null) return 0;
  const { min, max, buffer } = app.scale;
  return Math.min(max, Math.max(min, neededRunners(app) + buffer));
}

/** Runners of the active revision that serve requests or are starting. */
export function activeRunners({ active, runners }: Pick<PlannedApp, 'active' | 'runners'>): PlannedRunner[] {
  return runners.filter(({ state, revision }) => state !== 'leaving' && revision === active?.revision);
}

/** `now`: milliseconds of a monotonic clock. */
export function decide(state: ScalingState, now: number): Action[] {
  const stops = state.apps.flatMap((app) => [...replaced(app), ...surplus(app, now)]);
  const wanted = state.apps.flatMap((app) => [...wantedCandidate(app), ...wantedActive(app, now)]);
  wanted.sort((one, other) => one.since - other.since);
  return [...stops, ...placeInOrder(wanted, state, stops, now)];
}

/** Stops runners of replaced revisions, and all others before a `recreate` candidate. */
function replaced({ id, active, candidate, runners }: PlannedApp): Action[] {
  const keeps = (revision: number): boolean =>
    revision === candidate?.revision || (revision === active?.revision && candidate?.strategy !== 'recreate');
  const reason =
    candidate?.strategy === 'recreate' ? `stopped for revision ${candidate.revision}` : 'replaced by another revision';
  return runners
    .filter(({ state, revision }) => state !== 'leaving' && !keeps(revision))
    .map((runner) => ({ kind: 'stop', app: id, runner: runner.id, reason }));
}

/** Stops one runner at a time. */
function surplus(app: PlannedApp, now: number): Action[] {
  if (app.candidate?.strategy === 'recreate' || app.tooManySince === null) return [];
  if (now - app.tooManySince < app.scale.keepAliveMs) return [];
  const runners = activeRunners(app);
  if (runners.length <= desiredRunners(app)) return [];
  const [stopped] = leastUsed(runners);
  return stopped === undefined ? [] : [{ kind: 'stop', app: app.id, runner: stopped.id, reason: 'no longer needed' }];
}

/** In the order of stopping: starting ones, idle ones, then the least busy; the newest of those first. */
function leastUsed(runners: readonly PlannedRunner[]): PlannedRunner[] {
  const rank = ({ state, running }: PlannedRunner) => (state === 'starting' ? -1 : running);
  return [...runners].reverse().sort((one, other) => rank(one) - rank(other));
}

function wantedCandidate(app: PlannedApp): WantedRunner[] {
  const { candidate, runners } = app;
  if (candidate === null) return [];
  if (runners.some(({ state, revision }) => state !== 'leaving' && revision === candidate.revision)) return [];
  return [{ app, ...candidate, isNeeded: true }];
}

function wantedActive(app: PlannedApp, now: number): WantedRunner[] {
  const { active, candidate, scale, tooFewSince } = app;
  if (active === null || candidate?.strategy === 'recreate' || app.restoring || now < app.backOffUntil) return [];
  const present = activeRunners(app).length;
  const missing = desiredRunners(app) - present;
  const since = tooFewSince ?? now;
  if (missing <= 0 || (present > 0 && now - since < scale.delayMs)) return [];
  const needed = Math.min(scale.max, Math.max(scale.min, neededRunners(app)));
  return Array.from({ length: missing }, (_, index) => ({ app, ...active, since, isNeeded: present + index < needed }));
}

/**
 * The rights of a runner that does not fit.
 *
 * - `reserve`: it evicts idle runners, and nothing behind it starts first.
 *
 * - `evict`: it evicts idle runners. It needs the whole memory, so a reservation could block the others forever.
 *
 * - `none`: it waits, because eviction would not free enough memory.
 */
type Claim = 'reserve' | 'evict' | 'none';

/** Starts what fits, in order, and evicts idle runners for the first that does not. */
function placeInOrder(
  wanted: readonly WantedRunner[],
  state: ScalingState,
  stops: readonly Action[],
  now: number,
): Action[] {
  const actions: Action[] = [];
  const stopping = new Set(stops.flatMap((action) => (action.kind === 'stop' ? [action.runner] : [])));
  let used = sumOf(state.apps.flatMap(({ runners }) => runners));
  let reservedFor: PlannedApp | null = null;
  const started: WantedRunner[] = [];
  for (const runner of wanted) {
    const { app, revision, bytes } = runner;
    const free = state.budgetBytes - used;
    const fits = bytes <= free || used === 0;
    const budgetBytes = Math.min(state.budgetBytes, state.quotas(app.org).memory);
    const excess = excessOf(runner, state, started);
    const shortage = gpuShortage(runner, state, started);
    if (app.candidate?.strategy === 'recreate' && app.runners.length > 0) {
      actions.push({ kind: 'wait', app: app.id, reason: 'the runners of the previous revision are stopping' });
    } else if (fits && reservedFor === null && excess === null && shortage === null) {
      actions.push({ kind: 'start', app: app.id, revision });
      used += bytes;
      started.push(runner);
    } else if (neverFits(runner, budgetBytes)) {
      actions.push({ kind: 'refuse', app: app.id, reason: ownRunnersInTheWay(runner, budgetBytes) });
    } else if (excess !== null) {
      const apps = state.apps.filter(({ org }) => org === app.org);
      if (runner.isNeeded) actions.push(...evictIdle(runner, { ...state, apps }, stopping, 1));
      actions.push({ kind: 'wait', app: app.id, reason: excess });
    } else if (shortage !== null) {
      if (runner.isNeeded && shortage.isEvictable) actions.push(...evictIdle(runner, withGpus(state), stopping, 1));
      actions.push({ kind: shortage.isPermanent ? 'refuse' : 'wait', app: app.id, reason: shortage.reason });
    } else {
      if (reservedFor === null) {
        const started = actions.filter((action) => action.kind === 'start' && action.app === app.id).length;
        const missing = bytes - free;
        const claim = claimOf(runner, state, { stopping, startedBytes: started * bytes, missing, now });
        if (claim !== 'none') actions.push(...evictIdle(runner, state, stopping, missing));
        if (claim === 'reserve') reservedFor = app;
      }
      actions.push({ kind: 'wait', app: app.id, reason: noMemory(bytes, free, reservedFor, app) });
    }
  }
  return actions;
}

function excessOf(
  { app, revision, bytes }: WantedRunner,
  { apps, quotas }: ScalingState,
  started: readonly WantedRunner[],
): string | null {
  const quota = quotas(app.org);
  const replaced = revision === app.candidate?.revision ? activeRunners(app).length : 0;
  const runners = [...apps.flatMap((each) => each.runners.map((runner) => ({ ...runner, app: each }))), ...started];
  const own = runners.filter((runner) => runner.app.org === app.org);
  return beyondQuota(app.org, { ...quota, runners: quota.runners + replaced }, own, bytes);
}

/** Null if enough GPUs are free. */
function gpuShortage(
  runner: WantedRunner,
  state: ScalingState,
  started: readonly WantedRunner[],
): { reason: string; isEvictable: boolean; isPermanent: boolean } | null {
  const { app, revision, gpus } = runner;
  const sum = (runners: readonly { gpus: number }[]) => runners.reduce((total, each) => total + each.gpus, 0);
  const all = state.apps.flatMap(({ runners }) => runners);
  const free = state.gpus - sum(all) - sum(started);
  if (gpus === 0 || gpus <= free) return null;
  const reason = `out of GPUs: needs ${gpus}, free ${Math.max(0, free)} of ${state.gpus}`;
  const own = sum(app.runners.filter((each) => each.state !== 'leaving'));
  if (revision === app.candidate?.revision && own > 0 && own + gpus > state.gpus) {
    const advice = 'Deploy with the strategy `recreate`, which stops the runners of the active revision first';
    return { reason: `${reason}. ${advice}.`, isEvictable: false, isPermanent: true };
  }
  const leaving = all.filter((each) => each.state === 'leaving');
  const evictable = evictableRunners(runner, withGpus(state), new Set()).map((each) => each.runner);
  return { reason, isEvictable: gpus <= free + sum(leaving) + sum(evictable), isPermanent: false };
}

/** Only apps with runners that hold GPUs. */
function withGpus(state: ScalingState): ScalingState {
  return { ...state, apps: state.apps.filter(({ runners }) => runners.some(({ gpus }) => gpus > 0)) };
}

function claimOf(
  runner: WantedRunner,
  state: ScalingState,
  at: { stopping: ReadonlySet<string>; startedBytes: number; missing: number; now: number },
): Claim {
  const { app, bytes, isNeeded } = runner;
  if (!isNeeded) return 'none';
  if (bytes + at.startedBytes + heldBytes(app, state) <= state.budgetBytes) {
    // A late deployment may still be given up, so it reserves only what eviction frees for certain.
    const isInTime = !isLate(runner, at.now) || at.missing <= evictableBytes(runner, state, at.stopping);
    if (isInTime) return 'reserve';
  }
  return bytes > state.budgetBytes && nothingElseIsNeeded(app, state) ? 'evict' : 'none';
}

/** Whether a candidate could not start beside the app's own runners even if all others stopped. */
function neverFits({ app, revision, bytes }: WantedRunner, budgetBytes: number): boolean {
  const own = app.runners.filter(({ state }) => state !== 'leaving');
  return revision === app.candidate?.revision && own.length > 0 && bytes + sumOf(own) > budgetBytes;
}

/** Memory that a new runner of the app cannot get: other apps always keep it, or this app needs it already. */
function heldBytes(app: PlannedApp, state: ScalingState): number {
  const held = state.apps.flatMap((other) => {
    return activeRunners(other).slice(0, other.id === app.id ? protectedRunners(other) : other.scale.min);
  });
  return sumOf(held);
}

/** Whether evicting all idle runners leaves the app's first runner alone. */
function nothingElseIsNeeded(app: PlannedApp, state: ScalingState): boolean {
  return state.apps.every((other) =>
    other.id === app.id ? activeRunners(other).length === 0 : protectedRunners(other) === 0,
  );
}

function isLate({ app, revision, since }: WantedRunner, now: number): boolean {
  return revision === app.candidate?.revision && now - since >= MAX_RESERVATION_MS;
}

/** How many of the app's runners cannot be evicted. */
function protectedRunners(app: PlannedApp): number {
  return Math.max(neededRunners(app), app.scale.min);
}

function evictIdle(one: WantedRunner, state: ScalingState, stopping: Set<string>, missing: number): Action[] {
  const actions: Action[] = [];
  let left = missing - leavingBytes(state, stopping);
  for (const { app, runner } of evictableRunners(one, state, stopping)) {
    if (left <= 0) return actions;
    left -= runner.bytes;
    stopping.add(runner.id);
    actions.push({ kind: 'stop', app: app.id, runner: runner.id, reason: `evicted for ${one.app.name}` });
  }
  return actions;
}

function evictableBytes(one: WantedRunner, state: ScalingState, stopping: ReadonlySet<string>): number {
  return leavingBytes(state, stopping) + sumOf(evictableRunners(one, state, stopping).map(({ runner }) => runner));
}

function leavingBytes(state: ScalingState, stopping: ReadonlySet<string>): number {
  return sumOf(state.apps.flatMap(({ runners }) => runners.filter((each) => isStopping(each, stopping))));
}

/** In the order of eviction. */
function evictableRunners(
  one: WantedRunner,
  state: ScalingState,
  stopping: ReadonlySet<string>,
): { app: PlannedApp; runner: PlannedRunner }[] {
  // The app's own idle runners come last; they may be in the way of its candidate.
  const others = [...state.apps.filter(({ id }) => id !== one.app.id).sort((a, b) => a.usedAt - b.usedAt), one.app];
  return others.flatMap((app) => {
    const present = leastUsed(activeRunners(app)).filter(({ id }) => !stopping.has(id));
    const spare = present.length - protectedRunners(app);
    // A starting runner may be evicted once no request waits for it.
    return present.slice(0, Math.max(0, spare)).map((runner) => ({ app, runner }));
  });
}

function isStopping({ id, state }: PlannedRunner, stopping: ReadonlySet<string>): boolean {
  return state === 'leaving' || stopping.has(id);
}

function sumOf(runners: readonly PlannedRunner[]): number {
  return runners.reduce((sum, { bytes }) => sum + bytes, 0);
}

function ownRunnersInTheWay({ app, bytes }: WantedRunner, budgetBytes: number): string {
  const taken = sumOf(app.runners.filter(({ state }) => state !== 'leaving'));
  return (
    `A runner needs ${formatMemory(bytes)}, but the runners of the active revision use ${formatMemory(taken)} of ` +
    `${formatMemory(budgetBytes)}. Deploy with the strategy \`recreate\`, which stops them first.`
  );
}

function noMemory(bytes: number, free: number, first: PlannedApp | null, app: PlannedApp): string {
  const behind = first === null || first.id === app.id ? '' : `; ${first.name} is first in line`;
  return `out of memory: needs ${formatMemory(bytes)}, free ${formatMemory(Math.max(0, free))}${behind}`;
}
