/** llama-server's endpoints for the length of a chat's prompt and for rankings of texts. */
import type { FastifyInstance } from 'fastify';
import { ChasquiError } from '../../../errors.js';
import { CONVERSATION_ERRORS, MODEL_ERRORS } from '../../../http/openapi/failures.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute, readFields } from '../../../http/read-fields.js';
import { anyOf } from '../../../http/schema/json-schema.js';
import type { AppContext } from '../../context.js';
import { chatCompletionSchema, parametersOf, type SentChatCompletion } from '../../shared/chat/chat-schema.js';
import { renderBody } from '../../shared/chat/render-chat.js';
import { type InputTokens, inputTokensSchema } from '../../shared/completion/chat-reply-schema.js';
import { OwnFiles } from '../../shared/own-files.js';
import { rerankReplySchema } from '../../shared/text/ranking-schema.js';
import { rankerNaming, toRanking } from '../../shared/text/to-ranking.js';
import { functionsFor } from '../../shared/tools/functions-for.js';
import { withModel } from '../../shared/with-model.js';
import { type TextRankRequest, textRankReplySchema, textRankSchema } from '../schema.js';
import { toTextRanking } from './reply.js';

export function nativeTextRoutes(app: FastifyInstance, context: AppContext): void {
  const { profile, options } = context;
  const count = withModel<SentChatCompletion>(context, async (request, _reply, { engine, signal }) => {
    const { body, origins } = functionsFor(request.body);
    const contentOf = (id: string) => new OwnFiles(request, context).content(id);
    const loading = { contentOf, hosts: options.imageHosts, signal };
    const rendered = await origins.guard(body, () => renderBody(engine, body, loading));
    const input_tokens = await engine.countTokens(rendered, { signal });
    return { object: 'response.input_tokens', input_tokens } satisfies InputTokens;
  });
  const settings = {
    schema: { body: chatCompletionSchema(parametersOf(profile)) },
    config: { operation: countOperation },
    preValidation: readFields(profile, options.strict, parametersOf(profile), profile.unsupportedParameters),
    bodyLimit: options.bodyLimit,
  };
  app.post<{ Body: SentChatCompletion }>('/v1/chat/completions/input_tokens', settings, count);

  const handle: Parameters<typeof withModel<TextRankRequest>>[1] = async ({ body, record }, _reply, leased) => {
    const { engine, signal } = leased;
    const { texts, documents = texts } = body;
    if (documents === undefined) {
      throw new ChasquiError('missing_required_parameter', 'Missing required parameter: `texts`.', 'texts');
    }
    const ranking = await renamingTexts(texts !== undefined, () => toRanking(engine, { ...body, documents }, signal));
    record.readTexts(engine.model.id, ranking.usage.prompt_tokens);
    return texts === undefined ? ranking : toTextRanking(ranking, body);
  };
  const rank = withModel<TextRankRequest>(context, handle, null, rankerNaming(context));
  app.post<{ Body: TextRankRequest }>('/rerank', bodyRoute(context, textRankSchema, rankOperation), rank);
  app.post<{ Body: TextRankRequest }>('/reranking', bodyRoute(context, textRankSchema, rankingOperation), rank);
}

/** The engine names what is too long as `documents[0]`. */
async function renamingTexts<Result>(named: boolean, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!named || !(error instanceof ChasquiError) || !error.param?.startsWith('documents')) throw error;
    const rename = (text: string): string => text.replaceAll('documents[', 'texts[');
    throw error.withMessage(rename(error.message), rename(error.param));
  }
}

const countOperation: Operation = {
  id: 'countChatTokens',
  tag: 'llama-server',
  summary: 'Number of prompt tokens of a chat request (llama-server).',
  requestName: 'ChatCompletionRequest',
  errors: CONVERSATION_ERRORS,
  reply: { json: { name: 'InputTokens', schema: inputTokensSchema } },
  examples: (model) => ({
    count: {
      summary: 'A short prompt',
      request: { model, messages: [{ role: 'user', content: 'Count from 3 to 6' }] },
      reply: { object: 'response.input_tokens', input_tokens: 20 },
    },
  }),
};

const rankOperation: Operation = {
  id: 'rankTexts',
  tag: 'llama-server',
  summary:
    'Texts ranked by relevance to a query (Text Embeddings Inference), or same as `/v1/rerank` with `documents`.',
  description: 'With `documents` in place of `texts`, the reply is that of `/v1/rerank`, as in llama-server.',
  errors: MODEL_ERRORS,
  reply: { json: { name: 'TextRanking', schema: anyOf(textRankReplySchema, rerankReplySchema) } },
  examples: (model) => ({
    two: {
      summary: 'Two texts',
      request: { model, query: 'Where do llamas live?', texts: ['Bread is baked.', 'Llamas live in the Andes.'] },
      reply: [
        { index: 1, score: 0.99 },
        { index: 0, score: 0.01 },
      ],
    },
  }),
};

const rankingOperation: Operation = {
  ...rankOperation,
  id: 'rankingTexts',
  summary: 'Same as `/rerank` (llama-server).',
  requestName: 'RankTextsRequest',
};
