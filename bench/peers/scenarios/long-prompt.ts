import { setTimeout as sleep } from 'node:timers/promises';
import { streamChat, timeLimit } from '../../subjects/chat-stream.js';
import { runTimeoutMs, type ServedRun } from '../scenario.js';
import { Prompts } from './prompts.js';
import { Reader } from './reader.js';

const runningPromptTokens = 80;
/** Enough tokens to keep the streams running until the long prompt has its first token. They are aborted then. */
const predictTokens = 1900;
const newcomerPredictTokens = 4;
const piecesBefore = 8;
const piecesAfter = 2;
const pauseMs = 500;

/** A long prompt arrives while streams run. Figures in seconds: their longest gap afterwards, and its time to first token. */
export function longPromptArrives(work: { streams: number; promptTokens: number }): ServedRun {
  return async (server, round) => {
    const prompts = new Prompts('long-prompt', round);
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, timeLimit(runTimeoutMs)]);
    const readers = Array.from({ length: work.streams }, () => {
      return new Reader(server, { user: prompts.user(runningPromptTokens), predictTokens }, signal);
    });
    try {
      await Promise.all(readers.map((reader) => reader.untilPieces(piecesBefore)));
      const arrival = performance.now();
      const chat = { user: prompts.user(work.promptTokens), predictTokens: newcomerPredictTokens };
      const newcomer = await streamChat(server, chat, { start: arrival, signal });
      if (newcomer.promptTokens !== work.promptTokens) throw new Error(`a prompt of ${newcomer.promptTokens} tokens`);
      await Promise.all(readers.map((reader) => reader.untilPieces(reader.pieces + piecesAfter)));
      const gap = Math.max(...readers.map((reader) => reader.longestGapSince(arrival)));
      return { gap: gap / 1000, firstToken: newcomer.firstTokenMs / 1000 };
    } finally {
      stop.abort();
      await Promise.all(readers.map((reader) => reader.ended));
      await sleep(pauseMs);
    }
  };
}
