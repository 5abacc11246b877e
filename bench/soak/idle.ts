/** Reference answers of the idle server, and the margin of each token. */
import { type Answer, marginOf, moreProbable } from './answers.js';
import type { ChatRequest } from './requests.js';

/** @param ask requests the tokens and their alternatives */
export async function askIdle(ask: (request: ChatRequest) => Promise<Answer>, request: ChatRequest): Promise<Answer> {
  const answer = await ask(request);
  expectTokens(answer);
  if (answer.finishReason === 'stop') answer.endMargin = await endMargin(ask, request, answer);
  return answer;
}

/** The tokens must add up to the text, otherwise a difference between texts cannot be attributed to a token. */
function expectTokens({ text, tokens }: Answer): void {
  const spelled = Buffer.from(tokens.map(({ bytes }) => bytes).join(''), 'latin1').toString('utf8');
  if (spelled.startsWith(text)) return;
  throw new Error(`the tokens ${JSON.stringify(spelled)} do not make up the text ${JSON.stringify(text)}`);
}

/** A reply does not report its end-of-text token, so the request is repeated with a higher limit. */
async function endMargin(
  ask: (request: ChatRequest) => Promise<Answer>,
  { stop: _, ...request }: ChatRequest,
  answer: Answer,
): Promise<number> {
  const length = answer.tokens.length;
  const longer = await ask({ ...request, ignore_eos: true, max_tokens: length + 1 });
  const next = longer.tokens[length];
  const isSame = answer.tokens.every(({ bytes }, index) => bytes === longer.tokens[index]?.bytes);
  if (next === undefined || !isSame) return Number.NaN;
  const [end] = moreProbable(next);
  // Without an end-of-text candidate, a stop string starts there.
  return end === undefined ? marginOf(next) : end.logprob - next.logprob;
}
