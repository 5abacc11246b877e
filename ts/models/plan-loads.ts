/**
 * Decides which model is loaded next, and which ones are evicted for it. Pure: knows no processes and no clock.
 *
 * Models wait in the order of their first requests. Memory is freed only for the first of them, so that none starves. Idle
 * models are evicted first, in LRU order. If that does not suffice, busy models are closed: new requests queue, and the model
 * is evicted when it is idle. A model is not closed before it was loaded for as long as its load took; otherwise two models
 * in constant use would evict each other with every request. Pinned models are never evicted: a model that does not fit
 * beside them is refused.
 */

export interface PlannedModel {
  readonly id: string;
  readonly state: 'unloaded' | 'loading' | 'loaded' | 'unloading' | 'failed';
  /** Measured, or estimated before the load. */
  readonly bytes: number;
  readonly leases: number;
  /** When its last lease, or else its load, ended; by the clock of `now`. */
  readonly usedAt: number;
  readonly loadedAt: number;
  readonly loadMs: number;
  /** Closed to new requests by the last plan. */
  readonly isClosed: boolean;
  readonly isPinned: boolean;
}

export interface LoadSituation {
  readonly models: readonly PlannedModel[];
  /** Ids of models that requests wait for, in order. */
  readonly waiting: readonly string[];
  /** A larger model is loaded alone. */
  readonly budgetBytes: number;
  /** Maximum number of loaded models. */
  readonly maxModels: number;
  /** Milliseconds of a monotonic clock. */
  readonly now: number;
}

export interface LoadPlan {
  load: string | null;
  unload: readonly string[];
  /** Models that accept no new requests. */
  closed: readonly string[];
  /** A model that does not fit beside the pinned ones. */
  refuse: string | null;
  /** When to plan again even if nothing happens; `null`: never. */
  againAt: number | null;
}

const NOTHING: LoadPlan = { load: null, unload: [], closed: [], refuse: null, againAt: null };

/** Plan again after each load, unload, new or ended wait, and ended lease. */
export function planLoads({ models, waiting, budgetBytes, maxModels, now }: LoadSituation): LoadPlan {
  const byId = new Map(models.map((model) => [model.id, model]));
  const wanted = waiting.map((id) => byId.get(id)).find((model) => model !== undefined && model.state !== 'loaded');
  if (wanted === undefined) return NOTHING;
  // The memory of a model is known only after its load, so models are loaded one after the other.
  if (models.some(({ state }) => state === 'loading') || wanted.state === 'unloading') return NOTHING;
  const leaving = models.filter(({ state }) => state === 'unloading');
  const loaded = models.filter(({ state }) => state === 'loaded');
  const pinned = loaded.filter(({ isPinned }) => isPinned);
  const fitsBeside = (others: readonly PlannedModel[]): boolean =>
    others.length < maxModels && wanted.bytes + bytesOf(others) <= budgetBytes;
  if (pinned.length > 0 && !fitsBeside(pinned)) return { ...NOTHING, refuse: wanted.id };
  const present = [...leaving, ...loaded];
  if (present.length === 0 || fitsBeside(present)) return { ...NOTHING, load: wanted.id };
  const victims = chooseVictims(loaded, fitsBeside);
  if (victims.every(isIdle)) return { ...NOTHING, unload: victims.map(({ id }) => id) };
  const staying = victims.filter((victim) => !victim.isClosed && minimumStayEnd(victim) > now);
  return {
    ...NOTHING,
    closed: victims.filter((victim) => !staying.includes(victim)).map(({ id }) => id),
    againAt: staying.length > 0 ? Math.min(...staying.map(minimumStayEnd)) : null,
  };
}

/** Pinned models stay. */
function chooseVictims(
  loaded: readonly PlannedModel[],
  fitsBeside: (staying: readonly PlannedModel[]) => boolean,
): PlannedModel[] {
  const candidates = loaded.filter(({ isPinned }) => !isPinned).sort(inOrderOfLeaving);
  const pinned = loaded.filter(({ isPinned }) => isPinned);
  const count = candidates.findIndex((_, at) => fitsBeside([...pinned, ...candidates.slice(at)]));
  return count < 0 ? candidates : candidates.slice(0, count);
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

function minimumStayEnd({ loadedAt, loadMs }: PlannedModel): number {
  return loadedAt + loadMs;
}

function bytesOf(models: readonly PlannedModel[]): number {
  return models.reduce((sum, { bytes }) => sum + bytes, 0);
}
