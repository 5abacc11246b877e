/** A valid chat body → its prompt → one running job for each choice. */
import type { Engine, RenderedPrompt, SubmitOptions, TokenStream } from '../../../engine/engine.js';
import type { LoadImagesOptions } from '../../../images/load-images.js';
import type { Profile } from '../../../profiles/profile.js';
import { submitChoices } from '../completion/choices.js';
import type { ChatCompletionRequest } from './chat-schema.js';
import { loadMessageImages } from './message-images.js';
import { refuseUnsupported } from './refuse-unsupported.js';
import { toRenderOptions } from './render-options.js';
import { refuseImages, renderPrompt } from './render-prompt.js';
import { toAdapters } from './to-adapters.js';
import { toJob } from './to-job.js';

/** Rejects with what is wrong with the body; whatever can be told without loading its images is told before that. */
export async function renderBody(
  engine: Engine,
  body: ChatCompletionRequest,
  loading: LoadImagesOptions,
): Promise<RenderedPrompt> {
  refuseUnsupported(body, engine.model);
  const options = toRenderOptions(body, engine.model);
  refuseImages(engine.model, body.messages);
  const images = await loadMessageImages(body.messages, loading);
  return renderPrompt(engine, body.messages, images, options, loading);
}

/** One stream for each choice. This function does not throw for a bad prompt, for which the streams reject instead. */
export function startCompletion(
  engine: Engine,
  profile: Profile,
  body: ChatCompletionRequest,
  rendered: RenderedPrompt,
  options: Pick<SubmitOptions, 'signal' | 'whole'>,
): TokenStream[] {
  const adapters = toAdapters(body.lora, engine.model);
  return submitChoices(engine, { ...toJob(body, rendered, profile, engine.model), adapters }, body.n ?? 1, options);
}
