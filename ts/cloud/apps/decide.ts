/**
 * Which runners are started and which go. Knows no processes, no files and no clock, so that every situation can be tried.
 *
 * An app gets as many runners as its requests need, at once when it has none. What it has too many goes one at a time,
 * after the app has not needed it for a while. Where memory lacks, runners that nobody needs make way, those of the app
 * first that was used longest ago. Whoever waits for memory waits in one order, and nobody behind it is started before,
 * unless it waits for what it cannot get: memory that others always keep, or all of it. A deployment is not waited for
 * longer than a while, unless runners that nobody needs are enough for it.
 */

export interface PlannedRunner {
  readonly id: string;
  readonly revision: number;
  /** `leaving`: it takes no new requests, but its memory is not free yet. */
  readonly state: 'starting' | 'ready' | 'leaving';
  readonly bytes: number;
}

/** A revision that becomes the active one when a runner of it has passed its warm-up. */
export interface Candidate {
  readonly revision: number;
  /** What a runner of it takes. */
  readonly bytes: number;
  /** `recreate`: the other runners go before it is started. */
  readonly strategy: 'rolling' | 'recreate';
  /** As `now`. */
  readonly since: number;
}

export interface PlannedApp {
  readonly id: string;
  /** What messages call it. */
  readonly name: string;
  /** The revision that takes requests. */
  readonly active: { readonly revision: number; readonly bytes: number } | null;
  readonly candidate: Candidate | null;
  /** How many requests a runner computes at once. */
  readonly slots: number;
  readonly scale: {
    readonly min: number;
    readonly max: number;
    readonly buffer: number;
    readonly keepAliveMs: number;
    readonly delayMs: number;
  };
  readonly demand: { readonly running: number; readonly queued: number };
  /** Since when it has needed more runners than it has; null: it does not. As `now`. */
  readonly tooFewSince: number | null;
  /** Since when it has had more runners than it needs. */
  readonly tooManySince: number | null;
  /** When it last had a request. */
  readonly usedAt: number;
  /** No runner is started before, because the last ones crashed. */
  readonly restsUntil: number;
  readonly runners: readonly PlannedRunner[];
}

export interface ScalingState {
  readonly apps: readonly PlannedApp[];
  /** What all runners may take. One that needs more is started when it is alone. */
  readonly budgetBytes: number;
}

export type Action =
  | { readonly kind: 'start'; readonly app: string; readonly revision: number }
  | { readonly kind: 'stop'; readonly app: string; readonly runner: string; readonly reason: string }
  /** A runner is wanted that cannot be started now. */
  | { readonly kind: 'wait'; readonly app: string; readonly reason: string }
  /** The candidate can never be started in this way. */
  | { readonly kind: 'refuse'; readonly app: string; readonly reason: string };

interface WantedRunner {
  app: PlannedApp;
  revision: number;
  bytes: number;
  since: number;
  /** False for one that is only to be there in case of more requests: nobody gives way to it, and nobody waits for it. */
  isNeeded: boolean;
}

/** So long a deployment that waits for memory that others need has nobody started before it. */
const MAX_LINE_MS = 600_000;

/** How many runners the requests of the moment need. */
export function neededRunners({ demand, slots }: Pick<PlannedApp, 'demand' | 'slots'>): number {
  return Math.ceil((demand.running + demand.queued) / slots);
}

/** How many runners an app should have. */
export function desiredRunners(app: Pick<PlannedApp, 'demand' | 'slots' | 'scale' | 'active'>): number {
  if (app.active === null) return 0;
  const { min, max, buffer } = app.scale;
  return Math.min(max, Math.max(min, neededRunners(app) + buffer));
}

/** Runners that take requests for the active revision, or soon will. */
export function activeRunners({ active, runners }: Pick<PlannedApp, 'active' | 'runners'>): PlannedRunner[] {
  return runners.filter(({ state, revision }) => state !== 'leaving' && revision === active?.revision);
}

/** `now`: milliseconds that only grow. */
export function decide(state: ScalingState, now: number): Action[] {
  const stops = state.apps.flatMap((app) => [...replaced(app), ...surplus(app, now)]);
  const wanted = state.apps.flatMap((app) => [...wantedCandidate(app), ...wantedActive(app, now)]);
  wanted.sort((one, other) => one.since - other.since);
  return [...stops, ...fitIn(wanted, state, stops, now)];
}

