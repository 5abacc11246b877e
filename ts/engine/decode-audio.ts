/** Decodes the audio of a prompt, in the preparation process: a hostile file can end that process alone. */
import { ChasquiError } from '../errors.js';
import { MAX_AUDIO_SECONDS } from '../images/limits.js';
import type { NativeImage } from '../native/addon.js';
import type { Caller } from './calls.js';
import { withCatalogueCode } from './engine-errors.js';
import type { AbortOptions } from './engine-types.js';
import type { ImageInput } from './job.js';

/** Errors in a file have its `imageIndex`. Images are returned unchanged. */
export async function decodeAudio(
  caller: Caller,
  images: readonly ImageInput[],
  sampleRate: number,
  on: AbortOptions,
): Promise<NativeImage[]> {
  let left = MAX_AUDIO_SECONDS * sampleRate;
  const decoded: NativeImage[] = [];
  for (const [imageIndex, image] of images.entries()) {
    if (!('audio' in image)) {
      decoded.push(image);
      continue;
    }
    try {
      const samples = await caller.call('decodeAudio', [image.audio, sampleRate, left], on);
      left -= samples.length;
      decoded.push({ samples });
    } catch (thrown) {
      const error = withCatalogueCode(thrown);
      const isOfFile = error instanceof ChasquiError && /audio/.test(error.code);
      throw isOfFile ? Object.assign(error, { imageIndex }) : error;
    }
  }
  return decoded;
}
