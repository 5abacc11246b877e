/** Messages of a request → prompt text, by the model's own chat template. */
import type {
  ChatMessage,
  ChatPart,
  ChatToolCall,
  Engine,
  ModelInfo,
  OnBehalf,
  RenderedPrompt,
  RenderOptions,
} from '../../../engine/engine.js';
import type { ImageInput } from '../../../engine/job.js';
import { ChasquiError } from '../../../errors.js';
import { limitTextDepth } from '../json-schema/json-depth.js';
import type { AssistantMessage, ImagePart, Message, MessagePart, TextPart } from './message-schema.js';
import { callsOf } from './past-calls.js';

/**
 * `images` are those of all image parts, in their order. An error about a grammar gets the name of a field here: native
 * code compiles grammars and does not know that they come from a schema.
 */
export async function renderPrompt(
  engine: Engine,
  messages: readonly Message[],
  images: readonly ImageInput[],
  options: RenderOptions = {},
  on: OnBehalf = {},
): Promise<RenderedPrompt> {
  const rest = images.values();
  const chatMessages = messages.map((message, index) => toChatMessage(message, index, rest));
  try {
    return await engine.render(chatMessages, options, on);
  } catch (error) {
    if (!(error instanceof ChasquiError) || error.code !== 'invalid_grammar') throw error;
    throw error.withMessage(error.message, options.jsonSchema ? 'response_format' : 'tools');
  }
}

/** Throws `image_not_supported` for the first image part of a conversation with a model that takes text only. */
export function refuseImages(model: ModelInfo, messages: readonly Message[]): void {
  if (model.vision) return;
  messages.forEach(({ content }, index) => {
    const at = Array.isArray(content) ? content.findIndex((part) => part.type === 'image_url') : -1;
    if (at < 0) return;
    const path = `messages[${index}].content[${at}].image_url.url`;
    throw new ChasquiError(
      'image_not_supported',
      `The model \`${model.id}\` takes text only, but \`${path}\` is an image.`,
      path,
    );
  });
}

function toChatMessage(message: Message, index: number, images: Iterator<ImageInput>): ChatMessage {
  const refusal = message.role === 'assistant' ? message.refusal : null;
  const content = toContent(message.content ?? refusal ?? '', images);
  const chatMessage: ChatMessage = { role: message.role === 'function' ? 'tool' : message.role, content };
  if ('name' in message && message.name) chatMessage.name = message.name;
  if ('tool_call_id' in message && message.tool_call_id) chatMessage.toolCallId = message.tool_call_id;
  if (message.role === 'assistant') Object.assign(chatMessage, toReasoningAndCalls(message, index));
  return chatMessage;
}

function toReasoningAndCalls(message: AssistantMessage, index: number): Pick<ChatMessage, 'reasoning' | 'toolCalls'> {
  const calls = callsOf(message);
  return {
    ...(message.reasoning_content && { reasoning: message.reasoning_content }),
    ...(calls.length > 0 && {
      toolCalls: calls.map(({ id, function: call }, at): ChatToolCall => {
        limitTextDepth(call.arguments, `messages[${index}].tool_calls[${at}].function.arguments`);
        return { ...(id && { id }), name: call.name, arguments: call.arguments };
      }),
    }),
  };
}

function toContent(content: string | readonly MessagePart[], images: Iterator<ImageInput>): ChatMessage['content'] {
  if (typeof content === 'string') return content;
  const parts = content.map((part): TextPart | ImagePart =>
    part.type === 'refusal' ? { type: 'text', text: part.refusal } : part,
  );
  if (parts.every(isText)) return parts.map(({ text }) => text).join('\n');
  return parts.map((part): ChatPart => {
    if (part.type === 'text') return part;
    const next = images.next();
    if (next.done) throw new Error('A conversation has more image parts than there are images.');
    return { type: 'image', image: next.value };
  });
}

function isText(part: TextPart | ImagePart): part is TextPart {
  return part.type === 'text';
}
