/** Messages of a request → prompt text, by the model's own chat template. */
import type { ChatMessage, ChatPart, Engine, ModelInfo, RenderedPrompt } from '../engine/engine.js';
import type { ImageInput } from '../engine/job.js';
import { ChasquiError } from '../errors.js';
import type { ContentPart, Message, TextPart } from '../schemas/message.js';

/** `images`: the pictures of all image parts, in their order; none are looked at when the model takes text only. */
export async function renderPrompt(
  engine: Engine,
  messages: readonly Message[],
  images: readonly ImageInput[] = [],
): Promise<RenderedPrompt> {
  refuseImages(engine.model, messages);
  const rest = images.values();
  return engine.render(messages.map((message) => toChatMessage(message, rest)));
}

/** Throws `image_not_supported` for the first image part of a conversation with a model that takes text only. */
export function refuseImages(model: ModelInfo, messages: readonly Message[]): void {
  if (model.vision) return;
  messages.forEach(({ content }, index) => {
    const at = Array.isArray(content) ? content.findIndex((part) => part.type !== 'text') : -1;
    if (at < 0) return;
    const path = `messages[${index}].content[${at}]`;
    throw new ChasquiError(
      'image_not_supported',
      `The model \`${model.id}\` takes text only, but \`${path}\` is an image.`,
      path,
    );
  });
}

function toChatMessage(message: Message, images: Iterator<ImageInput>): ChatMessage {
  const chatMessage: ChatMessage = { role: message.role, content: toContent(message.content ?? '', images) };
  if ('name' in message && message.name) chatMessage.name = message.name;
  if ('tool_call_id' in message && message.tool_call_id) chatMessage.toolCallId = message.tool_call_id;
  return chatMessage;
}

function toContent(content: string | readonly ContentPart[], images: Iterator<ImageInput>): ChatMessage['content'] {
  if (typeof content === 'string') return content;
  if (content.every(isText)) return content.map(({ text }) => text).join('\n');
  return content.map((part): ChatPart => {
    if (part.type === 'text') return part;
    const next = images.next();
    if (next.done) throw new Error('A conversation has more image parts than there are images.');
    return { type: 'image', image: next.value };
  });
}

function isText(part: ContentPart): part is TextPart {
  return part.type === 'text';
}
