/** One event of a streamed chat completion, for readers: chunks are put together from text. */
import { chatCompletionReplySchema } from './chat-response.js';
import { arrayOf, exactly, integer, objectOf, oneOf, orNull, string } from './json-schema.js';

const { choices, timings, usage } = chatCompletionReplySchema.properties;

const toolCallDelta = objectOf(
  { index: integer, function: objectOf({ arguments: string }, { name: string }) },
  { id: string, type: exactly('function') },
);

const delta = objectOf(
  { content: orNull(string) },
  {
    role: exactly('assistant'),
    reasoning_content: string,
    tool_calls: arrayOf(toolCallDelta),
  },
);

const choice = objectOf({
  index: integer,
  delta,
  logprobs: choices.items.properties.logprobs,
  finish_reason: orNull(oneOf('stop', 'length', 'tool_calls')),
});

export const chatChunkSchema = objectOf(
  {
    id: string,
    object: exactly('chat.completion.chunk'),
    created: integer,
    model: string,
    system_fingerprint: string,
    choices: arrayOf(choice),
  },
  { usage: orNull(usage), timings },
);
