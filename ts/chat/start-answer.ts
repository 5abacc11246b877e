/** A valid chat body → its prompt → the jobs that answer it. */
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

/** One stream for each choice, and what takes it apart where answers are more than their text. */
export interface StartedAnswer {
  streams: TokenStream[];
  parsers: ReplyParser[] | undefined;
}

/** Rejects with what is wrong with the body, before any picture is loaded if that can be told. */
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

/** What is wrong with the prompt, the streams tell. */
export function startAnswer(
  engine: Engine,
  profile: Profile,
  body: ChatCompletionRequest,
  rendered: RenderedPrompt,
  signal: AbortSignal,
): StartedAnswer {
  const n = body.n ?? 1;
  // Before there are jobs, which a failure here would leave running.
  const parsers = openParsers(engine, rendered, n);
  return { streams: submitChoices(engine, toJob(body, rendered, profile), n, signal), parsers };
}
