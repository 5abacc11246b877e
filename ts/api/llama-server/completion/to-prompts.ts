/** The prompt of a request, in any of the forms that llama-server takes → texts, or lists of tokens. */
import type { AbortOptions, Engine, ModelInfo } from '../../../engine/engine.js';
import type { ImageInput } from '../../../engine/job.js';
import { type ChasquiError, invalidValue } from '../../../errors.js';
import { loadImages } from '../../../images/load-images.js';
import { MAX_CHOICES } from '../../shared/chat/chat-schema.js';
import { refuseSources } from '../../shared/chat/render-chat.js';
import type { MixedInputs } from '../../shared/text/text-schema.js';
import { toInputs, tokenizeMixed } from '../../shared/text/to-inputs.js';
import { hasMedia, isObject, toText } from '../prompt-objects.js';
import { MEDIA_MARKER, type NativeCompletionRequest, type PromptField } from '../schema.js';

export interface Prompts {
  /** Of one kind: texts, or the tokens of each prompt. */
  prompts: string[] | number[][];
  /** The images of each prompt; empty if no prompt has any. */
  images: readonly (readonly ImageInput[])[];
}

export async function toPrompts(
  engine: Engine,
  field: NativeCompletionRequest['prompt'],
  on: AbortOptions,
): Promise<Prompts> {
  const items: readonly PromptField[] = Array.isArray(field) ? field : [field];
  const nameOf = (index: number): string => (Array.isArray(field) ? `prompt[${index}]` : 'prompt');
  if (items.some(hasMedia)) return toMediaPrompts(engine.model, items, nameOf, on);
  const mixed = Array.isArray(field) ? field.map(toText) : toText(field);
  const { inputs } = toInputs(await tokenizeMixed(engine, mixed as MixedInputs, 'prompt', on), 'prompt', MAX_CHOICES);
  if (inputs.every((prompt) => typeof prompt === 'string')) return { prompts: inputs as string[], images: [] };
  const special = { addSpecial: true, parseSpecial: true, ...on };
  const tokens = inputs.map(async (prompt) =>
    Array.from(typeof prompt === 'string' ? await engine.tokenize(prompt, special) : prompt),
  );
  return { prompts: await Promise.all(tokens), images: [] };
}

/** Texts, some with images. The marker of the engine is secret, so other texts cannot contain it. */
async function toMediaPrompts(
  model: ModelInfo,
  items: readonly PromptField[],
  nameOf: (index: number) => string,
  { signal }: AbortOptions,
): Promise<Prompts> {
  const files = items.map((item) => (isObject(item) ? (item.multimodal_data ?? []) : []));
  const sources = files.flatMap((data, index) =>
    data.map((file, at) => ({
      from: /^data:/i.test(file) ? file : `data:;base64,${file}`,
      param: `${nameOf(index)}.multimodal_data[${at}]`,
    })),
  );
  refuseSources(model, sources);
  const prompts = items.map((item, index) => {
    const text = toText(item);
    const count = files[index]?.length ?? 0;
    if (typeof text !== 'string') throw refused(nameOf(index), 'must be a text, because another prompt has images');
    if (count === 0) return text;
    const parts = text.split(MEDIA_MARKER);
    if (parts.length === count + 1) return parts.join(model.imageMarker ?? '');
    throw refused(`${nameOf(index)}.prompt_string`, `must have \`${MEDIA_MARKER}\` once for each of ${count} images`);
  });
  if (prompts.length > MAX_CHOICES) throw refused('prompt', `must have at most ${MAX_CHOICES} items`);
  const loaded = (await loadImages(sources, { signal, hosts: 'public' })).values();
  return { prompts, images: files.map((data) => data.map(() => loaded.next().value as ImageInput)) };
}

function refused(param: string, what: string): ChasquiError {
  return invalidValue(`\`${param}\` ${what}.`, param);
}
