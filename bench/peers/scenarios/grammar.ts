import { setTimeout as sleep } from 'node:timers/promises';
import { fortyProperties } from '../../forty-properties.js';
import { streamChat, timeLimit } from '../../subjects/chat-stream.js';
import type { RunningServer } from '../../subjects/running-server.js';
import { figuresOf } from '../../work.js';
import { runTimeoutMs, type ServedRun } from '../scenario.js';
import { Prompts } from './prompts.js';

const predictTokens = 128;
const pauseMs = 200;
/** Explicit for both servers, because their defaults differ. */
const sampling = { temperature: 1, top_k: 40, top_p: 0.95, min_p: 0.05 };
const response_format = {
  type: 'json_schema',
  json_schema: { name: 'forty', schema: fortyProperties, strict: true },
};

/** Relative slowdown by a grammar. Streams decode with and without it alternately. */
export function grammarCost({ streams }: { streams: number }): ServedRun {
  return async (server, round) => {
    const prompts = new Prompts('grammar', round);
    const free = await decodeRate(server, prompts, streams, sampling);
    const bound = await decodeRate(server, prompts, streams, { ...sampling, response_format });
    return { free, bound, cost: 1 - bound / free };
  };
}

async function decodeRate(server: RunningServer, prompts: Prompts, streams: number, fields: object): Promise<number> {
  const options = { start: performance.now(), signal: timeLimit(runTimeoutMs) };
  const chats = Array.from({ length: streams }, (_, seed) => ({
    user: prompts.user(80),
    predictTokens,
    fields: { ...fields, seed },
  }));
  const streamed = await Promise.all(chats.map((chat) => streamChat(server, chat, options)));
  // Work that a server does after a reply counts for that reply.
  await sleep(pauseMs);
  return figuresOf(streamed).decodeRate;
}
