/** The options about a model's chat template: another template, and what its variables are unless a request sets them. */
import { readFileSync, statSync } from 'node:fs';
import { ChasquiError } from '../errors.js';
import type { OptionRows, OptionsOf } from './option-row.js';

/** Templates have a hundred KiB at most. */
const MAX_TEMPLATE_BYTES = 2 ** 20;

const GROUP = 'Model';

export const TEMPLATE_OPTIONS = {
  chatTemplate: {
    type: 'string',
    excludes: ['chatTemplateFile'],
    flag: '--chat-template',
    placeholder: 'jinja',
    group: GROUP,
    help: "a Jinja template for chats, as text, or one of llama.cpp's names, such as chatml, llama3, gemma or mistral-v7",
    otherwise: "the model's own",
  },
  chatTemplateFile: {
    type: 'path',
    excludes: ['chatTemplate'],
    flag: '--chat-template-file',
    group: GROUP,
    help: 'a file with that template',
    otherwise: "the model's own",
  },
  chatTemplateKwargs: {
    type: 'string',
    flag: '--chat-template-kwargs',
    placeholder: 'json',
    group: GROUP,
    help: 'variables of the template, a JSON object; those of a request go before them',
    otherwise: 'none',
  },
  reasoning: {
    type: 'choice',
    choices: ['auto', 'on', 'off'],
    default: 'auto',
    flag: '--reasoning',
    aliases: ['-rea'],
    placeholder: 'whether',
    group: GROUP,
    help: 'whether the model reasons before it answers, where its template lets that be chosen; requests go before it',
  },
} as const satisfies OptionRows;

type TemplateOptions = OptionsOf<typeof TEMPLATE_OPTIONS>;

/**
 * Empty: the model's own.
 * @throws {ChasquiError} `invalid_options`
 */
export function templateOf({ chatTemplate, chatTemplateFile }: TemplateOptions): string {
  if (chatTemplateFile === undefined) return chatTemplate ?? '';
  if (chatTemplate !== undefined) {
    throw refused('`chatTemplate` and `chatTemplateFile` exclude each other: leave out one of them.');
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

/**
 * What the template's variables are unless a request sets them.
 * @throws {ChasquiError} `invalid_options`
 */
export function templateVariables({ chatTemplateKwargs, reasoning }: TemplateOptions): Record<string, unknown> {
  const chosen = reasoning === 'on' || reasoning === 'off' ? { enable_thinking: reasoning === 'on' } : {};
  return { ...(chatTemplateKwargs !== undefined && readVariables(chatTemplateKwargs)), ...chosen };
}

function readVariables(json: string): Record<string, unknown> {
  let variables: unknown;
  try {
    variables = JSON.parse(json);
  } catch (error) {
    throw refused(`\`chatTemplateKwargs\` is no JSON: ${(error as Error).message}.`);
  }
  if (typeof variables === 'object' && variables !== null && !Array.isArray(variables)) {
    return variables as Record<string, unknown>;
  }
  throw refused('`chatTemplateKwargs` must be a JSON object, such as {"enable_thinking": false}.');
}

function refused(message: string): ChasquiError {
  return new ChasquiError('invalid_options', message);
}
