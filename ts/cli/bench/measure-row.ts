/** Measures prompt and completion speed for a number of streams at one context depth. */
import type { Engine } from '../../engine/engine.js';
import { type Rate, repeat } from './repeat.js';
import { runStreams, type StreamTimes } from './run-streams.js';

export interface Shape {
  streams: number;
  /** Context tokens of each stream before the measured ones. */
  depth: number;
}

export interface Row extends Shape {
  prompt?: Rate;
  /** Median over all streams and repetitions of the prompt measurement. */
  firstTokenMs?: number;
  decode?: Rate;
  /** Reason for missing figures. */
  leftOut?: string;
}

export interface Lengths {
  promptTokens: number;
  newTokens: number;
}

export interface Patience {
  repetitions: number;
  maxTimeMs: number;
}

/** Speed of earlier rows, which predicts the duration of later ones. */
export interface Pace {
  promptTokensPerMs?: number;
  newTokensPerMs?: number;
}

/** Describes why a slow figure is skipped. */
export type TooLong = (expectedMs: number) => string;

/** Rejects with the error of a completion, or with the signal's reason. */
export async function measureRow(
  engine: Engine,
  shape: Shape,
  { lengths, patience, pace, signal, tooLong }: RowSettings,
): Promise<Row> {
  const { streams, depth } = shape;
  const { promptTokens, newTokens } = lengths;
  const prefixes = Array.from({ length: streams }, () => randomTokens(engine, depth));
  const run = (added: number, count: number) => {
    const prompts = prefixes.map((prefix) => [...prefix, ...randomTokens(engine, added)]);
    return runStreams(engine, { prompts, newTokens: count }, signal);
  };
  const promptMs = expected(streams * promptTokens, pace.promptTokensPerMs);
  const prefixMs = expected(streams * depth, pace.promptTokensPerMs);
  if (prefixMs + promptMs > patience.maxTimeMs) return { ...shape, leftOut: tooLong(prefixMs + promptMs) };

  const warm = await warmUp(engine, prefixes, run, promptTokens, signal);
  if (warm.problem !== undefined) return { ...shape, leftOut: warm.problem };
  const firsts: number[] = [];
  const prompt = await repeat(streams * promptTokens, runsIn(patience, promptMs || warm.ms), async () => {
    const times = await run(promptTokens, 1);
    firsts.push(...times.map(({ firstTokenMs }) => firstTokenMs));
    return lastFirstToken(times);
  });
  pace.promptTokensPerMs = prompt.mean / 1000;
  const measured = { ...shape, prompt, firstTokenMs: median(firsts) };

  const decodeMs = expected(streams * newTokens, pace.newTokensPerMs);
  if (decodeMs > patience.maxTimeMs) return { ...measured, leftOut: tooLong(decodeMs) };
  const first = decodeMs || (await timed(() => run(1, newTokens + 1)));
  const decode = await repeat(streams * newTokens, runsIn(patience, first), async () => {
    // As in llama-bench, the prompt step produces the first token.
    return decodeTime(await run(1, newTokens + 1));
  });
  pace.newTokensPerMs = decode.mean / 1000;
  return { ...measured, decode };
}

export interface RowSettings {
  lengths: Lengths;
  patience: Patience;
  /** Updated by each measurement. */
  pace: Pace;
  signal: AbortSignal;
  tooLong: TooLong;
}

type Run = (added: number, newTokens: number) => Promise<StreamTimes[]>;

/** Fills the contexts to their depth. At depth 0, runs unmeasured prompts. Returns the duration of one prompt run. */
async function warmUp(
  engine: Engine,
  prefixes: readonly number[][],
  run: Run,
  promptTokens: number,
  signal: AbortSignal,
): Promise<{ ms: number; problem?: string }> {
  const depth = prefixes[0]?.length ?? 0;
  if (depth === 0) return { ms: await timed(() => run(promptTokens, 1)) };
  await runStreams(engine, { prompts: prefixes, newTokens: 1 }, signal);
  const times = await run(promptTokens, 1);
  const found = Math.min(...times.map(({ cachedTokens }) => cachedTokens));
  if (found >= depth - 1) return { ms: lastFirstToken(times) };
  return {
    ms: 0,
    problem: `${found} of ${depth} tokens could be reused: this model does not support context rollback`,
  };
}

/** Time from the first token of any stream to the last, at least the decode time of each stream. */
function decodeTime(times: readonly StreamTimes[]): number {
  const first = Math.min(...times.map(({ firstTokenMs }) => firstTokenMs));
  const last = Math.max(...times.map(({ lastTokenMs }) => lastTokenMs));
  return Math.max(last - first, ...times.map(({ decodeMs }) => decodeMs));
}

function lastFirstToken(times: readonly StreamTimes[]): number {
  return Math.max(...times.map(({ firstTokenMs }) => firstTokenMs));
}

/** Returns 0 without earlier rows. */
function expected(tokens: number, tokensPerMs: number | undefined): number {
  return tokensPerMs ? tokens / tokensPerMs : 0;
}

function runsIn({ repetitions, maxTimeMs }: Patience, eachMs: number): number {
  return Math.max(1, Math.min(repetitions, Math.floor(maxTimeMs / Math.max(eachMs, 1e-3))));
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function randomTokens(engine: Engine, count: number): number[] {
  return Array.from({ length: count }, () => Math.floor(Math.random() * engine.model.vocabularySize));
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[sorted.length >> 1] ?? 0;
}
