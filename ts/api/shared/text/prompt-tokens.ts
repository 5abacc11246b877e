/** Tokens of prompts, for log-probabilities. */
import type { AbortOptions, Engine, TextInput } from '../../../engine/engine.js';
import { invalidValue } from '../../../errors.js';
import type { CompletionRequest } from './text-schema.js';

export interface PromptTokens {
  ids: readonly number[];
  /** The bytes of each token. Control tokens are represented by their names. */
  pieces: readonly Uint8Array[];
}

/** Each takes about 250 bytes of memory. */
const MAX_LOGPROBS = 2 ** 18;

/** Number of reported alternatives of each prompt token; `null` if the request does not ask for them. */
export function promptLogprobsOf(body: CompletionRequest): number | null {
  const counts = [body.prompt_logprobs ?? undefined, body.echo ? body.logprobs : undefined];
  const asked = counts.filter((count) => count !== undefined);
  return asked.length > 0 ? Math.max(...asked) : null;
}

/** @throws {ChasquiError} `invalid_value` if `n` choices of all prompts would have too many log-probabilities */
export async function readPromptTokens(
  engine: Engine,
  prompts: readonly TextInput[],
  { alternatives, n }: { alternatives: number; n: number },
  on: AbortOptions,
): Promise<PromptTokens[]> {
  const tokenize = (text: string) => engine.tokenize(text, { addSpecial: true, parseSpecial: true, ...on });
  const tokens = await Promise.all(
    prompts.map(async (prompt) => (typeof prompt === 'string' ? Array.from(await tokenize(prompt)) : prompt)),
  );
  // The engine refuses longer prompts.
  const computed = tokens.reduce((sum, { length }) => sum + Math.min(length, engine.model.contextLength), 0);
  limitLogprobs(computed * n * (1 + alternatives), 'prompt');
  return Promise.all(tokens.map(async (ids) => ({ ids, pieces: await engine.pieces(ids, on) })));
}

/** @throws {ChasquiError} `invalid_value` naming `param` */
export function limitLogprobs(count: number, param: string): void {
  if (count <= MAX_LOGPROBS) return;
  const message = `The prompts would have ${count} log-probabilities, but the limit is ${MAX_LOGPROBS}. Send fewer prompts at a time, or request fewer alternatives.`;
  throw invalidValue(message, param);
}
