import { setTimeout as sleep } from 'node:timers/promises';
import { streamChat, timeLimit } from '../../subjects/chat-stream.js';
import type { RunningServer } from '../../subjects/running-server.js';
import { median } from '../../work.js';
import { runTimeoutMs, type ServedRun } from '../scenario.js';
import { Prompts } from './prompts.js';

const userTokens = 40;
const predictTokens = 32;
const pauseMs = 200;

/** Simultaneous requests with the same system prompt. Figure: median seconds to first token. */
export function sharedSystemPrompt({ users, systemTokens }: { users: number; systemTokens: number }): ServedRun {
  return async (server, round) => {
    const prompts = new Prompts('system-prompt', round);
    const askTogether = (system: string, count: number) => {
      const questions = Array.from({ length: count }, () => prompts.user(userTokens));
      return firstTokenSeconds(server, system, questions, systemTokens + userTokens);
    };
    const cold = await askTogether(prompts.system(systemTokens), users);
    const system = prompts.system(systemTokens);
    await askTogether(system, 1);
    const warm = await askTogether(system, users);
    const hot = await askTogether(system, users);
    return { cold, warm, hot };
  };
}

async function firstTokenSeconds(
  server: RunningServer,
  system: string,
  questions: readonly string[],
  promptLength: number,
): Promise<number> {
  const options = { start: performance.now(), signal: timeLimit(runTimeoutMs) };
  const results = await Promise.all(
    questions.map((user) => streamChat(server, { system, user, predictTokens }, options)),
  );
  const odd = results.find(({ promptTokens }) => promptTokens !== promptLength);
  if (odd) throw new Error(`${server.name} counts ${odd.promptTokens} tokens in a prompt of ${promptLength}`);
  // Work that a server does after a reply counts for that reply.
  await sleep(pauseMs);
  return median(results.map(({ firstTokenMs }) => firstTokenMs)) / 1000;
}
