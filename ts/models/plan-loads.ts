/**
 * Which model is loaded next, and which ones make way for it. Knows no processes and no clock.
 *
 * Whoever waits, waits in one order: that of the models' first requests. Only the first of them is made room for, so that
 * none is passed over for ever. What is idle makes way first, what was used longest ago before the rest. Where that is
 * not enough, models that compute are closed to new requests, which wait behind the first, and unloaded when they are idle:
 * never before. So that two models that are asked for all the time do not displace each other with each request, a model is
 * not closed before it was there for as long as its load took. Pinned models make way for nobody: what does not fit beside
 * them is refused.
 */

export interface PlannedModel {
  readonly id: string;
  readonly state: 'unloaded' | 'loading' | 'loaded' | 'unloading' | 'failed';
  /** What it takes, or, before it is loaded, what it is expected to take. */
  readonly bytes: number;
  readonly leases: number;
  /** When its last lease ended, or else its load; as `now`. */
  readonly usedAt: number;
  readonly loadedAt: number;
  readonly loadMs: number;
  /** Whether the last plan had it closed to new requests. */
  readonly isClosed: boolean;
  readonly isPinned: boolean;
}

export interface LoadSituation {
  readonly models: readonly PlannedModel[];
  /** The ids of models that requests wait for, the first that waited first. */
  readonly waiting: readonly string[];
  /** A model that is larger than that is loaded alone. */
  readonly budgetBytes: number;
  /** Milliseconds that only grow. */
  readonly now: number;
}

export interface LoadPlan {
  load: string | null;
  unload: readonly string[];
  /** These take no new requests. */
  closed: readonly string[];
  /** This one cannot be loaded for as long as others are pinned. */
  refuse: string | null;
  /** When the plan may be another one though nothing has happened; `null`: never. */
  againAt: number | null;
}

const NOTHING: LoadPlan = { load: null, unload: [], closed: [], refuse: null, againAt: null };

/** The load, the ends of loads and of unloading, each new or ended wait, and each lease that ends ask for a new plan. */
export function planLoads({ models, waiting, budgetBytes, now }: LoadSituation): LoadPlan {
  const byId = new Map(models.map((model) => [model.id, model]));
  const wanted = waiting.map((id) => byId.get(id)).find((model) => model !== undefined && model.state !== 'loaded');
  if (wanted === undefined) return NOTHING;
  // What a model takes is measured when it is loaded, so one is loaded after the other.
  if (models.some(({ state }) => state === 'loading') || wanted.state === 'unloading') return NOTHING;
  const leaving = models.filter(({ state }) => state === 'unloading');
  const loaded = models.filter(({ state }) => state === 'loaded');
  const pinned = loaded.filter(({ isPinned }) => isPinned);
  if (pinned.length > 0 && wanted.bytes + bytesOf(pinned) > budgetBytes) return { ...NOTHING, refuse: wanted.id };
  const missing = wanted.bytes + bytesOf(leaving) + bytesOf(loaded) - budgetBytes;
  if (missing <= 0 || leaving.length + loaded.length === 0) return { ...NOTHING, load: wanted.id };
  const victims = chooseVictims(
    loaded.filter(({ isPinned }) => !isPinned),
    missing - bytesOf(leaving),
  );
  if (victims.every(isIdle)) return { ...NOTHING, unload: victims.map(({ id }) => id) };
  const staying = victims.filter((victim) => !victim.isClosed && restsUntil(victim) > now);
  return {
    ...NOTHING,
    closed: victims.filter((victim) => !staying.includes(victim)).map(({ id }) => id),
    againAt: staying.length > 0 ? Math.min(...staying.map(restsUntil)) : null,
  };
}

function chooseVictims(loaded: readonly PlannedModel[], missingBytes: number): PlannedModel[] {
  const victims: PlannedModel[] = [];
  let missing = missingBytes;
  for (const model of [...loaded].sort(inOrderOfLeaving)) {
    if (missing <= 0) break;
    victims.push(model);
    missing -= model.bytes;
  }
  return victims;
}

function inOrderOfLeaving(one: PlannedModel, other: PlannedModel): number {
  return (
    Number(isIdle(other)) - Number(isIdle(one)) ||
    Number(other.isClosed) - Number(one.isClosed) ||
    one.usedAt - other.usedAt
  );
}

function isIdle({ leases }: PlannedModel): boolean {
  return leases === 0;
}

function restsUntil({ loadedAt, loadMs }: PlannedModel): number {
  return loadedAt + loadMs;
}

function bytesOf(models: readonly PlannedModel[]): number {
  return models.reduce((sum, { bytes }) => sum + bytes, 0);
}
