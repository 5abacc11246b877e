/** A response before its completion begins: its id, and the fields of the request that it repeats. */

import { newId } from '../../../new-id.js';
import type { SamplingSettings } from '../../../options/sampling-table.js';
import type { ResponseObject } from './object-schema.js';
import type { ResponsesRequest } from './schema.js';

/** `defaults` are what the mode samples with when a request says nothing; `store`: whether the response is kept. */
export function newResponse(
  request: ResponsesRequest,
  model: string,
  defaults: Readonly<SamplingSettings>,
  store: boolean,
): ResponseObject {
  return {
    id: newId('resp_'),
    object: 'response',
    created_at: nowInSeconds(),
    completed_at: null,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    model,
    output: [],
    usage: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: request.metadata ?? {},
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    reasoning: { effort: request.reasoning?.effort ?? null, summary: null },
    temperature: request.temperature ?? defaults.temperature,
    top_p: request.top_p ?? defaults.topP,
    top_logprobs: request.top_logprobs ?? 0,
    text: { format: request.text?.format ?? { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    truncation: request.truncation ?? 'disabled',
    background: request.background ?? false,
    store,
    previous_response_id: request.previous_response_id ?? null,
    conversation: toConversation(request),
  };
}

function toConversation(request: ResponsesRequest): ResponseObject['conversation'] {
  const id = conversationOf(request);
  return id === null ? null : { id };
}

/** The id of the conversation that the request continues, or null. */
export function conversationOf({ conversation }: ResponsesRequest): string | null {
  return (typeof conversation === 'object' ? conversation.id : conversation) ?? null;
}

export function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
