/** Prompts and conversations as a caller of the library writes them → tokens. */
import type { ImageHosts } from '../images/public-address.js';
import type { Engine, OnBehalf, TokenStream } from './engine.js';
import { completeJob, type GenerateOptions, NEUTRAL_SAMPLING } from './job.js';
import { type GenerateMessage, hasImages, loadChatImages } from './load-chat-images.js';
import { RelayedStream } from './relayed-stream.js';
import { takesTextOnly } from './takes-text-only.js';

/** A conversation or a prompt, and how to go on from it. */
export type GenerateRequest =
  | GenerateOptions
  | (Omit<GenerateOptions, 'prompt' | 'images'> & { messages: readonly GenerateMessage[] });

/**
 * Generates from `prompt` (as it is) or from `messages` (through the model's chat template), whose images are fetched from
 * `hosts`. The stream rejects with a `ChasquiError`, or with the signal's reason.
 */
export function generate(
  engine: Engine,
  request: GenerateRequest,
  options: OnBehalf,
  hosts: ImageHosts = 'public',
): TokenStream {
  const defaults = { ...NEUTRAL_SAMPLING, ...engine.model.sampling };
  if ('prompt' in request) return engine.submit(completeJob(request, defaults), options);
  const { messages, ...rest } = request;
  return new RelayedStream(async (failure) => {
    if (failure !== undefined) throw failure;
    options.signal?.throwIfAborted();
    if (hasImages(messages) && !engine.model.vision) throw takesTextOnly(engine.model.id);
    const loaded = await loadChatImages(messages, { hosts, ...options });
    const rendered = await engine.render(loaded, {}, options);
    const stop = [...(rest.stop ?? []), ...rendered.additionalStops];
    const { prompt, images, reasoning } = rendered;
    const complete = { ...rest, prompt, images, reasoning, stop };
    return engine.submit(completeJob(complete, defaults), options);
  });
}
