/** The pictures of a request's messages: found, loaded, and named where one of them is at fault. */
import { ChasquiError } from '../errors.js';
import { type ImageSource, imageSources } from '../images/image-sources.js';
import { type LoadedImage, type LoadImagesOptions, loadImages } from '../images/load-images.js';
import type { ContentPart, Message } from '../schemas/message.js';

/** Of all image parts, in order. Rejects as `loadImages` does; `param` is the part's path. */
export async function loadMessageImages(
  messages: readonly Message[],
  options: LoadImagesOptions,
): Promise<readonly LoadedImage[]> {
  const sources = sourcesIn(messages);
  return sources.length === 0 ? [] : loadImages(sources, options);
}

/** The engine knows a picture by its number; the caller knows it by its place in the messages. */
export function nameImageAtFault(thrown: unknown, messages: readonly Message[]): unknown {
  if (!(thrown instanceof ChasquiError) || thrown.imageIndex === undefined) return thrown;
  const param = sourcesIn(messages)[thrown.imageIndex]?.param;
  if (param === undefined) return thrown;
  return thrown.retold(`\`${param}\`: ${thrown.message}`, param);
}

function sourcesIn(messages: readonly Message[]): ImageSource[] {
  return imageSources(messages, (part: ContentPart, path) =>
    part.type === 'image_url' ? { from: part.image_url.url, param: `${path}.image_url.url` } : null,
  );
}
