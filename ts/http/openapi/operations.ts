/** Every endpoint's description, by method and by path below the base path. */
import type { Operation } from './operation.js';
import { createChatCompletion } from './operations/chat.js';
import { listModels, retrieveModel } from './operations/models.js';
import { showDocument, showDocumentation, showHealth, showStart } from './operations/server.js';

export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'POST /v1/chat/completions': createChatCompletion,
  'GET /v1/models': listModels,
  'GET /v1/models/{id}': retrieveModel,
  'GET /health': showHealth,
  'GET /': showStart,
  'GET /openapi.json': showDocument,
  'GET /docs': showDocumentation,
};
