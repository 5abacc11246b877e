import { completionChunkSchema, completionReplySchema } from '../../../schemas/completion-response.js';
import { embeddingsReplySchema } from '../../../schemas/embeddings.js';
import { rerankReplySchema } from '../../../schemas/rerank.js';
import { applyTemplateReplySchema, detokenizeReplySchema, tokenizeReplySchema } from '../../../schemas/tokenize.js';
import { VERSION } from '../../../version.js';
import type { Operation } from '../operation.js';

const HEAD = {
  id: 'cmpl-4b1f6a52c7e94d0f8f3e6d9a7c5b2e10',
  object: 'text_completion',
  created: 1_790_000_000,
  system_fingerprint: `chasqui-${VERSION}`,
};

export const createCompletion: Operation = {
  id: 'createCompletion',
  tag: 'Text',
  summary: 'Continues a text as it is, without a chat template.',
  requestName: 'CompletionRequest',
  fields: {
    prompt: 'One text or several, as characters or as tokens; each gets `n` choices.',
    suffix: 'What comes after the gap that is to be filled, where the model can.',
    echo: 'Begins each choice with its prompt.',
    best_of: 'Refused above `n`.',
    logprobs: 'How many alternatives to report with each token.',
  },
  reply: {
    json: { name: 'Completion', schema: completionReplySchema },
    event: { name: 'CompletionChunk', schema: completionChunkSchema },
  },
  examples: (model) => {
    const request = { model, prompt: 'Once upon a time', max_tokens: 8, temperature: 0 };
    const usage = {
      prompt_tokens: 5,
      completion_tokens: 8,
      total_tokens: 13,
      prompt_tokens_details: { cached_tokens: 0 },
    };
    const choice = { index: 0, text: ', there was a model.', logprobs: null };
    return {
      completion: {
        summary: 'Eight tokens more',
        request,
        reply: { ...HEAD, model, choices: [{ ...choice, finish_reason: 'length' }], usage },
      },
      stream: {
        summary: 'The same as a stream',
        request: { ...request, stream: true },
        reply: { ...HEAD, model, choices: [{ ...choice, text: ' a model.', finish_reason: 'length' }] },
      },
    };
  },
};

export const createEmbeddings: Operation = {
  id: 'createEmbeddings',
  tag: 'Text',
  summary: 'Vectors of texts.',
  requestName: 'EmbeddingsRequest',
  fields: {
    input: 'One text or several, as characters or as tokens.',
    encoding_format: 'Numbers, or the bytes of 32-bit floats (little-endian) in base64.',
    dimensions: "The length of the model's vectors; any other is refused.",
  },
  reply: { json: { name: 'Embeddings', schema: embeddingsReplySchema } },
  examples: (model) => ({
    two: {
      summary: 'Two texts',
      request: { model, input: ['Hello!', 'Good morning'], encoding_format: 'base64' },
      reply: {
        object: 'list',
        model,
        data: [
          { object: 'embedding', index: 0, embedding: 'AACAPwAAAAA=' },
          { object: 'embedding', index: 1, embedding: 'AAAAAAAAgD8=' },
        ],
        usage: { prompt_tokens: 7, total_tokens: 7 },
      },
    },
  }),
};

export const rerank: Operation = {
  id: 'rerank',
  tag: 'Text',
  summary: 'Documents in the order of how relevant they are to a query, by a ranking model.',
  description: "The scores are the model's own, not scaled to 0 to 1.",
  requestName: 'RerankRequest',
  fields: {
    query: 'What is looked for.',
    documents: 'What is to be put in order.',
    top_n: 'How many results to return, the most relevant first.',
    return_documents: 'Returns the texts as well.',
  },
  reply: { json: { name: 'Ranking', schema: rerankReplySchema } },
  examples: (model) => ({
    two: {
      summary: 'Two documents',
      request: { model, query: 'Where do llamas live?', documents: ['Bread is baked.', 'Llamas live in the Andes.'] },
      reply: {
        object: 'list',
        model,
        results: [
          { index: 1, relevance_score: 4.7 },
          { index: 0, relevance_score: -8.2 },
        ],
        usage: { prompt_tokens: 27, total_tokens: 27 },
      },
    },
  }),
};

export const tokenize: Operation = {
  id: 'tokenize',
  tag: 'Text',
  summary: 'The tokens of a text, as in llama-server.',
  requestName: 'TokenizeRequest',
  fields: {
    content: 'The text.',
    add_special: 'Adds the tokens that begin (or end) every text of the model.',
    parse_special: 'Reads the names of special tokens as those tokens; the default is true.',
    with_pieces: 'Says with each token what it spells.',
  },
  reply: { json: { name: 'Tokens', schema: tokenizeReplySchema } },
  examples: () => ({
    plain: { summary: 'A greeting', request: { content: 'Hello!' }, reply: { tokens: [312, 5] } },
    pieces: {
      summary: 'With what each token spells',
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

export const detokenize: Operation = {
  id: 'detokenize',
  tag: 'Text',
  summary: 'The text of tokens.',
  requestName: 'DetokenizeRequest',
  fields: { tokens: 'The tokens.' },
  reply: { json: { name: 'DetokenizedText', schema: detokenizeReplySchema } },
  examples: () => ({
    greeting: { summary: 'A greeting', request: { tokens: [312, 5] }, reply: { content: 'Hello!' } },
  }),
};

export const applyTemplate: Operation = {
  id: 'applyTemplate',
  tag: 'Text',
  summary: 'A conversation as the model reads it.',
  description:
    'Takes the fields of a chat completion; those that only matter to the completion are checked and not used.',
  requestName: 'ApplyTemplateRequest',
  reply: { json: { name: 'RenderedConversation', schema: applyTemplateReplySchema } },
  examples: () => ({
    greeting: {
      summary: 'One message',
      request: { messages: [{ role: 'user', content: 'Hello!' }] },
      reply: { prompt: '<|im_start|>user\nHello!<|im_end|>\n<|im_start|>assistant\n' },
    },
  }),
};
