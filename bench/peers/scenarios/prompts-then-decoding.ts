import { setTimeout as sleep } from 'node:timers/promises';
import { streamChat, timeLimit } from '../../subjects/chat-stream.js';
import type { RunningServer } from '../../subjects/running-server.js';
import { figuresOf } from '../../work.js';
import { runTimeoutMs, type ServedRun } from '../scenario.js';
import { Prompts } from './prompts.js';

/** All streams of the decoding phase fit into one batch, so they start to decode together. */
const shortPromptTokens = 16;
const pauseMs = 200;

interface Phases {
  streams: number;
  promptTokens: number;
  predictTokens: number;
}

/** Simultaneous prompts with one new token each, then streams behind short prompts. Figures: tokens per second of each. */
export function promptsThenDecoding({ streams, promptTokens, predictTokens }: Phases): ServedRun {
  return async (server, round) => {
    const prompts = new Prompts('prompts then decoding', round);
    const users = (tokens: number) => Array.from({ length: streams }, () => prompts.user(tokens));
    const read = await replies(server, users(promptTokens), 1);
    const decoded = await replies(server, users(shortPromptTokens), predictTokens);
    const seconds = Math.max(...read.map(({ firstTokenMs }) => firstTokenMs)) / 1000;
    return { promptRate: (streams * promptTokens) / seconds, decodeRate: figuresOf(decoded).decodeRate };
  };
}

async function replies(server: RunningServer, users: readonly string[], predictTokens: number) {
  const options = { start: performance.now(), signal: timeLimit(runTimeoutMs) };
  const all = await Promise.all(users.map((user) => streamChat(server, { user, predictTokens }, options)));
  // Work that a server does after a reply counts for that reply.
  await sleep(pauseMs);
  return all;
}
