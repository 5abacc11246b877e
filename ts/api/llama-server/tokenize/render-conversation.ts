/** A conversation as its template writes it: with the beginning of the completion that is to follow, or without. */
import type { Engine, RenderOptions } from '../../../engine/engine.js';
import { readablePrompt } from '../../../engine/readable-prompt.js';
import { unsupportedParameter } from '../../../errors.js';
import type { LoadImagesOptions } from '../../../images/load-images.js';
import type { ChatCompletionRequest } from '../../shared/chat/chat-schema.js';
import { renderBody, renderMessages } from '../../shared/chat/render-chat.js';
import { toRenderOptions } from '../../shared/chat/render-options.js';

const FIELD = 'add_generation_prompt';

export async function renderConversation(
  engine: Engine,
  body: ChatCompletionRequest,
  loading: LoadImagesOptions,
): Promise<string> {
  // A conversation that ends with an assistant message has no generation prompt.
  if (body[FIELD] !== false || body.messages.at(-1)?.role === 'assistant') {
    return readablePrompt((await renderBody(engine, body, loading)).prompt);
  }
  const { [FIELD]: _, ...whole } = body;
  const prompt = readablePrompt((await renderBody(engine, whole, loading)).prompt);
  const end = await generationPrompt(engine, whole, loading);
  if (end !== '' && prompt.endsWith(end)) return prompt.slice(0, -end.length);
  throw unsupportedParameter(
    `\`${FIELD}\` cannot be false here: the template of \`${engine.model.id}\` does not mark the beginning of a completion.`,
    FIELD,
  );
}

/** The end of every prompt. The grammar of a call begins with it, because its template may have begun the call there. */
async function generationPrompt(
  engine: Engine,
  body: ChatCompletionRequest,
  loading: LoadImagesOptions,
): Promise<string> {
  const { templateKwargs = {} } = toRenderOptions(body, engine.model);
  const call: RenderOptions = { tools: [{ name: 'any' }], toolChoice: 'required', templateKwargs };
  const options = engine.model.takesTools ? call : { jsonSchema: { type: 'object' }, templateKwargs };
  const { grammar } = await renderMessages(engine, [{ role: 'user', content: '' }], [], options, loading);
  return grammar?.prefill ?? '';
}