/** Runners of revisions that take no requests any more, and those in the way of a candidate that is to be alone. */
function replaced({ id, active, candidate, runners }: PlannedApp): Action[] {
  const keeps = (revision: number): boolean =>
    revision === candidate?.revision || (revision === active?.revision && candidate?.strategy !== 'recreate');
  const reason = candidate?.strategy === 'recreate' ? `makes way for revision ${candidate.revision}` : 'was replaced';
  return runners
    .filter(({ state, revision }) => state !== 'leaving' && !keeps(revision))
    .map((runner) => ({ kind: 'stop', app: id, runner: runner.id, reason }));
}

/** One at a time: those that are being started first, then the newest. */
function surplus(app: PlannedApp, now: number): Action[] {
  if (app.candidate?.strategy === 'recreate' || app.tooManySince === null) return [];
  if (now - app.tooManySince < app.scale.keepAliveMs) return [];
  const runners = activeRunners(app);
  if (runners.length <= desiredRunners(app)) return [];
  const leaves = runners.findLast(({ state }) => state === 'starting') ?? runners.at(-1);
  return leaves === undefined ? [] : [{ kind: 'stop', app: app.id, runner: leaves.id, reason: 'is not needed' }];
}

function wantedCandidate(app: PlannedApp): WantedRunner[] {
  const { candidate, runners } = app;
  if (candidate === null) return [];
  if (runners.some(({ state, revision }) => state !== 'leaving' && revision === candidate.revision)) return [];
  return [{ app, ...candidate, isNeeded: true }];
}

function wantedActive(app: PlannedApp, now: number): WantedRunner[] {
  const { active, candidate, scale, tooFewSince } = app;
  if (active === null || candidate?.strategy === 'recreate' || now < app.restsUntil) return [];
  const present = activeRunners(app).length;
  const missing = desiredRunners(app) - present;
  const since = tooFewSince ?? now;
  if (missing <= 0 || (present > 0 && now - since < scale.delayMs)) return [];
  const needed = Math.min(scale.max, Math.max(scale.min, neededRunners(app)));
  return Array.from({ length: missing }, (_, index) => ({ app, ...active, since, isNeeded: present + index < needed }));
}

/** Starts what fits, in order, and makes room for the first that does not. */
function fitIn(wanted: readonly WantedRunner[], state: ScalingState, stops: readonly Action[], now: number): Action[] {
  const actions: Action[] = [];
  const going = new Set(stops.flatMap((action) => (action.kind === 'stop' ? [action.runner] : [])));
  let used = sumOf(state.apps.flatMap(({ runners }) => runners));
  let roomIsMadeFor: string | null = null;
  for (const one of wanted) {
    const { app, revision, bytes } = one;
    const free = state.budgetBytes - used;
    const waitsForItsOwn = app.candidate?.strategy === 'recreate' && app.runners.length > 0;
    if (!waitsForItsOwn && roomIsMadeFor === null && (bytes <= free || used === 0)) {
      actions.push({ kind: 'start', app: app.id, revision });
      used += bytes;
    } else if (waitsForItsOwn) {
      actions.push({ kind: 'wait', app: app.id, reason: 'the runners of the revision before are finishing' });
    } else if (neverFits(one, state.budgetBytes)) {
      actions.push({ kind: 'refuse', app: app.id, reason: ownRunnersInTheWay(one, state.budgetBytes) });
    } else {
      if (roomIsMadeFor === null && one.isNeeded) {
        const started = actions.filter((action) => action.kind === 'start' && action.app === app.id).length * bytes;
        const missing = bytes - free;
        const mayFit = bytes + started + heldBytes(app, state) <= state.budgetBytes;
        const inLine = mayFit && (!isLate(one, now) || missing <= sparableBytes(one, state, going));
        if (inLine || (bytes > state.budgetBytes && nobodyElseIsNeeded(app, state))) {
          actions.push(...makeRoom(one, state, going, missing));
        }
        // One that waits for all others to go would hold them up for ever.
        if (inLine) roomIsMadeFor = app.name;
      }
      actions.push({ kind: 'wait', app: app.id, reason: noMemory(bytes, free, roomIsMadeFor, app.name) });
    }
  }
  return actions;
}

