/** What a reply says, whole or streamed. */
import type { Reply } from './exchange.js';

export interface Answer {
  text: string;
  finishReason: string;
  promptTokens: number;
  completionTokens: number;
  /** With `top_logprobs`: each token, its log-probability, and by how much that exceeds the next best one's. */
  tokens: { text: string; logprob: number; margin: number }[];
}

interface TokenLogprob {
  token: string;
  logprob: number;
  top_logprobs: { token: string; logprob: number }[];
}

interface Choice {
  message?: { content: string };
  delta?: { content?: string | null };
  logprobs?: { content: TokenLogprob[] | null } | null;
  finish_reason: string | null;
}

interface Body {
  choices?: Choice[];
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
  error?: { message: string; code: string };
}

export function readAnswer(reply: Reply): Answer {
  const streamed = reply.contentType.startsWith('text/event-stream');
  const bodies = streamed ? frames(reply.text) : [JSON.parse(reply.text) as Body];
  const answer: Answer = { text: '', finishReason: '', promptTokens: 0, completionTokens: 0, tokens: [] };
  for (const { choices = [], usage, error } of bodies) {
    if (error) throw new Error(`${error.code}: ${error.message}`);
    for (const choice of choices) {
      answer.text += choice.message?.content ?? choice.delta?.content ?? '';
      answer.tokens.push(...(choice.logprobs?.content ?? []).map(withMargin));
      answer.finishReason = choice.finish_reason ?? answer.finishReason;
    }
    if (usage) {
      answer.promptTokens = usage.prompt_tokens;
      answer.completionTokens = usage.completion_tokens;
    }
  }
  if (answer.finishReason === '') throw new Error(`an answer without a finish_reason: ${reply.text.slice(-300)}`);
  return answer;
}

function withMargin({ token, logprob, top_logprobs }: TokenLogprob): Answer['tokens'][number] {
  const next = top_logprobs.find((other) => other.token !== token);
  return { text: token, logprob, margin: next === undefined ? Number.POSITIVE_INFINITY : logprob - next.logprob };
}

function frames(text: string): Body[] {
  const parts = text.split('\n\n').filter((part) => part.startsWith('data: '));
  if (parts.pop() !== 'data: [DONE]') throw new Error(`a stream without [DONE]: ${text.slice(-300)}`);
  return parts.map((part) => JSON.parse(part.slice('data: '.length)) as Body);
}

export function sameAnswer(a: Answer, b: Answer): boolean {
  return (
    a.text === b.text &&
    a.finishReason === b.finishReason &&
    a.promptTokens === b.promptTokens &&
    a.completionTokens === b.completionTokens
  );
}

/** Where two answers part, and how clear the choice was there in the one whose tokens are known. */
export function partingOf(known: Answer, other: Answer): { at: number; margin: number } {
  let at = 0;
  while (at < known.text.length && known.text[at] === other.text[at]) ++at;
  let end = 0;
  for (const { text, margin } of known.tokens) {
    end += text.length;
    if (end > at) return { at, margin };
  }
  // Where one of them ends and the other goes on, the last token decided it: the one that has no text.
  return { at, margin: known.tokens.at(-1)?.margin ?? Number.POSITIVE_INFINITY };
}

/** The largest difference between log-probabilities of the same tokens, up to where the answers part. */
export function rounding(known: Answer, other: Answer): number {
  let largest = 0;
  for (const [index, { text, logprob }] of other.tokens.entries()) {
    const same = known.tokens[index];
    if (same?.text !== text) break;
    largest = Math.max(largest, Math.abs(same.logprob - logprob));
  }
  return largest;
}
