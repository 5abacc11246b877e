/** One event of a streamed chat completion. */

import * as s from '../../../http/schema/json-schema.js';
import {
  choiceLogprobs,
  promptProgress,
  timings,
  timingsSoFar,
  usage,
  verboseReport,
} from '../../shared/completion/chat-reply-schema.js';

const calledFunction = s.objectOf({ arguments: s.string }, { name: s.string });

/** The first delta of a call has its id and name. Later ones continue its arguments or its input. */
const toolCallDelta = s.objectOf(
  {
    /** Index of the call within the completion; calls are streamed one after another. */
    index: s.integer,
  },
  {
    id: s.string,
    type: s.oneOf('function', 'custom'),
    /** Present in calls of functions. */
    function: calledFunction,
    /** Present in calls of custom tools. */
    custom: s.objectOf({ input: s.string }, { name: s.string }),
  },
);

const delta = s.objectOf(
  {
    /** Present in every chunk; null if the chunk carries other data. */
    content: s.orNull(s.string),
  },
  {
    role: s.exactly('assistant'),
    reasoning_content: s.string,
    tool_calls: s.arrayOf(toolCallDelta),
    /** In place of `tool_calls` if the request has `functions`; the first one has the name. */
    function_call: calledFunction,
  },
);

const choice = s.objectOf({
  index: s.integer,
  delta,
  logprobs: choiceLogprobs,
  finish_reason: s.orNull(s.oneOf('stop', 'length', 'tool_calls', 'function_call')),
});

export const chatChunkSchema = s.objectOf(
  {
    id: s.string,
    object: s.exactly('chat.completion.chunk'),
    created: s.integer,
    model: s.string,
    system_fingerprint: s.string,
    /** Empty only in the usage chunk. */
    choices: s.arrayOf(choice),
  },
  {
    /** Present only with `stream_options.include_usage`: null in all chunks but the last, or the counts so far. */
    usage: s.orNull(usage),
    /**
     * The final times in the last chunk of a choice and in the chunk with the usage, with `timings`. The times so far in
     * earlier chunks, with `timings_per_token`.
     */
    timings: s.anyOf(timings, timingsSoFar),
    /** Present only with the option `verbose`, in the last chunk of the first choice. */
    __verbose: verboseReport,
    /** Present only with `return_progress`, in chunks before the completion. */
    prompt_progress: promptProgress,
  },
);

export type ToolCallDelta = s.Static<typeof toolCallDelta>;
export type ChatCompletionChunk = s.Static<typeof chatChunkSchema>;
