/**
 * Each of several completions repeats its prompt and what it was computed by, `grammar` and `logit_bias` included. So a request
 * of a few megabytes could have a reply of hundreds, which the server would have to make in one piece.
 */
import { ChasquiError } from '../errors.js';

/** In UTF-16 units of JSON; more than a single request can bring about. */
const MAX_REPEATED = 32 * 2 ** 20;

export interface Repeated {
  generationSettings: object;
  /** Of each completion. */
  prompts: readonly string[];
  /** Of a whole reply, where only these are asked for; empty: all. */
  responseFields: readonly string[];
  /** Which field of the request says how many there are. */
  param: 'n' | 'prompt';
}

/** @throws {ChasquiError} `invalid_value` */
export function limitRepeats({ generationSettings, prompts, responseFields, param }: Repeated): void {
  const times = responseFields.length === 0 ? 1 : responseFields.filter(isRepeated).length;
  const ofPrompts = new Map([...new Set(prompts)].map((prompt) => [prompt, JSON.stringify(prompt).length]));
  const all = prompts.reduce((sum, prompt) => sum + (ofPrompts.get(prompt) as number), 0);
  const length = times * (all + prompts.length * JSON.stringify(generationSettings).length);
  if (length <= MAX_REPEATED) return;
  throw new ChasquiError(
    'invalid_value',
    `Each of the ${prompts.length} completions would repeat its \`prompt\` and \`generation_settings\`, ${length} characters in ` +
      `all, but at most ${MAX_REPEATED} are sent: ask for fewer at a time, or with \`response_fields\` for what is needed.`,
    param,
  );
}

function isRepeated(path: string): boolean {
  return path === 'prompt' || path.split('/')[0] === 'generation_settings';
}
