/** The pictures of a request's messages: found, loaded, and named where one of them is at fault. */
import { ChasquiError } from '../errors.js';
import { type ImageSource, type LoadedImage, type LoadImagesOptions, loadImages } from '../images/load-images.js';
import type { Message } from '../schemas/message.js';

/** Of all image parts, in order. Rejects as `loadImages` does; `param` is the part's path. */
export async function loadMessageImages(
  messages: readonly Message[],
  options: LoadImagesOptions,
): Promise<readonly LoadedImage[]> {
  const sources = imageSources(messages);
  return sources.length === 0 ? [] : loadImages(sources, options);
}

/** The engine knows a picture by its number; the caller knows it by its place in the messages. */
export function nameImageAtFault(thrown: unknown, messages: readonly Message[]): unknown {
  if (!(thrown instanceof ChasquiError) || thrown.imageIndex === undefined) return thrown;
  const param = imageSources(messages)[thrown.imageIndex]?.param;
  if (param === undefined) return thrown;
  return new ChasquiError(thrown.code, `\`${param}\`: ${thrown.message}`, param, { cause: thrown });
}

function imageSources(messages: readonly Message[]): ImageSource[] {
  const sources: ImageSource[] = [];
  messages.forEach(({ content }, message) => {
    if (!Array.isArray(content)) return;
    content.forEach((part, index) => {
      if (part.type !== 'image_url') return;
      sources.push({ from: part.image_url.url, param: `messages[${message}].content[${index}].image_url.url` });
    });
  });
  return sources;
}
