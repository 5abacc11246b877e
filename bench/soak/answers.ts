/** Parses replies, streamed or not. */
import type { Reply } from './exchange.js';

export interface Answer {
  text: string;
  finishReason: string;
  promptTokens: number;
  completionTokens: number;
  /** Each token of the text, if the request had `top_logprobs`. */
  tokens: Choice[];
  /** Margin of the end-of-text token over the best other token; `undefined` if it was not requested. */
  endMargin?: number;
}

/** A token's bytes (one character per byte) and its log-probability. */
interface Candidate {
  bytes: string;
  logprob: number;
}

/** The sampled token. */
export interface Choice extends Candidate {
  /** The most probable ones, most probable first. */
  top: Candidate[];
}

interface TokenLogprob {
  logprob: number;
  bytes: number[];
  top_logprobs: { logprob: number; bytes: number[] }[];
}

interface BodyChoice {
  message?: { content: string };
  delta?: { content?: string | null };
  logprobs?: { content: TokenLogprob[] | null } | null;
  finish_reason: string | null;
}

interface Body {
  choices?: BodyChoice[];
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
      answer.tokens.push(...(choice.logprobs?.content ?? []).map(toChoice));
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

function toChoice({ logprob, bytes, top_logprobs }: TokenLogprob): Choice {
  const top = top_logprobs.map((each) => ({ bytes: asText(each.bytes), logprob: each.logprob }));
  return { bytes: asText(bytes), logprob, top };
}

function asText(bytes: number[]): string {
  return Buffer.from(bytes).toString('latin1');
}

function frames(text: string): Body[] {
  const parts = text.split('\n\n').filter((part) => part.startsWith('data: '));
  if (parts.pop() !== 'data: [DONE]') throw new Error(`a stream without [DONE]: ${text.slice(-300)}`);
  return parts.map((part) => JSON.parse(part.slice('data: '.length)) as Body);
}

export function sameAnswer(a: Answer, b: Answer): boolean {
  const haveTokens = a.tokens.length > 0 && b.tokens.length > 0;
  return (
    a.text === b.text &&
    a.finishReason === b.finishReason &&
    a.promptTokens === b.promptTokens &&
    a.completionTokens === b.completionTokens &&
    (!haveTokens || firstDifference(a.tokens, b.tokens) === undefined)
  );
}

/** Tokens that were more probable than the sampled one. At temperature 0 these can only be tokens that the request forbids. */
export function moreProbable({ bytes, logprob, top }: Choice): Candidate[] {
  return top.filter((other) => other.bytes !== bytes && other.logprob > logprob);
}

/** Margin of the sampled token over the best alternative; NaN if the alternative was not reported. */
export function marginOf({ bytes, logprob, top }: Choice): number {
  const next = top.find((other) => other.bytes !== bytes && other.logprob <= logprob);
  return next === undefined ? Number.NaN : logprob - next.logprob;
}

export interface Parting {
  /** Index of the token in the known answer; its length if it ended there. */
  index: number;
  /** Margin of the known answer's token over the other answer's token; NaN if unknown. */
  margin: number;
}

/**
 * Returns the first difference between two answers and the margin of the choice there. The tokens of `known` must be present.
 * If those of `other` are missing, the texts are compared, and `other` is assumed to have the second most probable token.
 */
export function partingOf(known: Answer, other: Answer): Parting {
  const index =
    other.tokens.length > 0 ? firstDifference(known.tokens, other.tokens) : indexOfParting(known, other.text);
  if (index === undefined) return { index: known.tokens.length, margin: Number.NaN };
  const choice = known.tokens[index];
  if (choice === undefined) return { index, margin: known.endMargin ?? Number.NaN };
  const chosen = other.tokens[index];
  return { index, margin: chosen === undefined ? marginOf(choice) : leadOver(choice, chosen.bytes) };
}

/** Lower bound of the margin if the other token is not among the reported ones. */
function leadOver({ logprob, top }: Choice, bytes: string): number {
  const other = top.find((each) => each.bytes === bytes) ?? top.at(-1);
  return other === undefined ? Number.NaN : logprob - other.logprob;
}

/** Index of the first different token, or the length of the shorter list; `undefined` if both are equal. */
function firstDifference(a: readonly Choice[], b: readonly Choice[]): number | undefined {
  const index = a.findIndex((token, i) => token.bytes !== b[i]?.bytes);
  if (index >= 0) return index;
  return a.length === b.length ? undefined : a.length;
}

function indexOfParting({ text, tokens }: Answer, other: string): number | undefined {
  if (text === other) return undefined;
  const [bytes, otherBytes] = [Buffer.from(text), Buffer.from(other)];
  let at = 0;
  while (at < bytes.length && bytes[at] === otherBytes[at]) ++at;
  let end = 0;
  const index = tokens.findIndex((token) => {
    end += token.bytes.length;
    return end > at;
  });
  return index < 0 ? tokens.length : index;
}

/** The largest difference between log-probabilities of the common prefix of two answers. */
export function rounding(known: Answer, other: Answer): number {
  let largest = 0;
  for (const [index, { bytes, logprob }] of other.tokens.entries()) {
    const same = known.tokens[index];
    if (same?.bytes !== bytes) break;
    largest = Math.max(largest, Math.abs(same.logprob - logprob));
  }
  return largest;
}
