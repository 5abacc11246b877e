/** The prompt of a request, in any of the forms that llama-server takes → texts, or lists of tokens. */
import { checkTokens } from '../engine/check-tokens.js';
import type { Engine, OnBehalf, TextInput } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';
import type { NativeCompletionRequest, PromptObject, PromptPart } from '../schemas/llamaserver-request.js';

type Item = PromptPart | PromptObject | PromptPart[];

/** A list of one kind: texts, or the tokens of each prompt. */
export async function toPrompts(
  engine: Engine,
  field: NativeCompletionRequest['prompt'],
  on: OnBehalf,
): Promise<string[] | number[][]> {
  const prompts = await Promise.all(
    split(field).map((item, index) => toPrompt(engine, item, nameOf(field, index), on)),
  );
  if (prompts.every((prompt) => typeof prompt === 'string')) return prompts as string[];
  return Promise.all(
    prompts.map(async (prompt) => (typeof prompt === 'string' ? tokenize(engine, prompt, true, on) : [...prompt])),
  );
}

/** A list of tokens, or of tokens and texts, is one prompt; any other list has a prompt in each of its items. */
function split(field: NativeCompletionRequest['prompt']): readonly Item[] {
  if (!Array.isArray(field)) return [field];
  const isOne = field.some((item) => typeof item === 'number') && field.every(isPart);
  return isOne ? [field as PromptPart[]] : field;
}

function isPart(item: Item): item is PromptPart {
  return typeof item === 'number' || typeof item === 'string';
}

function nameOf(field: NativeCompletionRequest['prompt'], index: number): string {
  return Array.isArray(field) && split(field) === field ? `prompt[${index}]` : 'prompt';
}

async function toPrompt(engine: Engine, item: Item, name: string, on: OnBehalf): Promise<TextInput> {
  if (typeof item === 'string') return item;
  if (typeof item === 'number') {
    throw new ChasquiError('invalid_type', `\`${name}\` is a token beside lists: put it into a list of its own.`, name);
  }
  if (!Array.isArray(item)) {
    refuseMedia(item, name);
    return item.prompt_string;
  }
  const tokens = item.filter((part): part is number => typeof part === 'number');
  checkTokens(tokens, name, engine.model.vocabularySize);
  const parts = item.map(async (part, at) =>
    typeof part === 'number' ? [part] : tokenize(engine, part, at === 0, on),
  );
  return (await Promise.all(parts)).flat();
}

/** A message of a chat may show images; a text cannot, because what stands for them in it is a secret of the model. */
function refuseMedia({ multimodal_data: media }: PromptObject, name: string): void {
  const isEmpty = media === undefined || media === null || (Array.isArray(media) && media.length === 0);
  if (isEmpty) return;
  throw new ChasquiError(
    'unsupported_parameter',
    `\`${name}.multimodal_data\` is not supported: send images in the messages of \`/v1/chat/completions\`.`,
    `${name}.multimodal_data`,
  );
}

async function tokenize(engine: Engine, text: string, addSpecial: boolean, on: OnBehalf): Promise<number[]> {
  return Array.from(await engine.tokenize(text, { addSpecial, parseSpecial: true, ...on }));
}
