/** llama-server's endpoints for settings, slots and adapters. */
import type { FastifyInstance } from 'fastify';
import type { ModelInfo } from '../../../engine/engine.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { findEntry, type ModelPool } from '../../../models/pool.js';
import type { AppContext } from '../../context.js';
import { type RequestedAdapter, requestedAdapters } from '../../shared/chat/chat-schema.js';
import { toAdapterUses } from '../../shared/chat/to-adapters.js';
import { type ByModel, engineOf } from '../../shared/loaded-engine.js';
import {
  type AdapterList,
  type AdaptersSet,
  adapterListSchema,
  adaptersSetSchema,
  type Props,
  propsSchema,
  type Slots,
  slotsSchema,
} from '../schema.js';
import { toAdapterList, toProps, toSlots } from './reply.js';

export function nativeStateRoutes(app: FastifyInstance, { pool, profile, slots }: AppContext): void {
  const route = (operation: Operation) => ({ config: { operation } });
  app.get<ByModel>('/props', route(propsOperation), async ({ query }): Promise<Props> => {
    const sleeping = sleepingModel(pool, query);
    const model = sleeping ?? engineOf(pool, query).model;
    return toProps(model, { ...profile.sampling, ...model.sampling }, { slots, isSleeping: sleeping !== null });
  });
  if (slots) {
    app.get<ByModel>('/slots', route(slotsOperation), async ({ query }): Promise<Slots> => {
      const engine = engineOf(pool, query);
      return toSlots(engine.model, await engine.stats());
    });
  }
  app.get<ByModel>('/lora-adapters', route(adaptersOperation), async ({ query }): Promise<AdapterList> => {
    return toAdapterList(engineOf(pool, query).model);
  });
  const setting = { schema: { body: requestedAdapters }, config: { operation: setAdaptersOperation } };
  app.post<ByModel & { Body: RequestedAdapter[] }>('/lora-adapters', setting, async ({ query, body }) => {
    const engine = engineOf(pool, query);
    engine.useAdapters(toAdapterUses(body, engine.model, null));
    return { success: true } satisfies AdaptersSet;
  });
}

/** An idle model that was unloaded, if no other model is loaded. llama-server describes it as well. */
function sleepingModel(pool: ModelPool, { model }: ByModel['Querystring']): ModelInfo | null {
  const name = [model ?? []].flat()[0];
  const entries = pool.list();
  const named = name === undefined ? entries : [findEntry(entries, name) ?? []].flat();
  if (named.some(({ engine, status }) => engine !== null || status === 'loading')) return null;
  return named.find(({ status, lastModel }) => status === 'unloaded' && lastModel !== null)?.lastModel ?? null;
}

const BY_MODEL = 'Describes the model of `?model=`, or the first loaded one.';

const base = { tag: 'llama-server', errors: ['model_not_found', 'model_loading', 'model_not_loaded'] } as const;

const propsOperation: Operation = {
  ...base,
  id: 'showProps',
  summary: 'Properties and default settings of a model (llama-server).',
  description: `${BY_MODEL} \`is_sleeping\`: it was unloaded because it was idle, and the next request loads it.`,
  reply: { json: { name: 'Props', schema: propsSchema } },
};

const slotsOperation: Operation = {
  ...base,
  id: 'showSlots',
  summary: 'Slots for parallel sequences and their state (llama-server).',
  description: `${BY_MODEL} What is computed is not shown, because it belongs to other clients.`,
  reply: { json: { name: 'Slots', schema: slotsSchema } },
  examples: () => ({
    idle: { summary: 'Nobody asks', reply: [{ id: 0, n_ctx: 4096, speculative: false, is_processing: false }] },
  }),
};

const setAdaptersOperation: Operation = {
  ...base,
  id: 'setAdapters',
  summary: 'Sets the default scales of the adapters, for completions without `lora` (llama-server).',
  description:
    `${BY_MODEL} The body is a list of indexes or names with scales. Adapters that are not in it have no effect. ` +
    'It applies to all requests until the next change or the unload of the model.',
  requestName: 'AdapterScales',
  reply: { json: { name: 'AdaptersSet', schema: adaptersSetSchema } },
  examples: () => ({ none: { summary: 'None', request: [], reply: { success: true } } }),
};

const adaptersOperation: Operation = {
  ...base,
  id: 'listAdapters',
  summary: 'Adapters of a model with their default scales (llama-server).',
  description: `${BY_MODEL} A request selects adapters with \`lora\`. Default: those set by \`POST\`, or none.`,
  reply: { json: { name: 'Adapters', schema: adapterListSchema } },
};
