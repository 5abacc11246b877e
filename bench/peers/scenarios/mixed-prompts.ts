import { setTimeout as sleep } from 'node:timers/promises';
import { streamChat, timeLimit } from '../../subjects/chat-stream.js';
import type { RunningServer } from '../../subjects/running-server.js';
import { runTimeoutMs, type ServedRun } from '../scenario.js';
import { Prompts } from './prompts.js';

const pauseMs = 200;

/**
 * Simultaneous prompts of the given lengths, then as many of equal length with the same total. Figures: seconds until the
 * last one has its first token.
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
  // Work that a server does after a reply counts for that reply.
  await sleep(pauseMs);
  return Math.max(...results.map(({ firstTokenMs }) => firstTokenMs)) / 1000;
}
