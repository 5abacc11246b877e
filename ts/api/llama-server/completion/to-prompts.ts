/** Converts a prompt, in any form that llama-server accepts, to texts or lists of tokens. */
import type { AbortOptions, Engine } from '../../../engine/engine.js';
import { MAX_CHOICES } from '../../shared/chat/chat-schema.js';
import { toInputs, tokenizeMixed } from '../../shared/text/to-inputs.js';
import { hasMedia, type MediaPrompts, toMediaPrompts, toMixedInputs } from '../prompt-objects.js';
import type { NativeCompletionRequest } from '../schema.js';

export interface Prompts extends Omit<MediaPrompts, 'prompts'> {
  /** Of one kind: texts, or the tokens of each prompt. */
  prompts: string[] | number[][];
}

export async function toPrompts(
  engine: Engine,
  field: NativeCompletionRequest['prompt'],
  on: AbortOptions,
): Promise<Prompts> {
  if (hasMedia(field)) return toMediaPrompts(engine.model, field, 'prompt', on);
  const { inputs } = toInputs(await tokenizeMixed(engine, toMixedInputs(field), 'prompt', on), 'prompt', MAX_CHOICES);
  if (inputs.every((prompt) => typeof prompt === 'string')) return { prompts: inputs as string[], images: [] };
  const special = { addSpecial: true, parseSpecial: true, ...on };
  const tokens = inputs.map(async (prompt) =>
    Array.from(typeof prompt === 'string' ? await engine.tokenize(prompt, special) : prompt),
  );
  return { prompts: await Promise.all(tokens), images: [] };
}
