import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom, seedOf } from '../../../test/support/seeded-random.js';
import { randomBitmap } from '../../random-bitmap.js';
import { type Chat, streamChat, timeLimit } from '../../subjects/chat-stream.js';
import type { RunningServer } from '../../subjects/running-server.js';
import { median } from '../../work.js';
import { runTimeoutMs, type ServedRun } from '../scenario.js';
import { Prompts } from './prompts.js';
import { Reader } from './reader.js';

const pieces = 32;
const pauseMs = 500;

/**
 * Images arrive simultaneously while streams run. Figures in seconds: the longest gap of the streams until all images are
 * answered, that gap minus two median gaps, and the time to first token of the last image.
 */
export function picturesArrive(work: { streams: number; pictures: number; predictTokens: number }): ServedRun {
  return async (server, round) => {
    const prompts = new Prompts('pictures', round);
    // Generate the images first: generating blocks the event loop that reads the streams.
    const chats = Array.from({ length: work.pictures }, (_, i) => showing(`pictures ${round} ${i}`, '', 4));
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, timeLimit(runTimeoutMs)]);
    setMaxListeners(0, signal); // each request listens
    const readers = Array.from({ length: work.streams }, () => {
      return new Reader(server, { user: prompts.user(80), predictTokens: work.predictTokens }, signal);
    });
    try {
      await Promise.all(readers.map((reader) => reader.untilPieces(pieces)));
      const arrival = performance.now();
      const newcomers = await Promise.all(chats.map((chat) => streamChat(server, chat, { start: arrival, signal })));
      await Promise.all(readers.map((reader) => reader.untilPieces(reader.pieces + 2)));
      const gap = Math.max(...readers.map((reader) => reader.longestGapSince(arrival)));
      const typical = median(readers.flatMap((reader) => reader.gaps()));
      const firstToken = Math.max(...newcomers.map(({ firstTokenMs }) => firstTokenMs));
      return { gap: gap / 1000, excess: Math.max(0, gap - 2 * typical) / 1000, firstToken: firstToken / 1000 };
    } finally {
      stop.abort();
      await Promise.all(readers.map((reader) => reader.ended));
      await sleep(pauseMs);
    }
  };
}

/** Two requests with an equal prefix that ends with an image. Figures: seconds to first token of each, and their ratio. */
export async function sameAgain(server: RunningServer, round: number): Promise<Record<string, number>> {
  const before = new Prompts('same-again', round).user(40);
  const first = await firstTokenMs(server, showing(`again ${round}`, before, 4));
  const second = await firstTokenMs(server, { ...showing(`again ${round}`, before, 4), user: 'Which colours has it?' });
  return { first: first / 1000, second: second / 1000, share: second / first };
}

async function firstTokenMs(server: RunningServer, chat: Chat): Promise<number> {
  const start = performance.now();
  const answer = await streamChat(server, chat, { start, signal: timeLimit(runTimeoutMs) });
  await sleep(pauseMs);
  return answer.firstTokenMs;
}

/** A question about an image that is unique for this seed. */
function showing(seed: string, before: string, predictTokens: number): Chat {
  return { before, image: randomBitmap(seededRandom(seedOf(seed))), user: 'What is in this picture?', predictTokens };
}
