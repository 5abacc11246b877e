import { setTimeout as sleep } from 'node:timers/promises';
import { streamChat, timeLimit } from '../../subjects/chat-stream.js';
import type { RunningServer } from '../../subjects/running-server.js';
import { runTimeoutMs, type ServedRun } from '../scenario.js';
import { Prompts } from './prompts.js';

const pauseMs = 200;

/**
 * As many prompts at once as there are lengths, and then as many with the same sum that are all equally long: seconds until
 * the last of them has its first token.
 */
export function mixedPrompts(lengths: readonly number[]): ServedRun {
  const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
  if (!Number.isInteger(mean)) throw new Error('the lengths have no whole number as their mean');
  return async (server, round) => {
    const prompts = new Prompts('mixed prompts', round);
    const equal = await lastFirstToken(
      server,
      lengths.map(() => prompts.user(mean)),
    );
    const mixed = await lastFirstToken(
      server,
      lengths.map((length) => prompts.user(length)),
    );
    return { mixed, equal, mixedToEqual: mixed / equal };
  };
}

async function lastFirstToken(server: RunningServer, users: readonly string[]): Promise<number> {
  const options = { start: performance.now(), signal: timeLimit(runTimeoutMs) };
  const results = await Promise.all(users.map((user) => streamChat(server, { user, predictTokens: 1 }, options)));
  // What a server does after an answer belongs to that answer.
  await sleep(pauseMs);
  return Math.max(...results.map(({ firstTokenMs }) => firstTokenMs)) / 1000;
}
