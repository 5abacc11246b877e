/** The images of a request's messages: they are found, loaded, and named in errors. */
import { ChasquiError } from '../../../errors.js';
import { type ImageSource, imageSources } from '../../../images/image-sources.js';
import { type LoadedImage, type LoadImagesOptions, loadImages } from '../../../images/load-images.js';
import type { Message, MessagePart } from './message-schema.js';

/** Loads the images of all image parts, in order. Rejects as `loadImages` does; `param` is the part's path. */
export async function loadMessageImages(
  messages: readonly Message[],
  options: LoadImagesOptions,
): Promise<readonly LoadedImage[]> {
  const sources = sourcesIn(messages);
  return sources.length === 0 ? [] : loadImages(sources, options);
}

/** The engine names an image by its number; this names it by its place in the messages, as the caller knows it. */
export function nameFailedImage(thrown: unknown, messages: readonly Message[]): unknown {
  if (!(thrown instanceof ChasquiError) || thrown.imageIndex === undefined) return thrown;
  const param = sourcesIn(messages)[thrown.imageIndex]?.param;
  if (param === undefined) return thrown;
  return thrown.withMessage(`\`${param}\`: ${thrown.message}`, param);
}

function sourcesIn(messages: readonly Message[]): ImageSource[] {
  return imageSources<MessagePart>(messages, (part, path) =>
    part.type === 'image_url' ? { from: part.image_url.url, param: `${path}.image_url.url` } : null,
  );
}
