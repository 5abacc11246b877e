/** Prompts in the form of objects: a text, with images or without. */
import type { AbortOptions, ModelInfo } from '../../engine/engine.js';
import type { ImageInput } from '../../engine/job.js';
import { type ChasquiError, invalidValue } from '../../errors.js';
import { loadImages } from '../../images/load-images.js';
import { MAX_CHOICES } from '../shared/chat/chat-schema.js';
import { refuseSources } from '../shared/chat/render-chat.js';
import type { MixedInputs } from '../shared/text/text-schema.js';
import { MEDIA_MARKER, type PromptField, type PromptObject } from './schema.js';

type Inputs = Exclude<PromptField, number>;

export interface MediaPrompts {
  prompts: string[];
  /** The images of each prompt; empty if no prompt has any. */
  images: readonly (readonly ImageInput[])[];
}

function isObject(item: PromptField): item is PromptObject {
  return typeof item === 'object' && !Array.isArray(item);
}

export function hasMedia(field: Inputs): boolean {
  return itemsOf(field).some((item) => isObject(item) && (item.multimodal_data?.length ?? 0) > 0);
}

function itemsOf(field: Inputs): readonly PromptField[] {
  return Array.isArray(field) ? field : [field];
}

/** For a field without images. */
export function toMixedInputs(field: Inputs): MixedInputs {
  return (Array.isArray(field) ? field.map(toText) : toText(field)) as MixedInputs;
}

function toText(item: PromptField): PromptField {
  return isObject(item) ? item.prompt_string : item;
}

/** Texts, some with images. The marker of the engine is secret, so other texts cannot contain it. */
export async function toMediaPrompts(
  model: ModelInfo,
  field: Inputs,
  name: string,
  { signal }: AbortOptions,
): Promise<MediaPrompts> {
  const items = itemsOf(field);
  const nameOf = (index: number): string => (Array.isArray(field) ? `${name}[${index}]` : name);
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
  if (prompts.length > MAX_CHOICES) throw refused(name, `must have at most ${MAX_CHOICES} items`);
  const loaded = (await loadImages(sources, { signal, hosts: 'public' })).values();
  return { prompts, images: files.map((data) => data.map(() => loaded.next().value as ImageInput)) };
}

function refused(param: string, what: string): ChasquiError {
  return invalidValue(`\`${param}\` ${what}.`, param);
}
