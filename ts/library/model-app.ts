/** The HTTP endpoints of one loaded model, which stays open. */
import type { buildApp } from '../api/app.js';
import type { AppOptions } from '../api/context.js';
import type { Engine } from '../engine/engine.js';

type ModelApp = ReturnType<typeof buildApp>;

/** Requests may name any model. Fastify is imported on demand: most programs only generate. */
export async function openModelApp(model: Engine, options: AppOptions): Promise<ModelApp> {
  const [api, { ManagedPool }, { runtime }] = await Promise.all([
    import('../api/app.js'),
    import('../models/managed-pool.js'),
    import('../profiles/runtime.js'),
  ]);
  const profile = options.access === undefined ? runtime : { ...runtime, authentication: 'bearer' as const };
  return api.buildApp(ManagedPool.of(model, { anyName: true }), profile, options);
}
