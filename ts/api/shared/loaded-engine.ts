import type { Engine } from '../../engine/engine.js';
import { findEntry, type ModelPool, modelLoading, modelNotFound, modelNotLoaded } from '../../models/pool.js';

export interface ByModel {
  Querystring: { model?: string | string[] };
}

/** The engine of the model in the query, or of the first loaded model. Does not load a model. */
export function engineOf(pool: ModelPool, { model }: ByModel['Querystring']): Engine {
  const name = [model ?? []].flat()[0];
  const entries = pool.list();
  const own = name === undefined ? undefined : findEntry(entries, name);
  if (name !== undefined && own === undefined) throw modelNotFound(name, entries, 'model');
  const named = own === undefined ? entries : [own];
  const loaded = named.find(({ engine }) => engine !== null);
  if (loaded?.engine) return loaded.engine;
  const loading = named.find(({ status }) => status === 'loading');
  if (loading) throw modelLoading(loading);
  throw modelNotLoaded(name);
}
