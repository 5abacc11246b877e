import { chatChunkSchema } from '../../../schemas/chat-chunk.js';
import { chatCompletionReplySchema } from '../../../schemas/chat-response.js';
import { VERSION } from '../../../version.js';
import type { Operation } from '../operation.js';

const HEAD = {
  id: 'chatcmpl-4b1f6a52c7e94d0f8f3e6d9a7c5b2e10',
  created: 1_790_000_000,
  system_fingerprint: `chasqui-${VERSION}`,
};
const messages = [{ role: 'user', content: 'Count from 3 to 6' }];

export const createChatCompletion: Operation = {
  id: 'createChatCompletion',
  tag: 'Chat',
  summary: 'Continues a conversation, whole or as a stream.',
  description:
    'A stream consists of `data:` lines, each with one chunk, and ends with `data: [DONE]`. ' +
    'Lines that begin with a colon only keep the connection alive.',
  requestName: 'ChatCompletionRequest',
  reply: {
    json: { name: 'ChatCompletion', schema: chatCompletionReplySchema },
    event: { name: 'ChatCompletionChunk', schema: chatChunkSchema },
  },
  examples: (model) => ({
    completion: {
      summary: 'A short completion',
      request: { model, messages, temperature: 0, max_tokens: 32 },
      reply: {
        ...HEAD,
        object: 'chat.completion',
        model,
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: '3, 4, 5, 6', refusal: null },
            logprobs: null,
            finish_reason: 'stop',
          },
        ],
        usage: {
          prompt_tokens: 20,
          completion_tokens: 11,
          total_tokens: 31,
          prompt_tokens_details: { cached_tokens: 0 },
        },
      },
    },
    stream: {
      summary: 'The same as a stream',
      request: { model, messages, temperature: 0, max_tokens: 32, stream: true },
      reply: {
        ...HEAD,
        object: 'chat.completion.chunk',
        model,
        choices: [{ index: 0, delta: { content: '3' }, logprobs: null, finish_reason: null }],
      },
    },
  }),
};
