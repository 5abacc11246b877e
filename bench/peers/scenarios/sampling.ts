import { setTimeout as sleep } from 'node:timers/promises';
import { streamChat, timeLimit } from '../../subjects/chat-stream.js';
import type { RunningServer } from '../../subjects/running-server.js';
import { figuresOf } from '../../work.js';
import { runTimeoutMs, type ServedRun } from '../scenario.js';
import { Prompts } from './prompts.js';

const tokensOfEach = 128;
const pauseMs = 200;

/**
 * What choosing at temperature 1 takes, with the filters that are the default, beside the most probable token: the part of
 * the tokens per second of streams that decode the one way and then the other. Which comes first alternates. Their prompts
 * are in the cache, because it is chance how many of them share a batch, and that time would count.
 */
export function samplingCost({ streams }: { streams: number }): ServedRun {
  return async (server, round) => {
    const prompts = new Prompts('sampling', round);
    const users = Array.from({ length: streams }, () => prompts.user(80));
    await decodeRate(server, users, 0, 1);
    let greedy = 0;
    let sampled = 0;
    for (const temperature of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const rate = await decodeRate(server, users, temperature, tokensOfEach);
      if (temperature === 0) greedy = rate;
      else sampled = rate;
    }
    return { greedy, sampled, cost: 1 - sampled / greedy };
  };
}

async function decodeRate(
  server: RunningServer,
  users: readonly string[],
  temperature: number,
  predictTokens: number,
): Promise<number> {
  const options = { start: performance.now(), signal: timeLimit(runTimeoutMs) };
  const chats = users.map((user, seed) => ({ user, predictTokens, fields: { temperature, seed } }));
  const streamed = await Promise.all(chats.map((chat) => streamChat(server, chat, options)));
  // What a server does after an answer belongs to that answer.
  await sleep(pauseMs);
  return figuresOf(streamed).decodeRate;
}
