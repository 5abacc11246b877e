/** The model's tokenizer and chat template as endpoints, under the names that llama-server gives them. */
import type { FastifyInstance } from 'fastify';
import { renderBody } from '../../chat/start-completion.js';
import { type ChatCompletionRequest, chatCompletionSchema } from '../../schemas/chat-completion.js';
import {
  type ApplyTemplateReply,
  type DetokenizeRequest,
  detokenizeSchema,
  type TokenizeRequest,
  tokenizeSchema,
} from '../../schemas/tokenize.js';
import { toText, toTokens } from '../../text/to-tokens.js';
import type { AppContext } from '../context.js';
import { readFields } from '../read-fields.js';
import { withModel } from '../with-model.js';

export function tokenizeRoutes(app: FastifyInstance, context: AppContext): void {
  const { profile, options } = context;
  const settingsFor = (schema: { properties: object }) => ({
    schema: { body: schema },
    preValidation: readFields(profile, options.strict, Object.keys(schema.properties)),
  });

  const tokenize = withModel<TokenizeRequest>(context, async ({ body }, _reply, { engine, signal }) => {
    return toTokens(engine, body, signal);
  });
  app.post<{ Body: TokenizeRequest }>('/tokenize', settingsFor(tokenizeSchema), tokenize);

  const detokenize = withModel<DetokenizeRequest>(context, async ({ body }, _reply, { engine, signal }) => {
    return toText(engine, body, signal);
  });
  app.post<{ Body: DetokenizeRequest }>('/detokenize', settingsFor(detokenizeSchema), detokenize);

  const settings = {
    schema: { body: { ...chatCompletionSchema(profile.parameters), required: ['messages'] } },
    preValidation: readFields(profile, options.strict),
    bodyLimit: options.bodyLimit,
  };
  type Conversation = Omit<ChatCompletionRequest, 'model'> & { model?: string };
  const applyTemplate = withModel<Conversation>(context, async ({ body }, _reply, { engine, signal }) => {
    const loading = { hosts: options.imageHosts, signal };
    const { prompt } = await renderBody(engine, { model: engine.model.id, ...body }, loading);
    return { prompt } satisfies ApplyTemplateReply;
  });
  app.post<{ Body: Conversation }>('/apply-template', settings, applyTemplate);
}
