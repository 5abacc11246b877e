/** Formats the results as text or JSON. */
import { cpus } from 'node:os';
import type { ModelInfo } from '../../engine/engine.js';
import { formatBytes } from '../../hub/format-bytes.js';
import { VERSION } from '../../version.js';
import { inBillions } from '../output/quantities.js';
import { shorten } from '../output/table.js';
import type { Lengths, Row } from './measure-row.js';
import type { Rate } from './repeat.js';

/** Fixed column widths, so that each row can be printed immediately. */
const WIDTH = 80;
const WIDTHS = [7, 6, 16, 11, 16];
/** Width of the columns after the first two. */
const REASON_WIDTH = WIDTH - 17;

export function describeModel(model: ModelInfo): string {
  const { devices, gpuLayers, layers } = model.placement;
  const on = devices.length === 0 ? 'on the CPU' : `${gpuLayers} of ${layers} layers on ${devices.join(', ')}`;
  const size = `${formatBytes(model.sizeBytes)}, ${inBillions(model.parameterCount)} parameters`;
  // llama.cpp writes ?B for an unknown size class.
  const kind = model.description.replace(' ?B', '');
  return `${model.id}: ${kind}, ${size}; ${on}\n${processor()}; chasqui ${VERSION}, Node ${process.version}\n`;
}

function processor(): string {
  const all = cpus();
  return `${all[0]?.model.trim() ?? 'an unknown processor'}, ${all.length} ${all.length === 1 ? 'core' : 'cores'}`;
}

export function headLine({ promptTokens, newTokens }: Lengths): string {
  return toLine(['STREAMS', 'DEPTH', `pp${promptTokens} t/s`, 'FIRST TOKEN', `tg${newTokens} t/s`, 'EACH STREAM']);
}

export function rowLine({ streams, depth, prompt, firstTokenMs, decode, leftOut }: Row): string {
  const head = [String(streams), String(depth)];
  const firstToken = firstTokenMs === undefined ? undefined : inMilliseconds(firstTokenMs);
  const measured = prompt === undefined ? [] : [withDeviation(prompt), firstToken ?? '-'];
  const rest = leftOut === undefined ? decodeCells(decode, streams) : [shorten(`left out: ${leftOut}`, REASON_WIDTH)];
  const line = toLine([...head, ...measured, ...rest]);
  if (line.length <= WIDTH || leftOut === undefined) return line;
  // Print the reason below the measured figures.
  return `${toLine([...head, ...measured])}\n${toLine(['', '', ...rest])}`;
}

/** Describes a skipped row on standard error, next to JSON output. */
export function leftOutLine({ streams, depth, leftOut = '' }: Row): string {
  return `${streams} ${streams === 1 ? 'stream' : 'streams'} at depth ${depth}, left out: ${leftOut}`;
}

function decodeCells(decode: Rate | undefined, streams: number): string[] {
  return decode === undefined ? [] : [withDeviation(decode), short(decode.mean / streams)];
}

export function legend({ promptTokens, newTokens }: Lengths, repetitions: number): string {
  const deviation = repetitions > 1 ? ` ± is the standard deviation of up to\n${repetitions} runs.` : '';
  return [
    '',
    `pp${promptTokens}: tokens a second of prompts of ${promptTokens} tokens. tg${newTokens}: of completions of ${newTokens}.`,
    'All streams together; DEPTH tokens are in the context of each before. The names',
    `mean what they do in llama-bench.${deviation}`,
    'The first token is the median of the streams, all started at once.',
  ].join('\n');
}

function toLine(cells: readonly string[]): string {
  return cells
    .map((cell, column) => cell.padEnd(WIDTHS[column] ?? 0))
    .join('  ')
    .trimEnd();
}

function withDeviation({ mean, deviation, samplesMs }: Rate): string {
  if (samplesMs.length < 2) return short(mean);
  return `${short(mean)} ± ${short(deviation, mean)}`;
}

/** Chooses the number of decimals by the magnitude of `like`. */
function short(value: number, like = value): string {
  return value.toFixed(like >= 1000 ? 0 : like >= 100 ? 1 : 2);
}

function inMilliseconds(ms: number): string {
  return ms >= 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${ms.toFixed(ms >= 100 ? 0 : 1)} ms`;
}

/** The format of llama-bench: one object per test. Fields that llama-bench lacks follow its own. */
export interface JsonTest {
  model_filename: string;
  model_type: string;
  model_size: number;
  model_n_params: number;
  cpu_info: string;
  backends: string;
  n_gpu_layers: number;
  n_prompt: number;
  n_gen: number;
  n_depth: number;
  avg_ns: number;
  stddev_ns: number;
  avg_ts: number;
  stddev_ts: number;
  samples_ns: number[];
  samples_ts: number[];
  test: string;
  streams: number;
  first_token_ms: number | null;
  chasqui: string;
}

export function jsonTests(model: ModelInfo, row: Row, { promptTokens, newTokens }: Lengths): JsonTest[] {
  const { prompt, decode, firstTokenMs } = row;
  const toTest = (rate: Rate, n_prompt: number, n_gen: number) => jsonTest(model, row, rate, { n_prompt, n_gen });
  return [
    ...(prompt === undefined ? [] : [{ ...toTest(prompt, promptTokens, 0), first_token_ms: firstTokenMs ?? null }]),
    ...(decode === undefined ? [] : [toTest(decode, 0, newTokens)]),
  ];
}

function jsonTest(
  { path, description, sizeBytes, parameterCount, placement }: ModelInfo,
  { streams, depth }: Row,
  rate: Rate,
  { n_prompt, n_gen }: { n_prompt: number; n_gen: number },
): JsonTest {
  const name = n_gen === 0 ? `pp${n_prompt}` : `tg${n_gen}`;
  const nanoseconds = rate.samplesMs.map((ms) => Math.round(ms * 1e6));
  const mean = rate.samplesMs.reduce((sum, ms) => sum + ms, 0) / rate.samplesMs.length;
  const squares = rate.samplesMs.reduce((sum, ms) => sum + (ms - mean) ** 2, 0);
  return {
    model_filename: path,
    model_type: description,
    model_size: sizeBytes,
    model_n_params: parameterCount,
    cpu_info: cpus()[0]?.model.trim() ?? '',
    backends: placement.devices.join(',') || 'CPU',
    n_gpu_layers: placement.gpuLayers,
    n_prompt,
    n_gen,
    n_depth: depth,
    avg_ns: Math.round(mean * 1e6),
    stddev_ns: rate.samplesMs.length > 1 ? Math.round(Math.sqrt(squares / (rate.samplesMs.length - 1)) * 1e6) : 0,
    avg_ts: rate.mean,
    stddev_ts: rate.deviation,
    samples_ns: nanoseconds,
    samples_ts: rate.samplesMs.map((ms) => (1000 * rate.tokens) / ms),
    test: depth === 0 ? name : `${name} @ d${depth}`,
    streams,
    first_token_ms: null,
    chasqui: VERSION,
  };
}
