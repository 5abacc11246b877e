/** The engine's log-probabilities → OpenAI's. */
import type { Token, TokenLogprob } from '../engine/engine.js';
import type { LogprobEntry } from '../schemas/chat-response.js';

/** JSON has no infinity; OpenAI writes the logarithm of nothing like this. */
const IMPOSSIBLE = -9999;

/**
 * The entry for one token; null when there is none to report. An end-of-generation token is no part of the text, so it
 * has none: it is the last token of an answer that ended by itself, not by a stop string.
 */
export function toLogprobEntry(token: Token): LogprobEntry | null {
  if (!token.logprobs) return null;
  if (token.finish?.reason === 'stop' && token.finish.stopString === null) return null;
  return { ...toAlternative(token.logprobs), top_logprobs: token.logprobs.top.map(toAlternative) };
}

function toAlternative(token: TokenLogprob): Omit<LogprobEntry, 'top_logprobs'> {
  return {
    token: Buffer.from(token.bytes).toString('utf8'),
    logprob: Math.max(token.logprob, IMPOSSIBLE),
    bytes: Array.from(token.bytes),
  };
}
