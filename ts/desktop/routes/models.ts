/** Local models: list, load, unload, delete, import. */
import type { ListedModel, LoadReply, LocalModelShown } from '../api-types.js';
import { isEmbedder, type LocalModel } from '../local-model.js';
import {
  importBody,
  instanceBody,
  loadBody,
  loadReply,
  localModel,
  modelBody,
  modelList,
  removeReply,
} from '../schemas/models.js';
import type { DesktopApp, DesktopRoutes } from './context.js';

export function modelsRoutes(app: DesktopRoutes, { instances, models }: DesktopApp): void {
  const list = { schema: { summary: 'List the models on this computer', response: { 200: modelList } } };
  app.get('/api/v1/models', list, async () => {
    return { models: (await models.list()).map((model) => toListed(model, instances.instancesOf(model.id))) };
  });

  const load = { schema: { summary: 'Load a model', body: loadBody, response: { 200: loadReply } } };
  app.post('/api/v1/models/load', load, async ({ body }): Promise<LoadReply> => {
    const { model, config, context_length: contextSize, identifier, ttl } = body;
    const began = performance.now();
    await models.check(model);
    const entry = await instances.load(model, contextSize === undefined ? config : { ...config, contextSize }, {
      ...(identifier !== undefined && { id: identifier }),
      ...(ttl !== undefined && { ttlMs: ttl * 1000 }),
    });
    return {
      type: entry.engine?.model.generates === false ? 'embedding' : 'llm',
      model_instance_id: entry.id,
      status: 'loaded',
      config: instances.configOf(entry.id),
      load_time_seconds: (performance.now() - began) / 1000,
    };
  });

  const unload = { schema: { summary: 'Unload a model', body: instanceBody, response: { 200: instanceBody } } };
  app.post('/api/v1/models/unload', unload, async ({ body }) => {
    await instances.unload(body.instance_id);
    return body;
  });

  const cancel = { schema: { summary: 'Cancel the load of a model', body: modelBody, response: { 200: modelBody } } };
  app.post('/api/v1/models/cancel', cancel, async ({ body }) => {
    instances.cancel(body.model);
    return body;
  });

  const remove = {
    schema: { summary: 'Delete the files of a model', body: modelBody, response: { 200: removeReply } },
  };
  app.delete('/api/v1/models', remove, async ({ body }) => {
    const { freedBytes } = await models.remove(body.model);
    return { freed_bytes: freedBytes };
  });

  const imported = { summary: 'Import a model file', body: importBody, response: { 200: localModel } };
  app.post('/api/v1/models/import', { schema: imported }, async ({ body }): Promise<LocalModelShown> => {
    const { activeShare: _, ...shown } = await models.import(body.path, body.how);
    return shown;
  });
}

function toListed(model: LocalModel, instances: ListedModel['loaded_instances']): ListedModel {
  const { id, repo, path, source, architecture, quantisation, sizeBytes, parameters, contextLength } = model;
  return {
    type: isEmbedder(model) ? 'embedding' : 'llm',
    publisher: repo?.split('/')[0] ?? source,
    key: id,
    display_name: (repo?.split('/')[1] ?? id).replace(/-gguf$/i, ''),
    architecture,
    quantization: quantisation === null ? null : { name: quantisation, bits_per_weight: bitsPerWeight(model) },
    size_bytes: sizeBytes,
    params_string: parameters === null ? null : paramsString(parameters),
    loaded_instances: instances,
    max_context_length: contextLength,
    format: 'gguf',
    capabilities: {
      vision: model.capabilities.includes('vision'),
      trained_for_tool_use: model.capabilities.includes('tools'),
      ...(model.reasoning.length > 0 && { reasoning: { allowed_options: model.reasoning } }),
    },
    description: null,
    path,
    source,
    can_delete: model.canDelete,
  };
}

function bitsPerWeight({ sizeBytes, parameters }: LocalModel): number | null {
  return parameters === null || parameters === 0 ? null : Math.round((sizeBytes * 800) / parameters) / 100;
}

/** 7B, 1.5B, 360M */
function paramsString(parameters: number): string {
  const [size, unit] = parameters >= 1e9 ? [parameters / 1e9, 'B'] : [parameters / 1e6, 'M'];
  return `${size >= 10 || Number.isInteger(size) ? Math.round(size) : size.toFixed(1)}${unit}`;
}
