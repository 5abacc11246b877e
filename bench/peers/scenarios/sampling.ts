import { setTimeout as sleep } from 'node:timers/promises';
import { streamChat, timeLimit } from '../../subjects/chat-stream.js';
import type { RunningServer } from '../../subjects/running-server.js';
import { figuresOf } from '../../work.js';
import { runTimeoutMs, type ServedRun } from '../scenario.js';
import { Prompts } from './prompts.js';

const tokensOfEach = 128;
const pauseMs = 200;

/**
 * Relative slowdown by sampling at temperature 1 with the default filters, compared with greedy decoding. Streams decode
 * both ways in alternating order. The prompts are cached, because the number of prompts per batch varies at random and would
 * affect the time.
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
  // Work that a server does after a reply counts for that reply.
  await sleep(pauseMs);
  return figuresOf(streamed).decodeRate;
}
