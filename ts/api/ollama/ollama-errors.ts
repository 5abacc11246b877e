/** Our envelope → Ollama's, which is the message alone. */
import type { ErrorBody } from '../../http/error-body.js';

export function toOllamaError({ error }: ErrorBody): { error: string } {
  return { error: error.message };
}

/** The line of a failure, which ends a stream. */
export function ollamaFailure(body: ErrorBody): string[] {
  return [JSON.stringify(toOllamaError(body))];
}
