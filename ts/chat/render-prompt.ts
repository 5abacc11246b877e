/** Messages of a request → prompt text, by the model's own chat template. */
import type { ChatMessage, Engine, RenderedPrompt } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';
import type { ContentPart, Message } from '../schemas/message.js';

export function renderPrompt(engine: Engine, messages: readonly Message[]): Promise<RenderedPrompt> {
  return engine.render(messages.map((message, index) => toChatMessage(message, index, engine.model.id)));
}

function toChatMessage(message: Message, index: number, model: string): ChatMessage {
  const chatMessage: ChatMessage = {
    role: message.role,
    content: toText(message.content ?? '', `messages[${index}].content`, model),
  };
  if ('name' in message && message.name) chatMessage.name = message.name;
  if ('tool_call_id' in message && message.tool_call_id) chatMessage.toolCallId = message.tool_call_id;
  return chatMessage;
}

/** Parts are separate paragraphs of one text, so a line break keeps them apart, as llama.cpp's own server does. */
function toText(content: string | readonly ContentPart[], path: string, model: string): string {
  if (typeof content === 'string') return content;
  const texts = content.map((part, index) => {
    if (part.type === 'text') return part.text;
    throw new ChasquiError(
      'image_not_supported',
      `The model \`${model}\` takes text only, but \`${path}[${index}]\` is an image.`,
      `${path}[${index}]`,
    );
  });
  return texts.join('\n');
}
