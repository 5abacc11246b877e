/** Every endpoint's description, by method and by path below the base path. */
import type { Operation } from './operation.js';
import { createChatCompletion } from './operations/chat.js';
import { countMessageTokens, createMessage } from './operations/messages.js';
import { listModels, listModelsToo, loadModel, modelEvents, retrieveModel, unloadModel } from './operations/models.js';
import { countInputTokens, createResponse } from './operations/responses.js';
import {
  showDocument,
  showDocumentation,
  showHealth,
  showLive,
  showMetrics,
  showReady,
  showStart,
} from './operations/server.js';
import { applyTemplate, createCompletion, createEmbeddings, detokenize, rerank, tokenize } from './operations/text.js';

export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'POST /v1/chat/completions': createChatCompletion,
  'POST /v1/completions': createCompletion,
  'POST /v1/embeddings': createEmbeddings,
  'POST /v1/rerank': rerank,
  'POST /tokenize': tokenize,
  'POST /detokenize': detokenize,
  'POST /apply-template': applyTemplate,
  'POST /v1/responses': createResponse,
  'POST /v1/responses/input_tokens': countInputTokens,
  'POST /v1/messages': createMessage,
  'POST /v1/messages/count_tokens': countMessageTokens,
  'GET /v1/models': listModels,
  'GET /v1/models/{id}': retrieveModel,
  'GET /models': listModelsToo,
  'GET /models/sse': modelEvents,
  'POST /models/load': loadModel,
  'POST /models/unload': unloadModel,
  'GET /health': showHealth,
  'GET /live': showLive,
  'GET /ready': showReady,
  'GET /metrics': showMetrics,
  'GET /': showStart,
  'GET /openapi.json': showDocument,
  'GET /docs': showDocumentation,
};
