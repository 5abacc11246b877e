/** The chat template that `loadModel` sets, and the defaults of its renderings. */
import { readFileSync, statSync } from 'node:fs';
import { ChasquiError, invalidOptions } from '../errors.js';
import type { RenderOptions } from './engine-types.js';
import type { LoadOptions } from './load-options.js';

/** Real templates have up to 100 KiB. */
const MAX_TEMPLATE_BYTES = 2 ** 20;

/**
 * Returns the template; empty for the model's own.
 * @throws {ChasquiError} `invalid_options`
 */
export function templateOf({ chatTemplate, chatTemplateFile }: LoadOptions): string {
  if (chatTemplateFile === undefined) return chatTemplate ?? '';
  if (chatTemplate !== undefined) {
    throw refused('`chatTemplate` and `chatTemplateFile` exclude each other: set only one of them.');
  }
  try {
    const { size } = statSync(chatTemplateFile);
    if (size === 0 || size > MAX_TEMPLATE_BYTES) {
      throw refused(`\`chatTemplateFile\` has ${size} bytes, but must have from 1 to ${MAX_TEMPLATE_BYTES}.`);
    }
    return readFileSync(chatTemplateFile, 'utf8');
  } catch (error) {
    if (error instanceof ChasquiError) throw error;
    throw refused(`\`chatTemplateFile\` cannot be read: ${(error as Error).message}.`);
  }
}

export type RenderDefaults = Pick<RenderOptions, 'templateKwargs' | 'specialTokens'>;

/**
 * Returns the options of renderings that set none.
 * @throws {ChasquiError} `invalid_options`
 */
export function renderDefaults({
  chatTemplateKwargs,
  reasoning,
  specialTokensInMessages,
}: LoadOptions): RenderDefaults {
  const chosen = reasoning === 'on' || reasoning === 'off' ? { enable_thinking: reasoning === 'on' } : {};
  const templateKwargs = { ...(chatTemplateKwargs !== undefined && readVariables(chatTemplateKwargs)), ...chosen };
  return { templateKwargs, ...(specialTokensInMessages && { specialTokens: true }) };
}

function readVariables(json: string): Record<string, unknown> {
  let variables: unknown;
  try {
    variables = JSON.parse(json);
  } catch (error) {
    throw refused(`\`chatTemplateKwargs\` is not valid JSON: ${(error as Error).message}.`);
  }
  if (typeof variables === 'object' && variables !== null && !Array.isArray(variables)) {
    return variables as Record<string, unknown>;
  }
  throw refused('`chatTemplateKwargs` must be a JSON object, such as {"enable_thinking": false}.');
}

function refused(message: string): ChasquiError {
  return invalidOptions(message);
}
