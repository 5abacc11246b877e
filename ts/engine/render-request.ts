/** A conversation and its options → the JSON that native code renders (native/llama/chat-template.h). */
import type { ChatMessage, ChatTool, ChatToolCall, RenderOptions } from './engine-types.js';
import type { ImageInput } from './job.js';
import { replaceLoneSurrogates, toWellFormedJson } from './well-formed-json.js';

/** Replaces each image by `marker`, and adds it to `images`. */
export function toRenderRequest(
  messages: readonly ChatMessage[],
  options: RenderOptions,
  marker: string,
  images: ImageInput[],
): string {
  const { tools, toolChoice, parallelToolCalls, jsonSchema, continueFinalMessage, specialTokens, templateKwargs } =
    options;
  return toWellFormedJson({
    messages: messages.map((message) => toWireMessage(message, joinParts(message.content, marker, images))),
    tools: tools?.map(toWireTool),
    tool_choice: toolChoice,
    parallel_tool_calls: parallelToolCalls,
    json_schema: jsonSchema,
    continue_final_message: continueFinalMessage,
    special_tokens_in_messages: specialTokens,
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
  // Native code parses the arguments, which are JSON themselves.
  return { id, type: 'function', function: { ...call, arguments: replaceLoneSurrogates(call.arguments) } };
}

function toWireTool(tool: ChatTool): object {
  return { type: 'function', function: tool };
}

/** Joins parts as llama.cpp's server does: texts with a line break between them, images without, because a marker is a paragraph. */
export function joinParts(content: ChatMessage['content'], marker: string, images: ImageInput[]): string {
  if (typeof content === 'string') return content;
  let text = '';
  let afterImage = false;
  for (const part of content) {
    if (part.type === 'image') {
      images.push(part.image);
      text += marker;
    } else {
      text += afterImage || text === '' ? part.text : `\n${part.text}`;
    }
    afterImage = part.type === 'image';
  }
  return text;
}
