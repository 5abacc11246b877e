/** The events of a streamed response, numbered from 0. */

import * as s from '../../../http/schema/json-schema.js';
import { logprobEntry, promptProgress, timings, timingsSoFar } from '../../shared/completion/chat-reply-schema.js';
import { contentSchema, itemSchema, responseSchema } from './object-schema.js';

function event(type: s.Schema<string>, fields: s.Fields) {
  return s.objectOf(
    { type, sequence_number: s.integer, ...fields },
    {
      /** Present with `timings_per_token`: the times so far with each step, the final ones with the end. */
      timings: s.anyOf(timings, timingsSoFar),
      /** Present with `return_progress`, in events before the first item. */
      prompt_progress: promptProgress,
    },
  );
}

const OF_RESPONSE = ['created', 'queued', 'in_progress', 'completed', 'incomplete', 'failed'].map(
  (name) => `response.${name}`,
);

function inItem(type: string, fields: s.Fields) {
  return event(s.exactly(type), { item_id: s.string, output_index: s.integer, ...fields });
}

function inPart(type: string, fields: s.Fields) {
  return inItem(type, { content_index: s.integer, ...fields });
}

/** Events of tools of MCP servers. */
const MCP_STATES = ['mcp_list_tools', 'mcp_call'].flatMap((item) =>
  ['in_progress', 'completed', 'failed'].map((state) => `response.${item}.${state}`),
);

const logprobs = s.arrayOf(logprobEntry);

const failure = s.objectOf({ message: s.string, type: s.string, param: s.orNull(s.string), code: s.string });

export const responseEventSchema = s.anyOf(
  event(s.oneOf(...OF_RESPONSE), { response: responseSchema }),
  event(s.oneOf('response.output_item.added', 'response.output_item.done'), {
    output_index: s.integer,
    item: itemSchema,
  }),
  inPart('response.content_part.added', { part: contentSchema }),
  inPart('response.content_part.done', { part: contentSchema }),
  inPart('response.output_text.delta', { delta: s.string, logprobs }),
  inPart('response.output_text.done', { text: s.string, logprobs }),
  inPart('response.reasoning_text.delta', { delta: s.string }),
  inPart('response.reasoning_text.done', { text: s.string }),
  inItem('response.function_call_arguments.delta', { delta: s.string }),
  inItem('response.function_call_arguments.done', { name: s.string, arguments: s.string }),
  inItem('response.custom_tool_call_input.delta', { delta: s.string }),
  inItem('response.custom_tool_call_input.done', { input: s.string }),
  inItem('response.mcp_call_arguments.delta', { delta: s.string }),
  inItem('response.mcp_call_arguments.done', { arguments: s.string }),
  ...MCP_STATES.map((name) => inItem(name, {})),
  event(s.exactly('error'), { code: s.string, message: s.string, param: s.orNull(s.string), error: failure }),
);
