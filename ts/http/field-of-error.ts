/** The request field that an error is about, where its code alone tells it: the engine does not know of requests. */
import type { ChasquiError, ErrorCode } from '../errors.js';

const FIELDS: Partial<Record<ErrorCode, string>> = {
  model_not_capable: 'model',
  template_failed: 'messages',
  context_length_exceeded: 'messages',
  invalid_grammar: 'grammar',
  prompt_refused: 'messages',
  invalid_job: 'messages',
};

export function fieldOfError({ code, param }: ChasquiError): string | null {
  return param ?? FIELDS[code] ?? null;
}
