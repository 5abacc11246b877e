import { responseEventSchema } from '../../../schemas/response-event.js';
import { inputTokensSchema, responseSchema } from '../../../schemas/response-object.js';
import type { Operation } from '../operation.js';

const FIELDS = {
  input: 'What the model is to continue: a text, or the items of a conversation.',
  instructions: 'The system message.',
  text: 'In `format`: what the completion must be: text, any JSON object, or JSON of a schema.',
  reasoning: 'In `effort`: how long the model should think, where its template knows such a thing.',
  max_output_tokens: 'The most tokens that the completion may have.',
  include: 'With `message.output_text.logprobs` the reply reports how probable its tokens were.',
  metadata: 'Comes back with the response.',
  store: 'Nothing is ever stored.',
  truncation: 'Prompts are never shortened: one that does not fit is refused.',
  background: 'Must be false.',
  previous_response_id: 'Refused, because nothing is stored: send the conversation.',
  conversation: 'Refused for the same reason.',
  prompt: 'Refused for the same reason.',
  stream_options: 'Nothing to choose here.',
};

const usage = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 11,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 31,
};

const response = (model: string) => ({
  id: 'resp_4b1f6a52c7e94d0f8f3e6d9a7c5b2e10',
  object: 'response',
  created_at: 1_790_000_000,
  completed_at: 1_790_000_001,
  status: 'completed',
  error: null,
  incomplete_details: null,
  model,
  output: [
    {
      type: 'message',
      id: 'msg_0c8d1b7e5f2a4e6b9d3c7a1f8e5b2d40',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: '3, 4, 5, 6', annotations: [], logprobs: [] }],
    },
  ],
  usage,
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  parallel_tool_calls: true,
  reasoning: { effort: null, summary: null },
  temperature: 0,
  top_p: 1,
  top_logprobs: 0,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  truncation: 'disabled',
  background: false,
  store: false,
  previous_response_id: null,
});

export const createResponse: Operation = {
  id: 'createResponse',
  tag: 'Chat',
  summary: "The same in the words of OpenAI's Responses API, without storage.",
  requestName: 'ResponseRequest',
  fields: FIELDS,
  reply: {
    json: { name: 'Response', schema: responseSchema },
    event: { name: 'ResponseEvent', schema: responseEventSchema },
  },
  examples: (model) => ({
    completion: {
      summary: 'A short completion',
      request: { model, input: 'Count from 3 to 6', temperature: 0 },
      reply: response(model),
    },
    stream: {
      summary: 'The same as a stream',
      request: { model, input: 'Count from 3 to 6', temperature: 0, stream: true },
      reply: {
        type: 'response.output_text.delta',
        sequence_number: 4,
        item_id: 'msg_0c8d1b7e5f2a4e6b9d3c7a1f8e5b2d40',
        output_index: 0,
        content_index: 0,
        delta: '3',
        logprobs: [],
      },
    },
  }),
};

export const countInputTokens: Operation = {
  id: 'countInputTokens',
  tag: 'Chat',
  summary: 'How many tokens the prompt of such a request has.',
  requestName: 'InputTokensRequest',
  fields: FIELDS,
  reply: { json: { name: 'InputTokens', schema: inputTokensSchema } },
  examples: (model) => ({
    count: {
      summary: 'A short prompt',
      request: { model, input: 'Count from 3 to 6' },
      reply: { object: 'response.input_tokens', input_tokens: 20 },
    },
  }),
};
