/** Generates from the prompts and conversations of library users. */
import type { ImageHosts } from '../images/public-address.js';
import { NEUTRAL_SAMPLING } from '../options/sampling-table.js';
import type { Engine } from './engine.js';
import { takesTextOnly } from './engine-errors.js';
import type { AbortOptions, TokenStream } from './engine-types.js';
import { completeJob, type GenerateOptions, type Job } from './job.js';
import { type GenerateMessage, hasImages, loadChatImages } from './load-chat-images.js';

export type GenerateRequest =
  | GenerateOptions
  | (Omit<GenerateOptions, 'prompt' | 'images'> & { messages: readonly GenerateMessage[] });

/**
 * Generates from `prompt`, used verbatim, or from `messages` through the model's chat template. Images are fetched from
 * `hosts`. The stream rejects with a `ChasquiError`, or with the signal's reason.
 */
export function generate(
  engine: Engine,
  request: GenerateRequest,
  options: AbortOptions,
  hosts: ImageHosts = 'public',
): TokenStream {
  const defaults = { ...NEUTRAL_SAMPLING, ...engine.model.sampling };
  if ('prompt' in request) return engine.submit(completeJob(request, defaults), options);
  const { messages, ...rest } = request;
  const toJob = async (): Promise<Job> => {
    options.signal?.throwIfAborted();
    if (hasImages(messages) && !engine.model.vision) throw takesTextOnly(engine.model.id);
    const loaded = await loadChatImages(messages, { hosts, ...options });
    const { prompt, images, reasoning, additionalStops } = await engine.render(loaded, {}, options);
    return completeJob({ ...rest, prompt, images, reasoning, formatStops: additionalStops }, defaults);
  };
  return engine.submit(toJob(), options);
}
