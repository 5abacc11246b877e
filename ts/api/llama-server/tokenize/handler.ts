/** llama-server's endpoints for the tokenizer and the chat template of a model. */
import type { FastifyInstance } from 'fastify';
import { CONVERSATION_ERRORS, MODEL_ERRORS } from '../../../http/openapi/failures.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute, readFields, readParts } from '../../../http/read-fields.js';
import type { AppContext } from '../../context.js';
import { chatCompletionSchema, parametersOf, type SentChatCompletion } from '../../shared/chat/chat-schema.js';
import { functionsFor } from '../../shared/tools/functions-for.js';
import { withModel } from '../../shared/with-model.js';
import { renderConversation } from './render-conversation.js';
import { toText, toTokens } from './reply.js';
import {
  type ApplyTemplateReply,
  applyTemplateReplySchema,
  type DetokenizeRequest,
  detokenizeReplySchema,
  detokenizeSchema,
  type TokenizeRequest,
  tokenizeReplySchema,
  tokenizeSchema,
} from './schema.js';

export function tokenizeRoutes(app: FastifyInstance, context: AppContext): void {
  const { profile, options } = context;
  const tokenize = withModel<TokenizeRequest>(context, async ({ body }, _reply, { engine, signal }) => {
    return toTokens(engine, body, signal);
  });
  app.post<{ Body: TokenizeRequest }>('/tokenize', bodyRoute(context, tokenizeSchema, tokenizeOperation), tokenize);

  const detokenize = withModel<DetokenizeRequest>(context, async ({ body }, _reply, { engine, signal }) => {
    return toText(engine, body, signal);
  });
  app.post<{ Body: DetokenizeRequest }>(
    '/detokenize',
    bodyRoute(context, detokenizeSchema, detokenizeOperation),
    detokenize,
  );

  const chatSchema = chatCompletionSchema(parametersOf(profile));
  const settings = {
    schema: { body: { ...chatSchema, required: ['messages'] } },
    config: { operation: applyTemplateOperation },
    preValidation: readFields(profile, options.strict, parametersOf(profile), profile.unsupportedParameters),
    preHandler: readParts(chatSchema, profile, options.strict),
    bodyLimit: options.bodyLimit,
  };
  type Conversation = Omit<SentChatCompletion, 'model'> & { model?: string };
  const applyTemplate = withModel<Conversation>(context, async ({ body }, _reply, { engine, signal }) => {
    const loading = { hosts: options.imageHosts, signal };
    const { body: chat, origins } = functionsFor({ model: engine.model.id, ...body });
    const prompt = await origins.guard(chat, () => renderConversation(engine, chat, loading));
    return { prompt } satisfies ApplyTemplateReply;
  });
  app.post<{ Body: Conversation }>('/apply-template', settings, applyTemplate);
}

const tokenizeOperation: Operation = {
  id: 'tokenize',
  tag: 'Text',
  summary: 'Tokens of a text (llama-server).',
  errors: MODEL_ERRORS,
  reply: { json: { name: 'Tokens', schema: tokenizeReplySchema } },
  examples: () => ({
    plain: { summary: 'A greeting', request: { content: 'Hello!' }, reply: { tokens: [312, 5] } },
    pieces: {
      summary: 'With the text of each token',
      request: { content: 'Hello!', with_pieces: true },
      reply: {
        tokens: [
          { id: 312, piece: 'Hello' },
          { id: 5, piece: '!' },
        ],
      },
    },
  }),
};

const detokenizeOperation: Operation = {
  id: 'detokenize',
  tag: 'Text',
  summary: 'Text of tokens (llama-server).',
  errors: MODEL_ERRORS,
  reply: { json: { name: 'DetokenizedText', schema: detokenizeReplySchema } },
  examples: () => ({
    greeting: { summary: 'A greeting', request: { tokens: [312, 5] }, reply: { content: 'Hello!', prompt: 'Hello!' } },
  }),
};

const applyTemplateOperation: Operation = {
  id: 'applyTemplate',
  tag: 'Text',
  summary: 'The prompt of a conversation.',
  description: 'Accepts the fields of a chat completion. Fields without effect on the prompt are checked and ignored.',
  errors: CONVERSATION_ERRORS,
  reply: { json: { name: 'RenderedConversation', schema: applyTemplateReplySchema } },
  examples: () => ({
    greeting: {
      summary: 'One message',
      request: { messages: [{ role: 'user', content: 'Hello!' }] },
      reply: { prompt: '<|im_start|>user\nHello!<|im_end|>\n<|im_start|>assistant\n' },
    },
  }),
};
