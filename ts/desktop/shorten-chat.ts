/** Shortens chats that do not fit into the context: the oldest turns are left out, or replaced by a summary. */
import { firstKept } from '../engine/oldest-turns.js';
import type { Chat, ChatMessage, CompletionError } from './api-types.js';
import { textOf } from './chat-files.js';

/** The field of a chat's settings with the user's choice. */
export const WHEN_FULL = 'whenFull';
export type WhenFull = 'rolling' | 'summary';

const MAX_SUMMARY_TOKENS = 400;
const MAX_TRANSCRIPT_CHARACTERS = 200_000;

export function whenFull({ settings }: Chat): WhenFull | null {
  const choice = settings[WHEN_FULL];
  return choice === 'rolling' || choice === 'summary' ? choice : null;
}

/** The branch after its last summary, which is stored in the `stats` of the last message that it covers. */
export function afterSummary(branch: readonly ChatMessage[]): { summary: string; rest: ChatMessage[] } {
  const at = branch.findLastIndex(({ stats }) => typeof stats?.summary === 'string');
  return { summary: String(branch[at]?.stats?.summary ?? ''), rest: branch.slice(at + 1) };
}

/**
 * Splits a branch before one of the user's messages. Tokens are estimated by characters: `error` has the number of tokens,
 * or a lower bound of it. The last turn is always kept.
 */
export function splitBranch(
  branch: readonly ChatMessage[],
  { n_ctx: contextLength = 1, n_prompt_tokens: promptTokens = 1 }: CompletionError,
): { omitted: ChatMessage[]; kept: ChatMessage[] } {
  const sizes = branch.map((message) => textOf(message).length + 1);
  const start = firstKept(branch, sizes, { promptTokens, contextLength });
  return { omitted: branch.slice(0, start), kept: branch.slice(start) };
}

/** The request for a summary. `share` of the transcript is used, from its end. */
export function summaryRequest(model: string, summary: string, omitted: readonly ChatMessage[], share: number): object {
  const lines = omitted.map((message) => `${message.role === 'user' ? 'User' : 'Assistant'}: ${textOf(message)}`);
  const transcript = [...(summary && [`Earlier: ${summary}`]), ...lines].join('\n\n').slice(-MAX_TRANSCRIPT_CHARACTERS);
  const content = `Summarize this conversation. Keep facts, names, numbers and decisions.\n\n${transcript.slice(
    Math.floor(transcript.length * (1 - share)),
  )}`;
  return { model, messages: [{ role: 'user', content }], max_tokens: MAX_SUMMARY_TOKENS, stream: true };
}
