import { streamChat, timeLimit } from '../../subjects/chat-stream.js';
import { runTimeoutMs, type ServedRun } from '../scenario.js';
import { Prompts } from './prompts.js';

const promptTokens = 80;
const predictTokens = 64;

/** Seconds from the process start until the server is ready, and until its first reply is complete. */
export const firstAnswer: ServedRun = async (server, round, startedAt) => {
  const ready = performance.now() - startedAt;
  const user = new Prompts('start', round).user(promptTokens);
  const options = { start: startedAt, signal: timeLimit(runTimeoutMs) };
  const { lastTokenMs } = await streamChat(server, { user, predictTokens }, options);
  return { ready: ready / 1000, answered: lastTokenMs / 1000 };
};
