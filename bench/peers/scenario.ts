/** A scenario: a model, a number of sequences, the work, and the rows of the table that it produces. */

import type { FewLayersName } from '../../test/support/few-layers-model.js';
import type { ModelName } from '../../test/support/synthetic-model.js';
import type { RunningServer } from '../subjects/running-server.js';
import type { Work } from '../work.js';
import type { Goal } from './goals.js';

/** Timeout of a run. Busy machines need minutes. */
export const runTimeoutMs = 600_000;

/**
 * Uses a server and returns figures by name. A round must not profit from the cache entries of another one.
 * @param startedAt start time of the server process, by `performance.now()`
 */
export type ServedRun = (server: RunningServer, round: number, startedAt: number) => Promise<Record<string, number>>;

/** `machine`: the limit of this CPU if it only read, or multiplied, each weight once. Not available for GPUs. */
export type SubjectName = 'machine' | 'loop' | 'llama-server' | 'in-process' | 'chasqui';

export interface Line {
  name: string;
  /** Name of the figure in the result of the run. */
  figure: string;
  unit: 'tokens/s' | 'requests/s' | 's' | 'µs' | 'MB' | '';
  ours: 'in-process' | 'chasqui';
  goal?: Goal;
}

interface Shape {
  id: string;
  model: ModelName | FewLayersName;
  /** Tokens per sequence. */
  contextSize: number;
  parallel: number;
  /** Draft model, with equal draft lengths for both servers. */
  draft?: ModelName;
  /** Adds a vision encoder and projector in the shape of ViT-B/16. */
  hasVision?: boolean;
  /** Overrides `--rounds` for short runs and close targets. */
  rounds?: number;
  /**
   * Warm-up rounds (default 1) of subjects in Node; other subjects have one. V8 optimizes the code of server and clients on
   * the cores that compute, which is measurable for the first thousands of tokens if steps are short.
   */
  warmUp?: number;
  lines: Line[];
}

/** Independent streams, which the bare loop supports too. */
export interface StreamsScenario extends Shape {
  work: Work;
  subjects: SubjectName[];
}

/** Work for servers only. Default subjects: chasqui and llama-server. */
export interface ServedScenario extends Shape {
  run: ServedRun;
  subjects?: SubjectName[];
  /** Starts a new server for each round, to measure its start. */
  startsEachRound?: boolean;
  /** Additional flags for llama-server. */
  peerFlags?: string[];
  /** Additional flags for chasqui. */
  ourFlags?: string[];
}

export type Scenario = StreamsScenario | ServedScenario;
