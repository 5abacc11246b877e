import { setTimeout as sleep } from 'node:timers/promises';
import { streamChat, timeLimit } from '../../subjects/chat-stream.js';
import type { RunningServer } from '../../subjects/running-server.js';
import { figuresOf } from '../../work.js';
import { runTimeoutMs, type ServedRun } from '../scenario.js';
import { Prompts } from './prompts.js';

const predictTokens = 128;
const pauseMs = 200;

/**
 * What choosing at temperature 1 takes, with the filters that are the default, beside the most probable token: the part of
 * the tokens per second of streams that decode first the one way and then the other.
 */
export function samplingCost({ streams }: { streams: number }): ServedRun {
  return async (server, round) => {
    const prompts = new Prompts('sampling', round);
    const greedy = await decodeRate(server, prompts, streams, 0);
    const sampled = await decodeRate(server, prompts, streams, 1);
    return { greedy, sampled, cost: 1 - sampled / greedy };
  };
}

async function decodeRate(
  server: RunningServer,
  prompts: Prompts,
  streams: number,
  temperature: number,
): Promise<number> {
  const options = { start: performance.now(), signal: timeLimit(runTimeoutMs) };
  const chats = Array.from({ length: streams }, (_, seed) => ({
    user: prompts.user(80),
    predictTokens,
    fields: { temperature, seed },
  }));
  const streamed = await Promise.all(chats.map((chat) => streamChat(server, chat, options)));
  // What a server does after an answer belongs to that answer.
  await sleep(pauseMs);
  return figuresOf(streamed).decodeRate;
}
