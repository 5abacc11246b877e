/** What the idle server answers: the measure of all other answers, and how clear each choice was. */
import { type Answer, marginOf, moreProbable } from './answers.js';
import type { ChatRequest } from './requests.js';

/** `ask` has the tokens and their alternatives reported. */
export async function askIdle(ask: (request: ChatRequest) => Promise<Answer>, request: ChatRequest): Promise<Answer> {
  const answer = await ask(request);
  expectTokens(answer);
  if (answer.finishReason === 'stop') answer.endMargin = await endMargin(ask, request, answer);
  return answer;
}

/** The tokens must make up the text, or nobody could say which of them decided where texts part. */
function expectTokens({ text, tokens }: Answer): void {
  const spelled = Buffer.from(tokens.map(({ bytes }) => bytes).join(''), 'latin1').toString('utf8');
  if (spelled.startsWith(text)) return;
  throw new Error(`the tokens ${JSON.stringify(spelled)} do not make up the text ${JSON.stringify(text)}`);
}

/** An answer does not report its end, so the question is asked again, and may not end there. */
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
  // Without one, a stop string begins there.
  return end === undefined ? marginOf(next) : end.logprob - next.logprob;
}
