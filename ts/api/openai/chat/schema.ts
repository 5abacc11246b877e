/** One event of a streamed chat completion. */

import {
  anyOf,
  arrayOf,
  exactly,
  integer,
  objectOf,
  oneOf,
  orNull,
  type Static,
  string,
} from '../../../http/schema/json-schema.js';
import {
  choiceLogprobs,
  promptProgress,
  timings,
  timingsSoFar,
  usage,
} from '../../shared/completion/chat-reply-schema.js';

const calledFunction = objectOf({ arguments: string }, { name: string });

/** The first delta of a call has its id and name; the later ones continue its arguments, or its input. */
const toolCallDelta = objectOf(
  {
    /** Index of the call within the completion; calls are streamed one after another. */
    index: integer,
  },
  {
    id: string,
    type: oneOf('function', 'custom'),
    /** Present in calls of functions. */
    function: calledFunction,
    /** Present in calls of custom tools. */
    custom: objectOf({ input: string }, { name: string }),
  },
);

const delta = objectOf(
  {
    /** Present in every chunk; null if the chunk carries other data. */
    content: orNull(string),
  },
  {
    role: exactly('assistant'),
    reasoning_content: string,
    tool_calls: arrayOf(toolCallDelta),
    /** In place of `tool_calls` if the request has `functions`; the first one has the name. */
    function_call: calledFunction,
  },
);

const choice = objectOf({
  index: integer,
  delta,
  logprobs: choiceLogprobs,
  finish_reason: orNull(oneOf('stop', 'length', 'tool_calls', 'function_call')),
});

export const chatChunkSchema = objectOf(
  {
    id: string,
    object: exactly('chat.completion.chunk'),
    created: integer,
    model: string,
    system_fingerprint: string,
    /** Empty in the usage chunk only. */
    choices: arrayOf(choice),
  },
  {
    /** Present only when `stream_options.include_usage` asked for it: `null` in all chunks but the last, or the counts so far. */
    usage: orNull(usage),
    /**
     * Whole ones when `timings` asked for them, in the chunk that ends a choice; those so far when `timings_per_token` did,
     * in the chunks before it.
     */
    timings: anyOf(timings, timingsSoFar),
    /** In chunks before the first one of the completion, when `return_progress` asked for it. */
    prompt_progress: promptProgress,
  },
);

export type ToolCallDelta = Static<typeof toolCallDelta>;
export type ChatCompletionChunk = Static<typeof chatChunkSchema>;
