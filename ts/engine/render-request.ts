/** JSON for native code: conversations to render (native/llama/chat/chat-template.h), and schemas. */
import type { ChatMessage, ChatToolCall, RenderOptions } from './engine-types.js';
import { type Grammar, grammarOf, type ImageInput } from './job.js';

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
    tools: tools?.map((tool) => ({ type: 'function', function: tool })),
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

export function grammarOfSchema(schema: object): Grammar {
  return { ...grammarOf(''), schema: toWellFormedJson(schema) };
}

/** Native code reads UTF-8, which cannot encode a lone surrogate. Most come from texts that were cut inside an emoji. */
const SURROGATE = /\\u[dD][89a-fA-F]/;
/** A pair, a lone surrogate, or any other escape; the last so that an escaped backslash begins no surrogate. */
const ESCAPES = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\[\s\S]/g;
const ESCAPE_LENGTH = '\\ud800'.length;
const REPLACEMENT = '\\ufffd';

/** `JSON.stringify` with U+FFFD for each lone surrogate, as in `String.prototype.toWellFormed`. */
export function toWellFormedJson(value: object): string {
  return replaceLoneSurrogates(JSON.stringify(value));
}

/** Replaces escaped lone surrogates in JSON. */
export function replaceLoneSurrogates(json: string): string {
  if (!SURROGATE.test(json)) return json;
  return json.replace(ESCAPES, (each) => (each.length === ESCAPE_LENGTH ? REPLACEMENT : each));
}
