import {
  anthropicErrorSchema,
  messageEventSchema,
  messageReplySchema,
  tokenCountSchema,
} from '../../../schemas/anthropic-message.js';
import type { Operation } from '../operation.js';

const FIELDS = {
  system: 'The system message.',
  stop_sequences: 'Strings that end the completion; they are not part of it.',
  metadata: 'Ignored.',
  thinking: 'Whether the model should think, where its template knows such a thing.',
  output_config: 'In `format`: a schema that the completion must match. In `effort`: how long the model should think.',
};

const messages = [{ role: 'user', content: 'Count from 3 to 6' }];

const message = (model: string) => ({
  id: 'msg_4b1f6a52c7e94d0f8f3e6d9a7c5b2e10',
  type: 'message',
  role: 'assistant',
  model,
  content: [{ type: 'text', text: '3, 4, 5, 6', citations: null }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 20, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 11 },
});

export const createMessage: Operation = {
  id: 'createMessage',
  tag: 'Chat',
  summary: "The same in the words of Anthropic's Messages API.",
  requestName: 'MessageRequest',
  fields: FIELDS,
  errorBody: anthropicErrorSchema,
  reply: {
    json: { name: 'Message', schema: messageReplySchema },
    event: { name: 'MessageEvent', schema: messageEventSchema },
  },
  examples: (model) => ({
    completion: {
      summary: 'A short completion',
      request: { model, messages, max_tokens: 32, temperature: 0 },
      reply: message(model),
    },
    stream: {
      summary: 'The same as a stream',
      request: { model, messages, max_tokens: 32, temperature: 0, stream: true },
      reply: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '3' } },
    },
  }),
};

export const countMessageTokens: Operation = {
  id: 'countMessageTokens',
  tag: 'Chat',
  summary: 'How many tokens the prompt of such a request has.',
  requestName: 'TokenCountRequest',
  fields: FIELDS,
  errorBody: anthropicErrorSchema,
  reply: { json: { name: 'TokenCount', schema: tokenCountSchema } },
  examples: (model) => ({
    count: { summary: 'A short prompt', request: { model, messages }, reply: { input_tokens: 20 } },
  }),
};
