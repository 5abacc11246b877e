/** Downloads and deletes models as llama-server's router does, on servers that allow it. */
import type { FastifyInstance } from 'fastify';
import { ChasquiError, invalidValue } from '../../../errors.js';
import { toChasquiError } from '../../../http/error-handler.js';
import { HUB_ERRORS } from '../../../http/openapi/failures.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute } from '../../../http/read-fields.js';
import { findEntry } from '../../../models/pool.js';
import type { AppContext } from '../../context.js';
import type { ClientDownloads } from '../../shared/client-downloads.js';
import type { ByModel } from '../../shared/loaded-engine.js';
import { type ModelActionReply, modelActionReplySchema } from '../../shared/model-action-schema.js';
import type { ModelLibrary } from '../../shared/model-library.js';
import { type ModelDownload, modelDownloadSchema } from './schema.js';

const URL = '/v1/models';

export function nativeLibraryRoutes(
  app: FastifyInstance,
  context: AppContext,
  { library, downloads }: { library: ModelLibrary; downloads: ClientDownloads },
): void {
  const { pool, running, options } = context;
  const download = bodyRoute(context, modelDownloadSchema, downloadOperation);
  app.post<{ Body: ModelDownload }>(URL, download, async (request): Promise<ModelActionReply> => {
    const { model } = request.body;
    if (findEntry(pool.list(), model) !== undefined) {
      throw new ChasquiError('model_exists', `The model \`${model}\` is already on this computer.`, 'model');
    }
    const toError = (thrown: unknown) => toChasquiError(thrown, request, options);
    await downloads.start(model, { stopping: running.stopping, toError });
    return { success: true };
  });

  const remove = { config: { operation: deleteOperation } };
  app.delete<ByModel>(URL, remove, async ({ query: { model } }): Promise<ModelActionReply> => {
    if (model === undefined || model === '') {
      throw new ChasquiError('missing_required_parameter', 'Missing required parameter: `model`.', 'model');
    }
    if (typeof model !== 'string') throw invalidValue('`model` must be a single name.', 'model');
    await library.remove(model);
    return { success: true };
  });
}

const NAME = 'user/repo:Q4_K_M';

const downloadOperation: Operation = {
  id: 'downloadModel',
  tag: 'llama-server',
  summary: 'Starts the download of a model from the hub (llama-server).',
  description:
    'The reply comes as soon as the hub has confirmed the model. `/models/sse` sends `download_progress`, then ' +
    '`download_finished` or `download_failed`; `/v1/models` lists the model as `downloading`. `/models/unload` pauses the ' +
    'download. The same request resumes it.',
  requestName: 'ModelDownloadRequest',
  errors: [...HUB_ERRORS, 'model_exists', 'queue_full', 'request_cancelled'],
  reply: { json: { name: 'ModelDownloadReply', schema: modelActionReplySchema } },
  examples: () => ({ download: { summary: 'By its name', request: { model: NAME }, reply: { success: true } } }),
};

const deleteOperation: Operation = {
  id: 'deleteModel',
  tag: 'llama-server',
  summary: 'Deletes the files of the model that the query parameter `model` names (llama-server).',
  description:
    'The server waits up to 30 seconds for running requests of the model. An unfinished download is cancelled, and its files are deleted.',
  errors: [
    'missing_required_parameter',
    'invalid_value',
    'model_not_found',
    'model_loading',
    'not_deletable',
    'local_model_not_found',
  ],
  reply: { json: { name: 'ModelDeleteReply', schema: modelActionReplySchema } },
  examples: () => ({ delete: { summary: 'The reply', reply: { success: true } } }),
};
