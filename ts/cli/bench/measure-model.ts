/** Measures a model row by row, in the same engine process as a server. */
import { SupervisedEngine } from '../../engine/child/supervised-engine.js';
import type { Engine, ModelInfo } from '../../engine/engine.js';
import { readGgufFile, sizeIn } from '../../engine/gguf-header.js';
import type { LoadOptions } from '../../engine/load-options.js';
import { ChasquiError } from '../../errors.js';
import { exactFit } from '../../hub/exact-fit.js';
import { formatBytes } from '../../hub/format-bytes.js';
import { inTime } from '../output/quantities.js';
import { type Lengths, measureRow, type Pace, type Patience, type Row } from './measure-row.js';

export interface Plan {
  path: string;
  streams: readonly number[];
  depths: readonly number[];
  lengths: Lengths;
  patience: Patience;
  load: LoadOptions;
}

export interface Watcher {
  /** Called before the first row. */
  onModel(model: ModelInfo): void;
  onRow(row: Row): void;
  /** Called with a description of the current step. */
  onWork(what: string): void;
}

/** Rejects with the error of the load or of a completion, or with the signal's reason. */
export async function measureModel(plan: Plan, watcher: Watcher, signal: AbortSignal): Promise<void> {
  const pace: Pace = {};
  // Loading the model reports errors in the file.
  const header = await readGgufFile(plan.path).catch(() => null);
  const trained = header && sizeIn(header, 'context_length');
  let isKnown = false;
  for (const streams of plan.streams) {
    const rows = await planRows(plan, streams, trained, signal);
    const possible = rows.filter(({ leftOut }) => leftOut === undefined);
    if (possible.length > 0) {
      watcher.onWork(`Loading the model for ${inStreams(streams)}`);
      const engine = await load(plan, streams, possible, signal);
      try {
        refuseEncoders(engine);
        if (!isKnown) watcher.onModel(engine.model);
        isKnown = true;
        for (const { depth } of possible) {
          watcher.onWork(`Measuring ${inStreams(streams)} at depth ${depth}`);
          watcher.onRow(await measureRow(engine, { streams, depth }, { ...plan, pace, signal, tooLong }));
        }
      } finally {
        await engine.close();
      }
    }
    for (const row of rows) if (row.leftOut !== undefined) watcher.onRow(row);
  }
}

/**
 * Loads the model with context for the longest row, and without a cache for evicted conversations. Drafts are off: with
 * random prompts, their acceptance rate says nothing about real text.
 */
function load(plan: Plan, streams: number, rows: readonly Row[], signal: AbortSignal): Promise<SupervisedEngine> {
  const contextSize = Math.max(...rows.map(({ depth }) => roomFor(plan.lengths, depth)));
  const options = { ...plan.load, parallel: streams, contextSize, cacheRamMiB: 0, draftMax: 0 };
  return SupervisedEngine.open(plan.path, options, { signal });
}

/** Returns all rows. Rows that exceed the trained context or the memory have a `leftOut` reason. */
async function planRows(plan: Plan, streams: number, trained: number | null, signal: AbortSignal): Promise<Row[]> {
  const rows: Row[] = plan.depths.map((depth) => ({ streams, depth }));
  for (const row of rows) {
    const needed = roomFor(plan.lengths, row.depth);
    if (trained !== null && needed > trained) row.leftOut = `the model was trained for ${trained} tokens`;
  }
  const possible = rows.filter(({ leftOut }) => leftOut === undefined);
  const room = await roomInMemory(plan, streams, Math.max(0, ...possible.map(({ depth }) => depth)), signal);
  for (const row of possible) {
    if (room !== null && roomFor(plan.lengths, row.depth) > room.tokens) row.leftOut = room.says;
  }
  return rows;
}

/** Returns `null` if everything fits, or if the requirement is unknown. */
async function roomInMemory(
  { path, load: given, lengths }: Plan,
  streams: number,
  depth: number,
  signal: AbortSignal,
): Promise<{ tokens: number; says: string } | null> {
  try {
    const fit = await exactFit({ path }, roomFor(lengths, depth), {
      load: { ...given, parallel: streams },
      signal,
    });
    if (fit.badge !== 'too-large') return null;
    return { tokens: fit.contextThatFits, says: `memory: ${formatBytes(fit.needBytes)} are needed` };
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

/** Context tokens of one stream: the longer of the prompt and the completion with its one-token prompt. */
function roomFor({ promptTokens, newTokens }: Lengths, depth: number): number {
  return Math.max(16, depth + Math.max(promptTokens, newTokens + 1) + 1);
}

function tooLong(expectedMs: number): string {
  return `it would take about ${inTime(Math.ceil(expectedMs / 1000))} (--max-time)`;
}

function inStreams(count: number): string {
  return count === 1 ? 'one stream' : `${count} streams`;
}

function refuseEncoders({ model }: Engine): void {
  if (model.generates) return;
  throw new ChasquiError('model_not_capable', `${model.id} generates no text, so it has no rates to measure.`);
}
