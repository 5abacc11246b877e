/** The conversations of library users: messages in our form or OpenAI's, with images and audio to load. */
import { type ChasquiError, invalidValue } from '../errors.js';
import { audioSource, type ImageSource, imageSources } from '../images/image-sources.js';
import { type LoadImagesOptions, loadImages } from '../images/load-images.js';
import type { ChatMessage, ChatPart, ChatTextPart, ChatToolCall } from './engine-types.js';
import type { ImageInput } from './job.js';

/** The bytes of a PNG, JPEG, WebP, BMP or GIF file (first frame), or pixels. */
export interface GenerateImagePart {
  type: 'image';
  image: Uint8Array | ArrayBuffer | ImageInput;
}

/** An http(s) URL or data URI, as in a request. */
export interface GenerateImageUrlPart {
  type: 'image_url';
  image_url: { url: string; detail?: 'auto' | 'low' | 'high' | null };
}

/** Base64 of a WAV, MP3 or FLAC file, a data URI or an http(s) URL, as in a request. */
export interface GenerateAudioPart {
  type: 'input_audio';
  input_audio: { data: string; format?: string | null };
}

export type GeneratePart = ChatTextPart | GenerateImagePart | GenerateImageUrlPart | GenerateAudioPart;

/** A tool call in a message of OpenAI's API. */
export interface OpenAiToolCall {
  id?: string;
  type?: 'function';
  function: { name: string; arguments: string };
}

/** A message with our field names or with those of OpenAI's API. */
export interface GenerateMessage extends Omit<ChatMessage, 'content'> {
  /** `null`: none, beside tool calls. */
  content?: string | readonly GeneratePart[] | null;
  reasoning_content?: string | null;
  tool_calls?: readonly OpenAiToolCall[] | null;
  tool_call_id?: string;
}

const ROLES: readonly unknown[] = ['system', 'developer', 'user', 'assistant', 'tool'] satisfies ChatMessage['role'][];
/** The field of each part that holds its content. */
const PART_FIELDS = { text: 'text', image: 'image', image_url: 'image_url', input_audio: 'input_audio' } as const;

/** Whether these are messages of the engine, with images that need no validation. */
export function areChatMessages(messages: readonly GenerateMessage[]): messages is ChatMessage[] {
  return messages.every((message) => {
    if ('tool_calls' in message || 'tool_call_id' in message || 'reasoning_content' in message) return false;
    const { content } = message;
    return typeof content === 'string' || (Array.isArray(content) && content.every(isReady));
  });
}

function isReady(part: GeneratePart): boolean {
  return part?.type === 'text' ? typeof part.text === 'string' : pixelsOf(part) !== null;
}

export function mediaIn(messages: readonly GenerateMessage[]): ('image' | 'audio')[] {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as readonly GeneratePart[]) : []));
  return parts.filter(({ type }) => type !== 'text').map((part) => (isAudio(part) ? 'audio' : 'image'));
}

function isAudio(part: GeneratePart): boolean {
  return part.type === 'input_audio' || (part.type === 'image' && 'audio' in part.image);
}

/** @throws {ChasquiError} `invalid_value`, naming the field */
export function checkMessages(messages: readonly GenerateMessage[]): void {
  for (const [index, message] of messages.entries()) {
    const { role, content, toolCalls, tool_calls: openAiCalls } = message;
    const path = `messages[${index}]`;
    if (!ROLES.includes(role)) throw invalid(`${path}.role`, `one of ${ROLES.join(', ')}`);
    if (Array.isArray(content)) checkParts(content, `${path}.content`);
    else if (typeof content !== 'string' && !(toolCalls ?? openAiCalls)) {
      throw invalid(`${path}.content`, 'a text or a list of parts');
    }
    const field = `${path}.${toolCalls ? 'toolCalls' : 'tool_calls'}`;
    const calls = toolCalls ?? openAiCalls ?? [];
    if (!Array.isArray(calls)) throw invalid(field, 'a list of calls');
    checkCalls(toolCalls ? calls : calls.map((call) => call?.function), field);
  }
}

function checkParts(parts: readonly GeneratePart[], path: string): void {
  for (const [index, part] of parts.entries()) {
    const field = Object.hasOwn(PART_FIELDS, part?.type) ? PART_FIELDS[part.type] : undefined;
    if (field === undefined) throw invalid(`${path}[${index}].type`, 'text, image, image_url or input_audio');
    const value = (part as unknown as Record<string, unknown>)[field];
    const isText = typeof value === 'string';
    if (field === 'text' ? !isText : typeof value !== 'object' || value === null) {
      throw invalid(`${path}[${index}].${field}`, field === 'text' ? 'a text' : 'an object');
    }
    if (part.type === 'image_url' && typeof part.image_url.url !== 'string') {
      throw invalid(`${path}[${index}].image_url.url`, 'a text');
    }
    if (part.type === 'input_audio' && typeof part.input_audio.data !== 'string') {
      throw invalid(`${path}[${index}].input_audio.data`, 'a text');
    }
  }
}

function checkCalls(calls: readonly Partial<ChatToolCall>[], path: string): void {
  const at = calls.findIndex((call) => typeof call?.name !== 'string' || typeof call.arguments !== 'string');
  if (at >= 0) throw invalid(`${path}[${at}]`, 'a call with a `name` and with `arguments` as JSON text');
}

function invalid(param: string, must: string): ChasquiError {
  return invalidValue(`\`${param}\` must be ${must}.`, param);
}

/** Rejects as `loadImages` does. Pixels are passed on unchecked; the engine checks them. */
export async function loadChatImages(
  messages: readonly GenerateMessage[],
  options: LoadImagesOptions,
): Promise<ChatMessage[]> {
  const loaded = (await loadImages(imageSources(messages, toSource), options)).values();
  const toChatPart = (part: GeneratePart): ChatPart => {
    if (part.type === 'text') return part;
    const pixels = pixelsOf(part);
    return { type: 'image', image: pixels ?? (loaded.next().value as ImageInput) };
  };
  return messages.map(({ content, ...message }) => ({
    ...ourNames(message),
    content: typeof content === 'string' ? content : (content ?? []).map(toChatPart),
  }));
}

function ourNames({
  reasoning_content: reasoning,
  tool_calls: calls,
  tool_call_id: toolCallId,
  ...message
}: Omit<GenerateMessage, 'content'>): Omit<ChatMessage, 'content'> {
  return {
    ...(reasoning && { reasoning }),
    ...(calls && { toolCalls: calls.map(({ id, function: call }) => ({ ...(id && { id }), ...call })) }),
    ...(toolCallId && { toolCallId }),
    ...message,
  };
}

function toSource(part: GeneratePart, path: string): ImageSource | null {
  if (part.type === 'image_url') return { from: part.image_url.url, param: `${path}.image_url.url` };
  if (part.type === 'input_audio') return audioSource(part.input_audio.data, path);
  if (part.type === 'text' || pixelsOf(part)) return null;
  const { image } = part as { image: Uint8Array | ArrayBuffer | { bytes: Uint8Array } };
  const bytes = image instanceof ArrayBuffer ? new Uint8Array(image) : 'bytes' in image ? image.bytes : image;
  return { from: bytes, param: `${path}.image` };
}

function pixelsOf(part: GeneratePart): ImageInput | null {
  if (part?.type !== 'image') return null;
  const { image } = part as { image?: GenerateImagePart['image'] | null };
  return image instanceof Object && ('rgb' in image || 'audio' in image) ? image : null;
}
