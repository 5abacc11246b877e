import type { Engine, RenderedPrompt, SubmitOptions, TokenStream } from '../../../engine/engine.js';
import type { Profile } from '../../../profiles/profile.js';
import { submitChoices } from '../completion/choices.js';
import type { ChatCompletionRequest } from './chat-schema.js';
import { toAdapterUses } from './to-adapters.js';
import { toJob } from './to-job.js';

/** Submits a job for each choice of a chat body. Does not throw for a bad prompt: the streams reject instead. */
export function startCompletion(
  engine: Engine,
  profile: Profile,
  body: ChatCompletionRequest,
  rendered: RenderedPrompt,
  options: Pick<SubmitOptions, 'signal' | 'whole'>,
): TokenStream[] {
  const adapters = body.lora === undefined ? null : toAdapterUses(body.lora, engine.model, 'lora');
  return submitChoices(engine, { ...toJob(body, rendered, profile, engine.model), adapters }, body.n ?? 1, options);
}
