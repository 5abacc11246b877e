/** Checks the arguments of library calls that take texts and prompts. */
import { invalidValue } from '../errors.js';
import type { EmbedInput, ImagePrompt } from './engine-types.js';

/** @throws {ChasquiError} `invalid_value`, naming the argument */
export function toImagePrompt(given: unknown): ImagePrompt {
  if (typeof given === 'string') return { prompt: given, images: [] };
  const prompt = typeof given === 'object' ? { images: [], ...given } : given;
  if (isImagePrompt(prompt)) return prompt;
  throw invalidValue('`prompt` must be a text, or an object with a text as `prompt` and a list `images`.', 'prompt');
}

/** @throws {ChasquiError} `invalid_value`, naming the argument or one of its elements */
export function toEmbedInputs(given: unknown): readonly EmbedInput[] {
  if (typeof given === 'string') return [given];
  if (!Array.isArray(given)) throw invalidValue('`input` must be a text or a list of inputs.', 'input');
  const index = given.findIndex((input) => typeof input !== 'string' && !isTokens(input) && !isImagePrompt(input));
  if (index < 0) return given;
  const param = `input[${index}]`;
  throw invalidValue(
    `\`${param}\` must be a text, a list of tokens, or an object with \`prompt\` and \`images\`.`,
    param,
  );
}

function isTokens(given: unknown): given is readonly number[] | Int32Array {
  return given instanceof Int32Array || (Array.isArray(given) && given.every(Number.isInteger));
}

function isImagePrompt(given: unknown): given is ImagePrompt {
  if (typeof given !== 'object' || given === null) return false;
  const { prompt, images } = given as Partial<Record<string, unknown>>;
  return typeof prompt === 'string' && Array.isArray(images);
}
