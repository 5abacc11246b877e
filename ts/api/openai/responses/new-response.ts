/** A response before its completion begins: its id, and the fields of the request that it repeats. */

import { randomBytes } from 'node:crypto';
import type { SamplingSettings } from '../../../options/sampling-table.js';
import type { ResponseObject } from './object-schema.js';
import type { ResponsesRequest, ResponseTextFormat } from './schema.js';
import type { ResponseTool } from './tools-schema.js';

/** `defaults`: the sampling defaults of the mode. `store`: whether the response is kept. */
export function newResponse(
  request: ResponsesRequest,
  model: string,
  defaults: Readonly<SamplingSettings>,
  store: boolean,
): ResponseObject {
  return {
    id: `resp_${randomBytes(16).toString('hex')}`,
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
    presence_penalty: request.presence_penalty ?? defaults.presencePenalty,
    frequency_penalty: request.frequency_penalty ?? defaults.frequencyPenalty,
    top_logprobs: request.top_logprobs ?? 0,
    text: { format: toShownFormat(request.text?.format) },
    tool_choice: request.tool_choice ?? 'auto',
    tools: (request.tools ?? []).map(toShownTool),
    truncation: request.truncation ?? 'disabled',
    background: request.background ?? false,
    store,
    service_tier: 'default',
    max_tool_calls: request.max_tool_calls ?? null,
    safety_identifier: request.safety_identifier ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    previous_response_id: request.previous_response_id ?? null,
    conversation: toConversation(request),
  };
}

/** The format with the fields that OpenAI's replies always have. */
function toShownFormat(format: ResponseTextFormat | null | undefined): ResponseTextFormat {
  if (format?.type !== 'json_schema') return format ?? { type: 'text' };
  return { ...format, description: format.description ?? null, strict: format.strict ?? false };
}

/** The tool with the fields that OpenAI's replies always have. */
function toShownTool(tool: ResponseTool): ResponseTool {
  const { type, description = null, parameters = null, strict } = tool;
  if (type === 'function') return { ...tool, description, parameters, strict: strict ?? false };
  return tool.tools == null ? tool : { ...tool, tools: tool.tools.map(toShownTool) };
}

function toConversation(request: ResponsesRequest): ResponseObject['conversation'] {
  const id = conversationOf(request);
  return id === null ? null : { id };
}

export function conversationOf({ conversation }: ResponsesRequest): string | null {
  return (typeof conversation === 'object' ? conversation.id : conversation) ?? null;
}

export function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
