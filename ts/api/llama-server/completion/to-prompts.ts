/** The prompt of a request, in any of the forms that llama-server takes → texts, or lists of tokens. */
import type { AbortOptions, Engine } from '../../../engine/engine.js';
import { ChasquiError } from '../../../errors.js';
import { MAX_CHOICES } from '../../shared/chat/chat-schema.js';
import type { MixedInputs } from '../../shared/text/text-schema.js';
import { toInputs, tokenizeMixed } from '../../shared/text/to-inputs.js';
import type { NativeCompletionRequest, PromptField, PromptObject } from '../schema.js';

/** A list of one kind: texts, or the tokens of each prompt. */
export async function toPrompts(
  engine: Engine,
  field: NativeCompletionRequest['prompt'],
  on: AbortOptions,
): Promise<string[] | number[][]> {
  const mixed = Array.isArray(field)
    ? field.map((item, index) => toText(item, `prompt[${index}]`))
    : toText(field, 'prompt');
  const { inputs } = toInputs(await tokenizeMixed(engine, mixed as MixedInputs, 'prompt', on), 'prompt', MAX_CHOICES);
  if (inputs.every((prompt) => typeof prompt === 'string')) return inputs as string[];
  const special = { addSpecial: true, parseSpecial: true, ...on };
  return Promise.all(
    inputs.map(async (prompt) =>
      Array.from(typeof prompt === 'string' ? await engine.tokenize(prompt, special) : prompt),
    ),
  );
}

function toText(item: PromptField, name: string): PromptField {
  if (typeof item !== 'object' || Array.isArray(item)) return item;
  refuseMedia(item, name);
  return item.prompt_string;
}

/** Only chat messages may contain images: the image marker of a text prompt is not public. */
function refuseMedia({ multimodal_data: media }: PromptObject, name: string): void {
  const isEmpty = media === undefined || media === null || (Array.isArray(media) && media.length === 0);
  if (isEmpty) return;
  throw new ChasquiError(
    'unsupported_parameter',
    `\`${name}.multimodal_data\` is not supported: send images in the messages of \`/v1/chat/completions\`.`,
    `${name}.multimodal_data`,
  );
}
