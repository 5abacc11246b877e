/** A conversation and what belongs to it → what native code renders (native/llama/chat-template.h). */
import type { ChatMessage, ChatTool, ChatToolCall, RenderOptions } from './engine-types.js';
import type { ImageInput } from './job.js';
import { joinParts } from './join-parts.js';
import { toWellFormedJson, withoutHalfPairs } from './well-formed-json.js';

/** `marker` stands for each image in a message, and the images are added to `images` in order. */
export function toRenderRequest(
  messages: readonly ChatMessage[],
  options: RenderOptions,
  marker: string,
  images: ImageInput[],
): string {
  const { tools, toolChoice, parallelToolCalls, jsonSchema, continueFinalMessage, templateKwargs } = options;
  return toWellFormedJson({
    messages: messages.map((message) => toWireMessage(message, joinParts(message.content, marker, images))),
    tools: tools?.map(toWireTool),
    tool_choice: toolChoice,
    parallel_tool_calls: parallelToolCalls,
    json_schema: jsonSchema,
    continue_final_message: continueFinalMessage,
    chat_template_kwargs: templateKwargs,
  });
}

function toWireMessage({ role, name, reasoning, toolCalls, toolCallId }: ChatMessage, content: string): object {
  return {
    role,
    content,
    name,
    reasoning_content: reasoning,
    tool_calls: toolCalls?.map(toWireCall),
    tool_call_id: toolCallId,
  };
}

function toWireCall({ id, ...call }: ChatToolCall): object {
  // Templates are given the arguments as JSON that is read once more.
  return { id, type: 'function', function: { ...call, arguments: withoutHalfPairs(call.arguments) } };
}

function toWireTool(tool: ChatTool): object {
  return { type: 'function', function: tool };
}
