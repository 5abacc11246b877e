/** Loads the images of conversations of library users. */
import { type ImageSource, imageSources } from '../images/image-sources.js';
import { type LoadImagesOptions, loadImages } from '../images/load-images.js';
import type { ChatMessage, ChatPart, ChatTextPart } from './engine-types.js';
import type { ImageInput } from './job.js';

/** The bytes of a PNG, JPEG, WebP, BMP or GIF file (first frame), or pixels. */
export interface GenerateImagePart {
  type: 'image';
  image: Uint8Array | ImageInput;
}

/** An http(s) URL or data URI, as in a request. */
export interface GenerateImageUrlPart {
  type: 'image_url';
  image_url: { url: string; detail?: 'auto' | 'low' | 'high' | null };
}

export type GeneratePart = ChatTextPart | GenerateImagePart | GenerateImageUrlPart;

export interface GenerateMessage extends Omit<ChatMessage, 'content'> {
  content: string | readonly GeneratePart[];
}

export function hasImages(messages: readonly GenerateMessage[]): boolean {
  return messages.some(({ content }) => typeof content !== 'string' && content.some(({ type }) => type !== 'text'));
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
    ...message,
    content: typeof content === 'string' ? content : content.map(toChatPart),
  }));
}

function toSource(part: GeneratePart, path: string): ImageSource | null {
  if (part.type === 'image_url') return { from: part.image_url.url, param: `${path}.image_url.url` };
  if (part.type === 'text' || pixelsOf(part)) return null;
  const { image } = part as { image: Uint8Array | { bytes: Uint8Array } };
  return { from: 'bytes' in image ? image.bytes : image, param: `${path}.image` };
}

function pixelsOf(part: GeneratePart): ImageInput | null {
  return part.type === 'image' && 'rgb' in part.image ? part.image : null;
}