/** Whether a candidate that is started beside the app's own runners would still lack memory if all others went. */
function neverFits({ app, revision, bytes }: WantedRunner, budgetBytes: number): boolean {
  const own = app.runners.filter(({ state }) => state !== 'leaving');
  return revision === app.candidate?.revision && own.length > 0 && bytes + sumOf(own) > budgetBytes;
}

/** What no runner of the app ever gets: what others keep when nobody needs them, and what the app itself needs already. */
function heldBytes(app: PlannedApp, state: ScalingState): number {
  const held = state.apps.flatMap((other) => {
    return activeRunners(other).slice(0, other.id === app.id ? stayingRunners(other) : other.scale.min);
  });
  return sumOf(held);
}

/** Whether the app's first runner would be alone if all that may go went. */
function nobodyElseIsNeeded(app: PlannedApp, state: ScalingState): boolean {
  return state.apps.every((other) =>
    other.id === app.id ? activeRunners(other).length === 0 : stayingRunners(other) === 0,
  );
}

/** A deployment may be given up very late, and others are not to wait for that. */
function isLate({ app, revision, since }: WantedRunner, now: number): boolean {
  return revision === app.candidate?.revision && now - since >= MAX_LINE_MS;
}

/** How many of an app's runners do not give way to others. */
function stayingRunners(app: PlannedApp): number {
  return Math.max(neededRunners(app), app.scale.min);
}

function makeRoom(one: WantedRunner, state: ScalingState, going: Set<string>, missing: number): Action[] {
  const actions: Action[] = [];
  let left = missing - leavingBytes(state, going);
  for (const { app, runner } of spareRunners(one, state, going)) {
    if (left <= 0) return actions;
    left -= runner.bytes;
    going.add(runner.id);
    actions.push({ kind: 'stop', app: app.id, runner: runner.id, reason: `gives way to ${one.app.name}` });
  }
  return actions;
}

/** What becomes free when all that may give way to it have gone. */
function sparableBytes(one: WantedRunner, state: ScalingState, going: ReadonlySet<string>): number {
  return leavingBytes(state, going) + sumOf(spareRunners(one, state, going).map(({ runner }) => runner));
}

function leavingBytes(state: ScalingState, going: ReadonlySet<string>): number {
  return sumOf(state.apps.flatMap(({ runners }) => runners.filter((each) => isGoing(each, going))));
}

/** Those that may give way, in the order in which they do. */
function spareRunners(
  one: WantedRunner,
  state: ScalingState,
  going: ReadonlySet<string>,
): { app: PlannedApp; runner: PlannedRunner }[] {
  // Last the app's own, which may have idle ones in the way of its candidate.
  const others = [...state.apps.filter(({ id }) => id !== one.app.id).sort((a, b) => a.usedAt - b.usedAt), one.app];
  return others.flatMap((app) => {
    const present = activeRunners(app).filter(({ id }) => !going.has(id));
    const spare = present.length - stayingRunners(app);
    // A runner that is being started was wanted a moment ago; it may go when nobody waits for it any more.
    return present.slice(0, Math.max(0, spare)).map((runner) => ({ app, runner }));
  });
}

function isGoing({ id, state }: PlannedRunner, going: ReadonlySet<string>): boolean {
  return state === 'leaving' || going.has(id);
}

function sumOf(runners: readonly PlannedRunner[]): number {
  return runners.reduce((sum, { bytes }) => sum + bytes, 0);
}

function ownRunnersInTheWay({ app, bytes }: WantedRunner, budgetBytes: number): string {
  const taken = sumOf(app.runners.filter(({ state }) => state !== 'leaving'));
  return (
    `A runner of it needs ${gib(bytes)}, but the runners of the active revision have ${gib(taken)} of the ` +
    `${gib(budgetBytes)} that there are: deploy with the strategy recreate, which stops them first.`
  );
}

function noMemory(bytes: number, free: number, first: string | null, name: string): string {
  const behind = first === null || first === name ? '' : `; ${first} is before it`;
  return `no memory: needs ${gib(bytes)}, free ${gib(Math.max(0, free))}${behind}`;
}

export function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
