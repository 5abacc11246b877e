/** Limits replies: each completion repeats its prompt and its settings, `grammar` and `logit_bias` included. */
import { lengthOfAll, limitRepeats } from '../../shared/text/limit-repeats.js';

export interface Repeated {
  generationSettings: object;
  /** Of each completion. */
  prompts: readonly string[];
  /** The requested fields of a whole reply; empty for all. */
  responseFields: readonly string[];
  /** The request field that determines the number of completions. */
  param: 'n' | 'prompt';
}

/** @throws {ChasquiError} `invalid_value` */
export function limitRepeatedSettings({ generationSettings, prompts, responseFields, param }: Repeated): void {
  const times = responseFields.length === 0 ? 1 : responseFields.filter(isRepeated).length;
  limitRepeats({
    completions: prompts.length,
    length: times * (lengthOfAll(prompts) + prompts.length * JSON.stringify(generationSettings).length),
    what: 'its `prompt` and `generation_settings`',
    remedy: 'with `response_fields` for what is needed',
    param,
  });
}

function isRepeated(path: string): boolean {
  return path === 'prompt' || path.split('/')[0] === 'generation_settings';
}
