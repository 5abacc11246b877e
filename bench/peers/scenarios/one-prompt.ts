import { streamChat, timeLimit } from '../../subjects/chat-stream.js';
import { runTimeoutMs, type ServedRun } from '../scenario.js';
import { Prompts } from './prompts.js';

/** One prompt on an idle server. Figures: seconds to first token, prompt and decode tokens per second. */
export function onePrompt({
  promptTokens,
  predictTokens,
}: Record<'promptTokens' | 'predictTokens', number>): ServedRun {
  return async (server, round) => {
    const user = new Prompts(`one prompt of ${promptTokens}`, round).user(promptTokens);
    const options = { start: performance.now(), signal: timeLimit(runTimeoutMs) };
    const { firstTokenMs, lastTokenMs, tokens } = await streamChat(server, { user, predictTokens }, options);
    return {
      firstToken: firstTokenMs / 1000,
      promptRate: (1000 * promptTokens) / firstTokenMs,
      decodeRate: (1000 * (tokens - 1)) / (lastTokenMs - firstTokenMs),
    };
  };
}
