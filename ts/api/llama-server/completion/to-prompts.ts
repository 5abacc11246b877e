/** The prompt of a request, in any of the forms that llama-server takes → texts, or lists of tokens. */
import { checkTokens } from '../../../engine/check-tokens.js';
import type { AbortOptions, Engine, TextInput } from '../../../engine/engine.js';
import { ChasquiError } from '../../../errors.js';
import { MAX_CHOICES } from '../../shared/chat/chat-schema.js';
import type { NativeCompletionRequest, PromptObject, PromptPart } from '../schema.js';

/** Each is tokenized by itself. */
const MAX_TEXTS = 1024;

type Item = PromptPart | PromptObject | PromptPart[];

/** A list of one kind: texts, or the tokens of each prompt. */
export async function toPrompts(
  engine: Engine,
  field: NativeCompletionRequest['prompt'],
  on: AbortOptions,
): Promise<string[] | number[][]> {
  const items = split(field);
  if (items.length > MAX_CHOICES) throw tooMany('prompt', `${MAX_CHOICES} prompts`);
  const isList = items === field;
  const prompts = await Promise.all(
    items.map((item, index) => toPrompt(engine, item, isList ? `prompt[${index}]` : 'prompt', on)),
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

async function toPrompt(engine: Engine, item: Item, name: string, on: AbortOptions): Promise<TextInput> {
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
  if (tokens.length === item.length) return tokens;
  if (item.length - tokens.length > MAX_TEXTS) throw tooMany(name, `${MAX_TEXTS} texts among its tokens`);
  const parts: number[][] = [];
  for (const [at, part] of item.entries()) {
    parts.push(typeof part === 'number' ? [part] : await tokenize(engine, part, at === 0, on));
  }
  return parts.flat();
}

function tooMany(name: string, limit: string): ChasquiError {
  return new ChasquiError('invalid_value', `\`${name}\` must have at most ${limit}.`, name);
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

async function tokenize(engine: Engine, text: string, addSpecial: boolean, on: AbortOptions): Promise<number[]> {
  return Array.from(await engine.tokenize(text, { addSpecial, parseSpecial: true, ...on }));
}
