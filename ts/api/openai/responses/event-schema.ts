/** The events of a streamed response, numbered from 0. */

import {
  anyOf,
  arrayOf,
  exactly,
  type Fields,
  integer,
  objectOf,
  oneOf,
  orNull,
  type Schema,
  string,
} from '../../../http/schema/json-schema.js';
import { logprobEntry, promptProgress, timings, timingsSoFar } from '../../shared/completion/chat-reply-schema.js';
import { contentSchema, itemSchema, responseSchema } from './object-schema.js';

function event(type: Schema<string>, fields: Fields) {
  return objectOf(
    { type, sequence_number: integer, ...fields },
    {
      /** When `timings_per_token` asked for them: those so far with what a step brought, whole ones with the end. */
      timings: anyOf(timings, timingsSoFar),
      /** In events of the response in progress, before its first item, when `return_progress` asked for it. */
      prompt_progress: promptProgress,
    },
  );
}

const OF_RESPONSE = ['created', 'queued', 'in_progress', 'completed', 'incomplete', 'failed'].map(
  (name) => `response.${name}`,
);

function inItem(type: string, fields: Fields) {
  return event(exactly(type), { item_id: string, output_index: integer, ...fields });
}

function inPart(type: string, fields: Fields) {
  return inItem(type, { content_index: integer, ...fields });
}

const logprobs = arrayOf(logprobEntry);

const failure = objectOf({ message: string, type: string, param: orNull(string), code: string });

export const responseEventSchema = anyOf(
  event(oneOf(...OF_RESPONSE), { response: responseSchema }),
  event(oneOf('response.output_item.added', 'response.output_item.done'), { output_index: integer, item: itemSchema }),
  inPart('response.content_part.added', { part: contentSchema }),
  inPart('response.content_part.done', { part: contentSchema }),
  inPart('response.output_text.delta', { delta: string, logprobs }),
  inPart('response.output_text.done', { text: string, logprobs }),
  inPart('response.reasoning_text.delta', { delta: string }),
  inPart('response.reasoning_text.done', { text: string }),
  inItem('response.function_call_arguments.delta', { delta: string }),
  inItem('response.function_call_arguments.done', { name: string, arguments: string }),
  inItem('response.custom_tool_call_input.delta', { delta: string }),
  inItem('response.custom_tool_call_input.done', { input: string }),
  event(exactly('error'), { code: string, message: string, param: orNull(string), error: failure }),
);
