/** Prompts in the form of objects: a text, with images or without. */
import { ChasquiError } from '../../errors.js';
import type { MixedInputs } from '../shared/text/text-schema.js';
import type { PromptField, PromptObject } from './schema.js';

export function isObject(item: PromptField): item is PromptObject {
  return typeof item === 'object' && !Array.isArray(item);
}

/** The texts and tokens of a field whose images are refused. */
export function withoutMedia(field: Exclude<PromptField, number>, name: string): MixedInputs {
  const items: readonly PromptField[] = Array.isArray(field) ? field : [field];
  const at = items.findIndex(hasMedia);
  if (at >= 0) {
    const param = `${Array.isArray(field) ? `${name}[${at}]` : name}.multimodal_data`;
    throw new ChasquiError(
      'image_not_supported',
      `\`${param}\`: this server computes embeddings of texts only.`,
      param,
    );
  }
  return (Array.isArray(field) ? field.map(toText) : toText(field)) as MixedInputs;
}

export function hasMedia(item: PromptField): boolean {
  return isObject(item) && (item.multimodal_data?.length ?? 0) > 0;
}

export function toText(item: PromptField): PromptField {
  return isObject(item) ? item.prompt_string : item;
}
