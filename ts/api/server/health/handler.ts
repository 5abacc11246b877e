/**
 * For load balancers and for people: 200 while requests are accepted and computed, 503 from the moment when the server
 * begins to stop, while its model is being loaded, and while its engine does not finish a step.
 */
import type { FastifyInstance } from 'fastify';
import type { Engine, EngineStats } from '../../../engine/engine.js';
import { ChasquiError, type ErrorCode } from '../../../errors.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { type ModelPool, modelFailed, modelLoading } from '../../../models/pool.js';
import type { AppContext } from '../../context.js';
import { type Health, healthSchema } from './schema.js';

export function healthRoute(app: FastifyInstance, { pool }: AppContext): void {
  app.get('/health', { config: { operation } }, async (): Promise<Health> => {
    const engines = readyEngines(pool);
    const counts = await Promise.all(engines.map(countsOf));
    const shown = pool.list().find(({ engine }) => engine !== null) ?? pool.list()[0];
    const warnings = engines.flatMap(({ model: { id, unfitted } }) =>
      unfitted === undefined ? [] : `${id}: ${unfitted}`,
    );
    return toHealth(shown?.id ?? null, counts.reduce(sumOf, NO_COUNTS), warnings);
  });
}

/**
 * The engines of the models that are loaded.
 * @throws {ChasquiError} `model_loading` or `engine_failed` while what is loaded at the start is not; `engine_failed` if all
 * models have failed.
 */
export function readyEngines(pool: ModelPool): Engine[] {
  // An adapter's engine is its model's.
  const entries = pool.list().filter(({ parent }) => parent === null);
  const failed = entries.find(({ status }) => status === 'failed');
  const loading = entries.find(({ status }) => status === 'loading');
  const canCompute = failed === undefined || entries.some(({ status }) => status !== 'failed');
  if (pool.isReady && canCompute) return entries.flatMap(({ engine }) => engine ?? []);
  if (failed !== undefined && loading === undefined) throw modelFailed(failed);
  const next = loading ?? entries[0];
  if (next === undefined) return [];
  throw modelLoading(next);
}

export const NO_COUNTS: Readonly<EngineStats> = {
  active: 0,
  queued: 0,
  kvCellsUsed: 0,
  kvCellsCached: 0,
  kvCellsTotal: 0,
  jobsFinished: 0,
  jobsCancelled: 0,
  promptTokens: 0,
  completionTokens: 0,
  drafts: 0,
  draftedTokens: 0,
  acceptedTokens: 0,
  busySlots: 0,
  decodeSteps: 0,
  decodePasses: 0,
  stepMs: 0,
  preemptions: 0,
  imagesEncoded: 0,
  embeddedTokens: 0,
  embeddingSteps: 0,
  sampledAside: 0,
  stepAgeMs: 0,
};

function sumOf(one: EngineStats, other: EngineStats): EngineStats {
  const sums = Object.entries(one).map(([name, count]) => [name, count + other[name as keyof EngineStats]]);
  return Object.fromEntries(sums) as EngineStats;
}

/** The scheduler aims at a tenth of a second for a step; a step that takes so long means that the engine is stuck. */
const STALLED_AFTER_MS = 30_000;

/** A working engine returns its counts at once, so this waits no longer for them. */
const STATS_TIMEOUT_MS = 2000;

/** Rejects with `engine_stalled` when the engine is stuck, and with the engine's own error when it is closed. */
export async function countsOf(engine: Engine): Promise<EngineStats> {
  const stats = await statsInTime(engine);
  const { stepAgeMs } = stats;
  if (stepAgeMs <= STALLED_AFTER_MS) return stats;
  throw stalled(`has not finished a step for ${Math.floor(stepAgeMs / 1000)} seconds`);
}

async function statsInTime(engine: Engine): Promise<EngineStats> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const told = stalled(`has not reported its counters for ${STATS_TIMEOUT_MS / 1000} seconds`);
    timer = setTimeout(() => reject(told), STATS_TIMEOUT_MS);
  });
  try {
    return await Promise.race([engine.stats(), late]);
  } finally {
    clearTimeout(timer);
  }
}

function stalled(what: string): ChasquiError {
  return new ChasquiError('engine_stalled', `The engine ${what}: requests are accepted but wait.`);
}

export const LIVENESS_URL = '/health';

/**
 * This route lies outside the base path and needs no key, because load balancers have none. So it says nothing but
 * whether the server accepts requests.
 */
export function livenessRoute(app: FastifyInstance, { pool }: AppContext): void {
  app.get(LIVENESS_URL, async () => {
    readyEngines(pool);
    return { status: 'ok' };
  });
}

function toHealth(model: string | null, stats: EngineStats, warnings: string[] = []): Health {
  return {
    status: 'ok',
    model,
    warnings,
    active: stats.active,
    queued: stats.queued,
    kv_cells_used: stats.kvCellsUsed,
    kv_cells_cached: stats.kvCellsCached,
    kv_cells_total: stats.kvCellsTotal,
    jobs_finished: stats.jobsFinished,
    jobs_cancelled: stats.jobsCancelled,
    prompt_tokens: stats.promptTokens,
    completion_tokens: stats.completionTokens,
    drafted_tokens: stats.draftedTokens,
    accepted_tokens: stats.acceptedTokens,
    decode_steps: stats.decodeSteps,
    embedded_tokens: stats.embeddedTokens,
  };
}

export const ENGINE_ERRORS: readonly ErrorCode[] = [
  'model_loading',
  'engine_stalled',
  'engine_restarting',
  'engine_failed',
];

const operation: Operation = {
  id: 'showHealth',
  tag: 'Server',
  summary: 'Health of the server with the counters of its engine, or 503.',
  reply: { json: { name: 'Health', schema: healthSchema } },
  errors: ENGINE_ERRORS,
  examples: (model) => ({
    idle: {
      summary: 'A server at rest',
      reply: {
        ...toHealth(model, NO_COUNTS),
        kv_cells_cached: 31,
        kv_cells_total: 16_384,
        jobs_finished: 1,
        prompt_tokens: 20,
        completion_tokens: 11,
        decode_steps: 12,
      },
    },
  }),
};
