/** What a scenario is: a model, a number of sequences, what is done with them, and the lines of the table that it fills. */

import type { ModelName } from '../../test/support/synthetic-model.js';
import type { RunningServer } from '../subjects/running-server.js';
import type { Work } from '../work.js';
import type { Goal } from './goals.js';

/** A group of requests, or a run of several groups, that takes longer has failed. Busy machines take minutes. */
export const runTimeoutMs = 600_000;

/**
 * Uses a server and returns figures by name. The rounds of a run must not profit from each other. `startedAt` is when the
 * server's process was started, by `performance.now()`.
 */
export type ServedRun = (server: RunningServer, round: number, startedAt: number) => Promise<Record<string, number>>;

/** `machine` is what this CPU could do if it did nothing but read, or multiply, each weight once; GPUs have none. */
export type SubjectName = 'machine' | 'loop' | 'llama-server' | 'in-process' | 'chasqui';

export interface Line {
  name: string;
  /** The name that the run gives to the figure. */
  figure: string;
  unit: 'tokens/s' | 's' | 'µs' | 'MB' | '';
  ours: 'in-process' | 'chasqui';
  goal?: Goal;
}

interface Shape {
  id: string;
  model: ModelName;
  /** Tokens per sequence. */
  contextSize: number;
  parallel: number;
  /** With this one to guess, as many tokens at a time on both sides. */
  draft?: ModelName;
  /** With a vision encoder and projector in the shape of ViT-B/16 beside it. */
  hasEyes?: boolean;
  /** Instead of the number asked for on the command line, where that would say little: short runs, close goals. */
  rounds?: number;
  /**
   * Rounds before those that count (default 1), of what runs in Node; of the others one. Node compiles the code of a server
   * and of its clients further while they run, on the cores that compute; where a step is short, that is seen for the first
   * thousands of tokens.
   */
  warmUp?: number;
  lines: Line[];
}

/** Independent streams, which the bare loop can do as well. */
export interface StreamsScenario extends Shape {
  work: Work;
  subjects: SubjectName[];
}

/** Something that only servers do: ours and llama-server, where nothing else is said. */
export interface ServedScenario extends Shape {
  run: ServedRun;
  subjects?: SubjectName[];
  /** Every round has a server of its own, because its start is measured. */
  startsEachRound?: boolean;
  /** Added to llama-server's. */
  peerFlags?: string[];
  /** Added to chasqui's. */
  ourFlags?: string[];
}

export type Scenario = StreamsScenario | ServedScenario;
