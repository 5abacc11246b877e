/** A valid chat body → its prompt → one running job for each choice. */
import type { Engine, RenderedPrompt, ReplyParser, TokenStream } from '../engine/engine.js';
import type { LoadImagesOptions } from '../images/load-images.js';
import type { Profile } from '../profiles/profile.js';
import type { ChatCompletionRequest } from '../schemas/chat-completion.js';
import { openParsers, submitChoices } from './choices.js';
import { loadMessageImages } from './message-images.js';
import { refuseUnsupported } from './refuse-unsupported.js';
import { toRenderOptions } from './render-options.js';
import { refuseImages, renderPrompt } from './render-prompt.js';
import { toJob } from './to-job.js';

/** One stream for each choice, and a parser for each where completions have a format. */
export interface StartedCompletion {
  streams: TokenStream[];
  parsers: ReplyParser[] | undefined;
}

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

/** This function does not throw for a bad prompt; the streams reject instead. */
export function startCompletion(
  engine: Engine,
  profile: Profile,
  body: ChatCompletionRequest,
  rendered: RenderedPrompt,
  signal: AbortSignal,
): StartedCompletion {
  const n = body.n ?? 1;
  // Parsers are opened before jobs are submitted, because a failure here would leave the jobs running.
  const parsers = openParsers(engine, rendered, n);
  return { streams: submitChoices(engine, toJob(body, rendered, profile), n, signal), parsers };
}
