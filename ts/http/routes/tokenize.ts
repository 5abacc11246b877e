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
import { checkModelName } from '../model-name.js';
import { readFields } from '../read-fields.js';

export function tokenizeRoutes(app: FastifyInstance, { engine, profile, options, running }: AppContext): void {
  const settingsFor = (schema: { properties: object }) => ({
    schema: { body: schema },
    preValidation: readFields(profile, options.strict, Object.keys(schema.properties)),
  });

  app.post<{ Body: TokenizeRequest }>('/tokenize', settingsFor(tokenizeSchema), async ({ body }, reply) => {
    checkModelName(body.model, engine.model, profile);
    return toTokens(engine, body, running.signalFor(reply.raw));
  });

  app.post<{ Body: DetokenizeRequest }>('/detokenize', settingsFor(detokenizeSchema), async ({ body }, reply) => {
    checkModelName(body.model, engine.model, profile);
    return toText(engine, body, running.signalFor(reply.raw));
  });

  const template = {
    schema: { body: { ...chatCompletionSchema(profile.parameters), required: ['messages'] } },
    preValidation: readFields(profile, options.strict),
    bodyLimit: options.bodyLimit,
  };
  type Conversation = Omit<ChatCompletionRequest, 'model'> & { model?: string };
  app.post<{ Body: Conversation }>(
    '/apply-template',
    template,
    async ({ body }, reply): Promise<ApplyTemplateReply> => {
      checkModelName(body.model, engine.model, profile);
      const loading = { hosts: options.imageHosts, signal: running.signalFor(reply.raw) };
      const { prompt } = await renderBody(engine, { model: engine.model.id, ...body }, loading);
      return { prompt };
    },
  );
}
